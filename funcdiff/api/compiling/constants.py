"""Constant folding: computes once, for a compiled function, terms in captured arrays alone.

They have, for good, the values that they had when it was traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from funcdiff.backend.kernels.kernels import fastest, prepare
from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.evaluate import evaluate, is_repeatable
from funcdiff.core.overwriting import is_fresh
from funcdiff.core.program import Program
from funcdiff.core.quiet import quiet
from funcdiff.core.walk import cut

_FEWEST: Final = 1024
"""Elements that are computed, from which on this is worth it."""

_MOST: Final = 1 << 26
"""Bytes that are kept, at most."""


def fastest_with(
    program: Program, first: int, captures: Sequence[Any], *, native: bool
) -> Callable[..., list[Any]]:
    """Return what runs a program whose inputs from `first` on have these values for good.

    It takes them all the same.
    """
    ready = prepare(program)
    kept = _constant_equations(ready, first)
    if sum(v.type.size for k in kept for v in ready.equations[k].results) < _FEWEST:
        return fastest(program, native=native)
    constants, rest = _split(ready, first, kept)
    if sum(t.size * t.dtype.itemsize for t in constants.output_types) > _MOST:
        return fastest(program, native=native)
    try:
        values = quiet(evaluate, constants, captures)
    except Exception:  # which comes again where the line of the user's is known
        return fastest(program, native=native)
    execute = fastest(rest, native=native)
    return lambda *operands: execute(*operands, *values)


def _constant_equations(program: Program, first: int) -> set[int]:
    """Return the places of equations that depend on inputs from `first` on alone.

    What is handed on to other equations is no view and not larger than the inputs that it is made
    of, and no result shares memory with it.
    """
    sizes: dict[Atom, int] = {v: v.type.size for v in program.inputs[first:]}
    kept = set()
    for place, eq in enumerate(program.equations):
        known = [sizes[x] for x in eq.operands if x in sizes]
        constant = all(x in sizes or isinstance(x, Literal) for x in eq.operands)
        if known and constant and is_repeatable((eq,)) and not eq.operation.ends:
            kept.add(place)
            sizes.update((v, max(known)) for v in eq.results)
    needed: set[Atom] = set()
    shared: set[Atom] = set(program.outputs)
    for place in reversed(range(len(program.equations))):
        eq = program.equations[place]
        if place in kept and shared.isdisjoint(eq.results):
            handed_on = [v for v in eq.results if v in needed]
            moves = eq.primitive.implementation.view or eq.primitive.facts.elements == "moved"
            if not handed_on or not (moves or any(v.type.size > sizes[v] for v in handed_on)):
                continue
        kept.discard(place)
        needed.update(eq.operands)
        if not is_fresh(eq) and not shared.isdisjoint(eq.results):
            shared.update(eq.operands)
    return kept


def _split(program: Program, first: int, kept: set[int]) -> tuple[Program, Program]:
    """Return the programs of the constants, and of the outputs by inputs and constants."""
    others = (eq for place, eq in enumerate(program.equations) if place not in kept)
    used = {x for eq in others for x in eq.operands}
    constants = [v for place in sorted(kept) for v in program.equations[place].results if v in used]
    once = cut(program, program.inputs[first:], constants)
    return once, cut(program, [*program.inputs, *constants], program.outputs)
