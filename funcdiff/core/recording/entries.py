"""Recordings: unfinished programs as tuples that are cheap to append, compare and hash.

Entry ``i`` of the list defines variable ``i`` and is

- ``(type,)`` for an input,
- ``(operation, *operands)`` for the first result of an equation; an operand is the number of a
  variable or a `Literal`,
- ``()`` for each further result.

So a finished recording is compared and hashed in the time it takes to walk it; only one not seen
before becomes a `Program`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from funcdiff.core.atoms import Entry, Literal, Ref, Var
from funcdiff.core.origins import Origins
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType

Recording: TypeAlias = tuple[tuple[Entry, ...], tuple[Ref, ...], Origins | None]
"""Entries, outputs, and where the entries come from, if somebody reads that."""


def program_of(
    entries: tuple[Entry, ...], outputs: tuple[Ref, ...], origins: Origins | None = None
) -> Program:
    """Return the recorded program in canonical form: inputs first, dead equations dropped."""
    new = tuple.__new__  # the constructor of a NamedTuple takes twice as long
    variables: dict[int, Var] = {}
    for number, entry in enumerate(entries):
        if entry and type(entry[0]) is ArrayType:
            variables[number] = Var(len(variables), entry[0])
    inputs = tuple(variables.values())
    equations = []
    needed = live_variables(entries, outputs)
    for number, entry in enumerate(entries):
        if not (needed[number] and entry and type(entry[0]) is Operation):
            continue
        op = entry[0]
        operands = tuple([variables[ref] if type(ref) is int else ref for ref in entry[1:]])
        if op.result_count == 1:
            variable = variables[number] = new(Var, (len(variables), op.result))
            results: tuple[Var, ...] = (variable,)
        else:
            results = tuple([new(Var, pair) for pair in enumerate(op.results, len(variables))])
            variables.update(enumerate(results, number))
        equations.append(new(Equation, (op, operands, results)))
    atoms = [ref if isinstance(ref, Literal) else variables[ref] for ref in outputs]
    kept = None if origins is None else tuple([origins[number] for number in variables])
    return Program(inputs, tuple(equations), tuple(atoms), kept)


def first_result(entries: Sequence[Entry], number: int) -> int:
    """Return the number of the first result of the equation that makes a variable."""
    while not entries[number]:
        number -= 1
    return number


def operands_needed(
    entries: Sequence[Entry], number: int, is_known: Callable[[int], bool]
) -> list[int]:
    """Return, in order, the first results of what a variable is computed from, but what is known.

    The variable itself is the last, unless it is known.
    """
    found: set[int] = set()
    pending = [number]
    while pending:
        first = pending.pop()
        if is_known(first):
            continue
        first = first_result(entries, first)
        if first not in found:
            found.add(first)
            pending += [ref for ref in entries[first][1:] if type(ref) is int]
    return sorted(found)


def live_variables(entries: tuple[Entry, ...], outputs: tuple[Ref, ...]) -> list[bool]:
    """Return, by number, whether the outputs need a variable; of several results, the first too.

    They need all that may end the program.
    """
    needed = [False] * len(entries)
    for ref in outputs:
        if type(ref) is int:
            needed[ref] = True
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        if not needed[number]:
            if not (entry and type(entry[0]) is Operation and entry[0].ends):
                continue
            needed[number] = True
        if not entry:  # a further result: its equation is at the first
            needed[number - 1] = True
        elif type(entry[0]) is Operation:
            for ref in entry[1:]:
                if type(ref) is int:
                    needed[ref] = True
    return needed
