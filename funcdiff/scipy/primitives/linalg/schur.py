"""Schur's form A = Z·T·Zᴴ: Z is unitary and T triangular, of real matrices with blocks of two rows.

With X = Zᴴ·dA·Z and dZ = Z·Ω, where Ω is skew-Hermitian,

    dT = X + T·Ω - Ω·T,

which has to vanish below the blocks: of Ω, what is below the blocks of Ω·T - T·Ω is what is below
those of X.  Only what is below the blocks of Ω is in that equation, which is solved like
Sylvester's, block by block.  LAPACK leaves the two numbers on the diagonal of a block of two rows
equal, which determines the rotation within it; the phases of complex vectors are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.linalg.degeneracy import gauge, require_zero
from funcdiff.ops.linalg.matrices import (
    adjoint,
    diagonal,
    in_basis,
    matrix_transpose,
    on_diagonal,
    per_column,
    per_matrix,
    per_row,
    square,
    triangle,
)
from funcdiff.ops.linalg.routines import over_stack, scipy_linalg
from funcdiff.space import neg, sum_tangents

# ---- the equation below the blocks ---------------------------------------------------------------


class Below(Params):
    """Whether the matrix of the equation is transposed."""

    turned: bool


def _solve_impl(p: Below) -> Callable[..., Any]:
    def one(t: Any, x: Any) -> Any:
        found = np.zeros_like(x)
        _solve(t, x.copy(), found, turned=p.turned)
        return found

    return over_stack(one)


def _solve(t: Any, x: Any, y: Any, *, turned: bool) -> None:
    """Write into `y`, zeros at first; `x` is changed.

    Of two parts of the matrix, the equation of what is below both is Sylvester's.
    """
    n = len(t)
    middle = n // 2
    if middle and t[middle, middle - 1] != 0:  # within a block
        middle += 1
    if not 0 < middle < n:
        return
    first, last = slice(middle), slice(middle, None)

    def inner() -> None:
        for part in (first, last):
            _solve(t[part, part], x[part, part], y[part, part], turned=turned)

    if turned:
        inner()
        x[last, first] += t[first, last].T @ y[first, first] - y[last, last] @ t[first, last].T
    trsyl = scipy_linalg("get_lapack_funcs")("trsyl", (t,))
    way, matrix = ("C", np.conj(t)) if turned else ("N", t)
    z, scale, _ = trsyl(
        matrix[last, last], matrix[first, first], -x[last, first], trana=way, tranb=way, isgn=-1
    )
    y[last, first] = z / scale
    if not turned:
        x[first, first] += t[first, last] @ y[last, first]
        x[last, last] -= y[last, first] @ t[first, last]
        inner()


def _below_jvp(p: Below, xs: Tracers, ts: Tangents) -> Pushed:
    (t, x), (dt, dx) = xs, ts
    y: Any = below_blocks(t, x, turned=p.turned)
    change: Any = dt if dt is None or not p.turned else matrix_transpose(dt)
    terms = [dx, None if change is None else change @ y + -(y @ change)]
    moved = sum_tangents(terms)
    return [y], [None if moved is None else below_blocks(t, moved, turned=p.turned)]


def _below_transpose(p: Below, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    t = xs[0]
    assert t is not None, "the solution is linear in the right-hand side alone"
    return [None, below_blocks(t, cts[0], turned=not p.turned)]


def _abstract_below(_p: Below, t: ArrayType, x: ArrayType) -> Types:
    if square(t) is not x:
        raise TypeError(f"two square matrices of one type are needed, got {t} and {x}")
    return (x,)


schur_rotation_p: Final = Primitive(
    "schur_rotation",
    Below,
    abstract=_abstract_below,
    impl=_solve_impl,
    jvp=_below_jvp,
    transpose=_below_transpose,
)


def below_blocks(t: Tracer, x: Tracer, *, turned: bool = False) -> Tracer:
    """Return Y, zero but below the blocks of T, with Y·T - T·Y equal to X there; or of Tᵀ."""
    return bind(schur_rotation_p, Below(turned), t, x)[0]


# ---- the form ------------------------------------------------------------------------------------


class Order(Params):
    """Which eigenvalues come first, by SciPy's word; none for LAPACK's order."""

    sort: str


def _abstract(p: Order, a: ArrayType) -> Types:
    counted = (ArrayType(a.shape[:-2], INT),) if p.sort else ()
    return square(a), a, *counted


def _jvp(p: Order, xs: Tracers, ts: Tangents) -> Pushed:
    (a,), (given,) = xs, ts
    assert given is not None
    t, z, *count = schur(a, p.sort)
    given = require_zero(given, per_matrix(_is_loose(t), a.shape), "Schur vectors")
    x: Any = in_basis(z, given)
    below: Any = below_blocks(t, x)
    turn = below + neg(adjoint(below))
    if t.dtype.kind == "c":
        turn = gauge(turn, on_diagonal(t.type), checked=False)
    else:
        turn = turn + _within_blocks(t, x, turn)
    moved = x + t @ turn + -(turn @ t)
    moved = triangle(moved, lower=False) + np.where(_in_blocks(t), moved, 0)
    return [t, z, *count], [moved, z @ turn, *(None for _ in count)]


def _in_blocks(t: Any) -> Any:
    """Return the mask of what is below the diagonal in blocks of two rows."""
    return np.tril(t, -1) != 0


def _within_blocks(t: Any, x: Any, turn: Any) -> Any:
    """Return the rotation that keeps the numbers on the diagonal of a block equal."""
    slopes: Any = diagonal(x + t @ turn + -(turn @ t))
    left: Any = per_row(slopes, t.shape)
    apart = left + neg(per_column(slopes, t.shape))
    inside = _in_blocks(t)
    turned: Any = matrix_transpose(t)
    below: Any = np.where(inside, apart * (0.5 / np.where(inside, t + turned, 1)), 0)
    return below + neg(matrix_transpose(below))


def _is_loose(t: Any) -> Any:
    """Return whether eigenvalues are equal, or a block is normal, up to rounding errors."""
    inside = _in_blocks(t)
    turned: Any = matrix_transpose(t)
    across = np.where(inside, turned, 0) * t  # b·c < 0, the square of the imaginary part
    squares = np.sum(across, axis=-1) + np.sum(across, axis=-2)
    w = diagonal(t) + 1j * np.sqrt(-np.real(squares)) * np.sign(np.sum(inside, -1) - 0.5)
    distances = np.abs(w[..., :, None] - w[..., None, :])
    limit = 4 * t.shape[-1] * float(np.finfo(t.dtype).eps) * np.max(np.abs(t), (-1, -2), initial=0)
    itself: Any = on_diagonal(t.type)
    gaps = np.where(itself, np.inf, distances)
    skewed = np.where(inside, np.abs(t + turned), np.inf)
    return np.any(np.minimum(gaps, skewed) <= limit[..., None, None], axis=(-1, -2))


def _impl(p: Order) -> Callable[..., Any]:
    def form(a: Any) -> Any:
        found = scipy_linalg("schur")(a, sort=p.sort or None)
        return (*found[:2], *(np.asarray(k, INT) for k in found[2:]))

    return over_stack(form)


schur_p: Final = Primitive(
    "schur", Order, abstract=_abstract, impl=_impl, jvp=_jvp, facts=Facts(raises=True)
)


def schur(a: Tracer, sort: str) -> tuple[Tracer, ...]:
    """Return T and Z, and how many eigenvalues come first if there is an order."""
    return bind(schur_p, Order(sort), a)
