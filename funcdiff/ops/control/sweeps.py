"""Loops of unknown length as data: sweeps that count or repeat iterations, and their transposes.

The first sweep runs until its test fails, which settles the number of iterations; every further
sweep walks over these iterations again, forward or backward, and reads the rows that the sweeps
before it have left at each.  Reverse mode is a sweep that leaves residuals and one that reads them
backwards; a derivative of that is four sweeps.  How many rows there are is known to the running
loop only, and no type has to say it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params, Tangents, Tracers
from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.space import Maybe, add, instantiate, sum_tangents, zeros
from funcdiff.transforms.jvp import Mask, present
from funcdiff.transforms.transpose import is_zero, transpose

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
        needed = atoms_in_use(body)
        head = p.constants + p.carries[k]
        read.update(j for j in range(starts[k]) if body.inputs[head + j] in needed)
    for k, body in enumerate(sweeps):
        head = p.constants + p.carries[k]
        rows = [head + j for j in range(starts[k]) if j in read]
        sweeps[k] = rearrange(body, [*range(head), *rows], range(len(body.outputs)))
    return While(p.test, tuple(sweeps), p.constants, p.carries, p.reverse)


# ---- Reverse mode of loops of unknown length: the linear sweeps, turned around -------------------
#
# What is known runs forward as before; the linear sweeps follow in the opposite order, each in the
# opposite direction.


class Transposed(NamedTuple):
    """The transpose of a loop, ready to run."""

    source: While  # the loop that was transposed
    loop: While  # the loop to run, of the constants and carries
    constants: list[Tracer]
    carries: list[list[Tracer]]
    operands: Tangents  # of `source`; None for the linear ones
    halves: dict[int, Pulled]  # transposed sweeps of `source`, in the order in which they run now

    def cotangents(self, results: Sequence[Tracers]) -> list[Maybe]:
        """Return the cotangents of the linear operands from the last carries of the loop."""
        cts: list[Maybe] = [None] * len(self.operands)
        p = self.source
        places = p.split(range(len(self.operands)))
        for (k, half), pulled in zip(
            self.halves.items(), results[len(results) - len(self.halves) :], strict=True
        ):
            operands = [*places[0], *places[1][k]]
            for j, ct in zip(half.inputs, pulled, strict=False):
                cts[operands[j]] = sum_tangents([cts[operands[j]], ct])
        return [ct if x is None else None for ct, x in zip(cts, self.operands, strict=True)]


class Known(NamedTuple):
    """A sweep without what is not linear in it, which runs before."""

    body: Program  # the sweep, of its linear outputs only
    linear: Mask  # which of its inputs are linear
    carry: list[int]  # linear carries
    rows: list[int]  # numbers of linear rows
    kept: list[int]  # where the known carry and rows are kept


class Pulled(NamedTuple):
    """A sweep turned around.

    What has no cotangent in any iteration gets no explicit zero, which might meet an infinite
    slope.
    """

    body: Program  # ``(*known, *cts) -> cts``: of known values and the cotangents that arrive
    inputs: list[int]  # for each result of `body`: the input that it is the cotangent of
    carry: list[int]  # carries with cotangents
    rows: list[int]  # numbers of rows with cotangents
    kept: list[int]  # where the known carry and rows are kept


def linear_inputs(p: While, linear: Sequence[bool]) -> list[Mask]:
    """Return which inputs of each sweep are linear: a carry is, if what it becomes is."""
    return input_flags(p, linear, dependent)


def transpose_sweeps(p: While, cts: Tangents, operands: Tangents) -> Transposed:
    """Run what is known forward, then the linear sweeps in the opposite order and direction."""
    linear = linear_inputs(p, [x is None for x in operands])
    constants, carries = p.split(operands)
    assembly = Assembly([x.type for x in present(constants)])
    known = _add_known_sweeps(p, assembly, linear)
    forward = [_nonlinear_carry(p, k, linear[k], carries[k]) for k in _sweeps_to_repeat(p, linear)]
    backward: list[list[Tracer]] = []
    arrived = p.results(cts)
    gathered: dict[int, list[int]] = {}
    halves: dict[int, Pulled] = {}
    for k in range(len(known) - 1, -1, -1):
        half = _pull_back(p, k, known[k], arrived[k], gathered)
        if not (half.carry or half.rows):
            continue
        halves[k] = half
        types = p.sweeps[k].input_types
        sums = [zeros(types[j]) for j in half.inputs if j < p.constants]
        starts = [instantiate(arrived[k][j], types[p.constants + j]) for j in half.carry]
        backward.append([*sums, *starts])
        step = _pull_back_step(half, len(sums), [gathered[row] for row in half.rows])
        rows = assembly.add([x.type for x in backward[-1]], step, reverse=not p.reverse[k])
        head = p.constants + p.carries[k]
        for place, j in zip(rows, [j for j in half.inputs if j >= head], strict=True):
            gathered.setdefault(j - head, []).append(place)
    test = rearrange(p.test, [j for j, flag in enumerate(linear[0]) if not flag], [0])
    loop = assembly.loop(lambda c, s: apply(test, c, s)[0])
    return Transposed(p, loop, present(constants), [*forward, *backward], operands, halves)


def _linear_outputs(p: While, k: int, flags: Mask) -> list[int]:
    """Return which outputs of a sweep are linear: of the carry, those whose inputs are."""
    n = p.carries[k]
    carry = flags[p.constants : p.constants + n]
    outputs = (*carry, *dependent(p.sweeps[k], flags)[n:])
    return [j for j, flag in enumerate(outputs) if flag]


def _sweeps_to_repeat(p: While, linear: Sequence[Mask]) -> list[int]:
    """Return the sweeps that have to run again for what is known: the first, which counts, too."""
    return [
        k
        for k, flags in enumerate(linear)
        if k == 0 or len(_linear_outputs(p, k, flags)) < len(p.sweeps[k].outputs)
    ]


def _nonlinear_carry(p: While, k: int, flags: Mask, carry: Sequence[Any]) -> list[Any]:
    head = p.constants
    return [x for x, flag in zip(carry, flags[head : head + p.carries[k]], strict=True) if not flag]


def _add_known_sweeps(p: While, assembly: Assembly, linear: Sequence[Mask]) -> list[Known]:
    """Add the sweeps that compute what is known; return what is linear in each."""
    places: dict[int, int] = {}
    halves = []
    again = _sweeps_to_repeat(p, linear)
    number = 0
    for k, (body, flags) in enumerate(zip(p.sweeps, linear, strict=True)):
        n, head = p.carries[k], p.constants + p.carries[k]
        outputs = _linear_outputs(p, k, flags)
        others = [j for j in range(len(body.outputs)) if j not in outputs]
        known = [j for j, flag in enumerate(flags) if not flag]
        rows = [places[j - head] for j in known if j >= head]
        before: Sequence[int] = ()
        if k in again:
            carry = _nonlinear_carry(p, k, flags, body.input_types[p.constants : head])
            step = _nonlinear_step(rearrange(body, known, others), rows)
            left = assembly.add(carry, step, reverse=p.reverse[k])
            places.update(zip([number + j - n for j in others if j >= n], left, strict=False))
            before = left[len(left) - len(carry) :]
        restricted = rearrange(body, range(len(body.inputs)), outputs)
        moving = [j for j in outputs if j < n], [number + j - n for j in outputs if j >= n]
        halves.append(Known(restricted, flags, *moving, [*before, *rows]))
        number += len(body.outputs) - n
    return halves


def _pull_back(
    p: While, k: int, known: Known, cts: Tangents, gathered: Mapping[int, Sequence[int]]
) -> Pulled:
    """Turn a sweep around, for the cotangents that arrive in some iteration."""
    linear = [j for j, flag in enumerate(known.linear) if flag]
    rows = [row in gathered for row in known.rows]
    arrived = [cts[j] is not None for j in known.carry]
    while True:
        body = transpose(known.body, known.linear, (*arrived, *rows))
        moving = {j for j, ct in zip(linear, body.outputs, strict=True) if not is_zero(ct)}
        pairs = zip(known.carry, arrived, strict=True)
        settled = [a or p.constants + j in moving for j, a in pairs]
        if settled == arrived:
            break
        arrived = settled
    kept = list(compress(known.carry, arrived))
    inputs = sorted(moving | {p.constants + j for j in kept})
    pulled = rearrange(body, range(len(body.inputs)), [linear.index(j) for j in inputs])
    return Pulled(pulled, inputs, kept, list(compress(known.rows, rows)), known.kept)


def _nonlinear_step(known: Program, rows: list[int]) -> Step:
    """Return what a sweep does to what is known; it leaves the carry as it was before, too."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        results = apply(known, c, s, [r[j] for j in rows])
        return results[: len(s)], [*results[len(s) :], *s]

    return step


def _pull_back_step(half: Pulled, sums: int, places: Sequence[Sequence[int]]) -> Step:
    """Return what a transposed sweep does to the sums of the constants' cotangents and the carry's.

    The cotangents of the rows are at `places`, one entry for each use.
    """

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        cts = present([sum_tangents([r[j] for j in uses]) for uses in places])
        results = apply(half.body, c, [r[j] for j in half.kept], s[sums:], cts)
        added = [add(a, b) for a, b in zip(s[:sums], results, strict=False)]
        return [*added, *results[sums : len(s)]], results[len(s) :]

    return step
