"""Arrays as one row of real numbers, in which every entry has a place, a name and a scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

_SPREAD: Final = 1e-3
"""Entries that are smaller than so much of their array are of another size."""

_FEW: Final = 0.05
"""Up to so many entries of another size are taken for accidents."""


class Layout:
    """The order in which the entries of arrays stand in a row: those of complex ones twice.

    Each floating or complex array, of which shape and dtype count, has a path for messages.
    """

    def __init__(self, paths: Sequence[str], arrays: Sequence[Any]) -> None:
        self._paths = list(paths)
        self._shapes = [np.shape(x) for x in arrays]
        self._dtypes = [np.asarray(x).dtype for x in arrays]
        counts = [np.size(x) * (1 + np.iscomplexobj(x)) for x in arrays]
        self.bounds = [0, *(int(end) for end in np.cumsum(counts))]

    @property
    def size(self) -> int:
        """The number of real numbers."""
        return self.bounds[-1]

    def parts(self) -> list[slice]:
        """Return where each array stands."""
        return [slice(a, b) for a, b in zip(self.bounds, self.bounds[1:], strict=False)]

    def row(self, arrays: Sequence[Any]) -> Any:
        """Return arrays of these shapes as a row of doubles; real and imaginary parts in turn."""
        rows = [
            np.array(x, complex if dtype.kind == "c" else float, order="C").reshape(-1).view(float)
            for x, dtype in zip(arrays, self._dtypes, strict=True)
        ]
        return np.concatenate([np.zeros(0), *rows])

    def arrays(self, row: Any) -> list[Any]:
        """Return the arrays that stand in a row, in their dtypes."""
        found = []
        for part, shape, dtype in zip(self.parts(), self._shapes, self._dtypes, strict=True):
            numbers = np.array(row[part], float)
            numbers = numbers.view(complex) if dtype.kind == "c" else numbers
            found.append(numbers.astype(dtype).reshape(shape)[()])
        return found

    def leaf(self, k: int) -> int:
        """Return the number of the array in which the k-th number stands."""
        return int(np.searchsorted(self.bounds, k, side="right")) - 1

    def place(self, k: int) -> tuple[int, tuple[int, ...], bool]:
        """Return the array of the k-th number, its place there, and if it is an imaginary part."""
        leaf = self.leaf(k)
        flat = k - self.bounds[leaf]
        step = 2 if self._dtypes[leaf].kind == "c" else 1
        found = np.unravel_index(flat // step, self._shapes[leaf] or (1,))
        place = tuple(int(n) for n in found) if self._shapes[leaf] else ()
        return leaf, place, step == 2 and flat % 2 == 1

    def name(self, k: int) -> str:
        """Return what the k-th number is called: ``args[0]['w'][3].imag``."""
        leaf, place, imaginary = self.place(k)
        index = list(place) if place else ""
        return f"{self._paths[leaf]}{index}{'.imag' if imaginary else ''}"

    def path(self, leaf: int) -> str:
        """Return what an array is called."""
        return self._paths[leaf]

    def entry(self, row: Any, k: int) -> Any:
        """Return the entry, perhaps complex, to which the k-th number of a row belongs."""
        leaf, _, imaginary = self.place(k)
        if self._dtypes[leaf].kind != "c":
            return row[k]
        first = k - imaginary
        return complex(row[first], row[first + 1])

    def largest(self, row: Any) -> Any:
        """Return, in every place, the largest finite magnitude within the same array."""
        sizes = np.where(np.isfinite(row), np.abs(row), 0.0)
        found = np.zeros(self.size)
        for part in self.parts():
            found[part] = sizes[part].max(initial=0.0)
        return found


def scales(layout: Layout, arrays: Sequence[Any]) -> Any:
    """Return how far each entry may move to count as a move of its size.

    That is the mean size of its array; in an array of numbers of many sizes, its own; in an array
    of zeros, 1.
    """
    row = np.abs(layout.row(arrays))
    found = np.ones(layout.size)
    for part in layout.parts():
        sizes = row[part]
        present = sizes[np.isfinite(sizes) & (sizes > 0)]
        if present.size:
            top = present.max()
            mean = float(top * np.sqrt(np.mean((present / top) ** 2)))
            wide = np.mean(present < _SPREAD * mean) > _FEW
            own = np.where(np.isfinite(sizes) & (sizes > 0), sizes, np.median(present))
            found[part] = own if wide else mean
    return found


def bands(keys: Any, width: float, most: int) -> list[Any]:
    """Return the places of a row in at most `most` groups of which the members are of like size.

    The smallest is at least `width` times the largest of a group, but the last takes the rest;
    zeros are a group of their own.
    """
    keys = np.where(np.isfinite(keys), keys, np.inf)
    left = np.flatnonzero(keys > 0)
    found = [np.flatnonzero(keys == 0)]
    while left.size:
        top = keys[left].max()
        chosen = keys[left] >= width * top
        if len(found) == most or np.isinf(top):
            chosen = np.isinf(keys[left]) if np.isinf(top) else np.full(left.shape, True)
        found.append(left[chosen])
        left = left[~chosen]
    return [group for group in found[::-1] if group.size]
