"""The transpose of a loop of unknown length: its linear sweeps, turned around.

What is known runs forward as before; the linear sweeps follow in the opposite order, each in the
opposite direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcdiff.core.builder import Tracer
from funcdiff.core.dependence import dependent
from funcdiff.core.program import Program, used
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import rearranged
from funcdiff.ops.sweeps import Assembly, Step, While, applied, input_flags
from funcdiff.space import Maybe, add, instantiate, sum_tangents, zeros
from funcdiff.transforms.jvp import Mask, present
from funcdiff.transforms.transpose import transpose


class Transposed(NamedTuple):
    """The transpose of a loop, ready to run.

    Attributes
    ----------
    source
        The loop that was transposed.
    loop, constants, carries
        The loop to run, and its operands.
    operands
        Those of `source`; None for the linear ones.
    halves
        What is linear in each sweep of `source`.
    order
        The sweeps of `source` that were turned around, in the order in which they run now.
    """

    source: While
    loop: While
    constants: list[Tracer]
    carries: list[list[Tracer]]
    operands: Sequence[Maybe]
    halves: Sequence[LinearHalf]
    order: list[int]

    def cotangents(self, results: Sequence[Sequence[Tracer]]) -> list[Maybe]:
        """Return the cotangents of the linear operands from the last carries of the loop."""
        pulled = dict(zip(self.order, results[len(results) - len(self.order) :], strict=True))
        cts: list[Maybe] = [None] * len(self.operands)
        p = self.source
        first = p.constants
        for k, half in enumerate(self.halves):
            for j, ct in zip(half.inputs, pulled.get(k, ()), strict=False):
                place = j if j < p.constants else first + j - p.constants
                cts[place] = sum_tangents([cts[place], ct])
            first += p.carries[k]
        return [ct if x is None else None for ct, x in zip(cts, self.operands, strict=True)]


class LinearHalf(NamedTuple):
    """What is linear in a sweep.

    Attributes
    ----------
    pulled
        ``(*constants, *carry, *rows, *cts) -> cts``: the transposed body, of what is known in
        the sweep and the cotangents of its linear outputs.
    inputs
        For each result of `pulled`, the place of the input that it is the cotangent of.
    starts
        Types of the carry that is linear.
    rows
        Numbers and types of the rows that are linear.
    known
        Where the known carry and rows are kept.
    """

    pulled: Program
    inputs: list[int]
    starts: dict[int, ArrayType]
    rows: dict[int, ArrayType]
    known: list[int]


def linear_inputs(p: While, linear: Sequence[bool]) -> list[Mask]:
    """Return which inputs of each sweep are linear: a carry is, if what it becomes is."""
    return input_flags(p, linear, dependent)


def transposed(p: While, cts: Sequence[Maybe], operands: Sequence[Maybe]) -> Transposed:
    """Run what is known forward, then the linear sweeps in the opposite order and direction."""
    linear = linear_inputs(p, [x is None for x in operands])
    constants, carries = p.split(operands)
    assembly = Assembly([x.type for x in present(constants)])
    halves = _halves(p, assembly, linear)
    arrived = p.results(cts)
    gathered: dict[int, list[int]] = {}
    starts: dict[int, list[Tracer]] = {}
    for k in range(len(halves) - 1, -1, -1):
        half = halves[k]
        incoming = [arrived[k][j] for j in half.starts]
        if not (present(incoming) or any(row in gathered for row in half.rows)):
            continue
        sums = [zeros(p.sweeps[k].input_types[j]) for j in half.inputs if j < p.constants]
        pairs = zip(incoming, half.starts.values(), strict=True)
        starts[k] = [*sums, *(instantiate(ct, t) for ct, t in pairs)]
        places = [gathered.get(row, []) for row in half.rows]
        rows = assembly.add(
            [x.type for x in starts[k]],
            _pulled_step(half, len(sums), places),
            reverse=not p.reverse[k],
        )
        head = p.constants + p.carries[k]
        for place, j in zip(rows, [j for j in half.inputs if j >= head], strict=True):
            gathered.setdefault(j - head, []).append(place)
    known = [j for j, flag in enumerate(linear[0]) if not flag]
    test = rearranged(p.test, known, [0])
    loop = assembly.loop(lambda c, s: applied(test, c, s)[0])
    forward = [_known_carry(p, k, linear[k], carries[k]) for k in _known_sweeps(p, linear)]
    return Transposed(
        p, loop, present(constants), [*forward, *starts.values()], operands, halves, list(starts)
    )


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


def _halves(p: While, assembly: Assembly, linear: Sequence[Mask]) -> list[LinearHalf]:
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
            step = _known_step(rearranged(body, known, others), rows)
            left = assembly.add(carry, step, reverse=p.reverse[k])
            kept = [number + j - n for j in others if j >= n]
            places.update(zip(kept, left, strict=False))
            before = left[len(kept) :]
        every = range(len(body.inputs))
        restricted = rearranged(body, every, outputs)
        read = used(restricted)
        inputs = [
            j
            for j, flag in enumerate(flags)
            if flag and (p.constants <= j < head or restricted.inputs[j] in read)
        ]
        turned = transpose(restricted, flags) if outputs else restricted
        results = [j for j, flag in enumerate(flags) if flag]
        pulled = rearranged(
            turned, range(len(turned.inputs)), [results.index(j) for j in inputs] if outputs else []
        )
        types = body.output_types
        halves.append(
            LinearHalf(
                pulled,
                inputs if outputs else [],
                {j: types[j] for j in outputs if j < n},
                {number + j - n: types[j] for j in outputs if j >= n},
                [*before, *rows],
            )
        )
        number += len(body.outputs) - n
    return halves


def _known_step(known: Program, rows: list[int]) -> Step:
    """Return what a sweep does to what is known; it leaves the carry as it was before, too."""

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        results = applied(known, c, s, [r[j] for j in rows])
        return results[: len(s)], [*results[len(s) :], *s]

    return step


def _pulled_step(half: LinearHalf, sums: int, places: Sequence[Sequence[int]]) -> Step:
    """Return what a transposed sweep does to the sums of the constants' cotangents and the carry's.

    The cotangents of the rows are at `places`, one entry for each use.
    """
    types = half.rows.values()

    def step(c: list[Tracer], s: list[Tracer], r: list[Tracer]) -> Any:
        cts = [
            instantiate(sum_tangents([r[j] for j in uses]), t)
            for uses, t in zip(places, types, strict=True)
        ]
        results = applied(half.pulled, c, [r[j] for j in half.known], s[sums:], cts)
        added = [add(a, b) for a, b in zip(s[:sums], results, strict=False)]
        return [*added, *results[sums : len(s)]], results[len(s) :]

    return step
