"""``np.lib.stride_tricks``: windows that slide over an array."""

from __future__ import annotations

from typing import Any

from numpy.lib.stride_tricks import sliding_window_view

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements, unsupported
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.memory import views
from funcdiff.numpy.shapes.shape import as_ints, normalize_axis
from funcdiff.ops.structure.slicing import sliding_windows


@implements(sliding_window_view)
def windows(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tracer:
    """Return the windows of a shape at all places where they fit, read-only.

    The axes of a window come last.  An axis may be given more than once.
    """
    del subok  # traced arrays have no subclasses
    if writeable:
        raise unsupported(
            "np.lib.stride_tricks.sliding_window_view(writeable=True)",
            "An element belongs to several windows: write into the array itself.",
        )
    base = result = array(x)
    lengths = as_ints(window_shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"window_shape {lengths} has a negative length")
    axes = tuple(range(base.ndim)) if axis is None else as_ints(axis)
    if len(axes) != len(lengths):
        raise ValueError(
            f"window_shape {lengths} has {len(lengths)} lengths for {len(axes)} axes of an array "
            f"of shape {base.shape}"
        )
    for place, length in zip(axes, lengths, strict=True):
        along = normalize_axis(place, base.ndim)
        if length > result.shape[along]:
            raise ValueError(
                f"window shape {lengths} is larger than the array of shape {base.shape} along "
                f"axis {along}"
            )
        result = sliding_windows(result, along, length)
    return views.view(base, result, lambda b: sliding_window_view(b, lengths, axes))
