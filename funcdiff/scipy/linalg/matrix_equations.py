"""Matrix equations: Sylvester, Lyapunov, Riccati.

The derivative of a solution X solves a linear equation of Sylvester's kind, whose right-hand side
is the change of the residual at X (implicit function theorem; for Riccati's, T. Kao, G. Hennequin,
"Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations", 2020,
arXiv:2011.11430).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.promotion import Traced
from funcdiff.ops.linalg.matrices import adjoint
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers
from funcdiff.scipy.linalg.matrix_stacks import squares, stacks
from funcdiff.scipy.primitives.linalg.riccati import riccati, sylvester

# ---- linear equations ----------------------------------------------------------------------------


@covers("scipy.linalg")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve A·X + X·B = Q; so does the derivative, A·dX + dX·B = dQ - dA·X - X·dB."""
    return sylvester(*stacks(a, b, q))


@covers("scipy.linalg", "solve_continuous_lyapunov", "solve_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve A·X + X·Aᴴ = Q, and for the derivative an equation of the kind."""
    left, right = _pair(a, q)
    return sylvester(left, adjoint(left), right)


def _pair(a: Any, q: Any) -> list[Traced]:
    left, right = squares(np.atleast_2d(a), np.atleast_2d(q))
    if left.shape != right.shape:
        raise ValueError("Matrix a and q should have the same shape.")
    return [left, right]


borrow_functions("scipy.linalg", "solve_discrete_lyapunov")


# ---- Riccati's equations -------------------------------------------------------------------------

_HERMITIAN = "The matrices q and r have to be Hermitian. With e, nothing is balanced before."


@covers("scipy.linalg", note=_HERMITIAN)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve the continuous algebraic Riccati equation; its derivative solves Lyapunov's.

    (A - BK)ᴴ·dX + dX·(A - BK) = -(dAᴴX + X·dA - Kᴴ·dBᴴX - X·dB·K + Kᴴ·dR·K + dQ) with the gain
    K = R⁻¹BᴴX (T. Kao, G. Hennequin, 2020).
    """
    return _riccati(a, b, q, r, e, s, discrete=False, balanced=balanced)


@covers("scipy.linalg", note=_HERMITIAN)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve the discrete algebraic Riccati equation; its derivative solves Lyapunov's."""
    return _riccati(a, b, q, r, e, s, discrete=True, balanced=balanced)


def _riccati(*given: Any, discrete: bool, balanced: bool) -> Any:
    xs = [np.atleast_2d(x) for x in given if x is not None]
    xs = stacks(*xs)
    dtype = np.result_type(xs[0].dtype, np.float64)
    known: Any = iter([x.astype(dtype) for x in xs])
    matrices: Any
    *matrices, e, s = [None if x is None else next(known) for x in given]
    # SciPy leaves E out of its balance, and then returns what is no solution
    return riccati(matrices, e, s, discrete=discrete, balanced=bool(balanced) and e is None)
