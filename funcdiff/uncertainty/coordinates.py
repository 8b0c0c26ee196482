"""A function of containers as one of real vectors, and matrices between vectors as containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.raveling import element_name, ravel_pytree
from funcdiff.errors import InputError, OutputError, user_location


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
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).tolist()
        return [(slice(a, b), s) for (a, b), s in zip(pairwise(ends), self.shapes, strict=True)]

    @property
    def size(self) -> int:
        """Length of the vector."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def name(self, k: int) -> str:
        """Return the name of an element of the vector."""
        return element_name(self.paths, self.shapes, k)

    def flat(self, tree: Any, what: str, *, least: float = -np.inf) -> Any:
        """Return numbers alike, one for each leaf or element, as a vector; messages say `what`."""
        leaves, structure = pytree.flatten(tree)
        if structure != self.structure:
            listed = " A list is a container: the numbers of an array go into np.array([...])."
            raise InputError(
                f"{what} is {structure}, but the point is {self.structure}, at {user_location()}. "
                "Give one entry per leaf of the point, 0.0 for an exact number."
                f"{listed if '[' in f'{structure}{self.structure}' else ''}"
            )
        found = np.zeros(self.size)
        for leaf, path, (part, shape) in zip(leaves, self.paths, self.places, strict=True):
            given = np.asarray(leaf)
            if given.shape not in ((), shape) or given.dtype.kind not in "fiu":
                raise InputError(
                    f"{what} of x{path} has shape {given.shape} and dtype {given.dtype}, but the "
                    f"leaf has shape {shape}, at {user_location()}. Give one real number for all "
                    "elements, or one for each."
                )
            found[part] = np.reshape(leaf, -1)
        if not np.all(found >= least):
            k = int(np.argmin(found >= least))
            raise InputError(
                f"{what} of x{self.name(k)} is {found[k]}, at {user_location()}. Give numbers from "
                f"{least:g} on."
            )
        return found

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


def check_output(value: Any, name: str, kinds: str) -> None:
    """Refuse results of which the derivatives would mean something else, or nothing."""
    for path, leaf in pytree.flatten_with_paths(value)[0]:
        if np.asarray(leaf).dtype.kind not in kinds:
            raise OutputError(
                f"fd.{name}: the result{path} is of dtype {np.asarray(leaf).dtype}, at "
                f"{user_location()}. Return floating {'' if 'c' in kinds else 'real '}numbers only."
            )


def on_vectors(
    f: Callable[..., Any], args: Sequence[Any], name: str
) -> tuple[Callable[[Any], Any], Any, Coordinates]:
    """Return a function as one of vectors, the point as a vector, and its coordinates."""
    if not args:
        raise InputError(
            f"fd.{name} was called without a point, at {user_location()}: write "
            f"fd.{name}(f)(x, ...)."
        )
    point, unravel = ravel_pytree(args[0] if len(args) == 1 else tuple(args))
    if point.dtype.kind != "f":
        raise InputError(
            f"fd.{name} takes real floating numbers, got {point.dtype}, at {user_location()}. Make "
            "integers floats, close over what is exact, and give the real and the imaginary part "
            "of a complex number as two leaves."
        )

    def on_vector(z: Any) -> Any:
        return real_vector(f(unravel(z)) if len(args) == 1 else f(*unravel(z)))

    return on_vector, point, Coordinates.of(unravel(point))
