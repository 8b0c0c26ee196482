"""Compiled functions that branch: a program for each way that Python takes, found by its outcomes.

A function under `jit` is traced with the values of its arguments at hand.  What Python decides by
them, in an ``if``, a ``while`` or an index, is noted, and the program is guarded by it: where an
outcome is another one, the run goes on with the program of a call that went there before.  If
there was none, the function is traced again.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from funcdiff.api.calls.arguments import operand
from funcdiff.api.calls.tracing import Trace, copy_arrays, run
from funcdiff.api.compiling.straight import rebuild_results
from funcdiff.backend.branches import Leaf, Runner, Tree
from funcdiff.backend.checking import is_asked_for
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.builder import Builder
from funcdiff.core.decisions import Decisions
from funcdiff.core.evaluate import has_effects
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.recording import first_result, program_of
from funcdiff.core.types import ArrayType
from funcdiff.errors import (
    InternalError,
    RecompilationWarning,
    user_location,
    went_through_users_code,
)
from funcdiff.passes.simplify import simplify

MOST_LEAVES: Final = 32
"""Ways through a function from which on it is run as it is."""

_FEW: Final = 8
"""Ways from which on loops are looked for, which need one way for any number of iterations."""

_WINDOW: Final = 128
"""Calls of which at most a tenth may take a new way."""


def program_of_trace(trace: Trace) -> Program:
    """Return the program of a trace; what it decided by is among its outputs, and comes last."""
    entries, outputs, origins = trace.recording
    return simplify(program_of(entries, (*outputs, *(d.atom for d in trace.decisions)), origins))


def guarded_program(trace: Trace) -> Program:
    """Return the program of a trace, with a guard for each thing that it decided by."""
    tree = Tree([_Way(trace, program_of_trace(trace)).leaf])
    return tree.root.program(tree.arguments)


class Rolling(Protocol):
    """The decisions of a trace in which iterations become loops."""

    is_doubtful: bool  # whether the trace holds for no other call
    is_contradicted: bool  # whether the function has state that a loop cannot see

    def __call__(self, builder: Builder, operands: Sequence[Any], /) -> Decisions: ...  # noqa: D102


class _Way(NamedTuple):
    """A trace with its program, and whether iterations may be loops in it."""

    trace: Trace
    program: Program
    is_rolled: bool = False

    @property
    def leaf(self) -> Leaf:
        """What the tree knows of it."""
        outcomes = tuple([d.outcome for d in self.trace.decisions])
        return Leaf(self.program, outcomes, tuple(self.trace.captures))

    def common(self, other: _Way) -> int:
        """Return how many of the first outcomes are those of another way."""
        pairs = zip(self.trace.decisions, other.trace.decisions, strict=False)
        count = 0
        for mine, its in pairs:
            if mine.outcome != its.outcome:
                break
            count += 1
        return count

    def begins_as(self, other: _Way, count: int) -> bool:
        """Whether both traces are the same until they have decided so often."""
        first, second = self.trace.decisions[:count], other.trace.decisions[:count]
        if self.is_rolled:  # which record more than is needed, and decide when everything is known
            same = _Sameness(self.trace, other.trace)
            return len(first) == len(second) and all(
                same.of(a.atom, b.atom) for a, b in zip(first, second, strict=True)
            )
        if [d.atom for d in first] != [d.atom for d in second]:
            return False
        end = max((d.atom for d in first if isinstance(d.atom, int)), default=-1) + 1
        return self.trace.recording[0][:end] == other.trace.recording[0][:end]


class _Sameness:
    """Compares values of two traces of a function by what they are computed from."""

    def __init__(self, first: Trace, second: Trace) -> None:
        self._traces = first, second
        self._inputs = [
            [
                k
                for k, entry in enumerate(t.recording[0])
                if entry and isinstance(entry[0], ArrayType)
            ]
            for t in self._traces
        ]
        self._found: dict[tuple[Ref, Ref], bool] = {}

    def of(self, a: Ref, b: Ref) -> bool:
        """Whether two values are the same."""
        pending = [(a, b)]
        while pending:
            pair = pending.pop()
            if pair in self._found:
                continue
            further = self._operands(*pair)
            if further is None:
                return False
            self._found[pair] = True
            pending += further
        return True

    def _operands(self, a: Ref, b: Ref) -> list[tuple[Ref, Ref]] | None:
        """Return the pairs that must be the same, too; None if two values are not."""
        if isinstance(a, Literal) or isinstance(b, Literal):
            return [] if a == b else None
        ours, its = (t.recording[0] for t in self._traces)
        first, second = first_result(ours, a), first_result(its, b)
        (op, *xs), (other, *ys) = ours[first], its[second]
        if op != other or a - first != b - second or len(xs) != len(ys):
            return None
        if isinstance(op, Operation):
            return list(zip(xs, ys, strict=True))
        places = [inputs.index(x) for inputs, x in zip(self._inputs, (a, b), strict=True)]
        captured = [
            place - len(inputs) + len(t.captures)
            for place, inputs, t in zip(places, self._inputs, self._traces, strict=True)
        ]
        if min(captured) < 0:
            return [] if places[0] == places[1] else None
        x, y = (t.captures[k] for t, k in zip(self._traces, captured, strict=True))
        return [] if np.asarray(x).tobytes() == np.asarray(y).tobytes() else None


class Guarded:
    """The programs of a function for one kind of arguments, in a tree of guards.

    `rolling` makes loops of iterations, given the loops that are known; with `native`, elementwise
    operations become machine code.
    """

    def __init__(
        self, name: object, rolling: Callable[[dict[Any, Any]], Rolling], *, native: bool
    ) -> None:
        self._name, self._native = name, native
        self._rolling = rolling
        self._loops: dict[Any, Any] | None = None
        self._looks = True
        self._iterations: dict[Any, Any] = {}
        self._known: tuple[tuple[_Way, ...], Runner | None] = ((), None)
        self._window = _Window(0, 0)
        self.hits = 0  # calls that found their program
        self.misses: Counter[str] = Counter()  # by place: how often the outcome there was a new one
        self.is_eager = False  # run without `jit`, after too many new outcomes

    @property
    def leaves(self) -> int:
        """How many ways are known."""
        return len(self._known[0])

    def __call__(
        self,
        operands: Sequence[Any],
        trace: Callable[[Rolling | None], Trace],
        plain: Callable[[], Any],
    ) -> Any:
        """Run the program of these operands, or trace a new one with loops as `Rolling` decides.

        `plain` calls the function without a trace.
        """
        if self.is_eager:
            return plain()
        ways, runner = self._known
        try:
            arrival = None if runner is None else runner(operands)
        except InternalError:
            raise
        except Exception as error:
            if went_through_users_code(error):  # in a signal handler, say
                raise
            arrival = None  # it raises again below, and says where
        if arrival is not None:
            self.hits += 1
            return rebuild_results(ways[arrival.leaf].trace, arrival.results)
        failure: Exception | None = None
        if self._loops is not None:
            try:
                return self._enter_rolled(operands, trace, self._rolling(self._loops))
            except Exception as error:  # mostly the function's own, which it raises again below
                self._loops, self._looks, self._known = None, False, ((), None)
                failure = error
        try:
            found = trace(None)
        except Exception:
            self._count_miss("a call that raises an error")
            raise
        returned = self.enter(found, operands)
        if failure is not None and is_asked_for():  # no error but that of rolling
            raise failure
        return returned

    def enter(self, trace: Trace, operands: Sequence[Any]) -> Any:
        """Return what the function does on a way that was just traced, and keep that."""
        way = _Way(trace._replace(captures=copy_arrays(trace.captures)), program_of_trace(trace))
        returned = self._run(trace, way.program, operands)
        self._keep(way)
        if self._looks and len(self._known[0]) >= _FEW:
            self._loops = {}
        return rebuild_results(trace, returned[: len(trace.outputs)])

    def _run(self, trace: Trace, program: Program, operands: Sequence[Any]) -> list[Any]:
        return run(program, [*map(operand, operands), *trace.captures], trace, derived=False)

    def _enter_rolled(
        self, operands: Sequence[Any], record: Callable[[Rolling | None], Trace], rolling: Rolling
    ) -> Any:
        """Return what the function does on a way that may have loops, and keep that."""
        trace = record(rolling)
        if rolling.is_contradicted:
            self._loops, self._looks, self._known = None, False, ((), None)
            return self.enter(record(None), operands)
        way = _Way(trace._replace(captures=copy_arrays(trace.captures)), program_of_trace(trace))
        returned = self._run(trace, way.program, operands)
        count = len(trace.outputs)
        holds = [int(x) for x in returned[count:]] == [d.outcome for d in trace.decisions]
        if rolling.is_doubtful or not holds:
            self._count_miss(trace.decisions[-1].place)
            if not holds:  # this call goes on otherwise than the loops that were known
                trace = record(None)
                returned = self._run(trace, program_of_trace(trace), operands)
            return rebuild_results(trace, returned[: len(trace.outputs)])
        iterations = {key: tuple(paths) for key, paths in (self._loops or {}).items()}
        if not iterations:
            self._loops, self._looks = None, False  # there are none to be found
        elif iterations != self._iterations:  # begin anew
            self._iterations, self._known = iterations, ((), None)
        self._keep(way._replace(is_rolled=bool(iterations)))
        return rebuild_results(trace, returned[:count])

    def _keep(self, way: _Way) -> None:
        """Graft a way that is new, unless it is one too many."""
        ways, runner = self._known
        nearest, count = None, 0
        for other in ways:
            if nearest is None or way.common(other) > count:
                nearest, count = other, way.common(other)
        places = [d.place for d in way.trace.decisions[count:]]
        self._count_miss(places[0] if places else "a way that was known")
        if nearest is not None and not places:
            return  # another thread was there first, or a comparison turned on the last bit
        if nearest is not None and not way.begins_as(nearest, count + 1):
            ways, runner = (), None  # what the function closes over is not what it was
        if has_effects(way.program.equations):
            self._give_up("it calls code whose effects must happen once, and branches by values")
        elif len(ways) >= MOST_LEAVES:
            self._give_up(f"it took more than {len(ways)} ways through what it decides by values")
        elif not self.is_eager:
            leaves = [*(runner.leaves if runner else ()), way.leaf]
            grown = Runner(leaves, native=self._native)
            self._known = (*ways, way), grown

    def _count_miss(self, place: str) -> None:
        self.misses[place] += 1
        calls, missed = self.hits + self.misses.total(), self.misses.total()
        if calls - self._window.calls < _WINDOW:
            return
        recent = missed - self._window.missed
        if self._window.calls and recent > (calls - self._window.calls) // 10:
            self._give_up(f"{recent} of {calls - self._window.calls} calls took a new way")
        self._window = _Window(calls, missed)

    def _give_up(self, reason: str) -> None:
        self.is_eager = True
        self._known = (), None
        place, _ = self.misses.most_common(1)[0]
        warnings.warn(
            f"{self._name} is no longer compiled for this kind of arguments, at "
            f"{user_location()}: {reason}, most often at {place}. It runs as it does without "
            "jit. Write np.where, fd.cond or fd.while_loop for what depends on values there, or "
            "leave jit out.",
            RecompilationWarning,
            stacklevel=2,
        )


class _Window(NamedTuple):
    """How many calls, and misses among them, there were when a window began."""

    calls: int
    missed: int
