"""A `try` of the user's catches what values raise, as it does where nothing is traced."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from tests.differences import differences
from tests.together import together

Function = Callable[[Any], Any]

POINTS: Final = [np.array(x) for x in ([0.5, 0.3, 0.2], [1.5, 0.3, 0.2], [0.4, 0.1, 0.2],
                                       [1.2, 0.3, 0.7], [2.0, 0.1, 0.1])]  # fmt: skip


def _matrix(x: Any) -> Any:
    return np.outer(x, x) + np.diag(np.array([1.0, 0.5, 0.2])) * (1.0 - x[0])


def _jitter(x: Any) -> Any:
    k = _matrix(x)
    for jitter in (0.0, 0.01, 1.0, 10.0):
        try:
            factor = np.linalg.cholesky(k + jitter * np.eye(3))
            break
        except np.linalg.LinAlgError:
            continue
    return np.sum(np.log(np.diag(factor))) + np.sum(factor * np.arange(9.0).reshape(3, 3))


def _only_asked(x: Any) -> Any:
    try:
        np.linalg.cholesky(_matrix(x))
    except np.linalg.LinAlgError:
        return np.sum(x) * 10
    return np.sum(x**2)


def _factor(k: Any) -> Any:
    return np.linalg.cholesky(k)


def _in_a_helper(x: Any) -> Any:
    try:
        return np.sum(_factor(_matrix(x)) * x)
    except ValueError:  # of which it is one
        return np.prod(x)


def _suppressed(x: Any) -> Any:
    found = np.sum(x)
    with suppress(np.linalg.LinAlgError):
        found = np.sum(np.linalg.cholesky(_matrix(x)) @ x)
    return found * x[1]


def _singular(x: Any) -> Any:
    k = np.diag(x - 0.3)
    try:
        y = np.linalg.solve(k, x)
    except np.linalg.LinAlgError:
        y = x * 2.0
    finally:
        x = x * 3.0
    return np.sum(y * x)


def _by_a_derivative(x: Any) -> Any:
    def energy(y: Any) -> Any:
        return np.sum(np.linalg.cholesky(_matrix(y)) @ y)

    try:
        return np.sum(fd.grad(energy)(x))
    except np.linalg.LinAlgError:
        return np.sum(x**3)


def _within_a_with(x: Any) -> Any:
    try:
        with np.errstate(invalid="ignore"):
            found = np.sum(np.linalg.cholesky(_matrix(x)) @ x)
    except np.linalg.LinAlgError:
        found = np.sum(x) * 10
    return found


def _within_a_handler(x: Any) -> Any:
    found = x[0]
    try:
        try:
            return np.sum(_factor(_matrix(x)))
        except np.linalg.LinAlgError:
            found = found + np.sum(_factor(_matrix(x) + x[2] * np.eye(3)))
        finally:
            found = found + np.sum(_factor(_matrix(x) + 2.0 * np.eye(3)))
    except np.linalg.LinAlgError:
        found = found * x[1]
    return found


FUNCTIONS: Final = [
    _within_a_with,
    _within_a_handler,
    _jitter,
    _only_asked,
    _in_a_helper,
    _suppressed,
    _singular,
    _by_a_derivative,
]
TRANSFORMS: Final[dict[str, Callable[[Function], Function]]] = {
    "grad": fd.grad,
    "reverse": lambda f: lambda x: fd.vjp(f, x)[1](1.0)[0],
    "forward": lambda f: fd.jacobian(f, mode="forward"),
    "linearize": lambda f: lambda x: np.array([fd.linearize(f, x)[1](e) for e in np.eye(3)]),
    "grad of jit": lambda f: fd.grad(fd.jit(f)),
    "jit of grad": lambda f: fd.jit(fd.grad(f)),
    "grad of checkpoint": lambda f: fd.grad(fd.checkpoint(f)),
}


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@together
@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_a_try_catches_decides_as_in_the_plain_call(
    f: Function, transform: Callable[[Function], Function]
) -> None:
    derived = transform(f)
    for _ in range(2):
        for x in POINTS[:4]:
            found = derived(x)
            if f is not _singular or x[1] != 0.3:  # no differences at an isolated point
                np.testing.assert_allclose(found, differences(f, x), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@together
@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_are_those_of_the_plain_call_under_jit_and_vmap(f: Function) -> None:
    jitted = fd.jit(f)
    for x in POINTS * 2:
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
    for x in POINTS:
        rows = np.stack([x, x])
        np.testing.assert_allclose(fd.vmap(f)(rows), [f(row) for row in rows], rtol=1e-12)


def test_second_derivatives_follow_the_path_that_was_taken() -> None:
    for x in POINTS:
        expected = differences(fd.grad(_jitter), x)
        np.testing.assert_allclose(fd.hessian(_jitter)(x), expected, rtol=1e-4, atol=1e-4)


def test_examples_that_differ_in_what_they_raise_are_refused_at_the_call() -> None:
    rows = np.stack(POINTS[:2])
    for f in (_only_asked, _jitter):
        with pytest.raises(ConcreteValueError, match=r"whether cholesky raises.*test_exceptions"):
            fd.vmap(f)(rows)

    with pytest.raises(ConcreteValueError, match="whether cholesky raises"):
        fd.scan(lambda c, x: (c + _only_asked(x), c), 0.0, rows)[0]


def test_exceptions_say_what_those_of_the_plain_call_say() -> None:
    def f(x: Any) -> Any:
        try:
            return np.sum(np.linalg.solve(np.diag(np.maximum(x - 0.5, 0.0)), x))
        except np.linalg.LinAlgError as error:
            return x[0] * (2.0 if "Singular" in str(error) else 3.0) * len(str(error))

    jitted, mapped = fd.jit(f), fd.vmap(f)
    for x in POINTS:
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(mapped(np.stack([x, x]))[0], f(x), rtol=1e-12)


def test_an_integer_beyond_64_bits_is_not_caught() -> None:
    @fd.jit
    def f(x: Any) -> Any:
        try:
            return x * (int(np.floor(np.exp(x))) % 7)
        except OverflowError:
            return -x

    assert f(2.0) == 0.0
    assert f(1e9) == -1e9  # infinity, at which int itself raises
    with pytest.raises(OverflowError, match="64 bits"):
        f(100.0)


def test_what_code_raises_for_a_value_that_is_missing_is_no_error_of_its_own() -> None:
    @fd.jit
    def f(x: Any) -> Any:
        try:
            try:
                return x[0] if x[1] > 0.2 else x[2]
            except Exception:
                raise RuntimeError("no value") from None
        except RuntimeError:
            raise KeyError("no value") from None

    assert fd.grad(f)(POINTS[0]).tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(ConcreteValueError, match="asked for a concrete value"):
        fd.scan(lambda c, x: (c + f(x), c), 0.0, np.stack(POINTS[:2]))


def test_where_nobody_catches_it_the_error_is_that_of_the_operation() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.cholesky(_matrix(x)))

    for transform in (fd.grad, fd.jit, lambda f: fd.jit(fd.grad(f))):
        run = transform(f)
        for _ in range(3):
            run(POINTS[0])
            with pytest.raises(np.linalg.LinAlgError):
                run(POINTS[1])


def test_an_error_of_what_came_before_is_not_caught_later() -> None:
    def f(x: Any) -> Any:
        first = np.linalg.inv(np.diag(x - x))  # where the plain call raises
        try:
            return np.sum(np.linalg.cholesky(first))
        except np.linalg.LinAlgError:
            return np.sum(x)

    with pytest.raises(np.linalg.LinAlgError):
        fd.grad(f)(POINTS[0])


def test_an_opaque_function_that_raises_is_caught_and_called_once() -> None:
    calls = []

    def run(x: Any) -> Any:
        calls.append(x)
        if x > 1:
            raise OSError("no device")
        return x * 2

    device: Any = fd.primitive(run, result=lambda x: x)
    device.defjvp(lambda xs, ts: (device(xs[0]), 2 * ts[0]))

    def f(x: Any) -> Any:
        try:
            return device(x) * x
        except OSError:
            return x**3

    def linearized(x: Any) -> Any:
        return fd.linearize(f, x)[1](1.0)

    for derived in (fd.grad(f), linearized):
        for x, slope in ((0.5, 2.0), (2.0, 12.0)):
            calls.clear()
            assert derived(x) == pytest.approx(slope)
            assert len(calls) == 1
