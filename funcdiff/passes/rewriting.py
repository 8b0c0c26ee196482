"""Rewriting while emitting: the first rule that applies to an equation replaces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import Tracer, bind, constant
from funcdiff.core.primitive import Params, Primitive
from funcdiff.ops import structural
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.slicing import slice_p
from funcdiff.space import broadcast_p, splat

Rule: TypeAlias = Callable[..., "Tracer | None"]
"""``rule(emit, p, *xs)``; `emit` records an equation after applying the rules to it."""
Rules: TypeAlias = Mapping[Primitive[Any], Sequence[Rule]]

_REARRANGING: Final = {
    broadcast_p, structural.reshape_p, structural.permute_p, slice_p,
    structural.reverse_p, structural.convert_p,
}  # fmt: skip


class Rewriter:
    """Applies tables of rules, by primitive, to equations as they are emitted."""

    def __init__(self, *tables: Rules) -> None:
        primitives = {primitive for table in tables for primitive in table}
        self._rules = {
            primitive: [rule for table in tables for rule in table.get(primitive, ())]
            for primitive in primitives
        }

    def emit(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation, or what the rules have for it."""
        if xs and all(x.builder is None for x in xs):
            folded = fold(primitive, params, xs)
            if folded is not None:
                return (folded,)
        for rule in self._rules.get(primitive, ()):
            y = rule(self._single, params, *xs)
            if y is not None:
                return (y,)
        return bind(primitive, params, *xs)

    def _single(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> Tracer:
        (y,) = self.emit(primitive, params, *xs)
        return y


@lru_cache(maxsize=1)
def _pointwise() -> frozenset[Primitive[Any]]:
    return frozenset(op.primitive for op in by_ufunc.values())


def fold(primitive: Primitive[Any], params: Params, xs: Sequence[Tracer]) -> Tracer | None:
    """Compute an operation on literals, of which the result is a literal."""
    if primitive not in _REARRANGING and primitive not in _pointwise():
        return None
    values = [splat(x) for x in xs]
    (type_,) = primitive.abstract(params, *(x.type for x in xs))
    if primitive in _REARRANGING and primitive is not structural.convert_p:
        return constant(values[0], type_)
    with np.errstate(all="ignore"):
        return constant(primitive.impl(params)(*values), type_)
