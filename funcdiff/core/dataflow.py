"""Data flow of programs: when variables are last used, and which depend on which inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.program import Equation, Program


class Step(Protocol):
    """What runs at a time: an equation, or several together."""

    @property
    def operands(self) -> Sequence[Atom]:
        """What it reads."""

    @property
    def results(self) -> Sequence[Var]:
        """What it computes."""


S = TypeVar("S", bound=Step)


class Lifetimes(NamedTuple):
    """By variable: the last step that uses it, or, for outputs, the number of steps."""

    own: list[int]  # that uses the variable itself
    memory: list[int]  # that uses the variable, or another that may be a view of it


def count_of_variables(program: Program) -> int:
    """Return how many variables a program has: they are numbered in order of definition."""
    return len(program.inputs) + sum([len(eq.results) for eq in program.equations])


def last_uses(program: Program) -> list[int]:
    """Return, for each variable, the index of the equation that uses it last."""
    last = [-1] * count_of_variables(program)
    for index, eq in enumerate(program.equations):
        for result in eq.results:
            last[result.number] = index
        for atom in eq.operands:
            if isinstance(atom, Var):
                last[atom.number] = index
    for atom in program.outputs:
        if isinstance(atom, Var):
            last[atom.number] = len(program.equations)
    return last


def lifetimes(
    program: Program,
    steps: Sequence[S],
    is_fresh: Callable[[S], bool],
    keeps: Callable[[S], bool] | None = None,
) -> Lifetimes:
    """Return how long the variables of a program are needed that runs in these steps.

    `is_fresh` says whether the results of a step certainly share no memory with its operands,
    `keeps` whether it may hold on to its operands to the end.
    """
    count, end = count_of_variables(program), len(steps)
    behind: list[set[int]] = [{k} for k in range(count)]
    own, memory = [-1] * count, [-1] * count

    def use(number: int, index: int, until: int) -> None:
        own[number] = index
        for other in behind[number]:
            memory[other] = max(memory[other], until)

    for index, step in enumerate(steps):
        operands = [atom.number for atom in step.operands if isinstance(atom, Var)]
        if not is_fresh(step):
            shared = set[int]().union(*(behind[k] for k in operands))
            for v in step.results:
                behind[v.number] = shared | {v.number}
        until = end if keeps is not None and keeps(step) else index
        for number in (*operands, *(v.number for v in step.results)):
            use(number, index, until)
    for atom in program.outputs:
        if isinstance(atom, Var):
            use(atom.number, end, end)
    return Lifetimes(own, memory)


def dependent(program: Program, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs depend on the marked inputs."""
    reached = variables_reached(program, flags)
    return [atom in reached for atom in program.outputs]


def variables_reached(
    program: Program, flags: Sequence[bool], passes: Callable[[Equation], bool] = lambda _eq: True
) -> set[Atom]:
    """Return the variables that depend on the marked inputs by equations that `passes` accepts."""
    reached: set[Atom] = {v for v, flag in zip(program.inputs, flags, strict=True) if flag}
    for eq in program.equations:
        arriving = [atom in reached for atom in eq.operands]
        if any(arriving) and passes(eq):
            flow = eq.primitive.facts.flow
            leaving = flow(eq.params, arriving) if flow else [True for _ in eq.results]
            reached.update(v for v, flag in zip(eq.results, leaving, strict=True) if flag)
    return reached
