"""SciPy's old functions for one method each, as other arguments of `minimize` and its like."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.types import FLOAT
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers, holds_traced
from funcdiff.scipy.optimize.closed import curry, depends, further, value_or_zeros
from funcdiff.scipy.optimize.minimizing import inside, minimize, minimize_scalar
from funcdiff.scipy.optimize.opaque_solvers import scipys, takes_positions


class _Old(NamedTuple):
    """What an old function is today.

    Attributes
    ----------
    method
        Of `minimize`, or of `minimize_scalar` if it takes no start.
    options
        Old names of options -> new ones; others have kept theirs.
    output
        Fields of the result that make up the full output, if all of them are known.
    """

    method: str
    options: dict[str, str]
    output: str = ""


_TABLE: Final = {
    "fmin": _Old(
        "Nelder-Mead", {"xtol": "xatol", "ftol": "fatol", "maxfun": "maxfev"},
        "x fun nit nfev status",
    ),
    "fmin_powell": _Old("Powell", {"maxfun": "maxfev"}),
    "fmin_cg": _Old("CG", {"epsilon": "eps"}, "x fun nfev njev status"),
    "fmin_bfgs": _Old("BFGS", {"epsilon": "eps"}),
    "fmin_ncg": _Old(
        "Newton-CG", {"avextol": "xtol", "epsilon": "eps"}, "x fun nfev njev nhev status"
    ),
    "brent": _Old("brent", {"tol": "xtol"}, "x fun nit nfev"),
    "golden": _Old("golden", {"tol": "xtol"}, "x fun nfev"),
    "fminbound": _Old("bounded", {"xtol": "xatol", "maxfun": "maxiter"}, "x fun status nfev"),
}  # fmt: skip
_DERIVATIVES: Final = ("fprime", "fhess_p", "fhess")


def _cover(name: str, old: _Old) -> None:
    parameters = signature(scipys(name)).parameters

    def function(*args: Any, **kwargs: Any) -> Any:
        given = {k: p.default for k, p in parameters.items() if p.default is not p.empty}
        given |= {**dict(zip(parameters, args, strict=False)), **kwargs}
        f = given.pop("func", None) or given.pop("f")
        extra = further(name, given.pop("args"))
        starts: dict[str, Any] = {
            k: given.pop(k) for k in ("x0", "x1", "x2", "brack") if k in given
        }
        if not (holds_traced(starts) or depends(curry(f, extra), _inside(starts))):
            return scipys(name)(*args, **kwargs)
        full = given.pop("full_output")
        if (full and not old.output) or given.pop("retall", False):
            raise InputError(
                f"{name} of traced arrays got retall or full_output, at {user_location()}: what "
                f"describes the way has no derivative. Write minimize(f, x0, method="
                f"{old.method!r}), whose result has the rest."
            )
        callback = given.pop("callback", None)
        options = {
            old.options.get(k, k): v
            for k, v in given.items()
            if k not in _DERIVATIVES and v is not None
        }
        if "x0" in starts:
            keywords = {"method": old.method, "callback": callback, "options": options}
            result = minimize(f, starts["x0"], extra, **keywords)
        else:
            bounds = (starts["x1"], starts["x2"]) if "x1" in starts else None
            result = minimize_scalar(
                f, starts.get("brack"), bounds, extra, old.method, options=options
            )
        return tuple(result[k] for k in old.output.split()) if full else result.x

    function.__doc__ = (
        f"Minimize a function by {old.method}, as SciPy does, and differentiate the minimum.\n\n"
        "    See `minimize` and `minimize_scalar`; retall is refused."
    )
    covers("scipy.optimize", name, closures=True)(function)


def _inside(starts: dict[str, Any]) -> Any:
    """Return where the function may be called."""
    if "x0" in starts:
        return np.atleast_1d(value_or_zeros(array(starts["x0"]))).astype(FLOAT)
    bounds = (starts["x1"], starts["x2"]) if "x1" in starts else None
    return np.float64(inside(starts.get("brack"), bounds))


for name, old in _TABLE.items():
    _cover(name, old)


@covers("scipy.optimize", closures=True, note="a gradient that is given is not used")
@takes_positions
def fmin_l_bfgs_b(
    func: Callable[..., Any],
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    approx_grad: Any = 0,
    bounds: Any = None,
    **settings: Any,
) -> Any:
    """Minimize a function by L-BFGS-B, as SciPy does, and differentiate the minimum.

    See `minimize`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import fmin_l_bfgs_b
    >>> def found(a):
    ...     return fmin_l_bfgs_b(lambda x: (np.sum((x - a) ** 2), 2 * (x - a)), [0.0])[0][0]
    >>> print(np.round(fd.grad(found)(3.0), 9))
    1.0
    """
    start, extra = _inside({"x0": x0}), further("fmin_l_bfgs_b", args)
    if not (holds_traced([x0, bounds]) or depends(curry(func, extra), start)):
        return scipys("fmin_l_bfgs_b")(func, x0, fprime, args, approx_grad, bounds, **settings)
    callback = settings.pop("callback", None)
    if "factr" in settings:
        settings["ftol"] = settings.pop("factr") * np.finfo(FLOAT).eps
    names = {"m": "maxcor", "pgtol": "gtol", "epsilon": "eps"}
    options = {names.get(k, k): v for k, v in settings.items() if k not in ("iprint", "disp")}
    found = minimize(
        func, x0, extra, "L-BFGS-B", jac=fprime is None and not approx_grad, bounds=bounds,
        callback=callback, options=options,
    )  # fmt: skip
    info = {
        "grad": found.jac, "task": found.message, "funcalls": found.nfev, "nit": found.nit,
        "warnflag": found.status,
    }  # fmt: skip
    return found.x, found.fun, info
