"""``np.fft``: discrete Fourier transforms, one axis after the other in NumPy's own order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import index as as_int
from typing import Any, TypeAlias

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.memory import mutation
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.products import fourier as ops
from funcdiff.ops.structure.structural import convert

Transform: TypeAlias = Callable[[Tracer, ops.Fourier], Tracer]


def _norm(norm: Any) -> str:
    """Return the name of a norm, of which None is "backward"."""
    if norm is None:
        return "backward"
    if norm not in tuple(ops.OPPOSITE):
        raise ValueError(
            f'Invalid norm value {norm}; should be "backward", "ortho" or "forward", '
            f"at {user_location()}"
        )
    return str(norm)


def _along(
    name: str,
    transform: Transform,
    a: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    out: Any = None,
) -> Traced:
    """Transform one axis; without `n`, all of it, and `irfft` gives an even number of points."""
    x = array(a)
    along = normalize_axis(axis, x.ndim)
    length = x.shape[along]
    whole = 2 * (length - 1) if transform is ops.irfft else length
    points = whole if n is None else as_int(n)
    if points < 1:
        raise ValueError(
            f"Invalid number of FFT data points ({points}) specified, in {name} of an array of "
            f"shape {x.shape} along axis {along}"
        )
    if transform is ops.rfft and x.dtype.kind == "c":
        raise TypeError(
            f"{name} takes real numbers, not {x.dtype}, at {user_location()}. Use np.fft.fft, or "
            "the real part, x.real."
        )
    real = convert(x, FLOAT) if x.dtype.kind in "biu" else x
    return mutation.store(name, transform(real, ops.Fourier(points, along, _norm(norm))), out)


def _enter(name: str, transform: Transform, doc: str) -> None:
    ours: Any = partial(_along, f"np.fft.{name}", transform)
    ours.__name__, ours.__doc__ = _along.__name__, doc
    implements(getattr(np.fft, name))(ours)


_enter("fft", ops.fft, "Return the discrete Fourier transform along an axis.")
_enter("ifft", ops.ifft, "Return the inverse transform along an axis.")
_enter("rfft", ops.rfft, "Return the frequencies that are not negative of real numbers.")
_enter("irfft", ops.irfft, "Return the real numbers that have these frequencies.")
