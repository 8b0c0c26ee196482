"""Decision trees of programs: a trunk, and branches that go on where a guard meets another outcome.

A *leaf* is the whole program for one sequence of outcomes.  The first leaf is the trunk: what its
decisions need is computed first, each followed by its guard, and the rest comes last.  A further
leaf goes along as long as its outcomes are the same.  At the first other one it branches off, and
has to compute only what is not there yet; the guard hands over what it uses.  That is found by
value numbering: equal operations of equal values have one number in all leaves.

So no outcome is taken for granted, and a branch needs no look at what was decided before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from funcdiff.backend.checking import with_check
from funcdiff.backend.kernels import fastest, owns_results
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.late import computed
from funcdiff.core.origins import Origin
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Equation, Program, equation
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.evaluate import copy_aliased, executable
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.guard import Diverted, Guard, guard_p
from funcdiff.ops.user.failing import sharing_results

Value: TypeAlias = int | Literal
"""The number of a value, or a literal."""


class Made(NamedTuple):
    """The equation that makes values: `first` is the number of its first result."""

    operation: Operation
    operands: tuple[Value, ...]
    first: int
    results: int


class Numbered(NamedTuple):
    """A program in terms of values."""

    places: dict[int, int]  # of equations, by first result
    outputs: list[Value]
    checks: list[int]  # results of equations that count though no output needs them


class Numbering:
    """The values of several programs of the same arguments, numbered from the arguments on."""

    def __init__(self, arguments: Sequence[ArrayType]) -> None:
        self.types = list(arguments)  # by number
        # By number: the equation that makes the value, if one does.
        self.made: list[Made | None] = [None for _ in arguments]
        self.constants: dict[int, Any] = {}  # by number: captured arrays; equal ones are one value
        # By number: where the value comes from, if that was recorded.
        self.origins: dict[int, Origin] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}

    def add(self, program: Program, captures: Sequence[Any]) -> Numbered:
        """Return a program in terms of values; its inputs are the arguments and then captures."""
        count = len(program.inputs) - len(captures)
        values: list[Value] = [*range(count), *map(self._constant, captures)]
        order: dict[int, int] = {}
        checks = []

        def read(atoms: Sequence[Any]) -> list[Value]:
            return [atom if isinstance(atom, Literal) else values[atom.number] for atom in atoms]

        for eq in program.equations:
            operands = tuple(read(eq.operands))
            first = self._numbers.get((eq.operation, operands))
            if first is None:
                first = self._number(eq.operation, operands, shares=program.origins is None)
            order.setdefault(first, len(order))
            values += range(first, first + len(eq.results))
            if eq.operation.ends:
                checks.append(first)
        if program.origins is not None:
            for value, origin in zip(values, program.origins, strict=True):
                self.origins.setdefault(cast("int", value), origin)
        return Numbered(order, read(program.outputs), checks)

    def _number(self, op: Operation, operands: tuple[Value, ...], *, shares: bool) -> int:
        """Return the number of the first result of a new equation.

        What is found out of an operation comes with its results, if these may be shared.
        """
        first = self._numbers[op, operands] = len(self.types)
        shared = sharing_results(op) if shares else None
        if shared is not None:
            op, other = shared
            self._numbers.setdefault((other, operands), first + 1)
        self.types += op.results
        self.made += [Made(op, operands, first, op.result_count)] * op.result_count
        return first

    def _constant(self, value: Any) -> int:
        array = np.asarray(value)
        for number, known in self.constants.items():
            other = np.asarray(known)
            same_type = (other.shape, other.dtype) == (array.shape, array.dtype)
            if same_type and (other is array or other.tobytes() == array.tobytes()):
                return number
        self.constants[len(self.types)] = value
        self.types.append(ArrayType(array.shape, array.dtype))
        self.made.append(None)
        return len(self.types) - 1


# ---- the tree ------------------------------------------------------------------------------------


class Leaf(NamedTuple):
    """The program of one sequence of outcomes."""

    program: Program  # inputs are arguments and captures; the last outputs decide
    outcomes: tuple[int, ...]  # values of these wherever the program holds
    captures: tuple[Any, ...]  # values that were captured


class Fork:
    """A guard in a branch."""

    def __init__(self, decision: int, predicate: int, known: int) -> None:
        self.decision = decision  # its number in the leaf
        self.predicate = predicate  # the value that decides
        self.known = known  # how many equations of the branch come before it
        self.handed: dict[int, None] = {}  # values that are handed over to the other branches
        self.branches: dict[int, Branch] = {}  # by outcome


class Branch:
    """The way from a guard, or from the beginning, to the results of a leaf."""

    def __init__(
        self,
        leaf: int,
        outcomes: Sequence[int],
        numbering: Numbering,
        parent: tuple[Branch, Fork] | None = None,
    ) -> None:
        self.leaf = leaf  # its number
        self.forks: list[Fork] = []  # the guards on the way
        self._outcomes = outcomes
        self._numbering = numbering
        self._parent = parent
        self._inputs: dict[int, None] = {}
        self._order: list[int] = []
        self._place: dict[int, int] = {}
        self._outputs: list[Value] = []

    def departure(self, outcomes: Sequence[int]) -> Fork | None:
        """Return the first guard whose outcome is another one."""
        for fork in self.forks:
            if outcomes[fork.decision] != self._outcomes[fork.decision]:
                return fork
        return None

    def fill(self, numbered: Numbered) -> None:
        """Put what a leaf computes in order: what decides, with its guards, and then the rest."""
        count = len(numbered.outputs) - len(self._outcomes)
        self._outputs = numbered.outputs[:count]
        begin = self._parent[1].decision + 1 if self._parent else 0
        for k in range(begin, len(self._outcomes)):
            predicate = numbered.outputs[count + k]
            if not isinstance(predicate, Literal):  # the others hold by themselves
                self._compute([predicate], numbered.places)
                self.forks.append(Fork(k, predicate, len(self._order)))
        self._compute([*self._outputs, *numbered.checks], numbered.places)

    def _compute(self, values: Iterable[Value], places: dict[int, int]) -> None:
        """Add the equations that values need, in the order of the leaf."""
        found: set[int] = set()
        pending = [v for v in values if not isinstance(v, Literal)]
        while pending:
            value = pending.pop()
            made = self._numbering.made[value]
            if self._has(value) or made is None or made.first in found:
                continue
            found.add(made.first)
            pending += [v for v in made.operands if not isinstance(v, Literal)]
        for first in sorted(found, key=places.__getitem__):
            self._place[first] = len(self._order)
            self._order.append(first)

    def _has(self, value: int, known: int | None = None) -> bool:
        """Whether a value is there, or can be handed over; then it will be.

        `known` says how many equations count; None: all that there are.
        """
        if value in self._numbering.constants or value in self._inputs:
            return True
        made = self._numbering.made[value]
        place = None if made is None else self._place.get(made.first)
        if place is not None and (known is None or place < known):
            return True
        if self._parent is None:
            return made is None and self._take(value)
        branch, fork = self._parent
        if not branch._has(value, fork.known):
            return False
        fork.handed[value] = None
        return self._take(value)

    def _take(self, value: int) -> bool:
        self._inputs[value] = None
        return True

    # ---- the program -----------------------------------------------------------------------

    @computed
    def captures(self) -> list[Any]:
        """The values of the last inputs of the program."""
        return [self._numbering.constants[v] for v in self._constants]

    @computed
    def _constants(self) -> list[int]:
        constants = self._numbering.constants
        made = [self._numbering.made[first] for first in self._order]
        used: set[Value] = {v for eq in made if eq is not None for v in eq.operands}
        used |= {v for fork in self.forks for v in (fork.predicate, *fork.handed)}
        used.update(self._outputs)
        return [v for v in constants if v in used]

    def inputs(self, arguments: int) -> list[int]:
        """Return the values that the program takes before its captures, in order."""
        if self._parent is None:
            return list(range(arguments))
        return list(self._parent[1].handed)

    def program(self, arguments: int) -> Program:
        """Return the program with its guards.

        A guard hands over, to whichever branch goes on, all that any of them uses.
        """
        types, variables = self._numbering.types, dict[int, Var]()
        for value in (*self.inputs(arguments), *self._constants):
            variables[value] = Var(len(variables), types[value])
        inputs = tuple(variables.values())
        count, sources = len(inputs), list(variables)

        def read(values: Iterable[Value]) -> tuple[Atom, ...]:
            return tuple([v if isinstance(v, Literal) else variables[v] for v in values])

        equations = []
        forks = iter([*enumerate(self.forks), (-1, None)])
        number, fork = next(forks)
        for k in range(len(self._order) + 1):
            while fork is not None and fork.known == k:
                operands = read([fork.predicate, *fork.handed])
                params = Guard(self._outcomes[fork.decision], number)
                result = Var(count, types[fork.predicate])
                equations.append(equation(guard_p, params, operands, (result,)))
                sources.append(fork.predicate)
                count += 1
                number, fork = next(forks)
            if k == len(self._order):
                break
            made = self._numbering.made[self._order[k]]
            assert made is not None
            results = tuple([Var(count + i, types[made.first + i]) for i in range(made.results)])
            equations.append(Equation(made.operation, read(made.operands), results))
            for i, v in enumerate(results):
                variables[made.first + i] = v
                sources.append(made.first + i)
            count += made.results
        origins = self._numbering.origins
        kept = tuple([origins[value] for value in sources]) if origins else None
        return Program(inputs, tuple(equations), read(self._outputs), kept)


class Tree:
    """All leaves of one kind of arguments, in the order in which they were met."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self.leaves = tuple(leaves)
        first = self.leaves[0]
        self.arguments = len(first.program.inputs) - len(first.captures)
        numbering = Numbering(first.program.input_types[: self.arguments])
        self.root = Branch(0, first.outcomes, numbering)  # the trunk
        for number, leaf in enumerate(self.leaves):
            self._graft(number, leaf, numbering)

    def _graft(self, number: int, leaf: Leaf, numbering: Numbering) -> None:
        numbered = numbering.add(leaf.program, leaf.captures)
        if number == 0:
            self.root.fill(numbered)
            return
        branch, fork = self._way_out(self.root, leaf.outcomes)
        if fork is not None:
            grown = Branch(number, leaf.outcomes, numbering, (branch, fork))
            fork.branches[leaf.outcomes[fork.decision]] = grown
            grown.fill(numbered)

    def _way_out(self, branch: Branch, outcomes: Sequence[int]) -> tuple[Branch, Fork | None]:
        """Return the fork at which outcomes leave the tree; None if they do not."""
        while True:
            fork = branch.departure(outcomes)
            if fork is None or outcomes[fork.decision] not in fork.branches:
                return branch, fork
            branch = fork.branches[outcomes[fork.decision]]


class Arrival(NamedTuple):
    """The leaf at which a run ended, and its results, which share no memory with anything."""

    leaf: int
    results: list[Any]


Compile: TypeAlias = Callable[[Program], Callable[..., list[Any]]]
"""Makes a function of a program."""


class _Code:
    """The program of a branch, made a function."""

    def __init__(self, branch: Branch, arguments: int, compiled: Compile) -> None:
        program = branch.program(arguments)
        self.leaf = branch.leaf  # where it leads
        self._branch, self._arguments, self._compile = branch, arguments, compiled
        self._next: dict[tuple[int, int], _Code | None] = {}
        self._captures = branch.captures
        function = compiled(program)
        is_owner = compiled is not executable and owns_results(program)
        self._owns = isinstance(function, Attempt) or is_owner
        self._function = with_check(program, function, exact=False)
        self._is_quick = isinstance(self._function, Attempt) and not self._function.warns

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results; raise Diverted where a guard does not hold."""
        if self._is_quick:
            quick: list[Any] = self._function(*values, *self._captures)
            return quick
        operands = [np.float64(x) if type(x) is float else x for x in (*values, *self._captures)]
        results = quiet(self._function, *operands)
        return results if self._owns else copy_aliased(results, operands)

    def elsewhere(self, number: int, outcome: int) -> _Code | None:
        """Return what goes on from a guard with another outcome, if that was met before."""
        key = number, outcome
        if key not in self._next:
            branch = self._branch.forks[number].branches.get(outcome)
            self._next[key] = (
                None if branch is None else _Code(branch, self._arguments, self._compile)
            )
        return self._next[key]


_SERVED: Final = 4
"""Calls after which a tree is compiled: until then it may grow, and all would have to be redone."""


class Runner:
    """The leaves of one kind of arguments, as a function of arrays.

    It is interpreted first, and compiled once it has served.  Either is prepared by the call that
    needs it, so that other threads know the leaves meanwhile.
    """

    def __init__(self, leaves: Sequence[Leaf], *, calls: float) -> None:
        self.leaves = tuple(leaves)
        self._calls = calls
        self._young = _SERVED

    @computed
    def _tree(self) -> Tree:
        return Tree(self.leaves)

    @computed
    def _first(self) -> _Code:
        """The program that every run begins with, for the first runs."""
        return _Code(self._tree.root, self._tree.arguments, executable)

    @computed
    def root(self) -> _Code:
        """The program that every run begins with."""
        vars(self).pop("_first", None)  # which has served
        compiled = partial(fastest, calls=self._calls)
        return _Code(self._tree.root, self._tree.arguments, compiled)

    def __call__(self, operands: Sequence[Any]) -> Arrival | None:
        """Return where the outcomes lead; None if they are those of no leaf."""
        code: _Code | None
        if self._young > 0:  # two threads may pass it
            self._young, code = self._young - 1, self._first
        else:
            code = self.root
        values = operands
        while code is not None:
            try:
                return Arrival(code.leaf, code(values))
            except Diverted as end:
                number, outcome, values = end.args
                code = code.elsewhere(number, outcome)
        return None
