"""Computes concrete values of traced arrays, when Python code asks for one.

In an eager trace a value may be asked for (``if f(x) > 0``) that the program computes again when
it runs.  Of code with effects, or that takes long, the result of the first call is kept until then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Entry, Literal, Ref
from funcdiff.core.late import late
from funcdiff.core.origins import LocatedEntries, Place
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.entries import Derivation, operands_needed
from funcdiff.core.scope import setting
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, user_location

executable: Final = late("funcdiff.core.running.evaluate", "executable")


class _Call(NamedTuple):
    """Copies of the results, and the builder that asked for them, None if it did not use them."""

    results: list[Any]
    builder: Any


class Calls:
    """Calls that were made during a trace and those within it, whose results wait for their use."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[_Call]] = {}

    def note(self, key: Hashable, results: Sequence[Any], builder: Any) -> None:
        """Keep the results of a call."""
        copies = [np.array(y)[()] for y in results]
        self._waiting.setdefault(key, []).append(_Call(copies, builder))

    def take(self, key: Hashable, builder: Any) -> list[Any] | None:
        """Return results that wait for a builder, or for the program if that is None.

        What a builder has asked for itself, or one beside it, was another call.
        """
        waiting = self._waiting.get(key, [])
        for k, call in enumerate(waiting):
            if builder is None or call.builder is None or _is_within(call.builder, builder):
                del waiting[k]
                return call.results
        return None


class _Use(NamedTuple):
    """Who uses results: a program that runs, with the calls of its trace, or a builder."""

    calls: Calls | None
    builder: Any


_using: Final[ContextVar[_Use | None]] = ContextVar("funcdiff_calls", default=None)


def _is_within(inner: Any, outer: Any) -> bool:
    builder = inner.parent
    while builder is not None and builder is not outer:
        builder = builder.parent
    return builder is outer


def _outermost(builder: Any) -> Any:
    while builder.parent is not None:
        builder = builder.parent
    return builder


def calls_made(builder: Any) -> Calls | None:
    """Return the calls that were made in a trace and those around it, None as long as none was."""
    found: Calls | None = (builder if builder.parent is None else _outermost(builder)).calls
    return found


def calls_of(builder: Any) -> Calls:
    """Return the calls that are made in a trace and those around it."""
    outermost = _outermost(builder)
    if outermost.calls is None:
        outermost.calls = Calls()
    found: Calls = outermost.calls
    return found


def key_of(code: Hashable, operands: Sequence[Any]) -> Hashable:
    """Return what tells calls apart: what is called, and the operands, by bits."""
    arrays = map(np.asarray, operands)
    return code, tuple([(x.shape, x.dtype, x.tobytes()) for x in arrays])


def call_once(
    code: Hashable, operands: Sequence[Any], call: Callable[[], Sequence[Any]]
) -> Sequence[Any]:
    """Return what ``call()`` returns; of a call that was made while tracing, what it returned."""
    use = _using.get()
    if use is None:
        return call()
    builder = use.builder
    calls = calls_of(builder) if use.calls is None else use.calls
    key = key_of(code, operands)
    results: Sequence[Any] | None = calls.take(key, builder)
    if results is None:
        with setting(_using, None):  # the user's code makes calls of its own
            results = call()
    if builder is not None:
        calls.note(key, results, builder)
    return results


def running(calls: Calls) -> AbstractContextManager[None]:
    """Let a program that runs use the results of calls that were made when it was traced."""
    return setting(_using, _Use(calls, None))


def asking(builder: Any) -> AbstractContextManager[None]:
    """Let a builder that evaluates what it has recorded keep the results of calls."""
    return setting(_using, _Use(None, builder))


# ---- values of variables -------------------------------------------------------------------------


_UNKNOWN: Final[Any] = object()
"""Stands for the value of what depends on an input without one."""


class Values:
    """The values of a trace's variables, as far as they have been asked for.

    `name` is what messages call the trace; `entries` is its recording, which grows.
    """

    def __init__(self, name: object, entries: list[Entry]) -> None:
        # By number: a concrete value, a tracer of an enclosing builder, or None.  Captures have
        # values also where the arguments have none.
        self.inputs: MutableMapping[int, Any] = {}
        # By number: values that were known when they were recorded.
        self.results: dict[Ref, Any] = {}
        self._name = name
        self._entries = entries
        self._values: list[Any] = []
        self._constants: dict[Ref, Any] = {}

    @property
    def were_asked(self) -> bool:
        """Whether any value was asked for, or known without."""
        return bool(self._values or self.results)

    def know(self, number: int) -> bool:
        """Whether a variable has been evaluated."""
        return number < len(self._values) and self._values[number] is not _UNKNOWN

    def first(self, count: int) -> list[Any]:
        """Return the values of the first variables, which were asked for: inputs and results."""
        return self._values[:count]

    def of(self, atom: Ref, builder: Recorder) -> Any:
        """Return the concrete value of an atom of a builder, which has these values.

        Raises `ConcreteValueError` if this trace has no values.
        """
        if isinstance(atom, Literal):
            return atom.array
        if atom in self.results:
            return self.results[atom]
        values = self._values
        derivations = {d.start: d for d in builder.derivations}
        for number in range(len(values), atom + 1):
            if number < len(values):  # a further result of the equation before
                continue
            if number in derivations:
                self._compute(derivations[number])
                continue
            op, *refs = self._entries[number]
            if isinstance(op, ArrayType):
                values.append(self._input_value(number))
                continue
            operands = list(map(self._value_of, refs))
            if any(x is _UNKNOWN for x in operands):
                values.extend(_UNKNOWN for _ in op.results)
                continue
            result = _ask(op, operands, builder) if op.calls_user else op.function(*operands)
            if len(op.results) == 1:
                values.append(result)
            else:
                values.extend(result)
        found = values[atom]
        if found is _UNKNOWN:
            raise ConcreteValueError(
                f"{self._name} was asked for a concrete value at {user_location()}, but it is "
                "traced without values (inside cond, scan, jit, or vmap of examples that differ in "
                "it). Write np.where(c, a, b) or fd.cond(c, f, g, x) instead of if, fd.scan or "
                "fd.while_loop instead of while; under jit, name what decides in static_argnames, "
                "or leave jit out."
            )
        return found

    def _compute(self, derivation: Derivation) -> None:
        """Compute the results of a derivative by its program, not by its entries."""
        values = self._values
        for number in range(derivation.start, derivation.stop):
            is_input = self._entries[number] and isinstance(self._entries[number][0], ArrayType)
            values.append(self._input_value(number) if is_input else _UNKNOWN)
        operands = list(map(self._value_of, derivation.operands))
        if not any(x is _UNKNOWN for x in operands):
            found = executable(derivation.program)(*operands)
            for ref, y in zip(derivation.results, found, strict=True):
                if type(ref) is int and ref >= derivation.start:
                    values[ref] = y

    def constant(self, atom: Ref, builder: Recorder) -> Any:
        """Return the value of an atom that is computed from no argument; None of another.

        Only what it is computed from is evaluated.
        """
        if isinstance(atom, Literal):
            return atom.array
        if atom not in self._constants:
            self._constants[atom] = self._constant(atom, builder)
        return self._constants[atom]

    def _constant(self, atom: int, builder: Recorder) -> Any:
        values: dict[Ref, Any] = {}
        numbers = operands_needed(self._entries, atom, lambda _: False)
        for number in numbers:
            if isinstance(self._entries[number][0], ArrayType):
                value = builder.capture_of(number)
                if isinstance(value, Tracer):
                    value = value.builder and value.builder.constant(value.atom)
                if value is None:
                    return None
                values[number] = value
        for number in numbers:
            op, *refs = self._entries[number]
            if number not in values:
                xs = [ref.array if isinstance(ref, Literal) else values[ref] for ref in refs]
                found = _ask(op, xs, builder) if op.calls_user else op.function(*xs)
                values.update(enumerate([found] if len(op.results) == 1 else found, number))
        return values[atom]

    def first_failure(self, builder: Recorder) -> Place | None:
        """Evaluate what has been recorded; return the place of the first equation that raises."""
        assert isinstance(self._entries, LocatedEntries)
        for number, origin in enumerate(self._entries.origins):
            try:
                self.of(number, builder)
            except Exception:
                return origin.place
        return None

    def _value_of(self, atom: Ref) -> Any:
        return atom.array if isinstance(atom, Literal) else self._values[atom]

    def _input_value(self, number: int) -> Any:
        value = self.inputs[number]
        if isinstance(value, Tracer):
            if isinstance(value.atom, Literal):
                return value.atom.array
            assert value.builder is not None
            try:
                return value.builder.value(value.atom)
            except ConcreteValueError:
                return _UNKNOWN
        return _UNKNOWN if value is None else value


def _ask(op: Operation, operands: Sequence[Any], builder: Recorder) -> Any:
    """Return a value of the user's code, which is not called again when the program runs."""
    with asking(builder):
        return op.function(*operands)
