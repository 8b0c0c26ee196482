"""Linear systems whose matrix is sparse, solved by SuperLU.

Solving is linear in the right-hand side, and its transpose one more such solution; the cotangent of
the entries is a product that is sampled where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Final

import numpy as np

from funcdiff.core.access import Access
from funcdiff.core.builder import bind
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.scipy.primitives.linalg.sparse_products import (
    Turned,
    batch_of_columns,
    check_pattern,
    sparse_product,
)
from funcdiff.space import neg, sum_tangents


class SparseSystem(Params):
    """How a sparse system is solved.

    Attributes
    ----------
    turned
        Whether the transpose of the matrix is meant.
    ordering
        The order of the columns that SuperLU is to take; empty for its own.
    triangle
        ``"lower"`` or ``"upper"`` if the matrix has no other entries, else empty.
    """

    turned: bool
    ordering: str
    triangle: str


def _abstract(
    _p: SparseSystem, data: ArrayType, indices: ArrayType, indptr: ArrayType, b: ArrayType
) -> Types:
    check_pattern(data, indices, indptr)
    n = indptr.shape[0] - 1
    if b.shape[:-1] != (*data.shape[:-1], n) or b.dtype != data.dtype:
        raise TypeError(f"cannot solve a sparse system of {data} with {n} rows for {b}")
    return (b,)


def _impl(p: SparseSystem) -> Callable[..., Any]:
    def run(data: Any, indices: Any, indptr: Any, b: Any) -> Any:
        sparse: Any = import_module("scipy.sparse")
        n = indptr.shape[0] - 1
        x = np.empty(b.shape, b.dtype)
        kind = sparse.csc_array if p.turned else sparse.csr_array
        for at in np.ndindex(data.shape[:-1]):
            if x[at].size:
                a = kind((np.ascontiguousarray(data[at]), indices, indptr), shape=(n, n))
                x[at] = _solution(p, a, b[at]).reshape(b[at].shape)
        return x

    return run


def _solution(p: SparseSystem, a: Any, b: Any) -> Any:
    solvers: Any = import_module("scipy.sparse.linalg")
    if not p.triangle:
        return solvers.spsolve(a, b, permc_spec=p.ordering or None, use_umfpack=False)
    lower = (p.triangle == "lower") is not p.turned
    return solvers.spsolve_triangular(a.tocsr() if p.turned else a, b, lower=lower)


def _jvp(p: SparseSystem, xs: Tracers, ts: Tangents) -> Pushed:
    """x = A⁻¹·b has dx = A⁻¹·(db - dA·x)."""
    data, indices, indptr, b = xs
    x = sparse_solve(p, data, indices, indptr, b)
    moved = None
    if ts[0] is not None:
        turned = Turned(indptr.shape[0] - 1, p.turned)
        moved = neg(sparse_product(turned, ts[0], indices, indptr, x))
    rest = sum_tangents([ts[3], moved])
    assert rest is not None
    return [x], [sparse_solve(p, data, indices, indptr, rest)]


def _transpose(p: SparseSystem, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    data, indices, indptr, _ = xs
    assert data is not None, "solving is linear in the right-hand side alone"
    assert indices is not None
    assert indptr is not None
    other = replace(p, turned=not p.turned)
    return [None, None, None, sparse_solve(other, data, indices, indptr, cts[0])]


def _batch(p: SparseSystem, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    return batch_of_columns(partial(sparse_solve, p), size, xs, batched)


def _access(_p: SparseSystem, types: Types) -> Access:
    """Say that every right-hand side is solved for, by whatever tells the matrices of a stack."""
    *stack, _, column = range(types[3].ndim)
    columns = (*stack, None, column)
    return Access((columns,), ((*stack, None), (None,), (None,), columns))


sparse_solve_p: Final[Primitive[SparseSystem]] = Primitive(
    "sparse_solve",
    SparseSystem,
    _abstract,
    _impl,
    _jvp,
    _transpose,
    _batch,
    access=_access,
    facts=Facts(linear=slice(3, 4), raises=True),
)


def sparse_solve(
    p: SparseSystem, data: Tracer, indices: Tracer, indptr: Tracer, b: Tracer
) -> Tracer:
    """Return A⁻¹·B, or A⁻ᵀ·B, where A has entries `data` in rows of ascending columns."""
    return bind(sparse_solve_p, p, data, indices, indptr, b)[0]
