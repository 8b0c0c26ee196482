"""Shape functions: reshape, permute, join and split."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.errors import user_location
from funcdiff.numpy import mutation
from funcdiff.numpy.dispatch import implements, refuse
from funcdiff.numpy.promotion import array, broadcast_to, matched, promoted
from funcdiff.ops import structural as ops


def normalized_axis(axis: Any, ndim: int) -> int:
    """Return an axis counted from the front; raises NumPy's AxisError."""
    position = as_int(axis)
    if not -ndim <= position < ndim:
        raise np.exceptions.AxisError(position, ndim)
    return position % ndim


def normalized_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return None, an int or a tuple as ascending axes."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [normalized_axis(a, ndim) for a in given]
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


@implements(np.reshape)
def reshape(
    a: Tracer, /, shape: Any = None, order: str = "C", *, copy: bool | None = None
) -> Tracer:
    """Return the elements in another shape."""
    target = tuple(map(as_int, shape)) if np.iterable(shape) else (as_int(shape),)
    target = _completed(a.shape, target)
    if order == "F":
        backwards = ops.reshape(_reversed_axes(a), target[::-1])
        return mutation.view(a, _reversed_axes(backwards), lambda b: np.reshape(b, target, order="F"))
    if order not in ("C", "A"):
        raise ValueError(f"order must be one of 'C', 'F' or 'A' (got {order!r})")
    return mutation.view(a, ops.reshape(a, target), lambda b: np.reshape(b, target))


def _reversed_axes(a: Tracer) -> Tracer:
    return ops.permute(a, tuple(reversed(range(a.ndim))))


def _completed(shape: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Fill in the -1 of a target shape."""
    size = int(np.prod(shape, dtype=int))
    rest = int(np.prod([n for n in target if n != -1], dtype=int))
    holes = target.count(-1)
    if holes == 1 and rest and size % rest == 0:
        target = tuple(size // rest if n == -1 else n for n in target)
        rest = size
    if rest != size or holes > 1 or -1 in target:
        raise ValueError(
            f"cannot reshape array of size {size} into shape {target}, at {user_location()}"
        )
    return target


@implements(np.transpose, np.permute_dims)
def transpose(a: Tracer, axes: Any = None) -> Tracer:
    """Return the array with its axes reordered, by default reversed."""
    order = (
        tuple(reversed(range(a.ndim)))
        if axes is None
        else tuple(normalized_axis(k, a.ndim) for k in axes)
    )
    if sorted(order) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    return mutation.view(a, ops.permute(a, order), lambda b: np.transpose(b, order))


@implements(np.where)
def where(condition: Any, *branches: Any) -> Any:
    """Choose between two arrays elementwise."""
    if not branches:
        return np.nonzero(condition)
    x, y = matched(*branches)
    mask = array(condition)
    mask = ops.convert(mask, np.dtype(bool)) if mask.dtype.kind == "b" else array(mask != 0)
    shape = np.broadcast_shapes(mask.shape, x.shape)
    return ops.select(*(broadcast_to(v, shape) for v in (mask, x, y)))


@implements(np.concatenate)
def concatenate(
    arrays: Sequence[Any], /, axis: int | None = 0, out: Any = None, *, dtype: Any = None,
    casting: str = "same_kind",
) -> Tracer:
    """Join arrays along an existing axis."""
    refuse("np.concatenate", out=out)
    xs = promoted(*arrays)
    if dtype is not None:
        xs = [ops.convert(x, np.dtype(dtype)) for x in xs]
    if axis is None:
        xs, axis = [ops.reshape(x, (x.type.size,)) for x in xs], 0
    return mutation.fresh(ops.concatenate(xs, normalized_axis(axis, xs[0].ndim)))


@implements(np.copy)
def copy(a: Tracer, order: str = "K", subok: bool = False) -> Tracer:
    """Return a copy."""
    return mutation.fresh(a)


@implements(np.astype)
def astype(x: Tracer, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tracer:
    """Convert to another dtype."""
    return mutation.fresh(ops.convert(x, np.dtype(dtype)))


@implements(np.ones_like)
def ones_like(a: Tracer, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Tracer:
    """Return ones of the shape and dtype of an array."""
    return constant(1, a.type)
