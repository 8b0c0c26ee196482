"""Eigenvalues, singular values, their vectors, and the Schur form."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.adapting.conditions import concrete_rank, is_known_to_hold
from funcdiff.core.types import complex_dtype
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.ops.linalg import factorizations, general_eigen, singular
from funcdiff.ops.linalg.matrices import adjoint, mirrored
from funcdiff.ops.linalg.routines import scipy_constant
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers, unsupported
from funcdiff.scipy.linalg.matrix_stacks import squares, stacks
from funcdiff.scipy.primitives.linalg.schur import schur as unitary_form

_GAUGE = (
    "What depends on a choice among vectors, those of equal values or complex phases, has no "
    "derivative and raises."
)

# ---- Hermitian eigenproblems ---------------------------------------------------------------------


@covers("scipy.linalg", note=_GAUGE)
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Return eigenvalues and eigenvectors, all or some, of Hermitian matrices or pairs of them.

    The gradient is symmetric.  With V normalized as SciPy does, dw = diag(Vᴴ·dA·V) and
    dV = V·(F∘Vᴴ·dA·V) with F[i, j] = 1/(w[j] - w[i]); a pair is made one matrix by the Cholesky
    factor of `b`.
    """
    if subset_by_index is not None and subset_by_value is not None:
        raise ValueError("Either index or value subset can be requested.")
    subset = subset_by_index is not None or subset_by_value is not None
    driver = driver or (("gvx" if subset else "gvd") if b is not None else "evr")
    options = {"lower": bool(lower), "driver": driver}
    pair = squares(a) if b is None else squares(a, b)
    if b is None:
        w, v = _of_matrix(pair[0], bool(lower), driver, eigvals_only=eigvals_only, subset=subset)
    else:
        options["type"] = type
        w, v = _of_pair(pair[0], pair[1], bool(lower), type, eigvals_only=eigvals_only)
    if not subset:
        return w if eigvals_only else (w, v)
    start, stop = _range(w, subset_by_index, subset_by_value)
    w = w[..., start:stop]
    if eigvals_only:
        return w
    known: Any = {"subset_by_index": (start, stop - 1)} if stop > start else {}
    v = v[..., start:stop]
    types = (w.shape[-1:], w.dtype.str), (v.shape[-2:], v.dtype.str)
    if not known:
        return w, v
    xs = pair if b is not None else [*pair]
    depths = (2,) * len(xs)
    _, reference = scipy_constant("eigh", types, *xs, depths=depths, **options, **known)
    return w, align(v, reference)


def _of_matrix(
    a: Traced, lower: bool, driver: str, *, eigvals_only: bool, subset: bool
) -> tuple[Any, Any]:
    if eigvals_only:
        return factorizations.eigvalsh(a, lower=lower), None
    # only this driver's signs are others than those of NumPy's
    name = "evr" if driver == "evr" and not subset else ""
    w, v = factorizations.eigh(a, lower=lower, driver=name)
    return w, v


def _of_pair(a: Traced, b: Traced, lower: bool, kind: int, *, eigvals_only: bool) -> Any:
    """Return eigenvalues and eigenvectors of A·v = w·B·v, of A·B·v = w·v or of B·A·v = w·v."""
    if kind not in (1, 2, 3):
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    factor: Any = factorizations.cholesky(b, lower=lower)
    factor = factor if lower else adjoint(factor)
    matrix: Any = mirrored(a, lower=lower)
    if kind == 1:
        half = triangular_solve(factor, matrix, lower=True)
        whole: Any = triangular_solve(factor, adjoint(half), lower=True)
    else:
        whole = adjoint(factor) @ matrix @ factor
    if eigvals_only:
        return factorizations.eigvalsh(whole, lower=lower), None
    w, v = factorizations.eigh(whole, lower=lower)
    if kind == 3:
        return w, factor @ v
    return w, triangular_solve(adjoint(factor), v, lower=False)


def _range(w: Any, by_index: Any, by_value: Any) -> tuple[int, int]:
    """Return which eigenvalues are asked for."""
    if by_index is not None:
        first, last = (int(k) for k in by_index)
        if not 0 <= first <= last < w.shape[-1]:
            raise ValueError(
                f"Requested eigenvalue indices are not valid. Valid range is "
                f"[0, {w.shape[-1] - 1}] and start <= end, but start={first}, end={last} is given"
            )
        return first, last + 1
    low, high = by_value
    return int(np.count_nonzero(w <= low)), int(np.count_nonzero(w <= high))


def align(v: Any, reference: Any) -> Any:
    """Return vectors, the columns, with the signs or phases that others have."""
    constant: Any = stop_gradient(v)
    overlap = np.sum(np.conj(constant) * reference, axis=-2, keepdims=True)
    size = np.abs(overlap)
    phase: Any = np.where(size == 0, 1, overlap / np.where(size == 0, 1, size))
    return v * stop_gradient(phase)


# ---- general eigenproblems -----------------------------------------------------------------------


@covers(
    "scipy.linalg",
    note="Not for homogeneous_eigvals. Vectors of equal eigenvalues, and the phases of complex "
    "ones of a pair, have no derivative.",
)
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return eigenvalues and eigenvectors of a matrix, or of a pair with a regular `b`.

    Vectors have length 1, and the derivative keeps the largest element of each in its direction
    in the complex plane.
    """
    if homogeneous_eigvals:
        raise unsupported(
            "scipy.linalg.eig(homogeneous_eigvals=True)",
            "How pairs (α, β) are scaled is up to an algorithm: leave it out, for their ratios.",
        )
    xs = squares(a) if b is None else squares(a, b)
    whole: Any = xs[0] if b is None else np.linalg.solve(xs[1], xs[0])
    found: Any = general_eigen.eig(whole)
    w, v = found
    if whole.size == 0:
        return (w, *[v.real if xs[0].dtype.kind != "c" else v] * (left + right))
    types = ((w.shape[-1:], w.dtype.str), *((v.shape[-2:], v.dtype.str),) * (left + right))
    depths = (2,) * len(xs)
    found = scipy_constant("eig", types, *xs, depths=depths, left=bool(left), right=bool(right))
    order = _nearest(found[0], w)
    w = np.take_along_axis(w, order, -1)
    if not (left or right):
        return w
    v = np.take_along_axis(v, order[..., None, :], -1)
    vectors = []
    if left:
        dual = v if b is None else xs[1] @ v
        vectors.append(align(_unit(np.conj(np.swapaxes(np.linalg.inv(dual), -1, -2))), found[1]))
    if right:
        vectors.append(align(v, found[-1]))
    is_real = xs[0].dtype.kind != "c" and is_known_to_hold(lambda: np.all(w.imag == 0))
    return (w, *(x.real if is_real else x for x in vectors))


def _nearest(values: Any, w: Any) -> Any:
    """Return which of the numbers w each value is, each of them once.

    Of numbers that are equal to rounding the first one is that of the first value, and so on.
    """
    numbers: Any = stop_gradient(w)
    sizes = np.abs(numbers)
    tolerance = 100 * w.shape[-1] * np.finfo(w.dtype).eps * np.max(sizes, axis=-1, initial=0)
    gaps = np.abs(numbers[..., :, None] - numbers[..., None, :])
    classes = np.argmax(gaps <= tolerance[..., None, None], axis=-1)
    nearest = np.argmin(np.abs(values[..., :, None] - numbers[..., None, :]), axis=-1)
    found = np.take_along_axis(classes, nearest, -1)
    ranks = np.argsort(np.argsort(found, axis=-1, stable=True), axis=-1)
    return np.take_along_axis(np.argsort(classes, axis=-1, stable=True), ranks, -1)


def _unit(v: Any) -> Any:
    """Return columns of length 1, of which the largest element is positive."""
    v = v / np.linalg.norm(v, axis=-2, keepdims=True)
    place = np.argmax(np.abs(v), axis=-2, keepdims=True)
    largest = np.take_along_axis(v, place, -2)
    return v * (np.conj(largest) / np.abs(largest))


@covers("scipy.linalg", note="Not for homogeneous_eigvals.")
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Return eigenvalues of a matrix, or of a pair with a regular `b`; equal ones share slopes."""
    if b is None and not homogeneous_eigvals:
        return general_eigen.eigvals(squares(a)[0])
    return eig(a, b, left=False, right=False, homogeneous_eigvals=homogeneous_eigvals)


@covers(
    "scipy.linalg",
    note="For distinct eigenvalues, in an order by SciPy's words. What depends on the phases of "
    "complex vectors has no derivative and raises.",
)
def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """Return T and Z of Schur's form A = Z·T·Zᴴ, and how many eigenvalues `sort` puts first."""
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    if sort is not None and not isinstance(sort, str):
        raise unsupported("scipy.linalg.schur(sort=f)", "Give 'lhp', 'rhp', 'iuc' or 'ouc'.")
    (x,) = squares(a)
    if output in ("complex", "c") and x.dtype.kind != "c":
        x = x.astype(complex_dtype(x.dtype))
    return unitary_form(x, sort or "")


# ---- singular values -----------------------------------------------------------------------------


@covers("scipy.linalg", note=_GAUGE)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return the singular value decomposition, with the derivative of what is well-defined."""
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f'lapack_driver must be "gesdd" or "gesvd", not "{lapack_driver}"')
    (x,) = stacks(a)
    if not compute_uv:
        return singular.svdvals(x)
    driver = "" if lapack_driver == "gesdd" else lapack_driver
    return tuple(singular.svd(x, full=bool(full_matrices), driver=driver))


@covers("scipy.linalg")
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the singular values: ds = Re diag(Uᴴ·dA·V)."""
    return svd(a, compute_uv=False)


borrow_functions("scipy.linalg", "eigvalsh orthogonal_procrustes polar")

# ---- spaces --------------------------------------------------------------------------------------


def _rank(s: Any, rcond: float | None, shape: tuple[int, ...]) -> int:
    """Return how many singular values count."""
    rcond = float(np.finfo(s.dtype).eps) * max(shape) if rcond is None else rcond
    largest = np.max(s, axis=-1, keepdims=True, initial=0.0)
    counts = np.sum(s > largest * rcond, axis=-1, dtype=int)
    full = int(s.shape[-1])
    if counts.size == 0:
        return full
    least, most = (concrete_rank(extreme(counts), "scipy.linalg") for extreme in (np.min, np.max))
    if least != most:
        raise ValueError(f"matrices of a stack must have one rank, got {least} to {most}")
    return least


_VALUES = "The rank has to be known: not inside scan, say, or vmap over matrices of several ranks."


@covers("scipy.linalg", note=f"{_GAUGE} {_VALUES}")
def orth(A: Any, rcond: float | None = None) -> Any:
    """Return an orthonormal basis of the range, whose projector is what has a derivative."""
    u, s, _ = svd(A, full_matrices=False)
    return u[..., : _rank(s, rcond, np.shape(A)[-2:])]


@covers("scipy.linalg", note=f"{_GAUGE} {_VALUES}")
def null_space(
    A: Any,
    rcond: float | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return an orthonormal basis of the null space, whose projector has a derivative."""
    _, s, vh = svd(A, full_matrices=True, lapack_driver=lapack_driver)
    return adjoint(vh[..., _rank(s, rcond, np.shape(A)[-2:]) :, :])


@covers("scipy.linalg", note=_VALUES)
def subspace_angles(A: Any, B: Any) -> Any:
    """Return the angles between two column spaces, as arccosines or, if small, as arcsines.

    A. Knyazev, M. Argentati, SIAM J. Sci. Comput. 23, 2002.
    """
    left, right = array(orth(A)), array(orth(B))
    if left.shape[-2] != right.shape[-2]:
        raise ValueError(
            f"A and B must have the same number of rows, got {left.shape[-2]} and {right.shape[-2]}"
        )
    product = adjoint(left) @ right
    cosines = svdvals(product)
    if left.shape[-1] >= right.shape[-1]:
        rest = right - left @ product
    else:
        rest = left - right @ adjoint(product)
    is_small = cosines**2 >= 0.5
    sines = np.clip(svdvals(rest), -1.0, 1.0)
    return np.where(is_small, np.arcsin(sines), np.arccos(np.clip(cosines[..., ::-1], -1.0, 1.0)))
