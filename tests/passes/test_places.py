"""Derivatives of what is written over, and of what is repeated, belong to the right places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

X = np.array([4.0, 2.0, 3.0])

DERIVATIVES: dict[str, Callable[[Callable[[Any], Any], Any, Any], Any]] = {
    "jvp": lambda f, x, t: fd.jvp(f, (x,), (t,))[1],
    "linearize": lambda f, x, t: fd.linearize(f, x)[1](t),
    "forward": lambda f, x, t: fd.jacobian(f, mode="forward")(x) @ t,
    "reverse": lambda f, x, t: fd.jacobian(f, mode="reverse")(x) @ t,
    "jit": lambda f, x, t: fd.jit(lambda x, t: fd.jvp(f, (x,), (t,))[1])(x, t),
}

derivatives = pytest.mark.parametrize("derive", DERIVATIVES.values(), ids=list(DERIVATIVES))


@derivatives
def test_a_number_written_over_an_element_has_no_derivative_at_an_infinite_slope(
    derive: Any,
) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        total = 0.0
        for k in range(2):
            y[k] = 0.0
            total = total + np.sqrt(y[k]) * x[k]
        return total + np.sqrt(y[2])

    assert derive(f, X, np.ones(3)) == pytest.approx(0.5 / np.sqrt(3.0))


@derivatives
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
@pytest.mark.parametrize("copies", [2, 3, 4])
def test_what_is_repeated_and_summed_keeps_its_axis(copies: int, axis: Any, derive: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.broadcast_to(x, (copies, 3, 3)), axis=axis)

    t = np.array([1.0, -2.0, 5.0])
    np.testing.assert_allclose(derive(f, X, t), f(t), rtol=1e-14)
