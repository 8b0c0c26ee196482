"""Data flow of programs: dependence, last uses, and which operands may be overwritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.implementation import Variant
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import ArrayType


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


# ---- Finds the equations that may overwrite an operand in place, by aliasing and liveness --------
#
# A chain of writes then works in one buffer, as a loop over ``y[i] = f(y[i-1])`` did in NumPy.  An
# array is known by the equation that gave it memory: its *owner*.  What may look into the memory of
# an owner lives and dies with it, but for a view that outlives a write: that one is copied.


def on_copy(in_place: Variant) -> Variant:
    """Return an `impl` that leaves its first operand alone, of the variant that overwrites it."""

    def impl(p: Any) -> Callable[..., Any]:
        function = in_place(p)
        return lambda x, *rest: function(np.array(x), *rest)

    return impl


def _itself(x: Any) -> Any:
    return x


def _copy(x: Any) -> Any:
    return np.array(x, order="C")


def _zeros_for(t: ArrayType) -> Callable[[Any], Any]:
    """Return a function that makes zeros, which takes less time than to copy those of an array."""

    def zeros(x: Any) -> Any:
        return np.zeros(t.shape, t.dtype) if x.dtype is t.dtype else _copy(x)

    return zeros


class Choice(NamedTuple):
    """The function that computes an equation, and where it writes to."""

    function: Callable[..., Any]
    # Of a function that writes to a part of its first operand: from the operand to the array that
    # it writes to, which may be the operand itself; None if the function alone knows.
    memory: Callable[[Any], Any] | None = None

    @property
    def in_place(self) -> bool:
        """Whether it is known to overwrite its first operand."""
        return self.memory is _itself


def choices(program: Program, last: list[int]) -> list[Choice]:
    """Return what to call for each equation, given the index of the last use of each variable."""
    if not any(eq.operation.primitive.implementation.in_place for eq in program.equations):
        return [Choice(eq.operation.function) for eq in program.equations]
    return _Plan(program, last).choices


def functions(program: Program, last: list[int]) -> list[Callable[..., Any]]:
    """Return the functions of `choices`."""
    return [choice.function for choice in choices(program, last)]


_FOREIGN: Final = -1
"""Owner of what certainly is not memory of a chain: inputs, results of ufuncs."""
_UNCERTAIN: Final = -2


class _Plan:
    """Two walks: backward for how long memory is looked into, forward for the decisions."""

    def __init__(self, program: Program, last: list[int]) -> None:
        self._needed = last.copy()
        self._owner = [_FOREIGN] * len(last)
        self._copied: set[int] = set()
        written = _last_writes(program, len(last))
        for index in range(len(program.equations) - 1, -1, -1):
            self._look_back(index, program.equations[index], written)
        self.choices = [self._decide(k, eq) for k, eq in enumerate(program.equations)]

    def _look_back(self, index: int, eq: Equation, written: list[int]) -> None:
        """Let the operands be needed for as long as what may look into them."""
        if is_fresh(eq):
            return
        operands = _variables(eq)
        needed = max((self._needed[v.number] for v in eq.results), default=index)
        looks = eq.primitive.implementation.view and operands and index < written[operands[0]]
        is_small = looks and eq.results[0].type.size <= eq.operands[0].type.size
        if is_small and written[operands[0]] < needed:
            self._copied.add(index)
            return
        for number in operands:
            self._needed[number] = max(self._needed[number], needed)

    def _decide(self, index: int, eq: Equation) -> Choice:
        """Return the function of an equation, and note who owns the memory of its results."""
        function, in_place = eq.operation.function, eq.primitive.implementation.in_place
        if index in self._copied:
            self._own(eq)
            return Choice(lambda x: _copy(function(x))[()])
        if in_place is not None:
            self._own(eq)
            return self._choice_in_place(index, eq, in_place) or Choice(function, _copy)
        if not is_fresh(eq):
            owners = {self._owner[number] for number in _variables(eq)} - {_FOREIGN}
            for v in eq.results if owners else ():
                alone = len(eq.operands) == 1
                self._owner[v.number] = next(iter(owners)) if alone else _UNCERTAIN
        return Choice(function)

    def _own(self, eq: Equation) -> None:
        for v in eq.results:
            self._owner[v.number] = v.number

    def _choice_in_place(self, index: int, eq: Equation, variant: Variant) -> Choice | None:
        """Return the variant in place if its first operand is zeros, or an array that dies here."""
        first = eq.operands[0]
        if not isinstance(first, Var):
            if any(first.bits):
                return None
            into, memory = variant(eq.params), _zeros_for(first.type)
            return Choice(lambda x, *rest: into(memory(x), *rest), memory)
        owner = self._owner[first.number]
        others = {self._owner[number] for number in _variables(eq)[1:]}
        if owner < 0 or self._needed[owner] > index or others & {owner, _UNCERTAIN}:
            return None
        in_place, function = variant(eq.params), eq.operation.function
        if owner == first.number:
            return Choice(in_place, _itself)
        # a view of it: NumPy's broadcast views and scalars cannot be written to
        return Choice(lambda x, *rest: (in_place if x.flags.writeable else function)(x, *rest))


def _last_writes(program: Program, count: int) -> list[int]:
    """Return for each variable the index of the last equation that might write to its memory."""
    group = list(range(count))
    written = [-1] * count
    for index, eq in enumerate(program.equations):
        operands = _variables(eq)
        if operands and not is_fresh(eq):
            for v in eq.results:
                group[v.number] = group[operands[0]]
        if eq.primitive.implementation.in_place and isinstance(eq.operands[0], Var):
            written[group[operands[0]]] = index
    return [written[k] for k in group]


def _variables(eq: Equation) -> list[int]:
    return [atom.number for atom in eq.operands if isinstance(atom, Var)]


def is_fresh(eq: Equation) -> bool:
    """Whether the results of an equation share no memory with its operands."""
    return eq.primitive.implementation.fresh or isinstance(eq.operation.function, np.ufunc)
