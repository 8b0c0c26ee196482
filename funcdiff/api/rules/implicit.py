"""Implicit differentiation: roots and fixed points as functions of values in their equations.

The solver is Python code that runs with concrete arrays and is never traced; only the equation
is, and its derivative is that of the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_functions, check_optional_functions
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.calls.transformed import name_of
from funcdiff.api.rules.solver_calls import (
    Equation,
    Unknowns,
    auxiliary,
    fit_leaves,
    largest,
    name_solver,
    rebuild_solution,
    solve_directly,
    trace_equation,
    unknowns,
)
from funcdiff.api.signatures.products import Roots
from funcdiff.api.signatures.variables import Primals, X, typed_as
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import any_traced
from funcdiff.errors import ConvergenceError, InputError, user_location
from funcdiff.ops.user.solved_equations import Root, root


@typed_as[Roots]()
@public
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    *,
    has_aux: bool = False,
) -> Any:
    """Solve f(x) = 0 with a solver of your own, and differentiate the root.

    If f depends on θ, which it closes over, the root does, and its derivative is that of the
    implicit function, ``dx/dθ = -(∂f/∂x)⁻¹ ∂f/∂θ``, in every mode and to any order.  How the
    solver works does not matter: it runs with concrete arrays and is never traced.

    Parameters
    ----------
    f
        ``f(x)`` returns what is to vanish, like the unknown x in structure, shapes and dtypes.
        It may close over traced arrays.  It is traced, without values.
    initial_guess
        Where the solver starts: container of floating or complex arrays.  The derivative by it
        is zero.
    solve
        ``solve(f, initial_guess)`` returns the root.  Its f takes concrete arrays, and may be
        differentiated.
    tangent_solve
        ``tangent_solve(g, y)`` solves g(x) = y for a linear function g: the derivative of f, or
        its transpose.  By default the Jacobian is made and factorized.
    has_aux
        Whether the solver returns a pair ``(root, aux)``.

    Returns
    -------
    root
        Like `initial_guess`.
    aux
        With `has_aux`: what the solver returned beside it; in a traced function numbers and
        arrays, which have no derivative.

    Raises
    ------
    OutputError
        If f or the solver returns something unlike the unknown; the message has the leaf's path.
    InputError
        If the solver closes over a traced array.
    ConvergenceError
        If what the solver returned is no root: if a change of the unknown by a thousandth part
        does not make up for the residual.  So for `tangent_solve`.
    numpy.linalg.LinAlgError
        By the derivative, if the Jacobian at the root is singular.  The root of one equation for
        one real number has an infinite derivative there.

    References
    ----------
    M. Blondel and others, "Efficient and modular implicit differentiation", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def newton(f, x):
    ...     for _ in range(20):
    ...         x = x - f(x) / fd.grad(f)(x)
    ...     return x
    >>> def eccentric_anomaly(mean, eccentricity):
    ...     return fd.custom_root(lambda E: E - eccentricity * np.sin(E) - mean, mean, newton)
    >>> print(fd.grad(eccentric_anomaly)(0.0, 0.5))
    2.0
    """
    check_functions("custom_root", f=f, solve=solve)
    check_optional_functions("custom_root", tangent_solve=tangent_solve)
    name = f"custom_root({name_of(f)})"
    x = unknowns(initial_guess, f"the initial guess of {name}")
    return _root(name, f, x, solve, tangent_solve, equation="root", has_aux=has_aux)


def _root(
    name: str,
    f: Callable[..., Any],
    x: Unknowns,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any] | None,
    *,
    equation: Equation,
    fixed: bool = False,
    has_aux: bool,
) -> Any:
    if current_builder() is not None:
        program, captures = trace_equation(f, x, name)
        operands = [*captures, *x.leaves]
        if any_traced(operands):
            solver = name_solver(
                solve, x.structure, f"the solver of {name}", has_aux=has_aux, equation=equation
            )
            tangent_solver = ""
            if tangent_solve is not None:
                what = f"the tangent solver of {name}"
                tangents: Equation = "" if isinstance(solve, _KeepGuess) else "linear"
                tangent_solver = name_solver(
                    tangent_solve, x.structure, what, has_aux=False, equation=tangents
                )
            aux, shown = auxiliary(solver, name, program, operands)
            p = Root(name, program, len(x.types), solver, aux, (), fixed, tangent_solver)
            return rebuild_solution(root(p, as_tracers(operands)), x, shown)
    return solve_directly(solve, f, x, name, has_aux=has_aux, equation=equation)


def solution_of(
    name: str,
    f: Callable[[Any], Any],
    x: Any,
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
) -> Any:
    """Return a solution x of f(x) = 0 that is known already, as a function of what f contains.

    `x` is a container of floating or complex arrays, whose own derivative is not used; `name` is
    what messages call the equation, and `tangent_solve` is that of `custom_root`.
    """
    start = unknowns(x, f"the solution of {name}")
    return _root(name, f, start, _KeepGuess(), tangent_solve, equation="", has_aux=False)


@dataclass(frozen=True)
class _KeepGuess:
    """The solver of what is solved already."""

    has_effects: ClassVar[bool] = False

    def __call__(self, _f: Callable[[Any], Any], x: Any) -> Any:
        return x


# ---- fixed points ------------------------------------------------------------------------------


@public
def fixed_point(
    f: Callable[[X, *Primals], Any],
    x0: X,
    *args: *Primals,
    tol: float | None = None,
    max_iterations: int = 1000,
    solve: Callable[[Callable[[X], Any], X], Any] | None = None,
    linear_solve: Callable[[Callable[[X], Any], X], Any] | None = None,
) -> X:
    """Solve ``x = f(x, *args)``, and differentiate the solution.

    By default x is replaced by ``f(x, *args)`` until it stays.  The derivative is that of the
    implicit function, ``dx/dθ = (1 - ∂f/∂x)⁻¹ ∂f/∂θ`` at the solution, whatever θ is: an
    argument or an array that f closes over.  Iterations are neither recorded nor kept.

    Parameters
    ----------
    f
        ``f(x, *args)`` returns what is like x in structure, shapes and dtypes.  It is traced,
        without values.
    x0
        Where to start: container of floating or complex arrays.  The derivative by it is zero.
    *args
        Further arguments of f.
    tol
        The iteration ends when no element changes by more than ``tol * (1 + max|x|)``; by default
        100 times the rounding error of the dtype.
    max_iterations
        After so many iterations it has not converged.
    solve
        ``solve(g, x0)`` returns x with x = g(x), for ``g(x) = f(x, *args)``; runs with
        concrete arrays.  It is used instead of the iteration; `tol` and `max_iterations` are not.
    linear_solve
        ``linear_solve(g, y)`` solves g(x) = y for the linear function g = 1 - ∂f/∂x, or its
        transpose.  By default the matrix is made and factorized.

    Returns
    -------
    any
        The fixed point, like `x0`.

    Raises
    ------
    ConvergenceError
        If the iteration does not end, with the last change in the message; if what `solve`
        returned is no fixed point, by a thousandth part of x.
    OutputError, InputError, numpy.linalg.LinAlgError
        As `custom_root`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> heron = lambda x, a: (x + a / x) / 2
    >>> root = lambda a: fd.fixed_point(heron, 1.0, a)
    >>> print(root(4.0), fd.grad(root)(4.0))
    2.0 0.25
    """
    check_functions("fixed_point", f=f)
    check_optional_functions("fixed_point", solve=solve, linear_solve=linear_solve)
    name = f"fixed_point({name_of(f)})"
    if max_iterations < 1 or (tol is not None and not tol > 0):
        raise InputError(
            f"{name} got tol={tol} and max_iterations={max_iterations}, at {user_location()}: "
            "both must be positive."
        )
    x = unknowns(x0, f"the start of {name}")
    solver = solve or _Iteration(name, tol, max_iterations)

    @wraps(f)
    def step(x: X) -> Any:
        return f(x, *args)

    equation: Equation = "fixed point" if solve else ""  # the iteration knows when it is there
    result: X = _root(
        name, step, x, solver, linear_solve, equation=equation, fixed=True, has_aux=False
    )
    return result


@dataclass(frozen=True)
class _Iteration:
    """The solver that applies a function until nothing changes any more."""

    name: str
    tol: float | None
    max_iterations: int

    def __call__(self, f: Callable[[Any], Any], start: Any) -> Any:
        x = unknowns(start, f"the start of {self.name}")
        tol = self.tol
        if tol is None:
            tol = 100 * max(float(np.finfo(t.dtype).eps) for t in x.types)
        before, change = x.leaves, np.inf
        for iteration in range(1, self.max_iterations + 1):
            result = f(pytree.unflatten(x.structure, before))
            after = fit_leaves(
                result, x.structure, x.types, f"the result of the map of {self.name}"
            )
            if not all(np.isfinite(y).all() for y in after):
                raise ConvergenceError(
                    f"{self.name} left the finite numbers in iteration {iteration}, at "
                    f"{user_location()}; the last change was {change:.3g}. Start closer to the "
                    "solution, damp the map (0.5 * (x + f(x))), or give solve=."
                )
            change = largest([y - z for y, z in zip(after, before, strict=True)])
            if change <= tol * (1 + largest(after)):
                return pytree.unflatten(x.structure, after)
            before = after
        raise ConvergenceError(
            f"{self.name} did not converge in {self.max_iterations} iterations, at "
            f"{user_location()}: the last change was {change:.3g}, the tolerance is {tol:.3g} "
            "times 1 + max|x|. Raise max_iterations or tol, damp the map (0.5 * (x + f(x))), or "
            "give solve=."
        )
