"""Boundary value problems: SciPy's solutions, and the implicit function theorem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate as plain

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError
from funcdiff.scipy import integrate

MESH = np.linspace(0, 1, 5)


def _bratu(s: Any, c: Any, end: Any = 1.0, **options: Any) -> Any:
    """Solve y'' + c·exp(y) = 0 that vanishes at both ends."""
    return s.solve_bvp(
        lambda _x, y: np.stack([y[1], -c * np.exp(y[0])]),
        lambda ya, yb: np.stack([ya[0], yb[0]]),
        MESH * end, np.zeros((2, 5)), tol=1e-6, **options,
    )  # fmt: skip


def test_values_are_scipys() -> None:
    expected = _bratu(plain, 1.0)
    found: list[Any] = []

    def f(c: Any) -> Any:
        result = _bratu(integrate, c)
        found.append(result)
        assert result.keys() == expected.keys()
        return result.x, result.y, result.yp, result.rms_residuals, result.sol([0.3, 1.0])

    for name, value in zip(("x", "y", "yp", "rms_residuals"), fd.vjp(f, 1.0)[0], strict=False):
        np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(fd.vjp(f, 1.0)[0][4], expected.sol([0.3, 1.0]), rtol=1e-14)
    slope = fd.vjp(lambda c: _bratu(integrate, c).sol(0.3, 1), 1.0)[0]
    np.testing.assert_allclose(slope, expected.sol(0.3, 1), rtol=1e-13)
    for name in ("p", "niter", "status", "message", "success"):
        assert found[0][name] == expected[name]


@pytest.mark.slow
def test_derivatives_are_those_of_differences_of_scipys_solutions() -> None:
    def f(s: Any, c: Any, end: Any) -> Any:
        return _bratu(s, c, end).sol(0.5)[0]

    gradient = fd.grad(lambda c, end: f(integrate, c, end), (0, 1))
    h = 1e-3
    differences = [
        (f(plain, 1 + h, 1.0) - f(plain, 1 - h, 1.0)) / (2 * h),
        (f(plain, 1.0, 1 + h) - f(plain, 1.0, 1 - h)) / (2 * h),
    ]
    np.testing.assert_allclose(gradient(1.0, 1.0), differences, rtol=1e-5)
    hessian = np.array(fd.hessian(lambda c, end: f(integrate, c, end), (0, 1))(1.0, 1.0))
    upper, lower = gradient(1 + h, 1.0), gradient(1 - h, 1.0)
    np.testing.assert_allclose(hessian[0], np.subtract(upper, lower) / (2 * h), rtol=1e-5)
    compiled = fd.jit(fd.grad(lambda c: f(integrate, c, 1.0)))
    np.testing.assert_allclose(compiled(1.0), gradient(1.0, 1.0)[0], rtol=1e-12)


def _string(s: Any, length: Any, **options: Any) -> Any:
    """Solve y'' + k²·y = 0 with an unknown k, which is 2π over the length."""
    x = np.linspace(0, 1, 11)
    start = np.stack([np.sin(2 * np.pi * x), 2 * np.pi * np.cos(2 * np.pi * x)])
    return s.solve_bvp(
        lambda _x, y, p: np.stack([y[1], -p[0] ** 2 * y[0]]),
        lambda ya, yb, p: np.stack([ya[0], yb[0], ya[1] - p[0]]),
        x * length, start, p=[6.0], **options,
    ).p[0]  # fmt: skip


@pytest.mark.slow
def test_unknown_parameters_are_differentiated() -> None:
    f = fd.grad(lambda length: _string(integrate, length, tol=1e-4))
    np.testing.assert_allclose(f(1.0), -2 * np.pi, rtol=1e-5)
    np.testing.assert_allclose(fd.grad(f)(1.0), 4 * np.pi, rtol=1e-4)


@pytest.mark.slow
def test_a_singular_term_and_jacobians_are_honoured() -> None:
    """Emden's equation, whose solution is (1 + x²/3)^(-1/2)."""

    def f(s: Any, q: Any, **options: Any) -> Any:
        return s.solve_bvp(
            lambda _x, y: np.stack([y[1], -q * y[0] ** 5]),
            lambda ya, yb: np.stack([ya[1], yb[0] - np.sqrt(0.75)]),
            MESH, np.stack([np.ones(5), np.zeros(5)]), S=np.array([[0, 0], [0, -2.0]]), tol=1e-6,
            **options,
        ).y[0, 0]  # fmt: skip

    def slopes(_x: Any, y: Any) -> Any:
        zero = 0 * y[0]
        rows = [np.stack([zero, zero + 1]), np.stack([-5 * y[0] ** 4, zero])]
        return np.stack(rows)

    def ends(_ya: Any, _yb: Any) -> Any:
        return np.array([[0.0, 1.0], [0, 0]]), np.array([[0.0, 0.0], [1, 0]])

    value, slope = fd.value_and_grad(lambda q: f(integrate, q))(1.0)
    difference = (f(plain, 1 + 1e-3) - f(plain, 1 - 1e-3)) / 2e-3
    np.testing.assert_allclose([value, slope], [1.0, difference], rtol=1e-5)
    given = {"fun_jac": slopes, "bc_jac": ends}
    again = fd.value_and_grad(lambda q: f(integrate, q, **given))(1.0)
    assert again[0] == f(plain, 1.0, **given)
    np.testing.assert_allclose(again[1], slope, rtol=1e-8)


@pytest.mark.slow
def test_solutions_may_be_complex() -> None:
    def f(w: Any) -> Any:
        return integrate.solve_bvp(
            lambda _x, y: 1j * w * y, lambda ya, _yb: ya - 1.0, MESH, np.ones((1, 5), complex),
            tol=1e-8,
        ).y[0, -1]  # fmt: skip

    np.testing.assert_allclose(fd.jvp(f, (2.0,), (1.0,))[1], 1j * np.exp(2j), rtol=1e-6)


def test_what_is_not_traced_is_scipys_and_what_cannot_be_done_says_so() -> None:
    def unused(c: Any) -> Any:
        return c * _bratu(integrate, 1.0).y[0, 2]

    assert fd.grad(unused)(1.0) == _bratu(plain, 1.0).y[0, 2]
    found = _bratu(integrate, 1.0).sol
    slope = fd.jacfwd(found)(0.3)
    np.testing.assert_allclose(slope, _bratu(plain, 1.0).sol.derivative()(0.3), rtol=1e-12)
    with pytest.raises(ConcreteValueError, match="loop over the examples"):
        fd.vmap(lambda c: _bratu(integrate, c).y)(np.array([1.0, 2.0]))
    with pytest.raises(UnsupportedNumPyError, match="no traced S"):
        fd.grad(lambda c: _bratu(integrate, c, S=c * np.eye(2)).y[0, 2])(1.0)
