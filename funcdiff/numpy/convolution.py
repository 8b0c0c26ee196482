"""Convolution and correlation: sums over shifted copies."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import array, promote_arrays
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.products.convolution import convolve as linear_convolution
from funcdiff.ops.products.convolution import sequences
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import slice_along

_MODES: Final = ("full", "same", "valid")


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Tracer:
    """Return the convolution of two vectors: ``out[n] = Σ_k a[n-k] v[k]``."""
    x, y = _vectors("np.convolve", np.atleast_1d(array(a)), np.atleast_1d(array(v)), mode)
    return _convolve(x, y, mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Tracer:
    """Return the correlation of two vectors: ``out[n] = Σ_k a[n+k] conj(v[k])``."""
    x, y = _vectors("np.correlate", a, v, mode)
    y = conj(y)
    if x.shape[0] >= y.shape[0]:
        return _convolve(x, ops.reverse(y, (0,)), mode)
    return ops.reverse(_convolve(y, ops.reverse(x, (0,)), mode), (0,))


def _vectors(name: str, a: Any, v: Any, mode: Any) -> list[Tracer]:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {_MODES}, not {mode!r}")
    vectors = promote_arrays(a, v)
    for what, x in zip("av", vectors, strict=True):
        if x.ndim != 1:
            raise ValueError(f"{name}: {what} has {x.ndim} axes, but must be a vector")
        if x.type.size == 0:
            raise ValueError(f"{name}: {what} cannot be empty")
    return vectors


def _convolve(x: Tracer, y: Tracer, mode: str) -> Tracer:
    """Convolve; "same" is the middle of the full convolution, as long as the longer vector.

    Of an even overhang, NumPy cuts one element more at the end.
    """
    p = sequences(x.type, y.type, full=mode != "valid")
    result = linear_convolution(x, y, p)
    if mode != "same":
        return result
    long, short = max(x.shape[0], y.shape[0]), min(x.shape[0], y.shape[0])
    return slice_along(result, 0, (short - 1) // 2, (short - 1) // 2 + long)
