"""Value numbering across programs: equal operations of equal values have one number.

So it is found which values of one program another has computed already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.origins import Origin
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
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
