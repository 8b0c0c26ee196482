"""Functions of the array API standard that do more than NumPy's functions of that name."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import asarray, join_traced


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: bool = False,
) -> Any:  # fmt: skip
    """Return ``np.sort``, or with `descending` that with the largest elements first."""
    a = join_traced(a)
    if not descending:
        return np.sort(a, axis, kind, order, stable=stable)
    return np.flip(np.sort(a, axis, kind, order, stable=stable), 0 if axis is None else axis)


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: bool = False,
) -> Any:  # fmt: skip
    """Return ``np.argsort``, or with `descending` the positions of the largest elements first.

    Equal elements stay in their order if it is stable.
    """
    a = join_traced(a)
    if not descending:
        return np.argsort(a, axis, kind, order, stable=stable)
    x = np.ravel(a) if axis is None or np.ndim(a) == 0 else a
    along = 0 if axis is None else axis
    backwards = np.argsort(np.flip(x, along), along, kind, order, stable=stable)
    return np.shape(x)[along] - 1 - np.flip(backwards, along)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return ``np.from_dlpack``, of a traced array, whose memory nobody else can have, itself."""
    make: Any = asarray if is_traced(x) else np.from_dlpack
    return make(x, device=device, copy=copy)


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return ``np.fft.fftfreq``, of a floating dtype."""
    found = np.fft.fftfreq(n, d, device=device)
    return found if dtype is None else found.astype(dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return ``np.fft.rfftfreq``, of a floating dtype."""
    found = np.fft.rfftfreq(n, d, device=device)
    return found if dtype is None else found.astype(dtype)
