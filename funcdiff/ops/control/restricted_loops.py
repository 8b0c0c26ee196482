"""Dead-code elimination in loops: drops carries and rows that no result needs.

A carry that nothing needs but itself goes, and with it the constants, rows and sweeps that only it
had read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.running.walk import rearrange
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While

P = TypeVar("P")
Restricted: TypeAlias = tuple[P, list[int], list[int]]
"""The parameters of a smaller loop, the operands it takes, and the places of the results."""


def restrict_scan(p: Scan, wanted: list[int]) -> Restricted[Scan]:
    """Restrict a loop; the carries that are needed on the way stay."""
    stacked = [k for k in wanted if k >= p.carries]
    body, carry = _restrict_body(
        p.body, p.constants, p.carries, {k for k in wanted if k < p.carries}, stacked
    )
    read = atoms_in_use(body)
    every = range(len(p.body.inputs))
    constants, _, rows = ([k for k in group if body.inputs[k] in read] for group in p.split(every))
    kept = [*constants, *(p.constants + k for k in carry), *rows]
    outputs = [*carry, *stacked]
    loop = Scan(
        rearrange(body, kept, range(len(outputs))), len(constants), len(carry), p.length, p.reverse
    )
    return loop, kept, [outputs.index(k) for k in wanted]


def _restrict_body(
    body: Program, constants: int, carries: int, carry: set[int], others: Sequence[int]
) -> tuple[Program, list[int]]:
    """Restrict a body to some carries and other outputs; return also which carries that takes."""
    while True:
        kept = sorted(carry)
        restricted = rearrange(body, range(len(body.inputs)), [*kept, *others])
        read = atoms_in_use(restricted)
        needed = {k for k in range(carries) if restricted.inputs[constants + k] in read}
        if needed <= carry:
            return restricted, kept
        carry = carry | needed


def restrict_while(p: While, wanted: list[int]) -> Restricted[While]:
    """Restrict every sweep; carries and rows that are needed on the way stay."""
    places = p.split(range(p.constants + sum(p.carries)))[1]
    offsets = [place[0] - p.constants if place else 0 for place in places]
    counts = [len(body.outputs) - n for body, n in zip(p.sweeps, p.carries, strict=True)]
    starts = [sum(counts[:k]) for k in range(len(counts))]
    tested = atoms_in_use(p.test)
    shared = {k for k in range(p.constants) if p.test.inputs[k] in tested}
    rows: set[int] = set()
    sweeps: dict[int, tuple[Program, list[int]]] = {}
    for k in range(len(p.sweeps) - 1, -1, -1):
        n = p.carries[k]
        carry = {j for j in range(n) if offsets[k] + j in wanted}
        if k == 0:
            carry |= {j for j in range(n) if p.test.inputs[p.constants + j] in tested}
        others = [n + j for j in range(counts[k]) if starts[k] + j in rows]
        if k and not (carry or others):
            continue
        body, kept = _restrict_body(p.sweeps[k], p.constants, n, carry, others)
        read = atoms_in_use(body)
        shared |= {j for j in range(p.constants) if body.inputs[j] in read}
        rows |= {j for j in range(starts[k]) if body.inputs[p.constants + n + j] in read}
        sweeps[k] = body, kept
    return _assemble(p, wanted, sorted(shared), rows, sweeps)


def _assemble(
    p: While,
    wanted: list[int],
    shared: list[int],
    rows: set[int],
    sweeps: dict[int, tuple[Program, list[int]]],
) -> Restricted[While]:
    """Put together a loop of the sweeps, constants and rows that are kept."""
    operands = list(shared)
    outputs: list[int] = []
    bodies = []
    order = sorted(sweeps)
    left = 0
    before = 0
    for k in range(len(p.sweeps)):
        n, count = p.carries[k], len(p.sweeps[k].outputs) - p.carries[k]
        if k in sweeps:
            body, carry = sweeps[k]
            places = [p.constants + j for j in carry]
            read = [p.constants + n + j for j in sorted(rows) if j < left]
            bodies.append(rearrange(body, [*shared, *places, *read], range(len(body.outputs))))
            operands += [p.constants + before + j for j in carry]
            outputs += [before + j for j in carry]
        left += count
        before += n
    first = sweeps[0][1]
    test = rearrange(p.test, [*shared, *(p.constants + j for j in first)], [0])
    loop = While(
        test,
        tuple(bodies),
        len(shared),
        tuple(len(sweeps[k][1]) for k in order),
        tuple(p.reverse[k] for k in order),
    )
    return loop, operands, [outputs.index(k) for k in wanted]
