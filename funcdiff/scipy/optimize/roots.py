"""Roots of equations and systems, and fixed points, by SciPy's solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.transformed import name_of
from funcdiff.api.rules.implicit import solution_of
from funcdiff.core.types import BOOL, FLOAT
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.closed import Closed, close, curry, depends, value_or_zeros
from funcdiff.scipy.optimize.minimum import SolutionWarning
from funcdiff.scipy.optimize.opaque_solvers import Report, call_solver, scipys, takes_positions

_JACOBIAN: Final = ("hybr", "lm")
"""Methods of `root` that take a Jacobian."""


def start_of(x0: Any) -> Any:
    """Return where a solver starts: an array or number, floating in double precision."""
    x = array(x0)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)[()]


def close_equation(
    f: Callable[..., Any], x: Any, what: str, explore: Callable[..., Any] | None = None
) -> Closed:
    """Trace the left-hand side of equations for unknowns like x; see `close` for `explore`.

    Raises
    ------
    InputError
        If there are not as many equations as unknowns.
    """

    @wraps(f)
    def equation(unknowns: Any) -> Any:
        y = array(f(unknowns))
        if y.size != x.size:
            raise InputError(
                f"{name_of(f)} returned shape {y.shape} to {what}, whose unknown has shape "
                f"{x.shape}, at {user_location()}: there must be one equation for each unknown. "
                "Use least_squares for more equations than unknowns."
            )
        return y.reshape(x.shape)

    return close(equation, x.shape, dtype=x.dtype, explore=explore)


def root_at(
    name: str,
    equation: Closed,
    x: Any,
    start: Any,
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
) -> Any:
    """Return a root that is known already, with its derivatives; warn if it is none.

    `start` says how large the function is elsewhere; `tangent_solve` is as in `custom_root`.
    """
    (checked,) = call_solver(
        _check_root, [equation], [x, start], {"name": name}, [(x.shape, x.dtype)]
    )
    return solution_of(name, equation, checked, tangent_solve)


def _check_root(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any]:
    x, start = arrays
    left = np.max(np.abs(functions[0](x)), initial=0.0)
    if not left <= max(1e-4, 1e-3 * np.max(np.abs(functions[0](start)), initial=0.0)):
        warnings.warn(
            f"what {settings['name']} returned is no root, at {user_location()}: the largest "
            f"element of the function is {left:.2g} there, and derivatives are those of a root. "
            "See funcdiff.scipy.optimize.SolutionWarning.",
            SolutionWarning,
            stacklevel=2,
        )
    return (x,)


# ---- root and fsolve -----------------------------------------------------------------------------


@covers(
    "scipy.optimize",
    closures=True,
    note="the result has x, fun, counts and the message; the Jacobian is ours",
)
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Solve f(x) = 0, as SciPy does, and differentiate the root by all that f contains.

    The derivative is ``dx = -(∂f/∂x)⁻¹ ∂f``, that of the implicit function.  Methods that take a
    Jacobian are given the exact one.  The derivative by `x0` is zero.  A function that decides by
    values, ``if x < 1``, is traced for each way that it takes where values are known; elsewhere it
    branches by `np.where`.

    Raises
    ------
    numpy.linalg.LinAlgError
        By the derivative, if the Jacobian is singular.

    References
    ----------
    S. G. Krantz, H. R. Parks, "The Implicit Function Theorem", Birkhäuser 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import root
    >>> cube_root = lambda a: root(lambda x: x**3 - a, np.ones(1)).x[0]
    >>> print(np.round(fd.grad(cube_root)(8.0), 9))  # 1/12
    0.083333333
    """
    x = start_of(x0)
    flat = np.atleast_1d(x).ravel() if method in _JACOBIAN else x
    equation = curry(fun, args, pair=jac is True)
    if not (holds_traced([x0]) or depends(equation, value_or_zeros(flat))):
        return scipys("root")(fun, x0, args, method, jac, tol, callback, options)
    name = f"root({name_of(fun)})"
    settings = {"method": method, "tol": tol, "callback": callback, "options": options}
    report = Report("success nfev nit" if method == "df-sane" else _counts(method))

    def explore(f: Callable[..., Any]) -> None:
        f(scipys("root")(f, value_of(flat), (), method, None, tol, None, options).x)

    closed = close_equation(equation, flat, name, explore)
    found, numbers = call_solver(
        _root, [closed], [flat], {**settings, "report": report.names},
        [(flat.shape, flat.dtype), *report.shapes],
    )  # fmt: skip
    solution = root_at(name, closed, found, flat)
    return scipys("OptimizeResult")(
        x=solution, fun=closed(solution), method=method, **report.fields(numbers)
    )


def _counts(method: str) -> str:
    return "success status nfev" if method in _JACOBIAN else "success status nfev nit"


def _root(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    given = {name: settings[name] for name in ("method", "tol", "callback", "options")}
    if settings["method"] in _JACOBIAN:
        given["jac"] = functions[0].jacobian
        options = dict(given["options"] or {})
        options.pop("col_deriv", None)  # which is of a Jacobian of the user's
        given["options"] = options
    found = scipys("root")(functions[0], arrays[0], **given)
    return found.x, Report(" ".join(settings["report"])).numbers(found)


@covers("scipy.optimize", closures=True, note="the dict of full_output has nfev and fvec")
@takes_positions
def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    fprime: Callable[..., Any] | None = None,
    full_output: bool = False,
    col_deriv: bool = False,
    **settings: Any,
) -> Any:
    """Solve f(x) = 0, as SciPy does, and differentiate the root: see `root`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import fsolve
    >>> print(np.round(fd.grad(lambda a: fsolve(lambda x: x**2 - a, 1.0)[0])(4.0), 9))
    0.25
    """
    start = np.atleast_1d(start_of(x0)).ravel()
    equation = curry(func, args)
    if not (holds_traced([x0]) or depends(equation, value_or_zeros(start))):
        return scipys("fsolve")(func, x0, args, fprime, full_output, col_deriv, **settings)
    name = f"fsolve({name_of(func)})"

    def explore(f: Callable[..., Any]) -> None:
        f(scipys("fsolve")(f, value_of(start), **settings))

    closed = close_equation(equation, start, name, explore)
    report = Report("ier nfev")
    found, numbers = call_solver(
        _fsolve, [closed], [start], {**settings, "full_output": bool(full_output)},
        [(start.shape, start.dtype), *report.shapes],
    )  # fmt: skip
    solution = root_at(name, closed, found, start)
    if not full_output:
        return solution
    fields = report.fields(numbers)
    info = {"nfev": fields["nfev"], "fvec": closed(solution)}
    return solution, info, fields["ier"], fields["message"]


def _fsolve(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    function = functions[0]
    found = scipys("fsolve")(function, arrays[0], fprime=function.jacobian, **settings)
    x, info, flag, message = found if settings["full_output"] else (found, {}, 1, "")
    return x, Report("ier nfev").numbers({**info, "ier": flag}, message)


# ---- one function of SciPy's for each method -----------------------------------------------------


def _cover_method(name: str) -> None:
    """Cover a function ``name(F, xin, **settings)`` that returns a root."""
    names = list(signature(scipys(name)).parameters)

    def solver(F: Callable[..., Any], xin: Any, *rest: Any, **keywords: Any) -> Any:
        settings = {**dict(zip(names[2:], rest, strict=False)), **keywords}
        start = start_of(xin)
        if not (holds_traced([xin]) or depends(F, value_or_zeros(start))):
            return scipys(name)(F, xin, **settings)
        what = f"{name}({name_of(F)})"
        closed = close_equation(F, start, what)
        settings = {"function": name, "settings": settings}
        shapes = [(start.shape, start.dtype)]
        (found,) = call_solver(_call_method, [closed], [start], settings, shapes)
        return root_at(what, closed, found, start)

    solver.__doc__ = "Solve F(x) = 0, as SciPy does, and differentiate the root: see `root`."
    covers("scipy.optimize", name, closures=True)(solver)


def _call_method(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any]:
    return (scipys(settings["function"])(functions[0], arrays[0], **settings["settings"]),)


for method in (
    "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing",
    "newton_krylov",
):  # fmt: skip
    _cover_method(method)


@covers("scipy.optimize", closures=True)
def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """Solve x = f(x), as SciPy does, and differentiate the solution by all that f contains.

    The derivative is ``dx = (1 - ∂f/∂x)⁻¹ ∂f``; that by `x0` is zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import fixed_point
    >>> heron = lambda x, a: (x + a / x) / 2
    >>> print(np.round(fd.grad(lambda a: fixed_point(heron, 1.0, (a,)))(4.0), 9))
    0.25
    """
    start = start_of(x0)
    name = f"fixed_point({name_of(func)})"
    image = curry(func, args, name="fixed_point")
    if not (holds_traced([x0]) or depends(image, value_or_zeros(start))):
        return scipys("fixed_point")(func, x0, args, xtol, maxiter, method)
    settings = {"xtol": xtol, "maxiter": maxiter, "method": method}
    closed = close_equation(image, start, name)
    shapes = [(start.shape, start.dtype)]
    (found,) = call_solver(_fixed_point, [closed], [start], settings, shapes)
    return solution_of(name, lambda x: x - closed(x), found)


def _fixed_point(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any]:
    return (scipys("fixed_point")(functions[0], arrays[0], **settings),)


# ---- Roots of one equation for one number, and of many such at once ------------------------------


_REPORT: Final = Report("converged iterations function_calls")


def _results(root: Any, numbers: Any, method: str) -> Any:
    """Return SciPy's kind of result."""
    fields = _REPORT.fields(numbers, "flag")
    found = scipys("RootResults").__new__(scipys("RootResults"))
    found.update(
        root=root, iterations=fields["iterations"], function_calls=fields["function_calls"],
        converged=fields["converged"], flag=fields["flag"], method=method,
    )  # fmt: skip
    return found


def _numbers(result: Any) -> list[int]:
    return _REPORT.numbers(result, str(result.flag))


# ---- bracketed -----------------------------------------------------------------------------------


def _cover_bracketed(name: str) -> None:
    """Cover a function ``name(f, a, b, args, ...)`` for roots between two numbers."""
    names = list(signature(scipys(name)).parameters)

    def solver(f: Callable[..., Any], a: Any, b: Any, *rest: Any, **keywords: Any) -> Any:
        settings = {**dict(zip(names[3:], rest, strict=False)), **keywords}
        args = settings.pop("args", ())
        equation = curry(f, args)
        if not (holds_traced([a, b]) or depends(equation, value_or_zeros(start_of(a))[()])):
            return scipys(name)(f, a, b, args, **settings)
        what = f"{name}({name_of(f)})"
        full = settings.pop("full_output", False)
        ends = [start_of(end) for end in (a, b)]

        def explore(f: Callable[..., Any]) -> None:
            f(scipys(name)(f, *map(value_of, ends), **settings))

        closed = close_equation(equation, np.zeros(()), what, explore)
        found, numbers = call_solver(
            _solve_in_bracket, [closed], ends, {"function": name, "settings": settings},
            [((), FLOAT), *_REPORT.shapes],
        )  # fmt: skip
        root = root_at(what, closed, found, ends[0])
        return (root, _results(root, numbers, name)) if full else root

    solver.__doc__ = (
        "Find a root between two numbers, as SciPy does, and differentiate it: see `root_scalar`."
    )
    covers("scipy.optimize", name, closures=True)(solver)


def _solve_in_bracket(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    solve = scipys(settings["function"])
    root, result = solve(functions[0], *arrays, full_output=True, **settings["settings"])
    return root, _numbers(result)


for bracketed in ("bisect", "brentq", "brenth", "ridder", "toms748"):
    _cover_bracketed(bracketed)


# ---- root_scalar ---------------------------------------------------------------------------------


@covers(
    "scipy.optimize", closures=True, note="derivatives for Newton's and Halley's method are ours"
)
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Solve f(x) = 0 for a number, as SciPy does, and differentiate the root.

    The derivative by what f contains is ``dx = -∂f / f'(x)``, infinite at a multiple root.  Where
    it starts does not matter: the derivatives by `bracket`, `x0` and `x1` are zero.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import root_scalar
    >>> cube_root = lambda a: root_scalar(lambda x: x**3 - a, bracket=(0, 3)).root
    >>> print(np.round(fd.grad(cube_root)(8.0), 9))  # 1/12
    0.083333333
    """
    equation = curry(f, args, pair=fprime is True or fprime2 is True)
    starts = {"x0": x0, "x1": x1} if bracket is None else {"a": bracket[0], "b": bracket[1]}
    given = {k: start_of(v) for k, v in starts.items() if v is not None}
    first = next(iter(given.values()), None)
    if first is None or not (
        holds_traced(list(starts.values())) or depends(equation, value_or_zeros(first)[()])
    ):
        return scipys("root_scalar")(
            f, args, method, bracket, fprime, fprime2, x0, x1, xtol, rtol, maxiter, options
        )
    name = f"root_scalar({name_of(f)})"

    def explore(f: Callable[..., Any]) -> None:
        values = {k: value_of(x) for k, x in given.items()}
        ends = (*values.values(),) if bracket is not None else None
        named = {} if bracket is not None else values
        f(scipys("root_scalar")(f, (), method, ends, xtol=xtol, rtol=rtol, **named).root)

    is_newtons = method in ("newton", "halley") or fprime is not None
    closed = close_equation(equation, first, name, None if is_newtons else explore)
    method = method or _default_method(given, fprime, fprime2)
    settings = {
        "method": method, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options,
        "names": tuple(given),
    }  # fmt: skip
    dtype = np.result_type(*(x.dtype for x in given.values()))
    found, numbers = call_solver(
        _root_scalar, [closed], list(given.values()), settings, [((), dtype), *_REPORT.shapes]
    )
    return _results(root_at(name, closed, found, first), numbers, method)


def _default_method(given: Mapping[str, Any], fprime: Any, fprime2: Any) -> str:
    if "a" in given:
        return "brentq"
    if not fprime and "x1" in given:
        return "secant"
    return "halley" if fprime and fprime2 else "newton"


def _root_scalar(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    function = functions[0]
    given = {k: v for k, v in settings.items() if k != "names"}
    starts = dict(zip(settings["names"], arrays, strict=True))
    if "a" in starts:
        starts = {"bracket": (starts["a"], starts["b"])}
    if given["method"] in ("newton", "halley"):
        given["fprime"] = function.slope
    if given["method"] == "halley":
        given["fprime2"] = function.slope.slope
    found = scipys("root_scalar")(function, **given, **starts)
    return found.root, _numbers(found)


# ---- newton --------------------------------------------------------------------------------------


@covers("scipy.optimize", closures=True, note="where fprime and fprime2 are given, ours are used")
def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Callable[..., Any] | None = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Callable[..., Any] | None = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Solve f(x) = 0 from a start, as SciPy does, and differentiate the root: see `root_scalar`.

    Of an array of starts, element by element, the function must be one of elements, too.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import newton
    >>> print(np.round(fd.grad(lambda a: newton(lambda x: x**2 - a, 1.0))(4.0), 9))
    0.25
    """
    start = start_of(x0)
    equation = curry(func, args, name="newton")
    if not (holds_traced([x0, x1]) or depends(equation, value_or_zeros(start)[()])):
        return scipys("newton")(
            func, x0, fprime, args, tol, maxiter, fprime2, x1, rtol, full_output, disp
        )
    name = f"newton({name_of(func)})"

    def explore(f: Callable[..., Any]) -> None:
        second = None if x1 is None else value_of(start_of(x1))
        f(scipys("newton")(f, value_of(start), None, (), tol, maxiter, None, second, rtol))

    closed = close_equation(equation, start, name, explore if fprime is None else None)
    settings = {
        "tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp,
        "orders": 0 if fprime is None else 1 if fprime2 is None else 2,
    }  # fmt: skip
    arrays = [start] if x1 is None else [start, start_of(x1)]
    masks = [(start.shape, BOOL), (start.shape, BOOL)]
    found, numbers, converged, flat = call_solver(
        _newton, [closed], arrays, settings, [(start.shape, start.dtype), *_REPORT.shapes, *masks]
    )
    real = start.dtype.kind == "f"
    root = root_at(name, closed, found, start, _by_element if real and start.shape else None)
    if not full_output:
        return root
    return (
        _Elements(root, converged, flat)
        if start.shape
        else (root, _results(root, numbers, "newton"))
    )


def _by_element(slope: Callable[[Any], Any], y: Any) -> Any:
    """Solve a linear equation whose matrix is diagonal."""
    return y / slope(np.ones_like(y))


class _Elements(NamedTuple):
    """What SciPy returns for many roots, under its names."""

    root: Any
    converged: Any
    zero_der: Any


def _newton(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any, Any, Any]:
    function, orders = functions[0], settings["orders"]
    given = {k: v for k, v in settings.items() if k != "orders"}
    if orders > 0:
        given["fprime"] = function.slope
    if orders > 1:
        given["fprime2"] = function.slope.slope
    if len(arrays) > 1:
        given["x1"] = arrays[1]
    found = scipys("newton")(function, arrays[0], full_output=True, **given)
    if np.ndim(arrays[0]):
        return found[0], [0] * (1 + len(_REPORT.names)), found[1], found[2]
    return found[0], _numbers(found[1]), found[1].converged, False
