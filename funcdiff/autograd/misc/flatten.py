"""``autograd.misc.flatten``: a container as one vector, with dicts in the order of their keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.errors import InputError, user_location


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers of a container as one vector, and the way back.

    Parameters
    ----------
    value
        Lists, tuples and dicts of numbers and arrays, perhaps traced.

    Returns
    -------
    vector
        Shape ``(n,)``, of the promoted dtype; entries of dicts come in the order of their sorted
        keys.
    unflatten : callable
        Of such a vector, returning a container like `value` with arrays of the vector's dtype.

    Examples
    --------
    >>> vector, unflatten = flatten({"w": [1.0, 2.0], "b": 3.0})
    >>> vector
    array([3., 1., 2.])
    >>> print(unflatten(10 * vector)["b"])
    30.0
    """
    leaves, structure = pytree.flatten(value)
    order = [*_by_keys(pytree.unflatten(structure, range(len(leaves))))]
    shapes = [np.shape(leaves[k]) for k in order]
    ends = [*accumulate(math.prod(shape) for shape in shapes)]
    vector = np.concatenate([np.ravel(leaves[k]) for k in order]) if order else np.zeros(0)

    return vector, partial(_unflatten, structure, order, ends, shapes)


def _unflatten(
    structure: Any, order: list[int], ends: list[int], shapes: list[tuple[int, ...]], flat: Any
) -> Any:
    """Return the container of a vector, whose pieces end at these places."""
    size = ends[-1] if ends else 0
    if np.shape(flat) != (size,):
        raise InputError(
            f"unflatten needs a vector of shape ({size},), got {np.shape(flat)}, at "
            f"{user_location()}. Give one number for each element of what was flattened."
        )
    pieces: list[Any] = [None] * len(order)
    for k, start, end, shape in zip(order, [0, *ends], ends, shapes, strict=False):
        pieces[k] = np.reshape(flat[start:end], shape).copy()[()]
    return pytree.unflatten(structure, pieces)


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Return a function of containers as one of vectors, the way back, and the example's vector."""
    vector, unflatten = flatten(example)
    return partial(_call_flat, func, unflatten), unflatten, vector


def _call_flat(
    func: Callable[..., Any], unflatten: Callable[[Any], Any], x: Any, *args: Any
) -> Any:
    return flatten(func(unflatten(x), *args))[0]


def _by_keys(tree: Any) -> Iterator[int]:
    """Yield the numbers of the leaves in the order of the vector."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if not isinstance(tree, list | tuple):
        yield from pytree.flatten(tree)[0]
        return
    for part in tree:
        yield from _by_keys(part)
