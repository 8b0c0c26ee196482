"""Iterative solvers: SciPy's own run with concrete arrays, the derivative is the solution's.

Derivatives are solved for by the same solver with the same tolerance, which bounds their errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.api.derivatives.linear_maps import linear_transpose
from funcdiff.api.inspection import stop_gradient
from funcdiff.api.rules.linear_equations import solution_by
from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.scipy.borrowed import borrow, borrow_classes, borrow_functions, copy_of
from funcdiff.scipy.covered import Holder, covers
from funcdiff.scipy.sparse.linalg.direct import MODULE, PLAIN
from funcdiff.scipy.sparse.operators import matmul, rows_of
from funcdiff.scipy.sparse.row_products import dense, multiply_dense
from funcdiff.scipy.sparse.traced_arrays import SparseArray, is_sparse, sparse_array

borrow_classes(MODULE, "LinearOperator")
borrow_functions(MODULE, "aslinearoperator", closures=True)


def _init_dtype(self: Any) -> None:
    """Find the dtype of products with a plain array: the function may be a compiled one."""
    if self.dtype is None:
        self.dtype = np.dtype(self._matvec(np.zeros(self.shape[-1], np.int8)).dtype)


copy_of(PLAIN.LinearOperator)._init_dtype = _init_dtype

_SYMMETRIC: Final = ("cg", "minres")
_OTHERS: Final = ("bicg", "bicgstab", "cgs", "gmres", "lgmres", "gcrotmk", "qmr", "tfqmr")
_MEMORY: Final = ("outer_v", "CU")
"""Keywords by which a solver hands on what it found to its next call."""


def action(A: Any) -> tuple[Callable[[Any], Any], tuple[int, int], Any]:
    """Return ``x -> A·x`` of a matrix or linear operator, its shape and its dtype."""
    if is_sparse(A):
        rows = rows_of(A)
        return lambda x: multiply_dense(rows, x), A.shape, A.dtype
    if isinstance(A, PLAIN.LinearOperator):
        return _ours(A).matvec, A.shape, A.dtype
    matrix = dense(A)
    return lambda x: matrix @ x, matrix.shape, matrix.dtype


def _ours(A: Any) -> Any:
    return A if isinstance(A, Holder) else borrow(A)


def adjoint_action(A: Any) -> Callable[[Any], Any]:
    """Return ``x -> Aᴴ·x``."""
    if is_sparse(A):
        turned = A.transpose()
        return lambda x: np.conj(matmul(turned, np.conj(x)))
    if isinstance(A, PLAIN.LinearOperator):
        return lambda x: _ours(A).rmatvec(x)
    matrix = dense(A)
    return lambda x: np.conj(matrix.T @ np.conj(x))


def right_side(A: Any, b: Any, *dtypes: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the action of a square A, and a right-hand side as a vector of all their dtypes."""
    act, shape, dtype = action(A)
    b = dense(b)
    if shape[0] != shape[1]:
        raise ValueError(f"expected square matrix, but got shape={shape}")
    if b.shape not in ((shape[0],), (shape[0], 1)):
        raise ValueError(f"shapes of A {shape} and b {b.shape} are incompatible")
    least = np.float64 if b.dtype.char not in "fdFD" else np.float32
    return act, b.reshape(-1).astype(np.result_type(b.dtype, dtype or least, least, *dtypes))


def solve_with_constants(
    act: Callable[[Any], Any],
    b: Any,
    count: int,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    constants: tuple[Any, ...] = (),
) -> tuple[Any, Any]:
    """Return the solution of A·x = b and so many numbers that the solver returns beside it.

    They are further unknowns, whose equation is their own, so that their types are known where no
    values are.  So are zeros that constants are factors of: their products with ones are the
    values of these.  Solvers are called with an ordinary map, a vector, whether that is b or
    belongs to a derivative, and these values, and return a pair.
    """
    factors = tuple(map(stop_gradient, constants))
    x, numbers, *_ = solution_by(
        lambda v: (act(v[0]), v[1], *(c * z for c, z in zip(factors, v[2:], strict=True))),
        (b, np.ones(count), *map(np.zeros_like, factors)),
        partial(_with_constants, solve, count),
        None if transpose_solve is None else partial(_with_constants, transpose_solve, count),
        symmetric=transpose_solve is None,
    )
    return x, stop_gradient(numbers)


def _with_constants(solve: Any, count: int, matvec: Callable[[Any], Any], b: Any) -> Any:
    zeros = (np.zeros(count), *map(np.zeros_like, b[2:]))
    known = b[2:] and matvec((np.zeros_like(b[0]), zeros[0], *map(np.ones_like, b[2:])))[2:]
    is_value = bool(np.any(b[1]))  # which nothing depends on
    return (*solve(lambda x: matvec((x, *zeros))[0], b[0], is_value, *known), *zeros[1:])


def _run(
    name: str,
    keywords: Any,
    patterns: Any,
    turned: bool,
    matvec: Callable[[Any], Any],
    b: Any,
    is_value: bool,
    *entries: Any,
) -> Any:
    """Call a solver of SciPy's; return the solution and its code."""
    given = dict(keywords)
    for (key, pattern), values in zip(patterns, entries, strict=True):
        given[key] = values if pattern is None else sparse_array(pattern, values)
    adjoint = None
    if name in ("bicg", "qmr"):
        back = linear_transpose(matvec, b)

        def adjoint(x: Any) -> Any:
            return np.conj(back(np.conj(x))[0])

    if turned:
        given |= {key: _transpose(given[key]) for key in ("M", "M1", "M2") if key in given}
    n = b.size
    operator = PLAIN.LinearOperator((n, n), matvec=matvec, rmatvec=adjoint, dtype=b.dtype)
    solve = getattr(PLAIN, name)
    if is_value:
        x, info = solve(operator, b, **given)
        return x, np.array([float(info)])
    size = np.linalg.norm(b) or 1.0
    right = b / size  # solvers take a tiny one for a breakdown, or for solved
    given["x0"] = None  # that is a guess of the value
    if "atol" in given:
        given["atol"] = min(given["atol"], 1e-5)
    x, info = solve(operator, right, **given)
    if info < 0:  # a breakdown: begin again from there
        x, info = solve(operator, right, **given | {"x0": x})
    if info and np.linalg.norm(right - matvec(x)) > 10 * max(given.get("rtol", 1e-5), 1e-9):
        warnings.warn(
            f"{name} did not converge for a derivative (info = {info}). Give it a preconditioner, "
            "or a larger maxiter or restart.",
            RuntimeWarning,
            stacklevel=2,
        )
    return size * x, np.array([float(info)])


def _transpose(M: Any) -> Any:
    """Return the transpose of a preconditioner, or none where it has none: it costs steps only."""
    if M is None or not isinstance(M, PLAIN.LinearOperator):
        return None if M is None else M.T
    try:
        M.T.matvec(np.zeros(M.shape[0], M.dtype))
    except NotImplementedError:
        return None
    return M.T


def _pattern(x: Any) -> Any:
    return x.pattern if isinstance(x, SparseArray) else None


def _least_dtypes(name: str, A: Any, b: Any) -> list[Any]:
    """Return the dtype of SciPy's solutions by `minres`, which depends on its version."""
    if name != "minres":
        return []
    kinds = (np.result_type(getattr(x, "dtype", float), np.float32) for x in (A, b))
    one, right = (np.ones(shape, kind) for shape, kind in zip(((1, 1), 1), kinds, strict=True))
    return [PLAIN.minres(one, right)[0].dtype]


def _solver(name: str) -> Callable[..., Any]:
    def solve(A: Any, b: Any, x0: Any = None, **keywords: Any) -> tuple[Any, int]:
        if any(keywords.get(key) is not None for key in _MEMORY):
            raise UnsupportedNumPyError(
                f"{name} with {' or '.join(_MEMORY)} of traced arrays, at {user_location()}: they "
                "are written to. Leave them out."
            )
        act, b = right_side(A, b, *_least_dtypes(name, A, b))
        shift = keywords.pop("shift", 0.0)
        keywords |= {"x0": x0} if x0 is not None else {}
        traced = {k: v for k, v in keywords.items() if isinstance(v, SparseArray | Tracer)}
        plain = tuple((k, v) for k, v in keywords.items() if k not in traced)
        run = partial(_run, name, plain, [(k, _pattern(v)) for k, v in traced.items()])
        x, info = solve_with_constants(
            act if shift == 0 else lambda v: act(v) - shift * v,
            b,
            1,
            partial(run, False),
            None if name in _SYMMETRIC else partial(run, True),
            tuple(v.data if isinstance(v, SparseArray) else v for v in traced.values()),
        )
        return x, info[0].astype(int)

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = (
        f"Solve A·x = b, as `scipy.sparse.linalg.{name}`, by itself: dx = A⁻¹·(db - dA·x).\n\n"
        "The guess and preconditioners are constants; errors of derivatives are those that `rtol` "
        "allows."
    )
    return solve


for _name in (*_SYMMETRIC, *_OTHERS):
    covers(
        MODULE,
        _name,
        closures=True,
        note="x0 and preconditioners are constants; derivatives are as exact as rtol says.",
    )(_solver(_name))


# ---- least squares -------------------------------------------------------------------------------


def _run_least(
    name: str,
    keywords: Any,
    m: int,
    tall: bool,
    count: int,
    matvec: Callable[[Any], Any],
    v: Any,
    is_value: bool,
    damp: Any,
) -> Any:
    """Solve r + B·z = f, Bᴴ·r - damp²·z = g for (r, z) by a solver of least squares.

    Without damping, take the shortest solution of Bᴴ·p = -g: then z is the least-squares solution
    for f + p.  With it, z + g/damp² is that for f + B·g/damp².
    """
    given, solve = dict(keywords), getattr(PLAIN, name)
    f, g = v[:m], v[m:]

    def act(z: Any) -> Any:
        return matvec(np.concatenate([np.zeros(m, v.dtype), z]))[:m]

    def adjoint(r: Any) -> Any:
        return matvec(np.concatenate([r, np.zeros(len(g), v.dtype)]))[m:]

    B = PLAIN.LinearOperator((m, len(g)), matvec=act, rmatvec=adjoint, dtype=v.dtype)
    if not tall and not np.any(f):  # the shortest solution itself
        rest = solve(B.H, g, damp=damp, **given)
        r, z = rest[0], -solve(B, rest[0], **given)[0]
    else:
        start = -g / damp**2 if damp else np.zeros_like(g)
        shift = solve(B.H, -g, **given)[0] if np.any(g) and not damp else np.zeros_like(f)
        rest = solve(B, f + shift - act(start) if np.any(g) else f, damp=damp, **given)
        z = start + rest[0]
        r = f - act(z)
    numbers = np.concatenate([np.ravel(part) for part in rest[1:]])
    return np.concatenate([r, z]), np.resize(numbers, count)  # tangents may have fewer


def _least(name: str) -> Callable[..., Any]:
    def solve(A: Any, b: Any, damp: Any = 0.0, **keywords: Any) -> tuple[Any, ...]:
        x0 = keywords.pop("x0", None)
        act, (m, n), dtype = action(A)
        adjoint = adjoint_action(A)
        b = dense(b).reshape(-1)
        b = b.astype(np.result_type(b.dtype, dtype, np.float64))
        known = b if x0 is None else b - act(dense(x0))
        tall = m >= n
        rows = m if tall else n
        first, second = (act, adjoint) if tall else (adjoint, act)

        def apply(v: Any) -> Any:
            r, z = v[:rows], v[rows:]
            return np.concatenate([r + first(z), second(r) - damp**2 * z])

        parts = [known, np.zeros(n, b.dtype)] if tall else [np.zeros(n, b.dtype), known]
        count = 8 + n if name == "lsqr" else 7
        run = partial(_run_least, name, tuple(keywords.items()), rows, tall, count)
        v, rest = solve_with_constants(
            apply, np.concatenate(parts), count, run, constants=(dense(damp),)
        )
        step = v[rows:] if tall else v[:rows]
        x = step if x0 is None else x0 + step
        r = known - act(step)
        return (x, *_with_norms(name, rest, r, step, x, damp))

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = (
        f"Return the least-squares solution, as `scipy.sparse.linalg.{name}`, by itself.\n\n"
        "The derivative, by `damp` too, is that of the solution for a matrix of full rank; "
        "conditions and counts are constants."
    )
    return solve


def _with_norms(name: str, rest: Any, r: Any, step: Any, x: Any, damp: Any) -> list[Any]:
    """Return what SciPy returns beside x, with norms of residual and solution that have slopes."""
    short = np.sqrt(np.sum(np.abs(r) ** 2))
    both = np.sqrt(np.sum(np.abs(r) ** 2) + damp**2 * np.sum(np.abs(step) ** 2))
    length = np.sqrt(np.sum(np.abs(x) ** 2))
    found = [rest[0].astype(int), rest[1].astype(int), *(rest[k] for k in range(2, 7))]
    if name == "lsqr":
        found += [rest[7], rest[8:]]
    at = {2: short, 3: both, 7: length} if name == "lsqr" else {2: both, 6: length}
    for k, value in at.items():
        found[k] = value
    return found


for _name in ("lsqr", "lsmr"):
    covers(
        MODULE,
        _name,
        closures=True,
        note="Full rank is assumed; conditions and counts have no derivative.",
    )(_least(_name))
