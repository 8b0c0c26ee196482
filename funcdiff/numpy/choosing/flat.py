"""``x.flat``: the elements of an array in C order, to be read, iterated over and written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.choosing import assignment
from funcdiff.numpy.memory import exports, indexing, mutation, views
from funcdiff.numpy.memory.indices import as_array, is_advanced, normalize
from funcdiff.numpy.messages.wrong_calls import explain
from funcdiff.ops.axes.indexing import gather
from funcdiff.ops.structure.structural import reshape


class Flat:
    """What NumPy calls a flat iterator."""

    __slots__ = ("_position", "base")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Tracer) -> None:
        self.base = base
        self._position = 0

    def __len__(self) -> int:
        return self.base.type.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._position >= len(self):
            raise StopIteration
        self._position += 1
        return self[self._position - 1]

    def __getitem__(self, index: Any) -> Any:
        flat = flatten_axis(self.base)
        y: Any = indexing.take(flat, places(index, flat.type.size))
        return views.fresh(y)

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self.base, index, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return exports.plain_array(flatten_axis(self.base), dtype, copy)

    def copy(self) -> Any:
        """Return the elements as a vector."""
        return self[:]


def flatten_axis(x: Tracer) -> Tracer:
    """Return a copy of the elements along one axis, in C order."""
    return views.fresh(reshape(x, (x.type.size,)))


def places(index: Any, size: int, *, written: bool = False) -> Any:
    """Return what NumPy's flat iterators, whose rules differ from those of arrays, read or write.

    Of numbers and slices it is themselves; of others, positions, which NumPy's own iterator gives.
    """
    if isinstance(index, int | slice | Tracer) and not isinstance(index, bool):
        return index
    if is_traced(index):
        return as_array(index)
    numbered = np.arange(size)
    try:
        found = numbered.flat[index]
        if written:
            numbered.flat[index] = 0
    except Exception as error:
        explain(error, "x.flat", (index,))
        raise
    return found


def write(x: Tracer, index: Any, value: Any) -> None:
    """Do ``x.flat[index] = value``: values that are too few are taken again from the first."""
    mutation.check_writeable(x)
    flat = flatten_axis(x)
    if not is_traced(index) and mutation.rearrange(x, value, lambda a, v: _put(a, index, v)):
        return
    index = places(index, flat.type.size, written=True)
    items = normalize(index)
    measured = indexing.resolve if is_advanced(items) else indexing.basic
    shape = measured(flat.shape, items).shape
    count = int(np.prod(shape, dtype=int))
    if not count:
        return
    v = reshape(cycle(value, x.dtype, count), shape)
    if count == x.type.size or isinstance(index, Tracer) or _is_in_c_order(x):
        assignment.put(flat, items, v)
        mutation.assign(x, reshape(flat, x.shape))
    else:  # in place, so that the layout in memory stays, on which the last bits of sums depend
        assignment.put(x, np.unravel_index(np.arange(x.type.size)[index], x.shape), v)


def _put(a: np.ndarray[Any, Any], index: Any, v: np.ndarray[Any, Any]) -> None:
    a.flat[index] = v


def _is_in_c_order(x: Tracer) -> bool:
    model = views.layout(x)
    return model is not None and model.flags.c_contiguous


def cycle(value: Any, dtype: np.dtype[Any], count: int) -> Any:
    """Return a value as a vector of a dtype and length, its elements coming again and again."""
    v = assignment.cast(value, dtype)
    size = v.type.size
    if not size:
        raise ValueError(f"Cannot insert from an empty array, at {user_location()}")
    v = reshape(v, (size,))
    return v if size == count else gather(v, [array(np.arange(count) % size)], (0,))
