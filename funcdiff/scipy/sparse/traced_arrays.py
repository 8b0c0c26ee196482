"""Sparse arrays of traced numbers: a constant pattern of SciPy's, and the entries apart from it.

The pattern is an array of SciPy's whose entries are their own *numbers*, 1, 2, 3, ...  Whatever
SciPy does with places (converts, transposes, slices, stacks), it does with these, and what it
returns says which entry went where: one gather follows.  Formats, shapes and errors are SciPy's.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, Final, NoReturn

import numpy as np

from funcdiff import pytree
from funcdiff.api.inspection import stop_gradient
from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.scipy.covered import Holder, load
from funcdiff.scipy.sparse import row_products
from funcdiff.scipy.sparse.row_products import Rows

SCIPY: Final[Any] = load("scipy.sparse")
_ATTRIBUTES: Final = frozenset(
    [
        "shape",
        "ndim",
        "format",
        "nnz",
        "size",
        "indices",
        "indptr",
        "row",
        "col",
        "coords",
        "offsets",
        "blocksize",
        "getnnz",
        "nonzero",
        "has_sorted_indices",
        "has_canonical_format",
        "get_shape",
        "getformat",
        "check_format",
    ]
)
_MOVING: Final = (
    "tocsr tocsc tocoo tobsr todia asformat copy reshape transpose __getitem__ getrow getcol "
    "diagonal toarray todense sorted_indices swapaxes permute_dims getH"
)
_ELEMENTWISE: Final = (
    "conj conjugate sqrt sin tan arcsin arctan sinh tanh arcsinh arctanh expm1 log1p sign "
    "deg2rad rad2deg floor ceil rint trunc"
)


class SparseArray(Holder):
    """A sparse array of SciPy's with traced entries.

    Attributes
    ----------
    pattern
        Of SciPy's, with the numbers of the entries, in their order, in place of the entries: what
        is returned is a copy.
    data
        The entries, as SciPy's array of this format has them.
    """

    __array_ufunc__ = None

    def __init__(self, pattern: Any, data: Any) -> None:
        self._pattern = pattern
        self.data = data

    @property
    def pattern(self) -> Any:
        """A pattern of the caller's own: SciPy sorts and sums in place."""
        return apart(self._pattern)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the entries."""
        found: np.dtype[Any] = self.data.dtype
        return found

    def __getattr__(self, name: str) -> Any:
        if name in _ATTRIBUTES:
            return _own(getattr(self._pattern, name))
        if name.startswith("__") or not hasattr(SCIPY.csr_matrix, name):
            raise AttributeError(f"a sparse array of traced numbers has no attribute {name!r}")
        raise UnsupportedNumPyError(
            f"the method {name} of a sparse array of traced numbers is not supported, at "
            f"{user_location()}. Its pattern is constant, and the entries are A.data: compute with "
            "these, or with A.toarray()."
        )

    def __repr__(self) -> str:
        kind = type(self._pattern).__name__
        return f"<{kind} of traced {self.dtype}, shape {self.shape}, {self.nnz} stored>"

    def with_data(self, data: Any) -> Any:
        """Return an array of the same pattern."""
        return sparse_array(self._pattern, data)

    def distinct(self) -> SparseArray:
        """Return the same array without places that occur twice."""
        return _sum_duplicates(self)

    def rows(self) -> Rows:
        """Return the entries row by row, or of a CSC array column by column, for products."""
        a = self if self.format in ("csr", "csc") else self.tocsr()
        pattern = a._pattern
        return Rows(a.data, pattern.indices, pattern.indptr, a.shape, a.format == "csc")

    def sum_duplicates(self) -> NoReturn:
        """Refuse: patterns do not change."""
        raise UnsupportedNumPyError(
            f"A.sum_duplicates() would change a pattern, at {user_location()}. Where places occur "
            "twice, A.tocsr() has their sums."
        )

    def eliminate_zeros(self) -> None:
        """Do nothing: an entry that is zero here need not be so elsewhere."""

    # ---- sums ------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        """Return the sum of the entries, or of rows or columns."""
        _no_out(out)
        if axis is None or self.ndim == 1:
            return np.sum(self.data if self.format != "dia" else self.tocoo().data, dtype=dtype)
        axis = axis % 2 if isinstance(axis, int) else axis
        if axis not in (0, 1):
            return self.tocoo().sum(dtype=dtype) if sorted(axis) == [0, 1] else self.sum(axis[0])
        ones = np.ones(self.shape[axis], self.dtype)
        total = row_products.multiply_dense((self.T if axis == 0 else self).rows(), ones)
        total = total if dtype is None else total.astype(dtype)
        return total if is_array(self) else np.expand_dims(total, axis)

    def mean(self, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        """Return the mean of all elements, or of those of rows or columns."""
        _no_out(out)
        count = self.shape[axis] if isinstance(axis, int) else prod(self.shape)
        return self.sum(axis, dtype) / count

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        return self.diagonal(offset).sum()

    def __iter__(self) -> Iterator[Any]:
        return (self.__getitem__(k) for k in range(self.shape[0]))

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise UnsupportedNumPyError(
            f"a sparse array of traced numbers cannot be written to, at {user_location()}. Collect "
            "the entries and their places, and make it of them: coo_array((data, (i, j))).tocsr()."
        )


# ---- what SciPy does with numbers, done with entries ---------------------------------------------


def is_sparse(x: Any) -> bool:
    """Whether this is a sparse array, ours or SciPy's."""
    return isinstance(x, SparseArray) or SCIPY.issparse(x)


def is_array(x: Any) -> bool:
    """Whether this is a sparse array, not one of SciPy's matrices, whose * is a product."""
    return isinstance(x._pattern if isinstance(x, SparseArray) else x, SCIPY.sparray)


def apart(x: Any) -> Any:
    """Return a copy of a sparse array of SciPy's, which its methods may sort or sum in place."""
    found = copy.copy(x)
    for name, part in vars(x).items():
        setattr(found, name, _own(part))
    return found


def _own(part: Any) -> Any:
    """Return a copy of an array, or of some in a tuple."""
    if isinstance(part, tuple):
        return tuple(map(_own, part))
    return part.copy() if isinstance(part, np.ndarray) else part


def sparse_array(pattern: Any, data: Any) -> Any:
    """Return the sparse array of a pattern and entries: SciPy's own if these are not traced."""
    if type(data) is not np.ndarray or data.shape != pattern.data.shape:
        return SparseArray(pattern, data)
    found = apart(pattern)
    found.data = data
    return found


def value_of(x: Any) -> Any:
    """Return what is traced with the values that it has: a sparse array of SciPy's, or an array.

    Raises
    ------
    ConcreteValueError
        If they have none.
    """
    if isinstance(x, SparseArray):
        return sparse_array(x._pattern, value_of(x.data))
    return np.array(stop_gradient(x)) if isinstance(x, Tracer) else x


def number_entries(x: Any, first: int = 1) -> Any:
    """Return a sparse array of SciPy's with numbers for entries."""
    found = apart(x if hasattr(x, "data") and x.format not in ("lil", "dok") else x.tocoo())
    found.data = np.arange(first, first + found.data.size).reshape(found.data.shape)
    return found


def with_pattern(x: Any) -> SparseArray:
    """Return any sparse array as one of ours, without places that occur twice."""
    if isinstance(x, SparseArray):
        return x.distinct()
    pattern = number_entries(x)
    return SparseArray(pattern, x.data if x.format == pattern.format else x.tocoo().data).distinct()


def follow(entries: Any, found: Any) -> Any:
    """Put entries where their numbers are; 0 stands for no entry."""
    if isinstance(found, tuple):
        return tuple(follow(entries, part) for part in found)
    if SCIPY.issparse(found):
        refuse_changing(f"{found.format}_array")
        return sparse_array(number_entries(found), take(entries, found.data))
    return take(entries, np.asarray(found))


def refuse_changing(name: str) -> None:
    """Raise if sparse arrays of this class change their patterns."""
    if name.startswith(("dok", "lil")):
        raise UnsupportedNumPyError(
            f"{name} of traced numbers, at {user_location()}: its pattern changes. "
            "Collect the entries and their places, and make it of them: "
            "coo_array((data, (i, j)), shape)."
        )


def take(entries: Any, numbers: Any) -> Any:
    """Return the entries of these numbers, and zero for 0."""
    places = np.asarray(numbers).astype(np.intp)
    flat = np.ravel(entries)
    if places.size and places.min() > 0:
        return flat[places - 1]
    return np.concatenate([np.zeros(1, flat.dtype), flat])[places]


def _sum_duplicates(a: SparseArray) -> SparseArray:
    pattern = a._pattern
    if a.format == "dia" or (a.format != "coo" and pattern.has_canonical_format):
        return a
    if a.format == "bsr":
        summed: SparseArray = a if _has_distinct_blocks(pattern) else _as_coordinates(a).tocsr()
        return summed
    coords = pattern.coords if a.format == "coo" else pattern.tocoo(copy=False).coords
    keys = np.ravel_multi_index([c.astype(np.intp) for c in coords], a.shape)
    distinct, group = np.unique(keys, return_inverse=True)
    if distinct.size == keys.size:
        return a
    places = np.unravel_index(distinct, a.shape)
    sums = row_products.sum_groups(a.data, group, distinct.size)
    kind = SCIPY.coo_array if is_array(a) else SCIPY.coo_matrix
    found = kind((np.arange(1, distinct.size + 1), places), shape=a.shape).asformat(a.format)
    return SparseArray(number_entries(found), take(sums, found.data))


def _has_distinct_blocks(pattern: Any) -> bool:
    rows = np.repeat(np.arange(len(pattern.indptr) - 1), np.diff(pattern.indptr))
    return len({*zip(rows, pattern.indices, strict=True)}) == len(rows)


def _as_coordinates(a: SparseArray) -> SparseArray:
    """Return a BSR array in coordinates."""
    found = a.pattern.tocoo()
    return SparseArray(number_entries(found), take(a.data, found.data)).distinct()


def _no_out(out: Any) -> None:
    if out is not None:
        raise UnsupportedNumPyError(
            f"out= of a sparse array of traced numbers, at {user_location()}. Use what is returned."
        )


# ---- methods by name -----------------------------------------------------------------------------


def _moving(name: str) -> Callable[..., Any]:
    def method(self: SparseArray, *args: Any, **kwargs: Any) -> Any:
        a = self if name in ("copy", "tocoo", "transpose") else self.distinct()
        _no_out(kwargs.get("out"))
        return follow(a.data, getattr(a.pattern, name)(*args, **kwargs))

    return method


def _elementwise(name: str) -> Callable[..., Any]:
    def method(self: SparseArray, copy: bool = True) -> Any:
        a = self.distinct()
        return a.with_data(getattr(np, name)(a.data))

    return method


def _comparing(name: str) -> Callable[[Any, Any], Any]:
    """Return a comparison of the values, whose result has no derivative: an array of SciPy's."""
    compare = getattr(operator, name)
    return lambda a, b: compare(value_of(a), value_of(b))


_PROPERTIES: Final[dict[str, Callable[[Any], Any]]] = {
    "T": lambda a: a.transpose(),
    "H": lambda a: a.transpose().conj(),
    "real": lambda a: a.with_data(np.real(a.data)),
    "imag": lambda a: a.with_data(np.imag(a.data)),
}
for _name, _function in _PROPERTIES.items():
    setattr(SparseArray, _name, property(_function))
for _name in _MOVING.split():
    setattr(SparseArray, _name, _moving(_name))
for _name in _ELEMENTWISE.split():
    setattr(SparseArray, _name, _elementwise(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(SparseArray, f"__{_name}__", _comparing(_name))


# ---- as a container ------------------------------------------------------------------------------


class Pattern:
    """A pattern that equals another one by its format and places."""

    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern
        parts = ("indices", "indptr", "row", "col", "offsets")
        places = [getattr(pattern, part, None) for part in parts]
        self.key = (
            type(pattern),
            pattern.shape,
            *(None if x is None else x.tobytes() for x in places),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.pattern.format} pattern of {self.pattern.shape}"


def _one_matrix(data: Any, pattern: Any) -> Any:
    """Return entries that are not those of a whole batch: SciPy has no stacks of matrices."""
    if isinstance(data, np.ndarray) and data.ndim > pattern.data.ndim:
        raise UnsupportedNumPyError(
            f"a stack of {len(data)} sparse matrices was to be returned, as by vmap, at "
            f"{user_location()}, and SciPy has none. Return the entries: A.data, of one pattern, "
            'or what fd.jacobian(f, sparse=True, format="coo") returns.'
        )
    return data


pytree.register(
    SparseArray,
    lambda a: ([a.data], Pattern(a.pattern)),
    lambda aux, children: sparse_array(aux.pattern, _one_matrix(children[0], aux.pattern)),
    names=("data",),
)
