"""Roots of one equation for one number, and of many such at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.arguments import name_of
from funcdiff.core.types import BOOL, FLOAT
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.programs import Closed, curry, depends, value_or_zeros
from funcdiff.scipy.optimize.roots import close_equation, root_at, start_of
from funcdiff.scipy.optimize.solvers import Report, call_solver, scipys

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
        closed = close_equation(equation, np.zeros(()), what)
        full = settings.pop("full_output", False)
        ends = [start_of(end) for end in (a, b)]
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
    closed = close_equation(equation, first, name)
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
    closed = close_equation(equation, start, name)
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
