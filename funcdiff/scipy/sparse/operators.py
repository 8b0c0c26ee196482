"""Operators between sparse arrays, dense arrays and numbers, traced or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.deferring import met
from funcdiff.scipy.sparse import row_products
from funcdiff.scipy.sparse.row_products import Rows, dense, is_scalar
from funcdiff.scipy.sparse.traced_arrays import (
    SCIPY,
    SparseArray,
    apart,
    is_array,
    is_sparse,
    number_entries,
    sparse_array,
    take,
    with_pattern,
)


def both(a: Any, b: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Return what a product of SciPy's of the places of two arrays makes of their entries.

    It is called with the numbers of one and ones for the other, twice.
    """
    (left, x), (right, y) = map(_with_numbers, (a, b))
    first = function(left, _ones(right))
    second = function(_ones(left), right)
    if not SCIPY.issparse(first):
        return take(x, first) * take(y, second)
    return sparse_array(number_entries(first), take(x, first.data) * take(y, second.data))


def _with_numbers(x: Any) -> tuple[Any, Any]:
    """Return an array, sparse or dense, with numbers for entries, and its entries."""
    if is_sparse(x):
        ours = with_pattern(x)
        return ours.pattern, ours.data
    x = dense(x)
    return np.arange(1, x.size + 1).reshape(x.shape), x


def _ones(numbers: Any) -> Any:
    if not SCIPY.issparse(numbers):
        return np.ones_like(numbers)
    found = apart(numbers)
    found.data = np.ones_like(numbers.data)
    return found


def multiply(a: Any, b: Any) -> Any:
    """Multiply sparse arrays, or one and a dense one, element by element."""
    if is_scalar(b):
        ours = with_pattern(a)
        return ours.with_data(ours.data * b)
    return both(a, b, lambda x, y: x.multiply(y))


def add(a: Any, b: Any) -> Any:
    """Add a sparse array and another one, or a dense one."""
    if is_sparse(b):
        return join(a, b, np.add)
    if is_scalar(b):
        if not isinstance(b, Tracer) and b == 0:
            return a.copy()
        raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
    return with_pattern(a).toarray() + b


def join(a: Any, b: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Apply a function that is zero of zeros to all places that one of two arrays has."""
    if not is_sparse(b):
        raise UnsupportedNumPyError(
            f"a sparse array of traced numbers met {type(b).__name__} at {user_location()}, where "
            "a sparse array is expected. Use A.toarray()."
        )
    a, b = with_pattern(a), with_pattern(b)
    many = a.data.size + 1
    other = b.pattern
    other.data = other.data * many
    found = a.pattern + other
    data = function(take(a.data, found.data % many), take(b.data, found.data // many))
    return sparse_array(number_entries(found), data)


def matmul(a: Any, b: Any) -> Any:
    """Return a matrix product of which at least one factor is sparse."""
    if is_scalar(a) or is_scalar(b):
        raise ValueError("Scalar operands are not allowed, use '*' instead")
    if not is_sparse(a):
        found = matmul(b.transpose(), np.transpose(a))
        return np.transpose(found)
    if is_sparse(b):
        return _matmul_sparse(with_pattern(a), with_pattern(b))
    if len(a.shape) == 1:
        return matmul(a.reshape((1, -1)), b)[0]
    return row_products.multiply_dense(rows_of(a), b)


def rows_of(a: Any) -> Rows:
    """Return the rows of a sparse array, ours or SciPy's."""
    if isinstance(a, SparseArray):
        return a.rows()
    a = a if a.format in ("csr", "csc") else a.tocsr()
    return Rows(a.data, a.indices, a.indptr, a.shape, a.format == "csc")


def _matmul_sparse(a: SparseArray, b: SparseArray) -> Any:
    """Multiply the entries that meet, and sum what has one place."""
    if a.ndim != 2 or b.ndim != 2:
        raise UnsupportedNumPyError("products of sparse arrays that are no matrices")
    one = np.ones((1, 1))
    kind = (type(a.pattern)(one) @ type(b.pattern)(one)).format  # as SciPy has it
    left, right = a.tocsr(), b.tocsr()
    if left.shape[1] != right.shape[0]:
        raise ValueError(f"matmul: dimension mismatch of {left.shape} and {right.shape}")
    counts = np.diff(right.indptr)[left.indices]
    first = np.repeat(np.arange(left.nnz), counts)
    before = np.cumsum(counts) - counts
    second = np.arange(len(first)) - np.repeat(before - right.indptr[left.indices], counts)
    rows = np.repeat(np.arange(left.shape[0]), np.diff(left.indptr))[first]
    keys = rows * np.intp(right.shape[1]) + right.indices[second]
    distinct, group = np.unique(keys, return_inverse=True)
    shape = (left.shape[0], right.shape[1])
    places = np.unravel_index(distinct, shape) if distinct.size else (distinct, distinct)
    new = SCIPY.coo_array if is_array(a) else SCIPY.coo_matrix
    found = new((np.arange(1, distinct.size + 1), places), shape=shape).tocsr()
    sums = row_products.sum_groups(left.data[first] * right.data[second], group, distinct.size)
    return sparse_array(number_entries(found), take(sums, found.data)).asformat(kind)


# ---- as methods ----------------------------------------------------------------------------------


def subtract(a: Any, b: Any) -> Any:
    """Subtract an array, sparse or dense, from another."""
    return add(a, negative(b)) if is_sparse(a) else add(negative(b), a)


def negative(a: Any) -> Any:
    """Change the sign."""
    return a.with_data(-a.data) if isinstance(a, SparseArray) else -a


def times(a: Any, b: Any) -> Any:
    """Return what ``*`` means: of SciPy's matrices the matrix product."""
    by_element = all(is_array(x) for x in (a, b) if is_sparse(x))
    if not by_element and not is_scalar(a) and not is_scalar(b):
        return matmul(a, b)
    return multiply(a, b) if is_sparse(a) else multiply(b, a)


def divide(a: Any, b: Any) -> Any:
    """Divide a sparse array by a number or a dense array."""
    if is_sparse(b):
        raise UnsupportedNumPyError(
            f"a quotient by a sparse array is not finite wherever that has no entry, at "
            f"{user_location()}. Divide the entries, A.data / B.data, or the dense arrays."
        )
    if is_scalar(b) and np.can_cast(a.dtype, np.float64):
        a = a.astype(np.float64)  # as SciPy does
    return multiply(a, 1 / b)


def power(a: Any, n: Any, dtype: Any = None) -> Any:
    """Return the entries to a power, which is a positive number."""
    if not is_scalar(n) or n <= 0:
        raise NotImplementedError("a sparse power has a positive number for an exponent")
    a = with_pattern(a)
    return a.with_data((a.data if dtype is None else a.data.astype(dtype)) ** n)


def power_of(a: Any, n: Any) -> Any:
    """Return what ``**`` means: of SciPy's matrices a power of the matrix."""
    if is_array(a):
        return power(a, n)
    if n != int(n) or n < 0:
        raise ValueError("exponent must be an integer that is not negative")
    found = SCIPY.identity(a.shape[0], a.dtype, a.format) if n == 0 else a
    for _ in range(int(n) - 1):
        found = matmul(found, a)
    return found


def convert(a: Any, dtype: Any, casting: Any = "unsafe", copy: bool = True) -> Any:
    """Return the array with entries of a dtype."""
    return a.with_data(a.data.astype(dtype, casting=casting))


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "__neg__": negative,
    "__abs__": lambda a: (b := with_pattern(a)).with_data(np.abs(b.data)),
    "__add__": add,
    "__radd__": add,
    "__sub__": subtract,
    "__rsub__": lambda a, b: subtract(b, a),
    "__mul__": times,
    "__rmul__": lambda a, b: times(b, a),
    "multiply": multiply,
    "__truediv__": divide,
    "astype": convert,
    "power": power,
    "__pow__": power_of,
    "__matmul__": matmul,
    "__rmatmul__": lambda a, b: matmul(b, a),
    "dot": lambda a, b: multiply(a, b) if is_scalar(b) else matmul(a, b),
    "maximum": lambda a, b: join(a, b, np.maximum),
    "minimum": lambda a, b: join(a, b, np.minimum),
}
for _name, _function in _METHODS.items():
    setattr(SparseArray, _name, _function)


# ---- between SciPy's own and traced arrays -------------------------------------------------------

_OPERATORS: Final[dict[np.ufunc, Callable[[Any, Any], Any]]] = {
    np.matmul: matmul,
    np.multiply: times,
    np.add: lambda a, b: add(a, b) if is_sparse(a) else add(b, a),
    np.subtract: subtract,
    np.divide: divide,
}


def _meet(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    operator = _OPERATORS.get(ufunc)
    if operator is None:
        raise UnsupportedNumPyError(
            f"np.{ufunc.__name__} of a sparse and a traced array is not supported, at "
            f"{user_location()}. Use A.toarray()."
        )
    return operator(*operands)


met.append(_meet)
