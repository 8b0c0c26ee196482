"""Containers as one vector and back, for solvers that know vectors only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import is_numeric, operand, type_of
from funcdiff.api.signatures import Array, X
from funcdiff.core.builder import Tracer
from funcdiff.errors import InputError, user_location


def ravel_pytree(tree: X) -> tuple[Array, Callable[[Array], X]]:
    """Return the numbers of a container as one vector, and the way back.

    Parameters
    ----------
    tree
        Container of numbers and arrays; strings, flags and None are kept aside.

    Returns
    -------
    vector
        Array of shape ``(n,)`` with all elements in order, of their promoted dtype.
    unravel : callable
        ``unravel(vector)`` returns a container like `tree`; arrays have the shapes they had, and
        the dtypes if the vector's has not changed.

    Raises
    ------
    InputError
        By ``unravel``, if the vector has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> vector, unravel = fd.ravel_pytree({"w": np.ones((2, 2)), "b": 3.0})
    >>> vector
    array([1., 1., 1., 1., 3.])
    >>> unravel(vector * 2)["b"]
    np.float64(6.0)
    """
    leaves, structure = pytree.flatten(tree)
    numeric = [is_numeric(leaf) for leaf in leaves]
    values = [operand(leaf) for leaf, flag in zip(leaves, numeric, strict=True) if flag]
    types = [type_of(x) for x in values]
    parts = [np.ravel(x) for x in values]
    vector: Array = np.concatenate(parts) if parts else np.zeros(0)
    dtype = vector.dtype
    ends = np.cumsum([t.size for t in types], dtype=int).tolist()

    def unravel(flat: Array) -> X:
        x: Any = flat if isinstance(flat, Tracer) else np.asarray(flat)
        if x.shape != vector.shape:
            raise InputError(
                f"unravel needs a vector of shape {vector.shape}, got {x.shape}, "
                f"at {user_location()}"
            )
        pieces = []
        for type_, end in zip(types, ends, strict=True):
            piece = np.reshape(x[end - type_.size : end], type_.shape)
            kept = x.dtype == dtype and type_.dtype != dtype
            piece = piece.astype(type_.dtype) if kept else piece
            pieces.append(piece if isinstance(piece, Tracer) else piece.copy()[()])
        found = iter(pieces)
        rebuilt = [
            next(found) if flag else leaf for leaf, flag in zip(leaves, numeric, strict=True)
        ]
        result: X = pytree.unflatten(structure, rebuilt)
        return result

    return vector, unravel
