"""`odeint` of traced problems: SciPy's values, and derivatives of LSODA's steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.api.calls.inputs import as_tracers
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.creation.construction import array
from funcdiff.numpy.memory import views
from funcdiff.ops.user.replay import Replay, replay
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate.closures import (
    NUMBER,
    attempt,
    entry,
    has_tracer,
    refuse_tracing,
    require_rates,
)
from funcdiff.scipy.integrate.initial_value import maker_of, problem_of, whole
from funcdiff.scipy.integrate.quadrature import static
from funcdiff.scipy.integrate.solving import Settings
from funcdiff.scipy.ways import Closure, closure


@entry("scipy.integrate", "odeint", note="The derivative is that of solve_ivp by LSODA.")
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    *options: Any,
    tfirst: bool = False,
    **named: Any,
) -> Any:
    """Solve an initial value problem with LSODA, whose parts may be traced.

    The values are SciPy's.  They do not show the steps that were taken: the derivative is that of
    the solution of `solve_ivp` by LSODA, to a hundredth of the tolerances, so that it is as
    accurate as the values (of more than 24 equations by DOP853, and of more than 128 that are
    stiff by Radau).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> left = lambda k: integrate.odeint(lambda y, t: -k * y, 1.0, [0.0, 2.0])[-1, 0]
    >>> print(round(fd.grad(left)(0.5), 6))  # -2·exp(-1)
    -0.735759
    """
    plain = load("scipy.integrate").odeint
    names = ("ml", "mu", "rtol", "atol", "tcrit", "h0", "hmax", "hmin", "ixpr", "mxstep",
             "mxhnil", "mxordn", "mxords", "printmessg", "tfirst")  # fmt: skip
    named |= dict(zip(names, options, strict=False))
    tfirst = named.pop("tfirst", tfirst)
    named["col_deriv"] = col_deriv
    state = np.reshape(array(y0), (-1,)).astype(FLOAT)

    def with_time_first(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda t, y: array(f(*((t, y) if tfirst else (y, t)), *args)).astype(FLOAT)

    def rates(time: Any, y: Any) -> Any:
        found = with_time_first(func)(time, y)
        order = "func(t, y)" if tfirst else "func(y, t)"
        require_rates(found, f"the function {order} of odeint", state.size)
        return np.reshape(found, state.shape)

    def trace_closures() -> list[Closure]:
        given = [rates] if Dfun is None else [rates, with_time_first(Dfun)]
        return [closure(f, NUMBER, ArrayType(state.shape, FLOAT)) for f in given]

    found: Any = attempt(trace_closures, y0, t)
    failed = isinstance(found, Exception)
    if failed or not (any(f.is_traced for f in found) or has_tracer(y0, t)):
        f = refuse_tracing(func, found) if failed else func
        return plain(f, y0, t, args, Dfun, full_output=full_output, tfirst=tfirst, **named)
    rate, *others = found
    settings = Settings(
        rate.program, others[0].program if others else None,
        (len(rate.captures), len(others[0].captures) if others else 0), (), "odeint",
        evaluates=True, dense=False, options=tuple((k, static(v)) for k, v in named.items()),
    )  # fmt: skip
    times = array(t).astype(FLOAT)
    if times.ndim != 1:
        raise ValueError(f"odeint needs a sequence of times, at {user_location()}.")
    captures = [c for f in found for c in f.captures]
    ends = (times[0], times[-1]) if len(times) else (0.0, 0.0)
    operands = as_tracers([*captures, state, *ends, times])
    shape = (*state.shape, *times.shape)
    types = (ArrayType(times.shape, FLOAT), ArrayType(shape, FLOAT), ArrayType((4,), INT))
    p = Replay(maker_of(settings, whole), len(operands), 0, types, (), ())
    solution: Any = views.fresh(replay(p, operands)[1])
    y = np.transpose(solution)
    if not full_output:
        return y
    return y, problem_of(settings).solution(list(map(value_of, operands))).result.info
