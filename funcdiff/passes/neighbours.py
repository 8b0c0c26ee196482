"""Horizontal fusion: one operation on neighbouring slices of an array is one on all of them.

The gates of a recurrent network, say, are slices of one product; f(x[:n]) and f(x[n:]) are slices
of f(x), and what is computed of these may be put together in turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple, TypeAlias

from funcdiff.core.atoms import Literal, Var
from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.memo import memoised
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import map_nested, walk
from funcdiff.ops.structure.slicing import Slice, slice_along, slice_p

_WIDEST: Final = 1 << 13
"""Elements up to which it is the calls of functions that take the time."""

_Whole: TypeAlias = Var | int
"""A variable, or the number of a group of equations, whose results are put together."""


class _Part(NamedTuple):
    """Elements ``start:stop`` of something along an axis, and all along the others."""

    whole: _Whole
    axis: int
    start: int
    stop: int


class _Group(NamedTuple):
    """Equations that are one, in the order in which their results are neighbours.

    For each operand, `operands` has what it is a part of altogether, or a literal.
    """

    members: list[Equation]
    axis: int
    operands: list[_Part | Literal]


@memoised
def merge_neighbours(program: Program) -> Program:
    """Return a program in which operations on neighbouring slices are done together."""
    parts = {
        eq.results[0]: part
        for eq in program.equations
        if eq.primitive is slice_p and (part := _part(eq)) is not None
    }
    groups: list[_Group] = []
    free = [eq for eq in program.equations if _is_candidate(eq)]
    while parts and free:
        found = list(_groups(free, parts))
        if not found:
            break
        for group in found:
            start = 0
            for eq in group.members:
                (v,) = eq.results
                stop = start + v.type.shape[group.axis]
                parts[v] = _Part(len(groups), group.axis, start, stop)
                start = stop
            groups.append(group)
        taken = {eq.results[0] for group in found for eq in group.members}
        free = [eq for eq in free if eq.results[0] not in taken]
    return _Merger(parts, groups).merged(program)


def _part(eq: Equation) -> _Part | None:
    """Return of what a slice is a part along one axis, if it is."""
    p, (x,) = eq.params_as(Slice), eq.operands
    cut = [k for k, n in enumerate(x.type.shape) if p.lengths[k] != n]
    if len(cut) != 1 or p.steps[cut[0]] != 1 or not isinstance(x, Var):
        return None
    return _Part(x, cut[0], p.starts[cut[0]], p.stops[cut[0]])


def _is_candidate(eq: Equation) -> bool:
    facts = eq.primitive.facts
    plain = facts.pointwise and not facts.calls_user and len(eq.results) == 1
    return plain and eq.results[0].type.size <= _WIDEST


def _groups(equations: Sequence[Equation], parts: dict[Var, _Part]) -> list[_Group]:
    """Return equations that say the same of neighbouring parts."""
    alike: dict[Hashable, list[tuple[int, Equation]]] = defaultdict(list)
    for eq in equations:
        where = [parts.get(atom) for atom in eq.operands if isinstance(atom, Var)]
        if not where or any(part is None for part in where):
            continue
        first = where[0]
        assert first is not None
        key = _key(eq, first, parts)
        if key is not None:
            alike[key].append((first.start, eq))
    found = []
    for candidates in alike.values():
        row: list[Equation] = []
        end = -1
        for start, eq in sorted(candidates, key=lambda pair: pair[0]):
            if start != end:
                found.append(row)
                row = []
            row.append(eq)
            end = start + eq.results[0].type.shape[_axis(eq, parts)]
        found.append(row)
    return [_group(row, parts) for row in found if len(row) > 1]


def _axis(eq: Equation, parts: dict[Var, _Part]) -> int:
    return next(parts[atom].axis for atom in eq.operands if isinstance(atom, Var))


def _key(eq: Equation, first: _Part, parts: dict[Var, _Part]) -> Hashable | None:
    """Return what equations have in common that can be one; None if this one cannot."""
    operands: list[Hashable] = []
    for atom in eq.operands:
        if isinstance(atom, Literal):
            operands.append((atom.bits, atom.type.dtype))
            continue
        part = parts[atom]
        if part.axis != first.axis:
            return None
        operands.append((part.whole, part.start - first.start, atom.type.dtype))
    shape = list(eq.results[0].type.shape)
    del shape[first.axis]
    return eq.primitive, eq.params, first.axis, tuple(shape), tuple(operands)


def _group(members: list[Equation], parts: dict[Var, _Part]) -> _Group:
    axis = _axis(members[0], parts)
    operands: list[_Part | Literal] = []
    for first, last in zip(members[0].operands, members[-1].operands, strict=True):
        if isinstance(first, Var) and isinstance(last, Var):
            operands.append(parts[first]._replace(stop=parts[last].stop))
        else:
            assert isinstance(first, Literal)
            operands.append(first)
    return _Group(members, axis, operands)


class _Merger:
    """Records a program again, each group of equations as one."""

    def __init__(self, parts: dict[Var, _Part], groups: Sequence[_Group]) -> None:
        self._parts, self._groups = parts, groups
        self._group_of = {eq.results[0]: k for k, g in enumerate(groups) for eq in g.members}
        self._made: dict[int, Tracer] = {}
        self._env: dict[Var, Tracer] = {}

    def merged(self, program: Program) -> Program:
        """Return the program."""
        with Builder("neighbours", SHARED) as builder:
            xs = [builder.input(t) for t in program.input_types]
            self._env.update(zip(program.inputs, xs, strict=True))
            return builder.program(walk(program, xs, self._rule))

    def _rule(self, eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        number = self._group_of.get(eq.results[0]) if eq.results else None
        if number is None:
            part = self._parts.get(eq.results[0]) if len(eq.results) == 1 else None
            ys: Sequence[Tracer]
            if part is not None and isinstance(part.whole, Var):
                ys = [self._taken(part)]
            else:
                ys = bind(eq.primitive, map_nested(merge_neighbours, eq.params), *xs)
        else:
            if number not in self._made:
                self._made[number] = self._recorded(self._groups[number])
            ys = [self._taken(self._parts[eq.results[0]])]
        self._env.update(zip(eq.results, ys, strict=True))
        return ys

    def _recorded(self, group: _Group) -> Tracer:
        """Record the one equation that a group is."""
        length = sum(eq.results[0].type.shape[group.axis] for eq in group.members)
        first = group.members[0]
        shape = list(first.results[0].type.shape)
        shape[group.axis] = length
        xs = [
            constant(x.value, x.type.with_shape(tuple(shape)))
            if isinstance(x, Literal)
            else self._taken(x)
            for x in group.operands
        ]
        return bind(first.primitive, first.params, *xs)[0]

    def _taken(self, part: _Part) -> Tracer:
        whole = self._made[part.whole] if isinstance(part.whole, int) else self._env[part.whole]
        return slice_along(whole, part.axis, part.start, part.stop)
