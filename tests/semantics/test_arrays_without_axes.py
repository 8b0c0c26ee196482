"""A 0-d array is an array, which is changed in place and has views; a NumPy scalar is a number."""

from __future__ import annotations

import collections.abc
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import InputError, UnsupportedNumPyError
from tests.properties.calling import every_call
from tests.together import together


def _doubled(x: Any) -> Any:
    y = x
    y *= 2
    return y * x


def _through_views(x: Any) -> Any:
    y = np.copy(x)
    v = y.reshape(1)
    v[0] = x**2
    y += 1
    y[...] = y * 2
    kept = y[()]
    y -= 1
    return kept * y + v[0]


def _into_a_buffer(x: Any) -> Any:
    y = fnp.zeros(())
    y[...] = x
    y += np.sin(x)
    return y * x


PROGRAMS: list[Callable[[Any], Any]] = [_doubled, _through_views, _into_a_buffer]
KINDS: dict[str, Callable[[float], Any]] = {
    "array": np.array,
    "scalar": np.float64,
    "number": float,
    "single array": lambda v: np.array(v, np.float32),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_it_is_changed_in_place_as_numpys(f: Callable[[Any], Any], kind: str) -> None:
    make = KINDS[kind]
    h = 1e-3
    value, gradient = fd.value_and_grad(f)(make(1.5))
    assert value == f(make(1.5))
    points = (1.5 + h, 1.5, 1.5 - h)
    ahead, here, behind = (f(np.array(v) if "array" in kind else v) for v in points)
    np.testing.assert_allclose(gradient, (ahead - behind) / (2 * h), rtol=1e-5)
    second = fd.grad(fd.grad(f))(make(1.5))
    np.testing.assert_allclose(second, (ahead - 2 * here + behind) / h**2, rtol=1e-3)


def test_the_argument_of_the_caller_is_not_changed() -> None:
    x = np.array(3.0)
    fd.grad(_doubled)(x)
    assert x == 3.0
    with pytest.raises(InputError, match="in place"):
        fd.jit(_doubled)(x)


def test_jit_compiles_arrays_scalars_and_numbers_apart() -> None:
    def f(x: Any) -> Any:
        return 2 * x if isinstance(x, np.ndarray) else 3 * x

    for compiled in (fd.jit(f), fd.jit(fd.grad(lambda x: f(x)))):
        for _ in range(3):
            assert compiled(np.array(1.0)) == 2.0
            assert compiled(np.float64(1.0)) == 3.0
            assert compiled(1.0) == 3.0


def test_bodies_are_given_what_a_loop_would_give_them() -> None:
    seen: list[type] = []

    def body(x: Any) -> Any:
        seen.append(x.__class__)
        return x * 1.0

    fd.vmap(body)(np.ones(2))
    fd.vmap(body)(np.ones((2, 1)))
    fd.grad(lambda x: np.sum(fd.scan(lambda c, row: (c, body(row)), 0.0, x)[1]))(np.ones(2))
    fd.jit(lambda x: fd.cond(x > 0, body, body, x))(np.array(1.0))
    fd.jit(lambda x: fd.cond(x > 0, body, body, x))(1.0)
    fd.grad(fd.checkpoint(body))(np.array(1.0))
    assert seen == [
        np.float64, np.ndarray, np.float64, np.ndarray, np.ndarray, float, float, np.ndarray,
    ]  # fmt: skip


def test_an_inner_argument_says_what_the_outer_value_is() -> None:
    def f(x: Any) -> Any:
        return x**2 if isinstance(x, np.ndarray) else x**3

    for x, second in ((np.array(2.0), 2.0), (np.float64(2.0), 12.0), (2.0, 12.0)):
        assert fd.grad(fd.grad(f))(x) == second
        assert fd.grad(lambda y: fd.grad(f)(y))(x) == second


def test_what_a_scalar_has_not_is_not_there_and_says_so() -> None:
    def f(x: Any) -> Any:
        v = x[0]
        assert not hasattr(v, "__len__")
        assert not isinstance(v, collections.abc.Sized | collections.abc.Iterable)
        assert not isinstance(x, collections.abc.Hashable)
        for use in (len, iter, list, lambda v: operator.setitem(v, 0, 1.0)):
            with pytest.raises(TypeError, match=rf"{__name__.rpartition('.')[2]}\.py"):
                use(v)
        with pytest.raises(TypeError):
            pickle.dumps(v)
        return v

    fd.grad(f)(np.ones(2))


def test_types_that_cannot_tell_are_not_compared() -> None:
    def f(x: Any) -> Any:
        assert type(x) not in (list, tuple, dict, str)
        for kind in (np.ndarray, float):
            value = x if kind is np.ndarray else fd.stop_gradient(x)[0]
            with pytest.raises(TypeError, match=r"isinstance\(x, (ndarray|float64)\)"):
                assert type(value) in (kind, np.float64)
        return np.sum(x)

    fd.grad(f)(np.ones(2))
    with pytest.raises(TypeError, match=r"compared with float at .*isinstance\(x, float\)"):
        fd.grad(lambda x: x if type(x) == float else 2 * x)(1.0)  # noqa: E721


MADE: dict[str, Callable[[Any], Any]] = {
    "zeros_like": np.zeros_like,
    "np.copy": np.copy,
    "np.full": lambda s: np.full_like(s, 3.0),
    "np.where": lambda s: np.where(s > 0, s, s),
    "np.add(out=)": lambda s: np.add(s, 1.0, out=np.zeros_like(s)),
    "np.sum(out=)": lambda s: np.sum(np.reshape(s, 1), out=np.zeros_like(s)),
    "np.sum(..., out)": lambda s: np.sum(np.reshape(s, 1), None, None, np.zeros_like(s)),
    "mean(out=)": lambda s: np.reshape(s, 1).mean(out=np.zeros_like(s)),
    "np.max(out=)": lambda s: np.max(np.reshape(s, 1), out=np.zeros_like(s)),
    "np.median(out=)": lambda s: np.median(np.reshape(s, 1), out=np.zeros_like(s)),
    "np.take(out=)": lambda s: np.take(np.reshape(s, 1), 0, out=np.zeros_like(s)),
    "np.add.reduce(out=)": lambda s: np.add.reduce(np.reshape(s, 1), out=np.zeros_like(s)),
    "np.einsum(out=)": lambda s: np.einsum("i,i", *[np.reshape(s, 1)] * 2, out=np.zeros_like(s)),
}
WRITTEN: dict[str, Callable[[Any], None]] = {
    "reshape": lambda z: z.reshape(1).__setitem__(0, 5.0),
    "ravel": lambda z: z.ravel().__setitem__(0, 5.0),
    "[None]": lambda z: z[None].__setitem__(0, 5.0),
    "atleast_2d": lambda z: np.atleast_2d(z).__setitem__((0, 0), 5.0),
    "[...]": lambda z: z.__setitem__(..., 5.0),
    "flat": lambda z: z.flat.__setitem__(0, 5.0),
    "fill": lambda z: z.fill(5.0),
    "add.at": lambda z: np.add.at(z.reshape(1), [0, 0], 5.0),
}


@pytest.mark.slow
@together
@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_written_to_it_arrives(
    make: Callable[[Any], Any], write: Callable[[Any], None]
) -> None:
    def f(s: Any) -> Any:
        z = make(s)
        write(z)
        return z * s

    expected = f(np.array(2.0))
    assert fd.value_and_grad(f)(np.array(2.0))[0] == expected
    assert fd.jit(f)(np.array(2.0)) == expected
    assert fd.vmap(f)(np.array([2.0]))[0] == expected


RETURNED: dict[str, Callable[[Any, Any], Any]] = {
    "np.sum": lambda x, out: np.sum(x, out=out),
    "np.clip": lambda x, out: np.clip(x, 0.0, 1.0, out=out),
    "np.dot": lambda x, out: np.dot(x, x, out=out),
    "np.median": lambda x, out: np.median(x, out=out),
    "x.max": lambda x, out: x.max(out=out),
}


@pytest.mark.parametrize("x", [np.array(2.0), np.float64(2.0)], ids=["array", "scalar"])
@pytest.mark.parametrize("function", RETURNED.values(), ids=RETURNED)
def test_out_is_returned_where_numpy_returns_it(
    function: Callable[[Any, Any], Any], x: Any
) -> None:
    """Methods of scalars, and `numpy.dot`, make a scalar of it."""

    def f(x: Any) -> Any:
        out = np.zeros_like(x)
        return isinstance(function(x, out), np.ndarray), out * x

    assert fd.jit(f)(x)[0] is f(x)[0]
    assert fd.jit(f)(x)[1] == f(x)[1]


@pytest.mark.parametrize("write", ["fill", "put", "flat"])
def test_a_scalar_cannot_be_written_to(write: str) -> None:
    """NumPy's `fill` of a scalar writes to a copy, which is lost; ours says so."""

    def f(x: Any) -> Any:
        y = np.sum(x)
        if write == "fill":
            y.fill(5.0)
        elif write == "put":
            np.put(y, 0, 5.0)
        else:
            y.flat[0] = 5.0
        return y

    for transform in (fd.grad, fd.jit):
        with pytest.raises(UnsupportedNumPyError, match=r"a scalar was written to .*\.py', line"):
            transform(f)(np.ones(2))


# ---- axes of length 1 stay -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_a_jitted_result_without_axes_is_a_number_in_every_call(dtype: str) -> None:
    for f in (
        lambda x: np.where(np.real(x[0]) > 0, x[1], 2.0 * x[0]),
        lambda x: np.max(np.real(x)),
        lambda x: x[1],
        lambda x: x[:1].reshape(()),
    ):
        run = fd.jit(f)
        for _ in range(3):
            assert isinstance(run(np.ones(2, dtype)), np.generic)


def test_the_order_of_axes_in_memory_does_not_follow_a_constant() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3, 5))

    def norm(x: Any) -> Any:
        return np.linalg.norm(x.swapaxes(0, 1), None, axis=(0, 2), keepdims=True)

    every_call(lambda x: fd.jvp(norm, (x,), (np.cos(x),)), x)
