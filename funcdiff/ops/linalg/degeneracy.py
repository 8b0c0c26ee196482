"""Repeated eigenvalues: which derivatives exist there, and which depend on a choice of vectors.

Eigenvalues that differ by rounding only count as equal.  Their eigenvectors are any basis of one
space, so a result may be differentiated only if it does not depend on which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.access import Rule, signature
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, FLOAT, ArrayType
from funcdiff.ops.axes.reductions import reduce_max
from funcdiff.ops.elementwise.complex import modulus
from funcdiff.ops.elementwise.logic import less
from funcdiff.ops.elementwise.mathematics import absolute, div, sub
from funcdiff.ops.families import DIAGONAL, assertion, constant_op, linear, refusal, symmetric
from funcdiff.ops.linalg.matrices import per_column, per_matrix, per_row, rows
from funcdiff.ops.structure.structural import concatenate, convert, select
from funcdiff.space import Maybe, mul, neg, sum_tangents, zeros

C = TypeVar("C", bound="Directed")
T = TypeVar("T", bound="Turn")

# ---- which values are equal ----------------------------------------------------------------------


def eps_of(x: Any) -> float:
    """Return the precision of an array."""
    return float(np.finfo(x.dtype).eps)


def least_gap(dtype: np.dtype[Any], order: int) -> float:
    """Return the gap below which derivatives of vectors of an order may have no two digits.

    Rounding errors of the size of eps are divided by a power of the gap, of a matrix with elements
    of at most 1.  They are more than a hundredth then.
    """
    eps = float(np.finfo(dtype).eps)
    return math.pow(eps, 7 / (8 * order))


def _equal_pairs(w: Any) -> Any:
    """Group values whose neighbours in order are closer than LAPACK's rounding error.

    The vectors of values whose gap is a few rounding errors are any basis of their space.
    """
    if 0 in w.shape:
        return np.zeros((*w.shape, w.shape[-1]), bool)
    order = np.argsort(w, axis=-1, kind="stable")
    ordered = np.take_along_axis(w, order, -1)
    scale = np.abs(w).max(axis=-1, keepdims=True)
    tolerance = max(4 * w.shape[-1] * eps_of(w), least_gap(w.dtype, 1)) * scale
    steps = np.diff(ordered, axis=-1, prepend=ordered[..., :1]) > tolerance
    places = np.argsort(order, axis=-1, kind="stable")
    groups = np.take_along_axis(np.cumsum(steps, axis=-1), places, -1)
    return groups[..., :, None] == groups[..., None, :]


equal_pairs_p: Final = constant_op(
    "equal_pairs",
    Params,
    abstract=lambda _p, w: (ArrayType((*w.shape, w.shape[-1]), BOOL),),
    impl=lambda _p: _equal_pairs,
    access=signature("...?->...??"),
)


def equal_pairs(w: Tracer) -> Tracer:
    """Return the mask of pairs (i, j) of equal values along the last axis, up to rounding."""
    return bind(equal_pairs_p, NONE, w)[0]


def differences(w: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Return w[j] - w[i]."""
    return sub(per_column(w, shape), per_row(w, shape))


def reciprocal(x: Tracer, zero: Tracer) -> Tracer:
    """Return 1/x, and 0 where marked."""
    one = constant(1, x.type)
    return select(zero, zeros(x.type), div(one, select(zero, one, x)))


def reciprocal_gaps(w: Tracer, same: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """Return F[i, j] = 1/(w[j] - w[i]), and 0 between equal values."""
    return convert(reciprocal(differences(w, same.shape), same), dtype)


# ---- another choice of eigenvectors --------------------------------------------------------------


def _generic_rotation(same: Any) -> Any:
    n = same.shape[-1]
    numbers = np.arange(1.0, n + 1)
    mixed = np.cos(numbers[:, None] * numbers)
    rotation = np.zeros(same.shape)
    rotation[..., range(n), range(n)] = 1
    for place in map(tuple, np.argwhere(same.sum(axis=(-1, -2)) > n)):
        for members in np.unique(same[place], axis=0):
            (k,) = members.nonzero()
            if len(k) > 1:
                rotation[(*place, *np.ix_(k, k))] = np.linalg.eigh(mixed[np.ix_(k, k)])[1]
    return rotation


generic_rotation_p: Final = constant_op(
    "generic_rotation",
    Params,
    abstract=lambda _p, same: (same.with_dtype(FLOAT),),
    impl=lambda _p: _generic_rotation,
    access=signature("...??->...??"),
)


def generic_rotation(type_: ArrayType, same: Tracer) -> Tracer:
    """Return a rotation within the blocks that no result is likely to be stationary at.

    It consists of the eigenvectors of the blocks of cos(i·k); where nothing is equal, it is 1.
    """
    return convert(bind(generic_rotation_p, NONE, same)[0], type_.dtype)


# ---- what depends on the choice of eigenvectors --------------------------------------------------


GAUGE: Final = (
    "the result depends on which eigenvectors eigh, or other vectors svd or schur, returns: those "
    "of a value that occurs more than once are any basis of their space, and complex ones have any "
    "phase. Such a result has no derivative. Use what does not depend on that choice: the values, "
    "projectors v @ v.conj().T, (v * f(w)) @ v.conj().T, (u * f(s)) @ vh, or abs(v)**2. The "
    "vectors that full_matrices=True adds, and those of the singular value zero, are any basis of "
    "a null space: pass full_matrices=False, or use the others alone. Of a result that is "
    "constant, as u @ u.conj().T of a square u is, second derivatives are rounding errors, which "
    "may look like such a dependence: write the constant, np.eye(n)."
)
"""What to say of a result that depends on a choice."""


class Choice(Params):
    """What depends on a choice of vectors, or might; whether it raises where a result does."""

    @property
    def checks(self) -> bool:
        """Whether it raises."""
        return True


class Directed(Choice):
    """Whether the operation checks its operand; its transpose is the other.

    What can be seen of cotangents is checked in reverse mode alone, and what can be seen of
    tangents in forward mode; each asks the other (see `passes.choices`).
    """

    checked: bool

    @property
    def checks(self) -> bool:
        """Whether it raises."""
        return self.checked


class Gauge(Directed):
    """Whether the operand is a cotangent, which has to be checked, or a tangent."""


def significant(parts: Any, x: Any) -> Any:
    """Return which parts are more than rounding errors of a matrix `x`."""
    eps, scale = eps_of(x), np.abs(x).max(axis=(-2, -1), keepdims=True)
    return parts > np.maximum(eps**0.5 * scale, x.shape[-1] * eps)


def skew_part(ct: Any) -> Any:
    """Return the sizes of what a cotangent asks of rotations: <ct, K> for skew-Hermitian K."""
    return np.abs(ct - ct.swapaxes(-1, -2).conj())


def directed_assertion(
    name: str,
    params: type[C],
    check: Callable[[C], Callable[..., Any]],
    access: Rule | None = None,
) -> Primitive[C]:
    """Declare the identity that checks its operand in one direction, as its parameters say."""
    return symmetric(
        name,
        params,
        impl=lambda p: check(p) if p.checked else lambda x, *_: x,
        transposed=lambda p: replace(p, checked=not p.checked),
        access=access,
        facts=DIAGONAL,
    )


def gauge(x: Tracer, same: Tracer, *, checked: bool) -> Tracer:
    """Return the generator of a rotation of eigenvectors, or its cotangent, as it is."""
    return bind(gauge_p, Gauge(checked), x, same)[0]


def _is_skew(ct: Any, same: Any) -> Any:
    return same & significant(skew_part(ct), ct)


_GAUGE: Final = refusal(_is_skew, GAUGE)
gauge_p: Final = directed_assertion("gauge", Gauge, lambda _p: _GAUGE)


checked: Final = assertion("checked", lambda x, _answer: x)
"""Return `x`, a result or its tangent, for which a check has answered: it raises, or is spoilt."""


_MISSING: Final = {
    "eigenvectors": (
        "eigenvectors of eig that belong to an eigenvalue that occurs more than once have no "
        "derivative: they are any basis of their space, or the matrix has no basis of eigenvectors"
        " at all. Use eigh for Hermitian matrices, where what does not depend on the choice has "
        "one, or the eigenvalues alone."
    ),
    "eigenvalues": (
        "eigenvalues of eig or eigvals have no derivative at a matrix that has no basis of "
        "eigenvectors, such as [[1, 1], [0, 1]]: they part with infinite speed. Use what is smooth "
        "in the elements of the matrix: its trace, powers or determinant."
    ),
    "functions": (
        "the derivative of funm is computed by eigenvectors, of which a matrix such as "
        "[[1, 1], [0, 1]] has no basis. Use expm, logm, sqrtm, fractional_matrix_power, sinm and "
        "the like, or products and inverses, which have their derivatives there."
    ),
    "Schur vectors": (
        "schur of a matrix with an eigenvalue that occurs more than once, or with a block of two "
        "rows that is normal, as that of a rotation is: its factors jump next to it. Use what "
        "does not depend on them: eigvals, sqrtm, logm, or expm; of a block, output='complex'."
    ),
    "LU factors": (
        "the LU factorization of a singular matrix with a pivot that is zero before the last one: "
        "next to it another row is exchanged, so that the factors jump. Use det, qr, or "
        "lstsq, which have derivatives there."
    ),
    "reflectors": (
        "qr(mode='raw') of a matrix of which a column is zero below the diagonal after the "
        "reflections before: LAPACK does not reflect it, and does so next to it, so that h and "
        "tau jump. Pass mode='reduced', whose factors have a derivative."
    ),
}


class Missing(Choice):
    """What has no derivative, by its name in the messages."""

    what: str


def _is_there(x: Any, missing: Any) -> Any:
    return missing & (x != 0)


require_zero_p: Final = symmetric(
    "require_zero",
    Missing,
    impl=lambda p: refusal(_is_there, _MISSING[p.what]),
    facts=DIAGONAL,
)


def require_zero(x: Tracer, missing: Tracer, what: str) -> Tracer:
    """Return a tangent or cotangent as it is; only zeros may stand where there is no derivative."""
    return bind(require_zero_p, Missing(what), x, missing)[0]


# ---- what equal eigenvalues share ----------------------------------------------------------------


class Averaging(Choice):
    """An average, which says nothing itself, but is none for long while the values part."""

    @property
    def checks(self) -> bool:
        """Whether it raises."""
        return False


def _average(x: Any, same: Any) -> Any:
    weights = same.astype(x.dtype)
    return (weights @ x[..., None])[..., 0] / weights.sum(axis=-1)


def mean_over_ties(x: Tracer, same: Tracer) -> Tracer:
    """Return the means of `x` over values that are equal: the block average."""
    return bind(mean_over_ties_p, Averaging(), x, same)[0]


def _mean_jvp(_p: Averaging, xs: Tracers, ts: Tangents) -> Pushed:
    """Require that what is averaged agrees, which may meet a factor that parts, and its tangent."""
    (x, same), t = xs, ts[0]
    if t is None:
        return [mean_over_ties(x, same)], [None]
    return [agreement(x, same)], [agreement(t, same)]


mean_over_ties_p: Final = symmetric(
    "mean_over_ties",
    Averaging,
    impl=lambda _p: _average,
    jvp=_mean_jvp,
    access=signature("...?,...??->...?"),
)


class Sharing(Directed):
    """Whether it is an error if values differ that have to be equal."""


def _differ(x: Any, same: Any) -> Any:
    return same & significant(np.abs(x[..., :, None] - x[..., None, :]), x[..., None])


_AGREEMENT: Final = refusal(
    _differ,
    "eigenvalues or singular values that are equal are used in different ways, so that the "
    "derivative depends on how they part (those that are zero may not be used). If they and the "
    "vectors make a function of the matrix, write it as (v * f(w)) @ v.conj().T or "
    "(u * f(s)) @ vh, f elementwise: that has its derivatives at equal values.",
)
agreement_p: Final = directed_assertion(
    "agreement", Sharing, lambda _p: _AGREEMENT, signature("...?,...??->...?")
)


def agreement(x: Tracer, same: Tracer) -> Tracer:
    """Return what belongs to values as it is; it has to be equal for equal ones."""
    return bind(agreement_p, Sharing(checked=True), x, same)[0]


def _has_ties(_t: Any, same: Any) -> Any:
    return np.sum(same) > math.prod(same.shape[:-1])


_SIMPLE: Final = refusal(
    _has_ties,
    "the mixed derivative of (v * f(w, c)) @ v.conj().T, or of (u * f(s, c)) @ vh, by the matrix "
    "and by an array c of one number per value, at values that are equal: it depends on which "
    "vectors belong to which number. Differentiate by one number at a time, or keep the values "
    "apart.",
)
simple_spectrum: Final = assertion("simple_spectrum", _SIMPLE)
"""Return `t`, a tangent or cotangent that exists only where no two values are equal."""


# ---- how vectors turn ----------------------------------------------------------------------------


class Turn(Params):
    """Whether the equations of the turn are transposed; the order of the derivative it is in."""

    transposed: bool
    order: int


def turning(
    name: str,
    params: type[T],
    moved: Callable[[T, Tracers, Tracer], Tracer],
    equations: Callable[[T, Tracer, Tracer], Tracer],
    *,
    squares: int,
) -> Primitive[T]:
    """Declare ``y = name{transposed} x, gaps, same, a, *vectors``: how vectors of `a` turn.

    y = x·gaps solves linear equations N(y, Λ) = x elementwise, because Λ, which is `a` in the
    basis of the vectors, is diagonal.  What moves of Λ is the whole block of equal values, because
    the vectors of a block do not turn within it: N(dy, Λ) = dx - N(y, dΛ).

    Parameters
    ----------
    name, params
        Of the primitive.
    moved
        Returns what dA is in the basis of the vectors, of p, [a, *vectors] and dA.  The mask
        `same` says which elements of it are dΛ.
    equations
        Returns N(y, dΛ), of p, y and dΛ; if p is transposed, the transpose by y.
    squares
        How many square matrices x has above each other: generators, of which cotangents are skew.

    """

    def jvp(p: T, xs: Tracers, ts: Tangents) -> Pushed:
        x, gaps, same, *point = xs
        change, t = ts[0], ts[3]
        if t is None:
            assert change is not None
            return bind(primitive, p, *xs), bind(primitive, p, change, gaps, same, *point)
        following = replace(p, order=p.order + 1)
        near = _is_lossy(gaps, point[0], squares, following.order)
        if p.transposed:
            x = digits(x, near, checked=True)
        (y,) = bind(primitive, p, x, gaps, same, *point)
        inner = moved(p, point, t)
        split = select(same, inner, zeros(inner.type))
        change = sum_tangents([change, neg(equations(p, y, split))])
        assert change is not None
        (turned,) = bind(primitive, following, change, gaps, same, *point)
        return [y], [turned if p.transposed else digits(turned, near, checked=False)]

    primitive = symmetric(
        name,
        params,
        impl=lambda _p: lambda x, gaps, *_: x * gaps,
        transposed=lambda p: replace(p, transposed=not p.transposed),
        jvp=jvp,
        access=signature("...??->...??"),  # of elements of x that are zero those of y move, with a
    )
    return primitive


class Digits(Directed):
    """Whether the operand is a cotangent, which is checked, or a tangent."""


def _lost_digits(x: Any, near: Any) -> Any:
    """Return where a cotangent of a pair that is near each other is skew by rounding errors only.

    Its skew part is multiplied by powers of 1/gap, in derivatives from the second on.
    """
    *stack, size, n = x.shape
    count = size // n if n else 0
    squares, close = [y[..., : count * n, :].reshape(*stack, count, n, n) for y in (x, near)]
    mirror = squares.swapaxes(-1, -2).conj()
    limit = eps_of(x) ** 0.25 * np.abs(x).max(axis=(-1, -2))
    is_error = np.abs(squares - mirror) <= limit[..., None, None, None]
    return close & ((squares != 0) | (mirror != 0)) & is_error


_DIGITS: Final = refusal(
    _lost_digits,
    "a second or higher derivative of vectors that eigh or svd returns, at values that are nearly "
    "equal: rounding errors are divided by the square of their difference, or a higher power, so "
    "that no digit of the result may be right. A function of the matrix keeps its digits, at equal "
    "values too, if it is written as (v * f(w)) @ v.conj().T or (u * f(s)) @ vh, of all vectors or "
    "of a slice of them, such as v[:, -k:].",
)
digits_p: Final = directed_assertion("digits", Digits, lambda _p: _DIGITS)


def digits(x: Tracer, near: Tracer, *, checked: bool) -> Tracer:
    """Return the generator of a turn of vectors, or its cotangent, as it is."""
    return bind(digits_p, Digits(checked), x, near)[0]


def _is_lossy(gaps: Tracer, a: Tracer, squares: int, order: int) -> Tracer:
    """Return where values differ by so little that derivatives may have no two digits."""
    *stack, size, count = gaps.shape
    rest = ArrayType((*stack, size - squares * count, count), BOOL)
    if 0 in gaps.shape:
        return constant(False, gaps.type.with_dtype(BOOL))
    sizes = _sizes(rows(gaps, 0, squares * count))
    scale = per_matrix(reduce_max(_sizes(a), (a.ndim - 2, a.ndim - 1)), sizes.shape)
    limit = constant(1 / least_gap(sizes.dtype, order), sizes.type)
    near = less(limit, mul(sizes, scale))
    return concatenate([near, constant(False, rest)], near.ndim - 2) if rest.size else near


def _sizes(x: Tracer) -> Tracer:
    return modulus(x) if x.dtype.kind == "c" else absolute(x)


# ---- eigenvalues and eigenvectors together -------------------------------------------------------


class Settling(Choice):
    """Whether vectors of equal eigenvalues turn as unitary matrices do."""

    unitary: bool


def _differential_jvp(p: Settling, xs: Tracers, ts: Tangents) -> Pushed:
    """Keep both results apart, of which one may be used alone."""
    slopes, generator, same = xs
    moved, turned, _ = ts
    return [
        (mean_over_ties if moved is None else agreement)(slopes, same),
        gauge(generator, same, checked=False) if p.unitary else generator,
    ], [
        None if moved is None else agreement(moved, same),
        turned if turned is None or not p.unitary else gauge(turned, same, checked=False),
    ]


def _differential_transpose(p: Settling, _types: Types, cts: Tangents, xs: Tangents) -> list[Maybe]:
    """Be strict where both are used: a part of the derivative may be in neither cotangent.

    For V·f(w)·Vᴴ that is f'(w)·S between equal eigenvalues, S[i, j] for i ≠ j.
    """
    ct, turning = cts
    same = xs[2]
    assert same is not None
    return [
        None if ct is None else (mean_over_ties if turning is None else agreement)(ct, same),
        turning if turning is None or not p.unitary else gauge(turning, same, checked=True),
        None,
    ]


eigen_differential_p: Final[Primitive[Settling]] = linear(
    "eigen_differential",
    Settling,
    abstract=lambda _p, slopes, generator, _same: (slopes, generator),
    impl=lambda _p: lambda slopes, generator, same: (_average(slopes, same), generator),
    transpose=_differential_transpose,
    operands=slice(2),
    jvp=_differential_jvp,
    access=signature("...?,...ij,...??->...?,...ij"),
)


def eigen_differential(
    slopes: Tracer, generator: Tracer, same: Tracer, *, unitary: bool = True
) -> tuple[Tracer, ...]:
    """Return what becomes of eigenvalues, and the rotation of eigenvectors, of no one direction.

    Equal eigenvalues share their slopes, and must be used alike where both results are.  The
    rotation is what it is, but watched in reverse mode if it is unitary: its cotangent must not
    ask for rotations within the blocks.
    """
    return bind(eigen_differential_p, Settling(unitary), slopes, generator, same)
