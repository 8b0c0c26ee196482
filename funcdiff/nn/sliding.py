"""Convolution and pooling: kernels and windows that slide over one to three axes of space."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.nn.operands import floating, of_floats, operand
from funcdiff.numpy.border.promotion import promote
from funcdiff.ops.products.convolution import Convolution, convolve, convolve_p

Layout: TypeAlias = Literal["channels_first", "channels_last"]
Counts: TypeAlias = int | Sequence[int]
Padding: TypeAlias = Literal["valid", "same"] | int | Sequence[int] | Sequence[tuple[int, int]]


class Sliding(NamedTuple):
    """How a kernel slides along the axes of space."""

    strides: tuple[int, ...]  # from place to place
    dilations: tuple[int, ...]  # from tap to tap
    pads: tuple[tuple[int, int], ...]  # zeros in front and behind
    lengths: tuple[int, ...]  # numbers of places


def sliding(
    name: str,
    space: Sequence[int],
    taps: Sequence[int],
    *,
    stride: Counts,
    dilation: Counts,
    padding: Padding,
) -> Sliding:
    """Return how a kernel of so many taps slides over arrays of such a space.

    Raises `ValueError` if one of the three is no such number or sequence, or nothing fits.
    """
    strides = counts(name, "stride", stride, len(space))
    dilations = counts(name, "dilation", dilation, len(space))
    reach = [d * (t - 1) + 1 for d, t in zip(dilations, taps, strict=True)]
    if isinstance(padding, str) and padding == "same":
        pads = tuple(map(_same, space, reach, strides))
    else:
        pads = _pads(name, padding, len(space))
    room = [n + sum(pair) for n, pair in zip(space, pads, strict=True)]
    if any(n < r for n, r in zip(room, reach, strict=True) if not padding == "same"):
        raise ValueError(
            f"{name}: a kernel that reaches over {tuple(reach)} places does not fit into x of "
            f"{tuple(space)} places with padding={padding!r}, which makes {tuple(room)}, at "
            f"{user_location()}. Pass a larger padding or padding='same'."
        )
    lengths = [(n - r) // s + 1 for n, r, s in zip(room, reach, strides, strict=True)]
    return Sliding(strides, dilations, pads, tuple(max(0, n) for n in lengths))


def _same(length: int, reach: int, stride: int) -> tuple[int, int]:
    """Return the zeros that make ⌈length/stride⌉ places, of an odd number one more behind."""
    total = max(0, (-(-length // stride) - 1) * stride + reach - length)
    return total // 2, total - total // 2


def counts(name: str, parameter: str, value: Any, axes: int) -> tuple[int, ...]:
    """Return one positive integer for each axis.

    Raises `ValueError` if `value` is neither an integer nor a sequence of so many.
    """
    found = _integers(value)
    if found is not None and len(found) == 1 and not isinstance(value, Sequence):
        found = found * axes
    if found is None or len(found) != axes or min(found) < 1:
        raise ValueError(
            f"{name}: {parameter} must be a positive integer or {axes} of them, one for each axis "
            f"of space, not {value!r}, at {user_location()}"
        )
    return found


def _integers(value: Any) -> tuple[int, ...] | None:
    """Return an integer or a sequence of integers as a tuple, None if it is something else."""
    try:
        return tuple(map(index, value if isinstance(value, Sequence | np.ndarray) else (value,)))
    except TypeError:
        return None


def _pads(name: str, padding: Any, axes: int) -> tuple[tuple[int, int], ...]:
    if isinstance(padding, str) and padding == "valid":
        return ((0, 0),) * axes
    each = padding if isinstance(padding, Sequence | np.ndarray) else (padding,) * axes
    pairs = [_integers(width) for width in each] if not isinstance(padding, str) else [None]
    known = [pair * 2 if len(pair) == 1 else pair for pair in pairs if pair is not None]
    fit = all(len(pair) == 2 and min(pair) >= 0 for pair in known)
    if len(known) != len(pairs) or len(known) != axes or not fit:
        raise ValueError(
            f"{name}: padding must be 'valid', 'same', an integer that is not negative, or {axes} "
            f"of these or of pairs (before, behind), one for each axis of space, not {padding!r}, "
            f"at {user_location()}"
        )
    return tuple((pair[0], pair[1]) for pair in known)


def check_layout(name: str, layout: Any) -> None:
    """Raise ValueError if there is no such layout."""
    if layout not in ("channels_first", "channels_last"):
        raise ValueError(
            f"{name}: layout must be 'channels_first' or 'channels_last', not {layout!r}, at "
            f"{user_location()}"
        )


# ---- Pooling: the largest entry or the mean of a window that slides over the axes of space -------


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


# ---- The convolution of networks: a kernel slides over one to three axes of space ----------------


Number = TypeVar("Number", bound=np.number[Any])

_AXES: Final = 3
_BATCH, _GROUP, _IN, _OUT = range(4)
"""Labels of the axes that are not of space."""


@overload
def conv(
    x: NDArray[Number],
    kernel: NDArray[Number],
    *,
    stride: Counts = ...,
    padding: Padding = ...,
    dilation: Counts = ...,
    groups: int = ...,
    layout: Layout = ...,
) -> NDArray[Number]: ...
@overload
def conv(
    x: ArrayLike,
    kernel: ArrayLike,
    *,
    stride: Counts = ...,
    padding: Padding = ...,
    dilation: Counts = ...,
    groups: int = ...,
    layout: Layout = ...,
) -> NDArray[Any]: ...
@public
def conv(
    x: Any,
    kernel: Any,
    *,
    stride: Counts = 1,
    padding: Padding = "valid",
    dilation: Counts = 1,
    groups: int = 1,
    layout: Layout = "channels_first",
) -> Any:
    """Return the convolution of a batch with a kernel, as networks have it.

    With one axis of space, it is ``y[n, o, p] = Σ_i Σ_t x[n, i, stride·p + dilation·t - before] ·
    kernel[o, i, t]``, where x is 0 outside: a cross-correlation, whose kernel is not turned
    around.  With two or three axes of space, p and t have as many.

    Parameters
    ----------
    x
        Shape ``(batch, channels, *space)``, or ``(channels, *space)`` for one example.
    kernel
        Shape ``(channels out, channels in / groups, *taps)``: with one to three axes of taps.
    stride
        Distance between places, for all axes of space or for each.
    padding
        Zeros around `x`: "valid" for none; "same" for as many as make ⌈length/stride⌉ places, of
        an odd number one more behind; an integer for so many at every end; or for each axis an
        integer or a pair (before, behind).
    dilation
        Distance between the taps, for all axes of space or for each.
    groups
        Into how many groups the channels are split, which do not mix: as many as channels for a
        depthwise convolution.
    layout
        "channels_first" as above; for "channels_last", `x` has shape ``(batch, *space, channels)``,
        `kernel` ``(*taps, channels in / groups, channels out)``.

    Returns
    -------
    array
        Shape ``(batch, channels out, *places)``, or ``(batch, *places, channels out)`` for
        "channels_last", without a batch if `x` has none.  Of the dtype that NumPy gives a product
        of `x` and `kernel`.

    Raises
    ------
    ValueError
        If shapes, strides, padding, dilation or groups do not fit; names which.
    TypeError
        If `x` or `kernel` holds no numbers.

    Notes
    -----
    Columns of windows are copied block by block and multiplied by BLAS (Chellapilla, Puri and
    Simard 2006); what is copied at a time is 2¹⁷ numbers.  Half precision is summed in single
    precision.  Both derivatives are convolutions of as many products.

    References
    ----------
    K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for
    Document Processing", Workshop on Frontiers in Handwriting Recognition, 2006.
    V. Dumoulin, F. Visin, "A Guide to Convolution Arithmetic for Deep Learning",
    arXiv:1603.07285, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> step = np.array([[[0.0, 0.0, 1.0, 1.0]]])
    >>> difference = np.array([[[-1.0, 1.0]]])
    >>> fd.nn.conv(step, difference)
    array([[[0., 1., 0.]]])

    The gradient in the kernel, of images with three channels:

    >>> x, kernel = np.ones((2, 3, 8, 8)), np.zeros((5, 3, 3, 3))
    >>> def loss(kernel):
    ...     return np.sum((fd.nn.conv(x, kernel, stride=2, padding="same") - 1) ** 2)
    >>> fd.grad(loss)(kernel).shape
    (5, 3, 3, 3)
    """
    name = "nn.conv"
    check_layout(name, layout)
    a, k = operand(x, name), operand(kernel, name, "kernel")
    axes = k.ndim - 2
    if not 1 <= axes <= _AXES or a.ndim not in (axes + 1, axes + 2):
        raise ValueError(
            f"{name}: x of shape {a.shape} does not go with a kernel of shape {k.shape}: the "
            "kernel needs two axes of channels and one to three of taps, and x an axis of channels "
            f"and as many of space, behind or without one of examples, at {user_location()}"
        )
    last = layout == "channels_last"
    if last:
        a, k = np.moveaxis(a, -1, -axes - 1), np.moveaxis(k, (-1, -2), (0, 1))
    _check_channels(a, k, axes, groups)
    slides = sliding(
        name, a.shape[-axes:], _taps(k, axes), stride=stride, dilation=dilation, padding=padding
    )
    batch = (_BATCH,) * (a.ndim - axes - 1)
    p = Convolution(
        (*batch, _GROUP, _IN),
        (_GROUP, _OUT, _IN),
        (*batch, _GROUP, _OUT),
        tuple((1, -d, s) for d, s in zip(slides.dilations, slides.strides, strict=True)),
        tuple(-before for before, _ in slides.pads),
        slides.lengths,
    )
    a, k = _split(a, a.ndim - axes - 1, groups), _split(k, 0, groups)
    y = _convolve(a, k, p)
    at = len(batch)
    y = np.reshape(y, (*y.shape[:at], y.shape[at] * y.shape[at + 1], *slides.lengths))
    return np.moveaxis(y, at, -1) if last else y


def _taps(kernel: Any, axes: int) -> tuple[int, ...]:
    taps: tuple[int, ...] = kernel.shape[-axes:]
    if 0 in taps:
        raise ValueError(f"nn.conv: the kernel has {taps} taps: none at all, at {user_location()}")
    return taps


def _check_channels(x: Any, kernel: Any, axes: int, groups: Any) -> None:
    channels = x.shape[-axes - 1]
    results, each = kernel.shape[:2]
    if not isinstance(groups, int | np.integer) or groups < 1 or results % groups:
        raise ValueError(
            f"nn.conv: groups must be a positive integer that divides the {results} channels that "
            f"the kernel makes, not {groups!r}, at {user_location()}"
        )
    if channels != groups * each:
        raise ValueError(
            f"nn.conv: x has {channels} channels, but the kernel takes {each} in each of groups="
            f"{groups}, at {user_location()}. Make a kernel for "
            f"{channels / groups:g}."
        )


def _split(x: Any, axis: int, groups: int) -> Any:
    """Return an array with an axis of groups in front of that of channels."""
    shape = x.shape
    return np.reshape(x, (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))


def _convolve(x: Any, kernel: Any, p: Convolution) -> Any:
    if isinstance(x, Tracer) or isinstance(kernel, Tracer):
        left, right = promote(x, kernel)
        return convolve(left, right, p)
    dtype = np.result_type(x, kernel)
    return convolve_p.impl(p)(x.astype(dtype, copy=False), kernel.astype(dtype, copy=False))
