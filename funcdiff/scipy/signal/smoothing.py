"""Savitzky-Golay filters: polynomials fitted to windows, which is one convolution with constants.

References
----------
A. Savitzky, M. J. E. Golay, "Smoothing and Differentiation of Data by Simplified Least Squares
Procedures", Analytical Chemistry 36 (1964), 1627-1639.
"""

from __future__ import annotations

from math import factorial
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.covered import covers, load
from funcdiff.scipy.signal.convolutions import slide

_PADDINGS: Final[dict[str, Any]] = {
    "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant",
    "interp": "constant",
}  # fmt: skip


def _coefficients(length: int, order: int, deriv: int, pos: Any = None, use: str = "conv") -> Any:
    return load("scipy.signal").savgol_coeffs(length, order, deriv=deriv, pos=pos, use=use)


@covers("scipy.signal")
def savgol_coeffs(
    window_length: int, polyorder: int, deriv: int = 0, delta: Any = 1.0, pos: Any = None,
    use: str = "conv", **_library: Any,
) -> Traced:  # fmt: skip
    """Return the weights of a window, which scale with ``delta**-deriv``; `pos` may be traced."""
    if not isinstance(pos, Tracer):
        return array(_coefficients(window_length, polyorder, deriv, pos, use) / delta**deriv)
    _coefficients(window_length, polyorder, deriv, None, use)  # or SciPy's error
    places: Any = np.arange(window_length) - array(pos)
    powers = places[:, None] ** np.arange(polyorder + 1)
    wanted = factorial(deriv) * (np.arange(polyorder + 1) == deriv)
    q, r = np.linalg.qr(powers[::-1] if use == "conv" else powers)
    return array(q @ np.linalg.solve(r.T, wanted.astype(float)) / delta**deriv)


@covers("scipy.signal")
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: Any = 1.0, axis: int = -1,
    mode: str = "interp", cval: Any = 0.0,
) -> Traced:  # fmt: skip
    """Return a derivative of the polynomials fitted to the windows of an array: linear in `x`.

    Differentiable in `delta`, too, with which it scales by ``delta**-deriv``, and in `cval`.
    """
    if mode not in _PADDINGS:
        raise ValueError(
            f"mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp', not {mode!r}, at "
            f"{user_location()}."
        )
    x = array(x)
    if x.dtype not in (np.float32, np.float64):
        x = convert(x, np.dtype(float))
    along = normalize_axis(axis, x.ndim)
    moved: Any = np.moveaxis(x, along, -1)
    n, half = moved.shape[-1], window_length // 2
    weights = _coefficients(window_length, polyorder, deriv).astype(x.dtype)
    ends: dict[str, Any] = {"mode": _PADDINGS[mode]}
    if ends["mode"] == "constant":
        ends["constant_values"] = cval if mode == "constant" else 0.0
    width = [(0, 0)] * (moved.ndim - 1) + [(window_length - 1 - half, half)]
    padded = np.pad(moved, width, **ends)
    y: Any = slide(weights, padded, [(1, 1, 1)], [window_length - 1], [n], moved.ndim - 1)
    if mode == "interp":
        if window_length > n:
            raise ValueError(
                "If mode is 'interp', window_length must be less than or equal to the size of x, "
                f"at {user_location()}."
            )
        fits = [
            _coefficients(window_length, polyorder, deriv, place, "dot")
            for place in (*range(half), *range(window_length - half, window_length))
        ]
        fit = np.reshape(fits, (2, half, window_length)).astype(x.dtype)
        first, last = moved[..., :window_length], moved[..., n - window_length :]
        y = np.concatenate([first @ fit[0].T, y[..., half : n - half], last @ fit[1].T], -1)
    scale: Any = convert(array(delta**deriv), x.dtype)
    y = y / scale
    found: Traced = np.moveaxis(y, -1, along)
    return found
