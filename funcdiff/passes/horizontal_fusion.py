"""Horizontal fusion: one operation on neighbouring slices of an array is one on all of them.

The gates of a recurrent network, say, are slices of one product; f(x[:n]) and f(x[n:]) are slices
of f(x), and what is computed of these may be put together in turn.  So may f(x[n]): the first and
the last iteration of a loop, which differ from the others, are neighbours of what is computed for
all others at once.  What a chain adds to an array piece by piece is added at once where pieces of
an array come to lie side by side, as in the gradient of a loop: in another order, for rounding.

Without it the gradient of Rosenbrock's function in a loop (n = 100) takes 2.1 times as long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, TypeVar

from funcdiff.core.access import Cut, Labels
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import map_nested, walk
from funcdiff.core.tracer import Tracer
from funcdiff.ops.structure.slicing import add_slice, along, slice_along
from funcdiff.ops.structure.structural import reshape, reshape_p
from funcdiff.space import add, splat

T = TypeVar("T")

_WIDEST: Final = 1 << 13
"""Elements up to which it is the calls of functions that take the time."""

_FEWEST_NUMBERS: Final = 8
"""Single numbers that are worth an array: NumPy adds two in a fifth of the time of two arrays."""

_Whole: TypeAlias = Atom | int
"""A value, or the number of a group of equations, whose results are put together."""


class _Part(NamedTuple):
    """Elements ``start:stop`` of something along an axis, and all along the others.

    Of a single place, the axis may be `dropped`.
    """

    whole: _Whole
    axis: int
    start: int
    stop: int
    dropped: bool = False

    @property
    def length(self) -> int:
        return self.stop - self.start


class _Group(NamedTuple):
    """Equations that are one, in the order in which their results are neighbours.

    For each operand, `operands` has what it is a part of altogether, or a literal.
    """

    members: list[Equation]
    axis: int
    operands: list[_Part | Literal]


class _Chain(NamedTuple):
    """What is added to something in turn: by axis, place and length, the terms of a sum."""

    base: Atom
    sums: dict[tuple[int, int, int], list[_Part]]


@memoised
def merge_neighbours(program: Program) -> Program:
    """Return a program in which operations on neighbouring slices are done together."""
    made: dict[Atom, _Part] = {}
    groups: list[_Group] = []
    free = [eq for eq in program.equations if _is_candidate(eq)]
    while True:
        parts = _parts(program, made)
        found = list(_groups(free, parts)) if parts else []
        if not found:
            return _Merger(parts, groups, _chains(program, parts)).merge(program)
        for group in _first(program, found):
            start = 0
            for eq in group.members:
                (v,) = eq.results
                part = _part_of(eq, parts)
                stop = start + part.length
                made[v] = _Part(len(groups), group.axis, start, stop, part.dropped)
                start = stop
            groups.append(group)
        free = [eq for eq in free if eq.results[0] not in made]


def _first(program: Program, found: Sequence[_Group]) -> list[_Group]:
    """Return the groups whose operands are none of others' doing: by these they may have more."""
    later = {eq.results[0] for group in found for eq in group.members}
    for eq in program.equations:
        if (_moves(eq) or _is_candidate(eq)) and not later.isdisjoint(eq.operands):
            later.update(eq.results)
    return [
        group
        for group in found
        if not any(isinstance(x, _Part) and x.whole in later for x in group.operands)
    ]


# ---- parts -----------------------------------------------------------------------------------


def _parts(program: Program, made: Mapping[Atom, _Part]) -> dict[Atom, _Part]:
    """Return the variables that are parts of others, or of groups: with those `made`."""
    parts = dict(made)
    for eq in program.equations:
        if _moves(eq):
            part = _reshape(eq, parts) if eq.primitive is reshape_p else _part_taken(eq, parts)
            if part is not None:
                parts[eq.results[0]] = part
    return parts


def _moves(eq: Equation) -> bool:
    """Whether the elements of a result may be those of parts: a slice, or what is joined."""
    return eq.primitive.facts.elements in ("moved", "summed") and not eq.primitive.pointwise


def _part_taken(eq: Equation, parts: Mapping[Atom, _Part]) -> _Part | None:
    """Return the part that is taken of one, or that those are together which are joined."""
    access, found = eq.operation.access, set()
    taken = _cut(access.results[0])
    for x, labels in zip(eq.operands, access.operands, strict=True):
        cut = taken or _cut(labels)
        if cut is None:
            return None
        axis, start = cut
        part = _part_along(axis, x, parts)
        start = part.start + (start if taken else -start)
        stop = start + eq.results[0].type.shape[axis]
        found.add(part._replace(start=start, stop=stop))
    return found.pop() if len(found) == 1 else None


def _cut(labels: Labels) -> tuple[int, int] | None:
    """Return the one axis that is not all of that of its label, and from where on, if one is."""
    cuts = [(axis, x) for axis, x in enumerate(labels) if isinstance(x, Cut)]
    if len(cuts) != 1 or cuts[0][1].step != 1:
        return None
    return cuts[0][0], cuts[0][1].start


def _part_along(axis: int, x: Atom, parts: Mapping[Atom, _Part]) -> _Part:
    """Return what a value is a part of along an axis: of itself, if of nothing else."""
    part = parts.get(x)
    if part is None or part.axis != axis or part.dropped:
        return _Part(x, axis, 0, x.type.shape[axis])
    return part


def _reshape(eq: Equation, parts: Mapping[Atom, _Part]) -> _Part | None:
    """Return a part whose axis is dropped, or is there again."""
    (x,), after = eq.operands, eq.results[0].type.shape
    part = parts.get(x)
    if part is None or part.length != 1:
        return None
    longer, shorter = (after, x.type.shape) if part.dropped else (x.type.shape, after)
    if longer[part.axis : part.axis + 1] != (1,):
        return None
    same = (*longer[: part.axis], *longer[part.axis + 1 :]) == shorter
    return part._replace(dropped=not part.dropped) if same else None


def _rows(found: Iterable[T], part_of: Callable[[T], _Part]) -> Iterator[list[T]]:
    """Yield those together, and in order, of which each is the neighbour of the one before."""
    row: list[T] = []
    for x in sorted(found, key=lambda x: part_of(x).start):
        if row and part_of(row[-1]).stop != part_of(x).start:
            yield row
            row = []
        row.append(x)
    yield row


# ---- equations that are one ------------------------------------------------------------------


def _is_candidate(eq: Equation) -> bool:
    facts = eq.primitive.facts
    plain = eq.primitive.pointwise and not facts.calls_user and len(eq.results) == 1
    return plain and eq.results[0].type.size <= _WIDEST


def _groups(equations: Sequence[Equation], parts: Mapping[Atom, _Part]) -> Iterator[_Group]:
    """Yield equations that say the same of neighbouring parts."""
    alike: dict[Hashable, list[Equation]] = defaultdict(list)
    for eq in equations:
        variables = [atom for atom in eq.operands if isinstance(atom, Var)]
        if variables and all(atom in parts for atom in variables):
            key = _key(eq, parts[variables[0]], parts)
            if key is not None:
                alike[key].append(eq)
    for candidates in alike.values():
        for row in _rows(candidates, lambda eq: _part_of(eq, parts)):
            numbers = not any(eq.results[0].type.shape for eq in row)
            if len(row) >= (_FEWEST_NUMBERS if numbers else 2):
                yield _group(row, parts)


def _part_of(eq: Equation, parts: Mapping[Atom, _Part]) -> _Part:
    """Return what the first operand is a part of."""
    return next(parts[atom] for atom in eq.operands if isinstance(atom, Var))


def _key(eq: Equation, first: _Part, parts: Mapping[Atom, _Part]) -> Hashable | None:
    """Return what equations have in common that can be one; None if this one cannot."""
    operands: list[Hashable] = []
    for atom in eq.operands:
        if isinstance(atom, Literal):
            operands.append((atom.bits, atom.type.dtype))
            continue
        part = parts[atom]
        if part.axis != first.axis or part.dropped != first.dropped:
            return None
        operands.append((part.whole, part.start - first.start, atom.type.dtype))
    shape = list(eq.results[0].type.shape)
    if not first.dropped:
        del shape[first.axis]
    return eq.primitive, eq.params, first.axis, tuple(shape), tuple(operands)


def _group(members: list[Equation], parts: Mapping[Atom, _Part]) -> _Group:
    axis = _part_of(members[0], parts).axis
    operands: list[_Part | Literal] = []
    for first, last in zip(members[0].operands, members[-1].operands, strict=True):
        if isinstance(first, Var) and isinstance(last, Var):
            operands.append(parts[first]._replace(stop=parts[last].stop, dropped=False))
        else:
            assert isinstance(first, Literal)
            operands.append(first)
    return _Group(members, axis, operands)


# ---- pieces that are added -------------------------------------------------------------------


def _chains(program: Program, parts: Mapping[Atom, _Part]) -> dict[Atom, _Chain]:
    """Return the results of chains that are shorter if neighbouring pieces are added at once."""
    uses = Counter(chain(program.outputs, *(eq.operands for eq in program.equations)))
    found: dict[Atom, tuple[Atom, list[tuple[int, _Part]]]] = {}
    for eq in program.equations:
        adds = eq.primitive.facts.elements == "added"
        cut = _cut(eq.operation.access.operands[1]) if adds else None
        if cut is not None:
            (x, u, *_), (axis, start) = eq.operands, cut
            base, pieces = found.pop(x) if x in found and uses[x] == 1 else (x, [])
            found[eq.results[0]] = base, [*pieces, (start, _part_along(axis, u, parts))]
    return {
        v: _Chain(base, sums)
        for v, (base, pieces) in found.items()
        if v.type.size <= _WIDEST and len(sums := _sums(pieces)) < len(pieces)
    }


def _sums(pieces: Iterable[tuple[int, _Part]]) -> dict[tuple[int, int, int], list[_Part]]:
    """Return pieces of which neighbours are one, and those with a place in common are together."""
    alike: dict[tuple[_Whole, int, int], list[_Part]] = defaultdict(list)
    for start, part in pieces:
        alike[part.whole, part.axis, start - part.start].append(part)
    sums: dict[tuple[int, int, int], list[_Part]] = defaultdict(list)
    for (_, axis, offset), found in alike.items():
        for row in _rows(found, lambda part: part):
            part = row[0]._replace(stop=row[-1].stop)
            sums[axis, part.start + offset, part.length].append(part)
    return sums


class _Merger:
    """Records a program again, each group of equations as one."""

    def __init__(
        self, parts: Mapping[Atom, _Part], groups: Sequence[_Group], chains: Mapping[Atom, _Chain]
    ) -> None:
        self._parts, self._groups, self._chains = parts, groups, chains
        self._env: dict[_Whole, Tracer] = {}

    def merge(self, program: Program) -> Program:
        """Return the program."""
        with Builder("neighbours", SHARED) as builder:
            xs = [builder.input(t) for t in program.input_types]
            self._env.update(zip(program.inputs, xs, strict=True))
            return builder.program(walk(program, xs, self._rule))

    def _rule(self, eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        ys: Sequence[Tracer]
        if eq.results[:1] and eq.results[0] in self._chains:
            ys = [self._add(self._chains[eq.results[0]])]
        elif eq.results[:1] and eq.results[0] in self._parts:
            ys = [self._take(self._parts[eq.results[0]])]
        else:
            ys = bind(eq.primitive, map_nested(merge_neighbours, eq.params), *xs)
        self._env.update(zip(eq.results, ys, strict=True))
        return ys

    def _value(self, whole: _Whole) -> Tracer:
        if isinstance(whole, Literal):
            return constant(whole.value, whole.type)
        if isinstance(whole, int) and whole not in self._env:
            self._env[whole] = self._record(self._groups[whole])
        return self._env[whole]

    def _record(self, group: _Group) -> Tracer:
        """Record the one equation that a group is."""
        first = group.members[0]
        part = _part_of(first, self._parts)
        shape = list(first.results[0].type.shape)
        length = sum(_part_of(eq, self._parts).length for eq in group.members)
        shape[group.axis : group.axis + (not part.dropped)] = [length]
        xs = [
            constant(x.value, x.type.with_shape(tuple(shape)))
            if isinstance(x, Literal)
            else self._take(x)
            for x in group.operands
        ]
        return bind(first.primitive, first.params, *xs)[0]

    def _take(self, part: _Part) -> Tracer:
        taken = slice_along(self._value(part.whole), part.axis, part.start, part.stop)
        if not part.dropped:
            return taken
        return reshape(taken, (*taken.shape[: part.axis], *taken.shape[part.axis + 1 :]))

    def _add(self, found: _Chain) -> Tracer:
        """Record the sums of a chain; return what the last of them gives."""
        total = self._value(found.base)
        for (axis, start, length), terms in found.sums.items():
            u = reduce(add, map(self._take, terms))
            if length == total.shape[axis]:
                total = u if splat(total) == 0 else add(total, u)
            else:
                total = add_slice(total, u, along(total.shape, axis, start, start + length))
        return total
