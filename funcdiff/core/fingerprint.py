"""Hashes the memory of arrays too large to copy, to detect that they were changed.

A full fingerprint reads all of the memory once, at the speed of memory, and depends on every bit
and its place.  A sparse one looks at some places, others in every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

NDArray: TypeAlias = np.ndarray[Any, Any]

_COLUMNS: Final = 1 << 10
_WORDS: Final = 1 << 14
"""Words of 64 bits that are mixed at a time: they stay in the cache."""

_PLACES: Final = 1 << 10
"""Elements that a sparse fingerprint looks at."""

_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


def _salt() -> NDArray:
    """Return one odd-looking word per place of a block."""
    words = np.arange(1, _WORDS + 1, dtype=np.uint64) * _MULTIPLIER
    words ^= words >> np.uint64(31)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    return words


_SALT: Final = _salt()


def full(array: NDArray) -> bytes:
    """Return a number of 8 kB that any change of the array changes, but for accidents of 2⁻⁶⁴.

    The words of a block are told apart by their places and mixed, so that high bits count as low
    ones do; columns are summed, and the sums of the blocks are the coefficients of a polynomial.
    All this is modulo 2⁶⁴ and exact.
    """
    total = np.zeros(_COLUMNS, np.uint64)
    mixed, shifted = np.empty(_WORDS, np.uint64), np.empty(_WORDS, np.uint64)
    for piece in _pieces(memory(array)):
        data = piece.view(np.uint8)
        for start in range(0, len(data), 8 * _WORDS):
            block = data[start : start + 8 * _WORDS]
            if len(block) == 8 * _WORDS:
                np.bitwise_xor(block.view(np.uint64), _SALT, out=mixed)
            else:
                mixed.fill(0)
                mixed.view(np.uint8)[: len(block)] = block
                mixed ^= _SALT
            np.right_shift(mixed, 29, out=shifted)
            mixed ^= shifted
            total *= _MULTIPLIER
            total += np.add.reduce(mixed.reshape(-1, _COLUMNS), axis=0)
    return total.tobytes()


def sparse(array: NDArray, turn: int) -> bytes:
    """Return the elements at some places all over the array; in another `turn`, at others."""
    cells = memory(array)
    step = max(1, cells.size // _PLACES)
    first = turn * 7919 % step
    if cells.ndim == 1:
        return bytes(cells[first::step].tobytes())
    places = np.unravel_index(np.arange(first, cells.size, step), cells.shape)
    return bytes(cells[places].tobytes())


def same_bits(x: NDArray, y: NDArray) -> bool:
    """Whether arrays of one shape and dtype have the same bits, in each element."""
    if x.flags.f_contiguous:
        x, y = x.T, y.T
    if not (x.flags.c_contiguous and y.flags.c_contiguous):
        return bool(x.tobytes() == y.tobytes())
    words = np.uint8 if x.nbytes % 8 else np.uint64
    a, b = (z.view(np.ndarray).reshape(-1).view(words) for z in (x, y))
    return bool((a == b).all())


def memory(array: NDArray) -> NDArray:
    """Return a view of the elements in the order of memory, flat if they have no gaps.

    What is in memory once is there once, however often the array repeats it.
    """
    cells = array.view(np.ndarray)
    cells = cells[tuple(map(_once, cells.shape, cells.strides))].squeeze()
    cells = cells.transpose(sorted(range(cells.ndim), key=lambda k: -cells.strides[k]))
    if cells.flags.c_contiguous:
        return cells.reshape(-1)
    size, strides = cells.itemsize, cells.strides
    extent = size + sum((n - 1) * s for n, s in zip(cells.shape, strides, strict=True))
    if extent <= cells.nbytes and not any(s % size for s in strides):  # windows that overlap
        return as_strided(cells, (extent // size,), (size,))
    return cells


def _once(_length: int, stride: int) -> slice:
    """Return what takes an axis forwards, and one element of an axis that repeats it."""
    if stride == 0:
        return slice(0, 1)
    return slice(None, None, -1) if stride < 0 else slice(None)


def _pieces(cells: NDArray) -> Iterator[NDArray]:
    """Yield the elements as flat arrays without gaps."""
    if cells.ndim == 1 and cells.flags.c_contiguous:
        yield cells
        return
    rows = max(1, 8 * _WORDS * len(cells) // max(1, cells.nbytes))
    for start in range(0, len(cells), rows):
        yield np.ascontiguousarray(cells[start : start + rows]).reshape(-1)
