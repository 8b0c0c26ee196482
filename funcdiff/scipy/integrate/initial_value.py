"""Solutions of initial value problems: SciPy's for values, and its steps again for derivatives.

Steps are of the lengths that SciPy accepted, whatever they were accepted for: step-size control is
not differentiated.  Only the last one ends where the problem does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.control.scanning import scan
from funcdiff.core.effects import key_of
from funcdiff.core.evaluate import executable
from funcdiff.core.scope import without_recording
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.user.named_code import Name
from funcdiff.ops.user.replay import Plan, entered
from funcdiff.scipy.integrate.closures import Closure, closure, rate_of
from funcdiff.scipy.integrate.implicit import Stepper, implicit
from funcdiff.scipy.integrate.solving import Given, Settings, Solution, solve
from funcdiff.scipy.integrate.steps import METHODS, Bdf, Row, bdf_change, bdf_matrices

_KEPT: Final = 8
"""Solutions that are kept for the derivatives that are asked for next."""

_IN_MEMORY: Final = 1 << 20
"""Numbers that the stages of all steps may have before they are computed twice instead."""


class Layout(NamedTuple):
    """How many steps, times and events of each kind there are, and what ends the last step.

    Attributes
    ----------
    ending
        The terminal event that does, -1 if none.
    reaches_end
        Whether the solution was made to end at t1.
    passes_end
        Whether the last step goes beyond.
    last_order
        The order of a multistep method that took it, else 0.
    method, is_twin
        As in `Solution`.
    """

    steps: int
    times: int
    events: tuple[int, ...]
    ending: int
    reaches_end: bool
    passes_end: bool
    last_order: int
    method: str
    is_twin: bool


class Problem:
    """Computes solutions by SciPy, and makes programs of their steps.

    Parameters
    ----------
    settings
        What the problem is.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._solved: OrderedDict[Any, Solution] = OrderedDict()
        self._programs: dict[Any, Any] = {}

    # ---- values ----------------------------------------------------------------------------------

    def given(self, operands: Sequence[Any]) -> Given:
        """Take operands apart."""
        rest = iter(operands)

        def several(count: int) -> list[Any]:
            return [next(rest) for _ in range(count)]

        first, second = self.settings.captures
        rate, jacobian = several(first), several(second)
        events = [several(event.captures) for event in self.settings.events]
        y0, t0, t1 = several(3)
        return Given(rate, jacobian, events, y0, t0, t1, next(rest, None))

    def solution(self, operands: Sequence[Any]) -> Solution:
        """Solve the problem for values."""
        key = key_of((), operands)
        if key not in self._solved:
            self._solved[key] = solve(self.settings, self.given(operands))
            while len(self._solved) > _KEPT:
                self._solved.popitem(last=False)
        self._solved.move_to_end(key)
        return self._solved[key]

    def layout(self, operands: Sequence[Any]) -> Layout:
        """Return the shapes of a solution."""
        result, steps, method, is_twin = self.solution(operands)
        events = result.t_events or []
        end = float(operands[self._end])
        passes_end = is_twin and float(operands[self._end - 1]) == end
        reaches_end = passes_end or (bool(steps) and steps[-1][1] == end)
        ending = -1
        if result.status == 1:
            direction = np.sign(steps[-1][1] - steps[-1][0])
            ending = int(np.argmax([direction * t[-1] if len(t) else -np.inf for t in events]))
        return Layout(
            len(steps), len(result.t), tuple(map(len, events)), ending, reaches_end, passes_end,
            steps[-1][2] if steps else 0, method, is_twin,
        )  # fmt: skip

    @property
    def _end(self) -> int:
        return -2 if self.settings.evaluates else -1

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Return times, states, those of the events and counts; polynomials by the program."""
        found = self.solution(operands).result
        state = np.asarray(operands[self._end - 2])
        values = [np.asarray(found.t, FLOAT), np.asarray(found.y, state.dtype)]
        values[1] = values[1].reshape(state.size, len(found.t))
        for t, y in zip(found.t_events or (), found.y_events or (), strict=True):
            values += [
                np.asarray(t, FLOAT),
                np.reshape(y, (len(t), state.size)).astype(state.dtype),
            ]
        if self.settings.dense:
            program, fixed = self.plan(operands)
            values += executable(program)(*fixed, *operands)[len(values) : -1]
        return [*values, np.array([found.nfev, found.njev, found.nlu, found.status])]

    # ---- its steps again -------------------------------------------------------------------------

    def plan(self, operands: Sequence[Any]) -> Plan:
        """Return the program of the steps, and what is fixed in it."""
        layout, fixed = self.layout(operands), self._fixed(operands)
        types = tuple(ArrayType(np.shape(x), np.asarray(x).dtype) for x in (*fixed, *operands))
        key = layout, types
        if key not in self._programs:
            first = len(fixed)
            with without_recording():
                self._programs[key] = closure(
                    lambda *xs: self._replayed(layout, xs[:first], self.given(xs[first:])), *types
                )
        made: Closure = self._programs[key]
        return Plan(made.program, [*made.captures, *fixed])

    def _fixed(self, operands: Sequence[Any]) -> list[Any]:
        """Return, as `_Fixed` has them: nodes, places of times and of events, solutions, counts."""
        given, solution = self.given(operands), self.solution(operands)
        found, steps, start = solution.result, solution.steps, float(given.t0)
        ends = np.array([step[1] for step in steps])
        forward = not len(ends) or ends[-1] >= start

        def places(times: Any) -> Any:
            sign = 1 if forward else -1
            return np.minimum(np.searchsorted(sign * ends, sign * times), len(ends) - 1)

        fixed, shown = [np.append(0.0, ends - start)], np.asarray(found.t, FLOAT)
        fixed += [places(shown)] if self.settings.evaluates or solution.is_twin else []
        fixed += [shown - start] if solution.is_twin and not self.settings.evaluates else []
        for times in found.t_events or ():
            fixed += [places(np.asarray(times, FLOAT)), np.asarray(times, FLOAT)]
        fixed.append(np.array([found.nfev, found.njev, found.nlu, found.status]))
        return [*fixed, *self._equations(given, solution)]

    def _equations(self, given: Given, solution: Solution) -> list[Any]:
        """Return solutions and matrices of the steps of an implicit method, stacked."""
        method: Any = METHODS[solution.method]()
        if not hasattr(method, "residual"):
            return []
        steps = solution.steps
        nodes = np.append(float(given.t0), [step[1] for step in steps])
        lengths, y0 = np.diff(nodes), np.asarray(given.y0)
        matrices: tuple[Any, ...] = ()
        if isinstance(method, Bdf):
            ratios = np.append(1.0, lengths[1:] / lengths[:-1])
            matrices = bdf_matrices([s[2] for s in steps], [s[3] for s in steps], ratios)
        rows = list(zip(nodes[:-1], lengths, *matrices, strict=True))
        found = self._stepper(method, y0, matrices).solutions(
            given.rate, np.float64(given.t0), y0, rows, lambda k, *at: steps[k][4](*at)
        )
        return [np.stack(found), *matrices]

    def _stepper(self, method: Any, y0: Any, matrices: Sequence[Any]) -> Stepper:
        key = type(method), y0.shape, y0.dtype
        if key not in self._programs:
            types = [t.with_dtype(y0.dtype) for t in method.types(y0.size)]
            rest = [ArrayType(x.shape[1:], FLOAT) for x in matrices]
            self._programs[key] = Stepper(method, self.settings.rate, [*types, *rest])
        found_stepper: Stepper = self._programs[key]
        return found_stepper

    def _replayed(self, layout: Layout, fixed: Sequence[Any], given: Given) -> list[Any]:
        """Take the steps again; return what `results` returns."""
        rest = iter(fixed)
        nodes = given.t0 + next(rest)
        if layout.reaches_end and not layout.passes_end:
            nodes = np.concatenate([nodes[:-1], given.t1[None]])
        lengths = nodes[1:] - nodes[:-1]
        evaluates = self.settings.evaluates
        places = next(rest) if evaluates or layout.is_twin else None
        shown = next(rest) if layout.is_twin and not evaluates else None
        events = [(next(rest), next(rest)) for _ in self.settings.events]
        counts = next(rest)
        rows = list(rest)
        if layout.last_order and layout.steps > 1:
            last = bdf_change(layout.last_order, lengths[-1] / lengths[-2])
            rows[1] = np.concatenate([rows[1][:-1], last[None]])
        ys, between = self._stepped(layout, nodes, lengths, tuple(rows), given)
        before = ys[:-1]

        method: Any = METHODS[layout.method]()

        def at(places: Any, times: Any) -> Any:
            """Return states at times, which are rows."""
            h = lengths[places][:, None]
            s = times[:, None] - nodes[places][:, None]
            return method.at(s, h, before[places], between[places])

        found = []
        for event, captures, (where, times) in zip(
            self.settings.events, given.events, events, strict=True
        ):
            g = rate_of(event.program, captures)
            roots = _roots(g, at, where, times) if times.shape[0] else times
            states = at(where, roots) if times.shape[0] else before[:0]
            found += [roots, states]
        ends, ys = nodes if shown is None else given.t0 + shown, ys.T
        if layout.ending >= 0:
            last, state = found[2 * layout.ending][-1:], found[2 * layout.ending + 1][-1]
            ends = np.concatenate([ends[:-1], last])
            ys = np.concatenate([ys[:, :-1], state[:, None]], axis=1)
        elif layout.reaches_end:
            ends = np.concatenate([ends[:-1], given.t1[None]])
        if places is not None:
            ends = given.times[: layout.times] if evaluates else ends
            ys = at(places, ends).T
        dense = [nodes[:-1], lengths, before, between] if self.settings.dense else []
        return [array(x) for x in (ends, ys, *found, *dense, counts)]

    def _stepped(
        self, layout: Layout, nodes: Any, lengths: Any, rest: tuple[Any, ...], given: Given
    ) -> tuple[Any, Any]:
        """Return the states at all nodes, and the polynomials between them."""
        method: Any = METHODS[layout.method]()
        f = rate_of(self.settings.rate, given.rate)
        y0, p = given.y0, self.settings
        interpolates = layout.is_twin or p.evaluates or p.dense or p.events
        if not layout.steps:
            return y0[None], None

        def body(carry: Any, row: Any) -> Any:
            t, h, *given = row
            solution = given[0] if given else ()
            result = method.step(f, carry, Row(t, h, solution, tuple(given[1:])), implicit)
            return result.carry, (result.y, result.between if interpolates else ())

        size = layout.steps * max(1, y0.shape[0]) * 16
        (_, (ys, between)) = scan(
            body, method.start(f, nodes[0], y0, lengths[0]), (nodes[:-1], lengths, *rest),
            checkpoint=size > _IN_MEMORY,
        )  # fmt: skip
        return np.concatenate([y0[None], ys]), between


def _roots(g: Callable[[Any, Any], Any], at: Callable[..., Any], places: Any, times: Any) -> Any:
    """Return the times of events in the steps at these places, by the implicit function theorem."""

    def one(place: Any, time: Any) -> Any:
        return implicit(lambda t: g(t, at(place[None], t[None])[0]), time)

    return vmap(one)(places, times)


_problems: Final[WeakValueDictionary[Settings, Problem]] = WeakValueDictionary()
_entered: Final[WeakValueDictionary[Any, Name[Any]]] = WeakValueDictionary()


def maker_of(settings: Settings, kind: Callable[[Problem], Any]) -> Name[Any]:
    """Return the name of what solves problems with these settings; equal ones share it."""
    key: Any = settings, kind
    found = _entered.get(key)
    if found is None:
        found = _entered[key] = entered.enter("solve_ivp", kind(problem_of(settings)))
    return found


def problem_of(settings: Settings) -> Problem:
    """Return the problem with these settings: equal ones are one."""
    found = _problems.get(settings)
    if found is None:
        found = _problems[settings] = Problem(settings)
    return found


def whole(problem: Problem) -> Problem:
    """Return the problem itself, as what computes all results."""
    return problem
