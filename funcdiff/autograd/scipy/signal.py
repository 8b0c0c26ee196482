"""``autograd.scipy.signal``: convolution along some axes, with products along others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff import nn
from funcdiff.errors import InputError, user_location

__all__ = ["convolve"]

Axes = Sequence[Sequence[int]]


def convolve(
    A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full"
) -> Any:
    """Return the convolution of two arrays.

    Parameters
    ----------
    A, B
        Arrays.
    axes
        Pair of lists of axes of `A` and of `B` along which to convolve, three at most; by default
        all.
    dot_axes
        Pair of lists of axes along which products are summed.
    mode
        "full", "valid" or "same", which is of the size of `A`.

    Returns
    -------
    array
        With the remaining axes of `A`, those of `B`, and the convolved axes, in this order.

    Raises
    ------
    InputError
        If the mode is unknown, or neither array is the larger along all axes, of "valid".

    Examples
    --------
    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0]))
    array([ 1., 12., 23., 30.])
    """
    if mode not in ("full", "valid", "same"):
        raise InputError(
            f"convolve knows no mode {mode!r}, at {user_location()}. "
            'Write "full", "valid" or "same".'
        )
    convolved = axes or (range(np.ndim(A)), range(np.ndim(B)))
    a, kept_a = _arrange(A, convolved[0], dot_axes[0])
    b, kept_b = _arrange(B, convolved[1], dot_axes[1])
    longer = [n >= m for n, m in zip(a.shape[2:], b.shape[2:], strict=True)]
    if mode == "valid" and not all(longer):
        if any(n > m for n, m in zip(a.shape[2:], b.shape[2:], strict=True)):
            raise InputError(
                f"convolve with mode='valid' needs one array that is the larger along all axes, "
                f"not {a.shape[2:]} and {b.shape[2:]}, at {user_location()}."
            )
        y = np.swapaxes(_slid(b, a, mode), 0, 1)
    else:
        y = _slid(a, b, mode)
    return np.reshape(y, (*kept_a, *kept_b, *y.shape[2:][: len(convolved[0])]))


def _arrange(x: Any, convolved: Sequence[int], summed: Sequence[int]) -> tuple[Any, list[int]]:
    """Return an array as ``(others, summed, *convolved)``, and the shape of the others.

    What is convolved along no axis gets one of length 1.
    """
    shape = np.shape(x)
    others = [k for k in range(len(shape)) if k not in {*convolved, *summed}]
    kept = [shape[k] for k in others]
    sizes = [math.prod(kept), math.prod(shape[k] for k in summed)]
    moved = np.transpose(x, (*others, *summed, *convolved))
    return np.reshape(moved, (*sizes, *([shape[k] for k in convolved] or [1]))), kept


def _slid(a: Any, b: Any, mode: str) -> Any:
    """Return the convolution of ``(n, c, *space)`` with ``(m, c, *taps)``: ``(n, m, *places)``."""
    taps = [n - 1 for n in b.shape[2:]]
    padding = {
        "full": [(n, n) for n in taps],
        "valid": [(0, 0) for _ in taps],
        "same": [(n - n // 2, n // 2) for n in taps],
    }[mode]
    return nn.conv(a, np.flip(b, tuple(range(2, np.ndim(b)))), padding=padding)
