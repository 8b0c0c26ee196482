"""Sparse systems solved by factorization: ``spsolve``, ``splu`` and their kin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.rules.linear_equations import solution_by
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.scipy.covered import Holder, cover, covers, holds_traced, load
from funcdiff.scipy.primitives.linalg.sparse_systems import SparseSystem, sparse_solve
from funcdiff.scipy.sparse.operators import matmul
from funcdiff.scipy.sparse.row_products import Rows, cast, dense
from funcdiff.scipy.sparse.traced_arrays import (
    SCIPY,
    SparseArray,
    follow,
    is_array,
    is_sparse,
    number_entries,
    sparse_array,
    value_of,
    with_pattern,
)

MODULE: Final = "scipy.sparse.linalg"
PLAIN: Final[Any] = load(MODULE)


def canonical(A: Any, kind: str = "csc") -> Any:
    """Return a square sparse array of ours in CSR or CSC format, its rows in order.

    Raises
    ------
    ValueError
        If it is not square.
    """
    a = with_pattern(A if is_sparse(A) else SCIPY.csc_array(A))
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"matrix must be square (has shape {a.shape})")
    a = a if a.format in ("csr", "csc") else a.asformat(kind)
    if not isinstance(a, SparseArray):  # of entries that are not traced
        a = with_pattern(a)
    if not a.pattern.has_sorted_indices:
        moved = a.pattern.sorted_indices()
        a = SparseArray(number_entries(moved), np.ravel(a.data)[moved.data - 1])
    return a


def solve_dense(a: Any, b: Any, system: SparseSystem) -> Any:
    """Return A⁻¹·b for a dense vector or matrix, or what else the system says."""
    if b.shape[:1] != a.shape[:1] or b.ndim > 2:
        raise ValueError(f"matrix - rhs dimension mismatch ({a.shape} - {b.shape[0]})")
    dtype = np.result_type(a.dtype, b.dtype, np.float32)
    rows = Rows(a.data, a.indices, a.indptr, a.shape, a.format == "csc")
    columns = cast(b if b.ndim == 2 else b.reshape(-1, 1), dtype)
    p = SparseSystem(rows.turned is not system.turned, system.ordering, system.triangle)
    if p.triangle and rows.turned:
        p = SparseSystem(p.turned, "", "upper" if p.triangle == "lower" else "lower")
    x: Any = sparse_solve(p, *as_tracers([*rows.operands(dtype), columns]))
    return x if b.ndim == 2 else x.reshape(-1)


@covers(MODULE, note="A sparse right-hand side gives a solution with all entries stored.")
def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """Solve A·x = b, as `scipy.sparse.linalg.spsolve`; dx = A⁻¹·(db - dA·x).

    A sparse right-hand side with several columns gives a sparse solution of which every entry is
    stored: which of them are zero, the values say.
    """
    a = canonical(A)
    if not is_sparse(b):
        b = dense(b)
        x = solve_dense(a, b, SparseSystem(False, permc_spec or "", ""))
        return x.reshape(-1) if b.ndim == 2 and b.shape[1] == 1 else x
    columns = with_pattern(b).toarray()
    x = solve_dense(a, columns, SparseSystem(False, permc_spec or "", ""))
    if x.ndim == 1 or x.shape[1] == 1:
        return x.reshape(-1)
    pattern = number_entries(type(a.pattern)(np.ones(x.shape)))
    return sparse_array(pattern, x.reshape(-1) if a.format == "csr" else x.T.reshape(-1))


@covers(MODULE)
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve A·x = b with a triangular A, as `scipy.sparse.linalg.spsolve_triangular`.

    The derivative is again such a solution; of a unit diagonal, none is taken.
    """
    a = canonical(A, "csr")
    outside = (SCIPY.triu(a.pattern, 1) if lower else SCIPY.tril(a.pattern, -1)).nnz
    if outside:
        side = "lower" if lower else "upper"
        raise np.linalg.LinAlgError(f"A is not {side} triangular: it has {outside} entries outside")
    if unit_diagonal:
        cut = SCIPY.tril(a.pattern, -1) if lower else SCIPY.triu(a.pattern, 1)
        unit = SCIPY.eye_array(a.shape[0], dtype=a.dtype)
        a = canonical(follow(a.data, cut.asformat(a.format)) + unit, "csr")
    return solve_dense(a, dense(b), SparseSystem(False, "", "lower" if lower else "upper"))


@covers(MODULE)
def inv(A: Any) -> Any:
    """Return A⁻¹, as `scipy.sparse.linalg.inv`; every entry of it is stored."""
    if not is_sparse(A):
        raise TypeError("Input must be a sparse arrays")
    unit = SCIPY.eye_array if is_array(A) else SCIPY.eye
    return spsolve(A, unit(A.shape[0], dtype=A.dtype, format=A.format))


# ---- factors -------------------------------------------------------------------------------------


class Factors(Holder):
    """What ``splu`` returns: its solutions take traced arrays, and may be of a traced matrix."""

    def __init__(self, matrix: Any, plain: Any = None, permc_spec: str | None = None) -> None:
        self._matrix, self._plain = matrix, plain
        self._permc_spec = permc_spec or ""
        self.shape = matrix.shape

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("_plain") is None:
            raise UnsupportedNumPyError(
                f"splu(A).{name} of a traced matrix is not supported, at {user_location()}. Use "
                "splu(A).solve(b), or factorize fd.stop_gradient of the entries."
            )
        return getattr(self._plain, name)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve A·x = b, or with the transpose "T" or the adjoint "H" of A."""
        if self._plain is not None and not holds_traced(rhs):
            return self._plain.solve(rhs, trans)
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        b = dense(rhs)
        b = cast(b, np.result_type(b.dtype, self._matrix.dtype))
        if trans == "H":
            return np.conj(self.solve(np.conj(b), "T"))
        if self._plain is None:
            system = SparseSystem(trans == "T", self._permc_spec, "")
            return solve_dense(self._matrix, b, system)
        matrix = self._matrix if trans == "N" else self._matrix.T
        there, back = (partial(_by_factors, self._plain, t) for t in (trans, "NT"[trans == "N"]))
        return solution_by(lambda x: matmul(matrix, x), b, there, back)


def _by_factors(factors: Any, trans: str, _matvec: Callable[[Any], Any], b: Any) -> Any:
    return factors.solve(b, trans)


def _splu(
    A: Any,
    permc_spec: str | None = None,
    diag_pivot_thresh: float | None = None,
    relax: int | None = None,
    panel_size: int | None = None,
    options: dict[str, Any] | None = None,
) -> Factors:
    """Factorize, as `scipy.sparse.linalg.splu`; solutions have derivatives by A and b."""
    others = (diag_pivot_thresh, relax, panel_size, options)
    if not isinstance(A, SparseArray):
        return Factors(SCIPY.csc_array(A, copy=True), PLAIN.splu(A, permc_spec, *others))
    if any(option is not None for option in others):
        raise UnsupportedNumPyError(
            f"splu of a traced matrix with options of SuperLU, at {user_location()}. Leave them "
            "out, except permc_spec."
        )
    return Factors(canonical(A), permc_spec=permc_spec)


def _factorize(A: Any) -> Callable[[Any], Any]:
    """Return a function that solves with A, as `scipy.sparse.linalg.factorized`."""
    return _splu(A).solve


cover(MODULE, "splu", _splu, note="Of a traced matrix, only solve() is known, and permc_spec.")
cover(MODULE, "factorized", _factorize)


def _spilu(A: Any, *args: Any, **kwargs: Any) -> Factors:
    """Factorize incompletely, as `scipy.sparse.linalg.spilu`: solutions have derivatives by b."""
    found = PLAIN.spilu(value_of(A), *args, **kwargs)
    n = np.arange(found.shape[0])  # of the product of its factors it is the exact factorization
    return Factors((found.L @ found.U)[found.perm_r][:, found.perm_c], found) if len(n) else found


cover(
    MODULE,
    "spilu",
    _spilu,
    note="A constant: it is made of the values of A, and has no derivative by them.",
)
