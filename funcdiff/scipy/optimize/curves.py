"""`curve_fit`: parameters of a curve through points, and their covariance."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.arguments import name_of
from funcdiff.core.types import FLOAT
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.constraints import feasible
from funcdiff.scipy.optimize.minimum import Problem, minimum_at
from funcdiff.scipy.optimize.programs import Closed, close, depends, value_or_zeros
from funcdiff.scipy.optimize.roots import start_of
from funcdiff.scipy.optimize.solvers import Report, call_solver, scipys

_REPORT: Final = Report("ier nfev")


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
        [((count,), FLOAT), ((count, count), FLOAT), *_REPORT.shapes],
    )  # fmt: skip
    cost = close(lambda p: 0.5 * np.sum(residuals(p) ** 2), (count,))
    problem = Problem(f"curve_fit({name_of(f)})", cost, lower, upper)
    found = minimum_at(problem, x, start).x
    spreads = _covariance(residuals, found, covariance, absolute_sigma)
    if not full_output:
        return found, spreads
    fields = _REPORT.fields(numbers)
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
    return x, covariance, _REPORT.numbers({**info, "ier": flag}, message)
