"""Recognises norms, roots of sums of squares, and guards that leave what they guard as it is.

Of a root of a sum of squares, the derivative at 0 is 0 instead of NaN: one operation of the same
value stands for the two before a program is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Operation, Params, Primitive
from funcdiff.core.recording.builder import bind
from funcdiff.core.running.walk import made_by, maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise import logic
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.complex import conj_p, imag, modulus_p, real, real_p
from funcdiff.ops.elementwise.mathematics import div, maximum, power, root_of_squares, sqrt, square
from funcdiff.ops.linalg.radial_functions import known, known_p, radial_p
from funcdiff.ops.structure.structural import convert_p, select, select_p
from funcdiff.passes.rewrites.rewriter import Emit, Rules, is_same
from funcdiff.space import add_p, mul_p, splat, zeros

SQUARES: Final[dict[Primitive[Any], Callable[..., Tracer]]] = {
    ops.root_of_squares.primitive: lambda _square, s: s,
    ops.sqrt.primitive: lambda _square, s: s,
    ops.absolute.primitive: lambda square, x: square(x),
    ops.fabs.primitive: lambda square, x: square(x),
    ops.hypot.primitive: lambda square, x, y: ops.add(square(x), square(y)),
    modulus_p: lambda square, z: ops.add(square(real(z)), square(imag(z))),
}
"""What makes a radius, and the square of it."""


def number(x: Tracer) -> Any:
    """Return the number that fills a literal, else None."""
    value = splat(x)
    return None if value is None else value.item()


def is_sum_of_squares(x: Tracer, depth: int = 12, *, norms: bool = False) -> bool:
    """Whether `x` is visibly a sum of squares of real numbers, so that its root is a norm.

    With `norms`, whether it is a sum of those and of norms: nowhere negative, with slope 0 at 0.
    """
    x = bare(x)
    head = maker(x)
    if head is None or depth == 0 or x.dtype.kind != "f":
        return False

    def is_sum(y: Tracer) -> bool:
        return is_sum_of_squares(y, depth - 1, norms=norms)

    xs, rule = operands_of(x, head), _SUMS_OF_SQUARES.get(head.primitive)
    if _keeps_signs(head):
        return is_sum(xs[0])
    if norms and head.primitive in SQUARES and head.primitive is not sqrt.primitive:
        return True
    return _is_product(x, is_same) or (rule is not None and rule(is_sum, *xs))


def _is_even_power(_is_sum: Callable[[Tracer], bool], _x: Tracer, exponent: Tracer) -> bool:
    n = splat(exponent)
    return n is not None and bool(n > 0 and n % 2 == 0)


def _is_positive_multiple(is_sum: Callable[[Tracer], bool], *xs: Tracer) -> bool:
    return any(map(_is_positive, xs)) and all(_is_positive(x) or is_sum(x) for x in xs)


def _is_sum_of_moduli(_is_sum: Callable[[Tracer], bool], z: Tracer) -> bool:
    """Whether `z` is Σ z·z̄."""
    return _is_product(z, lambda x, y: _is_conjugate_pair(x, y) or _is_conjugate_pair(y, x))


_SUMS_OF_SQUARES: Final[dict[Primitive[Any], Callable[..., bool]]] = {
    add_p: lambda is_sum, *xs: all(map(is_sum, xs)),
    square.primitive: lambda _is_sum, _x: True,
    power.primitive: _is_even_power,
    real_p: _is_sum_of_moduli,
    mul_p: _is_positive_multiple,
    div.primitive: lambda is_sum, x, y: _is_positive(y) and is_sum(x),
    ops.absolute.primitive: lambda is_sum, x: is_sum(x),
}
"""``rule(is_sum, *xs)``: whether a result is a sum of squares, if `is_sum` tells it of operands."""


def _keeps_signs(head: Operation) -> bool:
    """Whether an operation moves elements of its first operand, or adds them up."""
    facts = head.primitive.facts
    adds = facts.linear is not None and head.access.combine is np.add
    return adds or facts.elements == "moved" or head.primitive is convert_p


def _is_product(x: Tracer, pair: Callable[[Tracer, Tracer], bool]) -> bool:
    """Whether `x` is a sum of products of each element with that of the same place."""
    if found := made_by(x, mul_p):
        return pair(*found[1])
    head = maker(x)
    if head is None or not head.contracts or head.access.operands[0] != head.access.operands[1]:
        return False
    return pair(*operands_of(x, head))


def _is_conjugate_pair(y: Tracer, z: Tracer) -> bool:
    found = made_by(y, conj_p)
    return found is not None and is_same(found[1][0], z)


def _is_positive(x: Tracer) -> bool:
    """Whether a factor is certainly no negative number: a literal, or a count of entries."""
    number = splat(x)
    if number is not None:
        return bool(number > 0)
    if x.dtype.kind in "bu":
        return True
    head = maker(x)
    if head is not None and _keeps_signs(head):
        return _is_positive(operands_of(x, head)[0])
    found = made_by(x, maximum.primitive)
    return found is not None and any(number == 0 for number in map(splat, found[1]))


def _root_of_squares(_emit: Emit, _p: Params, s: Tracer) -> Tracer | None:
    """√(Σ xᵢ²) is the norm of x: its derivative at 0 is 0, not 0·∞."""
    if s.dtype.kind != "f" or not is_sum_of_squares(s):
        return None
    return root_of_squares(s)


# A guard of what is nowhere negative has the derivatives of what it guards: at 0 that has no other
# side.  Values stay the guard's, of signed zeros too; one that takes 0 for NaN is constant there.


def _modulus(_emit: Emit, _p: Params, x: Tracer) -> Tracer | None:
    """Say that |x| is x."""
    return known(ops.absolute(x), x) if is_sum_of_squares(x, norms=True) else None


def _maximum(_emit: Emit, _p: Params, *xs: Tracer) -> Tracer | None:
    """Say that max(x, c) is x, c <= 0."""
    x = _bounded(xs)
    return None if x is None else known(maximum(*xs), x)


def _fmax(_emit: Emit, _p: Params, *xs: Tracer) -> Tracer | None:
    """Say that fmax(x, c) is x, c <= 0."""
    x = _bounded(xs)
    return None if x is None else known(ops.fmax(*xs), _number(x))


def _bounded(xs: Sequence[Tracer]) -> Tracer | None:
    """Return what is nowhere below the other operand, a number, if one is."""
    for x, bound in zip(xs, map(number, reversed(xs)), strict=True):
        below = x.dtype.kind == "f" and bound is not None and bound <= 0
        if below and is_sum_of_squares(x, norms=True):
            return x
    return None


def _choice(_emit: Emit, p: Params, mask: Tracer, *xs: Tracer) -> Tracer | None:
    """Say that select(x > 0, x, 0) is x, and that select(x² > 0, x, 0) is."""
    head = maker(mask)
    if head is None or head.primitive not in _ABOVE | _BELOW:
        return None
    x, other = xs if head.primitive in _ABOVE else xs[::-1]
    compared, bound = operands_of(mask, head)
    if not number(bound) == number(other) == 0:
        return None
    root = made_by(bare(x), ops.root_of_squares.primitive)
    guarded = [x] if root is None else [x, root[1][0]]
    same = any(is_same(bare(compared), bare(y)) for y in guarded)
    if same and is_sum_of_squares(x, norms=True):
        return known(bind(select_p, p, mask, *xs)[0], _number(x))
    return None


def _state_once(_emit: Emit, _p: Params, y: Tracer, _z: Tracer) -> Tracer | None:
    """Say only once what y is known to be, for programs are simplified again and again."""
    return y if made_by(y, known_p) else None


def _number(x: Tracer) -> Tracer:
    """Return x, and 0 for NaN."""
    return select(logic.equal(x, x), x, zeros(x.type))


def same_as(x: Tracer) -> Tracer | None:
    """Return the operand whose derivatives a value has."""
    head = maker(x)
    if head is None:
        return None
    xs = operands_of(x, head)
    found = made_by(xs[0], logic.equal.primitive) if head.primitive is select_p else None
    if found and is_same(*found[1]) and is_same(found[1][0], xs[1]):
        return xs[1]
    return xs[head.primitive is known_p] if head.primitive in (known_p, radial_p) else None


def bare(x: Tracer) -> Tracer:
    """Return a value without its marks and guards."""
    while (same := same_as(x)) is not None:
        x = same
    return x


_ABOVE: Final = {logic.operations[f].primitive for f in ("greater", "greater_equal", "not_equal")}
_BELOW: Final = {logic.operations[f].primitive for f in ("less", "less_equal", "equal")}
"""Comparisons with 0 that are true where a number is positive, and those that are false there."""

rules: Final[Rules] = {
    sqrt.primitive: (_root_of_squares,),
    ops.absolute.primitive: (_modulus,),
    ops.fabs.primitive: (_modulus,),
    maximum.primitive: (_maximum,),
    ops.fmax.primitive: (_fmax,),
    select_p: (_choice,),
    (known_p, known_p): (_state_once,),
}
