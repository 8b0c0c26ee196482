"""Buffers that funcdiff.numpy makes while a function is being traced take traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import ConcreteValueError, LostDerivativeError

PLAIN = np.array([1.0, 2.0, 3.0])
BUFFERS: list[Callable[[Any], Any]] = [
    lambda np_: np_.zeros(3),
    lambda np_: np_.ones((3,)),
    lambda np_: np_.full(3, 2.5),
    lambda np_: np_.full(shape=3, fill_value=[1.0, 2.0, 3.0]),
    lambda np_: np_.zeros(3, np.float32),
    lambda np_: np_.ones(3, dtype=complex),
    lambda np_: np_.zeros_like(PLAIN),
    lambda np_: np_.ones_like(PLAIN, dtype=np.float32),
    lambda np_: np_.full_like(PLAIN, 2.5, shape=(3,)),
]


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_buffer_takes_traced_values_in_every_trace(buffer: Callable[[Any], Any]) -> None:
    def f(x: Any, namespace: Any = fnp) -> Any:
        out = buffer(namespace)
        out[0] = x
        out[1] += 2 * x
        return np.abs(out) ** 2

    expected = f(1.5, np)
    y, t = fd.jvp(f, (1.5,), (1.0,))
    np.testing.assert_allclose(y, expected, rtol=1e-7)
    assert y.dtype == expected.dtype
    step = 1e-3
    np.testing.assert_allclose(t, (f(1.5 + step, np) - f(1.5 - step, np)) / (2 * step), rtol=1e-3)
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(f(x)))(1.5), np.sum(t), rtol=1e-6)
    np.testing.assert_allclose(fd.jit(f)(1.5), expected, rtol=1e-7)
    rows = [f(1.5, np), f(-2.0, np)]
    np.testing.assert_allclose(fd.vmap(f)(np.array([1.5, -2.0])), rows, rtol=1e-7)


def test_an_empty_buffer_is_filled() -> None:
    def f(x: Any) -> Any:
        out = fnp.empty((2, 3))
        for k in range(3):
            out[:, k] = x**k
        like = fnp.empty_like(PLAIN)
        np.multiply(out[0], 2.0, out=like)
        return np.sum(out) + np.sum(like)

    assert fd.grad(f)(2.0) == 4 + 4 * 4
    assert fd.jit(fd.grad(f))(2.0) == 20


def test_a_buffer_in_a_loop_is_a_carry() -> None:
    def f(x: Any) -> Any:
        def step(k: Any, out: Any) -> Any:
            out = out.copy()
            out[k] = x**k
            return out

        return np.sum(fd.fori_loop(0, 4, step, fnp.zeros(4)))

    assert fd.grad(f)(2.0) == 1 + 4 + 12


def test_nothing_traced_gives_numpys_own() -> None:
    for buffer in BUFFERS:
        made = buffer(fnp)
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, buffer(np))
    assert fnp.zeros_like([1, 2]).dtype == int


def test_a_buffer_that_nothing_was_stored_in_is_a_constant() -> None:
    def f(x: Any) -> Any:
        assert float(fnp.ones(())) == 1
        assert np.asarray(fnp.zeros(2)).tolist() == [0, 0]
        assert fnp.zeros(2, object).dtype == object
        return x * len(fnp.zeros(3))

    assert fd.grad(f)(2.0) == 3
    assert fd.jit(f)(2.0) == 6


def test_other_arrays_are_numpys_and_say_how_to_store() -> None:
    def f(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def stored(x: Any) -> Any:
            out = make()
            out[0] = x
            return np.sum(out)

        return stored

    cure = r"funcdiff.numpy.zeros\(shape\).*np.array\(y, like=x\)"
    for make in (lambda: fnp.arange(3.0), lambda: fnp.linspace(0, 1, 3), lambda: np.zeros(3)):
        with pytest.raises(LostDerivativeError, match=cure):
            fd.grad(f(make))(1.5)
        with pytest.raises(ConcreteValueError, match=cure):
            fd.jit(f(make))(1.5)
    assert fd.grad(lambda x: f(lambda: np.array(fnp.arange(3.0), like=x))(x))(1.5) == 1
