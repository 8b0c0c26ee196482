"""Estimates the cost of a program by source line: operations, memory traffic, peak memory.

The counts follow the program as the interpreter runs it, equation by equation.  Nothing is
measured: they are sums over types that are known before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.computed import computed
from funcdiff.core.dataflow import last_uses
from funcdiff.core.memo import memoised
from funcdiff.core.origins import UNKNOWN, Origin
from funcdiff.core.overwriting import functions
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import nested
from funcdiff.ops.axes.indexing import gather_p
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.ops.user.custom_tangent import pushed_forward
from funcdiff.reading.flops import flops
from funcdiff.reading.labels import comment, origin_of
from funcdiff.reading.tables import Cell, table_html

ELSEWHERE: Final = "elsewhere"
"""What stands for the line where it is not known."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one line of the user's costs.

    Attributes
    ----------
    place
        The line, or the line that it is the derivative of.
    origin
        The same as data.
    flops, read, written, equations
        As in `Cost`.
    """

    place: str
    origin: Origin
    flops: float
    read: int
    written: int
    equations: int


@dataclass(frozen=True, slots=True, repr=False)
class Cost:
    """What a call costs, counted, not measured.

    Attributes
    ----------
    flops
        Floating-point operations.
    read, written
        Bytes that equations read from their operands and write to their results.
    peak
        The most bytes that arrays take at any time, those of the arguments included.
    equations
        How many equations run.
    rows
        The same by the user's lines, those that move the most bytes first.
    loops
        How many loops have a length that is not known before they run: of these, one iteration
        is counted.
    unknown
        How many calls of functions there are of which nothing is known.
    """

    flops: float
    read: int
    written: int
    peak: int
    equations: int
    rows: tuple[Row, ...]
    loops: int
    unknown: int

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    def __str__(self) -> str:
        table = [_HEAD, *self._rows()]
        widths = [max(len(line[k]) for line in table) for k in range(4)]
        lines = []
        for line in table:
            numbers = [cell.rjust(w) for cell, w in zip(line[:4], widths, strict=True)]
            lines.append("  ".join([*numbers, line[4]]))
        return "\n".join([*lines, *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return how a notebook shows it."""
        rows = [[*(Cell(x, is_number=True) for x in row[:4]), Cell(row[4])] for row in self._rows()]
        return table_html(", ".join(self._remarks()), _HEAD, rows)

    def _rows(self) -> list[tuple[str, ...]]:
        return [*(_cells(row, row.place) for row in self.rows), _cells(self, "total")]

    def _remarks(self) -> list[str]:
        remarks = [f"peak memory {bytes_text(self.peak)}"]
        if self.loops:
            loops = _plural(self.loops, "loop")
            remarks.append(f"of {loops} of unknown length one iteration counts")
        if self.unknown:
            calls = _plural(self.unknown, "call")
            remarks.append(f"{calls} of functions that cannot be looked into count as nothing")
        return remarks


_HEAD: Final = ("flops", "read", "written", "equations", "line")


def _cells(row: Row | Cost, place: str) -> tuple[str, ...]:
    return (
        count_text(row.flops),
        bytes_text(row.read),
        bytes_text(row.written),
        f"{row.equations}",
        place,
    )


def count_text(count: float) -> str:
    """Return a number of operations in three digits and a unit."""
    return _number(count, 1000, ("", "k", "M", "G", "T", "P"))


def bytes_text(count: float) -> str:
    """Return a number of bytes in three digits and a unit."""
    return _number(count, 1024, (" B", " KiB", " MiB", " GiB", " TiB", " PiB"))


def _number(count: float, step: int, units: Sequence[str]) -> str:
    """Return a count in three digits and a unit."""
    unit = 0
    while count >= step and unit + 1 < len(units):
        count, unit = count / step, unit + 1
    plain = (count == int(count) and unit == 0) or count >= 100
    return f"{count:.0f}{units[unit]}" if plain else f"{count:.3g}{units[unit]}"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


# ---- counting --------------------------------------------------------------------------------


Counts: TypeAlias = "dict[Origin, list[Any]]"
"""Operations, bytes read, bytes written and equations, by where they come from."""


@memoised
def counts_of(program: Program) -> Counts:
    """Return what a program costs, by where its equations come from; not to be changed."""
    tally = _Tally(has_peak=False)
    tally.run(program, 1, UNKNOWN)
    return tally.rows


def cost_of(program: Program) -> Cost:
    """Return the cost of a program."""
    tally = _Tally()
    peak = tally.run(program, 1, UNKNOWN)
    rows = [Row(comment(at) or ELSEWHERE, at, *counts) for at, counts in tally.rows.items()]
    rows.sort(key=lambda row: (-(row.read + row.written), -row.flops))
    total = [sum(counts[k] for counts in tally.rows.values()) for k in range(4)]
    return Cost(
        total[0], int(total[1]), int(total[2]), peak, int(total[3]), tuple(rows), tally.loops,
        tally.unknown,
    )  # fmt: skip


class _Tally:
    """Counts in the making; without a peak in less time."""

    def __init__(self, *, has_peak: bool = True) -> None:
        self.rows: Counts = {}
        self._has_peak = has_peak
        self.loops = 0
        self.unknown = 0
        self._flops: dict[Operation, float] = {}

    def run(self, program: Program, times: int, around: Origin) -> int:
        """Add what running a program so many times costs; return its peak in bytes."""
        memory = Memory(program)
        peak = memory.live
        for index, eq in enumerate(program.equations):
            place = origin_of(program, eq.results[0]) if eq.results else UNKNOWN
            if place.place is None:
                place = around
            elif place.name:
                place = place._replace(name="")
            op = eq.operation
            inner = self._tally_nested(eq, times, place) if op.calls_user else None
            if inner is None:
                count = self._flops.get(op)
                if count is None:
                    count = self._flops[op] = flops(eq)
                self._add(place, times, count, *memory.traffic(index), 1)
            if self._has_peak:
                peak = max(peak, memory.step(index, inner or 0))
        return peak

    def _add(self, place: Origin, times: int, *counts: float) -> None:
        row = self.rows.get(place)
        if row is None:
            row = self.rows[place] = [0, 0, 0, 0]
        for k, count in enumerate(counts):
            row[k] += times * count

    def _tally_nested(self, eq: Equation, times: int, place: Origin) -> int | None:
        """Add what programs in an equation cost; return the most memory that one of them adds.

        None if there are none.
        """
        if eq.primitive.facts.calls_user:
            self.unknown += times
            return None
        runs = list(_runs(eq, times))
        if isinstance(eq.params, While):
            self.loops += 1
        if isinstance(eq.params, Scan):
            stacked = size_of(eq.results[eq.params.carries :])
            self._add(place, times, 0, stacked, stacked, 0)
        if isinstance(eq.params, Cond):
            return self._dearest(runs, place)
        added = [
            self.run(program, count, place) - size_of(program.inputs) for program, count in runs
        ]
        return max(added) if runs else None

    def _dearest(self, runs: Sequence[tuple[Program, int]], place: Origin) -> int:
        """Add the branch that moves the most bytes."""
        tallies = []
        for k, (program, count) in enumerate(runs):
            tally = _Tally(has_peak=self._has_peak)
            peak = tally.run(program, count, place) - size_of(program.inputs)
            moved = sum(row[1] + row[2] for row in tally.rows.values())
            tallies.append((moved, k, tally, peak))
        _, _, dearest, peak = max(tallies, key=lambda entry: entry[:2])
        for at, row in dearest.rows.items():
            self._add(at, 1, *row)
        self.loops += dearest.loops
        self.unknown += dearest.unknown
        return peak


def _runs(eq: Equation, times: int) -> Iterator[tuple[Program, int]]:
    """Give the programs in an equation, and how often each runs."""
    p = eq.params
    if isinstance(p, Custom):  # whose rules do not run
        yield p.body, times
    elif isinstance(p, Tangent):
        yield pushed_forward(p.backward, p), times
    elif not eq.primitive.facts.hands_on:  # which says what derivatives are
        rounds = p.length if isinstance(p, Scan) else 1
        for program in nested(p):
            yield program, times * rounds


# ---- memory ----------------------------------------------------------------------------------


def bytes_of(type_: ArrayType) -> int:
    """Return how many bytes an array takes."""
    return type_.size * type_.dtype.itemsize


def size_of(atoms: Sequence[Atom]) -> int:
    """Return how many bytes arrays take together; literals take none."""
    return sum(bytes_of(atom.type) for atom in atoms if isinstance(atom, Var))


class Memory:
    """The arrays of a running program: a view keeps the memory alive that it looks at."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._last = last_uses(program)
        self._functions = functions(program, self._last)
        count = len(program.inputs) + sum(len(eq.results) for eq in program.equations)
        self._owner: list[int] = list(range(count))
        self._stored = [bytes_of(v.type) for v in program.inputs] + [0] * (
            count - len(program.inputs)
        )
        self._follow_views()
        # Bytes of the arrays that are alive now; those of the inputs always are.
        self.live = size_of(program.inputs)

    def _follow_views(self) -> None:
        for index, eq in enumerate(self._program.equations):
            shared = eq.primitive.implementation.view or self._is_in_place(index)
            for k, v in enumerate(eq.results):
                source = eq.operands[k] if shared and k < len(eq.operands) else None
                if isinstance(source, Var):
                    self._owner[v.number] = self._owner[source.number]
                    self._stored[v.number] = min(bytes_of(v.type), self._stored[source.number])
                else:
                    self._stored[v.number] = bytes_of(v.type)

    def _is_in_place(self, index: int) -> bool:
        eq = self._program.equations[index]
        return (
            eq.primitive.implementation.in_place is not None
            and self._functions[index] is not eq.operation.function
        )

    @computed
    def _ends(self) -> list[int]:
        """For each owner, the last equation that needs its memory."""
        last = self._last
        ends = list(last)
        for number, owner in enumerate(self._owner):
            ends[owner] = max(ends[owner], last[number])
        for v in self._program.inputs:
            ends[v.number] = len(self._program.equations)
        return ends

    def traffic(self, index: int) -> tuple[int, int]:
        """Return how many bytes an equation reads and writes."""
        eq = self._program.equations[index]
        if eq.primitive.implementation.view:
            return 0, 0
        written = sum(bytes_of(v.type) for v in eq.results)
        operands = [atom for atom in eq.operands if isinstance(atom, Var)]
        if eq.primitive is gather_p:
            indices = size_of(eq.operands[1:])
            return written + indices, written
        if eq.primitive.implementation.in_place is not None:
            touched = bytes_of(eq.operands[1].type)
            adds = touched if eq.primitive.facts.elements == "added" else 0
            copied = 0 if self._is_in_place(index) else written
            base = copied if isinstance(eq.operands[0], Var) else 0
            return base + size_of(eq.operands[1:]) + adds, copied + touched
        return sum(self._stored[v.number] for v in operands), written

    def step(self, index: int, inside: int) -> int:
        """Run an equation that needs so many bytes inside; return the bytes at its busiest."""
        eq = self._program.equations[index]
        made = [v for v in eq.results if self._owner[v.number] == v.number]
        self.live += size_of(made)
        # what a loop stacks is there beside what an iteration needs; other programs make it
        beside = 0 if isinstance(eq.params, Scan | While) else size_of(made)
        busiest = self.live + max(0, inside - beside)
        used = {self._owner[a.number] for a in eq.operands if isinstance(a, Var)}
        for owner in used | {v.number for v in made}:
            if self._ends[owner] == index:
                self.live -= self._stored[owner]
                self._ends[owner] = -2  # freed
        return busiest
