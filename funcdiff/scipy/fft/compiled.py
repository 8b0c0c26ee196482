"""The compiled functions under ``scipy.fft``, as transforms of one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.covered import covers, holds_traced, load, table
from funcdiff.scipy.primitives.signal.cosine import Cosine, transform

_COMPILED: Final = "scipy.fft._duccfft.pyduccfft"
_NORMS: Final[tuple[Any, ...]] = ("backward", "ortho", "forward")
"""What the compiled functions divide the sum by: 1, √N and N."""


def _along(function: Callable[..., Any], a: Any, axes: Sequence[int], norm: str) -> Any:
    for axis in axes:
        a = function(a, axis=axis, norm=norm)
    return a


def _inverse(inorm: int) -> Any:
    """Return NumPy's name for how an inverse transform is scaled."""
    return _NORMS[2 - inorm]


@covers(_COMPILED, "c2c")
def _complex(
    a: Any, axes: Sequence[int], forward: bool, inorm: int, _out: Any = None, _workers: Any = None
) -> Any:
    if forward:
        return _along(np.fft.fft, a, axes, _NORMS[inorm])
    return _along(np.fft.ifft, a, axes, _inverse(inorm))


@covers(_COMPILED, "r2c")
def _half_spectrum(
    a: Any, axes: Sequence[int], forward: bool, inorm: int, _out: Any = None, _workers: Any = None
) -> Any:
    *others, last = axes
    half = _along(np.fft.fft, np.fft.rfft(a, axis=last, norm=_NORMS[inorm]), others, _NORMS[inorm])
    return half if forward else np.conj(half)


@covers(_COMPILED, "c2r")
def _from_half_spectrum(
    a: Any,
    axes: Sequence[int],
    lastsize: int,
    forward: bool,
    inorm: int,
    _out: Any = None,
    _workers: Any = None,
) -> Any:
    *others, last = axes
    whole = _along(np.fft.ifft, np.conj(a) if forward else a, others, _inverse(inorm))
    return np.fft.irfft(whole, lastsize, last, _inverse(inorm))


@covers("scipy.fft._duccfft.helper", "_asfarray")
def _floating(x: Any) -> Traced:
    kind = np.float32 if x.dtype == np.float16 else x.dtype if x.dtype.kind in "fc" else float
    return convert(array(x), np.dtype(kind))


@covers("scipy.fft._duccfft.helper", "_datacopied")
def _is_copy(_x: Any, _original: Any) -> bool:
    return False  # a traced array stands for a value: nothing is gained by overwriting it


def _enter(name: str) -> None:
    def ours(
        a: Any, type: int, axes: Sequence[int], inorm: int, out: Any, _workers: Any,
        ortho: bool | None = None,
    ) -> Any:  # fmt: skip
        # SciPy has the real and the imaginary part of a complex array written into `out`
        x = array(a)
        orthogonal = inorm == 1 if ortho is None else bool(ortho)
        for axis in axes:
            along = normalize_axis(axis, x.ndim)
            if type not in (1, 2, 3, 4):
                raise ValueError("invalid DCT type" if name == "dct" else "invalid DST type")
            x = transform(x, Cosine(name, int(type), along, _NORMS[inorm], orthogonal))
        if out is None:
            return x
        out[...] = x
        return out

    covers(_COMPILED, name)(ours)


_enter("dct")
_enter("dst")


# ---- How plain ``scipy.fft`` reaches traced arrays: a backend that answers for them alone --------
#
# The functions of ``scipy.fft`` ask backends, in the protocol of uarray, before they compute. Ours
# is registered by the first trace that finds ``scipy.fft`` imported. It declines every call without
# a traced argument, within a microsecond, and backends that the user sets are asked before it.


class TracedBackend:
    """A backend of ``scipy.fft`` for traced arrays."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        ours = table["scipy.fft"].get(method.__name__)
        if ours is None or not (holds_traced(args) or holds_traced(kwargs)):
            return NotImplemented
        return ours(*args, **kwargs)


load("scipy.fft").register_backend(TracedBackend)
