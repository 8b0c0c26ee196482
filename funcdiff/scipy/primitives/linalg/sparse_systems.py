"""Sparse matrices: products, sampled products, and systems solved by SuperLU.

Solving is linear in the right-hand side, and its transpose one more such solution; the cotangent of
the entries is a product that is sampled where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from math import prod
from typing import Any, Final

import numpy as np

from funcdiff.core.access import Access
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import multilinear
from funcdiff.ops.structure.structural import permute, reshape
from funcdiff.space import align, neg, sum_tangents

# --------------------------------------------------------------------------------------------------
# Products of a sparse matrix and the sampling of a dense one, which are each other's transposes.
#
# The matrix is given by its rows one after another: the entries, their columns (`indices`), and
# where each row begins (`indptr`). The pattern is constant; the entries and the dense factors are
# not.


_BLOCK: Final = 1 << 18
"""So many products are made at a time where a matrix is sampled."""


class Turned(Params):
    """The columns of a sparse matrix, and whether its transpose is meant."""

    columns: int
    turned: bool

    @property
    def other(self) -> Turned:
        """The same matrix, transposed."""
        return Turned(self.columns, not self.turned)


def check_pattern(data: ArrayType, indices: ArrayType, indptr: ArrayType) -> None:
    """Raise TypeError if these cannot be the entries of sparse matrices and their places.

    The leading axes of the entries are batch axes: all matrices of a batch have one pattern.
    """
    fits = indices.ndim == indptr.ndim == 1 and data.shape[-1:] == indices.shape
    if not fits or indices.dtype is not indptr.dtype or indices.dtype.char not in "ilq":
        raise TypeError(f"{data} cannot be the entries of a sparse matrix at {indices}, {indptr}")


def _abstract_product(
    p: Turned, data: ArrayType, indices: ArrayType, indptr: ArrayType, x: ArrayType
) -> Types:
    check_pattern(data, indices, indptr)
    inner, outer = p.columns, indptr.shape[0] - 1
    if p.turned:
        inner, outer = outer, inner
    if x.shape[:-1] != (*data.shape[:-1], inner) or x.dtype != data.dtype:
        raise TypeError(f"a sparse matrix of {data} with {inner} columns cannot multiply {x}")
    return (x.with_shape((*data.shape[:-1], outer, x.shape[-1])),)


def _product_impl(p: Turned) -> Callable[..., Any]:
    def run(data: Any, indices: Any, indptr: Any, x: Any) -> Any:
        tools: Any = import_module("scipy.sparse._sparsetools")
        rows = p.columns if p.turned else indptr.shape[0] - 1
        width = x.shape[-1]
        y = np.zeros((*data.shape[:-1], rows, width), x.dtype)
        many = () if width == 1 else (width,)
        multiply = getattr(tools, ("csc" if p.turned else "csr") + "_matvec" + "s" * len(many))
        for at in np.ndindex(data.shape[:-1]):
            sizes = (rows, x.shape[-2], *many)
            multiply(*sizes, indptr, indices, data[at], x[at].ravel(), y[at].ravel())
        return y

    return run


def _transpose_product(p: Turned, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    data, indices, indptr, x = xs
    assert indices is not None
    assert indptr is not None
    if x is None:
        assert data is not None
        return [None, None, None, *bind(sparse_product_p, p.other, data, indices, indptr, cts[0])]
    left, right = (x, cts[0]) if p.turned else (cts[0], x)
    return [sample_product(left, right, indices, indptr), None, None, None]


def _batch_product(p: Turned, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    return batch_of_columns(partial(sparse_product, p), size, xs, batched)


def batch_of_columns(
    function: Callable[..., Tracer], size: int, xs: Tracers, batched: Sequence[bool]
) -> Tracers:
    """Apply ``function(data, indices, indptr, x)`` to a batch.

    For one matrix, the examples become columns of the dense factor.
    """
    data, indices, indptr, x = xs
    assert not any(batched[1:3]), "patterns are constant"
    if batched[0]:
        data, x = align(size, [data, x], [batched[0], batched[3]])
        return [function(data, indices, indptr, x)]
    wide, narrow = columns_of_batch(x)
    return [narrow(function(data, indices, indptr, wide))]


def columns_of_batch(x: Tracer) -> tuple[Tracer, Callable[[Tracer], Tracer]]:
    """Return a batch of matrices as one with all their columns, and how to get such ones back."""
    size, *stack, n, width = x.shape
    depth = len(stack)
    order = (*range(1, depth + 2), 0, depth + 2)
    wide = reshape(permute(x, order), (*stack, n, size * width))

    def narrow(y: Tracer) -> Tracer:
        parts = reshape(y, (*y.shape[:-1], size, width))
        return permute(parts, (depth + 1, *range(depth + 1), depth + 2))

    return wide, narrow


def _met(height: int, columns: int, x: ArrayType, indices: Any, indptr: Any) -> list[Any]:
    """Return the numbers of entries, and of the elements of dense factors that they meet.

    First of one that has the rows of the sparse matrix, then of one that has its columns.
    """
    stack, width = prod(x.shape[:-2]), x.shape[-1]
    at, k = np.arange(stack)[:, None, None], np.arange(width)
    rows = np.repeat(np.arange(height), np.diff(indptr))[:, None]
    entries = at * len(indices) + np.arange(len(indices))[:, None]
    left = (at * height + rows) * width + k
    right = (at * columns + np.asarray(indices, int)[:, None]) * width + k
    return [np.broadcast_to(numbers, left.shape).ravel() for numbers in (entries, left, right)]


def _pairs_of_product(p: Turned, types: Types, values: Sequence[Any]) -> tuple[Any, dict[int, Any]]:
    entries, left, right = _met(types[2].shape[0] - 1, p.columns, types[3], *values[1:3])
    results, elements = (right, left) if p.turned else (left, right)
    return results, {0: entries, 3: elements}


sparse_product_p: Final[Primitive[Turned]] = multilinear(
    "sparse_product",
    Turned,
    abstract=_abstract_product,
    impl=_product_impl,
    transpose=_transpose_product,
    batch=_batch_product,
    facts=Facts(pairs=_pairs_of_product),
)


def sparse_product(
    p: Turned, data: Tracer, indices: Tracer, indptr: Tracer, x: Tracer
) -> Tracer:  # fmt: skip
    """Return A·X, or Aᵀ·X, where A has entries `data`; both are linear in A and in X."""
    return bind(sparse_product_p, p, data, indices, indptr, x)[0]


# ---- the entries of U·Vᵀ in a pattern ------------------------------------------------------------


def _abstract_sample(
    _p: Params, u: ArrayType, v: ArrayType, indices: ArrayType, indptr: ArrayType
) -> Types:
    same = u.shape[:-2] == v.shape[:-2] and u.shape[-1] == v.shape[-1] and u.dtype == v.dtype
    if not same or u.shape[-2] != indptr.shape[0] - 1:
        raise TypeError(f"the product of {u} and {v} cannot be sampled at {indices}, {indptr}")
    data = u.with_shape((*u.shape[:-2], *indices.shape))
    check_pattern(data, indices, indptr)
    return (data,)


def _sample_impl(_p: Params) -> Callable[..., Any]:
    def run(u: Any, v: Any, indices: Any, indptr: Any) -> Any:
        found = np.empty((*u.shape[:-2], len(indices)), u.dtype)
        for at in np.ndindex(u.shape[:-2]):
            _sample(u[at], v[at], indices, indptr, found[at])
        return found

    return run


def _sample(u: Any, v: Any, indices: Any, indptr: Any, into: Any) -> None:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    step = max(1, _BLOCK // max(1, u.shape[-1]))
    for first in range(0, len(indices), step):
        part = slice(first, first + step)
        np.einsum("ek,ek->e", u[rows[part]], v[indices[part]], out=into[part])


def _transpose_sample(_p: Params, types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    u, v, indices, indptr = xs
    assert indices is not None
    assert indptr is not None
    if u is None:
        assert v is not None
        p = Turned(types[1].shape[-2], turned=False)
        return [sparse_product(p, cts[0], indices, indptr, v), None, None, None]
    p = Turned(types[1].shape[-2], turned=True)
    return [None, sparse_product(p, cts[0], indices, indptr, u), None, None]


def _batch_sample(p: Params, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    assert not any(batched[2:]), "patterns are constant"
    return bind(sample_product_p, p, *align(size, xs[:2], batched[:2]), *xs[2:])


def _pairs_of_sample(_p: Params, types: Types, values: Sequence[Any]) -> tuple[Any, dict[int, Any]]:
    u, v, *_ = types
    entries, left, right = _met(u.shape[-2], v.shape[-2], u, *values[2:])
    return entries, {0: left, 1: right}


sample_product_p: Final[Primitive[Params]] = multilinear(
    "sample_product",
    Params,
    abstract=_abstract_sample,
    impl=_sample_impl,
    transpose=_transpose_sample,
    batch=_batch_sample,
    facts=Facts(pairs=_pairs_of_sample),
)


def sample_product(u: Tracer, v: Tracer, indices: Tracer, indptr: Tracer) -> Tracer:
    """Return the entries of U·Vᵀ at the places of a pattern, and compute no others."""
    return bind(sample_product_p, Params(), u, v, indices, indptr)[0]


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
