"""SciPy's solvers of initial values, called with plain values, and the steps that they take.

LSODA and odeint do not show their steps, which are of many kinds.  The same problem is then solved
once more to the same tolerances, by DOP853 or, where their own method for stiff equations was in
use, by Radau: values are theirs, derivatives those of this solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.evaluate import executable
from funcdiff.core.program import Program
from funcdiff.scipy.covered import load

_ODEINT_TOLERANCE: Final = 1.49012e-8
_BEYOND: Final = 1e-3


class Event(NamedTuple):
    """An event: its function as a program ``(*captures, t, y) -> g``, and SciPy's attributes."""

    program: Program
    captures: int
    terminal: Any
    direction: float


class Settings(NamedTuple):
    """What a problem is, but for the values in it.

    Attributes
    ----------
    rate
        ``(*captures, t, y) -> dy/dt``.
    jacobian
        ``(*captures, t, y) -> matrix``, if one was given.
    captures
        How many captures both have, which come first among all operands, the Jacobian's second;
        then come those of the events, y0, t0, t1 and, perhaps, the times at which to evaluate.
    events
        The events.
    method
        Its name.
    evaluates
        Whether there are such times.
    dense
        Whether the polynomials of all steps are results.
    options
        Keywords of ``solve_ivp``.
    """

    rate: Program
    jacobian: Program | None
    captures: tuple[int, int]
    events: tuple[Event, ...]
    method: str
    evaluates: bool
    dense: bool
    options: tuple[tuple[str, Any], ...]


class Given(NamedTuple):
    """The operands of a problem."""

    rate: Sequence[Any]
    jacobian: Sequence[Any]
    events: Sequence[Sequence[Any]]
    y0: Any
    t0: Any
    t1: Any
    times: Any


class Solution(NamedTuple):
    """What SciPy returned, and steps: ``(t_old, t, order, order behind, near solution)`` each.

    Attributes
    ----------
    method
        Which took the steps.
    is_twin
        Whether that is not the method that returned the result.
    """

    result: Any
    steps: list[tuple[float, float, int, int, Any]]
    method: str
    is_twin: bool


def solve(p: Settings, given: Given) -> Solution:
    """Solve a problem for values."""
    steps: list[Any] = []
    options = {k: np.array(v) if isinstance(v, tuple) else v for k, v in p.options}
    rate, times = function_of(p.rate, given.rate), given.times
    span = float(given.t0), float(given.t1)
    jac = None if p.jacobian is None else function_of(p.jacobian, given.jacobian)
    if p.method == "odeint":
        result = _odeint(rate, jac, given.y0, times, options)
        tolerances = {k: options.get(k) or _ODEINT_TOLERANCE for k in ("rtol", "atol")}
        used = result.info["mused"][np.diff(times[: len(result.info["mused"]) + 1]) != 0]
        return _twin(result, rate, span, given.y0, tolerances, is_stiff=2 in used)
    events = [_event_of(g, captures) for g, captures in zip(p.events, given.events, strict=True)]
    stiff: list[bool] = []
    method = _watching(stiff) if p.method == "LSODA" else _recording(p.method, steps)
    result = load("scipy.integrate").solve_ivp(
        rate, span, given.y0, method=method, t_eval=times, dense_output=p.dense,
        events=events or None, **options, **({} if jac is None else {"jac": jac}),
    )  # fmt: skip
    if p.method != "LSODA":
        return Solution(result, steps, p.method, is_twin=False)
    end = span[1]
    if result.status == 1:
        last = [t[-1] for t in result.t_events if len(t)]
        end = max(last) if end > span[0] else min(last)
    tolerances = {k: options[k] for k in ("rtol", "atol") if k in options}
    return _twin(result, rate, (span[0], end), given.y0, tolerances, is_stiff=any(stiff))


def _twin(
    result: Any, rate: Any, span: tuple[float, float], y0: Any, tolerances: Any, *, is_stiff: bool
) -> Solution:
    """Solve a problem once more by a method whose steps are seen.

    An interval of length 0 has none: a step beyond its end shows how the solution leaves it.
    """
    steps: list[Any] = []
    if span[0] == span[1]:
        span = span[0], span[0] + _BEYOND * max(1.0, abs(span[0]))
    name = "Radau" if is_stiff else "DOP853"
    method = _recording(name, steps)
    load("scipy.integrate").solve_ivp(rate, span, y0, method=method, **tolerances)
    return Solution(result, steps, name, is_twin=True)


def _odeint(rate: Any, jac: Any, y0: Any, times: Any, options: dict[str, Any]) -> Any:
    y, info = load("scipy.integrate").odeint(
        rate, y0, times if len(times) else np.zeros(1), Dfun=jac, full_output=1, tfirst=True,
        **options,
    )  # fmt: skip
    evaluations, jacobians = (sum(info[k][-1:]) for k in ("nfe", "nje"))
    return SimpleNamespace(
        t=times, y=y[: len(times)].T, t_events=None, y_events=None, nfev=evaluations,
        njev=jacobians, nlu=jacobians, status=0, info=info,
    )  # fmt: skip


def _watching(stiff: list[bool]) -> Any:
    """Return SciPy's class of LSODA, which notes whether the method for stiff equations is used."""
    plain = load("scipy.integrate").LSODA

    class Watched(plain):  # type: ignore[misc, valid-type]
        def step(self) -> Any:
            message = super().step()
            stiff.append(bool(self._lsoda_solver._integrator.iwork[18] == 2))
            return message

    return Watched


def function_of(program: Program, captures: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """Return the function of values that a program ``(*captures, t, y)`` is of."""
    execute = executable(program)
    return lambda t, y: execute(*captures, np.float64(t), y)[0]


def _event_of(event: Event, captures: Sequence[Any]) -> Any:
    g: Any = function_of(event.program, captures)
    g.terminal, g.direction = event.terminal, event.direction
    return g


def _recording(name: str, steps: list[Any]) -> Any:
    """Return SciPy's class of a method, which notes its steps."""
    plain = getattr(load("scipy.integrate"), name)

    class Recorded(plain):  # type: ignore[misc, valid-type]
        def step(self) -> Any:
            before = self.order if name == "BDF" else 0
            message = super().step()
            if self.status != "failed":
                after = self.order if name == "BDF" else 0
                steps.append((self.t_old, self.t, before, after, _near(self, name)))
            return message

    Recorded.__name__ = name
    return Recorded


def _near(solver: Any, name: str) -> Any:
    """Return the state after the last step; of an implicit method what is near its solution.

    That is a function of a carry and matrices.
    """
    if name == "Radau":
        stages = solver.Z.copy()
        return lambda _carry, _matrices: stages
    state = solver.y.copy()
    if name == "BDF":
        return lambda carry, matrices: state - matrices[1] @ (matrices[0] @ carry)
    return state
