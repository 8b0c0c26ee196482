"""`ravel_pytree`: a container as one vector and back, for solvers that know vectors only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import Operands
from funcdiff.api.calls.tracing import rebuild
from funcdiff.api.signatures.variables import Array, X
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.structure import leaves_of


@public
def ravel_pytree(tree: X) -> tuple[Array, Callable[[Array], X]]:
    """Return the numbers of a container as one vector, and the way back.

    Parameters
    ----------
    tree
        Container of numbers and arrays, all floating or complex or all integers; strings, flags
        and None are kept aside.

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
        If integers stand beside floating numbers: a vector of floats would change them, and the
        way back would round.  By ``unravel``, if the vector has another shape, or has an
        imaginary part where a leaf is real.

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
    numbers = Operands(tree)
    types, paths = numbers.types, numbers.paths
    _refuse_integers_beside_floats(types, paths)
    parts = [np.ravel(x) for x in numbers.xs]
    vector: Array = np.concatenate(parts) if parts else np.zeros(0)
    pairs = zip(numbers.leaves, numbers.flags, strict=True)
    others = [leaf for leaf, flag in pairs if not flag]
    structure = pytree.flatten(tree)[1]
    return vector, Unravel(
        structure, numbers.flags, others, types, paths, vector.shape, vector.dtype
    )


@dataclass(frozen=True, eq=False)
class Unravel:
    """The way back from a vector; it keeps no arrays, and can be pickled."""

    structure: Any
    numeric: list[bool]  # for each leaf, whether it is a part of the vector
    others: list[Any]  # the leaves that are not
    types: list[ArrayType]
    paths: list[str]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @public
    def __call__(self, flat: Any) -> Any:
        """Return the container with the numbers of a vector."""
        x: Any = flat if isinstance(flat, Tracer) else np.asarray(flat)
        if x.shape != self.shape:
            raise InputError(
                f"unravel needs a vector of shape {self.shape}, got {x.shape}, at "
                f"{user_location()}. Give one number for each element, in the order of the vector "
                "from ravel_pytree."
            )
        pieces, ends = [], accumulate(t.size for t in self.types)
        for type_, end, path in zip(self.types, ends, self.paths, strict=True):
            piece = np.reshape(x[end - type_.size : end], type_.shape)
            if x.dtype == self.dtype and type_.dtype != self.dtype:
                piece = _convert(piece, type_, path)
            pieces.append(piece if isinstance(piece, Tracer) else piece.copy()[()])
        return rebuild(self.structure, self.numeric, pieces, self.others)

    def ravel(self, tree: Any, name: str, model: str) -> Any:
        """Return the vector of what the user gave as `name`, like `model`, keys in any order."""
        leaves = leaves_of(self.structure, tree, name, model)
        unravel: Any
        vector, unravel = ravel_pytree(pytree.unflatten(self.structure, leaves))
        for found, own, path in zip(unravel.types, self.types, self.paths, strict=True):
            if found.shape != own.shape:
                raise InputError(
                    f"{name}{path} has the shape {found.shape}, not {own.shape}, at "
                    f"{user_location()}. Give a container like {model}."
                )
        return vector


def _refuse_integers_beside_floats(types: Sequence[ArrayType], paths: Sequence[str]) -> None:
    if not any(t.differentiable for t in types):
        return
    for type_, path in zip(types, paths, strict=True):
        if not type_.differentiable:
            raise InputError(
                f"ravel_pytree: tree{path} is of type {type_}, beside floating numbers, at "
                f"{user_location()}: the way back from one vector would round it. Make it a "
                "float, keep it out of the container, or mark its dataclass field as static "
                "(field(metadata={'static': True}))."
            )


def _convert(piece: Any, type_: ArrayType, path: str) -> Any:
    """Return a part of the vector in the dtype that its leaf had."""
    if piece.dtype.kind == "c" and type_.dtype.kind != "c":
        if not isinstance(piece, Tracer) and np.any(piece.imag):
            raise InputError(
                f"unravel: tree{path} is real, but the vector has an imaginary part there, at "
                f"{user_location()}. Give a vector that is real there, or make the leaf complex."
            )
        piece = piece.real
    return piece.astype(type_.dtype)
