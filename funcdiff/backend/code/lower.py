"""Lowers programs to what NumPy computes quickest, where the last bits are free to differ.

Some functions are expanded into ufuncs, which write to kept memory: NumPy has no ufunc for the
logistic function, computes ``logaddexp`` number by number, and powers, but for a few exponents, by
the general function.  What stands for them is off by at most two units in the last place.  Without
it logistic regression takes 1.3 times as long (100 x 5), or 1.06 (1000000 x 20).

Products of large arrays are fused into the sums of their rows, without an array between.  Without
it a Gaussian mixture (d = 32, K = 50) takes 1.2 times as long, larger ones the same.

Equations that depend on no input are computed once, for a compiled function also those of captured
arrays, which have, for good, the values that they had when it was traced.  Without it the Jacobian
of hand tracking takes 1.3 times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.dataflow import is_fresh
from funcdiff.core.running.evaluate import evaluate, is_repeatable
from funcdiff.core.running.walk import copy_equation, cut, made_by, walk
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.mathematics import fmax, maximum
from funcdiff.ops.products.contract import contract
from funcdiff.space import Axes, Broadcast, add, broadcast_p, mul, mul_p, neg, neg_p, zeros

Lowering: TypeAlias = Callable[..., Any]
"""Of the operands of an equation, gives its result."""

LARGE: Final = 1 << 19
"""Elements of a product from which it is worth not to be there."""
_ROW: Final = 16
"""Elements of a row from which `numpy.vecdot` does not take longer to begin than to multiply."""
_MOST: Final = 1 << 26
"""Bytes that are kept of what is computed once, at most."""


def lower(program: Program) -> Program:
    """Return a program that computes the same, but for rounding and the sign of a NaN."""
    rows = {eq.operands[0] for eq in program.equations if _is_sum_of_long_rows(eq)}
    if rows:  # that nobody needs but for their sums
        uses = Counter([*(a for eq in program.equations for a in eq.operands), *program.outputs])
        rows = {x for x in rows if uses[x] == 1}
    lowered = {
        eq.results[0]: found
        for eq in program.equations
        if (found := _sum_of_products if eq.operands and eq.operands[0] in rows else _expansion(eq))
    }
    if not lowered:
        return program

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        function = lowered.get(eq.results[0])
        made = None if function is None else function(*xs)
        return copy_equation(eq, xs) if made is None else [made]

    with Builder("lower", SHARED) as builder:
        return builder.program(walk(program, [builder.input(t) for t in program.input_types], rule))


# ---- functions that NumPy is slow at -------------------------------------------------------------


def _logistic(x: Tracer) -> Any:
    """Return 1/(1 + e⁻ˣ)."""
    one = constant(1, x.type)
    return ops.div(one, add(ops.exp(_negate(x)), one))


def _logaddexp(x: Tracer, y: Tracer) -> Any:
    """Return max(x, y) + ln(1 + exp(-|x - y|)); equal infinities have the distance 0."""
    distance = fmax(ops.absolute(ops.sub(x, y)), zeros(x.type))
    return add(maximum(x, y), ops.log1p(ops.exp(neg(distance))))


_POWERS: Final[dict[float, Lowering]] = {
    3.0: lambda x: mul(ops.square(x), x),
    4.0: lambda x: ops.square(ops.square(x)),
    -2.0: lambda x: ops.square(ops.reciprocal(x)),
}
"""By exponent, products that are off by 1.3, 1.9 and 1.9 units in the last place."""

EXPANSIONS: Final[dict[str, Lowering]] = {"logistic": _logistic, "logaddexp": _logaddexp}


def _expansion(eq: Equation) -> Lowering | None:
    """Return what stands for the function of an equation, if something does."""
    type_ = eq.results[0].type
    if not type_.shape or (type_.dtype.kind != "f" and eq.primitive.name not in EXPANSIONS):
        return None
    if eq.primitive is ops.power.primitive:
        (_, exponent) = eq.operands
        product = _POWERS.get(exponent.value.item()) if isinstance(exponent, Literal) else None
        return None if product is None else lambda x, _: product(x)
    return EXPANSIONS.get(eq.primitive.name)


def _negate(x: Tracer) -> Tracer:
    """Return -x: without a step more where it is a product with something negated."""
    if found := made_by(x, neg_p):
        return found[1][0]
    factors = found[1] if (found := made_by(x, mul_p)) else []
    for k, factor in enumerate(factors):
        if inner := made_by(factor, neg_p):
            factors[k] = inner[1][0]
            return mul(*factors)
    return neg(x)


# ---- sums of products ----------------------------------------------------------------------------


def _is_sum_of_long_rows(eq: Equation) -> bool:
    if eq.operation.access.reduces is not np.add:
        return False
    type_ = eq.operands[0].type
    last = eq.params_as(Axes).axes == (type_.ndim - 1,) and type_.ndim > 1
    return last and type_.dtype.char in "fd" and type_.size >= LARGE and type_.shape[-1] >= _ROW


def _sum_of_products(x: Tracer) -> Tracer | None:
    """Return the sums of the rows of a product or a square, as products of rows; None of others."""
    found = made_by(x, mul_p) or made_by(x, ops.square.primitive)
    if found is None:
        return None
    first, last = found[1][0], found[1][-1]
    labels = tuple(range(x.ndim))
    return contract(first, last, labels, labels, labels[:-1])


# ---- constants -----------------------------------------------------------------------------------


def hoist_constants(program: Program, given: Sequence[Any] = ()) -> tuple[Program, list[Any]]:
    """Take the equations out that depend on no input but the last ones, whose values are given.

    Return the same function of the other inputs and of further ones, and the values of these, which
    must not be written to: no result is one, or a view of one.  Of what follows from given values,
    views are made anew, and so is what is larger than these.
    """
    first = len(program.inputs) - len(given)
    last = program.inputs[first:]
    # By variable that is computed once: how many elements may be kept.
    known: dict[Atom, float] = {v: v.type.size for v in last}
    for eq in program.equations:
        is_known = all(isinstance(atom, Literal) or atom in known for atom in eq.operands)
        if is_known and is_repeatable((eq,)) and not eq.operation.ends:
            sizes = [n for atom in eq.operands if (n := known.get(atom, np.inf)) < np.inf]
            for v in eq.results:  # as its largest operand, or as all together, which it may join
                known[v] = max([*sizes, min(sum(sizes), v.type.size)]) if sizes else np.inf
    needed, shared = set(program.outputs), set(program.outputs)
    for eq in reversed(program.equations):
        fresh, moves = is_fresh(eq), eq.primitive.facts.elements == "moved"
        is_view = eq.primitive.implementation.view or (moves and not fresh)
        limits = [known.get(v, 0) for v in eq.results]
        of_given = min(limits, default=0) < np.inf  # whose views take no time
        is_large = any(v.type.size > n for v, n in zip(eq.results, limits, strict=True))
        made_anew = needed if is_large or (is_view and of_given) else shared
        if known.keys().isdisjoint(eq.results) or not made_anew.isdisjoint(eq.results):
            needed.update(eq.operands)
            for v in eq.results:
                known.pop(v, None)
        if not fresh and not shared.isdisjoint(eq.results):
            shared.update(eq.operands)
    made = [v for v in known if isinstance(v, Var) and v in needed and v not in last]
    if not made or sum(v.type.nbytes for v in made) > _MOST:
        return program, list(given)
    try:
        values = quiet(evaluate, cut(program, last, made), given)
    except Exception:  # which comes again where the user's line is known
        return program, list(given)
    used = [(v, x) for v, x in zip(last, given, strict=True) if v in needed]
    inputs = [*program.inputs[:first], *(v for v, _ in used), *made]
    return cut(program, inputs, program.outputs, CLOSED), [*(x for _, x in used), *values]


# ---- Removes explicit broadcasts where the ufuncs that use them broadcast by themselves ----------
#
# A broadcast needs no array of its own where everything that uses it computes the shape that the
# program states without one. What stands for it then is a view of its operand with axes of length 1
# for those that are new; at the front of the shape these are needed only if nothing else has them.


Shape: TypeAlias = tuple[int, ...]


def implicit_broadcasts(
    program: Program, broadcasts: Callable[[Equation], bool]
) -> dict[int, Shape]:
    """Return the broadcasts that need no array, and the shapes of the views that stand for them.

    `broadcasts` says whether NumPy broadcasts the operands of an equation by itself, where numbers
    have no axes.
    """
    views = {
        eq.results[0].number: _views(eq)
        for eq in program.equations
        if eq.primitive is broadcast_p and isinstance(eq.operands[0], Var)
    }
    for atom in program.outputs:
        views.pop(_number(atom), None)
    for eq in program.equations:
        used = {_number(atom) for atom in eq.operands}
        # shapes only grow towards the stated ones: an equation that was right stays right
        while not used.isdisjoint(views) and not (broadcasts(eq) and _is_right(eq, views)):
            for number in used & views.keys():
                views[number].pop(0)
                if not views[number]:
                    del views[number]
    return {number: shapes[0] for number, shapes in views.items()}


def _number(atom: Atom) -> int:
    return atom.number if isinstance(atom, Var) else -1


def _views(eq: Equation) -> list[Shape]:
    """Return the shapes that can stand for a broadcast, the quickest to make first."""
    p = eq.params_as(Broadcast)
    aligned = tuple(n if axis in p.axes else 1 for axis, n in enumerate(p.shape))
    first = p.axes[0] if p.axes else len(p.shape)
    return [aligned[first:], aligned] if first else [aligned]


def _is_right(eq: Equation, views: Mapping[int, list[Shape]]) -> bool:
    """Whether the operands make a result of the shape that is stated."""
    shapes = [
        views[atom.number][0] if atom.number in views else atom.type.shape
        for atom in eq.operands
        if isinstance(atom, Var)
    ]
    return np.broadcast_shapes(*shapes) == eq.results[0].type.shape
