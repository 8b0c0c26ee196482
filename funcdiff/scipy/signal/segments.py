"""Segments of signals: their spectra, and trends, fitted by least squares, that are removed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.scipy.covered import covers


@covers("scipy.signal")
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0,
    overwrite_data: bool = False,
) -> Traced:  # fmt: skip
    """Return what is left of a signal: ``x - Q·Qᵀ·x`` with orthonormal Q between break points.

    Linear in `data`, which is never overwritten.
    """
    x: Any = array(data)
    if type in ("constant", "c"):
        return x - np.mean(x, axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError(f"Trend type must be 'linear' or 'constant', at {user_location()}.")
    x = x if x.dtype.char in "dfDF" else x.astype(float)
    moved = np.moveaxis(x, axis, -1)
    n = moved.shape[-1]
    breaks = np.unique(np.concatenate([[0, n], np.atleast_1d(bp)]))
    if breaks[-1] > n:
        raise ValueError(
            f"Breakpoints must be less than length of data along given axis, at {user_location()}."
        )
    parts = []
    for start, stop in pairwise(breaks.tolist()):
        length = stop - start
        lines = np.stack([np.arange(1, length + 1) / length, np.ones(length)], -1)
        q = np.linalg.qr(lines)[0].astype(x.dtype)
        part = moved[..., start:stop]
        parts.append(part - (part @ q) @ q.T)
    found: Traced = np.moveaxis(np.concatenate(parts, -1), -1, axis)
    return found


@covers("scipy.signal._spectral_py", closures=True)
def _fft_helper(
    x: Any, win: Any, detrend_func: Callable[..., Any], nperseg: int, noverlap: int, nfft: int,
    sides: str,
) -> Any:  # fmt: skip
    """Return the transforms of overlapping segments along the last axis."""
    if nperseg == 1 and noverlap == 0:
        segments = x[..., None]
    else:
        windows = np.lib.stride_tricks.sliding_window_view(x, nperseg, axis=-1)
        segments = windows[..., :: nperseg - noverlap, :]
    segments = win * detrend_func(segments)
    if sides == "twosided":
        return np.fft.fft(segments, nfft)
    return np.fft.rfft(np.real(segments), nfft)
