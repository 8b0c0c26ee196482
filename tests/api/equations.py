"""Equations with known solutions, and solvers of several kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg, gmres

import funcdiff as fd

W = np.array([[0.3, -0.2, 0.1], [0.05, 0.25, -0.4], [-0.15, 0.2, 0.1]])
B = np.array([0.4, -1.1, 0.7])
WEIGHTS = np.array([1.0, -2.0, 0.5])
MATRIX = np.array([[4.0, 1.0, -0.5], [0.3, 3.0, 0.8], [-0.6, 0.2, 5.0]])
DEFINITE = MATRIX @ MATRIX.T


def newton(f: Any, x: Any) -> Any:
    """Solve one equation for one number."""
    for _ in range(50):
        step = f(x) / fd.grad(f)(x)
        x = x - step
        if abs(step) < 1e-15:
            break
    return x


def kepler(mean: Any, eccentricity: Any) -> Any:
    return fd.custom_root(lambda E: E - eccentricity * np.sin(E) - mean, mean, newton)


def equilibrium(W: Any, b: Any) -> Any:
    return fd.fixed_point(lambda x: np.tanh(W @ x + b), np.zeros(3))


def unrolled(W: Any, b: Any) -> Any:
    x = np.zeros(3)
    for _ in range(80):
        x = np.tanh(W @ x + b)
    return x


def by_cg(matvec: Any, b: Any) -> Any:
    x, info = cg(LinearOperator((b.size, b.size), matvec=matvec), b, rtol=1e-14, atol=0.0)
    assert info == 0
    return x


def by_gmres(matvec: Any, b: Any) -> Any:
    x, info = gmres(LinearOperator((b.size, b.size), matvec=matvec), b, rtol=1e-14, atol=0.0)
    assert info == 0
    return x


def solved_by_cg(A: Any, b: Any) -> Any:
    return fd.custom_linear_solve(lambda x: A @ x, b, by_cg, symmetric=True)


def solved_by_gmres(A: Any, b: Any) -> Any:
    return fd.custom_linear_solve(lambda x: A @ x, b, by_gmres, by_gmres)


def solved_densely(A: Any, b: Any) -> Any:
    return fd.custom_linear_solve(lambda x: A @ x, b)


def close(value: Any, expected: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=rtol)
