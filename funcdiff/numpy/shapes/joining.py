"""Joining arrays along an axis and splitting them again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import Shape, array, fit, promote
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.memory.indexing import take
from funcdiff.numpy.shapes.shape import (
    normalize_axis,
    ravel,
    reshape,
)
from funcdiff.ops.structure import structural as ops

# ---- joining -----------------------------------------------------------------------------------


@implements(np.concatenate, operands=1)
def concatenate(
    arrays: Any,
    /,
    axis: Any = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    """Join arrays along an existing axis."""
    given = _sequence(arrays)
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


def _sequence(arrays: Any) -> list[Any]:
    """Return a list of the arrays, or the rows of one array, as a list."""
    if isinstance(arrays, Tracer) and arrays.ndim == 0:
        raise TypeError("a 0-d array is not a sequence of arrays")
    return list(arrays)


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


@implements(np.block)
def block(arrays: Any) -> Any:
    """Join nested lists of blocks: the innermost lists along the last axis, and so outwards."""
    depth = _depth(arrays)
    ndim = max(depth, *(x.ndim for x in _leaves(arrays)))

    def join(blocks: Any, level: int) -> Any:
        if level == depth:
            x = array(blocks)
            return reshape(x, (*(1,) * (ndim - x.ndim), *x.shape))
        return concatenate([join(b, level + 1) for b in blocks], level - depth)

    return views.fresh(join(arrays, 0))


def _depth(arrays: Any) -> int:
    """Return how deep the lists are nested; all must be alike and none empty."""
    if isinstance(arrays, tuple):
        raise TypeError("np.block takes nested lists, not tuples")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(b) for b in arrays}
    if len(depths) != 1:
        raise ValueError("np.block needs lists that are not empty and nested equally deep")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Tracer]:
    if isinstance(arrays, list):
        return [leaf for b in arrays for leaf in _leaves(b)]
    return [array(arrays)]


# ---- splitting ---------------------------------------------------------------------------------


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
