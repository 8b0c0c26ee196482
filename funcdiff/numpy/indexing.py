"""``x[index]`` for every kind of index that NumPy knows.

Slices, integers, None and Ellipsis become slices, reversals and reshapes.  Integer and boolean
arrays become one gather; their axes go where NumPy puts them.
"""

from __future__ import annotations

from operator import index as as_int
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.core.types import BOOL
from funcdiff.errors import user_location
from funcdiff.numpy import mutation
from funcdiff.numpy.promotion import array, broadcast_shapes, broadcast_to, innermost, remember
from funcdiff.ops.indexing import gather
from funcdiff.ops.slicing import Slice, take_slice
from funcdiff.ops.structural import permute, reshape, reverse

Positions: TypeAlias = "np.ndarray[Any, Any] | Tracer"


class Basic(NamedTuple):
    """The part of an index that only slices, reverses and reshapes."""

    cut: Slice
    reversed_axes: tuple[int, ...]
    shape: tuple[int, ...]


class Advanced(NamedTuple):
    """An index with arrays: a box, positions along some of its axes, and an order of axes.

    Attributes
    ----------
    basic
        The box that slices and Nones leave, one axis for each item of the index.
    positions
        Arrays of positions along `axes` of the box; they broadcast to `common`.
    order
        Axes of the result in terms of what `gather` gives, which has those of `common` in front.
    shape
        Shape of the result.
    """

    basic: Basic
    positions: list[Positions]
    axes: tuple[int, ...]
    common: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def indices(self) -> list[Any]:
        """The positions as traced arrays of one shape."""
        return [broadcast_to(array(i), self.common) for i in self.positions]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the axes that are indexed."""
        return tuple(self.basic.shape[axis] for axis in self.axes)


def take(x: Tracer, index: Any) -> Any:
    """Return ``x[index]``."""
    key = _key(index)
    if key is not None:
        return _cut(x, index, key)
    if is_advanced(index):
        found = advanced(x.shape, index)
        y = gather(apply(x, found.basic), found.indices, found.axes)
        return permute(y, found.order)
    result = apply(x, basic(x.shape, index))
    return mutation.view(x, result, lambda base: base[index], index)


def _key(index: Any) -> Any:
    """Return what stands for an index of Python's ints and slices; None if it holds others."""
    kind = type(index)
    if kind is int:
        return index
    if kind is slice:
        parts = (index.start, index.stop, index.step)
        return (slice, *parts) if all(p is None or type(p) is int for p in parts) else None
    if kind is not tuple:
        return None
    keys = tuple([_key(item) for item in index])
    return None if None in keys else keys


def is_advanced(index: Any) -> bool:
    """Return whether an index holds arrays, so that NumPy copies."""
    items = index if isinstance(index, tuple) else (index,)
    kinds: Any = Tracer | np.ndarray | list | tuple | bool | np.bool_
    return any(isinstance(item, kinds) for item in items)


def _cut(x: Tracer, index: Any, key: Any) -> Any:
    """Return ``x[index]`` for ints and slices; it is recorded directly the next time."""
    builder = innermost(x)
    key = (take, x.type, key)
    chain = builder.direct.get(key) if x.builder is builder else None
    if chain is not None:
        atom, entries = x.atom, builder.entries
        for op in chain:
            entries.append((op, atom))
            atom = len(entries) - 1
        result = builder.handle(builder, atom, chain[-1].result)
    else:
        before = len(builder.entries)
        result = apply(x, basic(x.shape, index))
        chain = [entry[0] for entry in builder.entries[before:]]
        if x.builder is builder and not builder.shares and chain:
            remember(key, chain)
    if result.shape:
        return mutation.view(x, result, lambda base: base[index], index)
    return mutation.fresh(x) if result is x else result


def basic(shape: tuple[int, ...], index: Any) -> Basic:
    """Work out an index without arrays."""
    items = index if isinstance(index, tuple) else (index,)
    return _basic(shape, _expand(len(shape), items), keep=())


def apply(x: Tracer, box: Basic) -> Tracer:
    """Cut out, reverse and reshape."""
    return reshape(reverse(take_slice(x, box.cut), box.reversed_axes), box.shape)


def _expand(ndim: int, items: tuple[Any, ...]) -> list[Any]:
    """Replace the Ellipsis, or complete the index, by full slices."""
    used = sum(_consumes(item) for item in items)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed, "
            f"at {user_location()}"
        )
    missing = [slice(None)] * (ndim - used)
    places = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = places[0] if places else len(items)
    return [*items[:at], *missing, *items[at + 1 :]]


def _consumes(item: Any) -> int:
    """Return how many axes of the array an item of an index is about."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Tracer | np.ndarray) and item.dtype == BOOL:
        return item.ndim
    return 1


def _basic(shape: tuple[int, ...], items: list[Any], keep: tuple[int, ...]) -> Basic:
    """Work out slices, ints and Nones; items at places `keep` take their axis whole."""
    starts, stops, steps, reversed_axes, result = [], [], [], [], []
    axis = 0
    for place, item in enumerate(items):
        if item is None or _is_scalar_mask(item):
            result.append(1)
            continue
        length = shape[axis]
        if place in keep or isinstance(item, slice):
            start, stop, step = (item if isinstance(item, slice) else slice(None)).indices(length)
            count = len(range(start, stop, step))
            if step < 0:
                start, stop, step = start + (count - 1) * step, start + 1, -step
                reversed_axes.append(axis)
            start, stop = (start, max(stop, start)) if count else (0, 0)
            result.append(count)
        else:
            start = _position(item, axis, length)
            stop, step = start + 1, 1
        starts.append(start)
        stops.append(stop)
        steps.append(step)
        axis += 1
    return Basic(
        Slice(tuple(starts), tuple(stops), tuple(steps)), tuple(reversed_axes), tuple(result)
    )


def _position(item: Any, axis: int, length: int) -> int:
    try:
        position = as_int(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
            f"boolean arrays are valid indices, not {type(item).__name__}, at {user_location()}"
        ) from None
    if not -length <= position < length:
        raise IndexError(
            f"index {position} is out of bounds for axis {axis} with size {length}, "
            f"at {user_location()}"
        )
    return position % length


def advanced(shape: tuple[int, ...], index: Any) -> Advanced:
    """Work out an index with arrays."""
    items = tuple(_as_item(item) for item in (index if isinstance(index, tuple) else (index,)))
    expanded: list[Any] = []
    for item in _expand(len(shape), items):
        if isinstance(item, np.ndarray) and item.dtype == BOOL and item.ndim:
            _check_mask(item, shape, sum(map(_consumes, expanded)))
            expanded.extend(item.nonzero())
        else:
            expanded.append(item)
    places = tuple(
        k for k, item in enumerate(expanded) if item is not None and not isinstance(item, slice)
    )
    box = _basic(shape, expanded, keep=places)
    positions = [
        _indices(expanded[k], box.shape[k], sum(map(_consumes, expanded[:k]))) for k in places
    ]
    common = _common_shape([i.shape for i in positions])
    gathered = (*common, *(n for k, n in enumerate(box.shape) if k not in places))
    inner, before, ndim = len(common), places[0], len(gathered)
    if places != tuple(range(before, before + len(places))):
        before = 0  # apart from each other: their axes come first
    order = (*range(inner, inner + before), *range(inner), *range(inner + before, ndim))
    result = tuple(gathered[axis] for axis in order)
    return Advanced(box, positions, places, common, order, result)


def _is_scalar_mask(item: Any) -> bool:
    """Whether an item is a 0-d boolean: it indexes a new axis of length 1 by [0], or by []."""
    return isinstance(item, np.ndarray) and item.dtype == BOOL and item.ndim == 0


def _common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{' '.join(map(str, shapes))}, at {user_location()}"
        ) from None


def _as_item(item: Any) -> Any:
    """Return an item of an index with lists as arrays and traced masks as concrete ones."""
    if isinstance(item, list | tuple):
        item = np.asarray(item, dtype=np.intp if len(item) == 0 else None)
    if isinstance(item, bool | np.bool_):
        item = np.asarray(item)
    if isinstance(item, Tracer) and item.dtype == BOOL:
        item = np.asarray(item)
    if isinstance(item, Tracer | np.ndarray) and item.dtype.kind not in "biu":
        raise IndexError(
            f"arrays used as indices must be of integer (or boolean) type, not {item.dtype}, "
            f"at {user_location()}"
        )
    return item


def _check_mask(mask: np.ndarray[Any, Any], shape: tuple[int, ...], axis: int) -> None:
    for k, n in enumerate(mask.shape):
        if n != shape[axis + k]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                f"{shape[axis + k]} but size of corresponding boolean axis is {n}, "
                f"at {user_location()}"
            )


def _indices(item: Any, length: int, axis: int) -> Positions:
    """Return one advanced index as an integer array within bounds."""
    if isinstance(item, Tracer):
        return item
    if _is_scalar_mask(item):
        return np.zeros(int(item), np.intp)
    positions: np.ndarray[Any, Any] = np.asarray(item)
    check_bounds(positions, length, axis)
    return positions


def check_bounds(positions: np.ndarray[Any, Any], length: int, axis: int) -> None:
    """Raise NumPy's IndexError if a position is out of bounds."""
    if positions.size and not -length <= int(positions.min()) <= int(positions.max()) < length:
        outside = positions[(positions < -length) | (positions >= length)].flat[0]
        raise IndexError(
            f"index {outside} is out of bounds for axis {axis} with size {length}, "
            f"at {user_location()}"
        )
