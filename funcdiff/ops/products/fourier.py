"""Discrete Fourier transforms along one axis: NumPy's own four, each the transpose of another.

With N points, P the cropping or padding of the operand to N elements, and c the scale of a norm:

- `fft` and `ifft` are ``c·F·P`` with the symmetric matrix ``F[k, j] = exp(∓2πi·jk/N)``.  The
  transpose is ``Pᵀ·c·F``: the same transform, and then the cropping or padding back.
- `rfft` keeps the first ``N//2 + 1`` rows of ``F``, for a real operand.
- `irfft` is ``y_j = c·Re Σ_k w_k·x_k·exp(2πi·jk/N)``, in which ``w_k`` counts how often frequency
  k stands in a whole spectrum: once for the mean (k = 0) and, of an even N, for the highest
  frequency (k = N/2, Nyquist's), twice for those between.  The imaginary parts of these two ends
  drop out, and their cotangents are zero.

The last two are transposes of one another but for the weights and for conjugation: the cotangent
of `rfft` is `irfft` of ``conj(ct)/w``, that of `irfft` is ``conj(w·rfft(ct))``.  As a norm tells
which of the two directions is scaled, it swaps its meaning.

References
----------
W. L. Briggs, V. E. Henson, "The DFT: An Owner's Manual for the Discrete Fourier Transform", SIAM
1995, sections 2.1 (symmetry of F), 3.1 and 4.3 (spectra of real sequences).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from funcdiff.core.access import along
from funcdiff.core.primitive import Params, Primitive, Tangents, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, complex_dtype, real_dtype
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.families import linear
from funcdiff.ops.structure.slicing import Slice, add_slice, slice_along
from funcdiff.ops.structure.structural import concatenate, convert
from funcdiff.space import broadcast, mul, zeros

OPPOSITE: Final = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm that scales the inverse of a transform as the given one scales the transform."""


class Fourier(Params):
    """The number of points, the axis, and the norm: a key of `OPPOSITE`."""

    points: int
    axis: int
    norm: str


def _opposite(p: Fourier) -> Fourier:
    return replace(p, norm=OPPOSITE[p.norm])


def _abstract(name: str, p: Fourier, x: ArrayType, kinds: str, length: int) -> ArrayType:
    """Check the operand, and give it another length along the axis."""
    if x.dtype.kind not in kinds or not 0 <= p.axis < x.ndim or p.points < 1:
        raise TypeError(f"there is no {name} of {p.points} points along axis {p.axis} of {x}")
    return x.with_shape((*x.shape[: p.axis], length, *x.shape[p.axis + 1 :]))


def _transform(
    name: str,
    abstract: Callable[[Fourier, ArrayType], ArrayType],
    transpose: Callable[[Fourier, Tracer], Tracer],
) -> Primitive[Fourier]:
    """Declare a transform of NumPy's by its name, its type, and its transpose without ``Pᵀ``."""
    function: Callable[..., Any] = getattr(np.fft, name)

    def pull_back(p: Fourier, types: Types, cts: Sequence[Any], _xs: Tangents) -> list[Tracer]:
        whole = convert(transpose(p, cts[0]), types[0].dtype)
        return [_resize(whole, p.axis, types[0].shape[p.axis])]

    return linear(
        name,
        Fourier,
        abstract=lambda p, x: (abstract(p, x),),
        impl=lambda p: lambda x: function(x, p.points, p.axis, p.norm),
        transpose=pull_back,
        access=along,
    )


def _resize(x: Tracer, axis: int, length: int) -> Tracer:
    """Crop or pad with zeros at the end of an axis."""
    if length <= x.shape[axis]:
        return slice_along(x, axis, 0, length)
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    box = Slice((0,) * x.ndim, x.shape, (1,) * x.ndim)
    return add_slice(zeros(x.type.with_shape(shape)), x, box)


# ---- complex to complex ------------------------------------------------------------------------


def _abstract_fft(p: Fourier, x: ArrayType) -> ArrayType:
    return _abstract("fft", p, x, "fc", p.points).with_dtype(complex_dtype(x.dtype))


fft_p: Final = _transform("fft", _abstract_fft, lambda p, ct: fft(ct, p))
ifft_p: Final = _transform("ifft", _abstract_fft, lambda p, ct: ifft(ct, p))


def fft(x: Tracer, p: Fourier) -> Tracer:
    """Return ``c·Σ_j x_j·exp(-2πi·jk/N)`` for every frequency k, of a real or complex array."""
    return bind(fft_p, p, x)[0]


def ifft(x: Tracer, p: Fourier) -> Tracer:
    """Return ``c·Σ_k x_k·exp(2πi·jk/N)`` for every j, of a real or complex array."""
    return bind(ifft_p, p, x)[0]


# ---- between real sequences and halves of spectra ------------------------------------------------


def _weigh(x: Tracer, p: Fourier, weight: float) -> Tracer:
    """Multiply the frequencies that stand twice in a whole spectrum by a weight."""
    twice = (p.points - 1) // 2
    factors = [
        constant(value, ArrayType((count,), x.dtype))
        for value, count in ((1, 1), (weight, twice), (1, p.points // 2 - twice))
    ]
    return mul(x, broadcast(concatenate(factors, 0), x.shape, (p.axis,)))


def _abstract_rfft(p: Fourier, x: ArrayType) -> ArrayType:
    half = _abstract("rfft", p, x, "f", p.points // 2 + 1)
    return half.with_dtype(complex_dtype(x.dtype))


rfft_p: Final = _transform(
    "rfft", _abstract_rfft, lambda p, ct: irfft(_weigh(conj(ct), p, 0.5), _opposite(p))
)
irfft_p: Final = _transform(
    "irfft",
    lambda p, x: _abstract("irfft", p, x, "fc", p.points).with_dtype(real_dtype(x.dtype)),
    lambda p, ct: conj(_weigh(rfft(ct, _opposite(p)), p, 2)),
)


def rfft(x: Tracer, p: Fourier) -> Tracer:
    """Return the frequencies 0 to N//2 of `fft`, of a real array."""
    return bind(rfft_p, p, x)[0]


def irfft(x: Tracer, p: Fourier) -> Tracer:
    """Return the N real numbers of which `x` is half the spectrum."""
    return bind(irfft_p, p, x)[0]
