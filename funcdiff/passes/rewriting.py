"""Rewriting while emitting: the first rule that applies to an equation replaces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import Tracer, bind, constant, definition
from funcdiff.core.primitive import Params, Primitive
from funcdiff.ops import structural
from funcdiff.ops.families import by_ufunc
from funcdiff.space import broadcast_p, splat

Rule: TypeAlias = Callable[..., "Tracer | None"]
"""``rule(emit, p, *xs)``; `emit` records an equation after applying the rules to it."""
Rules: TypeAlias = Mapping[Primitive[Any], Sequence[Rule]]

_POINTWISE: Final = {op.primitive for op in by_ufunc.values()}
_REARRANGING: Final = {
    broadcast_p, structural.reshape_p, structural.permute_p, structural.slice_p,
    structural.reverse_p, structural.convert_p,
}  # fmt: skip


class Rewriter:
    """Applies tables of rules, by primitive, to equations as they are emitted."""

    def __init__(self, *tables: Rules) -> None:
        self._tables = tables

    def emit(
        self, primitive: Primitive[Any], params: Params, *xs: Tracer
    ) -> tuple[Tracer, ...]:
        """Record an equation, or what the rules have for it."""
        folded = fold(primitive, params, xs)
        if folded is not None:
            return (folded,)
        for table in self._tables:
            for rule in table.get(primitive, ()):
                y = rule(self._single, params, *xs)
                if y is not None:
                    return (y,)
        return bind(primitive, params, *xs)

    def _single(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> Tracer:
        (y,) = self.emit(primitive, params, *xs)
        return y


def fold(primitive: Primitive[Any], params: Params, xs: Sequence[Tracer]) -> Tracer | None:
    """Compute an operation on literals, of which the result is a literal."""
    if not xs or not (primitive in _POINTWISE or primitive in _REARRANGING):
        return None
    values = [splat(x) for x in xs]
    if any(value is None for value in values):
        return None
    (type_,) = primitive.abstract(params, *(x.type for x in xs))
    if primitive in _REARRANGING and primitive is not structural.convert_p:
        return constant(values[0], type_)
    with np.errstate(all="ignore"):
        return constant(primitive.impl(params)(*values), type_)


def made_by(x: Tracer, primitive: Primitive[Any]) -> tuple[Any, list[Tracer]] | None:
    """Return parameters and operands of the equation that made `x`, if it is of that kind."""
    found = definition(x)
    if found is None or found[0].primitive is not primitive:
        return None
    return found[0].params, found[1]
