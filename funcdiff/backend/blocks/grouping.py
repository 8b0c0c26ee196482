"""Groups elementwise equations of one shape, so that one loop over the elements computes them all.

An equation joins the last group of its shape unless what it needs is computed behind that: a group
is closed as soon as an equation outside needs a result of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from funcdiff.backend.blocks.schedule import Region
from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation, Program

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


Step: TypeAlias = Equation | Region | Loop


def group(
    program: Program,
    steps: Sequence[Step],
    joins: Callable[[Equation], bool],
    worth: Callable[[Sequence[Equation]], bool],
) -> list[Step]:
    """Return the steps of a program, in order, with loops in place of equations.

    `joins` tells whether a loop can compute an equation, `worth` whether a loop pays for equations.
    """
    found: list[Step | list[Equation]] = []
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
    found: Sequence[Step | list[Equation]],
    worth: Callable[[Sequence[Equation]], bool],
) -> list[Step]:
    """Return steps in which lists of equations are loops, or equations by themselves."""
    users: dict[Atom, set[int]] = {}
    for place, step in enumerate(found):
        for eq in step if isinstance(step, list) else (step,):
            for atom in eq.operands:
                users.setdefault(atom, set()).add(place)
    for atom in program.outputs:
        users.setdefault(atom, set()).add(-1)
    steps: list[Step] = []
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
