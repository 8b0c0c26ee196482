"""`solve_bvp` of traced problems."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.api.calls.tracing import run
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.core.program import Program
from funcdiff.core.recording.concrete import key_of
from funcdiff.core.running.evaluate import executable
from funcdiff.core.scope import without_recording
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border.values import index_value
from funcdiff.numpy.creation.construction import array
from funcdiff.numpy.memory import views
from funcdiff.ops.user.python_call import Name
from funcdiff.ops.user.replay import Plan, Replay, entered, replay
from funcdiff.scipy.covered import Holder, load
from funcdiff.scipy.integrate.closures import attempt, entry, has_tracer, refuse_tracing, scipys
from funcdiff.scipy.integrate.known_solutions import implicit
from funcdiff.scipy.integrate.quadrature import static
from funcdiff.scipy.places import Private
from funcdiff.scipy.ways import Closure, closure

# ---- Boundary value problems: SciPy's solution, and the implicit function theorem at its mesh ----
#
# The solution is a cubic spline that satisfies the equation at the nodes and in the middle between
# them.  Its values at the nodes are a function, by the theorem, of all that the equations contain;
# the mesh moves with the ends of the interval and else stays as SciPy refined it.
#
# Reference: J. Kierzenka, L. F. Shampine, "A BVP Solver Based on Residual Control and the MATLAB
# PSE", ACM Trans. Math. Softw. 27 (2001).


_KEPT: Final = 8
_ITERATIONS: Final = 6


class Boundary(NamedTuple):
    """What a boundary value problem is, but for the values in it.

    Attributes
    ----------
    rate
        ``(*captures, x, y, p) -> dy/dx`` of one column, or without p.
    ends
        ``(*captures, ya, yb, p) -> residuals``.
    slopes
        Their Jacobians, if they were given, of one column and of the ends.
    captures
        How many captures each has; these come first among the operands, then come x, y and p.
    singular
        The matrix S, if there is one, as nested tuples.
    options
        Keywords of ``solve_bvp``.
    """

    rate: Program
    ends: Program
    slopes: tuple[Program | None, Program | None]
    captures: tuple[int, int, int, int]
    singular: Any
    options: tuple[tuple[str, Any], ...]


class BoundaryProblem:
    """Computes solutions by SciPy, and makes programs of the equations of their nodes."""

    def __init__(self, settings: Boundary) -> None:
        self.settings = settings
        self._solved: OrderedDict[Any, Any] = OrderedDict()
        self._programs: dict[Any, Any] = {}

    def split(self, operands: Sequence[Any]) -> tuple[list[Sequence[Any]], Any, Any, Any]:
        """Return the captures of the functions, x, y and p."""
        found, start = [], 0
        for count in self.settings.captures:
            found.append(operands[start : start + count])
            start += count
        x, y, p = operands[start:]
        return found, x, y, p

    def solution(self, operands: Sequence[Any]) -> Any:
        """Solve the problem for values."""
        key = key_of((), operands)
        if key not in self._solved:
            with without_recording():
                self._solved[key] = self._solve(operands)
            while len(self._solved) > _KEPT:
                self._solved.popitem(last=False)
        return self._solved[key]

    def _solve(self, operands: Sequence[Any]) -> Any:
        (rate, ends, slope, end_slope), x, y, p = self.split(operands)
        settings = self.settings
        options = dict(settings.options)
        if settings.slopes[0] is not None:
            slopes = _columns(settings.slopes[0], slope)
            options["fun_jac"] = slopes if len(p) else lambda *at: slopes(*at)[0]
        if settings.slopes[1] is not None:
            execute = executable(settings.slopes[1])
            options["bc_jac"] = lambda *at: execute(*end_slope, *at)
        if settings.singular is not None:
            options["S"] = np.array(settings.singular)
        columns, residuals = _columns(settings.rate, rate), executable(settings.ends)
        return load("scipy.integrate").solve_bvp(
            lambda *at: columns(*at)[0], lambda *at: residuals(*ends, *at)[0],
            x, y.copy(), p if len(p) else None, **options,
        )  # fmt: skip

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Return nodes, values, parameters, slopes, residuals, and iterations and status."""
        found = self.solution(operands)
        *_, y, p = self.split(operands)
        parameters = np.zeros(0, p.dtype) if found.p is None else np.asarray(found.p, p.dtype)
        return [
            np.asarray(found.x, float), np.asarray(found.y, y.dtype), parameters,
            np.asarray(found.yp, y.dtype), np.asarray(found.rms_residuals, float),
            np.array([found.niter, found.status]),
        ]  # fmt: skip

    def plan(self, operands: Sequence[Any]) -> Plan:
        """Return the program of the nodes' values, from the equations that they satisfy."""
        x, y, p, _, residuals, counts = self.results(operands)
        places = (x - x[0]) / (x[-1] - x[0])
        fixed = [places, *self._polish(operands, places, y, p), residuals, counts]
        made = self._program(self._at_nodes, fixed, operands)
        return Plan(made.program, [*made.captures, *fixed])

    def _program(
        self, f: Callable[..., Any], fixed: Sequence[Any], operands: Sequence[Any]
    ) -> Closure:
        types = tuple(ArrayType(np.shape(x), np.asarray(x).dtype) for x in (*fixed, *operands))
        key = f.__name__, types
        if key not in self._programs:
            with without_recording():
                self._programs[key] = closure(
                    lambda *xs: f(xs[: len(fixed)], xs[len(fixed) :]), *types
                )
        found: Closure = self._programs[key]
        return found

    def _polish(self, operands: Sequence[Any], places: Any, y: Any, p: Any) -> tuple[Any, Any]:
        """Solve the equations of the nodes to the end, by Newton's method with values."""
        unknown = _join(y, p)
        made = self._program(self._linearize, [places, unknown], operands)
        execute, before = executable(made.program), np.inf
        for _ in range(_ITERATIONS):
            residual, slope = execute(*made.captures, places, unknown, *operands)
            change = np.linalg.solve(slope, residual)
            size = float(np.max(np.abs(change), initial=0.0))
            if not size < before:
                break
            unknown, before = unknown - change, size
        return _take_apart(unknown, y, p)

    def _linearize(self, fixed: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, Any]:
        """Return the residuals at an unknown, and their Jacobian, as of real numbers."""
        places, unknown = fixed
        *_, y, p = self.split(operands)
        like = np.broadcast_to(y[:, :1], (y.shape[0], places.shape[0]))
        equations = self._equations(places, operands)[0]

        def residual(u: Any) -> Any:
            return _join(*equations(_take_apart(u, like, p)))

        return residual(unknown), jacobian(residual)(unknown)

    def _equations(self, places: Any, operands: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return the equations of the nodes, as a function of y and p; the nodes; the rate."""
        (rate, ends, _, _), x, _, p = self.split(operands)
        nodes = x[0] + (x[-1] - x[0]) * places
        lengths = nodes[1:] - nodes[:-1]
        given = bool(p.shape[0])

        def column(x: Any, y: Any, p: Any) -> Any:
            found = run(self.settings.rate, [*rate, x[None], y[:, None], *([p] if given else [])])
            return found[0][:, 0]

        def f(x: Any, y: Any, p: Any) -> Any:
            slopes = vmap(lambda x, y: column(x, y, p))(x, y.T).T
            return self._with_singular(slopes, x, y, nodes[0])

        def equations(unknown: tuple[Any, Any]) -> tuple[Any, Any]:
            y, p = unknown
            n = y.shape[0]
            slopes = f(nodes, y, p)
            middle = (y[:, 1:] + y[:, :-1]) / 2 - lengths / 8 * (slopes[:, 1:] - slopes[:, :-1])
            between = f(nodes[:-1] + lengths / 2, middle, p)
            mean = (slopes[:, :-1] + slopes[:, 1:] + 4 * between) / 6
            collocation = y[:, 1:] - y[:, :-1] - lengths * mean
            (residuals,) = run(
                self.settings.ends, [*ends, y[:, 0], y[:, -1], *([p] if given else [])]
            )
            return np.concatenate([collocation, residuals[:n, None]], axis=1), residuals[n:]

        return equations, nodes, f

    def _with_singular(self, slopes: Any, x: Any, y: Any, a: Any) -> Any:
        """Add S·y/(x - a), and at a itself what is left of the equation there."""
        if self.settings.singular is None:
            return slopes
        matrix = np.array(self.settings.singular)
        start = np.linalg.pinv(np.eye(len(matrix)) - matrix)
        distance = x - a
        inside = slopes + matrix @ y / np.where(distance == 0, 1.0, distance)
        return np.where(distance == 0, start @ slopes, inside)

    def _at_nodes(self, fixed: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        places, y, p, residuals, counts = fixed
        equations, nodes, f = self._equations(places, operands)
        found = implicit(equations, (y, p)) if p.shape[0] else (
            implicit(lambda y: equations((y, p))[0], y), p
        )  # fmt: skip
        values, parameters = found
        slopes = f(nodes, values, parameters)
        return [array(x) for x in (nodes, values, parameters, slopes, residuals, counts)]


def _columns(program: Program, captures: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return a function of columns, from the program for one."""
    execute = executable(program)

    def f(x: Any, y: Any, *p: Any) -> list[Any]:
        pairs = zip(x, y.T, strict=True)
        found = [execute(*captures, one[None], column[:, None], *p) for one, column in pairs]
        return [np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True)]

    return f


def _join(y: Any, p: Any) -> Any:
    """Return y and p as one vector of real numbers."""
    flat = np.concatenate([np.reshape(y, (-1,)), p])
    if flat.dtype.kind != "c":
        return flat
    return np.concatenate([np.real(flat), np.imag(flat)])


def _take_apart(u: Any, y: Any, p: Any) -> tuple[Any, Any]:
    """Undo `_join`, for y and p of these shapes."""
    if y.dtype.kind == "c":
        half = u.shape[0] // 2
        u = u[:half] + 1j * u[half:]
    size = y.shape[0] * y.shape[1]
    return np.reshape(u[:size], y.shape), u[size:]


_problems: Final[WeakValueDictionary[Boundary, BoundaryProblem]] = WeakValueDictionary()
_entered: Final[WeakValueDictionary[Any, Name[Any]]] = WeakValueDictionary()


def boundary_problem(settings: Boundary) -> BoundaryProblem:
    """Return the problem with these settings: equal ones are one."""
    found = _problems.get(settings)
    if found is None:
        found = _problems[settings] = BoundaryProblem(settings)
    return found


def boundary_maker(settings: Boundary, kind: Callable[[BoundaryProblem], Any]) -> Name[Any]:
    """Return the name of what solves problems with these settings; equal ones share it."""
    key = settings, kind
    found = _entered.get(key)
    if found is None:
        found = _entered[key] = entered.enter("solve_bvp", kind(boundary_problem(settings)))
    return found


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

    `x`, `y`, `slopes`: the nodes, and columns at them.
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
