"""Repeated eigenvalues: which derivatives exist there, and which depend on a choice of vectors.

Eigenvalues that differ by rounding only count as equal.  Their eigenvectors are any basis of one
space, so a result may be differentiated only if it does not depend on which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.access import signature
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, FLOAT, ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.mathematics import div, sub
from funcdiff.ops.families import DIAGONAL, assertion, constant_op, linear, symmetric
from funcdiff.ops.linalg.matrices import per_column, per_row
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import Maybe, zeros

C = TypeVar("C", bound=Any)

# ---- which values are equal ----------------------------------------------------------------------


def _equal_pairs(w: Any) -> Any:
    """Group values whose neighbours in order are closer than LAPACK's rounding error."""
    order = np.argsort(w, axis=-1, kind="stable")
    ordered = np.take_along_axis(w, order, -1)
    scale = np.abs(w).max(axis=-1, keepdims=True, initial=0)
    tolerance = 4 * w.shape[-1] * np.finfo(w.dtype).eps * scale
    steps = np.diff(ordered, axis=-1, prepend=ordered[..., :1]) > tolerance
    groups = np.empty(w.shape, np.intp)
    np.put_along_axis(groups, order, np.cumsum(steps, axis=-1), -1)
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


def reciprocal_gaps(w: Tracer, same: Tracer, dtype: np.dtype[Any]) -> Tracer:
    """Return F[i, j] = 1/(w[j] - w[i]), and 0 between equal values."""
    gaps = differences(w, same.shape)
    one = constant(1, gaps.type)
    return convert(select(same, zeros(gaps.type), div(one, select(same, one, gaps))), dtype)


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
    """Whether the operation raises where a result depends on a choice of vectors."""

    @property
    def checks(self) -> bool:
        """Whether it does, or, as a field `checked` may say, returns its operand in every case."""
        return bool(getattr(self, "checked", True))


class Gauge(Choice):
    """Whether the operand is a cotangent, which has to be checked, or a tangent."""

    checked: bool


def is_significant(parts: Any, x: Any, axes: tuple[int, ...]) -> bool:
    """Whether any of the parts is more than rounding error of `x`."""
    eps = np.finfo(x.dtype).eps
    scale = np.abs(x).max(axis=axes, keepdims=True, initial=0)
    return bool((parts > np.maximum(np.sqrt(eps) * scale, x.shape[-1] * eps)).any())


def _check(ct: Any, same: Any) -> Any:
    """Raise unless <ct, K> = 0 for all skew-Hermitian K within the blocks."""
    skew = np.where(same, np.abs(ct - np.conj(np.swapaxes(ct, -1, -2))), 0)
    if is_significant(skew, ct, (-1, -2)):
        raise NotDifferentiableError(GAUGE)
    return ct


def cotangent_assertion(
    name: str, params: type[C], check: Callable[[C], Callable[..., Any]]
) -> Primitive[C]:
    """Declare the identity of tangents, of which `check` looks at the cotangents.

    The parameters are a dataclass with a field `checked`.
    """
    return symmetric(
        name,
        params,
        impl=lambda p: check(p) if p.checked else lambda x, *_: x,
        transposed=lambda p: replace(p, checked=not p.checked),
        facts=DIAGONAL,
    )


def gauge(x: Tracer, same: Tracer, *, checked: bool) -> Tracer:
    """Return the generator of a rotation of eigenvectors, or its cotangent, as it is."""
    return bind(gauge_p, Gauge(checked), x, same)[0]


gauge_p: Final = cotangent_assertion("gauge", Gauge, lambda _p: _check)


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


def _zero_where_missing(p: Missing) -> Callable[..., Any]:
    def check(x: Any, missing: Any) -> Any:
        if (missing & (x != 0)).any():
            raise NotDifferentiableError(_MISSING[p.what])
        return x

    return check


require_zero_p: Final = symmetric("require_zero", Missing, impl=_zero_where_missing, facts=DIAGONAL)


def require_zero(x: Tracer, missing: Tracer, what: str) -> Tracer:
    """Return a tangent or cotangent as it is; only zeros may stand where there is no derivative."""
    return bind(require_zero_p, Missing(what), x, missing)[0]


# ---- what equal eigenvalues share ----------------------------------------------------------------


class Sharing(Choice):
    """Whether values that differ where they have to be equal are an error."""

    checked: bool


def _average(x: Any, same: Any) -> Any:
    weights = same.astype(x.dtype)
    return (weights @ x[..., None])[..., 0] / weights.sum(axis=-1)


def _agree(x: Any, same: Any) -> Any:
    """Return the averages, or raise if there is something to average."""
    apart = np.where(same, np.abs(x[..., :, None] - x[..., None, :]), 0)
    if is_significant(apart, x[..., None], (-1, -2)):
        raise NotDifferentiableError(
            "eigenvalues or singular values that are equal are used in different ways, so that "
            "the derivative depends on how they part (those that are zero may not be used). If "
            "they and the vectors make a function of the matrix, write it as "
            "(v * f(w)) @ v.conj().T or (u * f(s)) @ vh, f elementwise: that has its derivatives "
            "at equal values."
        )
    return _average(x, same)


def mean_over_ties(x: Tracer, same: Tracer, *, strict: bool) -> Tracer:
    """Return the means of `x` over values that are equal: the block average."""
    return bind(mean_over_ties_p, Sharing(strict), x, same)[0]


def _mean_jvp(p: Sharing, xs: Tracers, ts: Tangents) -> Pushed:
    """Average what agrees: while eigenvalues part, an average is not one for long.

    That holds for what is averaged, which may meet a factor that parts, as for its tangent.
    """
    x, same = xs
    t = ts[0]
    y = mean_over_ties(x, same, strict=p.checked or t is not None)
    return [y], [None if t is None else mean_over_ties(t, same, strict=True)]


mean_over_ties_p: Final = symmetric(
    "mean_over_ties",
    Sharing,
    impl=lambda p: _agree if p.checked else _average,
    jvp=_mean_jvp,
    access=signature("...?,...??->...?"),
)


def _require_no_ties(t: Any, same: Any) -> Any:
    if same.sum() > same.shape[-1] * np.prod(same.shape[:-2], dtype=int):
        raise NotDifferentiableError(
            "the mixed derivative of (v * f(w, c)) @ v.conj().T, or of (u * f(s, c)) @ vh, by the "
            "matrix and by an array c of one number per value, at values that are equal: it "
            "depends on which vectors belong to which number. Differentiate by one number at a "
            "time, or keep the values apart."
        )
    return t


simple_spectrum: Final = assertion("simple_spectrum", _require_no_ties)
"""Return `t`, a tangent or cotangent that exists only where no two values are equal."""


# ---- eigenvalues and eigenvectors together -------------------------------------------------------


class Settling(Choice):
    """Whether vectors of equal eigenvalues turn as unitary matrices do."""

    unitary: bool


def _differential_jvp(p: Settling, xs: Tracers, ts: Tangents) -> Pushed:
    """Keep both results apart, of which one may be used alone."""
    slopes, generator, same = xs
    moved, turned, _ = ts
    return [
        mean_over_ties(slopes, same, strict=moved is not None),
        gauge(generator, same, checked=False) if p.unitary else generator,
    ], [
        None if moved is None else mean_over_ties(moved, same, strict=True),
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
        None if ct is None else mean_over_ties(ct, same, strict=turning is not None),
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
