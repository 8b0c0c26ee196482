"""Sums of squares, or of other losses of residuals: `least_squares`, `leastsq`, `curve_fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.arguments import name_of
from funcdiff.core.types import FLOAT, INT
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.losses import LOSSES
from funcdiff.scipy.optimize.minimum import Problem, minimum_at, without_bounds
from funcdiff.scipy.optimize.programs import Closed, close, curry, depends, value_or_zeros, vector
from funcdiff.scipy.optimize.roots import start_of
from funcdiff.scipy.optimize.solvers import Report, call_solver, scipys, takes_positions

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
