"""Systems and inverses of matrices with a declared structure: triangular, banded and others.

The other solves of a derivative have that structure, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import NONE, Facts, Params, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.logic import logical_and
from funcdiff.ops.families import unary
from funcdiff.ops.linalg.matrices import (
    diagonal_part,
    matmul,
    matrix_transpose,
    mirrored,
    square,
    triangle,
)
from funcdiff.ops.linalg.routines import over_stack, routine, scipy_linalg
from funcdiff.ops.linalg.systems import solver
from funcdiff.ops.structure.slicing import sliding_windows
from funcdiff.ops.structure.structural import iota, reverse, select
from funcdiff.space import add, neg, zeros


class Structure(Params):
    """What ``assume_a`` says of a matrix, in full, and which triangle of a symmetric one counts."""

    kind: str
    lower: bool


def part(p: Structure, t: Tracer) -> Tracer:
    """Return what a change of all elements is to a matrix of that structure."""
    if p.kind == "diagonal":
        return diagonal_part(t)
    if p.kind == "tridiagonal":
        return _band(t)
    if p.kind.endswith("triangular"):
        return triangle(t, lower=p.kind.startswith("lower"))
    return t


def _band(t: Tracer) -> Tracer:
    """Return what is on the diagonal and next to it."""
    row, column = (iota(t.shape, t.ndim - k) for k in (2, 1))
    one = constant(1, row.type)
    near = logical_and(row <= add(column, one), column <= add(row, one))  # type: ignore[operator]
    return select(near, t, zeros(t.type))


_TURNED: Final = {"lower triangular": "upper triangular", "upper triangular": "lower triangular"}

structured_solve_p: Final = solver(
    "structured_solve",
    Structure,
    lambda p: routine("solve", assume_a=p.kind, lower=p.lower),
    product=lambda p, a, x: matmul(part(p, a), x),
    turned=lambda p, a: (Structure(_TURNED.get(p.kind, p.kind), not p.lower), matrix_transpose(a)),
)


def _both_triangles(a: Tracer, p: Structure) -> Tracer:
    """Return a matrix of which one triangle counts with both of them."""
    if p.kind not in _SHORT:
        return a
    return mirrored(a, lower=p.lower, hermitian=p.kind != "symmetric")


def structured_solve(a: Tracer, b: Tracer, *, kind: str, lower: bool) -> Tracer:
    """Return A⁻¹·B for stacks of matrices of one depth."""
    p = Structure(kind, lower)
    return bind(structured_solve_p, p, _both_triangles(a, p), b)[0]


_SHORT: Final = {"positive definite": "pos", "symmetric": "sym", "hermitian": "her"}
"""Names that `inv` has for structures."""

structured_inv_p: Final = unary(
    "structured_inv",
    Structure,
    abstract=lambda _p, a: (square(a),),
    impl=lambda p: routine("inv", assume_a=_SHORT.get(p.kind, p.kind), lower=p.lower),
    tangent=lambda p, _a, y, t: neg(matmul(matmul(y, part(p, t)), y)),
    facts=Facts(raises=True),
)


def structured_inv(a: Tracer, *, kind: str, lower: bool) -> Tracer:
    """Return A⁻¹; that of a symmetric matrix is symmetric, of a triangular one triangular."""
    p = Structure(kind, lower)
    return bind(structured_inv_p, p, _both_triangles(a, p))[0]


# --------------------------------------------------------------------------------------------------
# Systems with Toeplitz matrices, which are told by the elements of the last row and first column.
#
# T[i, j] = v[n - 1 + i - j],   v of length 2·n - 1.
#
# The transposed matrix has these elements in reverse order; a product takes as many
# operations as a solve by Levinson's recursion, the square of n.


def toeplitz(v: Tracer, width: int) -> Tracer:
    """Return the matrices of so many columns; their elements are read, not copied."""
    windows = sliding_windows(v, v.ndim - 1, width)
    return reverse(windows, (windows.ndim - 1,))


def _abstract(_p: Params, v: ArrayType, b: ArrayType) -> Types:
    *stack, length = v.shape
    fits = b.ndim == v.ndim + 1 and b.shape[:-2] == tuple(stack) and length == 2 * b.shape[-2] - 1
    if not fits or v.dtype != b.dtype or v.dtype.char not in "dD":
        raise TypeError(f"cannot solve a Toeplitz system of {v} for {b}")
    return (b,)


def _impl(_p: Params) -> Callable[..., Any]:
    def function(v: Any, b: Any) -> Any:
        n = len(b)
        return scipy_linalg("solve_toeplitz")((v[n - 1 :], v[n - 1 :: -1]), np.ascontiguousarray(b))

    return over_stack(function, 1, 2)


toeplitz_solve_p: Final = solver(
    "toeplitz_solve",
    Params,
    _impl,
    product=lambda _p, v, x: matmul(toeplitz(v, x.shape[-2]), x),
    turned=lambda p, v: (p, reverse(v, (v.ndim - 1,))),
    abstract=_abstract,
)


def toeplitz_solve(v: Tracer, b: Tracer) -> Tracer:
    """Return T⁻¹·B in double precision, for stacks of matrices of one depth."""
    return bind(toeplitz_solve_p, NONE, v, b)[0]
