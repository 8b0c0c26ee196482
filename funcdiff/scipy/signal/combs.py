"""Comb filters, of few coefficients among many zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.numpy.border.values import value_of
from funcdiff.scipy.covered import covers, load


@covers("scipy.signal", note="Differentiable in Q; the order fs / w0 is a constant.")
def iircomb(
    w0: Any, Q: Any, ftype: str = "notch", fs: Any = 2.0, *, pass_zero: bool = False, **options: Any
) -> tuple[Any, Any]:
    """Return (b ± c·z⁻ᴺ) / (1 ± a·z⁻ᴺ), with N = fs / w0 and β = tan(π/2·N·w0/(fs·Q)).

    S. J. Orfanidis, "Introduction to Signal Processing", section 11.5.
    """
    narrow = load("scipy.signal").iircomb(
        float(value_of(w0)), 3.0, ftype, float(value_of(fs)), pass_zero=pass_zero, **options
    )[1]  # which has the order and the sign, and raises what SciPy does
    order = len(narrow) - 1
    beta = np.tan(np.pi / 2 * order * w0 / (fs * Q))
    gain, comb = (0.0, 1.0) if ftype.lower() == "peak" else (1.0, 0.0)
    first, last = (1.0 * (np.arange(order + 1) == k) for k in (0, order))
    last = np.sign(narrow[-1]) * last / (1 + beta)
    b = (gain + comb * beta) / (1 + beta) * first + (gain - comb * beta) * last
    return b, first + (1 - beta) * last
