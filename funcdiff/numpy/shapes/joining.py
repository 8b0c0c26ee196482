"""Joining arrays along an axis, inserting and deleting, and padding, which joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from operator import index as as_int
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border import promotion
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import Shape, array, broadcast_to, cast_all, fit, promote
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.memory.index_expressions import take
from funcdiff.numpy.shapes.shape import normalize_axis, ravel
from funcdiff.ops.structure import structural as ops

# ---- joining -----------------------------------------------------------------------------------


@implements(np.concatenate, operands=1)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Join arrays along an existing axis."""
    if isinstance(arrays, Tracer) and arrays.ndim == 0:
        raise TypeError("a 0-d array is not a sequence of arrays")
    given: list[Any] = list(arrays)
    if not given and not isinstance(arrays, list | tuple):  # NumPy has read it to find us
        raise TypeError(
            'arrays to concatenate must be passed as a "sequence" type such as list or tuple, not '
            f"{type(arrays).__name__}, at {user_location()}. Write np.concatenate(list(arrays))."
        )
    if not given:
        raise ValueError("need at least one array to concatenate")
    if dtype is None:
        xs = promote(*given)
    else:
        xs = cast_all(given, np.dtype(dtype), casting, "Cannot cast array data")
    if axis is None:
        xs, axis = [ops.reshape(x, (x.type.size,)) for x in xs], 0
    _check_shapes(tuple([x.shape for x in xs]), axis := _joining_axis(xs, axis))
    result = views.fresh(ops.concatenate(xs, axis))
    return mutation.store("np.concatenate", result, out, casting=casting)


def _joining_axis(xs: Sequence[Tracer], axis: Any) -> int:
    if xs[0].ndim == 0:
        raise ValueError(
            f"zero-dimensional arrays cannot be concatenated, at {user_location()}. "
            "Use np.stack or funcdiff.numpy.array."
        )
    return normalize_axis(axis, xs[0].ndim)


@lru_cache(maxsize=4096)
def _check_shapes(shapes: tuple[Shape, ...], axis: int) -> None:
    def around(shape: Shape) -> Shape:
        return (*shape[:axis], *shape[axis + 1 :])

    first = shapes[0]
    for k, shape in enumerate(shapes):
        if len(shape) != len(first) or around(shape) != around(first):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly: array 0 has shape {first}, array {k} has shape {shape}, "
                f"axis is {axis}"
            )


# ---- inserting and deleting --------------------------------------------------------------------


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Insert values before the given positions along an axis, by default of the flat array.

    NumPy itself inserts positions of `values` among positions of `arr`; these are then read.
    """
    x = array(arr)
    new = array(values)
    if new.dtype.kind == "c" and x.dtype.kind != "c":
        raise TypeError(
            f"np.insert: complex values do not fit an array of dtype {x.dtype}, at "
            f"{user_location()}. Convert it with .astype(complex)."
        )
    new = fit(new, new.type.with_dtype(x.dtype))
    old_places = np.arange(x.type.size).reshape(x.shape)
    new_places = x.type.size + np.arange(new.type.size).reshape(new.shape)
    places = np.insert(old_places, concrete_index(obj), new_places, axis)
    flat = [ops.reshape(z, (z.type.size,)) for z in (x, new)]
    return take(ops.concatenate(flat, 0), places)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Remove the given positions along an axis, by default of the flat array."""
    x = array(arr)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis(axis, x.ndim)
    kept = np.delete(np.arange(x.shape[axis]), concrete_index(obj))
    return take(x, (*(slice(None),) * axis, kept))


def concrete_index(index: Any) -> Any:
    """Return an index whose values decide shapes, traced or not, as NumPy can use it."""
    return np.asarray(index) if isinstance(index, Tracer) else index


# ---- padding -----------------------------------------------------------------------------------


Widths: TypeAlias = tuple[int, int]

_READ_AGAIN: Final = ("edge", "wrap", "reflect", "symmetric")


def pads_at_once(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return `numpy.pad`, of which `own` is NumPy's code: that fills a new array side by side.

    Constants are joined, and elements that come again are read at once, as filters of images need.
    """

    @wraps(own)
    def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
        x: Tracer = promotion.array(array)
        values: list[tuple[Any, Any]] = []
        if mode == "constant" and kwargs.keys() <= {"constant_values"}:
            values = _pairs(kwargs.get("constant_values", 0), x.ndim)
        elif mode not in _READ_AGAIN or kwargs or not x.type.size:
            return own(array, pad_width, mode, **kwargs)
        for axis, width in enumerate(_width_pairs(pad_width, x.ndim)):
            if any(width) and not values:
                positions = np.pad(np.arange(x.shape[axis]), width, mode=mode)
                x = take(x, (*(slice(None),) * axis, positions))
            elif any(width):
                x = _between(x, axis, width, values[axis])
        return views.fresh(x)

    return pad


def _between(x: Tracer, axis: int, width: Widths, values: tuple[Any, Any]) -> Tracer:
    """Join an array with constants before and behind it."""
    around = [
        fit(value, x.type.with_shape((*x.shape[:axis], n, *x.shape[axis + 1 :])))
        for n, value in zip(width, values, strict=True)
    ]
    parts = [around[0], x, around[1]]
    return ops.concatenate([z for z in parts if z.shape[axis] or z is x], axis)


def _pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Return the values before and behind each axis, given as one, as a pair or as pairs."""
    if isinstance(value, Tracer):
        every = broadcast_to(value, (ndim, 2))
        return [(take(every, (k, 0)), take(every, (k, 1))) for k in range(ndim)]
    given = np.asarray(value)
    pairs = np.broadcast_to(given, (ndim, 2))
    # NumPy takes one number or pair for scalars of its own, which are strong, but not more of them
    strong = given.size <= 2 and given.shape != (2, 1)
    return [(before, behind) for before, behind in (pairs if strong else pairs.tolist())]


def _width_pairs(pad_width: Any, ndim: int) -> list[Widths]:
    if isinstance(pad_width, dict):
        pairs: list[tuple[Any, Any]] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[normalize_axis(axis, ndim)] = _pairs(width, 1)[0]
    else:
        if np.asarray(pad_width).dtype.kind not in "iu":
            raise TypeError("`pad_width` must be of integral type")
        pairs = _pairs(pad_width, ndim)
    widths = [(as_int(before), as_int(behind)) for before, behind in pairs]
    if any(n < 0 for width in widths for n in width):
        raise ValueError("index can't contain negative values")
    return widths
