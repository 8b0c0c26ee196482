"""Schedules a program: orders its equations, and fuses them into regions that fit the cache.

A *region* is a set of equations that work row by row over a first axis of the same length.  It
runs on blocks of so many rows that what lies between its operands and its results stays in the
cache.  Steps are ordered by *stages*: what a region sums up over all its rows is known only after
it, so that what uses the sum comes in a later one.

Without regions a Gaussian mixture (d = 128) takes 1.9 times as long, Black-Scholes (n = 10⁶) 1.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.access import Label, numbers
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.program import Equation, Program, equation
from funcdiff.core.types import ArrayType

# ---- equations that work row by row --------------------------------------------------------------

_FEW_COLUMNS: Final = 4
"""Columns up to which a matrix product costs the reading of its blocked operand."""
_SMALL_SUM: Final = 1 << 12
"""Elements up to which the sums of all blocks are kept."""


class Rows(NamedTuple):
    """How an equation works row by row."""

    blocked: tuple[bool, ...]  # for each operand, whether its rows are needed, and not the whole
    combine: np.ufunc | None = None  # of the results of blocks; None if the result has rows


def rows(eq: Equation) -> Rows | None:
    """Return how an equation works row by row, None if it does not.

    Products that cost more than the reading of the rows are left to BLAS whole.
    """
    if len(eq.results) != 1 or not eq.operands or eq.operation.may_raise:
        return None
    access, size = eq.operation.access, eq.results[0].type.size
    (result,) = access.results
    blocked = _split_by(eq, result[0]) if result else None
    if blocked is not None:
        return Rows(blocked) if all(blocked) or len(blocked) == 1 or _is_cheap(eq) else None
    for labels in access.operands if access.combine is not None and size <= _SMALL_SUM else ():
        blocked = _split_by(eq, labels[0]) if labels and labels[0] not in numbers(result) else None
        if blocked is not None:
            return Rows(blocked, access.combine) if _is_cheap(eq) else None
    return None


def _split_by(eq: Equation, label: Label) -> tuple[bool, ...] | None:
    """Return which operands have a label in front, None if one of them has it elsewhere."""
    sides = eq.operation.access.operands
    blocked = tuple([labels[:1] == (label,) for labels in sides])
    elsewhere = any(label in numbers(labels) and labels[0] != label for labels in sides)
    return blocked if type(label) is int and not elsewhere else None


def _is_cheap(eq: Equation) -> bool:
    """Whether an equation multiplies no more than it takes to read its operands."""
    op = eq.operation
    work = prod(op.access.lengths(op.operands, op.results).values())
    return work <= _FEW_COLUMNS * max(t.size for t in op.operands)


# ---- regions -------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """What is worth running block by block."""

    # Elements of the largest array that a block makes: enough to be worth the calls of NumPy, few
    # enough to stay in the cache.
    block: int = 1 << 15
    # Elements of a row from which rows are too long to be gathered into blocks.
    row: int = 1 << 15
    # Elements of the largest array along an axis, at least: smaller ones are in the cache anyhow.
    array: int = 1 << 17
    # Bytes that a region does not write to memory and read again, at least.
    saved: int = 1 << 27


class Region(NamedTuple):
    """Equations that run together on blocks of rows."""

    length: int  # in rows
    block: int  # rows of a block
    blocked: tuple[Var, ...]  # whose rows the equations use
    whole: tuple[Var, ...]  # which they use as a whole
    stored: tuple[Var, ...]  # results that are needed elsewhere: written to row by row
    combined: tuple[tuple[Var, np.ufunc], ...]  # put together from those of blocks by a ufunc
    equations: tuple[Equation, ...]

    @property
    def operands(self) -> tuple[Var, ...]:
        """What the region reads."""
        return (*self.blocked, *self.whole)

    @property
    def results(self) -> tuple[Var, ...]:
        """What the region makes for others."""
        return (*self.stored, *(v for v, _ in self.combined))

    def body(self, count: int) -> Program:
        """Return what is computed of a block of so many rows.

        Its inputs are those blocked, then those needed whole; its outputs those stored, then
        those combined.
        """
        combined = {v for v, _ in self.combined}
        names = {(v, True): Var(k, _cut(v.type, count)) for k, v in enumerate(self.blocked)}
        names |= {(v, False): Var(len(names) + k, v.type) for k, v in enumerate(self.whole)}
        inputs = tuple(names.values())
        made: list[Equation] = []

        def operand(atom: Atom, blocked: bool) -> Atom:  # noqa: FBT001
            if isinstance(atom, Literal):
                return Literal(atom.value, _cut(atom.type, count)) if blocked else atom
            return names[atom, blocked]

        for eq in self.equations:
            how = rows(eq)
            assert how is not None
            operands = tuple(map(operand, eq.operands, how.blocked))
            (v,) = eq.results
            type_ = v.type if v in combined else _cut(v.type, count)
            names[v, True] = result = Var(len(names), type_)
            made.append(equation(eq.primitive, eq.params.with_rows(count), operands, (result,)))
        return Program(inputs, tuple(made), tuple(names[v, True] for v in self.results))


def _cut(type_: ArrayType, count: int) -> ArrayType:
    return type_.with_shape((count, *type_.shape[1:]))


_QUICK: Final = (np.add, np.subtract, np.multiply, np.negative)
_SMALLER: Final = 64
"""How many times as large as its operands is what is rather computed once more than kept."""

Step: TypeAlias = Equation | Region
_Place: TypeAlias = tuple[int, int]
"""A stage and the number of rows there, which is 0 outside of regions."""


class _Value(NamedTuple):
    """Where a variable is made, and whether its rows are there within the region."""

    place: _Place
    in_rows: bool


def schedule(program: Program, limits: Limits | None = None) -> list[Step]:
    """Return the steps of a program in the order in which they run."""
    limits = limits or Limits()
    lengths = _lengths(program, limits)
    if not lengths:
        return list(program.equations)
    places = _places(program, lengths)
    members: dict[_Place, list[Equation]] = defaultdict(list)
    for eq, place in zip(program.equations, places, strict=True):
        members[place].append(eq)
    again = _equations_to_repeat(program, places, members)
    used = {
        place: {a for eq in (*again[place], *equations) for a in eq.operands}
        - {eq.results[0] for eq in again[place]}
        for place, equations in members.items()
    }
    steps: list[Step] = []
    for place in sorted(members):
        equations = members[place]
        if place[1] and len(equations) > 1:
            others = (atoms for other, atoms in used.items() if other != place)
            needed = set(program.outputs).union(*others)
            region = _region(place[1], equations, needed, limits, again[place])
            moved = [a for eq in region.equations for a in (*eq.operands, *eq.results)]
            if _bytes(moved) - _bytes((*region.operands, *region.results)) >= limits.saved:
                steps.append(region)
                continue
        steps += equations
    if not any(isinstance(step, Region) for step in steps):
        return list(program.equations)  # in the order of the program
    return steps


def _lengths(program: Program, limits: Limits) -> set[int]:
    """Return the lengths of first axes along which there is much to do."""
    types = {a.type for eq in program.equations for a in (*eq.operands, *eq.results)}
    return {
        t.shape[0]
        for t in types
        if t.shape and t.shape[0] > 1 and limits.array <= t.size <= t.shape[0] * limits.row
    }


def _places(program: Program, lengths: set[int]) -> list[_Place]:
    """Return the stage of each equation: even outside of regions, odd inside."""
    values: dict[int, _Value] = {v.number: _Value((0, 0), False) for v in program.inputs}
    found = []
    for eq in program.equations:
        how = rows(eq)
        length = _length(eq, how)
        if how is None or length not in lengths:
            place = (_after(values, eq.operands), 0)
            how = None
        else:
            place = (_first_stage(values, eq, how, length), length)
        found.append(place)
        for v in eq.results:
            values[v.number] = _Value(place, how is not None and how.combine is None)
    return found


def _equations_to_repeat(
    program: Program, places: Sequence[_Place], members: Mapping[_Place, Sequence[Equation]]
) -> dict[_Place, list[Equation]]:
    """Return for each place the equations of other regions that it computes once more.

    They are short sums and products of what is much smaller, as of points and centres: to compute
    them takes less time than to write them to memory and to read them.  Without that a mixture
    (d = 128) takes 1.3 times as long.
    """
    made: dict[Atom, tuple[Equation, _Place]] = {}
    short: dict[Atom, int] = {}  # by result, its rows
    for eq, at in zip(program.equations, places, strict=True):
        made.update((v, (eq, at)) for v in eq.results)
        v, operands = eq.results[0], [a for a in eq.operands if isinstance(a, Var)]
        small = (
            _SMALLER * a.type.size <= v.type.size or short.get(a) == at[1] for a in operands
        )  # fmt: skip
        quick = eq.primitive.facts.elements == "moved" or eq.operation.function in _QUICK
        if at[1] and quick and all(small):
            short[v] = at[1]
    again: dict[_Place, list[Equation]] = {}
    for place, equations in members.items():
        found: set[Atom] = set()
        pending = [a for eq in equations if place[1] for a in eq.operands]
        while pending:
            a = pending.pop()
            if a not in found and short.get(a) == place[1] and made[a][1] != place:
                found.add(a)
                pending += made[a][0].operands
        again[place] = [eq for eq in program.equations if found and eq.results[0] in found]
    return again


def _length(eq: Equation, how: Rows | None) -> int:
    """Return how many rows an equation works on."""
    if how is None:
        return 0
    if how.combine is None:
        return eq.results[0].type.shape[0]
    return eq.operands[how.blocked.index(True)].type.shape[0]


def _after(values: dict[int, _Value], operands: Iterable[Atom]) -> int:
    """Return the first stage outside of regions at which the operands are there."""
    stages = (values[atom.number].place[0] for atom in operands if isinstance(atom, Var))
    return max((stage + stage % 2 for stage in stages), default=0)


def _first_stage(values: dict[int, _Value], eq: Equation, how: Rows, length: int) -> int:
    """Return the first stage of regions at which an equation can work row by row."""
    stage = 1
    for atom, blocked in zip(eq.operands, how.blocked, strict=True):
        if not isinstance(atom, Var):
            continue
        value = values[atom.number]
        made, rows_there = value.place
        if made % 2 == 0:
            stage = max(stage, made + 1)
        elif blocked and value.in_rows and rows_there == length:
            stage = max(stage, made)
        else:
            stage = max(stage, made + 2)
    return stage


def _bytes(atoms: Sequence[Atom]) -> int:
    return sum(atom.type.nbytes for atom in atoms if isinstance(atom, Var))


def _region(
    length: int,
    equations: Sequence[Equation],
    needed: set[Atom],
    limits: Limits,
    again: Sequence[Equation],
) -> Region:
    """Return equations as a region; `needed` is what others use, `again` made elsewhere, too."""
    repeated = {eq.results[0] for eq in again}
    equations = (*again, *equations)
    made = {eq.results[0] for eq in equations}
    blocked, whole = dict[Var, None](), dict[Var, None]()
    stored: list[Var] = []
    combined: list[tuple[Var, np.ufunc]] = []
    longest = 1
    for eq in equations:
        how = rows(eq)
        assert how is not None
        for atom, flag in zip(eq.operands, how.blocked, strict=True):
            if isinstance(atom, Var) and atom not in made:
                (blocked if flag else whole)[atom] = None
        (v,) = eq.results
        if how.combine is not None:
            combined.append((v, how.combine))
            continue
        longest = max(longest, v.type.size // length)
        if v in needed and v not in repeated:
            stored.append(v)
    block = max(1, min(length, limits.block // longest))
    return Region(
        length, block, tuple(blocked), tuple(whole), tuple(stored), tuple(combined),
        tuple(equations),
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------
# Groups elementwise equations of one shape, so that one loop over the elements computes them all.
#
# An equation joins the last group of its shape unless what it needs is computed behind that: a
# group is closed as soon as an equation outside needs a result of it.


Shape: TypeAlias = tuple[int, ...]

_MOST_ARRAYS: Final = 24
"""Operands and results of a loop: NumPy's functions have 32 at most."""
_MOST_EQUATIONS: Final = 200


class Loop(NamedTuple):
    """Elementwise equations that run together, for one element after the other."""

    operands: tuple[Var, ...]  # read by the equations
    stored: tuple[Var, ...]  # results that others, or the outputs, need
    equations: tuple[Equation, ...]  # in order

    @property
    def results(self) -> tuple[Var, ...]:
        """What the loop makes for others."""
        return self.stored


Grouped: TypeAlias = Equation | Region | Loop


def group(
    program: Program,
    steps: Sequence[Grouped],
    joins: Callable[[Equation], bool],
    worth: Callable[[Sequence[Equation]], bool],
) -> list[Grouped]:
    """Return the steps of a program, in order, with loops in place of equations.

    `joins` tells whether a loop can compute an equation, `worth` whether a loop pays for equations.
    """
    found: list[Grouped | list[Equation]] = []
    groups: dict[Shape, list[Equation]] = {}
    pending: dict[Atom, Shape] = {}  # results of the groups that are open

    def close(shape: Shape) -> None:
        for eq in groups[shape]:
            del pending[eq.results[0]]
        found.append(groups.pop(shape))

    for step in steps:
        shape = None
        if isinstance(step, Equation) and joins(step):
            shape = step.results[0].type.shape
        for other in {pending[atom] for atom in step.operands if atom in pending} - {shape}:
            close(other)
        if shape is None or not isinstance(step, Equation):
            found.append(step)
            continue
        members = groups.setdefault(shape, [])
        members.append(step)
        pending[step.results[0]] = shape
        if len(members) == _MOST_EQUATIONS:
            close(shape)
    found += groups.values()
    return _with_loops(program, found, worth)


def _with_loops(
    program: Program,
    found: Sequence[Grouped | list[Equation]],
    worth: Callable[[Sequence[Equation]], bool],
) -> list[Grouped]:
    """Return steps in which lists of equations are loops, or equations by themselves."""
    users: dict[Atom, set[int]] = {}
    for place, step in enumerate(found):
        for eq in step if isinstance(step, list) else (step,):
            for atom in eq.operands:
                users.setdefault(atom, set()).add(place)
    for atom in program.outputs:
        users.setdefault(atom, set()).add(-1)
    steps: list[Grouped] = []
    for place, step in enumerate(found):
        if not isinstance(step, list):
            steps.append(step)
            continue
        for part in _parts(step, users, {place}):
            steps += [part] if part.operands and worth(part.equations) else part.equations
    return steps


def _parts(
    equations: Sequence[Equation], users: dict[Atom, set[int]], place: set[int]
) -> list[Loop]:
    """Return loops for equations, none of which has too many arrays."""
    made = [eq.results[0] for eq in equations]
    inside = set(made)
    read = (a for eq in equations for a in eq.operands if isinstance(a, Var) and a not in inside)
    loop = Loop(
        tuple(dict.fromkeys(read)),
        tuple(v for v in made if users.get(v, place) != place),
        tuple(equations),
    )
    if len(loop.operands) + len(loop.stored) <= _MOST_ARRAYS:
        return [loop]
    half = len(equations) // 2
    first, second = equations[:half], equations[half:]
    later = {atom for eq in second for atom in eq.operands}
    crossing: dict[Atom, set[int]] = {
        v: users.get(v, place) | {-1} for v in made[:half] if v in later
    }
    return [*_parts(first, users | crossing, place), *_parts(second, users, place)]
