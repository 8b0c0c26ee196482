"""Filters in the frequency domain: factors that are functions of the frequency."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy import asarray
from funcdiff.scipy.borrowing import borrow_functions
from funcdiff.scipy.covered import covers
from funcdiff.scipy.ndimage.outputs import write
from funcdiff.scipy.places import place

_COMPILED = "scipy.ndimage._nd_image"
_GAUSSIAN, _UNIFORM = 0, 1


def _frequencies(shape: Any, n: int, axis: int) -> list[Any]:
    """Return the frequencies along each axis, one of which may be that of a real transform."""
    found = []
    for k, length in enumerate(shape):
        real = n >= 0 and k == axis
        f = np.arange(length) / n if real else np.fft.fftfreq(max(length, 1))[:length]
        found.append(f.reshape([-1 if j == k else 1 for j in range(len(shape))]))
    return found


@covers(_COMPILED)
def fourier_filter(x: Any, sizes: Any, n: int, axis: int, output: Any, kind: int) -> None:
    """Multiply by the transform of a Gaussian, a box or an ellipsoid."""
    x, y = asarray(x), asarray(x)
    if kind in (_GAUSSIAN, _UNIFORM):
        for size, f in zip(sizes, _frequencies(x.shape, n, axis), strict=True):
            y = y * (np.exp(-2 * (pi * size * f) ** 2) if kind == _GAUSSIAN else np.sinc(size * f))
    else:
        if isinstance(sizes, Tracer):
            raise NotDifferentiableError(
                f"fourier_ellipsoid was given a traced size at {user_location()}: its factor is "
                "compiled. Keep the size out of the differentiated arguments."
            )
        factor = np.empty(x.shape)
        place(_COMPILED, "fourier_filter")(np.ones(x.shape), sizes, n, axis, factor, kind)
        y = y * factor
    write(output, y)


@covers(_COMPILED)
def fourier_shift(x: Any, shifts: Any, n: int, axis: int, output: Any) -> None:
    """Multiply by exp(-2πi Σ s_k·f_k)."""
    terms = zip(shifts, _frequencies(x.shape, n, axis), strict=True)
    phase: Any = sum(shift * f for shift, f in terms)
    write(output, x * np.exp(-2j * pi * phase))


borrow_functions("scipy.ndimage", "fourier_gaussian fourier_uniform fourier_shift")
borrow_functions("scipy.ndimage", "fourier_ellipsoid", note="By the image.")
