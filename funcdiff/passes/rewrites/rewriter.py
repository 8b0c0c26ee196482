"""Applies rewrite rules while equations are emitted: the first one that matches replaces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from funcdiff.core.primitive import P, Params, Primitive
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.running.walk import made_by, maker
from funcdiff.core.tracer import Tracer
from funcdiff.space import splat


class Emit(Protocol):
    """Records an equation of one result after applying the rules to it."""

    def __call__(self, primitive: Primitive[P], params: P, /, *xs: Tracer) -> Tracer: ...  # noqa: D102


Rule: TypeAlias = Callable[..., "Tracer | None"]
"""``rule(emit, p, *xs)``: what to put in the place of an equation; None to leave it."""
Kind: TypeAlias = "Primitive[Any] | tuple[Primitive[Any], Primitive[Any]]"
Rules: TypeAlias = Mapping[Kind, Sequence[Rule]]
"""By primitive, or by that and the primitive that one of the operands was made by."""

_Rules: TypeAlias = dict[Primitive[Any], list[Rule]]
_RulesByMaker: TypeAlias = dict[Primitive[Any], dict[Primitive[Any], list[Rule]]]


def is_same(x: Tracer, y: Tracer) -> bool:
    """Whether two handles are on one atom."""
    return x.builder is y.builder and x.atom == y.atom


_merged: Final[dict[tuple[int, ...], tuple[Any, _Rules, _RulesByMaker]]] = {}
"""Tables, which are constants, put together: by their identities."""


def _merge(tables: Sequence[Rules]) -> tuple[_Rules, _RulesByMaker]:
    rules: _Rules = {}
    by_maker: _RulesByMaker = {}
    for table in tables:
        for kind, found in table.items():
            if isinstance(kind, Primitive):
                rules.setdefault(kind, []).extend(found)
            else:
                primitive, maker_ = kind
                by_maker.setdefault(primitive, {}).setdefault(maker_, []).extend(found)
    return rules, by_maker


def involution_rule(primitive: Primitive[Any]) -> Rule:
    """Return the rule of an operation that undoes itself."""

    def cancel(_emit: Emit, p: Params, x: Tracer) -> Tracer | None:
        """f(f(x)) = x, if the inner result is of the type of the outer one."""
        found = made_by(x, primitive)
        if not found or found[0] != p:
            return None
        (origin,) = found[1]
        return origin if origin.type is primitive.abstract(p, x.type)[0] else None

    return cancel


class Rewriter:
    """Applies tables of rules to equations as they are emitted.

    Those that ask who made an operand come last.
    """

    def __init__(self, *tables: Rules) -> None:
        key = tuple(map(id, tables))
        if key not in _merged:
            _merged[key] = (tables, *_merge(tables))
        _, self._rules, self._rules_by_maker = _merged[key]

    def emit(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation, or what the rules have for it."""
        if xs and xs[0].builder is None and all(x.builder is None for x in xs):
            folded = fold(primitive, params, xs)
            if folded is not None:
                return (folded,)
        for rule in self._applicable(primitive, xs):
            y = rule(self._single, params, *xs)
            if y is not None:
                return (y,)
        return self.record(primitive, params, *xs)

    def _applicable(self, primitive: Primitive[Any], xs: Sequence[Tracer]) -> Sequence[Rule]:
        rules = self._rules.get(primitive, ())
        by_maker = self._rules_by_maker.get(primitive)
        if by_maker is not None:
            for x in xs:
                head = maker(x)
                found = None if head is None else by_maker.get(head.primitive)
                if found:
                    rules = [*rules, *found]
        return rules

    def record(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation that no rule rewrites."""
        return bind(primitive, params, *xs)

    def _single(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> Tracer:
        (y,) = self.emit(primitive, params, *xs)
        return y


def fold(primitive: Primitive[Any], params: Params, xs: Sequence[Tracer]) -> Tracer | None:
    """Compute an operation on literals, of which the result is a literal."""
    facts = primitive.facts
    if facts.elements != "moved" and not primitive.pointwise:
        return None
    values = [splat(x) for x in xs]
    (type_,) = primitive.abstract(params, *(x.type for x in xs))
    if facts.elements == "moved":
        return constant(values[0], type_)
    with np.errstate(all="ignore"):
        return constant(primitive.impl(params)(*values), type_)
