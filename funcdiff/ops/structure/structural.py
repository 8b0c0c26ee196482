"""Structural operations: they move, select, copy or convert elements and compute nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np

from funcdiff.core.access import Access, Cut, Label, pointwise
from funcdiff.core.implementation import Implementation, choose, choose_into
from funcdiff.core.primitive import NONE, Facts, Params, Pushed, Tangents, Tracers, Types, shifted
from funcdiff.core.recording.builder import bind, constant, result_type
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.ops.families import constant_op, linear
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.space import Maybe, splat, zeros

# ---- reshape ---------------------------------------------------------------------------------


class Shape(Params):
    """The shape of the result."""

    shape: tuple[int, ...]

    def with_rows(self, count: int) -> Shape:
        """Return the shape with so many rows."""
        return Shape((count, *self.shape[1:]))

    def with_batch_axis(self, size: int) -> Shape:
        """Return the shape with a further axis in front."""
        return Shape((size, *self.shape))


def _abstract_reshape(p: Shape, x: ArrayType) -> Types:
    y = x.with_shape(p.shape)
    if y.size != x.size:
        raise TypeError(f"cannot reshape {x} to {p.shape}")
    return (y,)


def _reshape_impl(p: Shape) -> Callable[[Any], Any]:
    shape = p.shape
    if not shape:
        return lambda x: x.reshape(())[()]  # a scalar: what is done to arrays takes longer

    def function(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x.reshape(shape)
        y = np.empty(shape, x.dtype)  # a method of scalars would take three times as long
        y[...] = x
        return y

    return function


def _access_reshape(p: Shape, types: Types) -> Access:
    """Find axes with as many elements in front of them; those of length 1 come and go."""
    before, after = types[0].shape, p.shape
    x: list[Label] = [None for _ in before]
    y: list[Label] = [k if n == 1 else None for k, n in enumerate(after)]
    i = j = 0
    left = right = 1  # elements in front
    while i < len(before) and j < len(after):
        m, n, level = before[i], after[j], left == right
        if level and m == n:
            x[i] = y[j] = j
        one_is_new, one_is_gone = level and n == 1 != m, level and m == 1 != n
        if left <= right and not one_is_new:
            i, passed = i + 1, left * m
        else:
            passed = left
        if right <= left and not one_is_gone:
            j, right = j + 1, right * n
        left = passed
    return Access((tuple(y),), (tuple(x),))


reshape_p: Final = linear(
    "reshape",
    Shape,
    abstract=_abstract_reshape,
    impl=Implementation(_reshape_impl, view=True),
    transpose=lambda p, types, cts, _xs: [reshape(cts[0], types[0].shape)],
    access=_access_reshape,
    facts=Facts("moved"),
)


def reshape(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Arrange the elements, in C order, in another shape."""
    if x.shape == shape:
        return x
    if splat(x) is not None:
        return constant(splat(x), result_type(reshape_p, Shape(shape), x))
    return bind(reshape_p, Shape(shape), x)[0]


# ---- permute ---------------------------------------------------------------------------------


class Permutation(Params):
    """Axis ``i`` of the result is axis ``axes[i]`` of the operand."""

    axes: tuple[int, ...]

    def with_batch_axis(self, size: int) -> Permutation:  # noqa: ARG002
        """Return the same behind a further axis in front."""
        return Permutation((0, *shifted(self.axes)))


def inverse(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse of a permutation."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def _abstract_permute(p: Permutation, x: ArrayType) -> Types:
    if sorted(p.axes) != list(range(x.ndim)):
        raise TypeError(f"{p.axes} does not permute the axes of {x}")
    return (x.with_shape(tuple(x.shape[axis] for axis in p.axes)),)


permute_p: Final = linear(
    "permute",
    Permutation,
    abstract=_abstract_permute,
    impl=Implementation(lambda p: lambda x: x.transpose(p.axes), view=True),
    transpose=lambda p, _types, cts, _xs: [permute(cts[0], inverse(p.axes))],
    access=lambda p, _types: Access((p.axes,), (tuple(range(len(p.axes))),)),
    facts=Facts("moved"),
)


def permute(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Reorder the axes: axis i of the result is axis ``axes[i]`` of `x`."""
    if axes == tuple(range(x.ndim)):
        return x
    if splat(x) is not None:
        return constant(splat(x), result_type(permute_p, Permutation(axes), x))
    return bind(permute_p, Permutation(axes), x)[0]


# ---- convert ---------------------------------------------------------------------------------


class Dtype(Params):
    """The dtype of the result."""

    dtype: np.dtype[Any]


def _convert_impl(p: Dtype) -> Any:
    def function(x: Any) -> Any:
        if x.dtype.kind == "c" and p.dtype.kind not in "cb":
            x = x.real  # what astype does too, with a warning that belongs to the user's call
        return np.asarray(x).astype(p.dtype)[()]

    return function


def _jvp_convert(p: Dtype, xs: Tracers, ts: Tangents) -> Pushed:
    (x,), (t,) = xs, ts
    y = convert(x, p.dtype)
    smooth = y.type.differentiable and t is not None
    return [y], [convert(t, p.dtype) if smooth and t is not None else None]


convert_p: Final = linear(
    "convert",
    Dtype,
    abstract=lambda p, x: (x.with_dtype(p.dtype),),
    impl=Implementation(_convert_impl, fresh=True),
    jvp=_jvp_convert,
    transpose=lambda _p, types, cts, _xs: [convert(cts[0], types[0].dtype)],
    access=pointwise,
)


def convert(x: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """Convert to another dtype; of a complex number to a real dtype, the real part.

    For tangents, real numbers are the real axis: the transpose of the embedding is the real
    part, and the transpose of the real part is the embedding.
    """
    if x.dtype == dtype:
        return x
    value = splat(x)
    if value is not None:
        with np.errstate(all="ignore"):
            return constant(_convert_impl(Dtype(dtype))(value), x.type.with_dtype(dtype))
    return bind(convert_p, Dtype(dtype), x)[0]


# ---- select ----------------------------------------------------------------------------------


def _abstract_select(_p: Params, mask: ArrayType, x: ArrayType, y: ArrayType) -> Types:
    if mask.dtype != BOOL or x is not y or mask.shape != x.shape:
        raise TypeError(f"select needs a mask and two operands of one type, got {mask}, {x}, {y}")
    return (x,)


def _transpose_select(_p: Params, types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    (ct,), (mask, x, y), zero = cts, xs, zeros(types[1])
    assert mask is not None
    return [
        None,
        select(mask, ct, zero) if x is None else None,
        select(mask, zero, ct) if y is None else None,
    ]


select_p: Final = linear(
    "select",
    Params,
    abstract=_abstract_select,
    impl=Implementation(lambda _p: choose, fresh=True, into=lambda _p: choose_into),
    transpose=_transpose_select,
    operands=slice(1, None),
    access=pointwise,
    facts=Facts("summed"),
)


def select(mask: Tracer, x: Tracer, y: Tracer) -> Tracer:
    """Take the elements of `x` where the mask is true, those of `y` elsewhere."""
    if splat(mask) is not None:
        assert result_type(select_p, NONE, mask, x, y) is x.type
        return x if splat(mask) else y
    return bind(select_p, NONE, mask, x, y)[0]


# ---- concatenate -----------------------------------------------------------------------------


class Axis(Params):
    """The axis along which the operation works."""

    axis: int


def _abstract_concatenate(p: Axis, *xs: ArrayType) -> Types:
    first = xs[0]
    if not 0 <= p.axis < first.ndim:
        raise TypeError(f"{first} has no axis {p.axis}")
    for x in xs:
        around = x.shape[: p.axis] + x.shape[p.axis + 1 :]
        if around != first.shape[: p.axis] + first.shape[p.axis + 1 :] or x.dtype != first.dtype:
            raise TypeError(f"cannot concatenate {first} and {x} along axis {p.axis}")
    length = sum(x.shape[p.axis] for x in xs)
    return (first.with_shape((*first.shape[: p.axis], length, *first.shape[p.axis + 1 :])),)


def _access_concatenate(p: Axis, types: Types) -> Access:
    labels = tuple(range(types[0].ndim))
    ends = accumulate(t.shape[p.axis] for t in types)
    starts = [end - t.shape[p.axis] for end, t in zip(ends, types, strict=True)]
    return Access(
        (labels,),
        tuple([(*labels[: p.axis], Cut(p.axis, k), *labels[p.axis + 1 :]) for k in starts]),
    )


def _transpose_concatenate(p: Axis, types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    result: list[Maybe] = []
    start = 0
    for x, type_ in zip(xs, types, strict=True):
        stop = start + type_.shape[p.axis]
        result.append(slice_along(cts[0], p.axis, start, stop) if x is None else None)
        start = stop
    return result


concatenate_p: Final = linear(
    "concatenate",
    Axis,
    abstract=_abstract_concatenate,
    impl=Implementation(lambda p: lambda *xs: np.concatenate(xs, axis=p.axis), fresh=True),
    transpose=_transpose_concatenate,
    access=_access_concatenate,
    facts=Facts("summed"),
)


def concatenate(xs: Tracers, axis: int) -> Tracer:
    """Join arrays along an axis that they have."""
    if len(xs) == 1:
        assert result_type(concatenate_p, Axis(axis), *xs) is xs[0].type
        return xs[0]
    return bind(concatenate_p, Axis(axis), *xs)[0]


# ---- reverse ---------------------------------------------------------------------------------


class Reversal(Params):
    """The axes along which the order of elements is turned around."""

    axes: tuple[int, ...]


def _reverse_impl(p: Reversal) -> Any:
    def function(x: Any) -> Any:
        return x[tuple(slice(None, None, -1 if a in p.axes else 1) for a in range(x.ndim))]

    return function


def _abstract_reverse(p: Reversal, x: ArrayType) -> Types:
    if len(set(p.axes)) != len(p.axes) or not all(0 <= axis < x.ndim for axis in p.axes):
        raise TypeError(f"cannot turn {x} around along axes {p.axes}")
    return (x,)


def _access_reverse(p: Reversal, types: Types) -> Access:
    turned = [Cut(k, n - 1, -1) if k in p.axes else k for k, n in enumerate(types[0].shape)]
    return Access((tuple(turned),), (tuple(range(len(turned))),))


reverse_p: Final = linear(
    "reverse",
    Reversal,
    abstract=_abstract_reverse,
    impl=Implementation(_reverse_impl, view=True),
    transpose=lambda p, _types, cts, _xs: [reverse(cts[0], p.axes)],
    access=_access_reverse,
    facts=Facts("moved"),
)


def reverse(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Turn the order of the elements around along some axes."""
    if not axes or splat(x) is not None:
        assert result_type(reverse_p, Reversal(axes), x) is x.type
        return x
    return bind(reverse_p, Reversal(axes), x)[0]


# ---- stop_gradient and iota --------------------------------------------------------------------


stop_gradient_p: Final = constant_op(
    "stop_gradient",
    Params,
    abstract=lambda _p, x: (x,),
    impl=Implementation(lambda _p: lambda x: x, view=True),
)


def stop_gradient(x: Tracer) -> Tracer:
    """Return `x` as a constant: its tangent is zero."""
    return bind(stop_gradient_p, NONE, x)[0]


class Iota(Params):
    """The shape of the result, and the axis along which it counts."""

    shape: tuple[int, ...]
    axis: int


def _iota_impl(p: Iota) -> Any:
    along = tuple(n if k == p.axis else 1 for k, n in enumerate(p.shape))
    return lambda: np.broadcast_to(np.arange(p.shape[p.axis]).reshape(along), p.shape)


iota_p: Final = constant_op(
    "iota",
    Iota,
    abstract=lambda p: (ArrayType(p.shape, INT),),
    impl=_iota_impl,
    access=lambda p, _types: Access(
        (tuple([None if k == p.axis else k for k in range(len(p.shape))]),), ()
    ),
)


def iota(shape: tuple[int, ...], axis: int) -> Tracer:
    """Return the position of every element along an axis, int64."""
    return bind(iota_p, Iota(shape, axis))[0]
