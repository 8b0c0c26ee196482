"""The compiled convolutions under ``scipy.signal``, as one operation: direct, in several axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.ops.products.convolution import Convolution, convolve
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.covered import covers

_SIGTOOLS: Final = "scipy.signal._sigtools"
_VALID, _SAME, _FULL = 0, 1, 2
_PADDINGS: Final = {1: "symmetric", 2: "wrap"}


def slide(
    x: Any,
    y: Any,
    steps: Sequence[tuple[int, int, int]],
    offsets: Sequence[int],
    lengths: Sequence[int],
    stack: int = 0,
) -> Traced:
    """Return the sums of products with ``a·q + b·t = c·p + o``, as `Convolution` has them.

    The first `stack` axes of `y` are labels that `x` does not have.
    """
    dtype = np.result_type(array(x).dtype, array(y).dtype)
    labels = tuple(range(stack))
    p = Convolution((), labels, labels, tuple(steps), tuple(offsets), tuple(lengths))
    return convolve(convert(array(x), dtype), convert(array(y), dtype), p)


@covers(_SIGTOOLS, "_correlateND")
def _correlate(x: Any, y: Any, out: Any, mode: int) -> Traced:
    """Return Σ_t x[p + t + o]·conj(y[t]); `x` has zeros behind it, unless the mode is valid."""
    overhang = [0 if mode == _VALID else m - 1 for m in y.shape]
    offsets = [k // 2 - k if mode == _SAME else -k for k in overhang]
    return slide(x, np.conj(y), [(1, -1, 1)] * x.ndim, offsets, out.shape)


@covers(_SIGTOOLS, "_convolve2d")
def _convolve2d(x: Any, y: Any, turned: int, mode: int, boundary: int, fill: Any) -> Traced:
    """Convolve, or correlate if it is not turned, an image that is continued at its boundary."""
    if np.size(fill) != 1:
        raise ValueError(f"could not cast fillvalue to a scalar, at {user_location()}")
    padding = _PADDINGS.get(boundary >> 2)
    margins = [m - 1 for m in y.shape]
    pairs = [(k, k) for k in margins]
    if padding is not None:
        x = np.pad(x, pairs, padding)  # type: ignore[call-overload]
    else:
        dtype = np.result_type(array(x).dtype, array(y).dtype)
        x = convert(array(x), dtype)
        x = np.pad(x, pairs, constant_values=fill)
    inner = [n - 2 * k for n, k in zip(x.shape, margins, strict=True)]
    if mode == _FULL:
        starts, lengths = [0, 0], [n + k for n, k in zip(inner, margins, strict=True)]
    elif mode == _SAME:
        starts, lengths = [k // 2 if turned else k - k // 2 for k in margins], inner
    else:
        starts, lengths = margins, [n - k for n, k in zip(inner, margins, strict=True)]
    if turned:
        places = [k + start for k, start in zip(margins, starts, strict=True)]
        return slide(x, y, [(1, 1, 1)] * 2, places, lengths)
    return slide(x, y, [(1, -1, 1)] * 2, starts, lengths)


@covers("scipy.signal")
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
    cval: Any = 0,
) -> Traced:  # fmt: skip
    """Return every `down`-th sample of `x`, spread by `up` and convolved with `h`.

    ``y[p] = Σ h[t]·x[q]`` over ``up·q + t = down·p``: linear in `x` and in `h`, as one convolution
    with steps, whose transposes are such convolutions with their steps exchanged.
    """
    h, x = array(h), array(x)
    if h.ndim != 1 or h.size == 0:
        raise ValueError(f"h must be 1-D with non-zero length, at {user_location()}")
    up, down = int(up), int(down)
    if up < 1 or down < 1:
        raise ValueError(f"Both up and down must be >= 1, at {user_location()}")
    dtype = np.result_type(h.dtype, x.dtype, np.float32)
    samples: Any = convert(x, dtype)
    moved = np.moveaxis(samples, axis, -1)
    n = moved.shape[-1]
    length = ((n - 1) * up + len(h) - 1) // down + 1
    offset = 0
    if mode.lower() != "constant" or np.any(cval != 0):
        before, behind = -(-(len(h) - 1) // up), max(0, (length - 1) * down // up - (n - 1))
        moved, offset = _extend(moved, before, behind, mode.lower(), cval), up * before
    y: Any = slide(convert(h, dtype), moved, [(1, up, down)], [offset], [length], moved.ndim - 1)
    found: Traced = np.moveaxis(y, -1, axis)
    return found


_AS_NUMPY: Final[dict[str, dict[str, Any]]] = {
    "symmetric": {"mode": "symmetric"},
    "reflect": {"mode": "reflect"},
    "edge": {"mode": "edge"},
    "wrap": {"mode": "wrap"},
    "antireflect": {"mode": "reflect", "reflect_type": "odd"},
}


def _extend(x: Any, before: int, behind: int, mode: str, cval: Any) -> Any:
    """Continue sequences along the last axis."""
    width = [(0, 0)] * (x.ndim - 1) + [(before, behind)]
    if mode == "constant":
        return np.pad(x, width, constant_values=cval)
    if mode in _AS_NUMPY:
        return np.pad(x, width, **_AS_NUMPY[mode])
    n = x.shape[-1]
    places = np.arange(-before, n + behind)
    if mode == "antisymmetric":
        return np.pad(x, width, "symmetric") * np.where(places // n % 2, -1, 1).astype(x.dtype)
    if mode not in ("smooth", "line"):
        raise ValueError(f"Unknown mode: {mode}, at {user_location()}")
    first, last = x[..., :1], x[..., -1:]
    if mode == "line":
        left = right = (last - first) / max(1, n - 1)
    else:
        left, right = x[..., 1:2] - first, last - x[..., -2:-1]
    ahead = first + places[:before].astype(x.dtype) * left
    after = last + np.arange(1, behind + 1).astype(x.dtype) * right
    return np.concatenate([ahead, x, after], -1)


@covers("scipy.signal")
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Traced:
    """Convolve an image with a row and a column, mirrored at its edges: linear in all three."""
    x: Any = array(input)
    for axis, h in ((1, array(hrow)), (0, array(hcol))):
        if h.ndim != 1 or len(h) % 2 == 0:
            raise ValueError(f"hrow and hcol must be odd length, at {user_location()}")
        half, moved = len(h) // 2, np.moveaxis(x, axis, -1)
        padded = np.pad(moved, [(0, 0), (half, half)], "symmetric")
        y: Any = slide(h, padded, [(1, 1, 1)], [2 * half], [moved.shape[-1]], 1)
        x = np.moveaxis(y, -1, axis)
    found: Traced = x
    return found
