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
from funcdiff.core.recording.concrete import key_of
from funcdiff.core.running.evaluate import executable
from funcdiff.core.scope import without_recording
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.user.python_call import Name
from funcdiff.ops.user.replay import Plan, entered
from funcdiff.scipy.integrate import nordsieck
from funcdiff.scipy.integrate.chains import before, chain
from funcdiff.scipy.integrate.closures import rate_of
from funcdiff.scipy.integrate.equations import IN_MEMORY, Equations, is_small, resuming, state_of
from funcdiff.scipy.integrate.known_solutions import implicit
from funcdiff.scipy.integrate.method_steps import METHODS, Multistep, bdf_change
from funcdiff.scipy.integrate.multistep import coefficients
from funcdiff.scipy.integrate.solving import Given, Settings, Solution, Step, solve
from funcdiff.scipy.ways import Closure, closure

_KEPT: Final = 8
"""Solutions that are kept for the derivatives that are asked for next."""


class Layout(NamedTuple):
    """How many steps, times and events of each kind there are, and what ends the last step.

    Attributes
    ----------
    steps, times
        Rounded up, so that a program serves for many numbers of steps: behind the last one stand
        steps of length 0, and the last time again.
    ending
        The terminal event that does, -1 if none.
    reaches_end
        Whether the solution was made to end at t1.
    passes_end
        Whether the last step goes beyond.
    last
        Of a multistep method that took it: the order, of LSODA as `nordsieck.change` wants it.
    method, is_twin
        As in `Solution`.
    """

    steps: int
    times: int
    events: tuple[int, ...]
    ending: int
    reaches_end: bool
    passes_end: bool
    last: tuple[Any, ...]
    method: str
    is_twin: bool


def round_up(count: int) -> int:
    """Return a number that is not less, with four binary digits before the zeros at its end."""
    unit = 1 << max(0, count.bit_length() - 4)
    return -(-count // unit) * unit


def _extend(x: Any, count: int, axis: int = 0) -> Any:
    """Return an array with its last entry along an axis repeated up to a length."""
    widths = [(0, 0)] * x.ndim
    widths[axis] = 0, count - x.shape[axis]
    return np.pad(x, widths, mode="edge")


class Problem:
    """Computes solutions by SciPy, and makes programs of their steps.

    `settings`: what the problem is.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._solved: OrderedDict[Any, Solution] = OrderedDict()
        self._programs: dict[Any, Any] = {}
        self._equations = Equations(settings)

    # ---- values ----------------------------------------------------------------------------------

    def split(self, operands: Sequence[Any]) -> Given:
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
            self._solved[key] = solve(self.settings, self.split(operands))
            while len(self._solved) > _KEPT:
                self._solved.popitem(last=False)
        self._solved.move_to_end(key)
        return self._solved[key]

    def layout(self, operands: Sequence[Any]) -> Layout:
        """Return the shapes of a solution."""
        solution = self.solution(operands)
        result, steps, is_twin = solution.result, solution.steps, solution.is_twin
        events = result.t_events or []
        end = float(operands[self._end])
        passes_end = is_twin and float(operands[self._end - 1]) == end
        reaches_end = passes_end or (bool(steps) and steps[-1].end == end)
        ending = -1
        if result.status == 1:
            direction = np.sign(steps[-1].end - steps[-1].start)
            ending = int(np.argmax([direction * t[-1] if len(t) else -np.inf for t in events]))
        return Layout(
            round_up(len(steps)), self._times(result), tuple(map(len, events)), ending,
            reaches_end, passes_end, _kind(steps[-2:]), solution.method, is_twin,
        )  # fmt: skip

    def _times(self, result: Any) -> int:
        times = len(result.t)
        return times if self.settings.evaluates else round_up(times - 1) + 1

    @property
    def _end(self) -> int:
        return -2 if self.settings.evaluates else -1

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Return times, states, those of the events and counts; polynomials by the program."""
        found = self.solution(operands).result
        state = np.asarray(operands[self._end - 2])
        times = self._times(found)
        y = np.asarray(found.y, state.dtype).reshape(state.size, len(found.t))
        values = [np.asarray(found.t, FLOAT), y]
        values = [_extend(x, times, -1) if times else x for x in values]
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
                    lambda *xs: self._replay(layout, xs[:first], self.split(xs[first:])), *types
                )
        made: Closure = self._programs[key]
        return Plan(made.program, [*made.captures, *fixed])

    def _fixed(self, operands: Sequence[Any]) -> list[Any]:
        """Return nodes, places of times and of events, counts, and what the steps are given."""
        given, solution = self.split(operands), self.solution(operands)
        layout = self.layout(operands)
        found, steps, start = solution.result, solution.steps, float(given.t0)
        ends = np.array([step.end for step in steps])
        forward = not len(ends) or ends[-1] >= start

        def places(times: Any) -> Any:
            sign = 1 if forward else -1
            return np.minimum(np.searchsorted(sign * ends, sign * times), len(ends) - 1)

        shown = np.asarray(found.t, FLOAT)
        shown = _extend(shown, layout.times) if len(shown) else shown
        fixed = [_extend(np.append(0.0, ends - start), layout.steps + 1), np.array(len(steps))]
        fixed.append(np.arange(layout.times) >= len(found.t) - 1)
        fixed += [places(shown)] if self.settings.evaluates or solution.is_twin else []
        fixed += [shown - start] if solution.is_twin and not self.settings.evaluates else []
        for times in found.t_events or ():
            fixed += [places(np.asarray(times, FLOAT)), np.asarray(times, FLOAT)]
        fixed.append(np.array([found.nfev, found.njev, found.nlu, found.status]))
        return [*fixed, *self._equations.step_values(given, solution, layout.steps)]

    def _replay(self, layout: Layout, fixed: Sequence[Any], given: Given) -> list[Any]:
        """Take the steps again; return what `results` returns."""
        rest = iter(fixed)
        nodes, count, is_last = given.t0 + next(rest), next(rest), next(rest)
        if layout.reaches_end and not layout.passes_end:
            nodes = np.where(np.arange(layout.steps + 1) >= count, given.t1, nodes)
        lengths = nodes[1:] - nodes[:-1]
        evaluates = self.settings.evaluates
        places = next(rest) if evaluates or layout.is_twin else None
        shown = next(rest) if layout.is_twin and not evaluates else None
        events = [(next(rest), next(rest)) for _ in self.settings.events]
        counts = next(rest)
        rows = list(rest)
        if layout.last:
            ratio = lengths[count - 1] / lengths[count - 2]
            last = _change(layout.last, ratio, METHODS[layout.method].terms)
            ends_there = np.arange(layout.steps) == count - 1
            rows[-7] = np.where(ends_there[:, None, None], last, rows[-7])
        ys, between = self._states_and_polynomials(layout, nodes, lengths, tuple(rows), given)
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
        if evaluates:
            ends = given.times[: layout.times]
        elif layout.ending >= 0:
            last, state = found[2 * layout.ending][-1], found[2 * layout.ending + 1][-1]
            ends = np.where(is_last, last, ends)
            ys = ys if layout.is_twin else np.where(is_last, state[:, None], ys)
        elif layout.reaches_end:
            ends = np.where(is_last, given.t1, ends)
        if places is not None:
            ys = at(places, ends).T
        dense = [nodes[:-1], lengths, before, between] if self.settings.dense else []
        return [array(x) for x in (ends, ys, *found, *dense, counts)]

    def _states_and_polynomials(
        self, layout: Layout, nodes: Any, lengths: Any, rest: tuple[Any, ...], given: Given
    ) -> tuple[Any, Any]:
        """Return the states at all nodes, and the polynomials between them."""
        method: Any = METHODS[layout.method]()
        f = rate_of(self.settings.rate, given.rate)
        y0, p = given.y0, self.settings
        interpolates = layout.is_twin or p.evaluates or p.dense or p.events
        if not layout.steps:
            return y0[None], None
        known, *own = rest
        first = method.start(f, nodes[0], y0, lengths[0])
        together = is_small(method, layout.steps, y0.type)
        if isinstance(method, Multistep) and together:
            xs = [*given.rate, nodes[1:], *coefficients(lengths, own), first, known]
            tables = self._equations.tables(xs).root(*xs)
            return np.concatenate([y0[None], tables[:, 0]]), own[-1][:, :, None] * tables
        rows = nodes[:-1], lengths, *own
        step = resuming(method, f)
        if together:
            origin = state_of(first)
            ys = chain(lambda *at: state_of(step(*at).carry), origin, rows, known)
            between: Any = ()
            if interpolates:
                between = vmap(lambda *at: step(*at).between)(before(origin, ys), rows)
            return np.concatenate([y0[None], ys]), between

        def body(carry: Any, row: Any) -> Any:
            result = step(carry, row)
            return result.carry, (result.y, result.between if interpolates else ())

        size = layout.steps * max(1, y0.shape[0]) * 16
        (_, (ys, between)) = scan(body, first, rows, checkpoint=size > IN_MEMORY)
        return np.concatenate([y0[None], ys]), between


def _kind(steps: Sequence[Step]) -> tuple[Any, ...]:
    """Return what the change of a table between two steps depends on, if there is one."""
    if len(steps) < 2 or not steps[1].order:
        return ()
    before, after = steps
    if before.history is None:
        return (after.order,)
    return before.history.is_stiff, before.order, after.order


def _change(kind: tuple[Any, ...], ratio: Any, count: int) -> Any:
    """Return that change, for a ratio of their lengths."""
    return bdf_change(*kind, ratio) if len(kind) == 1 else nordsieck.change(kind, ratio, count)


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
