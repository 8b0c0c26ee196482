"""Sums of squares, or of other losses of residuals: `least_squares`, `leastsq`, `curve_fit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.transformed import name_of
from funcdiff.core.types import FLOAT, INT
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.closed import Closed, close, curry, depends, value_or_zeros, vector
from funcdiff.scipy.optimize.constraints import feasible
from funcdiff.scipy.optimize.minimum import Problem, minimum_at, without_bounds
from funcdiff.scipy.optimize.opaque_solvers import Report, call_solver, scipys, takes_positions
from funcdiff.scipy.optimize.roots import start_of

# ---- Losses ρ(z) of squared residuals z, with ρ' and ρ'', under SciPy's names --------------------
#
# Reference: B. Triggs and others, "Bundle adjustment: a modern synthesis", 1999, section 4.3.


def _soft_l1(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z
    return 2 * (t**0.5 - 1), t**-0.5, -0.5 * t**-1.5


def _huber(z: Any) -> tuple[Any, Any, Any]:
    inner = z <= 1
    return (
        np.where(inner, z, 2 * z**0.5 - 1),
        np.where(inner, 1.0, z**-0.5),
        np.where(inner, 0.0, -0.5 * z**-1.5),
    )


def _cauchy(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z
    return np.log1p(z), 1 / t, -1 / t**2


def _arctan(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z**2
    return np.arctan(z), 1 / t, -2 * z / t**2


LOSSES: Final[dict[Any, Callable[[Any], tuple[Any, Any, Any]]]] = {
    "linear": lambda z: (z, np.ones_like(z), np.zeros_like(z)),
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}
"""``rho(z) -> (ρ, ρ', ρ'')`` by name."""


_REPORT: Final = Report("success status nfev njev")
_EPS: Final = np.finfo(FLOAT).eps


@covers(
    "scipy.optimize",
    closures=True,
    note="optimality and active_mask have no derivative; the Jacobian is ours unless jac is "
    "'3-point' or 'cs'",
)
@takes_positions
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: Any = 1.0,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Any:
    """Minimize a sum of losses of residuals, as SciPy does, and differentiate the minimum.

    The cost is ``½ Σ C² ρ((f/C)²)`` with C = `f_scale`.  The minimum depends on all that `fun`
    contains, on `args`, `kwargs`, `bounds` and `f_scale`; its derivative is that of the implicit
    function of ``Jᵀ(ρ'f) = 0`` with the exact Hessian, and of the bounds where they are active.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import least_squares
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> mean = lambda y: least_squares(lambda x: x[0] - y, np.zeros(1)).x[0]
    >>> print(np.round(fd.grad(mean)(y), 6))
    [0.333333 0.333333 0.333333]
    """
    start = np.atleast_1d(start_of(x0))
    residuals = vector(curry(fun, args, kwargs, name="least_squares"))
    sides = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
    if not (
        holds_traced([x0, sides, f_scale, settings]) or depends(residuals, value_or_zeros(start))
    ):
        scale = {} if x_scale is None else {"x_scale": x_scale}
        return scipys("least_squares")(
            fun, x0, jac, bounds, method, ftol, xtol, gtol, loss=loss, f_scale=f_scale, args=args,
            kwargs=kwargs or {}, **scale, **settings,
        )  # fmt: skip
    name = f"least_squares({name_of(fun)})"
    closed = close(residuals, start.shape)

    def rho(f: Any) -> Any:
        return LOSSES[loss]((f / f_scale) ** 2) if loss in LOSSES else loss((f / f_scale) ** 2)

    cost = close(lambda x: 0.5 * np.sum(f_scale**2 * rho(closed(x))[0]), start.shape)
    lower, upper = (np.broadcast_to(array(s).astype(FLOAT), start.shape) for s in sides)
    report, shape = _REPORT, start.shape
    x, optimality, mask, numbers = call_solver(
        _least_squares,
        [closed],
        [start, lower, upper, np.asarray(f_scale) if not holds_traced(f_scale) else f_scale],
        {
            **settings, "method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol,
            "loss": loss, "x_scale": x_scale, "jac": jac if jac in ("3-point", "cs") else None,
        },
        [(shape, FLOAT), ((), FLOAT), (shape, INT), *report.shapes],
    )  # fmt: skip
    found = minimum_at(Problem(name, cost, lower, upper), x, start).x
    f = closed(found)
    _, first, second = rho(f)
    weights = np.sqrt(np.maximum(first + 2 * second * (f / f_scale) ** 2, _EPS))
    plain = closed.jacobian(found)
    return scipys("OptimizeResult")(
        x=found, cost=cost(found), fun=f, grad=plain.T @ (first * f),
        jac=plain if loss == "linear" else weights[:, None] * plain,
        optimality=optimality, active_mask=mask, **report.fields(numbers),
    )  # fmt: skip


def _least_squares(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any, Any, Any]:
    function, (start, lower, upper, scale) = functions[0], arrays
    given = {name: value for name, value in settings.items() if name != "x_scale"}
    given["jac"] = given["jac"] or function.jacobian
    if settings["x_scale"] is not None:
        given["x_scale"] = settings["x_scale"]
    bounds = (lower, upper)
    found = scipys("least_squares")(function, start, bounds=bounds, f_scale=float(scale), **given)
    counts = {**found, "njev": found.njev or 0}
    return found.x, found.optimality, found.active_mask, _REPORT.numbers(counts)


@covers("scipy.optimize", closures=True, note="the dict of full_output has nfev and fvec")
@takes_positions
def leastsq(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    Dfun: Callable[..., Any] | None = None,
    full_output: bool = False,
    col_deriv: bool = False,
    **settings: Any,
) -> Any:
    """Minimize a sum of squares, as SciPy does, and differentiate the minimum.

    See `least_squares`; ``cov_x`` is (JᵀJ)⁻¹ at the minimum, with derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import leastsq
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> print(np.round(fd.grad(lambda y: leastsq(lambda x: x[0] - y, 0.0)[0][0])(y), 6))
    [0.333333 0.333333 0.333333]
    """
    start = np.atleast_1d(start_of(x0)).ravel()
    residuals = vector(curry(func, args))
    if not (holds_traced([x0]) or depends(residuals, value_or_zeros(start))):
        return scipys("leastsq")(func, x0, args, Dfun, full_output, col_deriv, **settings)
    closed = close(residuals, start.shape)
    report = Report("ier nfev")
    x, numbers = call_solver(
        _leastsq, [closed], [start], settings, [(start.shape, FLOAT), *report.shapes]
    )
    name = f"leastsq({name_of(func)})"
    cost = close(lambda x: 0.5 * np.sum(closed(x) ** 2), start.shape)
    found = minimum_at(without_bounds(name, cost), x, start).x
    fields = report.fields(numbers)
    if not full_output:
        return found, fields["ier"]
    slopes = closed.jacobian(found)
    info = {"nfev": fields["nfev"], "fvec": closed(found)}
    return found, np.linalg.inv(slopes.T @ slopes), info, fields["message"], fields["ier"]


def _leastsq(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    function = functions[0]
    found = scipys("leastsq")(
        function, arrays[0], Dfun=function.jacobian, full_output=True, **settings
    )
    return found[0], Report("ier nfev").numbers({**found[2], "ier": found[4]}, found[3])


# ---- `curve_fit`: parameters of a curve through points, and their covariance ---------------------


_REPORT_OF_FIT: Final = Report("ier nfev")


@covers(
    "scipy.optimize",
    closures=True,
    note="the dict of full_output has nfev and fvec; nan_policy='omit' and loss= are refused",
)
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """Fit a curve, as SciPy does; differentiate the parameters and their covariance.

    Both depend on `xdata`, `ydata`, `sigma`, `bounds` and all that f contains.  With residuals r
    the parameters are the implicit function of ``Jᵀr = 0``; the covariance is ``(JᵀJ)⁻¹ s²``
    there, ``s² = r·r / (m - n)`` unless `absolute_sigma`.  Jacobians are exact.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import curve_fit
    >>> t = np.array([0.0, 1.0, 2.0, 3.0])
    >>> line = lambda t, slope, offset: slope * t + offset
    >>> def standard_error(y):
    ...     return np.sqrt(curve_fit(line, t, y)[1][0, 0])
    >>> print(np.round(fd.grad(standard_error)(np.array([0.1, 0.9, 2.1, 2.9])), 4))
    [ 0.0707 -0.2121  0.2121 -0.0707]
    """
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    count = _count(f) if p0 is None else np.size(start_of(p0))
    lower, upper = (np.broadcast_to(array(b).astype(FLOAT), (count,)) for b in (lower, upper))
    start = feasible(lower, upper) if p0 is None else np.atleast_1d(start_of(p0))
    points = xdata if callable(getattr(xdata, "items", None)) else array(xdata)

    @wraps(f)
    def model(p: Any) -> Any:
        return np.ravel(array(f(points, *p)))

    if not (
        holds_traced([xdata, ydata, p0, sigma, lower, upper, kwargs])
        or depends(model, value_or_zeros(start))
    ):
        return scipys("curve_fit")(
            f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, jac,
            full_output=full_output, nan_policy=nan_policy, **kwargs,
        )  # fmt: skip
    _refuse(nan_policy, kwargs)
    y = np.ravel(array(ydata)).astype(FLOAT)
    weigh = _weighing(sigma)
    closed = close(model, (count,))
    residuals = close(lambda p: weigh(closed(p) - y), (count,))
    settings = {
        "absolute_sigma": absolute_sigma, "method": method,
        "check_finite": check_finite, "kwargs": kwargs,
        "jac": jac if isinstance(jac, str) else None,
        "weighted": sigma is not None,
    }  # fmt: skip
    spread = np.ones(0) if sigma is None else array(sigma)
    x, covariance, numbers = call_solver(
        _curve_fit, [closed], [start, y, spread, lower, upper], settings,
        [((count,), FLOAT), ((count, count), FLOAT), *_REPORT_OF_FIT.shapes],
    )  # fmt: skip
    cost = close(lambda p: 0.5 * np.sum(residuals(p) ** 2), (count,))
    problem = Problem(f"curve_fit({name_of(f)})", cost, lower, upper)
    found = minimum_at(problem, x, start).x
    spreads = _covariance(residuals, found, covariance, absolute_sigma)
    if not full_output:
        return found, spreads
    fields = _REPORT_OF_FIT.fields(numbers)
    info = {"nfev": fields["nfev"], "fvec": residuals(found)}
    return found, spreads, info, fields["message"], fields["ier"]


def _covariance(residuals: Closed, x: Any, value: Any, absolute: bool) -> Any:
    """Return ``(JᵀJ)⁻¹ s²``, or what SciPy returns where it cannot be estimated: infinities."""
    inverse = np.linalg.pinv(residuals.jacobian(x))
    free = residuals.shape[0] - x.size
    scale = 1.0 if absolute or free <= 0 else np.sum(residuals(x) ** 2) / free
    return np.where(np.isfinite(value), inverse @ inverse.T * scale, value)


def _count(f: Callable[..., Any]) -> int:
    """Return how many parameters a function has, behind its first argument."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in kinds for p in inspect.signature(f).parameters.values())
    if count < 2:
        raise ValueError("Unable to determine number of fit parameters.")
    return count - 1


def _refuse(nan_policy: str | None, kwargs: Mapping[str, Any]) -> None:
    refused = [k for k in ("loss", "f_scale") if k in kwargs and kwargs[k] not in ("linear", 1.0)]
    if nan_policy == "omit" or refused or "args" in kwargs:
        raise InputError(
            f"curve_fit of traced arrays got nan_policy='omit', args, loss or f_scale, at "
            f"{user_location()}. Select the points before; for another loss use least_squares."
        )


def _weighing(sigma: Any) -> Callable[[Any], Any]:
    """Return what makes residuals of one variance: by deviations, or by a covariance matrix."""
    if sigma is None:
        return lambda r: r
    spread = array(sigma).astype(FLOAT)
    if spread.ndim < 2:
        return lambda r: r / spread
    factor = np.linalg.cholesky(spread)
    return lambda r: np.linalg.solve(factor, r)


def _curve_fit(
    functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any, Any]:
    function = functions[0]
    start, y, sigma, lower, upper = arrays
    check = settings["check_finite"]
    found = scipys("curve_fit")(
        lambda _x, *p: function(np.array(p)), 0.0, y, start,
        sigma if settings["weighted"] else None, settings["absolute_sigma"],
        True if check is None else check, (lower, upper), settings["method"],
        settings["jac"] or (lambda _x, *p: function.jacobian(np.array(p))),
        full_output=True, **settings["kwargs"],
    )  # fmt: skip
    x, covariance, info, message, flag = found
    return x, covariance, _REPORT_OF_FIT.numbers({**info, "ier": flag}, message)
