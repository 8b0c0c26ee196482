"""Matrix-free linear equations A·x = b: A is a program ``v -> A·v``.

With a solver of the user's they are the primitive `linear_solve`; without one, `dense_solve` makes
the matrix and solves by factorization, out of operations that have their own derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.complex import imag, join, real
from funcdiff.ops.elementwise.mathematics import div
from funcdiff.ops.linalg.matrices import identity, matmul, transposed
from funcdiff.ops.linalg.systems import solver
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, reshape
from funcdiff.ops.user import solvers
from funcdiff.space import add, instantiate, mul, neg
from funcdiff.transforms.jvp import Mask, jvp, present, spread
from funcdiff.transforms.transpose import transpose as transposed_program
from funcdiff.transforms.vmap import batch_outputs


class LinearSolve(solvers.Problem):
    """A linear equation, of a program ``(*known, *v) -> w`` that is linear in `v`."""

    transposed: str  # name of the solver for the transposed map, if there is one


def _rule(p: LinearSolve, active: Mask, _types: Types) -> tuple[Program, Mask]:
    """x = A⁻¹·b has dx = A⁻¹·(db - dA·x)."""
    return _tangent(p.program, p, active), tuple(k < p.unknowns for k in range(len(p.results)))


@memoised
def _tangent(program: Program, p: LinearSolve, active: Mask) -> Program:
    """Return ``(*known, *b, *results, *ts) -> t_x`` for the tangents of the active operands."""
    first = solvers.known(p)
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
    first, types = solvers.known(p), p.program.input_types
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


linear_solve_p: Final = solvers.problem("linear_solve", LinearSolve, _rule, _transpose)


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
    turned=lambda p, a: (p, transposed(a)),
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
        matrix = transposed(_columns(rows, square.dtype))
        wide = [reshape(b, (1, *b.shape)) for b in right]
        column = transposed(_columns(wide, square.dtype))
        (x,) = bind(named_solve_p, Named(name), matrix, column)
        solution = _from_columns(transposed(x), types)
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
