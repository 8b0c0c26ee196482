"""Vector spaces of arrays and containers, as `vspace` returns them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from funcdiff import pytree
from funcdiff.autograd.conventions import conj_leaves
from funcdiff.errors import InputError, user_location


class VSpace:
    """The vector space of arrays, or of containers of them, like a value.

    Parameters
    ----------
    value
        A number, an array or a container, perhaps traced.

    Attributes
    ----------
    shape, dtype
        Of an array; of a container, lists of those of its leaves.
    size
        The number of real numbers in a vector.
    iscomplex
        Whether a leaf is complex.
    """

    def __init__(self, value: Any) -> None:
        leaves, self._structure = pytree.flatten(value)
        self._shapes = [np.shape(leaf) for leaf in leaves]
        self._dtypes = [np.result_type(leaf) for leaf in leaves]
        self.iscomplex = any(dtype.kind == "c" for dtype in self._dtypes)
        alone = self._structure is pytree.LEAF
        self.shape: Any = self._shapes[0] if alone else self._shapes
        self.dtype: Any = self._dtypes[0] if alone else self._dtypes
        self.size = sum(len(basis) * math.prod(shape) for basis, shape in self._parts())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._structure, *self._shapes, *self._dtypes))

    def __repr__(self) -> str:
        return f"VSpace(shape={self.shape}, dtype={self.dtype})"

    def _parts(self) -> Iterator[tuple[tuple[complex, ...], tuple[int, ...]]]:
        """Yield, for each leaf, the real directions of an element, and its shape."""
        for shape, dtype in zip(self._shapes, self._dtypes, strict=True):
            yield ((1.0, 1.0j) if dtype.kind == "c" else (1.0,)), shape

    def _vector(self, leaf: Callable[[tuple[complex, ...], tuple[int, ...]], Any]) -> Any:
        made = [leaf(*part) for part in self._parts()]
        arrays = [np.asarray(x, t)[()] for x, t in zip(made, self._dtypes, strict=True)]
        return pytree.unflatten(self._structure, arrays)

    def zeros(self) -> Any:
        """Return the zero vector."""
        return self._vector(lambda _basis, shape: np.zeros(shape))

    def ones(self) -> Any:
        """Return the vector of ones, of ``1 + 1j`` where it is complex."""
        return self._vector(lambda basis, shape: np.full(shape, sum(basis)))

    def randn(self) -> Any:
        """Return a vector of standard normal numbers, from NumPy's global generator."""
        draw = np.random.standard_normal
        return self._vector(lambda basis, shape: sum(np.multiply(b, draw(shape)) for b in basis))

    def standard_basis(self) -> Iterator[Any]:
        """Yield the unit vectors, one for each of the `size` real numbers."""
        for k, (basis, shape) in enumerate(self._parts()):
            for index in np.ndindex(*shape):
                for direction in basis:
                    leaves, structure = pytree.flatten(self.zeros())
                    unit = np.array(leaves[k])
                    unit[index] = direction
                    yield pytree.unflatten(structure, [*leaves[:k], unit, *leaves[k + 1 :]])

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two vectors."""
        return pytree.map(np.add, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """Return the sum of two vectors, of which the first may be None for zero."""
        return self.add(self.zeros() if x is None else x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Return a vector times a number."""
        return pytree.map(lambda leaf: leaf * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the inner product, ``Re Σ conj(x)·y``."""
        pairs = zip(pytree.flatten(x)[0], pytree.flatten(y)[0], strict=True)
        return sum(np.real(np.sum(np.conj(a) * b)) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        """Return the covector of a vector: its conjugate."""
        return conj_leaves(x)

    @classmethod
    def register(cls, value_type: type, vspace_maker: Any = None) -> NoReturn:
        """Raise: the vectors are the leaves of containers, which are registered elsewhere."""
        raise InputError(
            f"no vector space can be registered for {value_type.__name__}, at {user_location()} "
            f"({vspace_maker or cls.__name__}). Classes that hold arrays are registered with "
            "fd.pytree.register(cls, flatten, unflatten)."
        )


def vspace(value: Any) -> VSpace:
    """Return the vector space that a value is in."""
    return VSpace(value)
