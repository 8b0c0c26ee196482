"""Symmetric and Hermitian matrices by convention: the value reads one triangle alone.

What happens to such a matrix when all its elements change by T is

    X + Xᴴ,   X = S∘T,

S the shares of the elements.  Where the matrix is symmetric, up to rounding errors of the rest of
row and column, they are ½, so that gradients are symmetric, both triangles, whichever of them is
read.  Elsewhere they are 1 in the triangle that is read and 0 in the other, as the value has it: of
``[[p, 0], [q, r]]`` the lower one counts, except at ``q = 0``.  Both are right for what changes
symmetrically.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Params
from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import constant_op, unary
from funcdiff.ops.linalg.matrices import adjoint, square, transposed
from funcdiff.space import add, mul


class OneTriangle(Params):
    """Which triangle is read, and whether the other one is its conjugate."""

    lower: bool
    hermitian: bool


@lru_cache(maxsize=64)
def _of_triangle(size: int, *, lower: bool) -> Any:
    """Return 1 in a triangle, ½ on the diagonal, and 0 in the other one."""
    half = np.tri(size, k=-1) + np.eye(size) / 2
    return half if lower else half.T


def _mirror(p: OneTriangle, a: Any) -> Any:
    turned = np.swapaxes(a, -1, -2)
    return turned.conj() if p.hermitian else turned


def _shares(p: OneTriangle) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        turned, size = _mirror(p, a), a.shape[-1]
        if (a == turned).all():
            return np.full(a.shape, 0.5, a.dtype)
        with np.errstate(invalid="ignore"):
            scale = np.sqrt(np.maximum(np.abs(a).max(axis=-1), np.abs(a).max(axis=-2)))
            error = 4 * size * np.finfo(a.dtype).eps * scale[..., :, None] * scale[..., None, :]
            differs = (np.abs(a - turned) > error).any(axis=(-1, -2), keepdims=True)
        return np.where(differs, _of_triangle(size, lower=p.lower), 0.5).astype(a.dtype)

    return function


shares_p: Final = constant_op(
    "triangle_shares", OneTriangle, abstract=lambda _p, a: (square(a),), impl=_shares
)


def symmetric_tangent(a: Tracer, t: Tracer, *, lower: bool, hermitian: bool = True) -> Tracer:
    """Return how the matrix that a triangle of `a` tells changes, as all elements change by `t`."""
    part = mul(bind(shares_p, OneTriangle(lower, hermitian), a)[0], t)
    return add(part, adjoint(part) if hermitian else transposed(part))


def _mirrored(p: OneTriangle) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        shares = _of_triangle(a.shape[-1], lower=p.lower).astype(a.dtype)
        part = np.multiply(a, shares, out=np.zeros_like(a), where=shares != 0)
        return part + _mirror(p, part)

    return function


mirrored_p: Final = unary(
    "mirrored",
    OneTriangle,
    abstract=lambda _p, a: (square(a),),
    impl=_mirrored,
    tangent=lambda p, a, _y, t: symmetric_tangent(a, t, lower=p.lower, hermitian=p.hermitian),
)


def mirrored(a: Tracer, *, lower: bool, hermitian: bool = True) -> Tracer:
    """Return the symmetric or Hermitian matrix that a triangle of `a` tells."""
    return bind(mirrored_p, OneTriangle(lower, hermitian), a)[0]
