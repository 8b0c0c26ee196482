"""How tapes compute: on values, as NumPy does; others inherit from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.tape.steps import Step, pull_step, push_step
from funcdiff.core.atoms import Literal
from funcdiff.core.primitive import Operation
from funcdiff.core.types import ArrayType
from funcdiff.transforms.jvp import Mask


class Recorded(NamedTuple):
    """A derivative of an operation that is recorded; the fields are those of `Step`."""

    run: Callable[..., Sequence[Any]]
    places: tuple[int, ...]
    add: None = None


class Arithmetic:
    """How a tape computes: with values, as NumPy does."""

    def constant(self, number: Literal) -> Any:
        """Return a literal as an operand."""
        return number.array

    def full(self, value: float, type_: ArrayType) -> Any:
        """Return an array of one number."""
        return np.full(type_.shape, value, type_.dtype)[()]

    def run(self, op: Operation, operands: Sequence[Any]) -> Any:
        """Return the result of an operation, or the results of one that has several."""
        return op.run(*operands)

    def pull(self, op: Operation, active: Mask, present: Mask) -> Step | Recorded:
        """Return the derivative of an operation, backwards."""
        return pull_step(op, active, present)

    def push(self, op: Operation, active: Mask) -> Step | Recorded:
        """Return the derivative of an operation, forwards."""
        return push_step(op, active)

    def add(self, x: Any, y: Any) -> Any:
        """Return the sum of two cotangents."""
        return x + y


ON_VALUES: Final = Arithmetic()
