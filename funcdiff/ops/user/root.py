"""Roots and fixed points found by solvers: `root`, differentiated by the implicit function theorem.

Where F(θ, x) = 0, the derivative of x is the solution t of ∂F/∂x·t = -∂F/∂θ·t_θ, whatever the
solver did to find x and wherever it started.

Reference: S. G. Krantz, H. R. Parks, "The Implicit Function Theorem", Birkhäuser 2003.
"""

from __future__ import annotations

from itertools import compress
from typing import Final

from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.ops.user import solvers
from funcdiff.ops.user.linear_solve import LinearSolve, dense_solve, linear_solve
from funcdiff.space import add, neg
from funcdiff.transforms.jvp import Mask, jvp


class Root(solvers.Problem):
    """An equation, of a program ``(*known, *x) -> y`` with results like `x`."""

    fixed: bool  # whether y = x is sought, rather than y = 0
    tangent_solver: str  # name of the linear solver, empty for factorization


def _rule(p: Root, active: Mask, _types: Types) -> tuple[Program, Mask] | None:
    first = solvers.known(p)
    moves = (*active[:first], *(False for _ in range(p.unknowns)))
    if not any(jvp(p.program, moves)[1]):  # the root depends on nothing but where it started
        return None
    return _tangent(p.program, p, active), tuple(k < p.unknowns for k in range(len(p.results)))


@memoised
def _tangent(program: Program, p: Root, active: Mask) -> Program:
    """Return ``(*known, *start, *results, *ts) -> t_x`` for the active tangents."""
    count, first = p.unknowns, solvers.known(p)
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


root_p: Final = solvers.problem("root", Root, _rule)


def root(p: Root, operands: Tracers) -> Tracers:
    """Return the root that the solver finds, then what it returns beside it."""
    return bind(root_p, p, *operands)
