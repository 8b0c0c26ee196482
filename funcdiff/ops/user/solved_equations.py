"""Equations solved by Python code: `linear_solve` and `root`, with implicit derivatives.

A solver runs with concrete arrays.  It is registered by name, and lives as long as a program that
calls it, which holds its name.

A linear equation A·x = b is matrix-free: A is a program ``v -> A·v``.  With a solver of the user's
it is the primitive `linear_solve`; without one, `dense_solve` makes the matrix and solves by
factorization, out of operations that have their own derivatives.

Roots and fixed points are differentiated by the implicit function theorem.  Where F(θ, x) = 0, the
derivative of x is the solution t of ∂F/∂x·t = -∂F/∂θ·t_θ, whatever the solver did to find x and
wherever it started.

Reference: S. G. Krantz, H. R. Parks, "The Implicit Function Theorem", Birkhäuser 2003.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import Params, Primitive, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.recording.concrete import call_once
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.complex import imag, join, real
from funcdiff.ops.elementwise.mathematics import div
from funcdiff.ops.linalg.matrices import identity, matmul, matrix_transpose
from funcdiff.ops.linalg.systems import solver
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, reshape
from funcdiff.ops.user.python_call import (
    Batches,
    Entered,
    Rule,
    Turned,
    by_example,
    check_results,
    python_call,
)
from funcdiff.space import add, instantiate, mul, neg
from funcdiff.transforms.jvp import Mask, jvp, present, spread
from funcdiff.transforms.transpose import transpose as transposed_program
from funcdiff.transforms.vmap import batch_outputs

Run: TypeAlias = Callable[[str, Program, Sequence[Any], Sequence[Any]], Sequence[Any]]
"""``run(name, program, known, values) -> results``.

The program is a function of `known`, which come first among its inputs, and of the unknowns;
`values` are what the solver starts from, or the right-hand side.  Messages speak of `name`.
"""

P = TypeVar("P", bound="Problem")

entered: Final[Entered[Run]] = Entered(
    "the solver", "Trace the function again, there where its solver is defined."
)
"""Solvers by name."""


class Problem(Params):
    """A program with unknowns, which a solver finds."""

    name: str  # of the problem, for messages
    program: Program  # ``(*known, *unknowns) -> results`` like the unknowns
    unknowns: int  # how many there are
    solver: str  # its name
    aux: Types  # types of the solver's further results
    batches: Batches  # batch axes of the operands

    @property
    def results(self) -> Types:
        """The types of the results of one example."""
        return (*self.program.input_types[first_unknown(self) :], *self.aux)

    @property
    def has_effects(self) -> bool:
        """Whether the solver may do more than return its results."""
        return getattr(entered[self.solver], "has_effects", True)


def first_unknown(p: Problem) -> int:
    """Return how many operands come before the values for the unknowns."""
    return len(p.program.inputs) - p.unknowns


def _solve(p: Problem, operands: Sequence[Any]) -> list[Any]:
    """Call the solver for one example."""
    first = first_unknown(p)
    results = call_once(
        (p.solver, p.program), operands,
        lambda: entered[p.solver](p.name, p.program, operands[:first], operands[first:]),
    )  # fmt: skip
    return check_results(
        results[: p.unknowns + len(p.aux)], p.results,
        lambda found, wanted: f"the solver of {p.name} returned {found} where {wanted} had come "
        "before for arguments of these types. What it returns beside the solution must keep its "
        "shapes and dtypes.",
    )  # fmt: skip


def problem(
    name: str, params: type[P], tangents: Rule, cotangents: Turned | None = None
) -> Primitive[P]:
    """Declare the primitive of a kind of problem; the values for unknowns have every batch axis."""
    return python_call(
        name, params, by_example(_solve), tangents, cotangents,
        takes=lambda p: p.program.input_types, wide=lambda p: slice(first_unknown(p), None),
    )  # fmt: skip


# ---- linear equations ----------------------------------------------------------------------------


class LinearSolve(Problem):
    """A linear equation, of a program ``(*known, *v) -> w`` that is linear in `v`."""

    transposed: str  # name of the solver for the transposed map, if there is one


def _linear_rule(p: LinearSolve, active: Mask, _types: Types) -> tuple[Program, Mask]:
    """x = A⁻¹·b has dx = A⁻¹·(db - dA·x)."""
    moves = tuple(k < p.unknowns for k in range(len(p.results)))
    return _linear_tangent(p.program, p, active), moves


@memoised
def _linear_tangent(program: Program, p: LinearSolve, active: Mask) -> Program:
    """Return ``(*known, *b, *results, *ts) -> t_x`` for the tangents of the active operands."""
    first = first_unknown(p)
    moves, right = active[:first], active[first:]
    with Builder("linear_solve", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        at = [*xs[:first], *[builder.input(t) for t in p.results][: p.unknowns]]
        ts = spread([builder.input(x.type) for x in compress(xs, active)], active)
        rest = [instantiate(t, b.type) for t, b in zip(ts[first:], xs[first:], strict=True)]
        if any(moves):
            pushed, mask = jvp(program, (*moves, *(False for _ in right)))
            results = inline(pushed, [*at, *present(ts[:first])])
            moved = spread(results[len(program.outputs) :], mask)
            rest = [b if m is None else add(b, neg(m)) for b, m in zip(rest, moved, strict=True)]
        return builder.program(linear_solve(replace(p, aux=()), [*at[:first], *rest]))


def _transpose(p: LinearSolve, linear: Mask, arrived: Mask, _types: Types) -> Program:
    """Return ``(*other operands, *cts) -> cts of the right-hand sides``."""
    if not p.transposed:
        raise NotDifferentiableError(
            f"reverse mode through {p.name} has to solve with the transposed map, for which there "
            "is no solver. Give transpose_solve=, say symmetric=True if the map is its own "
            "transpose or adjoint, or leave out solve= for one that knows both."
        )
    first, types = first_unknown(p), p.program.input_types
    moves = tuple(k >= first for k in range(len(types)))
    assert not any(linear[:first]), "the solution is linear in the right-hand side alone"
    turned = replace(
        p,
        program=transposed_program(p.program, moves),
        solver=p.transposed,
        transposed=p.solver,
        aux=(),
    )
    with Builder("linear_solve", SHARED) as builder:
        given = [builder.input(t) for t, moved in zip(types, linear, strict=True) if not moved]
        cts = spread([builder.input(t) for t in compress(p.results, arrived)], arrived)
        right = [instantiate(ct, t) for ct, t in zip(cts, types[first:], strict=False)]
        pulled = linear_solve(turned, [*given[:first], *right])
        return builder.program(list(compress(pulled, linear[first:])))


linear_solve_p: Final = problem("linear_solve", LinearSolve, _linear_rule, _transpose)


def linear_solve(p: LinearSolve, operands: Tracers) -> Tracers:
    """Return the solution, then what the solver returns beside it."""
    return bind(linear_solve_p, p, *operands)


# ---- by factorization --------------------------------------------------------------------------


class Named(Params):
    """What messages call the equation."""

    name: str


def _factorize(p: Named) -> Callable[..., Any]:
    def run(a: Any, b: Any) -> Any:
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError as error:
            error.add_note(
                f"funcdiff: the linear map of {p.name}, for a root or a fixed point the Jacobian "
                "there, for a minimum the Hessian, is singular: there is no derivative, or no "
                "solution. Where solutions are not isolated, single one out: add a small penalty, "
                "or leave out equations and constraints that follow from the others."
            )
            raise

    return run


named_solve_p: Final = solver(
    "named_solve",
    Named,
    _factorize,
    product=lambda _p, a, x: matmul(a, x),
    turned=lambda p, a: (p, matrix_transpose(a)),
)


@memoised
def dense_solve(program: Program, unknowns: int, name: str) -> Program:
    """Return ``(*known, *b) -> x`` with A·x = b, for ``(*known, *v) -> A·v``.

    A complex unknown counts as two real ones: A may take its real part, or conjugate it.
    """
    first = len(program.inputs) - unknowns
    types = program.input_types[first:]
    with Builder("dense_solve", SHARED) as builder:
        given = [builder.input(t) for t in program.input_types[:first]]
        right = [builder.input(t) for t in types]
        if unknowns == 1 and not types[0].shape and types[0].dtype.kind == "f":
            (slope,) = inline(program, [*given, constant(1, types[0])])
            return builder.program([mul(right[0], div(constant(1, slope.type), slope))])
        size = sum(t.size * (2 if t.dtype.kind == "c" else 1) for t in types)
        if not size:
            return builder.program(right)
        square = ArrayType((size, size), _real_dtype(types, name))
        unit = _from_columns(identity(square), types)
        flags = (*(False for _ in given), *(True for _ in right))
        rows = inline(batch_outputs(program, size, flags), [*given, *unit])
        matrix = matrix_transpose(_columns(rows, square.dtype))
        wide = [reshape(b, (1, *b.shape)) for b in right]
        column = matrix_transpose(_columns(wide, square.dtype))
        (x,) = bind(named_solve_p, Named(name), matrix, column)
        solution = _from_columns(matrix_transpose(x), types)
        return builder.program(
            [reshape(y, t.shape) for y, t in zip(solution, types, strict=True)]
        )  # fmt: skip


def _real_dtype(types: Sequence[ArrayType], name: str) -> np.dtype[Any]:
    """Return the dtype of LAPACK's that holds the parts of all unknowns."""
    dtype = np.result_type(np.float32, *(real_dtype(t.dtype) for t in types))
    if dtype.char not in "fd":
        raise NotDifferentiableError(
            f"NumPy solves no linear equations in {dtype}, which {name} needs. Give it a solver "
            "of your own (linear_solve=, tangent_solve=, solve=), or use float64."
        )
    return dtype


def _columns(rows: Tracers, dtype: np.dtype[Any]) -> Tracer:
    """Return arrays with one leading axis as a matrix of real numbers, one row for each."""
    flat = []
    for x in rows:
        parts = [real(x), imag(x)] if x.dtype.kind == "c" else [x]
        shape = (x.shape[0], x.type.size // x.shape[0])
        flat += [convert(reshape(part, shape), dtype) for part in parts]
    return concatenate(flat, 1)


def _from_columns(matrix: Tracer, types: Sequence[ArrayType]) -> list[Tracer]:
    """Return what `_columns` was made of: arrays of these types with the leading axis."""
    start, found = 0, []
    count = matrix.shape[0]
    for t in types:
        parts = []
        for _ in range(2 if t.dtype.kind == "c" else 1):
            part = slice_along(matrix, 1, start, start + t.size)
            parts.append(convert(reshape(part, (count, *t.shape)), real_dtype(t.dtype)))
            start += t.size
        found.append(join(*parts) if len(parts) == 2 else parts[0])
    return found


# ---- roots and fixed points ----------------------------------------------------------------------


class Root(Problem):
    """An equation, of a program ``(*known, *x) -> y`` with results like `x`."""

    fixed: bool  # whether y = x is sought, rather than y = 0
    tangent_solver: str  # name of the linear solver, empty for factorization


def _root_rule(p: Root, active: Mask, _types: Types) -> tuple[Program, Mask] | None:
    first = first_unknown(p)
    moves = (*active[:first], *(False for _ in range(p.unknowns)))
    if not any(jvp(p.program, moves)[1]):  # the root depends on nothing but where it started
        return None
    return _root_tangent(p.program, p, active), tuple(k < p.unknowns for k in range(len(p.results)))


@memoised
def _root_tangent(program: Program, p: Root, active: Mask) -> Program:
    """Return ``(*known, *start, *results, *ts) -> t_x`` for the active tangents."""
    count, first = p.unknowns, first_unknown(p)
    equation = _residual(program, count) if p.fixed else program
    moves = (*active[:first], *(False for _ in range(count)))
    pushed, _ = jvp(equation, moves, (True,) * count)
    with Builder("root", SHARED) as builder:
        given = [builder.input(t) for t in program.input_types[:first]]
        xs = [*given, *(builder.input(t) for t in program.input_types[first:])]
        results = [builder.input(t) for t in p.results]
        ts = [builder.input(x.type) for x in compress(xs, active)]
        at = [*given, *results[:count]]
        rest = [neg(t) for t in inline(pushed, [*at, *ts[: sum(moves)]])[count:]]
        slope = _slope(equation, count)
        if p.tangent_solver:
            linear = LinearSolve(
                p.name, slope, count, p.tangent_solver, (), (), transposed=p.tangent_solver
            )
            return builder.program(linear_solve(linear, [*at, *rest]))
        return builder.program(inline(dense_solve(slope, count, p.name), [*at, *rest]))


def _residual(program: Program, unknowns: int) -> Program:
    """Return x - y, which is zero at a fixed point."""
    with Builder("root", CLOSED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        ys = inline(program, xs)
        unknown = xs[len(xs) - unknowns :]
        return builder.program([add(x, neg(y)) for x, y in zip(unknown, ys, strict=True)])


def _slope(equation: Program, unknowns: int) -> Program:
    """Return ``(*known, *x, *v) -> ∂F/∂x·v``."""
    count = len(equation.inputs)
    active = (*(False for _ in range(count - unknowns)), *(True for _ in range(unknowns)))
    pushed, _ = jvp(equation, active, (True,) * unknowns)
    return rearrange(pushed, range(count + unknowns), range(unknowns, 2 * unknowns))


root_p: Final = problem("root", Root, _root_rule)


def root(p: Root, operands: Tracers) -> Tracers:
    """Return the root that the solver finds, then what it returns beside it."""
    return bind(root_p, p, *operands)
