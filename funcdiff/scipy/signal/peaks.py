"""Peaks: where they are follows from values, or decides; heights and widths are differentiable.

Places are integers without a derivative, found by SciPy's compiled functions in the values.
Heights, prominences and interpolated widths are formulas of the samples at these places.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.errors import ConcreteValueError
from funcdiff.numpy.border.masks import true_places
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import value_of
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.covered import covers
from funcdiff.scipy.places import place

_COMPILED: Final = "scipy.signal._peak_finding_utils"


def _by_value(name: str, *operands: Any) -> Any:
    """Call a compiled function with the values of arrays."""
    values = [np.array(value_of(x)) if np.ndim(x) else value_of(x)[()] for x in operands]
    return place(_COMPILED, name)(*values)


def _order_of(x: Any) -> Any:
    """Return numbers in the order of samples: their values or, where there are none, ranks.

    The ranks decide, so that there can only be few.
    """
    try:
        return np.array(value_of(x))
    except ConcreteValueError:
        samples: Any = stop_gradient(array(x))
        return np.asarray(np.searchsorted(np.sort(samples), samples), np.float64)


@covers(_COMPILED)
def _local_maxima_1d(x: Any) -> Any:
    """Return the middles and edges of local maxima; without values, it is decided how many."""
    try:
        return _by_value("_local_maxima_1d", x)
    except ConcreteValueError:
        samples: Any = stop_gradient(array(x))
    number, no = np.arange(len(samples)), np.zeros(min(1, len(samples)), bool)
    before, after = samples[:-1], samples[1:]
    changes = after != before
    ends = np.where(np.concatenate([changes, ~no]), number, len(number))
    end: Any = np.minimum.accumulate(ends[::-1])[::-1]  # of the plateau, if it is one
    begins = np.concatenate([no, after > before])  # which is another number, too
    falls: Any = np.concatenate([after < before, no])
    left = true_places(begins & falls[end])[0]
    return (left + end[left]) // 2, left, end[left]


@covers(_COMPILED)
def _select_by_peak_distance(peaks: Any, priority: Any, distance: Any) -> Any:
    """Return which peaks are far enough from higher ones."""
    given = (np.asarray(peaks), _order_of(priority), distance)
    return _by_value("_select_by_peak_distance", *given)


@covers(_COMPILED)
def _peak_prominences(x: Any, peaks: Any, wlen: Any) -> Any:
    """Return how far peaks rise above the higher one of their two bases, and these bases."""
    places = np.array(peaks)
    _, left, right = _by_value("_peak_prominences", _order_of(x), places, wlen)
    x = array(x)
    return x[places] - np.maximum(x[left], x[right]), left, right


@covers(_COMPILED)
def _peak_widths(
    x: Any, peaks: Any, rel_height: Any, prominences: Any, left_bases: Any, right_bases: Any
) -> Any:
    """Return widths at a height below the peaks, the heights, and where lines meet them."""
    given = (x, peaks, rel_height, prominences, left_bases, right_bases)
    _, _, left, right = _by_value("_peak_widths", *given)
    x, peaks = array(x), np.array(value_of(peaks))
    heights = x[peaks] - prominences * rel_height
    ends = [_crossing(x, heights, place, side) for place, side in ((left, 1), (right, -1))]
    return ends[1] - ends[0], heights, *ends


def _crossing(x: Any, heights: Any, places: Any, side: int) -> Any:
    """Return where the line between two samples meets a height; at a base, the base itself.

    `side` leads from the sample below the height to that above it.
    """
    below = (np.floor(places) if side > 0 else np.ceil(places)).astype(int)
    above = np.clip(below + side, 0, len(x) - 1)
    lower = np.asarray(value_of(x))[below] < value_of(heights)
    rise = np.where(lower, x[above] - x[below], 1.0)
    return below + side * np.where(lower, (heights - x[below]) / rise, 0.0)
