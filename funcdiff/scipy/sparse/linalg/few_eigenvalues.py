"""Some eigenvalues and singular values of sparse matrices, by SciPy's iterations.

With eigenvectors V of a Hermitian A, dw = diag(Vᴴ·dA·V), and dV = V·C + Y: C are the quotients
(Vᴴ·dA·V)ᵢⱼ / (wⱼ - wᵢ), and the columns of Y, orthogonal to V, solve (A - wⱼ)·yⱼ = -dA·vⱼ, which
bordered by V is a regular sparse system.  Of other matrices each vector is its own border.

References: A. L. Andrew, R. C. E. Tan, "Computation of derivatives of repeated eigenvalues and the
corresponding eigenvectors of symmetric matrix pencils", 1998; R. B. Nelson, "Simplified calculation
of eigenvector derivatives", 1976.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.api.inspection import stop_gradient
from funcdiff.api.rules.opaque_functions import primitive
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.scipy.covered import covers, holds_traced, table
from funcdiff.scipy.sparse.linalg.direct import MODULE, PLAIN, spsolve
from funcdiff.scipy.sparse.traced_arrays import (
    SCIPY,
    Pattern,
    SparseArray,
    is_sparse,
    sparse_array,
    with_pattern,
)

_block: Final[Any] = table["scipy.sparse"]["block_array"]


class Held:
    """A constant argument of SciPy's, which need not be hashable."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Request:
    """What is asked of a matrix of some pattern, and of which function of SciPy's."""

    def __init__(self, name: str, pattern: Pattern, k: int, mass: Held, options: Any) -> None:
        self.name, self.pattern, self.k, self.mass, self.options = name, pattern, k, mass, options
        self.key = (name, pattern, k, mass, options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def keywords(self) -> dict[str, Any]:
        """Return the keywords as SciPy takes them."""
        return {k: v.value if isinstance(v, Held) else v for k, v in self.options}


def _real(dtype: Any) -> Any:
    return np.zeros(0, dtype).real.dtype


# ---- Hermitian -----------------------------------------------------------------------------------


def _hermitian_like(request: Request, data: Any) -> Any:
    n = request.pattern.pattern.shape[0]
    kind = np.result_type(data.dtype, np.float32)
    return np.empty(request.k, _real(kind)), np.empty((n, request.k), kind)


def _hermitian_value(request: Request, data: Any) -> Any:
    a = sparse_array(request.pattern.pattern, data)
    given = request.keywords()
    if request.name == "lobpcg":
        return tuple(PLAIN.lobpcg(a, given.pop("X"), request.mass.value, **given)[:2])
    return PLAIN.eigsh(a, request.k, request.mass.value, **given)


_hermitian: Final = primitive(_hermitian_value, result=_hermitian_like, nondiff_argnums=(0,))


@_hermitian.defjvp
def _hermitian_rule(request: Request, primals: Any, tangents: Any) -> Any:
    (data,), (t,) = primals, tangents
    w, V = _hermitian(request, data)
    pattern = request.pattern.pattern
    moved = hermitian_tangent(
        sparse_array(pattern, data), sparse_array(pattern, t), request.mass.value, w, V
    )  # fmt: skip
    return (w, V), moved


def hermitian_tangent(A: Any, dA: Any, mass: Any, w: Any, V: Any) -> tuple[Any, Any]:
    """Return the tangents of some eigenvalues and eigenvectors of a Hermitian matrix."""
    turned = np.conj(V.T)
    right = dA @ V
    inner = turned @ right
    gaps = w[None, :] - w[:, None]
    apart = np.abs(gaps) > 1e-12 * (np.abs(w[None, :]) + np.abs(w[:, None]))
    mixed = np.where(apart, inner / np.where(apart, gaps, 1.0), 0.0)
    border = V if mass is None else mass @ V
    unit = SCIPY.eye_array(V.shape[0], dtype=V.dtype) if mass is None else mass
    none = np.zeros(V.shape[1], V.dtype)
    columns = [
        _solve_bordered(A - w[j] * unit, border, np.conj(border.T), right[:, j], none)
        for j in range(V.shape[1])
    ]
    return np.diagonal(inner).real, V @ mixed - np.stack(columns, axis=1)


def _solve_bordered(A: Any, right: Any, below: Any, b: Any, rest: Any) -> Any:
    """Return y of A·y + right·z = b and below·y = rest."""
    whole = _block([[A, _dense(right)], [_dense(below), None]], format="csc")
    return spsolve(whole, np.concatenate([b, rest]))[: len(b)]


def _dense(x: Any) -> Any:
    """Return a dense matrix as a block with an entry at every place."""
    pattern = SCIPY.coo_array(np.ones(x.shape))
    pattern.data = np.arange(1, pattern.data.size + 1)
    return sparse_array(pattern, np.ravel(x))


def _request(name: str, A: Any, k: int, mass: Any, options: dict[str, Any]) -> Any:
    """Return a request, and the entries that it is for."""
    if not is_sparse(A):
        what = "a linear operator" if isinstance(A, PLAIN.LinearOperator) else "a dense matrix"
        raise UnsupportedNumPyError(
            f"{name} of {what} with traced numbers, at {user_location()}. Give a sparse array of "
            "traced entries; of a dense one, use np.linalg.eigh, np.linalg.eig or np.linalg.svd."
        )
    if holds_traced((mass, *options.values())):
        raise UnsupportedNumPyError(
            f"{name} with a traced keyword, at {user_location()}: only the matrix may be traced. "
            "Use fd.stop_gradient, or np.linalg of dense matrices."
        )
    a = with_pattern(A if isinstance(A, SparseArray) else A.copy())
    data = a.data if a.data.dtype.kind in "fc" else a.data.astype(float)
    held = {k: v if _is_simple(v) else Held(v) for k, v in options.items()}
    return Request(name, Pattern(a.pattern), k, Held(mass), tuple(held.items())), data


def _is_simple(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | complex)


def _start(given: Any, n: int, dtype: Any) -> Any:
    """Return where an iteration starts: traced calls give the same result each time."""
    return np.random.default_rng(0).uniform(-1, 1, n).astype(dtype) if given is None else given


@covers(
    MODULE, note="By the entries of a sparse matrix; not by those of M, nor of linear operators."
)
def eigsh(
    A: Any, k: int = 6, M: Any = None, *args: Any, return_eigenvectors: bool = True, **options: Any
) -> Any:
    """Return some eigenvalues and eigenvectors, as `scipy.sparse.linalg.eigsh`.

    The derivative is that for Hermitian changes; of equal eigenvalues, only the sum has one.
    """
    options |= dict(zip(("sigma", "which", "v0", "ncv", "maxiter", "tol"), args, strict=False))
    options.pop("rng", None)
    dtype = np.result_type(getattr(A, "dtype", np.float64), np.float32)
    options["v0"] = _start(options.get("v0"), A.shape[0], dtype)
    request, data = _request("eigsh", A, k, M, options)
    w, V = _hermitian(request, data)
    if return_eigenvectors:
        return w, V
    alone = _values_alone(request, stop_gradient(data))  # in an order of their own
    return w[np.argsort(w)][np.argsort(np.argsort(alone))]


def _in_order(request: Request, data: Any) -> Any:
    a, given = sparse_array(request.pattern.pattern, data), request.keywords()
    return PLAIN.eigsh(a, request.k, request.mass.value, **given, return_eigenvectors=False)


_values_alone: Final = primitive(
    _in_order, result=lambda request, data: _hermitian_like(request, data)[0], nondiff_argnums=(0,)
)


@covers(MODULE, note="By the entries of A; not by those of X, B, M, Y.")
def lobpcg(
    A: Any, X: Any, B: Any = None, M: Any = None, Y: Any = None, *args: Any, **options: Any
) -> Any:
    """Return some eigenvalues and eigenvectors, as `scipy.sparse.linalg.lobpcg`."""
    options |= dict(zip(("tol", "maxiter", "largest"), args, strict=False))
    if Y is not None or any(options.get(f"ret{x}History") for x in ("Lambda", "ResidualNorms")):
        raise UnsupportedNumPyError(
            f"lobpcg with constraints or histories, at {user_location()}. Leave out Y and ret...="
        )
    given = {"X": X, "M": M, **options}
    request, data = _request("lobpcg", A, X.shape[1], B, given)
    return _hermitian(request, data)


# ---- singular values -----------------------------------------------------------------------------


def _singular_like(request: Request, data: Any) -> Any:
    m, n = request.pattern.pattern.shape
    kind = np.result_type(data.dtype, np.float32)
    k = request.k
    return np.empty((m, k), kind), np.empty(k, _real(kind)), np.empty((k, n), kind)


def _singular_value(request: Request, data: Any) -> Any:
    return PLAIN.svds(sparse_array(request.pattern.pattern, data), request.k, **request.keywords())


_singular: Final = primitive(_singular_value, result=_singular_like, nondiff_argnums=(0,))


@_singular.defjvp
def _singular_rule(request: Request, primals: Any, tangents: Any) -> Any:
    """[[0, A], [Aᴴ, 0]] has the eigenvectors (u, v) / √2, with the singular values."""
    (data,), (t,) = primals, tangents
    u, s, vh = _singular(request, data)
    pattern = request.pattern.pattern
    doubled, moved = (
        _block([[None, a], [a.conj().T, None]])
        for a in (sparse_array(pattern, data), sparse_array(pattern, t))
    )
    Q = np.concatenate([u, np.conj(vh.T)]) / np.sqrt(2).astype(s.dtype)
    ds, dQ = hermitian_tangent(doubled, moved, None, s, Q)
    dQ = np.sqrt(2).astype(s.dtype) * dQ
    m = u.shape[0]
    return (u, s, vh), (dQ[:m], ds, np.conj(dQ[m:].T))


@covers(MODULE, note="By the entries of a sparse matrix.")
def svds(
    A: Any, k: int = 6, *args: Any, return_singular_vectors: Any = True, **options: Any
) -> Any:
    """Return some singular values and vectors, as `scipy.sparse.linalg.svds`."""
    names = ("ncv", "tol", "which", "v0", "maxiter")
    options |= dict(zip(names, args, strict=False))
    if options.get("solver", "arpack") == "arpack":
        dtype = np.result_type(getattr(A, "dtype", np.float64), np.float32)
        options["v0"] = _start(options.get("v0"), min(A.shape), dtype)
        options.pop("rng", None)
        options.pop("random_state", None)
    request, data = _request("svds", A, k, None, options)
    u, s, vh = _singular(request, data)
    chosen = {True: (u, s, vh), "u": (u, s, None), "vh": (None, s, vh)}
    return chosen.get(return_singular_vectors, s)


# ---- others --------------------------------------------------------------------------------------


def _general_like(request: Request, data: Any) -> Any:
    n = request.pattern.pattern.shape[0]
    kind = np.result_type(data.dtype, np.complex64)
    return np.empty(request.k, kind), np.empty((n, request.k), kind)


def _general_value(request: Request, data: Any) -> Any:
    return PLAIN.eigs(sparse_array(request.pattern.pattern, data), request.k, **request.keywords())


_general: Final = primitive(_general_value, result=_general_like, nondiff_argnums=(0,))


@_general.defjvp
def _general_rule(request: Request, primals: Any, tangents: Any) -> Any:
    """Solve (A - w)·dx - dw·x = -dA·x for dw and a dx orthogonal to x."""
    (data,), (t,) = primals, tangents
    w, X = _general(request, data)
    pattern = request.pattern.pattern
    A, dA = (sparse_array(pattern, x).astype(w.dtype) for x in (data, t))
    unit = SCIPY.eye_array(X.shape[0], dtype=w.dtype)
    right, none = dA @ X, np.zeros(1, w.dtype)
    found = []
    for j in range(len(w)):
        x = X[:, j : j + 1]
        border = _block([[A - w[j] * unit, _dense(-x)], [_dense(np.conj(x.T)), None]], format="csc")
        found.append(spsolve(border, np.concatenate([-right[:, j], none])))
    moved = np.stack(found, axis=1)
    return (w, X), (moved[-1], moved[:-1])


@covers(MODULE, note="By the entries of a sparse matrix, of simple eigenvalues; M is refused.")
def eigs(
    A: Any, k: int = 6, M: Any = None, *args: Any, return_eigenvectors: bool = True, **options: Any
) -> Any:
    """Return some eigenvalues and eigenvectors, as `scipy.sparse.linalg.eigs`.

    Of the phases of the vectors, nothing is known: use what does not depend on them.
    """
    if M is not None:
        raise UnsupportedNumPyError(
            f"eigs with M of traced entries, at {user_location()}. Solve for M⁻¹·A, or use eigsh."
        )
    options |= dict(zip(("sigma", "which", "v0", "ncv", "maxiter", "tol"), args, strict=False))
    options.pop("rng", None)
    dtype = np.result_type(getattr(A, "dtype", np.float64), np.float32)
    options["v0"] = _start(options.get("v0"), A.shape[0], dtype)
    request, data = _request("eigs", A, k, None, options)
    w, X = _general(request, data)
    return (w, X) if return_eigenvectors else w
