"""SciPy's solvers of initial values, called with plain values, and the steps that they take.

odeint does not show its steps.  When derivatives are asked for, LSODA takes others: values are
those of odeint, derivatives those of this solution.  Its tolerances are a hundredth, since
sensitivities take no part in the control of steps, and their errors are up to some twenty times
those of states; so derivatives are as accurate as values.  Of large systems,
for which its equations cost too much, it is one by DOP853 or, where LSODA used its method for stiff
equations, by Radau.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.kernels import kernel
from funcdiff.backend.numbers.unrolling import Unrolled, keeps_bits, unroll
from funcdiff.core.late import computed
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.passes.simplify import simplify
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate.nordsieck import ORDERS, History, history

_ODEINT: Final[dict[str, tuple[str, Any]]] = {
    "rtol": ("rtol", 1.49012e-8), "atol": ("atol", 1.49012e-8), "h0": ("first_step", None),
    "hmax": ("max_step", np.inf), "hmin": ("min_step", 0.0),
}  # fmt: skip
"""Options of odeint, their names for LSODA, and what they are by default."""

_FINER: Final = 1e-2
"""The tolerances of steps that are for derivatives alone, over those of the values."""

_FINEST: Final = 1e-13
"""What they are not less than."""

_BEYOND: Final = 1e-3

FEW: Final = 24
"""Numbers that a state may have whose slopes are computed for all steps at once."""

SEVERAL: Final = 128
"""The same of multistep methods for stiff equations, of which a step has one slope."""


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


class Step(NamedTuple):
    """A step that was taken.

    Attributes
    ----------
    start, end
        The times between which it goes.
    order, behind
        Of a multistep method: with which it was taken, and that of the polynomial behind it.
    near
        The state after it; of Radau what is near the solution of its equations.
    history
        What LSODA knows after it.
    """

    start: float
    end: float
    order: int
    behind: int
    near: Any
    history: History | None


class Solution:
    """What SciPy returned, and the steps by which it is differentiated.

    `result`: what SciPy returned.
    `method`: which takes the steps.
    `take`: returns the steps, when they are needed.
    `is_twin`: whether they are not those that gave the result.
    """

    def __init__(
        self, result: Any, method: str, take: Callable[[], list[Step]], *, is_twin: bool
    ) -> None:
        self.result, self.is_twin = result, is_twin
        self._method, self._take = method, take

    @computed
    def steps(self) -> list[Step]:
        """The steps."""
        return self._take()

    @property
    def method(self) -> str:
        """Which of `steps.METHODS` they are of."""
        if self._method != "LSODA":
            return self._method
        highest = max((s.order for s in self.steps), default=0)
        few = next((n for n in ORDERS if n >= highest), None)
        return "LSODA" if few is None else f"LSODA of order {few}"


def solve(p: Settings, given: Given) -> Solution:
    """Solve a problem for values."""
    options = {k: np.array(v) if isinstance(v, tuple) else v for k, v in p.options}
    rate, y0, times = function_of(p.rate, given.rate), given.y0, given.times
    span = float(given.t0), float(given.t1)
    jac = None if p.jacobian is None else function_of(p.jacobian, given.jacobian)
    steps: list[Step] = []
    if p.method == "odeint":
        result = _odeint(rate, jac, y0, times, options)
        named = {
            ours: options[k] if np.any(options.get(k)) else default  # 0 stands for that
            for k, (ours, default) in _ODEINT.items()
        }
    else:
        events = [_event_of(g, known) for g, known in zip(p.events, given.events, strict=True)]
        result = load("scipy.integrate").solve_ivp(
            rate, span, y0, method=_recording(p.method, steps), t_eval=times,
            dense_output=p.dense, events=events or None, **options,
            **({} if jac is None else {"jac": jac}),
        )  # fmt: skip
        named = {k: options[k] for k in ("rtol", "atol") if k in options}
    method, end, is_twin = p.method, span[1], p.method == "odeint"
    if span[0] == end and method in ("Radau", "BDF", "LSODA", "odeint"):
        # the polynomials of no time know no slopes: a step beyond the end shows how it goes on
        method, end, is_twin = "DOP853", end + _BEYOND * max(1.0, abs(end)), True
    elif method in ("LSODA", "odeint"):
        method = "LSODA"
        is_stiff = _is_stiff(result, steps)
        if y0.size > (SEVERAL if is_stiff else FEW):
            method, is_twin = "Radau" if is_stiff else "DOP853", True
            if result.status == 1:
                last = [t[-1] for t in result.t_events if len(t)]
                end = max(last) if end > span[0] else min(last)
    if not is_twin:
        return Solution(result, method, lambda: steps, is_twin=False)
    finer: dict[str, Any] = {
        k: np.maximum(_FINER * named[k], _FINEST) for k in ("rtol", "atol") if k in named
    }
    named = named | finer if method == "LSODA" else finer
    return Solution(result, method, _step_taker(method, p, given, end, named), is_twin=True)


def _is_stiff(result: Any, steps: Sequence[Step]) -> bool:
    """Return whether LSODA or odeint used the method for stiff equations."""
    if steps:
        return any(step.history.is_stiff for step in steps if step.history)
    used = result.info["mused"]
    return bool(np.any((used == 2) & (np.diff(result.t[: len(used) + 1]) != 0)))


def _step_taker(
    name: str, p: Settings, given: Given, end: float, options: dict[str, Any]
) -> Callable[[], list[Step]]:
    """Return what solves a problem once more, and returns the steps."""

    def take() -> list[Step]:
        steps: list[Step] = []
        rate = function_of(p.rate, given.rate, freely=True)
        solver = _recording(name, steps)(rate, float(given.t0), given.y0, end, **options)
        while solver.status == "running":
            solver.step()
        return steps

    return take


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


def function_of(
    program: Program, captures: Sequence[Any], *, freely: bool = False
) -> Callable[[Any, Any], Any]:
    """Return the function of values that a program ``(*captures, t, y)`` is of.

    Its last bits are those of NumPy, unless they are free.
    """
    execute = _code(program, freely)
    return lambda t, y: execute(*captures, np.float64(t), y)[0]


@memoised
def _code(program: Program, freely: bool) -> Callable[..., list[Any]]:
    """Return what runs a program thousands of times: of few numbers, on Python's floats."""
    program = simplify(program)
    if freely:
        return kernel(program)
    plain = executable(program)
    code = unroll(program) if keeps_bits(program) else None
    return plain if code is None else Unrolled(code, lambda: plain)


def _event_of(event: Event, captures: Sequence[Any]) -> Any:
    g: Any = function_of(event.program, captures)
    g.terminal, g.direction = event.terminal, event.direction
    return g


def _recording(name: str, steps: list[Step]) -> Any:
    """Return SciPy's class of a method, which notes its steps."""
    plain = getattr(load("scipy.integrate"), name)
    knows_order, is_lsoda, is_radau = name == "BDF", name == "LSODA", name == "Radau"

    class Recorded(plain):  # type: ignore[misc, valid-type]
        def step(self) -> Any:
            before = self.order if knows_order else 0
            message = super().step()
            if self.status != "failed":
                after = self.order if knows_order else 0
                known = history(self) if is_lsoda else None
                before = known.order if known else before
                near = np.array(self.Z if is_radau else self.y)
                steps.append(Step(self.t_old, self.t, before, after, near, known))
            return message

    Recorded.__name__ = name
    return Recorded
