"""Spectra of segments of signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.scipy.covered import covers


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
