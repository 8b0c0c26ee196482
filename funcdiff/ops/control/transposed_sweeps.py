"""Reverse mode of loops of unknown length: the linear sweeps, turned around.

What is known runs forward as before; the linear sweeps follow in the opposite order, each in the
opposite direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from funcdiff.core.dependence import dependent
from funcdiff.core.primitive import Tangents, Tracers
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import rearrange
from funcdiff.ops.control.sweeps import Assembly, Step, While, apply, input_flags
from funcdiff.space import Maybe, add, instantiate, sum_tangents, zeros
from funcdiff.transforms.jvp import Mask, present
from funcdiff.transforms.transpose import is_zero, transpose


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
    forward = [_known_carry(p, k, linear[k], carries[k]) for k in _known_sweeps(p, linear)]
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


def _known_sweeps(p: While, linear: Sequence[Mask]) -> list[int]:
    """Return the sweeps that have to run again for what is known: the first, which counts, too."""
    return [
        k
        for k, flags in enumerate(linear)
        if k == 0 or len(_linear_outputs(p, k, flags)) < len(p.sweeps[k].outputs)
    ]


def _known_carry(p: While, k: int, flags: Mask, carry: Sequence[Any]) -> list[Any]:
    head = p.constants
    return [x for x, flag in zip(carry, flags[head : head + p.carries[k]], strict=True) if not flag]


def _add_known_sweeps(p: While, assembly: Assembly, linear: Sequence[Mask]) -> list[Known]:
    """Add the sweeps that compute what is known; return what is linear in each."""
    places: dict[int, int] = {}
    halves = []
    again = _known_sweeps(p, linear)
    number = 0
    for k, (body, flags) in enumerate(zip(p.sweeps, linear, strict=True)):
        n, head = p.carries[k], p.constants + p.carries[k]
        outputs = _linear_outputs(p, k, flags)
        others = [j for j in range(len(body.outputs)) if j not in outputs]
        known = [j for j, flag in enumerate(flags) if not flag]
        rows = [places[j - head] for j in known if j >= head]
        before: Sequence[int] = ()
        if k in again:
            carry = _known_carry(p, k, flags, body.input_types[p.constants : head])
            step = _known_step(rearrange(body, known, others), rows)
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


def _known_step(known: Program, rows: list[int]) -> Step:
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
