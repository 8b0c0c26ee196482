"""Recordings: unfinished programs as tuples that are cheap to append, compare and hash.

Entry ``i`` of the list defines variable ``i`` and is

- ``(type,)`` for an input,
- ``(operation, *operands)`` for the first result of an equation; an operand is the number of a
  variable or a `Literal`,
- ``()`` for each further result.

A derivative that was taken within the trace may have been recorded operation by operation, as a
tape: a `Derivation` says which entries these are, and what program computes the same.

So a finished recording is compared and hashed in the time it takes to walk it; only one not seen
before becomes a `Program`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

from funcdiff.core.atoms import Atom, Entry, Literal, Ref, Var
from funcdiff.core.origins import Origins
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType

Recording: TypeAlias = tuple[
    tuple[Entry, ...], tuple[Ref, ...], Origins | None, "tuple[Derivation, ...]"
]
"""Entries, outputs, where the entries come from, if somebody reads that, and derivations: these
only if nobody does."""


class Derivation(NamedTuple):
    """The entries of a derivative that was recorded operation by operation."""

    start: int  # the number of the first
    stop: int
    operands: tuple[Ref, ...]
    results: tuple[Ref, ...]  # what is used of these entries, with which inputs among them
    derive: Callable[..., Program]  # the program of the same results, of what it is derived from
    of: tuple[Hashable, ...]

    @property
    def program(self) -> Program:
        """The program that computes the results of the operands."""
        return self.derive(*self.of)


def program_of(
    entries: tuple[Entry, ...],
    outputs: tuple[Ref, ...],
    origins: Origins | None = None,
    derivations: Sequence[Derivation] = (),
) -> Program:
    """Return the recorded program in canonical form: inputs first, dead equations dropped.

    What derivations have recorded is replaced by their programs.
    """
    if derivations:
        entries, outputs = _with_programs(entries, outputs, derivations)
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


def _with_programs(
    entries: Sequence[Entry], outputs: Sequence[Ref], derivations: Sequence[Derivation]
) -> tuple[tuple[Entry, ...], tuple[Ref, ...]]:
    """Return a recording with the programs of derivations in the place of their entries."""
    made: list[Entry] = []
    moved: dict[int, Ref] = {}

    def refs(old: Sequence[Ref]) -> list[Ref]:
        return [moved[ref] if type(ref) is int else ref for ref in old]

    def append(op: Operation, operands: Sequence[Ref]) -> range:
        made.extend([(op, *operands), *(() for _ in op.results[1:])])
        return range(len(made) - op.result_count, len(made))

    pending, stop = {d.start: d for d in derivations}, 0
    for number, entry in enumerate(entries):
        if number in pending:
            found = pending[number]
            program, stop = found.program, found.stop
            known = refs(found.operands)
            for eq in program.equations:
                known += append(eq.operation, [_ref(x, known) for x in eq.operands])
            results = [_ref(x, known) for x in program.outputs]
            moved.update(
                (old, ref) for old, ref in zip(found.results, results, strict=True)
                if type(old) is int and old >= number
            )  # fmt: skip
        if not entry or (number < stop and type(entry[0]) is Operation):
            continue
        if type(entry[0]) is ArrayType:
            moved[number] = len(made)
            made.append(entry)
        else:
            moved.update(enumerate(append(entry[0], refs(entry[1:])), number))
    return tuple(made), tuple(refs(outputs))


def _ref(atom: Atom, known: Sequence[Ref]) -> Ref:
    return known[atom.number] if isinstance(atom, Var) else atom


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
