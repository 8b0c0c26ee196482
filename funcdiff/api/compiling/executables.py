"""Executables of compiled functions: one program, or one for each way that Python takes.

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

from funcdiff.api.calls.inputs import operand
from funcdiff.api.calls.tracing import Trace, copy_arrays, run
from funcdiff.backend.branches import Leaf, Numbering, Runner, Tree, Value
from funcdiff.backend.checking import is_asked_for
from funcdiff.backend.code.lower import hoist_constants
from funcdiff.backend.kernels import fastest, owns_results, prepare
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.entries import program_of
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.decisions import Decisions
from funcdiff.core.running.evaluate import copy_aliased, has_effects, is_repeatable
from funcdiff.core.tracer import Tracer
from funcdiff.errors import (
    InternalError,
    RecompilationWarning,
    user_location,
    went_through_users_code,
)
from funcdiff.passes.simplify import simplify
from funcdiff.pytree.structure import assembler

# ---- functions that do not branch: one program, whose constants are computed once ----------------


class Hits:
    """How many calls found a program, and at how many it is asked again what runs it fastest."""

    __slots__ = ("asked", "count")

    def __init__(self, asked: float) -> None:
        self.count, self.asked = 0, asked


class Straight(NamedTuple):
    """A program with the trace that it comes from, and what runs it if it is kept."""

    program: Program
    trace: Trace
    hits: Hits
    execute: Callable[..., list[Any]] | None = None

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Return results that share no memory with anything."""
        if self.execute is None or any(isinstance(x, Tracer) for x in operands):
            return run(self.program, operands, self.trace, derived=False)
        try:
            results = quiet(self.execute, *operands)
        except InternalError:
            raise
        except Exception as error:
            self.refuse_to_repeat(error)
        else:
            return copy_aliased(results, operands)
        return run(
            self.program, operands, self.trace, derived=False
        )  # which raises again, and says where

    def refuse_to_repeat(self, error: Exception) -> None:
        """Raise the error of a run that had effects, which must not happen again.

        So does one that a signal handler of the user's raised, as for a time limit.
        """
        if not is_repeatable(self.program.equations):
            error.add_note(f"funcdiff: in a compiled program that was run at {user_location()}")
            raise error
        if went_through_users_code(error):
            raise error


def shortcut(
    found: Straight,
    execute: Callable[..., list[Any]],
    ask: Callable[[], Straight],
    *,
    converts: bool,
) -> Callable[..., Any]:
    """Return what runs a compiled program on plain numbers, and does no more than it has to."""
    program, trace, hits, _ = found
    captures = trace.captures
    is_array = trace.is_array
    assemble = assembler(trace.structure) if all(trace.numeric) else None
    owns = isinstance(execute, Attempt) or owns_results(program)
    floats = execute if isinstance(execute, Attempt) and not execute.warns else None

    def call(args: Sequence[Any], *_: Any) -> Any:
        hits.count += 1
        results = None
        try:
            if hits.count >= hits.asked:
                results = ask()([*map(operand, args), *captures])
            elif floats is not None:  # which it takes, and nothing warns
                results = floats.quick(*args, *captures)
            elif owns:
                if converts:
                    args = [*map(operand, args)]
                results = quiet(execute, *args, *captures)
            else:
                results = found([*map(operand, args), *captures])
        except Exception as error:
            found.refuse_to_repeat(error)
        if results is None:
            results = found([*map(operand, args), *captures])  # which raises again, and says where
        if is_array:
            return results[0]
        if assemble is not None:
            return assemble(results)
        return trace.rebuild(results)

    return call


# ---- Constant folding: computes once, for a compiled function, terms in captured arrays alone ----


_FEWEST: Final = 1024
"""Elements that are computed, from which on this is worth it."""

_CALL: Final = 64
"""Elements that take as long as a call."""


class Folded(NamedTuple):
    """What is left of a program whose last inputs have their values for good."""

    program: Program
    bound: list[Any]  # the values of its last inputs


def fold(program: Program, captures: Sequence[Any]) -> Folded | None:
    """Compute once what follows from the captures alone, the last inputs; None if of no use."""
    if not captures:
        return None
    ready = prepare(program)
    rest, bound = hoist_constants(ready, captures)
    work = _CALL * (len(ready.equations) - len(rest.equations))
    for k, x in enumerate(bound):
        if all(x is not other for other in captures):
            work += np.size(x)
            bound[k] = np.asarray(x, order="C") if isinstance(x, np.ndarray) else x
    return Folded(rest, bound) if work >= _FEWEST else None


def fastest_with(
    program: Program, first: int, captures: Sequence[Any]
) -> Callable[[float], Callable[..., list[Any]]]:
    """Return what, by the number of calls, finds what runs a program fastest.

    Its inputs from `first` on have these values for good; they are given all the same.
    """
    folded = fold(program, captures)

    def by_calls(calls: float) -> Callable[..., list[Any]]:
        if folded is None:
            return fastest(program, calls=calls)
        execute, bound = fastest(folded.program, calls=calls), folded.bound
        return lambda *operands: execute(*operands[:first], *bound)

    return by_calls


# ---- functions that branch: a program for each way, found by its outcomes ------------------------


MOST_LEAVES: Final = 32
"""Ways through a function from which on it is run as it is."""

_FEW: Final = 8
"""Ways from which on loops are looked for, which need one way for any number of iterations."""

_LONG: Final = 64
"""Decisions of one way from which on they are looked for at once: so many are those of a loop."""

_WINDOW: Final = 128
"""Calls of which at most a tenth may take a new way."""


def program_of_trace(trace: Trace) -> Program:
    """Return the program of a trace; what it decided by is among its outputs, and comes last."""
    entries, outputs, origins, _ = trace.recording
    return simplify(program_of(entries, (*outputs, *(d.atom for d in trace.decisions)), origins))


def program_with_guards(trace: Trace) -> Program:
    """Return the program of a trace, with a guard for each thing that it decided by."""
    tree = Tree([_Way(trace, program_of_trace(trace)).leaf])
    return tree.root.program(tree.arguments)


class Rolling(Protocol):
    """The decisions of a trace in which iterations become loops."""

    is_doubtful: bool  # whether the trace holds for no other call
    is_contradicted: bool  # whether the function has state that a loop cannot see

    def __call__(self, builder: Builder, operands: Sequence[Any], /) -> Decisions: ...  # noqa: D102


class _Way(NamedTuple):
    """A trace with its program."""

    trace: Trace
    program: Program

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
        """Whether both traces decide by the same values until they have decided so often."""
        numbering = Numbering(self.program.input_types[: -len(self.trace.captures) or None])
        mine, its = (way._first_decisions(numbering, count) for way in (self, other))
        return mine == its

    def _first_decisions(self, numbering: Numbering, count: int) -> list[Value]:
        """Return the numbers of the first values that it decided by."""
        atoms = tuple([d.atom for d in self.trace.decisions[:count]])
        program = program_of(self.trace.recording[0], atoms)
        return numbering.add(program, self.trace.captures).outputs


class Guarded:
    """The programs of a function for one kind of arguments, in a tree of guards.

    `rolling` makes loops of iterations, given the loops that are known; `calls` says how often the
    function is expected to be called.
    """

    def __init__(
        self,
        name: object,
        rolling: Callable[[dict[Any, Any]], Rolling],
        *,
        calls: float,
        by_layout: bool,
    ) -> None:
        self._name, self._calls, self._by_layout = name, calls, by_layout
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
            return ways[arrival.leaf].trace.rebuild(arrival.results)
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

    def look_for_loops(self, trace: Trace) -> bool:
        """Begin to look for loops if a way is long; return whether it is to be traced for them."""
        if self._looks and self._loops is None and len(trace.decisions) >= _LONG:
            self._loops = {}
        return self._loops is not None

    def enter(self, trace: Trace, operands: Sequence[Any]) -> Any:
        """Return what the function does on a way that was just traced, and keep that."""
        way = _Way(trace._replace(captures=copy_arrays(trace.captures)), program_of_trace(trace))
        returned = self._run(trace, way.program, operands)
        self._keep(way)
        if self._looks and len(self._known[0]) >= _FEW:
            self._loops = {}
        return trace.rebuild(returned[: len(trace.outputs)])

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
            return trace.rebuild(returned[: len(trace.outputs)])
        iterations = {key: tuple(paths) for key, paths in (self._loops or {}).items()}
        if iterations != self._iterations:  # begin anew
            self._iterations, self._known = iterations, ((), None)
        self._keep(way)
        return trace.rebuild(returned[:count])

    def _keep(self, way: _Way) -> None:
        """Graft a way that is new, unless it is one too many, or one of other arguments, too."""
        if way.trace.by_layout and not self._by_layout:
            return
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
            grown = Runner(leaves, calls=self._calls)
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
