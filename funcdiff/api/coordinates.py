"""Containers as real vectors: names of elements, numbers alike, matrices, functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.raveling import ravel_pytree
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.pytree.structure import MismatchError, leaves_like, leaves_of


@dataclass(frozen=True)
class Coordinates:
    """Where the leaves of a container are in a real vector; complex elements are two numbers."""

    structure: Any
    paths: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Any) -> Coordinates:
        """Return those of a container of numbers and arrays."""
        leaves, structure = pytree.flatten(tree)
        shapes = [np.shape(x) + (2,) * np.iscomplexobj(x) for x in leaves]
        return cls(structure, tuple(pytree.paths(structure)), tuple(shapes))

    @property
    def places(self) -> list[tuple[slice, tuple[int, ...]]]:
        """The part of the vector that belongs to each leaf, and the shape of the leaf."""
        ends = np.cumsum([0, *map(prod, self.shapes)]).tolist()
        return [(slice(a, b), s) for (a, b), s in zip(pairwise(ends), self.shapes, strict=True)]

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(map(prod, self.shapes))

    def name(self, k: int) -> str:
        """Return the path of an element of the vector."""
        for path, shape in zip(self.paths, self.shapes, strict=True):
            if k < prod(shape):
                place = ", ".join(map(str, np.unravel_index(k, shape)))
                return f"{path}[{place}]" if place else path
            k -= prod(shape)
        raise IndexError(k)

    def flat(self, tree: Any, what: str, *, least: float = -np.inf) -> Any:
        """Return numbers alike, one for each leaf or element, as a vector; messages say `what`."""
        try:
            leaves = leaves_like(self.structure, tree)
        except MismatchError:
            structure = pytree.flatten(tree)[1]
            listed = " A list is a container: the numbers of an array go into np.array([...])."
            raise InputError(
                f"{what} is {structure}, but the point is {self.structure}, at {user_location()}. "
                "Give one entry per leaf of the point, 0.0 for an exact number."
                f"{listed if '[' in f'{structure}{self.structure}' else ''}"
            ) from None
        found = self.numbers(leaves, f"{what} of x")
        if not np.all(found >= least):
            k = int(np.argmin(found >= least))
            raise InputError(
                f"{what} of x{self.name(k)} is {found[k]}, at {user_location()}. Give numbers from "
                f"{least:g} on."
            )
        return found

    def numbers(self, leaves: Sequence[Any], what: str) -> Any:
        """Return real numbers of each leaf, one or as many as it has, as a vector."""
        found = np.zeros(self.size)
        for leaf, path, (part, shape) in zip(leaves, self.paths, self.places, strict=True):
            given = np.asarray(leaf)
            if given.shape not in ((), shape) or given.dtype.kind not in "fiu":
                raise InputError(
                    f"{what}{path} has shape {given.shape} and dtype {given.dtype}, but the leaf "
                    f"has shape {shape}, at {user_location()}. Give one real number for all "
                    "elements, or one for each."
                )
            found[part] = np.reshape(given, -1)
        return found

    def check_within(self, x: Any, low: Any, high: Any, words: tuple[str, str, str]) -> None:
        """Refuse a vector with an element outside of bounds; `words` begin and end the message."""
        outside = ~((low <= x) & (x <= high) & np.isfinite(x))
        if np.any(outside):
            k = int(np.argmax(outside))
            raise InputError(
                f"{words[0]}{self.name(k)}{words[1]} is {x[k]}, not between its bounds {low[k]} "
                f"and {high[k]}, at {user_location()}. {words[2]}"
            )

    def vector(self, flat: Any) -> Any:
        """Return a container with the numbers of a vector."""
        return pytree.unflatten(self.structure, [flat[p].reshape(s)[()] for p, s in self.places])

    def matrix(self, dense: Any) -> Any:
        """Return a square matrix as blocks by leaf and leaf, like a Hessian."""
        places = self.places
        rows = [[dense[p, q].reshape(s + t)[()] for q, t in places] for p, s in places]
        whole = [pytree.unflatten(self.structure, row) for row in rows]
        return pytree.unflatten(self.structure, whole)


def real_vector(tree: Any) -> Any:
    """Return the numbers of a container as a real vector, those of traced ones too."""
    flat = [
        np.ravel(np.stack([np.real(x), np.imag(x)], axis=-1) if np.iscomplexobj(x) else x)
        for x in pytree.flatten(tree)[0]
    ]
    return np.concatenate(flat) if flat else np.zeros(0)


def bound_vectors(
    ends: tuple[Any, Any], tree: Any, what: str = "bounds", of: str = "x"
) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of all elements of a container, as vectors.

    Each end is None, a number for all, or a container like `tree` with None, a number or an array
    for each leaf.
    """
    at = Coordinates.of(tree)
    low, high = (
        at.numbers([none if x is None else x for x in _by_leaf(end, tree, what)], f"{what} of {of}")
        for end, none in zip(ends, (-np.inf, np.inf), strict=True)
    )
    crossed = ~(low <= high) | (low == np.inf) | (high == -np.inf)
    if np.any(crossed):
        k = int(np.argmax(crossed))
        raise InputError(
            f"{what} of {of}{at.name(k)} are {low[k]} and {high[k]}, at {user_location()}: no "
            "number is between them. Give the lower one first; equal ones fix the value."
        )
    return low, high


def _by_leaf(end: Any, tree: Any, what: str) -> list[Any]:
    """Return the bound of each leaf, which may be None; so may be what is no leaf."""
    leaves, structure = pytree.flatten(tree, is_leaf=_is_none)
    ends = [end] * len(leaves)  # a list of numbers is an array of them
    if end is not None and not np.isscalar(end) and structure != pytree.LEAF:
        try:
            ends = leaves_like(structure, end, _is_none)
        except MismatchError:
            found = pytree.flatten(end, _is_none)[1]
            raise InputError(
                f"{what} have the structure {found}, not {structure}, at {user_location()}. Give "
                "one number for all, or a container with a number, an array or None per leaf."
            ) from None
    return [bound for bound, leaf in zip(ends, leaves, strict=True) if leaf is not None]


def _is_none(x: Any) -> bool:
    return x is None


def check_dtypes(
    tree: Any, what: str, cure: str, error: type[InputError | OutputError], *, kinds: str = "f"
) -> None:
    """Refuse leaves of which derivatives would mean something else, or nothing."""
    for path, leaf in pytree.flatten_with_paths(tree)[0]:
        dtype = leaf.dtype if isinstance(leaf, Tracer) else np.asarray(leaf).dtype
        if dtype.kind not in kinds:
            raise error(f"{what}{path} is of dtype {dtype}, at {user_location()}{cure}")


def is_fraction(level: Any) -> bool:
    """Whether an argument is a number between 0 and 1."""
    return isinstance(level, float | np.floating) and bool(0 < level < 1)


def refuse_traced(tree: Any, what: str, cure: str) -> None:
    """Refuse traced numbers where values are needed."""
    if any_traced(pytree.flatten(tree)[0]):
        raise InputError(f"{what} needs values, but is traced at {user_location()}: {cure}")


def on_vectors(
    f: Callable[..., Any], args: Sequence[Any], name: str, *, kinds: str = "fc"
) -> tuple[Callable[[Any], Any], Any, Coordinates]:
    """Return a function as one of vectors, the point as a vector, and its coordinates.

    The function refuses results of other kinds, and those that are not floating. Keys of results
    have the order of the first one, whatever branches there are.
    """
    if not args:
        raise InputError(
            f"fd.{name} was called without a point, at {user_location()}: write "
            f"fd.{name}(f)(x, ...)."
        )
    whole = args[0] if len(args) == 1 else tuple(args)
    cure = (
        f". fd.{name} takes real floating numbers: make integers floats, close over what is exact, "
        "and give the real and the imaginary part of a complex number as two leaves."
    )
    check_dtypes(whole, f"fd.{name}: x", cure, InputError)
    point, unravel = ravel_pytree(whole)
    first: dict[str, Coordinates] = {}
    returned = f". Return floating {'' if 'c' in kinds else 'real '}numbers only."

    def on_vector(z: Any) -> Any:
        value = f(unravel(z)) if len(args) == 1 else f(*unravel(z))
        check_dtypes(value, f"fd.{name}: the result", returned, OutputError, kinds=kinds)
        to = first.setdefault("result", Coordinates.of(value))
        name_of_result = f"fd.{name}: the result of another branch"
        leaves = leaves_of(to.structure, value, name_of_result, "that of the first one")
        shapes = Coordinates.of(leaves).shapes
        if shapes != to.shapes:
            raise OutputError(
                f"fd.{name}: branches return arrays of shapes {to.shapes} and {shapes}, where a "
                f"complex number is two, at {user_location()}. Return the same from all."
            )
        return real_vector(leaves)

    return on_vector, point, Coordinates.of(unravel(point))
