"""The factorization A = L·D·Lᴴ of Hermitian matrices, with L·D·Lᵀ of symmetric ones.

D has blocks of one and two rows, and the rows of L are in an order that is constant.  From
X = L⁻¹·dA·L⁻ᴴ follow dD, its blocks, and dL = L·S, where S·D is what of X is below these blocks: as
for a Cholesky factor (I. Murray, "Differentiation of the Cholesky decomposition",
arXiv:1602.07527), with no diagonal to share.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.linalg.matrices import on_diagonal, square, symmetric_tangent, transposed
from funcdiff.ops.linalg.routines import routine


class Symmetric(Params):
    """Which triangle counts, and whether the other one is its conjugate."""

    lower: bool
    hermitian: bool


def _abstract(_p: Symmetric, a: ArrayType) -> Types:
    return square(a), a, ArrayType(a.shape[:-1], INT)


def _jvp(p: Symmetric, xs: Tracers, ts: Tangents) -> Pushed:
    (a,), (given,) = xs, ts
    assert given is not None
    factors: Any = bind(ldl_p, p, a)
    outer, d, order = factors
    t: Any = symmetric_tangent(a, given, lower=p.lower, hermitian=p.hermitian)

    def flipped(x: Any) -> Any:
        y: Any = transposed(x)
        return np.conj(y) if p.hermitian else y

    left: Any = np.linalg.inv(outer)
    x = left @ t @ flipped(left)
    blocks = on_diagonal(d.type) | (d != 0)
    outside = np.where(blocks, 0, np.tril(x) if p.lower else np.triu(x))
    moved: Any = outer @ np.where(blocks, 0, _divide(outside, d))
    return [outer, d, order], [moved, np.where(blocks, x, 0), None]


def _divide(x: Any, d: Any) -> Any:
    """Return X·D⁻¹; what a block of one row that is zero divides stands in its column only."""
    diagonal: Any = np.diagonal(d, axis1=-2, axis2=-1)[..., None, :]
    itself: Any = on_diagonal(d.type)
    beside: Any = np.where(itself, 0, d)
    paired = np.any(beside != 0, axis=-2, keepdims=True)
    other = np.where(paired, diagonal @ np.where(beside != 0, 1, 0).astype(d.dtype), 1)
    determinant = diagonal * other - np.sum(beside * transposed(beside), axis=-2, keepdims=True)
    across = np.where(beside != 0, beside / np.where(paired, determinant, 1), 0)
    return x * (other / determinant) + x @ -across


ldl_p: Final = Primitive(
    "ldl",
    Symmetric,
    abstract=_abstract,
    impl=lambda p: routine("ldl", lower=p.lower, hermitian=p.hermitian),
    jvp=_jvp,
    facts=Facts(raises=True),
)


def ldl(a: Tracer, *, lower: bool, hermitian: bool) -> tuple[Tracer, ...]:
    """Return L with its rows in the order of `a`, D, and the order in which L is triangular."""
    return bind(ldl_p, Symmetric(lower, hermitian), a)
