"""Compositions whose derivative exists, or has a minimum norm, where the chain rule gives 0·∞.

The rewrites put one operation of the same value for the two; they are made before a program is
differentiated.
"""

from __future__ import annotations

from typing import Any, Final

from funcdiff.core.builder import Tracer
from funcdiff.core.primitive import Primitive
from funcdiff.core.walk import made_by
from funcdiff.ops.contract import contract_p
from funcdiff.ops.elementwise import power, root_of_squares, sqrt, square, square_of_root
from funcdiff.ops.structural import permute_p, reshape_p
from funcdiff.passes.rewriting import Rules, same
from funcdiff.space import add_p, broadcast_p, mul_p, reduce_sum_p, splat

_PRODUCTS: Final[tuple[Primitive[Any], ...]] = (mul_p, contract_p)
_SUMS: Final[tuple[Primitive[Any], ...]] = (
    add_p, reduce_sum_p, reshape_p, permute_p, broadcast_p,
)  # fmt: skip


def _is_sum_of_squares(x: Tracer, depth: int = 8) -> bool:
    """Whether `x` is visibly a sum of squares of real numbers, so that its root is a norm."""
    if depth == 0:
        return False
    if made_by(x, square.primitive):
        return True
    for primitive in _PRODUCTS:
        product = made_by(x, primitive)
        if product and same(*product[1]):
            return primitive is mul_p or product[0].left == product[0].right
    raised = made_by(x, power.primitive)
    if raised and (exponent := splat(raised[1][1])) is not None:
        return bool(exponent > 0 and exponent % 2 == 0)
    for primitive in _SUMS:
        found = made_by(x, primitive)
        if found:
            return all(_is_sum_of_squares(y, depth - 1) for y in found[1])
    return False


def _root_of_squares(_emit: Any, _p: Any, s: Tracer) -> Tracer | None:
    """√(Σ xᵢ²) is the norm of x: its derivative at 0 is 0, not 0·∞."""
    if s.dtype.kind != "f" or not _is_sum_of_squares(s):
        return None
    return root_of_squares(s)


def _square_of_root(_emit: Any, _p: Any, y: Tracer) -> Tracer | None:
    """(√x)² has derivative 1, also at 0."""
    found = made_by(y, sqrt.primitive)
    return square_of_root(found[1][0]) if found and y.dtype.kind == "f" else None


rules: Final[Rules] = {
    sqrt.primitive: (_root_of_squares,),
    square.primitive: (_square_of_root,),
}
