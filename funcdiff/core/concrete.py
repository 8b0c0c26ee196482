"""Computes concrete values of traced arrays, when Python code asks for one."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from funcdiff.core import effects
from funcdiff.core.atoms import Entry, Literal, Ref
from funcdiff.core.origins import LocatedEntries, Place
from funcdiff.core.primitive import Operation
from funcdiff.core.recording import operands_needed
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, user_location

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
        for number in range(len(values), atom + 1):
            if number < len(values):  # a further result of the equation before
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
    with effects.asking(builder):
        return op.function(*operands)
