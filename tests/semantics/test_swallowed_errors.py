"""A function that catches our error goes on as another function: then the transform fails."""

from __future__ import annotations

import concurrent.futures
import io
import logging
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, LostDerivativeError, TracerError
from tests.together import together

X = np.array([0.5, 1.5])
ROWS = np.array([[0.5, 1.5], [1.0, 2.0]])
HERE = Path(__file__).name


def _caught(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        try:
            scale = convert(x)
        except Exception:
            scale = 0.25
        return np.sum(x) * scale

    return f


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "complex": lambda x: complex(x[0]).real,
    "a float of an item": lambda x: float(x[0].item()),
    "a float of a list": lambda x: math.exp(x.tolist()[0]),
    "asarray": lambda x: np.asarray(x)[0],
    "a list of numbers": lambda x: np.array([x[0]])[0],
    "a ratio": lambda x: x[0].as_integer_ratio()[0],
    "printf": lambda x: float("%.9f" % x[0]),  # noqa: UP031
    "a store": lambda x: np.zeros(1).__setitem__(0, x[0]) or 1.0,
    "a store of an integer": lambda x: np.zeros_like(x, dtype=int).__setitem__(0, x[0]) or 1.0,
}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: fd.grad(f)(X),
    "value_and_grad": lambda f: fd.value_and_grad(f)(X),
    "vjp": lambda f: fd.vjp(f, X),
    "jvp": lambda f: fd.jvp(f, (X,), (X,)),
    "linearize": lambda f: fd.linearize(f, X),
    "jacobian": lambda f: fd.jacobian(lambda x: f(x) * x)(X),
    "hessian": lambda f: fd.hessian(f)(X),
    "a derivative of a derivative": lambda f: fd.grad(lambda x: np.sum(fd.grad(f)(x)))(X),
    "jit": lambda f: fd.jit(f)(X),
    "jit of grad": lambda f: fd.jit(fd.grad(f))(X),
    "grad of jit": lambda f: fd.grad(fd.jit(f))(X),
    "vmap": lambda f: fd.vmap(f)(ROWS),
    "grad of vmap": lambda f: fd.grad(lambda x: np.sum(fd.vmap(f)(x)))(ROWS),
    "scan": lambda f: fd.jit(lambda x: fd.scan(lambda c, row: (c + f(row), c), 0.0, x))(ROWS),
    "cond": lambda f: fd.jit(lambda x: fd.cond(x[0] > 0, f, np.sum, x))(X),
    "checkpoint": lambda f: fd.grad(fd.checkpoint(f))(X),
    "captured by an inner derivative": lambda f: fd.grad(
        lambda x: fd.grad(lambda y: y * f(x))(2.0)
    )(X),
}


@together
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_an_error_of_ours_that_is_caught_still_fails_the_transform(
    conversion: str, transform: str
) -> None:
    with pytest.raises(TracerError, match="went on from there") as caught:
        TRANSFORMS[transform](_caught(CONVERSIONS[conversion]))
    assert HERE in str(caught.value)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_where_nothing_is_lost_nothing_fails(transform: str) -> None:
    TRANSFORMS[transform](_caught(lambda x: float(X[0])))
    TRANSFORMS[transform](_caught(lambda x: 1 / 0))
    if transform in ("grad", "vjp", "jvp", "jacobian", "hessian"):
        TRANSFORMS[transform](_caught(lambda x: float(fd.stop_gradient(x)[0])))


@pytest.mark.parametrize("decide", [lambda x: x[0] > 0, lambda x: np.all(x > 0)])
def test_a_branch_that_cannot_be_taken_is_not_taken_silently(decide: Any) -> None:
    f = _caught(lambda x: 2.0 if decide(x) else 3.0)
    assert fd.grad(f)(X).tolist() == [2.0, 2.0]
    assert fd.jit(fd.grad(f))(X).tolist() == [2.0, 2.0]
    with pytest.raises(ConcreteValueError, match="went on from there"):
        fd.jit(f, guards=False)(X)
    with pytest.raises(ConcreteValueError, match="went on from there"):
        fd.vmap(f)(np.stack([X, -X]))
    for transform in ("scan", "cond"):
        with pytest.raises(ConcreteValueError, match="went on from there"):
            TRANSFORMS[transform](f)


def test_a_mask_and_an_index_without_a_value_are_not_replaced_silently() -> None:
    for convert in (
        lambda x: np.sum(x[x > 1]),
        lambda x: [1.0, 2.0][np.argmax(x)],
        lambda x: float(len(range(np.argmax(x)))),
    ):
        with pytest.raises(ConcreteValueError, match="went on from there"):
            fd.jit(_caught(convert), guards=False)(X)
        assert fd.jit(_caught(convert))(X) == _caught(convert)(X)


def test_what_numpy_refuses_for_plain_arrays_too_may_be_caught() -> None:
    f = _caught(float)  # only 0-d arrays can be converted
    assert f(X) == 0.5
    np.testing.assert_array_equal(fd.grad(f)(X), [0.25, 0.25])
    assert fd.jit(f)(X) == 0.5
    np.testing.assert_array_equal(fd.grad(_caught(lambda x: x.item()))(X), [0.25, 0.25])


def test_only_the_transform_that_is_wrong_fails() -> None:
    """With plain numbers, too, the outer function sees the failure of the inner derivative."""

    def outer(a: Any) -> Any:
        try:
            return fd.grad(lambda y: y * float(y))(2.0) * a
        except LostDerivativeError:
            return 7.0 * a

    assert outer(3.0) == 21.0
    assert fd.grad(outer)(3.0) == 7.0


def test_an_outer_value_that_an_inner_function_loses_fails_the_outer_transform() -> None:
    def outer(a: Any) -> Any:
        try:
            return fd.grad(lambda y: y * float(a) * a)(2.0)
        except LostDerivativeError:
            return 0.0 * a

    with pytest.raises(LostDerivativeError, match=r"\bouter \(.*\) went on from there"):
        fd.grad(outer)(3.0)


def test_an_error_in_a_thread_is_not_lost() -> None:
    def f(x: Any) -> Any:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            future = pool.submit(lambda: float(x[0]))
            scale = 0.25 if future.exception() else future.result()
        return np.sum(x) * scale

    with pytest.raises(TracerError, match=r"\bf \(.*\) went on from there"):
        fd.grad(f)(X)


def test_an_error_of_the_functions_own_goes_first() -> None:
    def f(x: Any) -> Any:
        try:
            return float(x[0])
        except TypeError:
            raise RuntimeError("mine") from None

    with pytest.raises(RuntimeError, match="mine"):
        fd.grad(f)(X)


def test_a_trace_fails_for_itself_only() -> None:
    with pytest.raises(LostDerivativeError):
        fd.grad(_caught(CONVERSIONS["float"]))(X)
    np.testing.assert_array_equal(fd.grad(np.sum)(X), [1.0, 1.0])


def test_what_is_shown_to_people_may_fail_to_be_shown() -> None:
    stream = io.StringIO()
    log = logging.Logger("shown")
    log.addHandler(logging.StreamHandler(stream))

    def f(x: Any) -> Any:
        log.warning("%.2f", x[0])
        log.warning("%s", x[0])
        return np.sum(x)

    np.testing.assert_array_equal(fd.grad(f)(X), [1.0, 1.0])
    assert stream.getvalue().splitlines() == ["~0.5"]


def test_what_takes_no_value_out_may_be_caught() -> None:
    """A cache that cannot have a key, and a function that NumPy has and we have not."""

    def f(x: Any) -> Any:
        try:
            return {pickle.dumps(x): 1.0}[x]
        except (TypeError, KeyError):
            pass
        try:
            return np.frompyfunc(np.sin, 1, 1)(x)
        except TypeError:
            return np.sum(np.sin(x))

    np.testing.assert_array_equal(fd.grad(f)(X), np.cos(X))


def test_what_a_list_puts_in_order_after_itself_catches_nothing() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.stack([np.linalg.inv(a + k * np.eye(2)) for k in (0.0, 1.0)]))

    a = np.array([[2.0, 0.3], [0.1, 1.5]])
    np.testing.assert_allclose(fd.grad(lambda a: fd.cond(a[0, 0] > 0, f, f, a))(a), fd.grad(f)(a))
    assert fd.jit(f)(a) == pytest.approx(f(a))
