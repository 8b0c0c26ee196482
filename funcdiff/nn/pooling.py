"""Pooling: the largest entry or the mean of a window that slides over the axes of space."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.errors import user_location
from funcdiff.nn.operands import floating, of_floats
from funcdiff.nn.sliding import Counts, Layout, Padding, Sliding, check_layout, counts, sliding


@of_floats
def max_pool(
    x: Any,
    window: Counts,
    *,
    stride: Counts | None = None,
    padding: Padding = "valid",
    layout: Layout = "channels_first",
) -> Any:
    """Return the largest entry of each window.

    Entries that are equally large share the derivative equally.

    Parameters
    ----------
    x
        Real numbers, shape ``(batch, channels, *space)``, or ``(channels, *space)`` for one example
        if `window` says for each axis of space how long it is.
    window
        Length of the window, for all axes of space or for each.
    stride
        Distance between windows, for all axes of space or for each; that of the window by default,
        so that windows lie side by side.
    padding
        What is put around `x`, as `conv` has it, but for entries that are never the largest.
    layout
        "channels_first" as above, or "channels_last" for `x` of shape
        ``(batch, *space, channels)``.

    Returns
    -------
    array
        Shape ``(batch, channels, *places)``, or as `layout` has it; of the dtype of `x`, integers
        become float64.

    Raises
    ------
    ValueError
        If `window`, `stride` or `padding` do not fit; names which.
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> x = np.array([[[1.0, 3.0, 2.0, 2.0]]])
    >>> fd.nn.max_pool(x, 2)
    array([[[3., 2.]]])
    >>> fd.grad(lambda x: fd.nn.max_pool(x, 2).sum())(x)
    array([[[0. , 1. , 0.5, 0.5]]])
    """
    a, slides, lengths, first = _prepare("nn.max_pool", x, window, stride, padding, layout)
    return np.max(_entries(a, slides, lengths, first, -np.inf), axis=0)


@of_floats
def avg_pool(
    x: Any,
    window: Counts,
    *,
    stride: Counts | None = None,
    padding: Padding = "valid",
    layout: Layout = "channels_first",
) -> Any:
    """Return the mean of the entries of `x` in each window.

    Parameters
    ----------
    x
        Real numbers, shape ``(batch, channels, *space)``, or ``(channels, *space)`` for one example
        if `window` says for each axis of space how long it is.
    window
        Length of the window, for all axes of space or for each.
    stride
        Distance between windows, for all axes of space or for each; that of the window by default,
        so that windows lie side by side.
    padding
        What is put around `x`, as `conv` has it.  The mean is that of the entries of `x` alone.
    layout
        "channels_first" as above, or "channels_last" for `x` of shape
        ``(batch, *space, channels)``.

    Returns
    -------
    array
        Shape ``(batch, channels, *places)``, or as `layout` has it; of the dtype of `x`, integers
        become float64.

    Raises
    ------
    ValueError
        If `window`, `stride` or `padding` do not fit; names which.
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> x = np.array([[[1.0, 3.0, 2.0, 2.0, 7.0]]])
    >>> fd.nn.avg_pool(x, 2, padding="same")
    array([[[2., 2., 7.]]])
    """
    a, slides, lengths, first = _prepare("nn.avg_pool", x, window, stride, padding, layout)
    entries = _entries(a, slides, lengths, first, 0)
    counted = _entries(np.ones(a.shape[first : first + len(lengths)]), slides, lengths, 0, 0)
    count = np.sum(counted, axis=0).reshape(
        *slides.lengths, *(1,) * (a.ndim - first - len(lengths))
    )
    return np.sum(entries, axis=0) / count.astype(a.dtype)


def _prepare(
    name: str, x: Any, window: Any, stride: Any, padding: Any, layout: Any
) -> tuple[Any, Sliding, tuple[int, ...], int]:
    """Return the array, how the window slides, its lengths, and the first axis of space."""
    check_layout(name, layout)
    a = floating(x, name)
    axes = len(window) if isinstance(window, list | tuple) else a.ndim - 2
    if axes < 1 or a.ndim not in (axes + 1, axes + 2):
        raise ValueError(
            f"{name}: x of shape {a.shape} does not go with window={window!r}: it needs an axis of "
            "channels and one of space for each length of the window, behind or without one of "
            f"examples, at {user_location()}"
        )
    lengths = counts(name, "window", window, axes)
    first = a.ndim - axes - (layout == "channels_last")
    space = a.shape[first : first + axes]
    slides = sliding(
        name,
        space,
        lengths,
        stride=lengths if stride is None else stride,
        dilation=1,
        padding=padding,
    )
    if any(max(pair) >= n for pair, n in zip(slides.pads, lengths, strict=True)):
        raise ValueError(
            f"{name}: padding={padding!r} puts a window of {lengths} wholly outside x, at "
            f"{user_location()}"
        )
    return a, slides, lengths, first


def _entries(x: Any, slides: Sliding, lengths: tuple[int, ...], first: int, fill: float) -> Any:
    """Return the entries of the windows: for each tap, an array of all places."""
    if any(map(any, slides.pads)):
        behind = ((0, 0),) * (x.ndim - first - len(lengths))
        x = np.pad(x, [*((0, 0),) * first, *slides.pads, *behind], constant_values=fill)
    ahead = (slice(None),) * first
    spans = [s * (n - 1) + 1 for s, n in zip(slides.strides, slides.lengths, strict=True)]
    return np.stack(
        [
            x[(*ahead, *map(slice, tap, map(int.__add__, tap, spans), slides.strides))]
            for tap in np.ndindex(lengths)
        ]
    )
