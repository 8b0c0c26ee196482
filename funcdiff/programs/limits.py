"""Bounds of containers as two vectors of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.raveling import element_name
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
    low, high = (
        _spread(end, tree, name, default)
        for end, default in zip(bounds, (-np.inf, np.inf), strict=True)
    )
    crossed = ~(low <= high) | (low == np.inf) | (high == -np.inf)
    if np.any(crossed):
        k = int(np.argmax(crossed))
        raise InputError(
            f"nlp: {name} of {element(tree, k, of)} are {low[k]} and {high[k]}, at "
            f"{user_location()}: no number is between them. Give the lower one first; "
            "equal ones fix the value."
        )
    return low, high


def element(tree: Any, k: int, name: str = "x") -> str:
    """Return the name of an element of the vector of a container, for messages."""
    leaves, structure = pytree.flatten(tree)
    return name + element_name(pytree.paths(structure), list(map(np.shape, leaves)), k)


def _is_none(x: Any) -> bool:
    return x is None


def _spread(end: Any, tree: Any, name: str, default: float) -> Any:
    leaves, structure = pytree.flatten(tree, is_leaf=_is_none)
    if end is None or np.isscalar(end):
        ends = [end] * len(leaves)
    elif structure == pytree.LEAF:
        ends = [end]  # a list of numbers is an array of them
    else:
        ends, found = pytree.flatten(end, is_leaf=_is_none)
        if found != structure:
            raise InputError(
                f"nlp: {name} have the structure {found}, not {structure}, at {user_location()}. "
                "Give one number for all, or a container with a number, an array or None per leaf."
            )
    parts = [np.zeros(0)]
    for value, leaf, path in zip(ends, leaves, pytree.paths(structure), strict=True):
        if leaf is None:
            continue
        x = np.asarray(default if value is None else value)
        if x.shape not in ((), np.shape(leaf)) or x.dtype.kind not in "fiu":
            raise InputError(
                f"nlp: {name} of {path or 'the array'} has shape {x.shape} and dtype {x.dtype}, "
                f"but the leaf has shape {np.shape(leaf)}, at {user_location()}. Give a real "
                "number for all elements, or one for each."
            )
        parts.append(np.broadcast_to(x, np.shape(leaf)).ravel().astype(float))
    return np.concatenate(parts)
