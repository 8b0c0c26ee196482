"""Runs decision trees of programs: the trunk, then a branch from each guard that does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff.backend.branches.tree import Branch, Leaf, Tree
from funcdiff.backend.checking import with_check
from funcdiff.backend.kernels.kernels import fastest, owns_results
from funcdiff.backend.numbers.unrolling import Unrolled
from funcdiff.core.evaluate import copy_aliased
from funcdiff.core.quiet import quiet
from funcdiff.ops.control.guard import Diverted


class Arrival(NamedTuple):
    """The leaf at which a run ended, and its results, which share no memory with anything."""

    leaf: int
    results: list[Any]


class _Code:
    """The compiled program of a branch."""

    def __init__(self, branch: Branch, arguments: int, *, native: bool) -> None:
        program = branch.program(arguments)
        self.leaf = branch.leaf  # where it leads
        self._branch, self._arguments, self._native = branch, arguments, native
        self._next: dict[tuple[int, int], _Code | None] = {}
        self._captures = branch.captures
        function = fastest(program, native=native)
        self._floats = function if isinstance(function, Unrolled) and not function.warns else None
        self._owns = isinstance(function, Unrolled) or owns_results(program)
        self._function = with_check(program, function, exact=False)
        self._is_checked = self._function is not function

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results; raise Diverted where a guard does not hold."""
        if self._floats is not None and not self._is_checked:
            try:
                results: list[Any] = self._floats.quick(*values, *self._captures)
                return results
            except (ArithmeticError, ValueError):
                pass  # NumPy knows what the result is
        operands = [np.float64(x) if type(x) is float else x for x in (*values, *self._captures)]
        results = quiet(self._function, *operands)
        return results if self._owns else copy_aliased(results, operands)

    def elsewhere(self, number: int, outcome: int) -> _Code | None:
        """Return what goes on from a guard with another outcome, if that was met before."""
        key = number, outcome
        if key not in self._next:
            branch = self._branch.forks[number].branches.get(outcome)
            self._next[key] = (
                None if branch is None else _Code(branch, self._arguments, native=self._native)
            )
        return self._next[key]


class Runner:
    """The leaves of one kind of arguments, as a function of arrays."""

    def __init__(self, leaves: Sequence[Leaf], *, native: bool) -> None:
        self.leaves = tuple(leaves)
        tree = Tree(self.leaves)
        self._root = _Code(tree.root, tree.arguments, native=native)

    def __call__(self, operands: Sequence[Any]) -> Arrival | None:
        """Return where the outcomes lead; None if they are those of no leaf."""
        code: _Code | None = self._root
        values = operands
        while code is not None:
            try:
                return Arrival(code.leaf, code(values))
            except Diverted as end:
                number, outcome, values = end.args
                code = code.elsewhere(number, outcome)
        return None
