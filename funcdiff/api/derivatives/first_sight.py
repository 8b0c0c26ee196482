"""Differentiates new recordings on a tape, without deriving a program.

A program costs as much to derive as some twenty runs of a tape: one that comes back often enough
is derived, and is faster from then on.  The results are the same, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.api.calls.inputs import as_tracers, type_of
from funcdiff.api.calls.tracing import Trace, copy_arrays, run, split_residuals
from funcdiff.api.derivatives.programs import (
    LinearPrograms,
    gradient_alone,
    gradient_program,
    image_program,
    jvp_program,
    linearize_programs,
    vjp_programs,
)
from funcdiff.backend import checking
from funcdiff.backend.tape.on_values import ON_VALUES, Arithmetic
from funcdiff.backend.tape.steps import NeedsProgramError
from funcdiff.backend.tape.tape import Tape, attempt, check_finite, comes_back
from funcdiff.backend.tape.traced import TRACED, goes_by_tape
from funcdiff.core.late import computed
from funcdiff.core.origins import reader
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.entries import Derivation
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.evaluate import copy_aliased
from funcdiff.core.running.memo import Memoised
from funcdiff.core.tracer import any_traced
from funcdiff.core.types import ArrayType
from funcdiff.errors import FuncdiffError
from funcdiff.numpy.memory import views
from funcdiff.passes.recorded import is_loop, recorded

MOST_VECTORS: Final = 32
"""A linear map is applied to so many vectors by a tape, and to others by its program."""


def gradient(
    trace: Trace,
    count: int,
    operands: Sequence[Any],
    *,
    holomorphic: bool,
    wants_value: bool,
    elementwise: bool,
) -> list[Any] | None:
    """Return what `gradient_program` computes of the values of all inputs.

    None if the program is to be derived: here, and of the functions below.
    """
    kind = {"holomorphic": holomorphic, "wants_value": wants_value, "elementwise": elementwise}
    if not trace.is_alone:
        return None
    type_ = trace.outputs[0].type
    if (type_.shape and not elementwise) or type_.dtype.kind != ("c" if holomorphic else "f"):
        return None

    def by_tape(arithmetic: Arithmetic, xs: Sequence[Any]) -> list[Any]:
        tape = Tape(trace.recording, count, xs, arithmetic)
        cts = tape.pull([arithmetic.full(1, type_)])
        if not holomorphic:
            cts = list(map(_conjugate, cts))
        return [
            *fill_zeros(cts, tape.input_types[:count], arithmetic),
            *(tape.outputs if wants_value else tape.outputs[1:]),
        ]

    of = trace.recording, count, tuple(kind.items())
    if any_traced(operands):
        return record_by_tape(trace, operands, by_tape, gradient_alone, of)
    if not is_new(gradient_program, trace, operands, count, **kind):
        return None
    return verify_results(
        attempt(_finite, by_tape, operands, slice(count)),
        lambda: (gradient_alone(*of), ()),
        operands,
    )


ByTape: TypeAlias = Callable[[Arithmetic, Sequence[Any]], list[Any]]
"""What a tape computes of operands with an arithmetic."""


def _finite(by_tape: ByTape, operands: Sequence[Any], derivatives: slice) -> list[Any]:
    """Return what a tape computes of values; derivatives are finite, or the program decides."""
    results = by_tape(ON_VALUES, operands)
    check_finite(results[derivatives])
    return results


def record_by_tape(
    trace: Trace,
    operands: Sequence[Any],
    by_tape: ByTape,
    derive: Callable[..., Program],
    of: tuple[Hashable, ...],
) -> list[Any] | None:
    """Record what a tape computes where a tape will differentiate it: once, that is less work.

    `derive(*of)` is the program of the same results, which counts in all other respects.  None if
    it has to be used here as well: of a long loop it takes less time to find than all turns do.
    """
    builder = current_builder()
    if builder is None or not builder.policy.is_of_tape or reader.get() is not None:
        return None
    if trace.calls or not goes_by_tape(trace.recording[0]) or is_loop(trace.recording):
        return None
    xs = as_tracers(operands)
    refs = tuple(map(builder.ref, xs))
    start = len(builder.entries)
    try:
        results = quiet(by_tape, TRACED, xs)
    except (NeedsProgramError, FuncdiffError):  # which the program raises, too
        return None
    made, stop = tuple(map(builder.ref, results)), len(builder.entries)
    if stop > start:
        builder.derivations.append(Derivation(start, stop, refs, made, derive, of))
    return list(map(views.fresh, results))


class _Derived(NamedTuple):
    """Programs, outputs and residuals; these do not change if outputs do."""

    programs: LinearPrograms
    outputs: list[Any]
    residuals: list[Any]


class _Kind(NamedTuple):
    """A linear map between vectors of the inputs and of the results."""

    programs: Memoised[..., LinearPrograms]
    # From a tape and a vector to its image, None for a zero.
    by_tape: Callable[[Tape, Sequence[Any]], list[Any]]


def _pull(tape: Tape, cts: Sequence[Any]) -> list[Any]:
    return list(map(_conjugate, tape.pull(list(map(_conjugate, cts)))))


PULLBACK: Final = _Kind(vjp_programs, _pull)
PUSHFORWARD: Final = _Kind(linearize_programs, Tape.push)


class LinearMap:
    """The outputs of a trace, and its derivative by the first `count` inputs at a point.

    `kind` is `PULLBACK` of the results, or `PUSHFORWARD` to them; `operands` are all inputs,
    and `outputs` has the auxiliary ones, too.
    """

    def __init__(self, kind: _Kind, trace: Trace, count: int, operands: Sequence[Any]) -> None:
        self._kind, self._trace, self._operands = kind, trace, operands
        self._size = (count, sum(trace.numeric))
        types = [type_of(x) for x in operands[:count]]
        self._types = types if kind is PULLBACK else [y.type for y in trace.outputs]
        self._tape: Tape | None = None
        self._recorded: tuple[Builder | None, Tape] | None = None  # in which trace, and what
        self._calls = 0
        self._evaluated = {"evaluated": len(trace.first_values)} if trace.first_values else {}
        derived = kind.programs.peek(trace.recording, *self._size, **self._evaluated)
        self._is_new = derived is None  # so that a tape computes or records it
        if self._is_new and any_traced(operands):
            self._operands = copy_arrays(operands)
            primal = lambda *given: self._tape_within(*given).outputs  # noqa: E731
            outputs = record_by_tape(trace, self._operands, primal, recorded, (trace.recording,))
            if outputs is not None:
                self._evaluated, self.outputs = {}, outputs
                return
        elif self._is_new and is_new(kind.programs, trace, operands, *self._size):
            self._operands = copy_arrays(operands)
            self._tape = attempt(Tape, trace.recording, count, self._operands)
        if self._tape is None:
            self._is_new, self.outputs = False, self._programs.outputs
            return
        self._evaluated = {}  # they may be views of what has changed when programs are asked for
        self.outputs = copy_aliased(list(self._tape.outputs), self._tape.values)
        if checking.is_asked_for():
            programs, _, residuals = self._programs
            found = [*self.outputs, *residuals]
            checking.compare(programs.primal, found, self._operands, exact=False)

    def __call__(self, vectors: Sequence[Any]) -> list[Any]:
        """Return the image of cotangents of all results, or of tangents of the inputs."""
        found, self._calls = None, self._calls + 1
        if self._is_new and self._calls <= MOST_VECTORS:
            if any_traced([*self._operands, *vectors]):
                found = self._record(vectors)
                if found is not None:
                    return found
            elif self._tape is not None:
                found = attempt(self._by_tape, self._tape, vectors)
        if found is not None and not checking.is_asked_for():
            return found
        (_, program, _), _, residuals = self._programs
        if found is None:
            return run(program, [*residuals, *vectors], self._trace)
        checking.compare(program, found, [*residuals, *vectors], exact=False)
        return found

    def _tape_within(self, arithmetic: Arithmetic, xs: Sequence[Any]) -> Tape:
        """Return the tape in this trace, which records once what the outputs are computed from."""
        builder = current_builder()
        if self._recorded is None or self._recorded[0] is not builder:
            tape = Tape(self._trace.recording, self._size[0], xs[: len(self._operands)], arithmetic)
            self._recorded = builder, tape
        return self._recorded[1]

    def _record(self, vectors: Sequence[Any]) -> list[Any] | None:
        """Record the image; None if the programs are to be run."""

        def by_tape(arithmetic: Arithmetic, xs: Sequence[Any]) -> list[Any]:
            tape = self._tape_within(arithmetic, xs)
            found = self._kind.by_tape(tape, xs[len(self._operands) :])[: len(self._types)]
            return fill_zeros(found, self._types[: len(found)], arithmetic)

        of = self._trace.recording, *self._size, self._kind.programs
        return record_by_tape(self._trace, [*self._operands, *vectors], by_tape, image_program, of)

    def __reduce__(self) -> tuple[Any, ...]:
        programs, _, residuals = self._programs
        return Applied, (programs.linear, residuals)

    def _by_tape(self, tape: Tape, vectors: Sequence[Any]) -> list[Any]:
        found = self._kind.by_tape(tape, vectors)
        found = found[: len(found) if self._kind is PULLBACK else self._size[1]]
        check_finite(found)
        completed = fill_zeros(found, self._types[: len(found)])
        return copy_aliased(completed, [*vectors, *tape.values])

    @computed
    def _programs(self) -> _Derived:
        """The programs, and what the first of them computes."""
        programs = self._kind.programs(self._trace.recording, *self._size, **self._evaluated)
        known = [self._trace.first_values[k] for k in programs.known] if self._evaluated else []
        results = run(programs.primal, [*self._operands, *known], self._trace)
        outputs, residuals = split_residuals(results, self._trace)
        return _Derived(programs, outputs, residuals)


class Applied:
    """A program with values of its first inputs."""

    def __init__(self, program: Program, first: Sequence[Any], trace: Trace | None = None) -> None:
        self._program, self._first, self._trace = program, first, trace

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Run it."""
        return run(self._program, [*self._first, *operands], self._trace)

    def __reduce__(self) -> tuple[Any, ...]:
        return Applied, (self._program, self._first)  # lines are where the trace was


def pushforward(
    trace: Trace, operands: Sequence[Any], tangents: Sequence[Any], results: int
) -> list[Any] | None:
    """Return what `jvp_program` computes: all outputs, and the tangents of the first ones."""
    count, given = len(tangents), [*operands, *tangents]

    def by_tape(arithmetic: Arithmetic, xs: Sequence[Any]) -> list[Any]:
        tape = Tape(trace.recording, count, xs[: len(operands)], arithmetic)
        pushed = tape.push(xs[len(operands) :])[:results]
        types = [y.type for y in trace.outputs[:results]]
        return [*tape.outputs, *fill_zeros(pushed, types, arithmetic)]

    of = trace.recording, count, results
    if any_traced(given):
        return record_by_tape(trace, given, by_tape, jvp_program, of)
    if not is_new(jvp_program, trace, given, count, results):
        return None
    tangents_of = slice(len(trace.recording[1]), None)
    return verify_results(
        attempt(_finite, by_tape, given, tangents_of), lambda: (jvp_program(*of), ()), given
    )


def is_new(
    programs: Memoised[..., Any], trace: Trace, operands: Sequence[Any], *args: Any, **kwargs: Any
) -> bool:
    """Whether a trace has values, and came too seldom for programs that nobody reads."""
    if trace.calls or trace.recording[2] or any_traced(operands):
        return False
    return not comes_back(trace.recording, programs, args, tuple(kwargs.values()))


def verify_results(
    results: list[Any] | None,
    program: Callable[[], tuple[Program | None, Sequence[Any]]],
    operands: Sequence[Any],
) -> list[Any] | None:
    """Return results that share no memory, compared with those of the program if that is asked.

    The program comes with its constants, which follow the operands.
    """
    if results is None:
        return None
    if checking.is_asked_for():
        derived, constants = program()
        assert derived is not None
        checking.compare(derived, results, [*operands, *constants], exact=False)
    return copy_aliased(results, operands)


def fill_zeros(
    xs: Sequence[Any], types: Sequence[ArrayType], arithmetic: Arithmetic = ON_VALUES
) -> list[Any]:
    """Return tangents or cotangents with zeros in the place of None."""
    pairs = zip(xs, types, strict=True)
    return [arithmetic.full(0, t) if x is None else x for x, t in pairs]


def _conjugate(x: Any) -> Any:
    return x.conj() if x is not None and x.dtype.kind == "c" else x
