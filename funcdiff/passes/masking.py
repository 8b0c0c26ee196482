"""Zeros that masks make stay zero: an infinite coefficient never meets them.

Where ``np.where(x > 0, np.sqrt(x), 0)`` is differentiated, the cotangent is masked first and then
multiplied by 1/(2√x), which is infinite at 0: 0·∞ = NaN, although the branch was not taken.  In a
linear program the two commute, so the mask goes last: ``mask(ct)·c = mask(ct·c)``.  The same
holds for all that fills with zeros: padding, scattering, and rearrangements of those.

The rules hold for exact zeros that are structural, so they apply only to equations that depend
on a tangent or cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.core.walk import made_by
from funcdiff.ops.cond import Cond
from funcdiff.ops.indexing import gather_p, scatter_add_p
from funcdiff.ops.logic import logical_not, logical_or, not_equal
from funcdiff.ops.reductions import reduce_all_p, reduce_any_p
from funcdiff.ops.scan import Scan, linear_inputs
from funcdiff.ops.slicing import add_slice_p, slice_p
from funcdiff.ops.structural import (
    Dtype,
    Permutation,
    Shape,
    convert_p,
    inverse,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)
from funcdiff.passes.algebra import same
from funcdiff.passes.rewriting import Rules
from funcdiff.space import (
    Broadcast,
    add,
    add_p,
    broadcast_p,
    mul,
    mul_p,
    neg_p,
    reduce_sum_p,
    splat,
    zeros,
)


def _is_zero(x: Tracer) -> bool:
    return bool(splat(x) == 0)


def _masked(x: Tracer) -> tuple[Tracer, Tracer, bool] | None:
    """Return mask and value of ``select(mask, value, 0)``, and whether the sides are swapped."""
    found = made_by(x, select_p)
    if found is None:
        return None
    mask, a, b = found[1]
    if _is_zero(b):
        return mask, a, False
    return (mask, b, True) if _is_zero(a) else None


def _mask(emit: Any, mask: Tracer, value: Tracer, *, swapped: bool) -> Tracer:
    pair = (zeros(value.type), value) if swapped else (value, zeros(value.type))
    return emit(select_p, NONE, mask, *pair)  # type: ignore[no-any-return]


def _fills_with_zeros(x: Tracer) -> bool:
    """Whether `x` is masked (or a sum of that), padded or scattered, perhaps rearranged since."""
    while True:
        if _masked(x) or _writes(x):
            return True
        found = made_by(x, reduce_sum_p)
        if found:
            return _masked(found[1][0]) is not None
        found = made_by(x, reshape_p) or made_by(x, permute_p) or made_by(x, reverse_p)
        if not found:
            return False
        (x,) = found[1]


class _Write(NamedTuple):
    """An addition of something at some positions: of a slice, or given by index arrays."""

    primitive: Primitive[Any]
    params: Any
    shape: tuple[int, ...]
    indices: tuple[Tracer, ...]


def _writes(x: Tracer) -> list[_Write] | None:
    """Return the writes that make `x` from zeros, in any order; None if it is not made so."""
    writes: list[_Write] = []
    pending = [x]
    while pending:
        part = pending.pop()
        if _is_zero(part):
            continue
        total = made_by(part, add_p)
        found = next(filter(None, (made_by(part, q) for q in (add_slice_p, scatter_add_p))), None)
        if total:
            pending.extend(total[1])
        elif found:
            params, (base, u, *indices) = found
            primitive = scatter_add_p if indices else add_slice_p
            writes.append(_Write(primitive, params, u.shape, tuple(indices)))
            pending.append(base)
        else:
            return None
    return writes or None


def _covers(writes: list[_Write], shape: tuple[int, ...]) -> bool:
    """Whether slices write every element."""
    written = np.zeros(shape, dtype=bool)
    for write in writes:
        if write.primitive is add_slice_p:
            written[write.params.index] = True
    return bool(written.all())


def _scale_masked(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, u, 0) · c = select(m, u·c, 0)."""
    for u, c in ((x, y), (y, x)):
        found = _masked(u)
        if found:
            mask, value, swapped = found
            return _mask(emit, mask, emit(mul_p, NONE, value, c), swapped=swapped)
    return None


def _scale_padded(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """add_slice(0, u) · c = add_slice(0, u · slice(c))."""
    for padded, c in ((x, y), (y, x)):
        found = made_by(padded, add_slice_p)
        if found and _is_zero(found[1][0]):
            p, (zero, u) = found
            scaled = emit(mul_p, NONE, u, emit(slice_p, p, c))
            return emit(add_slice_p, p, zero, scaled)  # type: ignore[no-any-return]
    return None


def _scale_scattered(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """scatter_add(0, u, i) · c = scatter_add(0, u · gather(c, i), i), if u is no larger."""
    for scattered, c in ((x, y), (y, x)):
        found = made_by(scattered, scatter_add_p)
        if found and _is_zero(found[1][0]) and found[1][1].type.size <= c.type.size:
            p, (zero, u, *indices) = found
            scaled = emit(mul_p, NONE, u, emit(gather_p, p, c, *indices))
            return emit(scatter_add_p, p, zero, scaled, *indices)  # type: ignore[no-any-return]
    return None


def _scale_rearranged(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """V(u) · c = V(u · V⁻¹(c)) for a rearrangement V of something filled with zeros."""
    for moved, c in ((x, y), (y, x)):
        for primitive in (reshape_p, permute_p, reverse_p):
            found = made_by(moved, primitive)
            if found and _fills_with_zeros(moved):
                p, (u,) = found
                back = emit(primitive, _inverse(p, u), c)
                return emit(primitive, p, emit(mul_p, NONE, u, back))  # type: ignore[no-any-return]
    return None


def _scale_written(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """w · c = select(written, w · c, 0), for w written into zeros piece by piece."""
    for pieces, c in ((x, y), (y, x)):
        writes = None if splat(c) is not None else _writes(pieces)
        if writes is None or _covers(writes, pieces.shape):
            continue
        count = zeros(pieces.type)
        for write in writes:
            ones = constant(1, pieces.type.with_shape(write.shape))
            count = emit(write.primitive, write.params, count, ones, *write.indices)
        return _mask(emit, not_equal(count, zeros(count.type)), mul(pieces, c), swapped=False)
    return None


def _inverse(p: Any, u: Tracer) -> Params:
    if isinstance(p, Shape):
        return Shape(u.shape)
    return Permutation(inverse(p.axes)) if isinstance(p, Permutation) else p


def _scale_summed(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """sum(select(m, u, 0)) · c = select(any(m), sum(select(m, u, 0)) · c, 0)."""
    for total, c in ((x, y), (y, x)):
        found = made_by(total, reduce_sum_p)
        masked = found and _masked(found[1][0])
        if found and masked:
            mask, _, swapped = masked
            some = emit(reduce_all_p if swapped else reduce_any_p, found[0], mask)
            return _mask(emit, some, mul(total, c), swapped=swapped)
    return None


def _negate_masked(emit: Any, _p: Any, x: Tracer) -> Tracer | None:
    """-select(m, u, 0) = select(m, -u, 0)."""
    found = _masked(x)
    if found is None:
        return None
    mask, value, swapped = found
    return _mask(emit, mask, emit(neg_p, NONE, value), swapped=swapped)


def _broadcast_masked(emit: Any, p: Broadcast, x: Tracer) -> Tracer | None:
    """broadcast(select(m, u, 0)) = select(broadcast(m), broadcast(u), 0)."""
    found = _masked(x)
    if found is None:
        return None
    mask, value, swapped = found
    mask, value = (emit(broadcast_p, p, z) for z in (mask, value))
    return _mask(emit, mask, value, swapped=swapped)


def _convert_masked(emit: Any, p: Dtype, x: Tracer) -> Tracer | None:
    """convert(select(m, u, 0)) = select(m, convert(u), 0)."""
    found = _masked(x)
    if found is None:
        return None
    mask, value, swapped = found
    return _mask(emit, mask, emit(convert_p, p, value), swapped=swapped)


def _add_masked(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, u, 0) + select(n, v, 0) = select(m or n, select(m, u, 0) + select(n, v, 0), 0).

    For one mask it is select(m, u + v, 0).
    """
    first, second = _masked(x), _masked(y)
    if first is None or second is None:
        return None
    if first[2] == second[2] and same(first[0], second[0]):
        return _mask(emit, first[0], emit(add_p, NONE, first[1], second[1]), swapped=first[2])
    sides = [logical_not(mask) if swapped else mask for mask, _, swapped in (first, second)]
    return _mask(emit, logical_or(*sides), add(x, y), swapped=False)


def _mask_twice(_emit: Any, _p: Any, mask: Tracer, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, select(m, u, 0), 0) = select(m, u, 0)."""
    for value, other, swapped in ((x, y, False), (y, x, True)):
        found = _masked(value) if _is_zero(other) else None
        if found and found[2] == swapped and same(found[0], mask):
            return value
    return None


rules: Final[Rules] = {
    mul_p: (
        _scale_masked,
        _scale_padded,
        _scale_scattered,
        _scale_written,
        _scale_summed,
        _scale_rearranged,
    ),
    neg_p: (_negate_masked,),
    broadcast_p: (_broadcast_masked,),
    convert_p: (_convert_masked,),
    add_p: (_add_masked,),
    select_p: (_mask_twice,),
}


def nested(
    eq: Equation,
    linear: tuple[bool, ...],
    simplify_linear: Callable[[Program, tuple[bool, ...]], Program],
) -> Params:
    """Return the parameters of a linear equation with the linear programs in them simplified."""
    p = eq.params
    if isinstance(p, Cond):
        return Cond(tuple(simplify_linear(branch, linear[1:]) for branch in p.branches))
    if isinstance(p, Scan):
        return replace(p, body=simplify_linear(p.body, linear_inputs(p, linear)))
    return p
