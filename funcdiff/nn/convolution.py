"""The convolution of networks: a kernel slides over one to three axes of space."""

from __future__ import annotations

from typing import Any, Final, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.nn.operands import operand
from funcdiff.nn.sliding import Counts, Layout, Padding, check_layout, sliding
from funcdiff.numpy.border.promotion import promote
from funcdiff.ops.products.convolution import Convolution, convolve, convolve_p

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
        name,
        a.shape[-axes:],
        _taps(k, axes),
        stride=stride,
        dilation=dilation,
        padding=padding,
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
            f"{groups}, at {user_location()}"
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
