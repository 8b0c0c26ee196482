"""Prepares programs for compilation: rolls repeated equations into loops where that is quicker."""

from __future__ import annotations

from funcdiff.backend.code.lower import lower
from funcdiff.backend.code.source import LONGEST
from funcdiff.backend.numbers.estimates import estimate_time
from funcdiff.core.atoms import Atom, Var
from funcdiff.core.memo import memoised
from funcdiff.core.overwriting import is_fresh
from funcdiff.core.program import Equation, Program
from funcdiff.core.running import as_run
from funcdiff.passes.loops.distribution import distribute
from funcdiff.passes.loops.rolling import roll
from funcdiff.passes.neighbours import merge_neighbours
from funcdiff.space import broadcast_p


@memoised
def prepare(program: Program) -> Program:
    """Return the program that is compiled: with loops where that is quicker."""
    program = as_run(program)
    looped = merge_neighbours(distribute(roll(program)))
    many = len(program.equations) > LONGEST
    if not many and estimate_time(looped) > estimate_time(program):
        return merge_neighbours(distribute(program))
    return looped


def owns_results(program: Program) -> bool:
    """Whether every result of the kernel is a number, or an array in nobody else's memory.

    So it is if the program is interpreted, too.
    """
    ready = prepare(program)
    return all(_owns_results(p) for p in {program, ready, lower(ready)})


def _owns_results(program: Program) -> bool:
    owners: dict[Atom, Var] = {}
    varying: set[Atom] = set(program.inputs)  # what does not vary, a kernel keeps
    for eq in program.equations:
        if not varying.isdisjoint(eq.operands):
            varying.update(eq.results)
        if is_fresh(eq):
            owners.update((v, v) for v in eq.results if v in varying or v in program.outputs)
        elif eq.primitive.implementation.view and _is_most(eq):
            owner = owners.get(eq.operands[0])
            if owner is not None and owner in varying:
                owners[eq.results[0]] = owner
    found = [owners.get(atom) for atom in program.outputs]
    return None not in found and len(set(found)) == len(found)


def _is_most(eq: Equation) -> bool:
    """Whether a view has most of the elements of its operand, each of them once."""
    once = eq.primitive.facts.elements == "moved" and eq.primitive is not broadcast_p
    return once and 2 * eq.results[0].type.size > eq.operands[0].type.size
