"""A recording: the program in the making, as plain tuples of interned things.

Entry ``i`` of the list defines variable ``i`` and is

- ``(type,)`` for an input,
- ``(operation, *operands)`` for the first result of an equation; an operand is the number of a
  variable or a `Literal`,
- ``()`` for each further result.

So a finished recording is compared and hashed in the time it takes to walk it; only one not seen
before becomes a `Program`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from funcdiff.core.primitive import Operation
from funcdiff.core.program import Atom, Equation, Literal, Program, Var
from funcdiff.core.types import ArrayType
from funcdiff.errors import user_location

Ref: TypeAlias = int | Literal
Entry: TypeAlias = tuple[Any, ...]
Recording: TypeAlias = tuple[tuple[Entry, ...], tuple[Ref, ...]]


class LocatedEntries(list[Entry]):
    """A recording that also notes where in the user's code each entry was made."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def append(self, entry: Entry) -> None:
        """Add an entry and its place."""
        super().append(entry)
        self.places.append(user_location())


def program_of(entries: tuple[Entry, ...], outputs: tuple[Ref, ...]) -> Program:
    """Return the recorded program in canonical form: inputs first, dead equations dropped."""
    live = _live(entries, outputs)
    variables: dict[int, Var] = {}
    for number, entry in enumerate(entries):
        if entry and isinstance(entry[0], ArrayType):
            variables[number] = Var(len(variables), entry[0])
    inputs = tuple(variables.values())

    def atom(ref: Ref) -> Atom:
        return ref if isinstance(ref, Literal) else variables[ref]

    equations = []
    for number in live:
        op, *operands = entries[number]
        results = []
        for k, type_ in enumerate(op.results):
            variable = variables[number + k] = Var(len(variables), type_)
            results.append(variable)
        equations.append(
            Equation(op.primitive, op.params, tuple(map(atom, operands)), tuple(results))
        )
    return Program(inputs, tuple(equations), tuple(map(atom, outputs)))


def _live(entries: tuple[Entry, ...], outputs: tuple[Ref, ...]) -> list[int]:
    """Return the numbers of the equations that the outputs need, in order."""
    needed = {ref for ref in outputs if not isinstance(ref, Literal)}
    live = []
    further: list[int] = []
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        if not entry:
            further.append(number)
            continue
        if isinstance(entry[0], Operation) and (
            number in needed or any(k in needed for k in further)
        ):
            live.append(number)
            needed.update(ref for ref in entry[1:] if not isinstance(ref, Literal))
        further.clear()
    live.reverse()
    return live
