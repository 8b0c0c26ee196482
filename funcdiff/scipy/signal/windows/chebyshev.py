"""The window of Dolph and Chebyshev, whose transform is a polynomial of Chebyshev's."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.numpy.border.values import value_of
from funcdiff.scipy.covered import covers, load


@covers("scipy.signal.windows._windows")
@covers("scipy.signal.windows", note="The number of points is a constant.")
def chebwin(M: int, at: Any, sym: bool = True, **options: Any) -> Any:
    """Return the window of `M` points whose side lobes are `at` decibels below its main lobe."""
    if M <= 1:
        return np.ones(M) + 0.0 * at
    if is_known_to_hold(lambda: np.abs(at) < 45):
        load("scipy.signal.windows").chebwin(M, float(value_of(at)), sym, **options)  # warns
    size = M if sym else M + 1
    beta = np.cosh(np.arccosh(10 ** (np.abs(at) / 20)) / (size - 1))
    p = _chebyshev(size - 1, beta * np.cos(np.pi * np.arange(size) / size))
    p = p if size % 2 else p * np.exp(1j * np.pi / size * np.arange(size))
    w = np.real(np.fft.fft(p))[: size // 2 + 1]
    w = np.concatenate([w[:0:-1], w[1 - size % 2 :]])
    return (w / np.max(w))[:M]


def _chebyshev(n: int, x: Any) -> Any:
    """Tₙ(x): cos(n·arccos x) within [-1, 1], and (±1)ⁿ·cosh(n·arccosh |x|) beyond."""
    inside = np.abs(x) <= 1
    near, far = np.where(inside, x, 0.0), np.where(inside, 2.0, np.abs(x))
    beyond = np.where(x < 0, (-1.0) ** n, 1.0) * np.cosh(n * np.arccosh(far))
    return np.where(inside, np.cos(n * np.arccos(near)), beyond)
