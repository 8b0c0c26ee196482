"""``np.fft``: discrete Fourier transforms, one axis after the other in NumPy's own order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from operator import index as as_int
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements, unsupported
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.memory import mutation
from funcdiff.numpy.shapes.arranging import roll
from funcdiff.numpy.shapes.shape import as_ints, normalized_axis
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.products import fourier as ops
from funcdiff.ops.structure.structural import convert

Transform: TypeAlias = Callable[[Tracer, ops.Fourier], Tracer]


class Step(NamedTuple):
    """One transform of several: an axis, and the number of points, None for the default."""

    points: int | None
    axis: int


# ---- one axis ----------------------------------------------------------------------------------


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
    name: str, transform: Transform, a: Any, n: Any, axis: Any, norm: Any, out: Any = None
) -> Traced:
    """Transform one axis; without `n`, all of it, and `irfft` gives an even number of points."""
    x = array(a)
    along = normalized_axis(axis, x.ndim)
    length = x.shape[along]
    whole = 2 * (length - 1) if transform is ops.irfft else length
    points = whole if n is None else as_int(n)
    if points < 1:
        raise ValueError(
            f"Invalid number of FFT data points ({points}) specified, in {name} of an array of "
            f"shape {x.shape} along axis {along}, at {user_location()}"
        )
    if transform is ops.rfft and x.dtype.kind == "c":
        raise TypeError(
            f"{name} takes real numbers, not {x.dtype}, at {user_location()}. Use np.fft.fft, or "
            "the real part, x.real."
        )
    real = convert(x, FLOAT) if x.dtype.kind in "biu" else x
    return mutation.store(name, transform(real, ops.Fourier(points, along, _norm(norm))), out)


def _refuse_out(name: str, out: Any) -> None:
    """Refuse ``out=`` where NumPy takes it and does not write to it."""
    if out is not None:
        raise unsupported(
            f"{name}(out=)", f"NumPy itself does not write to it; write out[...] = {name}(a)."
        )


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Traced:
    """Return the discrete Fourier transform along an axis."""
    return _along("np.fft.fft", ops.fft, a, n, axis, norm, out)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Traced:
    """Return the inverse transform along an axis."""
    return _along("np.fft.ifft", ops.ifft, a, n, axis, norm, out)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Traced:
    """Return the frequencies that are not negative of the transform of real numbers."""
    return _along("np.fft.rfft", ops.rfft, a, n, axis, norm, out)


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Traced:
    """Return the real numbers that have these frequencies."""
    return _along("np.fft.irfft", ops.irfft, a, n, axis, norm, out)


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Traced:
    """Return the real spectrum of a signal with Hermitian symmetry, given by its first half."""
    _refuse_out("np.fft.hfft", out)
    signal = conj(array(a))
    return _along("np.fft.hfft", ops.irfft, signal, n, axis, ops.OPPOSITE[_norm(norm)])


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Traced:
    """Return the first half of the signal that has this real spectrum."""
    signal = _along("np.fft.ihfft", ops.rfft, a, n, axis, ops.OPPOSITE[_norm(norm)])
    return mutation.store("np.fft.ihfft", conj(signal), out)


# ---- several axes ------------------------------------------------------------------------------


def _sequence(name: str, keyword: str, value: Any) -> Sequence[Any]:
    if not np.iterable(value):
        raise TypeError(
            f"{name}: {keyword} is a sequence of integers, not {value!r}, at {user_location()}"
        )
    return list(value)


def _warn_deprecated(name: str, what: str, instead: str) -> None:
    warnings.warn(
        f"{name}: {what} is deprecated since NumPy 2.0, at {user_location()}. {instead}",
        DeprecationWarning,
        stacklevel=2,
    )


def _steps(name: str, x: Tracer, s: Any, axes: Any) -> list[Step]:
    """Return the numbers of points `s` and their axes; both may be left out, or stand at -1."""
    if s is None:
        along = range(x.ndim) if axes is None else _sequence(name, "axes", axes)
        positions = [normalized_axis(axis, x.ndim) for axis in along]
        return [Step(x.shape[axis], axis) for axis in positions]
    counts = _sequence(name, "s", s)
    if axes is None:
        _warn_deprecated(name, "s= without axes=", f"Say axes={tuple(range(len(counts)))}.")
        axes = range(-len(counts), 0)
    positions = [normalized_axis(axis, x.ndim) for axis in _sequence(name, "axes", axes)]
    if len(counts) != len(positions):
        raise ValueError(f"{name}: Shape and axes have different lengths, at {user_location()}")
    if None in counts:
        _warn_deprecated(name, "None in s=", "Say -1 for the length that the axis has.")
    return [
        Step(n if n is None else x.shape[axis] if n == -1 else as_int(n), axis)
        for n, axis in zip(counts, positions, strict=True)
    ]


def _check_any(name: str, steps: Sequence[Step]) -> None:
    if not steps:
        raise IndexError(f"{name} needs an axis to transform, at {user_location()}")


def _over(
    name: str, transform: Transform, a: Any, s: Any, axes: Any, norm: Any, out: Any = None
) -> Traced:
    """Transform the last of the axes first; of no axes, return the array itself."""
    x = array(a)
    for n, axis in reversed(_steps(name, x, s, axes)):
        x = _along(name, transform, x, n, axis, norm, out)
    return x


def _over_real(name: str, a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Traced:
    """Transform the last of the axes by `rfft`, then the others, backwards, by `fft`."""
    x = array(a)
    steps = _steps(name, x, s, axes)
    _check_any(name, steps)
    for k, (n, axis) in enumerate(reversed(steps)):
        x = _along(name, ops.fft if k else ops.rfft, x, n, axis, norm, out)
    return x


def _over_half(name: str, a: Any, s: Any, axes: Any, norm: Any, out: Any = None) -> Traced:
    """Transform the axes by `ifft`, from first to last, but the last one by `irfft`."""
    x = array(a)
    steps = _steps(name, x, s, axes)
    _check_any(name, steps)
    for n, axis in steps[:-1]:
        x = _along(name, ops.ifft, x, n, axis, norm)
    n, axis = steps[-1]
    return _along(name, ops.irfft, x, None if s is None else n, axis, norm, out)


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Traced:
    """Return the transform over several axes, by default all."""
    return _over("np.fft.fftn", ops.fft, a, s, axes, norm, out)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Traced:
    """Return the inverse transform over several axes, by default all."""
    return _over("np.fft.ifftn", ops.ifft, a, s, axes, norm, out)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Traced:
    """Return the transform of real numbers over several axes, half of it along the last."""
    return _over_real("np.fft.rfftn", a, s, axes, norm, out)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Traced:
    """Return the real numbers of which `rfftn` gives this."""
    return _over_half("np.fft.irfftn", a, s, axes, norm, out)


_PLANE: Final = (-2, -1)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = _PLANE, norm: Any = None, out: Any = None) -> Traced:
    """Return the transform over the last two axes."""
    return _over("np.fft.fft2", ops.fft, a, s, axes, norm, out)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = _PLANE, norm: Any = None, out: Any = None) -> Traced:
    """Return the inverse transform over the last two axes."""
    _refuse_out("np.fft.ifft2", out)
    return _over("np.fft.ifft2", ops.ifft, a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = _PLANE, norm: Any = None, out: Any = None) -> Traced:
    """Return the transform of real numbers over the last two axes, half of it along the last."""
    return _over_real("np.fft.rfft2", a, s, axes, norm, out)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = _PLANE, norm: Any = None, out: Any = None) -> Traced:
    """Return the real numbers of which `rfft2` gives this."""
    _refuse_out("np.fft.irfft2", out)
    return _over_half("np.fft.irfft2", a, s, axes, norm)


# ---- the order of frequencies ------------------------------------------------------------------


def _halves(x: Tracer, axes: Any, sign: int) -> Traced:
    """Shift axes, by default all, by half their lengths."""
    every = range(x.ndim) if axes is None else as_ints(axes)
    along = tuple(normalized_axis(axis, x.ndim) for axis in every)
    return roll(x, tuple(sign * (x.shape[axis] // 2) for axis in along), along)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Traced:
    """Move the frequency zero to the middle."""
    return _halves(array(x), axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Traced:
    """Move the frequency zero from the middle to the front."""
    return _halves(array(x), axes, -1)
