"""Positions in the flat array, and the indices along each axis that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.types import INT
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.masks import refuse_where
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.shapes.shape import as_ints
from funcdiff.ops.structure.structural import convert


def _integers(name: str, value: Any) -> Any:
    x = array(value)
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices have dtype {x.dtype} at {user_location()}, not integers")
    return convert(x, INT)


def _axes(order: str, ndim: int) -> range:
    """Return the axes, that which varies slowest first."""
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F' (got {order!r})")
    return range(ndim) if order == "C" else range(ndim - 1, -1, -1)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[Any, ...]:
    """Return the index along each axis of positions in the flat array."""
    lengths = as_ints(shape)
    rest = _integers("np.unravel_index", indices)
    size = int(np.prod(lengths, dtype=int))
    error = ValueError(f"np.unravel_index: an index is out of bounds for an array with size {size}")
    rest = refuse_where(np.logical_or(rest < 0, rest >= size), error, rest)
    found: list[Any] = [None] * len(lengths)
    for axis in reversed(_axes(order, len(lengths))):
        rest, found[axis] = rest // lengths[axis], rest % lengths[axis]
    return tuple(found)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """Return the positions in the flat array of indices along each axis."""
    lengths = as_ints(dims)
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    position: Any = 0
    for axis in _axes(order, len(lengths)):
        index = _integers("np.ravel_multi_index", multi_index[axis])
        position = position * lengths[axis] + _check(index, lengths[axis], modes[axis])
    return position


def within(positions: Any, length: int, mode: Any) -> Any:
    """Return positions brought into range as the mode says; "raise" leaves them as they are."""
    if mode == "wrap":
        return positions % length
    if mode == "clip":
        return np.minimum(np.maximum(positions, 0), length - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return positions


def _check(index: Any, length: int, mode: str) -> Any:
    """Return indices within range; raises NumPy's error if the mode is "raise"."""
    index = within(index, length, mode)
    if mode != "raise":
        return index
    error = ValueError(
        f"np.ravel_multi_index: an index is out of bounds for an axis of length {length}"
    )
    return refuse_where(np.logical_or(index < 0, index >= length), error, index)
