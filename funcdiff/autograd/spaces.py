"""Vector spaces of arrays and containers, and the convention for covectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from funcdiff import pytree
from funcdiff.api.derivatives.linear_maps import jvp, vjp
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location

# ---- autograd's convention for covectors: linear forms ``Re Σ g·t``, without a conjugation -------
#
# So its vector-Jacobian products are the conjugates of funcdiff's of conjugates.


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the vector-Jacobian product of a function of one argument, and its value.

    Parameters
    ----------
    fun
        Function of an array or a container, returning the same.
    x
        The point.

    Returns
    -------
    vjp : callable
        Of a covector like ``fun(x)``; it returns one like `x`.
    value
        ``fun(x)``.
    """
    value, pullback = vjp(fun, cast(x))
    return partial(apply_pullback, pullback, value, True), value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function of a tangent like `x` that returns ``(fun(x), J·tangent)``."""
    x = cast(x)
    return lambda g: jvp(fun, (x,), (match_dtypes(g, x),))


def apply_pullback(
    pullback: Callable[[Any], tuple[Any, ...]],
    value: Any,
    alone: bool,  # noqa: FBT001
    g: Any,
) -> Any:
    """Return what a pullback gives in autograd's convention, of one argument `alone` or of all."""
    found = conj_leaves(pullback(conj_leaves(match_dtypes(g, value))))
    return found[0] if alone else found


def conj_leaves(tree: Any) -> Any:
    """Return a container with its complex leaves conjugated."""
    return _map(lambda leaf: np.conj(leaf) if np.iscomplexobj(leaf) else leaf, tree)


_LEAVES: Final = frozenset((np.ndarray, np.float64, float))


def _is_leaf(x: Any) -> bool:
    return type(x) in _LEAVES or issubclass(type(x), Tracer)


def _map(f: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf of a container, which mostly is an array."""
    if _is_leaf(tree):
        return f(tree)
    if type(tree) is tuple:
        return tuple([_map(f, x) for x in tree])
    return pytree.map(f, tree)


def cast(tree: Any) -> Any:
    """Return a container with its arrays of integers as floats, by which it is differentiated.

    Numbers stay: that one is an integer is most often a mistake, which autograd refuses, too.
    """
    return _map(lambda x: x.astype(float) if _is_array_of_integers(x) else x, tree)


def cast_at(args: Sequence[Any], argnum: int | Sequence[int]) -> list[Any]:
    """Return arguments, `cast` where one differentiates by them."""
    chosen = {argnum} if isinstance(argnum, int) else {*argnum}
    places = {k % len(args) for k in chosen if -len(args) <= k < len(args)}
    return [cast(x) if k in places else x for k, x in enumerate(args)]


def _is_array_of_integers(x: Any) -> bool:
    return issubclass(type(x), np.ndarray) and x.dtype.kind in "iub"


def match_dtypes(tree: Any, like: Any) -> Any:
    """Return vectors in the dtypes of others: of the float width, and real where these are.

    The real part is what a complex covector of a real value is for.  Integers become floats.
    """
    if _is_leaf(tree) and _is_leaf(like):
        return _match_dtype(tree, like)
    leaves, structure = pytree.flatten(tree)
    others, form = pytree.flatten(like)
    if structure != form:  # for which others have words
        return floating(tree)
    pairs = zip(leaves, others, strict=True)
    return pytree.unflatten(structure, [_match_dtype(x, other) for x, other in pairs])


def _match_dtype(x: Any, like: Any) -> Any:
    given, wanted = _dtype(x), _dtype(like)
    if given == wanted or given is None or wanted is None or wanted.kind not in "fc":
        return _floating(x)
    x = np.real(x) if (given.kind, wanted.kind) == ("c", "f") else x
    return x.astype(wanted) if hasattr(x, "astype") else wanted.type(x)


def floating(tree: Any) -> Any:
    """Return a container with integers as floats."""
    return _map(_floating, tree)


def _floating(leaf: Any) -> Any:
    dtype = _dtype(leaf)
    return leaf * 1.0 if dtype is not None and dtype.kind in "iub" else leaf


def _dtype(leaf: Any) -> Any:
    dtype = getattr(leaf, "dtype", None)
    is_python = dtype is None and isinstance(leaf, int | float | complex)
    return np.result_type(leaf) if is_python else dtype


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
