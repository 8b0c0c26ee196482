"""Singular vectors of the singular value zero: on each side an arbitrary basis of a null space.

Unlike those of equal positive values they turn on either side alone, and where the matrix is not
square, together with directions that are no singular vectors.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.families import assertion
from funcdiff.ops.linalg.degeneracy import GAUGE, Gauge, checked_cotangent, is_significant
from funcdiff.space import instantiate

# ---- what leaves the space of the singular vectors -----------------------------------------------


def _check(ct: Any, zero: Any) -> Any:
    """Raise unless the columns of `ct` that belong to zero vanish."""
    if is_significant(np.where(zero[..., None, :], np.abs(ct), 0), ct, (-1, -2)):
        raise NotDifferentiableError(GAUGE)
    return ct


normal_component_p: Final = checked_cotangent("normal_component", Gauge, lambda _p: _check)


def normal_component(x: Tracer, zero: Tracer, *, checked: bool = False) -> Tracer:
    """Return how singular vectors leave their span, or its cotangent, as it is.

    The vectors are columns; `zero` says which belong to the singular value zero.  The cotangent
    must not ask for those.
    """
    return bind(normal_component_p, Gauge(checked), x, zero)[0]


# ---- singular vectors of a direction -------------------------------------------------------------


def _place(u: Any, moved: Any, zero: Any) -> Any:
    """Return one matrix of singular vectors with new ones for zero."""
    count = zero.sum()
    rest = np.linalg.svd(u[:, : zero.size][:, ~zero])[0][:, zero.size - count :]
    left, _, right = np.linalg.svd(np.conj(rest.T) @ moved[:, zero])
    basis = rest @ left
    basis[:, :count] = basis[:, :count] @ right
    placed = u.copy()
    placed[:, np.flatnonzero(zero)] = basis[:, :count]
    if u.shape[1] > zero.size:
        placed[:, zero.size :] = basis[:, count:]
    return placed


def _align(u: Any, moved: Any, zero: Any) -> Any:
    if not zero.any():
        return u
    result = u.copy()
    for place in map(tuple, np.argwhere(zero.any(axis=-1))):
        result[place] = _place(u[place], moved[place], zero[place])
    return result


def _abstract_alignment(_p: Params, u: ArrayType, moved: ArrayType, zero: ArrayType) -> Types:
    if zero.dtype != BOOL or moved.shape[-1:] != zero.shape[-1:] or u.shape[-1] < zero.shape[-1]:
        raise TypeError(f"cannot align {u} with {moved} where {zero}")
    return (u,)


def _alignment_jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    u, _, zero = xs
    y = polar_alignment(*xs)
    return [y], [full_rank(instantiate(ts[0], u.type), zero)]


polar_alignment_p: Final = Primitive(
    "polar_alignment",
    Params,
    abstract=_abstract_alignment,
    impl=lambda _p: _align,
    jvp=_alignment_jvp,
)


def polar_alignment(u: Tracer, moved: Tracer, zero: Tracer) -> Tracer:
    """Return left singular vectors, those of zero chosen for a direction dA.

    They are chosen such that U₀ᴴ·dA·V₀ is Hermitian and positive and all of U⊥ᴴ·dA·V₀, by polar
    decomposition; `moved` is dA·V.  There is no derivative where any singular value is zero.
    """
    return bind(polar_alignment_p, NONE, u, moved, zero)[0]


def _require_full_rank(x: Any, zero: Any) -> Any:
    if zero.any():
        raise NotDifferentiableError(
            "forward mode twice through svd at a singular value zero: the second derivative of "
            "singular vectors of zero depends on the direction in a way that is not covered. Use "
            "svdvals, pinv or a product such as (u * f(s)) @ vh, or reverse mode inside."
        )
    return x


full_rank_p: Final = assertion("full_rank", _require_full_rank)


def full_rank(x: Tracer, zero: Tracer) -> Tracer:
    """Return `x`, a tangent or cotangent that exists only where nothing is zero."""
    return bind(full_rank_p, NONE, x, zero)[0]


# ---- functions of singular values at zero --------------------------------------------------------


def _require_vanishing(t: Any, values: Any, zero: Any) -> Any:
    scale = np.abs(values).max(axis=-1, keepdims=True, initial=0)
    limit = np.sqrt(np.finfo(values.dtype).eps) * scale
    if (zero & (np.abs(values) > limit)).any():
        raise NotDifferentiableError(
            "(u * f(s)) @ vh with f(0) different from 0 at a singular value zero: it depends on "
            "which singular vectors svd returns, and has no derivative. Keep the singular values "
            "away from zero, or use an f that is 0 there."
        )
    return t


vanish_on_kernel_p: Final = assertion("vanish_on_kernel", _require_vanishing)


def vanish_on_kernel(t: Tracer, values: Tracer, zero: Tracer) -> Tracer:
    """Return `t`, a direction or its cotangent, if the values are zero where they have to be."""
    return bind(vanish_on_kernel_p, NONE, t, values, zero)[0]
