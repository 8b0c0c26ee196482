"""A support: where a tangent or cotangent may be nonzero, as a small program of booleans.

Masks, padding and scattering put zeros in places that the program knows.  Such a support is
itself a small program of booleans, in which most linear operations stand for themselves: what
moves numbers moves booleans, a sum becomes "any", an addition "or".  It is kept as a tree and
recorded only where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from funcdiff.core.builder import constant
from funcdiff.core.primitive import Params, Primitive, operation
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.structure.structural import Shape, reshape_p
from funcdiff.space import splat


class Support:
    """One step of a support: an operation on booleans, of supports and known arrays.

    It is the result `place` of the operation.
    """

    __slots__ = ("fixed", "operands", "operation", "place", "type")
    fixed: bool  # whether it depends on shapes only, not on masks or indices
    type: ArrayType

    def __init__(
        self,
        primitive: Primitive[Any],
        params: Params,
        operands: Sequence[Support | Tracer],
        place: int = 0,
    ) -> None:
        self.operation = operation(primitive, params, tuple([x.type for x in operands]))
        self.operands = tuple(operands)
        self.place = place
        self.fixed = all(
            x.fixed if isinstance(x, Support) else splat(x) is not None for x in self.operands
        )
        self.type = self.operation.results[place]

    @property
    def sources(self) -> list[Support]:
        """The supports among the operands."""
        return [x for x in self.operands if isinstance(x, Support)]


Maybe: TypeAlias = Support | bool
"""A support; True is everywhere, False nowhere."""


def from_mask(mask: Tracer) -> Support:
    """Return a mask that is recorded as a support."""
    return Support(reshape_p, Shape(mask.shape), [mask])


def booleans(x: Tracer, support: Maybe) -> Support | Tracer:
    """Return the support of `x` as an operand of booleans."""
    if isinstance(support, Support):
        return support
    return constant(support, ArrayType(x.shape, BOOL))
