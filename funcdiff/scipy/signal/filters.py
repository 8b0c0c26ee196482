"""Filters: linear recursions and combs.

``a * y = b * x + zi`` in the ring of sequences, in which `zi` is what SciPy's transposed direct
form starts with; what is left behind the last sample is the state that it ends with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.border.values import value_of
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.covered import covers, load
from funcdiff.scipy.primitives.signal.recursion import convolve_causally, recursion
from funcdiff.scipy.signal.transfer_functions import without_leading_zeros


@covers("scipy.signal")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: ``Σ a[k]·y[n-k] = Σ b[k]·x[n-k]``.

    Linear in `x` and `zi`, differentiable in `b` and `a`; derivatives are again such filters, and
    the transpose runs backwards.

    References
    ----------
    A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing", 3rd edition, Prentice Hall
    2010, section 6.3.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import signal
    >>> impulse = np.array([1.0, 0.0, 0.0, 0.0])
    >>> print(fd.jvp(lambda a: signal.lfilter([1.0], [1.0, a], impulse), (-0.5,), (-1.0,))[1])
    [0.   1.   1.   0.75]
    """
    b, a, x, *state = _floating("lfilter", b, a, x, *([] if zi is None else [zi]))
    for name, polynomial in (("b", b), ("a", a)):
        if polynomial.ndim > 1 or not polynomial.size:
            raise ValueError(
                f"Parameter {name} is not a non-empty 1d array, since "
                f"{name}.shape={polynomial.shape}, at {user_location()}!"
            )
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    if x.ndim == 0:
        raise ValueError(f"x must be at least 1-D, at {user_location()}")
    order = max(len(a), len(b)) - 1
    moved = np.moveaxis(x, axis, -1)
    if not state:
        return np.moveaxis(_filter(b, a, moved, None)[0], -1, axis)
    start = state[0]
    expected = (*moved.shape[:-1], order)
    if start.ndim != x.ndim or not _broadcasts(np.moveaxis(start, axis, -1).shape, expected):
        raise ValueError(
            f"Unexpected shape for parameter zi: expected {expected} with the last axis at {axis}, "
            f"found {start.shape}, at {user_location()}."
        )
    y, end = _filter(b, a, moved, np.broadcast_to(np.moveaxis(start, axis, -1), expected))
    return np.moveaxis(y, -1, axis), np.moveaxis(end, -1, axis)


@covers("scipy.signal._signaltools")  # by which others of that module call it
@covers("scipy.signal")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis by second-order sections, one `lfilter` after the other.

    Linear in `x` and `zi`, differentiable in `sos`.
    """
    sos, x, *state = _floating("sosfilt", sos, x, *([] if zi is None else [zi]))
    if sos.ndim > 2 or np.atleast_2d(sos).shape[1] != 6:
        raise ValueError(f"sos array must be shape (n_sections, 6), at {user_location()}")
    sections = np.atleast_2d(sos)
    y = np.moveaxis(x, axis, -1)
    if not state:
        for section in sections:
            y = _filter(section[:3], section[3:], y, None)[0]
        return np.moveaxis(y, -1, axis)
    expected = [len(sections), *x.shape]
    expected[1 + axis % x.ndim] = 2
    if state[0].shape != tuple(expected):
        raise ValueError(
            f"Invalid zi shape. With axis={axis!r}, an input with shape {x.shape}, and an sos "
            f"array with {len(sections)} sections, zi must have shape {tuple(expected)}, got "
            f"{state[0].shape}, at {user_location()}."
        )
    ends = []
    for section, start in zip(sections, np.moveaxis(state[0], 1 + axis % x.ndim, -1), strict=True):
        y, end = _filter(section[:3], section[3:], y, start)
        ends.append(np.moveaxis(end, -1, axis))
    return np.moveaxis(y, -1, axis), np.stack(ends)


def _floating(name: str, *operands: Any) -> list[Any]:
    """Return arrays in their common dtype, of those that SciPy's filters know."""
    xs = [array(x) for x in operands]
    dtype = np.result_type(*(x.dtype for x in xs))
    if dtype.char not in "fdFD":
        raise NotImplementedError(f"input type '{dtype}' not supported, at {user_location()}")
    return [convert(x, dtype) for x in xs]


def _broadcasts(shape: Sequence[int], expected: Sequence[int]) -> bool:
    pairs = zip(shape[:-1], expected[:-1], strict=True)
    return shape[-1] == expected[-1] and all(n in (1, m) for n, m in pairs)


def _filter(b: Any, a: Any, x: Any, start: Any) -> tuple[Traced, Any]:
    """Filter along the last axis, and return the final state if there is an initial one."""
    b, a = b / a[0], a[1:] / a[0]
    length, order = x.shape[-1], max(len(a), len(b) - 1)
    if start is None:
        return recursion(a, _sums(b, x, 0, length)), None
    source: Any = _sums(b, x, 0, length + order)
    source = np.concatenate([source[..., :order] + start, source[..., order:]], -1)
    y: Any = recursion(a, array(source[..., :length]))
    return y, source[..., length:] - _sums(a, y, 1 - length, order)


def _sums(c: Any, x: Any, lag: int, length: int) -> Tracer:
    return convolve_causally(array(c), array(x), lag, length)


@covers("scipy.signal")
def lfilter_zi(b: Any, a: Any) -> Any:
    """Return the state in which `lfilter` stays if its input is 1 throughout.

    It solves ``(I - A)·zi = b[1:] - a[1:]·b[0]`` with the companion matrix, transposed, for A, and
    is differentiable in `b` and `a`, also where ``a[0] = 1``.
    """
    b, a = (np.atleast_1d(x) for x in _floating("lfilter_zi", b, a))
    for name, polynomial in (("Numerator b", b), ("Denominator a", a)):
        if polynomial.ndim != 1:
            raise ValueError(f"{name} must be 1-D, at {user_location()}.")
    a = without_leading_zeros(a)
    order = max(len(a), len(b))
    b, a = (np.pad(x / a[0], (0, order - len(x))) for x in (b, a))
    matrix = np.eye(order - 1) - np.eye(order - 1, k=1)
    first = (np.arange(order - 1) == 0).astype(a.dtype)
    return np.linalg.solve(matrix.astype(a.dtype) + a[1:, None] * first, b[1:] - a[1:] * b[0])


@covers("scipy.signal")
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Return the state of `lfilter` behind these outputs and inputs, the latest first.

    ``zi[m] = Σ_k b[m+1+k]·x[k] - a[m+1+k]·y[k]``, over ``a[0]``: differentiable in all of them.
    """
    b, a, y, *rest = _floating("lfiltic", b, a, y, *([] if x is None else [x]))
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    for name, polynomial in (("b", b), ("a", a)):
        if polynomial.ndim > 1:
            raise ValueError(f"Filter coefficients `{name}` must be 1-D, at {user_location()}.")
    order = max(len(a), len(b)) - 1

    def sums(c: Any, past: Any) -> Any:
        # an entry stands for lag k, where it meets the coefficients from k + 1 on
        found = np.zeros(order, a.dtype)
        for k in range(min(len(past), len(c) - 1)):
            found = found + np.pad(c[k + 1 :], (0, order - len(c) + k + 1)) * past[k]
        return found

    return (sums(b, rest[0] if rest else ()) - sums(a, y)) / a[0]


# ---- Comb filters, of few coefficients among many zeros ------------------------------------------


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
