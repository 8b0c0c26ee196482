"""Sums, moments, extrema and medians of the pixels that have a label; labels are constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy import take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow_functions, copy_of
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.places import place as private

_MODULE = "scipy.ndimage._measurements"


def _is_one_group(labels: Any, index: Any) -> bool:
    """Return whether all pixels that count are one group."""
    if holds_traced((labels, index)):
        raise NotDifferentiableError(
            f"scipy.ndimage was given traced labels at {user_location()}: they say which pixels "
            "belong together. Keep them out of the differentiated arguments."
        )
    return labels is None or index is None or np.isscalar(index)


def _broadcast(x: Any, labels: Any) -> tuple[Any, Any]:
    """Return image and labels in their common shape, the labels as a plain array."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(labels))
    return np.broadcast_to(array(x), shape), np.broadcast_to(np.asarray(labels), shape)


@covers(_MODULE)
def _stats(input: Any, labels: Any = None, index: Any = None, centered: bool = False) -> Any:
    """Return how many pixels each label has, their sum, and that of squared deviations."""
    if _is_one_group(labels, index):
        return copy_of(private(_MODULE, "_stats"))(input, labels, index, centered=centered)
    x, labels = _broadcast(input, labels)
    known, group = np.unique(labels, return_inverse=True)
    group, place = group.ravel(), np.searchsorted(known, index)
    place = np.where(place < len(known), place, 0)
    found, counts = known[place] == index, np.bincount(group)

    def total(values: Any) -> Any:
        return np.bincount(group, weights=values)

    def of_index(sums: Any) -> Any:
        return np.where(found, take(sums, place), 0)

    sums = total(array(x.reshape(-1)))
    result = [of_index(counts), of_index(sums)]
    if centered:
        result.append(of_index(total((x.reshape(-1) - take(sums / counts, group)) ** 2)))
    return tuple(result)


_ASKED: Final[tuple[tuple[str, Callable[[Any, Any], Any]], ...]] = (
    ("find_min", lambda x, _: np.min(x)),
    ("find_min_positions", lambda x, places: places[np.argmin(x)]),
    ("find_max", lambda x, _: np.max(x)),
    ("find_max_positions", lambda x, places: places[np.argmax(x)]),
    ("find_median", lambda x, _: np.median(x)),
)
"""What may be asked of pixels, in the order of the results."""


@covers(_MODULE)
def _select(input: Any, labels: Any = None, index: Any = None, **asked: bool) -> list[Any]:
    """Return extrema, where they are, and medians of each label; pixels that are equal share."""
    if _is_one_group(labels, index):
        return list(copy_of(private(_MODULE, "_select"))(input, labels, index, **asked))
    x, labels = _broadcast(input, labels)
    flat: Any = array(x.reshape(-1))
    groups = [np.flatnonzero(labels == i) for i in np.ravel(index)]
    result = []
    for name, function in _ASKED:
        if asked.get(name):
            none = array(np.zeros((), int if "position" in name else flat.dtype))
            values = [function(flat[g], array(g)) if g.size else none for g in groups]
            result.append(np.stack(values).reshape(np.shape(index)))
    return result


borrow_functions(
    "scipy.ndimage",
    "sum sum_labels mean variance standard_deviation minimum maximum median extrema "
    "minimum_position maximum_position center_of_mass",
    note="By the image; labels are constants.",
)
