"""Matrix-free linear equations, solved by custom solvers, with implicit derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_function, check_optional_functions
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.calls.transformed import name_of
from funcdiff.api.rules.solver_calls import (
    Equation,
    auxiliary,
    evaluate_or_record,
    name_solver,
    rebuild_solution,
    solve_directly,
    trace_equation,
    unknowns,
)
from funcdiff.api.signatures.products import Solutions
from funcdiff.api.signatures.variables import typed_as
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import any_traced
from funcdiff.errors import InputError, user_location
from funcdiff.ops.control.rematerialization import Tap
from funcdiff.ops.user.solved_equations import LinearSolve, dense_solve, linear_solve
from funcdiff.space import add, neg, zeros
from funcdiff.transforms.linearize import linearize


@typed_as[Solutions]()
@public
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    *,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve A·x = b, where A is a function, with a solver of your own; differentiate x.

    With ``dx = A⁻¹ (db - dA·x)`` the derivative is one more solution with A, and in reverse mode
    with its transpose.  A may depend on traced arrays that `matvec` closes over.

    Parameters
    ----------
    matvec
        ``matvec(x)`` returns A·x.  It must be linear, and is traced.
    b
        Right-hand side: container of floating or complex arrays.
    solve
        ``solve(matvec, b)`` returns x; runs with concrete arrays, and is never traced, so it may
        be an iterative solver of SciPy's.  By default the matrix is made and factorized.
    transpose_solve
        ``transpose_solve(vecmat, b)`` solves with the transpose; reverse mode needs it.
    symmetric
        Whether A is its own transpose or adjoint, so that `solve` does for both.
    has_aux
        Whether the solvers return pairs ``(x, aux)``.

    Returns
    -------
    x
        Like `b`.
    aux
        With `has_aux`: what the solver returned beside it; in a traced function numbers and
        arrays, which have no derivative.

    Raises
    ------
    NotDifferentiableError
        In reverse mode, if there is no solver for the transpose.
    InputError
        If `matvec` is not linear, or a solver closes over a traced array.
    OutputError
        If `matvec` or a solver returns something unlike `b`; the message has the leaf's path.
    ConvergenceError
        If what a solver returned is no solution: if the residual is larger than a thousandth part
        of `b` and of A·x.
    numpy.linalg.LinAlgError
        If there is no `solve` and A is singular.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from scipy.sparse.linalg import LinearOperator, cg
    >>> def by_cg(matvec, b):
    ...     return cg(LinearOperator((b.size, b.size), matvec=matvec), b, rtol=1e-12)[0]
    >>> def energy(k):
    ...     stiffness = lambda u: k * u - 0.5 * np.roll(u, 1) - 0.5 * np.roll(u, -1)
    ...     return np.sum(fd.custom_linear_solve(stiffness, np.ones(4), by_cg, symmetric=True))
    >>> print(np.round(fd.grad(energy)(3.0), 6))
    -1.0
    """
    check_function(matvec, "custom_linear_solve", "matvec")
    check_optional_functions("custom_linear_solve", solve=solve, transpose_solve=transpose_solve)
    return solution_by(
        matvec, b, solve, transpose_solve, symmetric=symmetric, has_aux=has_aux, checked_as="linear"
    )


def solution_by(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any] | None,
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    *,
    symmetric: bool = False,
    has_aux: bool = False,
    checked_as: Equation = "",
) -> Any:
    """Return what `custom_linear_solve` returns; not held against the equation by default.

    SciPy's iterations say themselves how far they came, and least squares solve another equation.
    """
    name = f"custom_linear_solve({name_of(matvec)})"
    x = unknowns(b, f"the right-hand side of {name}")
    if solve is None:
        if transpose_solve is not None or has_aux:
            raise InputError(
                f"{name} got transpose_solve or has_aux=True, but no solve, at {user_location()}. "
                "Give solve=, or leave out the others."
            )
        program, captures = trace_equation(matvec, x, name)
        equation = _linear_map(program, len(x.types), name)
        right = evaluate_or_record(equation.right, [*captures, *x.leaves])
        dense = dense_solve(equation.program, len(x.types), name)
        return pytree.unflatten(x.structure, evaluate_or_record(dense, [*captures, *right]))
    if current_builder() is not None:
        program, captures = trace_equation(matvec, x, name)
        operands = [*captures, *x.leaves]
        if any_traced(operands):
            equation = _linear_map(program, len(x.types), name)
            operands = [*captures, *evaluate_or_record(equation.right, operands)]
            solver = name_solver(
                solve, x.structure, f"the solver of {name}", has_aux=has_aux, equation=checked_as
            )
            transposed: str = solver if symmetric else ""
            if transpose_solve is not None:
                what = f"the transposed solver of {name}"
                transposed = name_solver(
                    transpose_solve, x.structure, what, has_aux=has_aux, equation=checked_as
                )
            aux, shown = auxiliary(solver, name, equation.program, operands)
            p = LinearSolve(
                name, equation.program, len(x.types), solver, aux, (), transposed=transposed
            )
            return rebuild_solution(linear_solve(p, as_tracers(operands)), x, shown)
    return solve_directly(solve, matvec, x, name, has_aux=has_aux, equation=checked_as)


# ---- the map as a program -----------------------------------------------------------------------


class _LinearMap(NamedTuple):
    """A map ``v -> A·v + c`` as the equation A·x = b - c."""

    program: Program  # ``(*known, *v) -> A·v``, which can be transposed
    right: Program  # ``(*known, *b) -> b - c``


def _linear_map(program: Program, count: int, name: str) -> _LinearMap:
    """Return a map of the last `count` inputs of a program as a linear one.

    Raises `InputError` if its derivative is not constant, or depends on a tap.
    """
    tap = next((eq.params.name for eq in program.equations if isinstance(eq.params, Tap)), None)
    if tap is not None:
        raise InputError(
            f"the map of {name} gives a value the name {tap!r}, at {user_location()}: it is taken "
            "apart, and applied to many vectors. Apply it to the solution and name what it returns."
        )
    found = _take_apart(program, count)
    if found is None:
        raise InputError(
            f"the map of {name} is not linear: its derivative depends on the argument, at "
            f"{user_location()}. Use fd.custom_root for equations that are not linear."
        )
    return found


@memoised
def _take_apart(program: Program, count: int) -> _LinearMap | None:
    """Take a program for its derivative by the last inputs, unless that depends on them."""
    outputs, first = len(program.outputs), len(program.inputs) - count
    active = (*(False for _ in range(first)), *(True for _ in range(count)))
    split = linearize(program, active, (True,) * outputs)
    if any(dependent(split.primal, active)[outputs:]):
        return None
    zero = list(map(zeros, program.input_types[first:]))
    with Builder("linear_map", SHARED) as builder:
        given = [builder.input(t) for t in program.input_types[:first]]
        vs = [builder.input(t) for t in program.input_types[first:]]
        residuals = inline(split.primal, [*given, *zero])[outputs:]
        slope = builder.program(inline(split.linear, [*vs, *residuals]))
    with Builder("linear_map", SHARED) as builder:
        given = [builder.input(t) for t in program.input_types[:first]]
        bs = [builder.input(t) for t in program.input_types[first:]]
        constants = inline(split.primal, [*given, *zero])
        right = builder.program([add(b, neg(c)) for b, c in zip(bs, constants, strict=False)])
    return _LinearMap(slope, right)
