"""Norms, powers and exponentials of sparse matrices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.api.control.scanning import scan
from funcdiff.api.inspection import stop_gradient
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers, unsupported
from funcdiff.scipy.sparse.linalg.direct import MODULE, PLAIN
from funcdiff.scipy.sparse.linalg.few_eigenvalues import svds
from funcdiff.scipy.sparse.row_products import dense
from funcdiff.scipy.sparse.traced_arrays import (
    SCIPY,
    is_array,
    is_sparse,
    number_entries,
    sparse_array,
    with_pattern,
)

_RADII: Final = {5: 0.13, 10: 1.0, 20: 3.6}
"""Terms of the series of exp -> norms up to which they suffice in double precision.

Reference: A. H. Al-Mohy, N. J. Higham, "Computing the action of the matrix exponential", 2011,
table 3.1.
"""


@covers(MODULE)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a sparse matrix, or of its rows or columns, as `scipy.sparse.linalg.norm`.

    At ties and zeros the derivative is symmetric, as that of `numpy.linalg.norm`.
    """
    if not is_sparse(x):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    a = with_pattern(x)
    axis = axis if axis is None or isinstance(axis, int) else tuple(axis)
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if isinstance(axis, int):
        return _along(a, ord, axis)
    if axis is not None:
        first, second = (k % 2 for k in axis)
        if first == second or len(axis) != 2:
            raise ValueError("Duplicate axes given.")
        if first == 1:
            a = with_pattern(a.transpose())
    if ord in (None, "fro", "f"):
        return np.linalg.norm(np.ravel(a.data if a.format != "dia" else a.tocoo().data))
    if ord == 2:
        return svds(a, 1)[1][0]
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    sums = np.ravel(abs(a).sum(axis=0 if abs(ord) == 1 else 1))
    return sums.max() if ord > 0 else sums.min()


def _along(a: Any, ord: Any, axis: int) -> Any:
    if ord == 1:
        return np.ravel(abs(a).sum(axis=axis))
    if ord in (None, 2):
        squares = np.ravel(a.with_data(np.abs(a.data) ** 2).sum(axis=axis))
        return np.where(squares > 0, np.sqrt(squares), 0.0)
    return np.linalg.norm(a.toarray(), ord, axis)


borrow_functions(MODULE, "matrix_power")


# ---- exponentials --------------------------------------------------------------------------------


@covers(MODULE, note="Not for a batch of matrices: how many terms it takes, the norm of A says.")
def expm_multiply(
    A: Any,
    B: Any,
    start: Any = None,
    stop: Any = None,
    num: int | None = None,
    endpoint: bool | None = None,
    traceA: Any = None,
) -> Any:
    """Return exp(A)·B, or exp(t·A)·B at times, as `scipy.sparse.linalg.expm_multiply`.

    The derivative is that of the truncated series, which is as exact as the value.
    """
    B = dense(B)
    if not hasattr(A, "trace"):
        raise unsupported(
            f"{MODULE}.expm_multiply with a LinearOperator",
            "Give it the matrix itself, of which it asks the trace and the norm.",
        )
    if all(x is None for x in (start, stop, num, endpoint)):
        return _exponential_times(A, B, 1.0)
    first, last = 0.0 if start is None else start, 1.0 if stop is None else stop
    times, _ = np.linspace(
        first, last, 50 if num is None else num, endpoint=endpoint is not False, retstep=True
    )
    found = [_exponential_times(A, B, times[0])]
    for step in np.diff(times):
        found.append(_exponential_times(A, found[-1], step))
    return np.stack(found)


def _series(size: Any) -> tuple[int, int]:
    """Return how many terms of the series, and parts of the time, a norm needs."""
    for terms, radius in _RADII.items():
        if size <= radius:
            return terms, 1
    terms, steps = max(_RADII), 2
    while size > _RADII[terms] * steps:  # doubled, so that few norms are told apart
        steps *= 2
    return terms, steps


def _exponential_times(A: Any, B: Any, t: Any) -> Any:
    """Return exp(t·A)·B by Taylor series for parts of t, about the mean of the eigenvalues."""
    n = A.shape[0]
    if A.shape != (n, n) or B.shape[0] != n:
        raise ValueError(f"shapes {A.shape} and {B.shape} of expm_multiply do not fit")
    shift = A.trace() / n
    size = abs(A).sum(axis=0).max() + abs(shift)
    terms, steps = _series(stop_gradient(size * abs(t)))
    growth = np.exp(shift * (t / steps))

    def part(x: Any, _: Any) -> Any:
        term = total = x
        for k in range(1, terms + 1):
            term = (A @ term - shift * term) * (t / (steps * k))
            total = total + term
        return growth * total, None

    x = B.astype(np.result_type(A.dtype, B.dtype, np.float32, t))
    return part(x, None)[0] if steps == 1 else scan(part, x, None, length=steps)[0]


@covers(MODULE, note="Every entry is stored. Not for a batch of matrices, as expm_multiply.")
def expm(A: Any) -> Any:
    """Return exp(A) of a sparse matrix, as `scipy.sparse.linalg.expm`; every entry is stored."""
    unit = np.eye(A.shape[0], dtype=A.dtype)
    found = _exponential_times(A, unit, 1.0)
    kind = SCIPY.csc_array if is_array(A) else SCIPY.csc_matrix
    return sparse_array(number_entries(kind(np.ones(found.shape))), found.T.reshape(-1))


def _of_pattern(function: Any) -> Any:
    return lambda A: function(with_pattern(A).pattern)


for _name in ("is_sptriangular", "spbandwidth"):
    if hasattr(PLAIN, _name):
        covers(MODULE, _name)(_of_pattern(getattr(PLAIN, _name)))
