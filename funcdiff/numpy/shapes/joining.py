"""Joining arrays along an axis, splitting them again, and padding, which joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index as as_int
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border import promotion
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import Shape, array, broadcast_to, fit, promote
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.memory.index_expressions import take
from funcdiff.numpy.shapes.shape import normalize_axis, ravel, squeeze
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import slice_along

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
    xs = promote(*given) if dtype is None else _convert(given, np.dtype(dtype), casting)
    if axis is None:
        xs, axis = [ops.reshape(x, (x.type.size,)) for x in xs], 0
    _check_shapes(tuple([x.shape for x in xs]), axis := _joining_axis(xs, axis))
    result = views.fresh(ops.concatenate(xs, axis))
    return mutation.store("np.concatenate", result, out, casting=casting)


def _convert(given: Sequence[Any], dtype: np.dtype[Any], casting: Any) -> list[Tracer]:
    xs = [array(x) for x in given]
    for x in xs:
        if not np.can_cast(x.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {x.dtype!r} to {dtype!r} according to the rule "
                f"{casting!r}"
            )
    return [ops.convert(x, dtype) for x in xs]


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


# ---- ``np.pad``: one axis after the other, each joined with the padding before and behind it -----


Widths: TypeAlias = tuple[int, int]
Pads: TypeAlias = "tuple[Tracer, Tracer]"

_KEYWORDS: Final = {
    "empty": (),
    "edge": (),
    "wrap": (),
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}
_STATISTICS: Final[dict[str, Callable[..., Any]]] = {
    "maximum": np.max,
    "mean": np.mean,
    "median": np.median,
    "minimum": np.min,
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Return the array with borders, filled as the mode says."""
    x = promotion.array(array)
    widths = _width_pairs(pad_width, x.ndim)
    if callable(mode):
        return _fill_by(mode, x, widths, kwargs)
    _check(mode, kwargs)
    fill = _filler(x, mode, widths, kwargs)
    for axis, width in enumerate(widths):
        if any(width):
            x = fill(x, axis, width)
    return views.fresh(x)


def _check(mode: Any, given: dict[str, Any]) -> None:
    if mode not in _KEYWORDS:
        raise ValueError(f"mode {mode!r} is not supported")
    unknown = set(given) - set(_KEYWORDS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {unknown}")
    reflection = given.get("reflect_type", "even")
    if reflection not in ("even", "odd"):
        raise ValueError(f"reflect_type must be 'even' or 'odd', not {reflection!r}")


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


Fill: TypeAlias = Callable[[Any, int, Widths], Any]


def _filler(x: Tracer, mode: str, widths: list[Widths], given: dict[str, Any]) -> Fill:
    """Return the function that pads one axis."""
    if mode in ("constant", "empty"):
        values = _pairs(given.get("constant_values", 0), x.ndim)
        return lambda x, axis, width: _join(x, axis, _constants(x, axis, width, values[axis]))
    if x.type.size == 0:
        for axis, width in enumerate(widths):
            if x.shape[axis] == 0 and any(width):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
        return lambda x, axis, width: _join(x, axis, _constants(x, axis, width, (0, 0)))
    if mode == "linear_ramp":
        ends = _pairs(given.get("end_values", 0), x.ndim)
        return lambda x, axis, width: _join(x, axis, _ramps(x, axis, width, ends[axis]))
    if mode in _STATISTICS:
        lengths = _pairs(given.get("stat_length"), x.ndim)
        if any(n is not None and n < 0 for pair in lengths for n in pair):
            raise ValueError("index can't contain negative values")
        function = _STATISTICS[mode]
        return lambda x, axis, width: _join(
            x, axis, _statistics(x, axis, width, lengths[axis], function)
        )
    if given.get("reflect_type") == "odd":
        return lambda x, axis, width: _oddly_reflected(x, axis, width, mode == "symmetric")
    return lambda x, axis, width: _take_again(x, axis, width, mode)


def _fill_by(
    function: Callable[..., Any], x: Any, widths: list[Widths], given: dict[str, Any]
) -> Any:
    """Let a function fill the borders of every vector along every axis, in place."""
    for axis, width in enumerate(widths):
        x = _join(x, axis, _constants(x, axis, width, (0, 0)))
    for axis, width in enumerate(widths):
        vectors: Any = np.moveaxis(x, axis, -1)
        places = list(np.ndindex(vectors.shape[:-1]))
        rows: list[Any] = [views.fresh(take(vectors, (*place, slice(None)))) for place in places]
        for row in rows:
            function(row, width, axis, given)
        if rows:
            x = np.moveaxis(np.reshape(np.stack(rows), vectors.shape), -1, axis)
    return views.fresh(x)


def _join(x: Tracer, axis: int, around: Pads) -> Tracer:
    before, behind = around
    return ops.concatenate([z for z in (before, x, behind) if z.shape[axis] or z is x], axis)


def _stretch(x: Tracer, axis: int, length: int) -> Any:
    """Repeat an array of length 1 along an axis."""
    return broadcast_to(x, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _constants(x: Tracer, axis: int, width: Widths, values: tuple[Any, Any]) -> Pads:
    def fill(length: int, value: Any) -> Any:
        return fit(value, x.type.with_shape((*x.shape[:axis], length, *x.shape[axis + 1 :])))

    return fill(width[0], values[0]), fill(width[1], values[1])


def _edges(x: Tracer, axis: int) -> Pads:
    length = x.shape[axis]
    return slice_along(x, axis, 0, 1), slice_along(x, axis, length - 1, length)


def _ramps(x: Tracer, axis: int, width: Widths, ends: tuple[Any, Any]) -> Pads:
    def ramp(edge: Tracer, end: Any, length: int) -> Any:
        stop = squeeze(edge, axis)
        return np.linspace(end, stop, length, endpoint=False, dtype=x.dtype, axis=axis)  # type: ignore[call-overload]

    left, right = _edges(x, axis)
    return ramp(left, ends[0], width[0]), np.flip(ramp(right, ends[1], width[1]), axis)


def _statistics(
    x: Tracer, axis: int, width: Widths, lengths: tuple[Any, Any], function: Callable[..., Any]
) -> Pads:
    """Repeat a statistic of the elements next to each border."""
    size = x.shape[axis]
    first, last = (size if n is None else min(as_int(n), size) for n in lengths)
    if 0 in (first, last) and function in (np.max, np.min):
        raise ValueError("stat_length of 0 yields no value for padding")
    chunks = slice_along(x, axis, 0, first), slice_along(x, axis, size - last, size)

    def statistic(chunk: Tracer, length: int) -> Any:
        value = function(chunk, axis=axis, keepdims=True)
        if x.dtype.kind in "iu":
            value = np.rint(value)
        return _stretch(ops.convert(value, x.dtype), axis, length)

    return statistic(chunks[0], width[0]), statistic(chunks[1], width[1])


def _take_again(x: Tracer, axis: int, width: Widths, mode: str) -> Any:
    """Read elements again: NumPy itself says which, by padding their positions."""
    if mode == "edge":
        left, right = _edges(x, axis)
        around = _stretch(left, axis, width[0]), _stretch(right, axis, width[1])
        return _join(x, axis, around)
    positions = np.pad(np.arange(x.shape[axis]), width, mode=mode)  # type: ignore[call-overload]
    return take(x, (*(slice(None),) * axis, positions))


def _oddly_reflected(x: Tracer, axis: int, width: Widths, symmetric: bool) -> Any:
    """Reflect about the edges: 2·edge - x, chunk by chunk, in NumPy's order."""
    if x.shape[axis] == 1:
        return _take_again(x, axis, width, "edge")
    left, right = width
    period = x.shape[axis] if symmetric else x.shape[axis] - 1
    skipped = 0 if symmetric else 1
    while left or right:
        # whole periods only, as NumPy does
        reach = (x.shape[axis] - skipped) // period * period
        if left:
            count = min(reach, left)
            x = _with_reflection(x, axis, count, skipped)
            left -= count
        if right:
            count = min(reach, right)
            turned = ops.reverse(x, (axis,))
            x = ops.reverse(_with_reflection(turned, axis, count, skipped), (axis,))
            right -= count
    return x


def _with_reflection(x: Tracer, axis: int, count: int, skipped: int) -> Tracer:
    """Put the reflection of the first `count` elements in front."""
    chunk = ops.reverse(slice_along(x, axis, skipped, skipped + count), (axis,))
    edge: Any = slice_along(x, axis, 0, 1)
    return ops.concatenate([2 * edge - chunk, x], axis)
