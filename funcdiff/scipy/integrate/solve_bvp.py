"""`solve_bvp` of traced problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import as_tracers
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border.values import index_value
from funcdiff.numpy.creation.construction import array
from funcdiff.numpy.memory import views
from funcdiff.ops.user.replay import Replay, replay
from funcdiff.scipy.covered import Holder
from funcdiff.scipy.integrate.boundary_value import Boundary, BoundaryProblem, boundary_maker
from funcdiff.scipy.integrate.closures import (
    Closure,
    attempt,
    closure,
    entry,
    has_tracer,
    refuse_tracing,
    scipys,
)
from funcdiff.scipy.integrate.quadrature import static
from funcdiff.scipy.places import Private


@entry("scipy.integrate", "solve_bvp", note="Not under vmap; the mesh is not differentiated.")
def solve_bvp(
    fun: Callable[..., Any],
    bc: Callable[..., Any],
    x: Any,
    y: Any,
    p: Any = None,
    S: Any = None,
    fun_jac: Any = None,
    bc_jac: Any = None,
    tol: float = 1e-3,
    max_nodes: int = 1000,
    verbose: int = 0,
    bc_tol: float | None = None,
) -> Any:
    """Solve a boundary value problem y' = f(x, y, p), whose functions and ends may be traced.

    SciPy finds the solution.  The derivative is that of the implicit function that the collocation
    equations define at the computed mesh: by what `fun` and `bc` close over, and by the ends of
    `x`, with which the mesh moves.  The first guess has no influence.  Where it is taken, the
    equations are solved to the end, and their Jacobian is a full matrix.  `fun` is traced once, for
    one column, without values.

    Raises
    ------
    ConcreteValueError
        Under `vmap`, where the size of the mesh is not known.
    numpy.linalg.LinAlgError
        By the derivative, if the equations are singular.

    References
    ----------
    J. Kierzenka, L. F. Shampine, "A BVP Solver Based on Residual Control and the MATLAB PSE", ACM
    Trans. Math. Softw. 27 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> def middle(load):  # a string: y'' = load
    ...     fun = lambda x, y: np.stack([y[1], load + 0 * y[0]])
    ...     bc = lambda ya, yb: np.stack([ya[0], yb[0]])
    ...     return integrate.solve_bvp(fun, bc, np.linspace(0, 1, 5), np.zeros((2, 5))).y[0, 2]
    >>> print(round(fd.grad(middle)(1.0), 6))
    -0.125
    """
    plain = scipys("scipy.integrate", "solve_bvp")
    mesh, guess = array(x).astype(FLOAT), array(y)
    dtype = np.dtype(np.complex128 if guess.dtype.kind == "c" else FLOAT)
    guess = guess.astype(dtype)
    parameters = array([] if p is None else p).astype(dtype)
    n, k = guess.shape[0], parameters.shape[0]
    rest = [ArrayType((k,), dtype)] * bool(k)
    one = [ArrayType((1,), FLOAT), ArrayType((n, 1), dtype), *rest]
    ends = [ArrayType((n,), dtype)] * 2 + rest

    def trace_closures() -> list[Closure]:
        found = [closure(_with_dtype(fun, dtype), *one), closure(_with_dtype(bc, dtype), *ends)]
        found += [closure(_with_dtype(fun_jac, dtype), *one)] if fun_jac else []
        return found + ([closure(_with_dtype(bc_jac, dtype), *ends)] if bc_jac else [])

    found: Any = attempt(trace_closures, x, y, p)
    failed = isinstance(found, Exception)
    if failed or not (any(f.is_traced for f in found) or has_tracer(x, y, p)):
        f = refuse_tracing(fun, found) if failed else fun
        return plain(f, bc, x, y, p, S, fun_jac, bc_jac, tol, max_nodes, verbose, bc_tol)
    if has_tracer(S):
        raise UnsupportedNumPyError(
            f"solve_bvp takes no traced S, at {user_location()}. Give numbers, and write what is "
            "traced into fun."
        )
    functions = iter(found)
    parts = [next(functions) if f else None for f in (fun, bc, fun_jac, bc_jac)]
    programs: list[Any] = [None if f is None else f.program for f in parts]
    counts = [0 if f is None else len(f.captures) for f in parts]
    options = {"tol": tol, "max_nodes": max_nodes, "verbose": verbose, "bc_tol": bc_tol}
    settings = Boundary(
        programs[0], programs[1], (programs[2], programs[3]),
        (counts[0], counts[1], counts[2], counts[3]),
        None if S is None else static(np.asarray(S)), tuple(options.items()),
    )  # fmt: skip
    captures = [c for f in found for c in f.captures]
    return _result(settings, as_tracers([*captures, mesh, guess, parameters]))


def _with_dtype(f: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    def convert(*xs: Any) -> Any:
        found = f(*xs)
        if isinstance(found, tuple) and all(np.ndim(x) > 1 for x in found):  # Jacobians
            return [array(x).astype(dtype) for x in found]
        return array(found).astype(dtype)

    return convert


class _Counts:
    """Computes how many nodes a solution has, and its status."""

    def __init__(self, problem: BoundaryProblem) -> None:
        self._problem = problem

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Return both, and how often the mesh was refined."""
        found = self._problem.solution(operands)
        return [np.array([len(found.x), found.niter, found.status])]

    def plan(self, operands: Sequence[Any]) -> Any:  # noqa: ARG002
        """Never asked for: counts have no derivative."""
        raise AssertionError


def _whole(problem: BoundaryProblem) -> BoundaryProblem:
    return problem


def _result(settings: Boundary, operands: Sequence[Any]) -> Any:
    name = boundary_maker(settings, _Counts)
    count = Replay(name, len(operands), 0, (ArrayType((3,), INT),), (), ())
    seen: Any = views.fresh(replay(count, operands)[0])
    try:
        nodes, iterations, status = (index_value(seen[k]) for k in range(3))
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"how many nodes solve_bvp needs is not known at {user_location()}, where arguments "
            "have no values (inside vmap, scan or cond). Call it in a loop over the examples."
        ) from error
    guess, parameters = operands[-2].type, operands[-1].type
    shape = guess.with_shape((guess.shape[0], nodes))
    types = (
        ArrayType((nodes,), FLOAT), shape, parameters, shape, ArrayType((nodes - 1,), FLOAT),
        ArrayType((2,), INT),
    )  # fmt: skip
    maker = boundary_maker(settings, _whole)
    found: Any = replay(Replay(maker, len(operands), 0, types, (), ()), operands)
    fresh: list[Any] = [views.fresh(z) for z in found]
    x, y, p, yp, residuals, _ = fresh
    private = Private("scipy.integrate._bvp")
    return private.BVPResult(
        sol=NodesSpline(x, y, yp), p=p if len(p) else None, x=x, y=y, yp=yp,
        rms_residuals=residuals, niter=iterations, status=status,
        message=private.TERMINATION_MESSAGES[status], success=status == 0,
    )  # fmt: skip


class NodesSpline(Holder):
    """A cubic spline with values and slopes at nodes, which is called as SciPy's ``PPoly``.

    Parameters
    ----------
    x, y, slopes
        The nodes, and columns at them.
    """

    def __init__(self, x: Any, y: Any, slopes: Any) -> None:
        h = x[1:] - x[:-1]
        rise = (y[:, 1:] - y[:, :-1]) / h
        bend = (slopes[:, :-1] + slopes[:, 1:] - 2 * rise) / h
        self.x = x
        self.c = np.stack([bend / h, (rise - slopes[:, :-1]) / h - bend, slopes[:, :-1], y[:, :-1]])

    def __call__(self, x: Any, nu: int = 0) -> Any:
        """Return the spline at points, or a derivative of it, with their axes at the end."""
        x = array(x)
        places = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, self.x.shape[0] - 2)
        s, total = x - self.x[places], 0.0
        for power in range(3, nu - 1, -1):
            factor = float(np.prod(np.arange(power, power - nu, -1)))
            total = total * s + factor * self.c[3 - power][:, places]
        return total
