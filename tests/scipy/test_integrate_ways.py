"""Integrands and right-hand sides that decide by values, as Python code does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate as plain

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from funcdiff.scipy import integrate


def _pieces(x: Any, k: Any) -> Any:
    if x < k:
        return k * x
    return k * k if x < 1.5 else np.sin(k * x)


def test_an_integrand_may_branch_at_a_point_that_moves() -> None:
    def f(s: Any, k: Any) -> Any:
        return s.quad(_pieces, 0, 2, args=(k,), points=[k, 1.5])[0]

    def exact(k: Any) -> Any:
        return k**3 / 2 + k**2 * (1.5 - k) + (np.cos(1.5 * k) - np.cos(2 * k)) / k

    def ours(k: Any) -> Any:
        return f(integrate, k)

    assert fd.value_and_grad(ours)(0.7)[0] == f(plain, 0.7)
    for order in (fd.grad, lambda g: fd.grad(fd.grad(g))):
        np.testing.assert_allclose(order(ours)(0.7), order(exact)(0.7), rtol=1e-9)
    with pytest.raises(ConcreteValueError, match="without values"):
        fd.vmap(ours)(np.array([0.7, 0.9]))


@pytest.mark.slow
def test_a_right_hand_side_may_branch() -> None:
    def dose(t: Any, y: Any, k: Any) -> Any:
        return 1 - k * y if t < 1 else -k * y

    def level(s: Any, k: Any) -> Any:
        first = s.solve_ivp(dose, (0, 1.0), [0.0], args=(k,), rtol=1e-10, atol=1e-12)
        return s.solve_ivp(
            dose, (1.0, 2.0), first.y[:, -1], args=(k,), rtol=1e-10, atol=1e-12
        ).y[0, -1]  # fmt: skip

    def exact(k: Any) -> Any:
        return np.exp(-k) * (1 - np.exp(-k)) / k

    value, slope = fd.value_and_grad(lambda k: level(integrate, k))(0.5)
    assert value == level(plain, 0.5)
    np.testing.assert_allclose(slope, fd.grad(exact)(0.5), rtol=1e-6)


@pytest.mark.slow
def test_only_the_event_decides() -> None:
    def meets(rate: Any) -> Any:
        found = integrate.solve_ivp(
            lambda _t, y: -rate * y,
            (0.0, 2.0),
            [1.0],
            events=lambda t, y: y[0] - 0.5 if t < 1.5 else y[0] - 0.6,
            rtol=1e-9,
            atol=1e-9,
        )
        return found.t_events[0][0]

    np.testing.assert_allclose(fd.grad(meets)(1.0), -np.log(2), rtol=1e-6)
    np.testing.assert_allclose(fd.jvp(meets, (1.0,), (1.0,))[1], -np.log(2), rtol=1e-6)
    np.testing.assert_allclose(fd.grad(fd.grad(meets))(1.0), 2 * np.log(2), rtol=1e-5)
    assert fd.vjp(
        lambda rate: integrate.solve_ivp(
            lambda _t, y: -rate * y, (0.0, 1.0), [1.0], events=lambda _t, y: abs(y[0]) + 1.0
        ).t_events[0],
        1.0,
    )[0].shape == (0,)
