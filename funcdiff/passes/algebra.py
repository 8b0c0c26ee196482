"""Identities: those of `rules` keep every bit, so they hold in every program.

Not among them: ``x + 0 = x`` (wrong for -0.0), ``x·0 = 0`` (wrong for inf and NaN), and any
change in the order of additions.  Those of `linear_rules` are true of numbers, but not of the sign
of a zero or a NaN, nor of the NaN that NumPy makes of ``(∞ + 0j)·(1 + 0j)``.  They are for
derivatives, where only the number counts.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.overwriting import IN_PLACE
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.types import BOOL, complex_dtype, real_dtype
from funcdiff.core.walk import made_by
from funcdiff.ops.complex import conj_p, imag_p, join_p, real_p
from funcdiff.ops.contract import contract_p
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.indexing import scatter_add_p
from funcdiff.ops.logic import logical_and, logical_or, operations
from funcdiff.ops.slicing import add_slice_p
from funcdiff.ops.structural import (
    Dtype,
    Permutation,
    Reversal,
    Shape,
    convert_p,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)
from funcdiff.passes.rewriting import Rule, Rules
from funcdiff.space import Broadcast, add_p, broadcast_p, mul_p, neg_p, splat


def same(x: Tracer, y: Tracer) -> bool:
    """Whether two handles are on one atom."""
    return x.builder is y.builder and x.atom == y.atom


def _scale_by_one(_emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x · 1 = 1 · x = x, for x that is not complex."""
    return None if x.dtype.kind == "c" else _scale_by_complex_one(_emit, _p, x, y)


def _scale_by_complex_one(_emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x · 1 = 1 · x = x, for complex x too."""
    if splat(y) == 1:
        return x
    return y if splat(x) == 1 else None


def _scale_by_minus_one(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x · (-1) = (-1) · x = -x, but for the sign of a NaN, which only -x turns."""
    if x.dtype.kind not in "fc":
        return None
    if splat(y) == -1:
        return emit(neg_p, NONE, x)  # type: ignore[no-any-return]
    return emit(neg_p, NONE, y) if splat(x) == -1 else None


def _negate_twice(_emit: Any, _p: Any, x: Tracer) -> Tracer | None:
    """-(-x) = x."""
    found = made_by(x, neg_p)
    return found[1][0] if found else None


def _conjugate_twice(_emit: Any, _p: Any, z: Tracer) -> Tracer | None:
    """conj(conj(z)) = z."""
    found = made_by(z, conj_p)
    return found[1][0] if found else None


def _reshape_twice(emit: Any, p: Shape, x: Tracer) -> Tracer | None:
    """reshape(reshape(x)) = reshape(x), and x if the shape is its own."""
    if p.shape == x.shape:
        return x
    found = made_by(x, reshape_p)
    return emit(reshape_p, p, found[1][0]) if found else None


def _permute_twice(emit: Any, p: Permutation, x: Tracer) -> Tracer | None:
    """permute(permute(x)) = permute(x), and x for the identity."""
    if p.axes == tuple(range(x.ndim)):
        return x
    found = made_by(x, permute_p)
    if not found:
        return None
    axes = tuple(found[0].axes[axis] for axis in p.axes)
    return emit(permute_p, Permutation(axes), found[1][0])  # type: ignore[no-any-return]


def _reverse_twice(_emit: Any, p: Reversal, x: Tracer) -> Tracer | None:
    """reverse(reverse(x)) = x along the same axes."""
    found = made_by(x, reverse_p)
    return found[1][0] if found and found[0] == p else None


def _broadcast_twice(emit: Any, p: Broadcast, x: Tracer) -> Tracer | None:
    """broadcast(broadcast(x)) = broadcast(x)."""
    found = made_by(x, broadcast_p)
    if not found:
        return None
    axes = tuple(p.axes[axis] for axis in found[0].axes)
    return emit(broadcast_p, Broadcast(p.shape, axes), found[1][0])  # type: ignore[no-any-return]


def _broadcast_later(primitive: Primitive[Any]) -> Rule:
    """Return the rule of an operation whose every element is exactly rounded."""

    def rule(emit: Any, p: Params, *xs: Tracer) -> Tracer | None:
        """f(broadcast(x), broadcast(y)) = broadcast(f(x, y)), numbers being broadcast anyhow."""
        found = [made_by(x, broadcast_p) for x in xs]
        spread = {(f[0], f[1][0].shape) for f in found if f}
        pairs = list(zip(found, xs, strict=True))
        if len(spread) != 1 or any(f is None and splat(x) is None for f, x in pairs):
            return None
        if any(x.dtype.kind == "c" for x in xs):
            return None  # of a product of complex numbers every processor has its own rounding
        ((how, shape),) = spread
        small = [f[1][0] if f else constant(splat(x), x.type.with_shape(shape)) for f, x in pairs]
        return emit(broadcast_p, how, emit(primitive, p, *small))  # type: ignore[no-any-return]

    rule.__name__ = "_broadcast_later"
    return rule


def _convert_nothing(_emit: Any, p: Dtype, x: Tracer) -> Tracer | None:
    """convert(x) = x if the dtype is its own; from real to complex and back is nothing, too."""
    if p.dtype == x.dtype:
        return x
    found = made_by(x, convert_p)
    if not found:
        return None
    (origin,) = found[1]
    widened = origin.dtype.kind == "f" and complex_dtype(origin.dtype) == x.dtype
    return origin if widened and p.dtype == origin.dtype else None


def _real_of_real(_emit: Any, _p: Any, z: Tracer) -> Tracer | None:
    """real(complex(x)) = x, real(x + iy) = x."""
    found = made_by(z, convert_p) or made_by(z, join_p)
    if found and found[1][0].dtype == real_dtype(z.dtype):
        return found[1][0]
    return None


def _imaginary_of_pair(_emit: Any, _p: Any, z: Tracer) -> Tracer | None:
    """imag(x + iy) = y."""
    found = made_by(z, join_p)
    if found and found[1][1].dtype == real_dtype(z.dtype):
        return found[1][1]
    return None


def _select_same(_emit: Any, _p: Any, mask: Tracer, x: Tracer, y: Tracer) -> Tracer | None:
    """select(m, x, x) = x; a constant mask chooses."""
    if same(x, y):
        return x
    chosen = splat(mask)
    return None if chosen is None else (x if chosen else y)


def _both_with_constant(_emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x and True = x; x and False = False: of booleans."""
    return _absorbed(x, y, neutral=True)


def _either_with_constant(_emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x or False = x; x or True = True: of booleans."""
    return _absorbed(x, y, neutral=False)


def _absorbed(x: Tracer, y: Tracer, *, neutral: bool) -> Tracer | None:
    for a, b in ((x, y), (y, x)):
        if a.dtype == b.dtype == BOOL and splat(a) is not None:
            return b if bool(splat(a)) is neutral else a
    return None


def _contract_with_number(emit: Any, p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """contract(x, s) = x · s for a scalar s: a product without a sum."""
    if p.left and p.right:
        return None
    array, labels, scalar = (x, p.left, y) if p.left else (y, p.right, x)
    moved = emit(permute_p, Permutation(tuple(labels.index(k) for k in p.out)), array)
    spread = scalar if not p.out else emit(broadcast_p, Broadcast(moved.shape, ()), scalar)
    pair = (moved, spread) if p.left else (spread, moved)
    return emit(mul_p, NONE, *pair)  # type: ignore[no-any-return]


def _accumulate_slice(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x + add_slice(0, u) = add_slice(x, u): accumulate in place (up to the sign of a zero)."""
    return _accumulated(emit, add_slice_p, x, y)


def _accumulate_scattered(emit: Any, _p: Any, x: Tracer, y: Tracer) -> Tracer | None:
    """x + scatter_add(0, u, i) = scatter_add(x, u, i): likewise."""
    return _accumulated(emit, scatter_add_p, x, y)


def _accumulated(emit: Any, primitive: Any, x: Tracer, y: Tracer) -> Tracer | None:
    for total, padded in ((x, y), (y, x)):
        found = made_by(padded, primitive)
        if not found or splat(found[1][0]) != 0:
            continue
        if any(made_by(total, writer) for writer in IN_PLACE):
            return emit(primitive, found[0], total, *found[1][1:])  # type: ignore[no-any-return]
    return None


_EXACT: Final = (
    *(np.add, np.subtract, np.multiply, np.divide, np.negative, np.reciprocal, np.square),
    *(np.sqrt, np.absolute, np.sign, np.maximum, np.minimum),
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.logical_and, np.logical_or, np.logical_not, np.isnan),
)
"""Functions of which IEEE 754 says every bit, however many elements there are."""

rules: Final[Rules] = {
    **{
        (op.primitive, broadcast_p): (_broadcast_later(op.primitive),)
        for op in (*by_ufunc.values(), *operations.values())
        if op.ufunc in _EXACT
    },
    mul_p: (_scale_by_one,),
    (neg_p, neg_p): (_negate_twice,),
    (conj_p, conj_p): (_conjugate_twice,),
    reshape_p: (_reshape_twice,),
    permute_p: (_permute_twice,),
    (reverse_p, reverse_p): (_reverse_twice,),
    (broadcast_p, broadcast_p): (_broadcast_twice,),
    convert_p: (_convert_nothing,),
    (real_p, convert_p): (_real_of_real,),
    (real_p, join_p): (_real_of_real,),
    (imag_p, join_p): (_imaginary_of_pair,),
    select_p: (_select_same,),
    logical_and.primitive: (_both_with_constant,),
    logical_or.primitive: (_either_with_constant,),
    contract_p: (_contract_with_number,),
}
linear_rules: Final[Rules] = {
    mul_p: (_scale_by_complex_one, _scale_by_minus_one),
    (add_p, add_slice_p): (_accumulate_slice,),
    (add_p, scatter_add_p): (_accumulate_scattered,),
}
