"""Products of the rows of a sparse matrix, as operations record them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcdiff.api.calls.inputs import as_tracers
from funcdiff.core.tracer import Tracer
from funcdiff.scipy.primitives.linalg.sparse_systems import Turned, sparse_product


class Rows(NamedTuple):
    """The entries of a matrix row by row; or of its transpose, if it is `turned`."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    turned: bool

    def operands(self, dtype: Any) -> list[Any]:
        """Return the entries, of a dtype, and their places, of one dtype."""
        kind = np.promote_types(self.indices.dtype, self.indptr.dtype)
        places = [np.asarray(x, kind) for x in (self.indices, self.indptr)]
        return [cast(self.data, dtype), *places]


def is_scalar(x: Any) -> bool:
    """Whether this is a number, traced or not."""
    return isinstance(x, int | float | complex | np.generic) or (
        isinstance(x, Tracer | np.ndarray) and x.ndim == 0
    )


def dense(x: Any) -> Any:
    """Return an array, traced or not."""
    return x if isinstance(x, Tracer) else np.asarray(x)


def cast(x: Any, dtype: Any) -> Any:
    """Return an array in a dtype."""
    return x if x.dtype == dtype else x.astype(dtype)


def common_dtype(*xs: Any) -> np.dtype[Any]:
    """Return the dtype of SciPy's products of such arrays."""
    found = np.result_type(*(x.dtype for x in xs))
    return np.dtype(np.float32) if found == np.float16 else found


def multiply_dense(a: Rows, x: Any) -> Any:
    """Return A·x for a dense vector or matrix."""
    x = dense(x)
    if x.ndim not in (1, 2) or x.shape[0] != a.shape[1]:
        raise ValueError(f"matmul: dimension mismatch of {a.shape} and {x.shape}")
    dtype = common_dtype(a.data, x)
    columns = cast(x if x.ndim == 2 else x.reshape(-1, 1), dtype)
    inner = a.shape[0] if a.turned else a.shape[1]
    p = Turned(inner, a.turned)
    y: Any = sparse_product(p, *as_tracers([*a.operands(dtype), columns]))
    return y if x.ndim == 2 else y.reshape(-1)


def sum_groups(data: Any, group: Any, count: int) -> Any:
    """Sum the entries (along the first axis) of each group, by its number."""
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=count))
    indptr = np.concatenate([[0], ends]).astype(np.intp)
    rows = Rows(np.ones(len(order), data.dtype), order, indptr, (count, len(order)), False)
    return multiply_dense(rows, data)
