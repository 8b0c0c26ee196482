"""Zero analysis: which outputs are certainly zero where inputs are, as ``2·t``, but not ``t + 1``.

The program is known to have a derivative in those inputs that does not depend on them.  Zeros go
through its equations by the kind of operation: a sum is zero if all its terms are, a product if a
factor is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.ops.control.checkpoint import Checkpoint
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While


class Flags(NamedTuple):
    """Of values: which are certainly zero, and which depend on the inputs that are varied."""

    zero: list[bool]
    varied: list[bool]


def zero_flags(program: Program, zero: Sequence[bool], varied: Sequence[bool]) -> Flags:
    """Return the flags of the outputs of a program, from those of its inputs."""
    zeros = {v for v, flag in zip(program.inputs, zero, strict=True) if flag}
    moved = {v for v, flag in zip(program.inputs, varied, strict=True) if flag}

    def read(atoms: Sequence[Atom]) -> Flags:
        return Flags(
            [bool(x.value == 0) if isinstance(x, Literal) else x in zeros for x in atoms],
            [x in moved for x in atoms],
        )

    for eq in program.equations:
        found = _results(eq, read(eq.operands))
        zeros.update(v for v, flag in zip(eq.results, found.zero, strict=True) if flag)
        moved.update(v for v, flag in zip(eq.results, found.varied, strict=True) if flag)
    return read(program.outputs)


def _results(eq: Equation, given: Flags) -> Flags:
    if isinstance(eq.params, Checkpoint):
        return zero_flags(eq.params.body, *given)
    if isinstance(eq.params, Cond):
        branches = [zero_flags(b, given.zero[1:], given.varied[1:]) for b in eq.params.branches]
        return Flags(
            [all(flags) for flags in zip(*(b.zero for b in branches), strict=True)],
            [any(flags) for flags in zip(*(b.varied for b in branches), strict=True)],
        )
    if isinstance(eq.params, Scan):
        p = eq.params
        return _repeat(p.body, p.constants, p.carries, given, runs=p.length > 0)
    if isinstance(eq.params, While):
        return _sweep(eq.params, given)
    varied = any(given.varied)
    return Flags([_is_zero(eq.primitive, given)] * len(eq.results), [varied] * len(eq.results))


def _is_zero(primitive: Primitive[Any], given: Flags) -> bool:
    if primitive.facts.linear is not None:
        return all(given.zero[primitive.facts.linear])
    if primitive.facts.elements == "multiplied":
        return any(given.zero)
    # linear in each operand that is varied, or its derivative would not be the same everywhere
    return any(z and v for z, v in zip(*given, strict=True))


def _repeat(body: Program, constants: int, carries: int, given: Flags, *, runs: bool) -> Flags:
    """Return the flags of a loop: a carry is zero if every iteration keeps it zero.

    `runs` tells whether there certainly is an iteration.
    """
    zero, varied = given
    start, end = constants, constants + carries
    while True:
        found = zero_flags(body, zero, varied)
        after = [a and b for a, b in zip(zero[start:end], found.zero, strict=False)]
        moved = [a or b for a, b in zip(varied[start:end], found.varied, strict=False)]
        if after == zero[start:end] and moved == varied[start:end]:
            break
        zero = [*zero[:start], *after, *zero[end:]]
        varied = [*varied[:start], *moved, *varied[end:]]
    return (
        found if runs else Flags([*after, *found.zero[carries:]], [*moved, *found.varied[carries:]])
    )


def _sweep(p: While, given: Flags) -> Flags:
    """Return the flags of a loop of unknown length, whose sweeps hand rows on."""
    constants, carries = zip(*map(p.split, given), strict=True)
    rows, results = Flags([], []), Flags([], [])
    for k, body in enumerate(p.sweeps):
        n = p.carries[k]
        operands = [
            [*own, *groups[k], *left]
            for own, groups, left in zip(constants, carries, rows, strict=True)
        ]
        found = _repeat(body, p.constants, n, Flags(*operands), runs=False)
        for flags, ended, left in zip(found, results, rows, strict=True):
            ended += flags[:n]
            left += flags[n:]
    return results
