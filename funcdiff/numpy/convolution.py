"""Convolution, correlation and polynomials in a point: sums over shifted or scaled copies."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.arithmetic import conjugate
from funcdiff.numpy.creation import zeros_like
from funcdiff.numpy.dispatch import implements
from funcdiff.numpy.promotion import array, promoted
from funcdiff.ops import structural as ops
from funcdiff.ops.contract import contract
from funcdiff.ops.slicing import slice_along
from funcdiff.space import broadcast, zeros

_MODES: Final = ("full", "same", "valid")


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Tracer:
    """Return the convolution of two vectors: ``out[n] = Σ_k a[n-k] v[k]``."""
    x, y = _vectors("np.convolve", a, v, mode)
    long, short = (x, y) if x.shape[0] >= y.shape[0] else (y, x)
    return _cut(_full(long, short), long.shape[0], short.shape[0], mode, late=False)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Tracer:
    """Return the correlation of two vectors: ``out[n] = Σ_k a[n+k] conj(v[k])``."""
    x, y = _vectors("np.correlate", a, v, mode)
    y = ops.reverse(conjugate(y), (0,))
    swapped = x.shape[0] < y.shape[0]
    long, short = (y, x) if swapped else (x, y)
    return _cut(_full(long, short), long.shape[0], short.shape[0], mode, late=swapped)


def _vectors(name: str, a: Any, v: Any, mode: Any) -> list[Tracer]:
    if mode not in _MODES:
        raise ValueError(
            f"{name}: mode must be one of {_MODES}, not {mode!r}, at {user_location()}"
        )
    vectors = [x if x.ndim else ops.reshape(x, (1,)) for x in promoted(a, v)]
    for what, x in zip("av", vectors, strict=True):
        if x.ndim != 1:
            raise ValueError(
                f"{name}: object too deep, {what} must be a vector, at {user_location()}"
            )
        if x.type.size == 0:
            raise ValueError(f"{name}: {what} cannot be empty, at {user_location()}")
    return vectors


def _full(x: Tracer, y: Tracer) -> Tracer:
    """Multiply by the Toeplitz matrix whose row k is `x` shifted by k.

    That matrix is made without index arrays: rows of `x` and zeros, laid end to end, are cut
    again into rows one element shorter.
    """
    (n,), (m,) = x.shape, y.shape
    length = n + m - 1
    padded = ops.concatenate([x, zeros(x.type.with_shape((m,)))], 0)
    rows = ops.reshape(broadcast(padded, (m, length + 1), (1,)), (m * (length + 1),))
    toeplitz = ops.reshape(slice_along(rows, 0, 0, m * length), (m, length))
    return contract(y, toeplitz, (0,), (0, 1), (1,))


def _cut(full: Tracer, long: int, short: int, mode: str, *, late: bool) -> Tracer:
    """Take the part of a full convolution that a mode wants.

    Of an even overhang, NumPy cuts one element more at the end, or (`late`) at the beginning.
    """
    if mode == "full":
        return full
    if mode == "valid":
        return slice_along(full, 0, short - 1, long)
    start = short // 2 if late else (short - 1) // 2
    return slice_along(full, 0, start, start + long)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Return the polynomial with coefficients `p`, highest first, in `x`, by Horner's rule."""
    if isinstance(x, np.poly1d):
        raise TypeError(f"np.polyval of a poly1d is not supported, at {user_location()}")
    coefficients, point = array(p), array(x)
    value = zeros_like(point)
    for k in range(coefficients.shape[0]):
        value = value * point + coefficients[k]
    return value
