"""Systems with band matrices, in LAPACK's band form: diagonals are rows, and columns are columns.

    ab[u + i - j, j] = A[i, j],   with u diagonals above the main one, l below it.

A product with A shifts every diagonal to its place; a solve takes as many operations as the band
has elements times its width, and so do the solves of its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Params, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj, real_part
from funcdiff.ops.linalg.matrices import factorizable
from funcdiff.ops.linalg.routines import over_stack, scipy_linalg
from funcdiff.ops.linalg.systems import solver
from funcdiff.ops.structure.slicing import slice_along, sliding_windows
from funcdiff.ops.structure.structural import concatenate, convert, permute, reshape, reverse
from funcdiff.space import broadcast, mul, reduce_sum, zeros

# ---- shifted diagonals ---------------------------------------------------------------------------


def pad(x: Tracer, axis: int, before: int, after: int) -> Tracer:
    """Return an array with zeros around it along an axis."""
    parts = [
        zeros(x.type.with_shape((*x.shape[:axis], n, *x.shape[axis + 1 :])))
        for n in (before, after)
    ]
    return concatenate([part for part in (parts[0], x, parts[1]) if part.shape[axis]], axis)


def _stagger(x: Tracer, row: int) -> Tracer:
    """Return rows of length n, of which the k-th of m is moved by k places, in length n + m - 1.

    The rows are along that axis, their elements along the next.
    """
    *_, count, length = x.shape[: row + 2]
    before, after = x.shape[:row], x.shape[row + 2 :]
    wide = reshape(pad(x, row + 1, 0, count), (*before, count * (length + count), *after))
    width = length + count - 1
    return reshape(slice_along(wide, row, 0, count * width), (*before, count, width, *after))


def band_product(ab: Tracer, x: Tracer, *, lower: int, upper: int) -> Tracer:
    """Return A·X: row i is the sum of ab[k, j]·x[j] with j + k = i + u."""
    row = ab.ndim - 2
    shape = (*ab.shape, x.shape[-1])
    others = tuple(range(row))
    terms = mul(
        broadcast(ab, shape, (*others, row, row + 1)),
        broadcast(x, shape, (*others, row + 1, row + 2)),
    )
    sums = reduce_sum(_stagger(terms, row), (row,))
    assert sums.shape[row] == x.shape[-2] + lower + upper
    return slice_along(sums, row, upper, upper + x.shape[-2])


def transpose_band_product(ab: Tracer, x: Tracer, *, lower: int, upper: int) -> Tracer:
    """Return Aᵀ·X: row j is the sum of ab[k, j]·x[j + k - u]."""
    row = ab.ndim - 2
    windows = sliding_windows(pad(x, row, upper, lower), row, lower + upper + 1)
    *others, place, column, number = range(windows.ndim)
    shape = tuple(windows.shape[k] for k in (*others, number, place, column))
    terms = mul(
        permute(windows, (*others, number, place, column)),
        broadcast(ab, shape, (*others, row, row + 1)),
    )
    return reduce_sum(terms, (row,))


def hermitian_band(ab: Tracer, *, lower: bool) -> Tracer:
    """Return all diagonals of a Hermitian matrix from the main one and those to one side."""
    count, row = ab.shape[-2], ab.ndim - 2
    if not lower:  # above: the last row is the main diagonal
        return reverse(_both_sides(reverse(ab, (row, row + 1)), count, row), (row, row + 1))
    return _both_sides(ab, count, row)


def _both_sides(ab: Tracer, count: int, row: int) -> Tracer:
    main = slice_along(ab, row, 0, 1)
    if ab.dtype.kind == "c":
        main = convert(real_part(main), ab.dtype)
    if count == 1:
        return main
    below = slice_along(ab, row, 1, count)
    turned = _stagger(pad(below, row, 1, 0), row)  # diagonal k begins at column k
    above = slice_along(slice_along(turned, row, 1, count), row + 1, 0, ab.shape[-1])
    return concatenate([reverse(conj(above), (row,)), main, below], row)


# ---- A·X = B -------------------------------------------------------------------------------------


class Band(Params):
    """How many diagonals there are on either side, and what the matrix is.

    It is transposed if that is said; if it is positive definite, it is Hermitian.
    """

    lower: int
    upper: int
    transposed: bool
    positive: bool


def _abstract(p: Band, ab: ArrayType, b: ArrayType) -> Types:
    *stack, height, size = factorizable(ab).shape
    fits = height == p.lower + p.upper + 1 and b.shape[:-1] == (*stack, size)
    if not fits or b.ndim != ab.ndim or b.dtype != ab.dtype:
        raise TypeError(f"cannot solve a band system of {ab} for {b}")
    return (b,)


def _impl(p: Band) -> Callable[..., Any]:
    if p.positive:
        return over_stack(_positive(p))
    return over_stack(_general(p) if p.lower and p.upper else _triangular(p))


def _triangular(p: Band) -> Callable[..., Any]:
    def function(ab: Any, b: Any) -> Any:
        if b.size == 0:
            return b
        (substitute,) = scipy_linalg("get_lapack_funcs")(("tbtrs",), (ab, b))
        x, info = substitute(ab, b, uplo="L" if p.lower else "U", trans="NT"[p.transposed])
        if info > 0:
            raise np.linalg.LinAlgError("singular matrix")
        return x

    return function


def _positive(p: Band) -> Callable[..., Any]:
    def function(ab: Any, b: Any) -> Any:
        half = ab[: p.upper + 1]
        return scipy_linalg("solveh_banded")(half.conj() if p.transposed else half, b)

    return function


def _general(p: Band) -> Callable[..., Any]:
    """Factorize and substitute, because only so LAPACK takes transposed matrices."""

    def function(ab: Any, b: Any) -> Any:
        if b.size == 0:
            return b
        factor, substitute = scipy_linalg("get_lapack_funcs")(("gbtrf", "gbtrs"), (ab, b))
        room = np.zeros((p.lower, ab.shape[-1]), ab.dtype)
        lu, pivots, info = factor(np.concatenate([room, ab]), p.lower, p.upper)
        if info > 0:
            raise np.linalg.LinAlgError("singular matrix")
        x, _ = substitute(lu, p.lower, p.upper, b, pivots, trans=int(p.transposed))
        return x

    return function


def _product(p: Band, ab: Tracer, x: Tracer) -> Tracer:
    product = transpose_band_product if p.transposed else band_product
    return product(ab, x, lower=p.lower, upper=p.upper)


banded_solve_p: Final = solver(
    "banded_solve",
    Band,
    _impl,
    product=_product,
    turned=lambda p, ab: (replace(p, transposed=not p.transposed), ab),
    abstract=_abstract,
)


def banded_solve(
    ab: Tracer, b: Tracer, *, lower: int, upper: int, turned: bool = False, positive: bool = False
) -> Tracer:
    """Return A⁻¹·B, or that of Aᵀ; a positive definite matrix is given with all its diagonals."""
    return bind(banded_solve_p, Band(lower, upper, turned, positive), ab, b)[0]
