"""Roots of systems of equations, and fixed points, by SciPy's solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.arguments import name_of
from funcdiff.api.rules.implicit import solution_of
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.active_set import SolutionWarning
from funcdiff.scipy.optimize.programs import Closed, close, curry, depends, value_or_zeros
from funcdiff.scipy.optimize.solvers import Report, call_solver, scipys, takes_positions

_JACOBIAN: Final = ("hybr", "lm")
"""Methods of `root` that take a Jacobian."""


def start_of(x0: Any) -> Any:
    """Return where a solver starts: an array or number, floating in double precision."""
    x = array(x0)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)[()]


def close_equation(f: Callable[..., Any], x: Any, what: str) -> Closed:
    """Trace the left-hand side of equations for unknowns like x.

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

    return close(equation, x.shape, dtype=x.dtype)


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
    Jacobian are given the exact one.  The derivative by `x0` is zero.

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
    closed = close_equation(equation, flat, name)
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
    closed = close_equation(equation, start, name)
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
