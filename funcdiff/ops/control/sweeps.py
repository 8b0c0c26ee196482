"""Loops of unknown length as data: a sweep that counts the iterations, and sweeps over them again.

The first sweep runs until its test fails, which settles the number of iterations; every further
sweep walks over these iterations again, forward or backward, and reads the rows that the sweeps
before it have left at each.  Reverse mode is a sweep that leaves residuals and one that reads them
backwards; a derivative of that is four sweeps.  How many rows there are is known to the running
loop only, and no type has to say it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from funcdiff.core.builder import Builder
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params, Tracers
from funcdiff.core.program import Program, used_atoms
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline, rearrange
from funcdiff.transforms.jvp import Mask

Step: TypeAlias = Callable[[list[Tracer], list[Tracer], list[Tracer]], tuple[Tracers, Tracers]]
"""What a sweep does at an iteration: ``(constants, carry, rows) -> (carry, new rows)``."""


class While(Params):
    """A loop of unknown length; operands are the constants, then the first carry of each sweep."""

    # ``(*constants, *carry of the first sweep) -> bool``: whether there is one more iteration.
    test: Program
    # ``(*constants, *carry, *rows of all sweeps before) -> (*carry, *rows)``, one program each.
    sweeps: tuple[Program, ...]
    constants: int  # how many there are
    carries: tuple[int, ...]  # how many there are, by sweep
    reverse: tuple[bool, ...]  # which sweeps walk backward; not the first

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
        """Split operands into the constants and the carry of each sweep."""
        values, first = list(values), self.constants
        carries = []
        for count in self.carries:
            carries.append(values[first : first + count])
            first += count
        return values[: self.constants], carries

    def results(self, values: Sequence[Any]) -> list[list[Any]]:
        """Split results into the last carry of each sweep."""
        return self.split([*(None for _ in range(self.constants)), *values])[1]


Flow: TypeAlias = Callable[[Program, Mask], Sequence[bool]]
"""For a property of values: which outputs of a program have it if some inputs have."""


def input_flags(p: While, operands: Sequence[bool], flow: Flow) -> list[Mask]:
    """Return which inputs of each sweep have a property, once the carries have settled."""
    constants, carries = p.split(operands)
    rows: list[bool] = []
    flags = []
    for body, carry in zip(p.sweeps, carries, strict=True):
        marked, outgoing = body_flags(body, (constants, carry, rows), flow)
        flags.append(marked)
        rows += outgoing[len(carry) :]
    return flags


def body_flags(
    body: Program, groups: Sequence[Sequence[bool]], flow: Flow
) -> tuple[Mask, Sequence[bool]]:
    """Return which inputs of a body, and which outputs, have a property in some iteration.

    The groups are the constants, the first carry and the rows that have it.
    """
    constants, carry, rows = groups
    while True:
        flags = (*constants, *carry, *rows)
        outgoing = flow(body, flags)
        after = [a or b for a, b in zip(carry, outgoing, strict=False)]
        if after == list(carry):
            return flags, outgoing
        carry = after


class Assembly:
    """A loop in the making: sweeps are added one by one."""

    def __init__(self, constants: Sequence[ArrayType]) -> None:
        self.constants = list(constants)  # types of the constants
        self.rows: list[ArrayType] = []  # types of the rows that the sweeps leave so far
        self._sweeps: list[Program] = []
        self._carries: list[int] = []
        self._reverse: list[bool] = []

    def add(self, carry: Sequence[ArrayType], step: Step, *, reverse: bool) -> range:
        """Add a sweep; return the places of the rows that it leaves."""
        groups = (self.constants, carry, self.rows)
        with Builder("while_loop", SHARED) as builder:
            after, rows = step(*([builder.input(t) for t in group] for group in groups))
            self._sweeps.append(builder.program([*after, *rows]))
        self._carries.append(len(carry))
        self._reverse.append(reverse)
        first = len(self.rows)
        self.rows += [x.type for x in rows]
        return range(first, len(self.rows))

    def loop(self, test: Callable[[list[Tracer], list[Tracer]], Tracer]) -> While:
        """Return the loop; ``test(constants, carry)`` decides if it goes on."""
        carry = self._sweeps[0].input_types[len(self.constants) :]
        with Builder("while_loop", SHARED) as builder:
            groups = [[builder.input(t) for t in group] for group in (self.constants, carry)]
            decision = builder.program([test(*groups)])
        p = While(
            decision,
            tuple(self._sweeps),
            len(self.constants),
            tuple(self._carries),
            tuple(self._reverse),
        )
        return _without_unread_rows(p)


def apply(program: Program, *groups: Tracers) -> list[Tracer]:
    """Record the equations of a program, applied to operands that come in groups."""
    return inline(program, [x for group in groups for x in group])


def _without_unread_rows(p: While) -> While:
    """Leave out the rows that no sweep reads."""
    sweeps = list(p.sweeps)
    counts = [len(b.outputs) - n for b, n in zip(p.sweeps, p.carries, strict=True)]
    starts = [sum(counts[:k]) for k in range(len(counts))]
    read: set[int] = set()
    for k in range(len(sweeps) - 1, -1, -1):
        first = p.carries[k]
        kept = [j for j in range(counts[k]) if starts[k] + j in read]
        every = range(len(sweeps[k].inputs))
        sweeps[k] = body = rearrange(
            sweeps[k], every, [*range(first), *(first + j for j in kept)]
        )  # fmt: skip
        needed = used_atoms(body)
        head = p.constants + p.carries[k]
        read.update(j for j in range(starts[k]) if body.inputs[head + j] in needed)
    for k, body in enumerate(sweeps):
        head = p.constants + p.carries[k]
        rows = [head + j for j in range(starts[k]) if j in read]
        sweeps[k] = rearrange(body, [*range(head), *rows], range(len(body.outputs)))
    return While(p.test, tuple(sweeps), p.constants, p.carries, p.reverse)
