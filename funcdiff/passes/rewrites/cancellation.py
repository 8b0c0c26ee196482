"""Simplifies sums in linear programs that cancel, by their normal form as polynomials.

Of ``exp(x - max(x)) / Σ exp(x - max(x))`` the derivative by the maximum is zero, though no single
operation says so: what comes back to it is a sum in which ``Σ e`` meets ``1 / Σ e``.  Here sums,
products and quotients are multiplied out, what does not depend on the axes of a sum is taken out of
it, and equal terms are put together.  The same holds of a mean that was subtracted.

It is done only where a number is left, which has other rounding errors than the sum, and is the
limit where a divisor that cancels is zero or infinite.

Without it a Gaussian mixture (d = 2) takes 1.3 times as long, attention 1.1 times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.access import Label
from funcdiff.core.primitive import Operation, Params, Primitive
from funcdiff.core.recording.builder import constant
from funcdiff.core.running.walk import maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.mathematics import div, reciprocal, square, sub
from funcdiff.passes.rewrites.rewriter import Emit, Rule, Rules
from funcdiff.space import Axes, add_p, kept_axes, mul_p, neg_p, reduce_sum_p, splat, without

_STEPS: Final = 48
"""Equations that are looked at, at most."""
_TERMS: Final = 6
"""Terms of a polynomial, at most: a longer one stays an unknown."""

_Place: TypeAlias = Hashable
"""Where an axis lies: an axis of the result, or one that is summed over."""
_Unknown: TypeAlias = tuple[Any, Any]
"""A variable and the places of its axes, or a sum and the powers in it."""
_Powers: TypeAlias = "frozenset[tuple[_Unknown, int]]"
_Polynomial: TypeAlias = dict[_Powers, float]

_ONE: Final[_Powers] = frozenset()
_SUM: Final = "sum"


class _TooLongError(Exception):
    """The normal form is not worth finding."""


class _Reader:
    """Reads the normal forms of what has been recorded."""

    def __init__(self) -> None:
        self._left = _STEPS

    def read(self, x: Tracer, places: Sequence[_Place]) -> _Polynomial:
        """Return the normal form of an array whose axes lie at the given places."""
        number = splat(x)
        if number is not None:
            return _constant(float(number))
        self._left -= 1
        if not self._left:
            raise _TooLongError
        head = maker(x)
        rule = _RULES.get(head.primitive) if head is not None else None
        found = None
        if head is not None and rule is not None:
            found = rule(self, head.params, operands_of(x, head), places)
        elif head is not None and head.primitive.facts.elements == "moved":
            found = self._read_moved(head, operands_of(x, head)[0], places)
        if found is not None and len(found) <= _TERMS:
            return found
        unknown = (
            (id(x.builder), x.atom),
            tuple(place for place, n in zip(places, x.shape, strict=True) if n != 1),
        )
        return {frozenset({(unknown, 1)}): 1.0}

    def _read_moved(
        self, head: Operation, x: Tracer, places: Sequence[_Place]
    ) -> _Polynomial | None:
        """Return the normal form of an array of which axes move as a whole, or come and go."""
        ((result,), (labels,), _) = head.access
        pairs = zip(result, places, strict=True)
        where: dict[Label, _Place] = {k: place for k, place in pairs if k is not None}
        if any(n != 1 and k not in where for k, n in zip(labels, x.shape, strict=True)):
            return None
        return self.read(x, [where.get(k) for k in labels])


def _constant(number: float) -> _Polynomial:
    if not np.isfinite(number):
        raise _TooLongError
    return {_ONE: number} if number else {}


def _total(polynomials: Sequence[_Polynomial]) -> _Polynomial:
    """Add; what is left of terms that cancel is rounding error of their factors."""
    total: _Polynomial = {}
    size: _Polynomial = {}
    for terms in polynomials:
        for powers, factor in terms.items():
            total[powers] = total.get(powers, 0.0) + factor
            size[powers] = size.get(powers, 0.0) + abs(factor)
    return {k: c for k, c in total.items() if abs(c) > 8 * np.finfo(float).eps * size[k]}


def _scale(terms: _Polynomial, factor: float) -> _Polynomial:
    return {powers: c * factor for powers, c in terms.items()}


def _times(x: _Polynomial, y: _Polynomial) -> _Polynomial | None:
    if len(x) * len(y) > _TERMS:
        return None
    return _total([{_product(a, b): c * d} for a, c in x.items() for b, d in y.items()])


def _product(x: _Powers, y: _Powers) -> _Powers:
    powers = dict(x)
    for unknown, power in y:
        powers[unknown] = powers.get(unknown, 0) + power
    return frozenset((unknown, power) for unknown, power in powers.items() if power)


def _inverse(x: _Polynomial) -> _Polynomial | None:
    if len(x) != 1:
        return None
    ((powers, factor),) = x.items()
    return {frozenset((unknown, -power) for unknown, power in powers): 1 / factor}


# ---- what operations make of normal forms --------------------------------------------------------


def _read_quotient(
    reader: _Reader, _p: Params, xs: Sequence[Tracer], places: Sequence[_Place]
) -> _Polynomial | None:
    *above, below = (reader.read(operand, places) for operand in xs)
    inverse = _inverse(below)
    return inverse if inverse is None or not above else _times(above[0], inverse)


def _read_sum(
    reader: _Reader, p: Axes, xs: Sequence[Tracer], places: Sequence[_Place]
) -> _Polynomial:
    """Take out of a sum what does not depend on its axes."""
    (x,) = xs
    summed: dict[int, _Place] = {axis: object() for axis in p.axes}
    rest = iter(places)
    terms = reader.read(x, [summed[k] if k in summed else next(rest) for k in range(x.ndim)])
    lengths = {place: x.shape[axis] for axis, place in summed.items()}
    return _total([_sum_term(powers, factor, lengths) for powers, factor in terms.items()])


def _sum_term(powers: _Powers, factor: float, lengths: Mapping[_Place, int]) -> _Polynomial:
    """Return the sum of one term over axes of the given lengths, one after the other."""
    left = list(lengths)
    while left:
        inside = {
            place: frozenset((x, power) for x, power in powers if place in _at(x)) for place in left
        }
        # that of the fewest factors first, so that its sum may meet a divisor; of those the last
        place = min(reversed(left), key=lambda k: len(inside[k]))
        left.remove(place)
        if not inside[place]:
            factor *= lengths[place]
            continue
        name = (_SUM, max(_height(x) for x, _ in inside[place]))
        total = (_SUM, _rename(inside[place], place, name))
        powers = _product(powers - inside[place], frozenset({(total, 1)}))
    return {powers: factor}


def _height(unknown: _Unknown) -> int:
    """Return how many sums there are within one another."""
    kind, inside = unknown
    return 1 + max(_height(x) for x, _ in inside) if kind == _SUM else 0


def _at(unknown: _Unknown) -> Iterable[_Place]:
    """Return the places that an unknown depends on."""
    kind, inside = unknown
    return {place for x, _ in inside for place in _at(x)} if kind == _SUM else inside


def _rename(powers: _Powers, place: _Place, name: _Place) -> _Powers:
    """Return powers with another name for a place."""

    def image(unknown: _Unknown) -> _Unknown:
        kind, inside = unknown
        if kind == _SUM:
            return _SUM, _rename(inside, place, name)
        return kind, tuple(name if k == place else k for k in inside)

    return frozenset((image(unknown), power) for unknown, power in powers)


_RULES: Final[dict[Primitive[Any], Callable[..., _Polynomial | None]]] = {
    add_p: lambda reader, _p, xs, places: _total([reader.read(x, places) for x in xs]),
    sub.primitive: lambda reader, _p, xs, places: _total(
        [reader.read(xs[0], places), _scale(reader.read(xs[1], places), -1.0)]
    ),
    neg_p: lambda reader, _p, xs, places: _scale(reader.read(xs[0], places), -1.0),
    mul_p: lambda reader, _p, xs, places: _times(*[reader.read(x, places) for x in xs]),
    square.primitive: lambda reader, _p, xs, places: _times(*[reader.read(xs[0], places)] * 2),
    div.primitive: _read_quotient,
    reciprocal.primitive: _read_quotient,
    reduce_sum_p: _read_sum,
}
"""What is multiplied out; what moves axes is seen through, results of others are unknowns."""


# ---- the rewrites --------------------------------------------------------------------------------


def _cancel_in_sum(_emit: Emit, p: Axes, x: Tracer) -> Tracer | None:
    """Σ x = c for a number c, if terms cancel."""
    head = maker(x)
    if head is None or head.primitive not in _RULES or x.dtype.kind != "f":
        return None
    kept = kept_axes(x.ndim, p.axes)
    type_ = x.type.with_shape(without(x.shape, p.axes))
    return _number(type_, lambda reader: _read_sum(reader, p, [x], kept))


def _cancel_sums_rule(primitive: Primitive[Any]) -> Rule:
    def cancel_sums(_emit: Emit, p: Params, x: Tracer, y: Tracer) -> Tracer | None:
        """x + Σ y = c and x - Σ y = c, in the same way."""
        if x.dtype.kind != "f":
            return None
        read = _RULES[primitive]
        return _number(x.type, lambda reader: read(reader, p, [x, y], range(x.ndim)))

    return cancel_sums


def _number(type_: ArrayType, read: Callable[[_Reader], _Polynomial | None]) -> Tracer | None:
    """Return the number that a normal form is, if it is one."""
    try:
        terms = read(_Reader())
    except _TooLongError:
        return None
    if terms is None or not terms.keys() <= {_ONE}:
        return None
    factor = terms.get(_ONE, 0.0)
    near = float(np.round(factor))  # of products of factors, but for rounding errors
    is_near = abs(factor - near) <= 8 * np.finfo(float).eps * abs(near)
    return constant(near if is_near else factor, type_)


rules: Final[Rules] = {
    reduce_sum_p: (_cancel_in_sum,),
    **{(p, reduce_sum_p): (_cancel_sums_rule(p),) for p in (add_p, sub.primitive)},
}
