"""`solve_ivp` of traced problems: SciPy's steps, and the derivative of the solution on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import forgiveness
from funcdiff.api.calls.inputs import as_tracers
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.errors import ConcreteValueError, InputError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border.values import index_value, value_of
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
    scipys,
)
from funcdiff.scipy.integrate.continuous import ContinuousSolution
from funcdiff.scipy.integrate.initial_value import Problem, maker_of, round_up, whole
from funcdiff.scipy.integrate.method_steps import METHODS
from funcdiff.scipy.integrate.quadrature import static
from funcdiff.scipy.integrate.solving import Event, Settings
from funcdiff.scipy.places import place
from funcdiff.scipy.ways import Closure, closures

Rate = Callable[..., Any]

_MESSAGES: Final = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}
"""SciPy's, by status."""


@entry(
    "scipy.integrate",
    "solve_ivp",
    note="Step-size control is not differentiated; under vmap t_eval is needed.",
)
def solve_ivp(
    fun: Rate,
    t_span: Sequence[Any],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve an initial value problem y' = f(t, y), y(t₀) = y₀, whose parts may be traced.

    SciPy finds the solution with plain values.  The derivative is that of the computed solution on
    its steps, which are taken again: exact, in every mode and order, by parameters in `args` or
    that `fun` closes over, by `y0`, by both ends and by `t_eval`.  How the lengths of steps were
    chosen is not differentiated.  Steps of implicit methods and times of events have the derivative
    of the implicit function theorem; a terminal event ends the solution at such a time, from which
    a further call goes on.

    Under `jit` a new number of steps or events is a new way through the function.  Under `vmap`
    each example has its own steps; `t_eval` is needed there, and there are no events and no
    `dense_output`.  Functions that decide by values, ``if t < 1``, are
    traced for each way that they take where values are known; elsewhere they branch by `np.where`.

    Raises
    ------
    ConcreteValueError
        Where shapes are not known: under `vmap` without `t_eval`, with events or `dense_output`.

    References
    ----------
    E. Hairer, S. P. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", Springer
    1993, I.14 (derivatives by parameters and initial values).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import integrate
    >>> def left(k):
    ...     found = integrate.solve_ivp(lambda t, y: -k * y, (0, 2), [1.0], rtol=1e-9, atol=1e-9)
    ...     return found.y[0, -1]
    >>> print(np.round(fd.grad(left)(0.5), 6), np.round(-2 * np.exp(-1), 6))
    -0.735759 -0.735759
    """
    plain = scipys("scipy.integrate", "solve_ivp")
    given = () if args is None else (*args,)
    start, end = t_span
    state = _state(y0)
    type_ = ArrayType(state.shape, state.dtype)
    jac = options.pop("jac", None)

    def trace_closures() -> list[Closure]:
        functions = [_rate(fun, given, type_, vectorized=vectorized)]
        functions += [_of_args(jac, given)] if callable(jac) else []
        functions += [_event(g, given) for g in _list(events)]
        return closures(functions, [NUMBER, type_], explore)

    def explore(rate: Rate, *others: Rate) -> None:
        values = [float(value_of(start)), float(value_of(end))]
        given = list(others)
        named = {k: static(_dense(v)) for k, v in options.items()}
        if callable(jac):
            named["jac"] = given.pop(0)
        elif jac is not None:
            named["jac"] = jac
        watched = [_like(g, way) for g, way in zip(_list(events), given, strict=True)]
        times = None if t_eval is None else value_of(array(t_eval))
        plain(rate, values, value_of(state), method, times, dense_output, watched or None, **named)

    found: Any = attempt(trace_closures, start, end, y0, t_eval)
    keywords = {**options, **({} if jac is None else {"jac": jac})}
    if isinstance(found, Exception):
        return plain(refuse_tracing(fun, found), t_span, y0, method, t_eval, dense_output, events,
                     vectorized, args, **keywords)  # fmt: skip
    if not (any(f.is_traced for f in found) or has_tracer(start, end, y0, t_eval)):
        return plain(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args,
                     **keywords)  # fmt: skip
    rate, *others = found
    matrix = others.pop(0) if callable(jac) else None
    if jac is not None and matrix is None:
        options["jac"] = jac
    settings = Settings(
        rate.program, None if matrix is None else matrix.program,
        (len(rate.captures), 0 if matrix is None else len(matrix.captures)),
        tuple(_event_of(g, f) for g, f in zip(_list(events), others, strict=True)),
        _name(method), t_eval is not None, dense_output,
        tuple((k, static(_dense(v))) for k, v in options.items()),
    )  # fmt: skip
    captures = [c for f in found for c in f.captures]
    numbers = [array(x).astype(FLOAT) for x in (start, end)]
    times = [] if t_eval is None else [array(t_eval).astype(FLOAT)]
    return _result(settings, as_tracers([*captures, state, *numbers, *times]))


# ---- arguments -----------------------------------------------------------------------------------


def _state(y0: Any) -> Any:
    state = array(y0)
    if state.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    return state.astype(np.complex128 if state.dtype.kind == "c" else FLOAT)


def _list(events: Any) -> list[Any]:
    if events is None:
        return []
    return [events] if callable(events) else list(events)


def _rate(fun: Rate, args: tuple[Any, ...], type_: ArrayType, *, vectorized: bool) -> Rate:
    """Return ``f(t, y)`` with results like y."""

    def rate(t: Any, y: Any) -> Any:
        found = array(fun(t, y[:, None] if vectorized else y, *args))
        require_rates(found, "the function fun(t, y) of solve_ivp", type_.size, 1)
        found = np.reshape(found, -1) if vectorized else found
        if found.dtype.kind == "c" and type_.dtype.kind != "c":
            raise InputError(
                f"the right-hand side of solve_ivp is complex, but y0 is real, at "
                f"{user_location()}. Give a complex y0."
            )
        return np.broadcast_to(found, type_.shape).astype(type_.dtype)

    return rate


def _of_args(f: Rate, args: tuple[Any, ...]) -> Rate:
    def jacobian(t: Any, y: Any) -> Any:
        matrix = f(t, y, *args)
        if hasattr(matrix, "toarray"):
            raise UnsupportedNumPyError(
                f"solve_ivp of a traced problem takes no sparse Jacobian, at {user_location()}. "
                "Return an array, or give jac_sparsity."
            )
        return array(matrix)

    return jacobian


def _event(g: Rate, args: tuple[Any, ...]) -> Rate:
    return lambda t, y: np.reshape(array(g(t, y, *args)), ()).astype(FLOAT)


def _like(g: Any, way: Rate) -> Any:
    """Return a function with the attributes of an event."""

    def event(t: Any, y: Any) -> Any:
        return way(t, y)

    vars(event).update(vars(g) if hasattr(g, "__dict__") else {})
    return event


def _event_of(g: Any, f: Closure) -> Event:
    terminal = getattr(g, "terminal", None)
    return Event(f.program, len(f.captures), terminal, float(getattr(g, "direction", 0)))


def _name(method: Any) -> str:
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    is_scipys = isinstance(method, str) or getattr(load("scipy.integrate"), name, None) is method
    if name not in METHODS or not is_scipys:
        raise UnsupportedNumPyError(
            f"solve_ivp of a traced problem does not know the method {method!r}, at "
            f"{user_location()}. Give one of {', '.join(m for m in METHODS if m.isalnum())}."
        )
    return name


def _dense(option: Any) -> Any:
    return option.toarray() if hasattr(option, "toarray") else option


# ---- results -------------------------------------------------------------------------------------


class _Shapes:
    """Computes what decides the shapes of a solution, and its status."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Return the numbers of steps, coefficients, times and events, and the status."""
        solution = self._problem.solution(operands)
        result, terms = solution.result, METHODS[solution.method].terms
        events = [len(t) for t in result.t_events or ()]
        counts = [len(solution.steps), terms, len(result.t), *events, result.status]
        return [np.array(counts)]

    def plan(self, operands: Sequence[Any]) -> Any:  # noqa: ARG002
        """Never asked for: counts have no derivative."""
        raise AssertionError


def _counts(settings: Settings, operands: Sequence[Any]) -> list[int]:
    """Return steps, coefficients, times, events and status, which decide the shapes."""
    kinds = len(settings.events)
    name = maker_of(settings, _Shapes)
    type_ = ArrayType((4 + kinds,), INT)
    p = Replay(name, len(operands), 0, (type_,), (), ())
    (counts,) = _fresh(replay(p, operands))
    forgive = forgiveness()
    try:
        return [index_value(counts[k]) for k in range(4 + kinds)]
    except ConcreteValueError as error:
        if settings.evaluates and not (settings.dense or kinds):
            forgive()
            return [0, 0, operands[-1].shape[0], 0]
        raise ConcreteValueError(
            f"how many steps and events solve_ivp has is not known at {user_location()}, where the "
            "arguments have no values (inside scan or cond, or vmap of examples that differ). "
            "Give t_eval there, which is [t1] for the end, without events and dense_output."
        ) from error


def _result(settings: Settings, operands: Sequence[Any]) -> Any:
    steps, terms, times, *events, status = _counts(settings, operands)
    evaluates = settings.evaluates
    state = operands[-4 if evaluates else -3].type
    (n,) = state.shape
    shown = times if evaluates else round_up(times - 1) + 1
    types = [ArrayType((shown,), FLOAT), state.with_shape((n, shown))]
    for count in events:
        types += [ArrayType((count,), FLOAT), state.with_shape((count, n))]
    if settings.dense:
        count = round_up(steps)
        types += [ArrayType((count,), FLOAT)] * 2
        types += [state.with_shape((count, *rest)) for rest in ((n,), (terms, n))]
    types.append(ArrayType((4,), INT))
    p = Replay(maker_of(settings, whole), len(operands), 0, tuple(types), (), ())
    t, y, *found = _fresh(replay(p, operands))
    t, y, counts = t[:times], y[:, :times], found.pop()
    sol = None
    if settings.dense:
        found, parts = found[:-4], [x[:steps] for x in found[-4:]]
        starts, lengths, before, between = parts
    kinds = len(events)
    if settings.dense:
        ending = starts[-1:] + lengths[-1:] if evaluates else t[-1:]
        method = settings.method
        if terms != METHODS[method].terms:
            method = next(name for name, known in METHODS.items() if known.terms == terms)
        is_multistep = settings.method in ("BDF", "LSODA")
        sol = ContinuousSolution(method, is_multistep, starts, lengths, before, between, ending)
    nfev, njev, nlu, _ = (_plain(counts[k]) for k in range(4))
    return place("scipy.integrate._ivp.ivp", "OdeResult")(
        t=t, y=y, sol=sol,
        t_events=[found[2 * k] for k in range(kinds)] if kinds else None,
        y_events=[_rows(found[2 * k + 1]) for k in range(kinds)] if kinds else None,
        nfev=nfev, njev=njev, nlu=nlu, status=status, message=_message(settings.method, status),
        success=status >= 0,
    )  # fmt: skip


def _message(method: str, status: int) -> str:
    return "Unexpected istate in LSODA." if (method, status) == ("LSODA", -1) else _MESSAGES[status]


def _fresh(xs: Sequence[Any]) -> list[Any]:
    return [views.fresh(x) for x in xs]


def _rows(states: Any) -> Any:
    """Return the states at events, of which SciPy says nothing where there are none."""
    return states if len(states) else np.reshape(states, (0,))


def _plain(count: Any) -> Any:
    """Return the value of a count, if it is known."""
    try:
        return int(value_of(count))
    except ConcreteValueError:
        return count
