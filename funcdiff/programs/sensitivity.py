"""Derivatives of solutions with respect to parameters, by the optimality conditions.

With the active set kept, a solution solves equations: no gradient of the Lagrangian in the free
variables, active constraints at their bounds. Their derivative is the matrix of Karush, Kuhn and
Tucker (A. V. Fiacco, Introduction to Sensitivity and Stability Analysis, 1983).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.coordinates import Coordinates
from funcdiff.api.derivatives.gradient import grad
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.api.derivatives.sparse_matrices import Entries
from funcdiff.api.raveling import ravel_pytree
from funcdiff.core.late import late_import, scipy_function
from funcdiff.core.recording.quiet import quiet
from funcdiff.errors import ConvergenceError, user_location
from funcdiff.programs.functions import LARGE, Functions
from funcdiff.programs.solutions import Solution, active_sides, violation

_WEAK: Final = 1e-5
"""Multipliers, beside the gradient of the objective, that could be 0: solvers find six digits."""
_OPTIMAL: Final = 1e-4
"""What may remain of the Lagrangian's gradient, beside the largest term of it."""
_EXACT: Final = 1e-6
"""What a factorization may leave of equations whose right sides are 1."""
_SINGULAR: Final = 1e-12
"""The smallest eigenvalue of a scaled matrix beside the largest, below which it is singular."""


def derivatives(
    program: Functions, solution: Solution[Any], argnums: Sequence[int], args: tuple[Any, ...]
) -> list[Any]:
    """Return for each chosen argument the container of derivatives of a solution."""
    z = solution.vector
    weights = ravel_pytree(solution.multipliers)[0]
    values = np.asarray(program.constraints(z, *args))
    sides = active_sides(z, program.bounds), active_sides(values, program.cbounds)
    free, rows = sides[0] == 0, sides[1] != 0

    def conditions(*args: Any) -> Any:
        slope = grad(program.lagrangian)(z, 1.0, weights, *args)
        return np.concatenate([slope[free], program.constraints(z, *args)[rows]])

    _check(program, solution, sides, quiet(conditions, *args), args)
    solve = _solver(program, solution, weights, free, rows)

    def step_of(leaf: Any) -> Any:
        step = np.zeros((len(z), prod(leaf.shape[1:])))
        step[free] = -solve(np.reshape(leaf, (len(leaf), step.shape[1])))[: np.sum(free)]
        return step.reshape(len(z), *leaf.shape[1:])

    def of_argument(k: int, part: Any) -> Any:
        steps = [step_of(leaf) for leaf in pytree.flatten(part)[0]]

        def linear(*args: Any) -> Any:
            pairs = zip(steps, pytree.flatten(args[k])[0], strict=True)
            return program.containers[0](z + sum(np.tensordot(J, a, np.ndim(a)) for J, a in pairs))

        return jacobian(linear, k)(*args)

    parts = quiet(jacobian(conditions, tuple(argnums)), *args)
    return [of_argument(k, part) for k, part in zip(argnums, parts, strict=True)]


def _check(
    program: Functions, solution: Solution[Any], sides: Any, rest: Any, args: tuple[Any, ...]
) -> None:
    """Refuse what is no solution for these arguments, and warn where one side is not the other."""
    z = solution.vector
    size = max(float(np.max(np.abs(grad(program.objective)(z, *args)))), 1.0)
    outside = violation(program.constraints(z, *args), program.cbounds)
    rest = np.abs(rest[: int(np.sum(sides[0] == 0))])
    if not (np.max(rest, initial=0.0) <= _OPTIMAL * size and outside <= _OPTIMAL):
        raise ConvergenceError(
            "nlp.sensitivity: x is no solution for these arguments: the gradient of the "
            f"Lagrangian is {np.max(rest, initial=0.0):.3g}, bounds are left by {outside:.3g}, "
            f"at {user_location()}. Solve the program with these arguments first, or more exactly."
        )
    trees = (solution.x, solution.bound_multipliers), (solution.constraints, solution.multipliers)
    for side, name, (tree, weights) in zip(sides, "xc", trees, strict=True):
        weak = (np.abs(side) == 1) & (ravel_pytree(weights)[0] * side <= _WEAK * size)
        if np.any(weak):
            place = name + Coordinates.of(tree).name(int(np.argmax(weak)))
            warnings.warn(
                f"nlp.sensitivity: the multiplier of {place}, which is at its bound, is "
                f"near 0 or has the wrong sign, at {user_location()}: on one side of the "
                "arguments it may be active and on the other not, so that the derivatives are "
                "those of one side at most. Compare with a solution for arguments nearby.",
                late_import("funcdiff.scipy.optimize").SolutionWarning,
                stacklevel=4,
            )


def _solver(
    program: Functions, solution: Solution[Any], weights: Any, free: Any, rows: Any
) -> Callable[[Any], Any]:
    """Return what solves linear equations with the matrix of the conditions at a minimum."""
    z, sparse = solution.vector, int(np.sum(free)) >= LARGE
    as_matrix = Entries.sparse if sparse else Entries.dense
    J = as_matrix(program.at(z).jacobian)[rows][:, free]
    H = as_matrix(program.hessian(z, 1.0, weights))[free][:, free]
    n, m = H.shape[0], J.shape[0]
    K = scipy_function("bmat", "scipy.sparse")([[H, J.T], [J, None]], "csc") if sparse else (
        np.block([[H, J.T], [J, np.zeros((m, m))]])
    )  # fmt: skip
    largest: Any = abs(K).max(axis=0) if n + m else np.zeros(0)
    scale = np.asarray(largest.toarray() if sparse else largest).ravel() ** -0.5
    factors = (_sparse if sparse else _dense)(K, scale) if np.all(np.isfinite(scale)) else None
    if factors is None:
        raise ConvergenceError(
            f"nlp.sensitivity: the matrix of the optimality conditions, {n + m} x {n + m} with "
            f"{m} active constraints, is singular, at {user_location()}: the solution or its "
            "multipliers are not unique. Leave out constraints that follow from others, or add a "
            "small np.sum(x**2) to the objective."
        )
    if factors[1] != m:  # at a minimum, as many eigenvalues are negative as constraints active
        raise ConvergenceError(
            "nlp.sensitivity: x is no minimum: along active constraints the Lagrangian has "
            f"negative curvature, at {user_location()}. Solve from another start."
        )
    return lambda side: scale[:, None] * factors[0](scale[:, None] * side)


def _dense(K: Any, scale: Any) -> tuple[Callable[[Any], Any], int] | None:
    """Return what solves with the scaled matrix, if it is regular, and its negative eigenvalues."""
    K = scale[:, None] * K * scale
    eigenvalues = np.linalg.eigvalsh(K)
    size = np.abs(eigenvalues)
    if np.min(size, initial=np.inf) <= _SINGULAR * np.max(size, initial=0.0):
        return None
    return partial(np.linalg.solve, K), int(np.sum(eigenvalues < 0))


def _sparse(K: Any, scale: Any) -> tuple[Callable[[Any], Any], int] | None:
    """Return the same of a sparse matrix, without its eigenvalues.

    With pivots on the diagonal as many of them are negative as eigenvalues (Sylvester's law of
    inertia). The diagonal is moved by less than the smallest eigenvalue, which changes no sign, so
    that there are such pivots even where it is zero; if there are none, the matrix becomes dense.
    """
    splu = scipy_function("splu", "scipy.sparse.linalg")
    diagonal = scipy_function("diags_array", "scipy.sparse")
    K = (diagonal(scale) @ K @ diagonal(scale)).tocsc()
    try:
        factors = splu(K)
    except RuntimeError:  # a pivot is zero
        return None
    operator = scipy_function("LinearOperator", "scipy.sparse.linalg")
    inverse = operator(K.shape, factors.solve, lambda b: factors.solve(b, "T"), dtype=float)
    least = 1 / scipy_function("onenormest", "scipy.sparse.linalg")(inverse)
    if not least > _SINGULAR * abs(K).sum(axis=0).max():
        return None
    shift, ones = np.where(K.diagonal() == 0, -0.1, 0.1) * least, np.ones(len(scale))
    moved = (K + diagonal(shift)).tocsc()
    symmetric = splu(moved, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    rest = np.max(np.abs(moved @ symmetric.solve(ones) - ones))
    if rest > _EXACT or not np.array_equal(symmetric.perm_r, symmetric.perm_c):
        return _dense(K.toarray(), ones)
    return factors.solve, int(np.sum(symmetric.U.diagonal() < 0))
