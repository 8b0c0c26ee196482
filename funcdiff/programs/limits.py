"""Bounds of containers as two vectors of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.coordinates import Coordinates
from funcdiff.errors import InputError, user_location


def bound_vectors(bounds: Any, tree: Any, name: str, of: str) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of all elements of a container, as vectors.

    `bounds` is a pair; each end is None, a number for all, or a container like `tree` with None, a
    number or an array for each leaf.
    """
    if bounds is None:
        bounds = (None, None)
    pairs = isinstance(bounds, list) and all(isinstance(x, tuple) for x in bounds)  # as for SciPy
    if pairs or not isinstance(bounds, tuple | list) or len(bounds) != 2:
        cure = " Of a pair for each element make it by tuple(np.transpose(pairs))." if pairs else ""
        raise InputError(
            f"nlp: {name} is {bounds!r}, at {user_location()}. Give a pair (low, high) of numbers, "
            f"of containers, or of None where there is no bound.{cure}"
        )
    at, what = Coordinates.of(tree), f"nlp: {name} of {of}"
    low, high = (
        at.numbers([default if x is None else x for x in _by_leaf(end, tree, name)], what)
        for end, default in zip(bounds, (-np.inf, np.inf), strict=True)
    )
    crossed = ~(low <= high) | (low == np.inf) | (high == -np.inf)
    if np.any(crossed):
        k = int(np.argmax(crossed))
        raise InputError(
            f"{what}{at.name(k)} are {low[k]} and {high[k]}, at {user_location()}: no number is "
            "between them. Give the lower one first; equal ones fix the value."
        )
    return low, high


def _by_leaf(end: Any, tree: Any, name: str) -> list[Any]:
    """Return the bound of each leaf, which may be None; so may be what is no leaf."""
    leaves, structure = pytree.flatten(tree, is_leaf=_is_none)
    ends = [end] * len(leaves)  # a list of numbers is an array of them
    if end is not None and not np.isscalar(end) and structure != pytree.LEAF:
        ends, found = pytree.flatten(end, is_leaf=_is_none)
        if found != structure:
            raise InputError(
                f"nlp: {name} have the structure {found}, not {structure}, at {user_location()}. "
                "Give one number for all, or a container with a number, an array or None per leaf."
            )
    return [bound for bound, leaf in zip(ends, leaves, strict=True) if leaf is not None]


def _is_none(x: Any) -> bool:
    return x is None
