"""Reductions and scans along axes: product, extrema, logic, positions, cumulative sums.

(The sum is part of the vector space, `funcdiff.space`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.access import along, ending, reducing
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Facts, Primitive, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.ops.axes.accumulation import recurrence
from funcdiff.ops.elementwise.logic import equal, isnan, logical_or
from funcdiff.ops.elementwise.mathematics import mul, reciprocal
from funcdiff.ops.families import constant_op, linear, reduction, unary
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import (
    Axis,
    concatenate,
    convert,
    permute,
    reshape,
    reverse,
    select,
)
from funcdiff.space import (
    Axes,
    Maybe,
    abstract_reduction,
    broadcast,
    kept_axes,
    reduce_sum,
    sum_tangents,
    zeros,
)

# ---- product -----------------------------------------------------------------------------------


def _prod_tangent(p: Axes, x: Tracer, y: Tracer, t: Tracer) -> Maybe:
    """Multiply in pairs, by halves: exact with zeros, to any order, at linear cost."""
    x, t = axes_last(x, p.axes), axes_last(t, p.axes)
    last = x.ndim - 1
    if x.shape[last] == 0:
        return None
    while x.shape[last] > 1:
        half, odd = divmod(x.shape[last], 2)
        a, b, rest = (_part(x, last, k, half, odd) for k in range(3))
        ta, tb, trest = (_part(t, last, k, half, odd) for k in range(3))
        product = mul(a, b)
        tangent = sum_tangents([mul(ta, b), mul(a, tb)])
        assert tangent is not None
        x = concatenate([product, rest], last) if odd else product
        t = concatenate([tangent, trest], last) if odd else tangent
    return reshape(t, y.shape)


def axes_last(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Move axes to the end and merge them into one."""
    kept = kept_axes(x.ndim, axes)
    shape = tuple(x.shape[axis] for axis in kept)
    size = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    return reshape(permute(x, (*kept, *axes)), (*shape, size))


def _part(x: Tracer, axis: int, k: int, half: int, odd: int) -> Tracer:
    stop = 2 * half + odd if k == 2 else (k + 1) * half
    return slice_along(x, axis, k * half, stop)


reduce_prod_p: Final = reduction("reduce_prod", np.multiply, _prod_tangent)


def reduce_prod(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Multiply over axes."""
    return bind(reduce_prod_p, Axes(axes), x)[0] if axes else x


# ---- extrema -----------------------------------------------------------------------------------


def mean_of_marked(x: Tracer, mask: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return the mean over axes of the elements where a mask is true.

    Half precision counts to 65,504 only.
    """
    total = reduce_sum(select(mask, x, zeros(x.type)), axes)
    wide = np.result_type(x.dtype, np.float32)
    share = reciprocal(convert(reduce_count(mask, axes), wide))
    return mul(total, convert(share, x.dtype))


def _share_tangent(p: Axes, x: Tracer, y: Tracer, t: Tracer) -> Tracer:
    """Give entries that are equal to the extremum equal shares of its derivative."""
    attained = broadcast(y, x.shape, kept_axes(x.ndim, p.axes))
    winners = logical_or(equal(x, attained), isnan(x))
    return mean_of_marked(t, winners, p.axes)


reduce_max_p: Final = reduction("reduce_max", np.maximum, _share_tangent)
reduce_min_p: Final = reduction("reduce_min", np.minimum, _share_tangent)


def reduce_max(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return the largest element over axes; NaN wins."""
    return bind(reduce_max_p, Axes(axes), x)[0] if axes else x


def reduce_min(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return the smallest element over axes; NaN wins."""
    return bind(reduce_min_p, Axes(axes), x)[0] if axes else x


# ---- logic and positions: no derivative --------------------------------------------------------


def _abstract_logic(p: Axes, x: ArrayType) -> Types:
    if x.dtype != BOOL:
        raise TypeError(f"reduce_all, reduce_any and reduce_count need booleans, got {x}")
    return abstract_reduction(p, x)


reduce_all_p: Final = reduction("reduce_all", np.logical_and, abstract=_abstract_logic)
reduce_any_p: Final = reduction("reduce_any", np.logical_or, abstract=_abstract_logic)


def reduce_all(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return whether all elements over axes are true."""
    return bind(reduce_all_p, Axes(axes), x)[0] if axes else x


def reduce_any(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return whether any element over axes is true."""
    return bind(reduce_any_p, Axes(axes), x)[0] if axes else x


def _count_impl(p: Axes) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        if len(p.axes) == x.ndim:
            return INT.type(np.count_nonzero(x))
        return np.add.reduce(x, axis=p.axes, dtype=INT)

    return function


reduce_count_p: Final = constant_op(
    "reduce_count",
    Axes,
    abstract=lambda p, x: (_abstract_logic(p, x)[0].with_dtype(INT),),
    impl=Implementation(_count_impl, fresh=True),
    access=reducing(np.add),
)


def reduce_count(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Return how many elements over axes are true, int64."""
    return bind(reduce_count_p, Axes(axes), x)[0] if axes else convert(x, INT)


def _position(name: str, function: Callable[..., Any]) -> Primitive[Axis]:
    def abstract(p: Axis, x: ArrayType) -> Types:
        return (abstract_reduction(Axes((p.axis,)), x)[0].with_dtype(INT),)

    return constant_op(
        name,
        Axis,
        abstract=abstract,
        impl=lambda p: lambda x: function(x, axis=p.axis),
        access=ending,
    )


argmax_p: Final = _position("argmax", np.argmax)
argmin_p: Final = _position("argmin", np.argmin)


def argmax(x: Tracer, axis: int) -> Tracer:
    """Return the position of the (first) largest element along an axis, int64."""
    return bind(argmax_p, Axis(axis), x)[0]


def argmin(x: Tracer, axis: int) -> Tracer:
    """Return the position of the (first) smallest element along an axis, int64."""
    return bind(argmin_p, Axis(axis), x)[0]


# ---- cumulative sum and product ----------------------------------------------------------------


cumsum_p: Final = linear(
    "cumsum",
    Axis,
    abstract=lambda _p, x: (x,),
    impl=lambda p: lambda x: np.add.accumulate(x, axis=p.axis, dtype=x.dtype),
    transpose=lambda p, _types, cts, _xs: [
        reverse(cumsum(reverse(cts[0], (p.axis,)), p.axis), (p.axis,))
    ],
    access=along,
    facts=Facts("summed"),
)


def cumsum(x: Tracer, axis: int) -> Tracer:
    """Return the sums of all beginnings along an axis."""
    return bind(cumsum_p, Axis(axis), x)[0]


def _cumprod_tangent(p: Axis, x: Tracer, y: Tracer, t: Tracer) -> Tracer:
    """dy[k] = x[k]·dy[k-1] + y[k-1]·dx[k]: no division, so exact with zeros."""
    if not x.shape[p.axis]:
        return t
    first = constant(1, slice_along(x, p.axis, 0, 1).type)
    before = concatenate([first, slice_along(y, p.axis, 0, x.shape[p.axis] - 1)], p.axis)
    return recurrence(x, mul(before, t), p.axis)


cumprod_p: Final = unary(
    "cumprod",
    Axis,
    abstract=lambda _p, x: (x,),
    impl=lambda p: lambda x: np.multiply.accumulate(x, axis=p.axis, dtype=x.dtype),
    tangent=_cumprod_tangent,
    access=along,
)


def cumprod(x: Tracer, axis: int) -> Tracer:
    """Return the products of all beginnings along an axis."""
    return bind(cumprod_p, Axis(axis), x)[0]
