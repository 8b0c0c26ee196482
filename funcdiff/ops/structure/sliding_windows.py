"""Windows that slide along an axis, which are views of it, and their sum, which is the transpose.

    y[i, …, k] = x[i + k, …]        and        x[j, …] = Σₖ y[j - k, …, k]

Adding up costs as many operations as the windows have elements (overlap-add, as in A. V.
Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing", section 8.7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from funcdiff.core.access import Access, Labels
from funcdiff.core.builder import bind
from funcdiff.core.primitive import Facts, Params, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import linear


class Window(Params):
    """The axis that windows slide along, and their length; that of a window is the last axis."""

    axis: int
    length: int


def _abstract_windows(p: Window, x: ArrayType) -> Types:
    if not 0 <= p.axis < x.ndim or not 0 <= p.length <= x.shape[p.axis]:
        raise TypeError(f"no window of {p.length} elements slides along axis {p.axis} of {x}")
    places = x.shape[p.axis] - p.length + 1
    return (x.with_shape((*x.shape[: p.axis], places, *x.shape[p.axis + 1 :], p.length)),)


def _abstract_sum(p: Window, y: ArrayType) -> Types:
    if not 0 <= p.axis < y.ndim - 1 or y.shape[-1] != p.length or not y.shape[p.axis]:
        raise TypeError(f"{y} is not made of windows of {p.length} elements along axis {p.axis}")
    *shape, length = y.shape
    shape[p.axis] += length - 1
    return (y.with_shape(tuple(shape)),)


def _labels(p: Window, ndim: int) -> tuple[tuple[Labels], tuple[Labels]]:
    """Return the labels of windows, and of what they slide over."""
    labels = tuple(None if k == p.axis else k for k in range(ndim))
    return ((*labels, None),), (labels,)


def _overlap_add_impl(p: Window) -> Callable[..., Any]:
    def function(y: Any) -> Any:
        shape = [n + p.length - 1 if k == p.axis else n for k, n in enumerate(y.shape[:-1])]
        total = np.zeros(shape, y.dtype)
        windows, x = np.moveaxis(y, p.axis, 0), np.moveaxis(total, p.axis, 0)
        places = len(windows)
        if p.length <= places:
            for k in range(p.length):
                x[k : k + places] += windows[..., k]
        else:
            for k in range(places):
                x[k : k + p.length] += np.moveaxis(windows[k], -1, 0)
        return total

    return function


sliding_windows_p: Final = linear(
    "sliding_windows",
    Window,
    abstract=_abstract_windows,
    impl=lambda p: lambda x: sliding_window_view(x, p.length, p.axis),
    transpose=lambda p, _types, cts, _xs: [overlap_add(cts[0], p.axis)],
    access=lambda p, types: Access(*_labels(p, types[0].ndim)),
    facts=Facts(
        sums=True,
        view=True,
        copying=lambda p: lambda x: sliding_window_view(x, p.length, p.axis).copy(),
    ),
)
overlap_add_p: Final = linear(
    "overlap_add",
    Window,
    abstract=_abstract_sum,
    impl=_overlap_add_impl,
    transpose=lambda p, _types, cts, _xs: [sliding_windows(cts[0], p.axis, p.length)],
    access=lambda p, types: Access(*_labels(p, types[0].ndim - 1)[::-1]),
    facts=Facts(fresh=True, sums=True),
)


def sliding_windows(x: Tracer, axis: int, length: int) -> Tracer:
    """Return the windows of so many elements along an axis, with their elements along a new one.

    The new axis is the last one; along `axis`, the windows follow each other.
    """
    return bind(sliding_windows_p, Window(axis, length), x)[0]


def overlap_add(y: Tracer, axis: int) -> Tracer:
    """Return the sum of windows that follow each other along an axis, each at its place."""
    return bind(overlap_add_p, Window(axis, y.shape[-1]), y)[0]
