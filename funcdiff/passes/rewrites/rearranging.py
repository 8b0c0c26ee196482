"""Rewrites reshapes, slices, conversions and contractions by identities that keep every bit.

Views of views become one view, and a contraction takes its operands and leaves its result in any
order of axes by itself.
"""

from __future__ import annotations

from typing import Any, Final

from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.running.walk import made_by, maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import real_dtype
from funcdiff.ops.elementwise.complex import imag_p, join_p, real_p
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.products.contract import Contraction, contract_p, contraction
from funcdiff.ops.structure.slicing import Slice, replace_slice_p, slice_p
from funcdiff.ops.structure.structural import (
    Dtype,
    Permutation,
    Shape,
    concatenate_p,
    convert_p,
    inverse,
    permute_p,
    reshape_p,
    reverse_p,
)
from funcdiff.passes.rewrites.rewriter import Emit, Rule, Rules, involution_rule
from funcdiff.space import Broadcast, broadcast_p, mul_p, neg_p

# ---- views ---------------------------------------------------------------------------------------


def _reshape_twice(emit: Emit, p: Shape, x: Tracer) -> Tracer | None:
    """reshape(reshape(x)) = reshape(x), and x if the shape is its own."""
    if p.shape == x.shape:
        return x
    found = made_by(x, reshape_p)
    return emit(reshape_p, p, found[1][0]) if found else None


def _permute_twice(emit: Emit, p: Permutation, x: Tracer) -> Tracer | None:
    """permute(permute(x)) = permute(x), and x for the identity."""
    if p.axes == tuple(range(x.ndim)):
        return x
    found = made_by(x, permute_p)
    if not found:
        return None
    axes = tuple(found[0].axes[axis] for axis in p.axes)
    return emit(permute_p, Permutation(axes), found[1][0])


def _broadcast_twice(emit: Emit, p: Broadcast, x: Tracer) -> Tracer | None:
    """broadcast(broadcast(x)) = broadcast(x)."""
    found = made_by(x, broadcast_p)
    if not found:
        return None
    axes = tuple(p.axes[axis] for axis in found[0].axes)
    return emit(broadcast_p, Broadcast(p.shape, axes), found[1][0])


def _slice_twice(emit: Emit, p: Slice, x: Tracer) -> Tracer | None:
    """slice(slice(x)) = slice(x), and x for all of it."""
    if p.lengths == x.shape:
        return x
    found = made_by(x, slice_p)
    if not found:
        return None
    inner, (origin,) = found
    boxes = [
        _compose(first, second, n)
        for first, second, n in zip(inner.index, p.index, origin.shape, strict=True)
    ]
    return emit(slice_p, Slice(*zip(*boxes, strict=True)), origin)


def _compose(first: slice, second: slice, length: int) -> tuple[int, int, int]:
    """Return start, stop and step of a slice of a slice of an axis."""
    places = range(*first.indices(length))[second]
    start = min(places.start, length)
    return start, max(start, min(places.stop, length)), places.step


def _slice_repeated(emit: Emit, p: Slice, x: Tracer) -> Tracer | None:
    """slice(broadcast(x)) = broadcast(slice(x))."""
    found = made_by(x, broadcast_p)
    if not found:
        return None
    axes, (origin,) = found[0].axes, found[1]
    parts = [tuple(side[axis] for axis in axes) for side in (p.starts, p.stops, p.steps)]
    part = emit(slice_p, Slice(*parts), origin)
    return emit(broadcast_p, Broadcast(p.lengths, axes), part)


_WRITES: Final = 16
"""Writes behind which a slice is looked for, at most."""


def _slice_written(emit: Emit, p: Slice, x: Tracer) -> Tracer | None:
    """slice(replace_slice(x, u)) = u for the same places, and slice(x) for others."""
    origin = x
    for _ in range(_WRITES):
        found = made_by(origin, replace_slice_p)
        if not found:
            break
        (before, u), box = found[1], found[0]
        if box == p:
            return u
        if not _are_apart(box, p):
            break
        origin = before
    return None if origin is x else emit(slice_p, p, origin)


def _are_apart(one: Slice, other: Slice) -> bool:
    """Whether two boxes have no element in common, by their ends along some axis."""
    return any(
        a.stop <= b.start or b.stop <= a.start for a, b in zip(one.index, other.index, strict=True)
    )


def _slice_joined(emit: Emit, p: Slice, x: Tracer) -> Tracer | None:
    """slice(concatenate(…, x, …)) = slice(x), if it lies in one piece."""
    found = made_by(x, concatenate_p)
    if not found:
        return None
    axis, start = found[0].axis, 0
    first, stop = p.starts[axis], p.stops[axis]
    for piece in found[1]:
        end = start + piece.shape[axis]
        if start <= first < stop <= end:
            starts, stops = list(p.starts), list(p.stops)
            starts[axis], stops[axis] = first - start, stop - start
            inside = Slice(tuple(starts), tuple(stops), p.steps)
            return emit(slice_p, inside, piece)
        start = end
    return None


def _reshape_later_rule(primitive: Primitive[Any]) -> Rule:
    """Return the rule of a function of one operand."""

    def reshape_later(emit: Emit, p: Params, x: Tracer) -> Tracer | None:
        """f(reshape(x)) = reshape(f(x)), if only axes of length 1 are added."""
        found = made_by(x, reshape_p)
        if not found or x.ndim <= found[1][0].ndim:
            return None
        (origin,) = found[1]
        if [n for n in x.shape if n != 1] != [n for n in origin.shape if n != 1]:
            return None
        return emit(reshape_p, found[0], emit(primitive, p, origin))

    return reshape_later


# ---- dtypes --------------------------------------------------------------------------------------


def _convert_to_same(_emit: Emit, p: Dtype, x: Tracer) -> Tracer | None:
    """convert(x) = x for its own dtype."""
    return x if p.dtype == x.dtype else None


def _real_of_real(_emit: Emit, _p: Params, z: Tracer) -> Tracer | None:
    """real(complex(x)) = x, real(x + iy) = x."""
    head = maker(z)
    assert head is not None
    x = operands_of(z, head)[0]
    return x if x.dtype == real_dtype(z.dtype) else None


def _imaginary_of_pair(_emit: Emit, _p: Params, z: Tracer) -> Tracer | None:
    """imag(x + iy) = y."""
    found = made_by(z, join_p)
    if found and found[1][1].dtype == real_dtype(z.dtype):
        return found[1][1]
    return None


# ---- contractions and sums -----------------------------------------------------------------------


def _contract_with_number(emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """contract(x, s) = x · s for a scalar s: a product without a sum."""
    if p.left and p.right:
        return None
    array, labels, scalar = (x, p.left, y) if p.left else (y, p.right, x)
    moved = emit(permute_p, Permutation(tuple(labels.index(k) for k in p.out)), array)
    spread = scalar if not p.out else emit(broadcast_p, Broadcast(moved.shape, ()), scalar)
    pair = (moved, spread) if p.left else (spread, moved)
    return emit(mul_p, NONE, *pair)


def _contract_permuted(emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """contract(permute(x), y) = contract(x, y) with the labels of x permuted."""
    operands, sides = [x, y], [p.left, p.right]
    for k, operand in enumerate((x, y)):
        found = made_by(operand, permute_p)
        if found:
            sides[k] = tuple(sides[k][axis] for axis in inverse(found[0].axes))
            operands[k] = found[1][0]
    return emit(contract_p, contraction(sides[0], sides[1], p.out), *operands)


rules: Final[Rules] = {
    reshape_p: (_reshape_twice,),
    permute_p: (_permute_twice,),
    (reverse_p, reverse_p): (involution_rule(reverse_p),),
    (broadcast_p, broadcast_p): (_broadcast_twice,),
    slice_p: (_slice_twice,),
    (slice_p, concatenate_p): (_slice_joined,),
    (slice_p, broadcast_p): (_slice_repeated,),
    (slice_p, replace_slice_p): (_slice_written,),
    **{
        (op.primitive, reshape_p): (_reshape_later_rule(op.primitive),)
        for ufunc, op in by_ufunc.items()
        if ufunc.nin == 1 and op.primitive is not neg_p  # of which the sign goes outwards
    },
    convert_p: (_convert_to_same,),
    (real_p, convert_p): (_real_of_real,),
    (real_p, join_p): (_real_of_real,),
    (imag_p, join_p): (_imaginary_of_pair,),
    contract_p: (_contract_with_number,),
    (contract_p, permute_p): (_contract_permuted,),
}
