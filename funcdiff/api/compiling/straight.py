"""Compiled functions that do not branch: one program, whose constants are computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.arguments import operand
from funcdiff.api.calls.tracing import Trace, rebuild, run
from funcdiff.backend.kernels import fastest, owns_results, prepare
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.program import Program
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.dataflow import is_fresh
from funcdiff.core.running.evaluate import copy_aliased, evaluate, is_repeatable
from funcdiff.core.running.walk import cut
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InternalError, user_location, went_through_users_code
from funcdiff.pytree.structure import assembler


class Hits:
    """How many calls of a jitted function found a program that does not branch."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Straight(NamedTuple):
    """A program with the trace that it comes from, and what runs it if it is kept."""

    program: Program
    trace: Trace
    execute: Callable[..., list[Any]] | None = None

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Return results that share no memory with anything."""
        if self.execute is None or any(isinstance(x, Tracer) for x in operands):
            return run(self.program, operands, self.trace, derived=False)
        try:
            results = quiet(self.execute, *operands)
        except InternalError:
            raise
        except Exception as error:
            self.refuse_to_repeat(error)
        else:
            return copy_aliased(results, operands)
        return run(
            self.program, operands, self.trace, derived=False
        )  # which raises again, and says where

    def refuse_to_repeat(self, error: Exception) -> None:
        """Raise the error of a run that had effects, which must not happen again.

        So does one that a signal handler of the user's raised, as for a time limit.
        """
        if not is_repeatable(self.program.equations):
            error.add_note(f"funcdiff: in a compiled program that was run at {user_location()}")
            raise error
        if went_through_users_code(error):
            raise error


def rebuild_results(trace: Trace, results: Sequence[Any]) -> Any:
    """Return results as the traced function returns them."""
    return rebuild(trace.structure, trace.numeric, results, trace.others)


def shortcut(
    found: Straight, execute: Callable[..., list[Any]], hits: Hits, *, converts: bool
) -> Callable[..., Any]:
    """Return what runs a compiled program on plain numbers, and does no more than it has to."""
    program, trace, _ = found
    captures = trace.captures
    is_array = trace.is_array
    assemble = assembler(trace.structure) if all(trace.numeric) else None
    owns = isinstance(execute, Attempt) or owns_results(program)
    floats = execute if isinstance(execute, Attempt) and not execute.warns else None

    def call(args: Sequence[Any], *_: Any) -> Any:
        hits.count += 1
        results = None
        try:
            if floats is not None:  # which it takes, and nothing warns
                results = floats.quick(*args, *captures)
            elif owns:
                if converts:
                    args = [*map(operand, args)]
                results = quiet(execute, *args, *captures)
            else:
                results = found([*map(operand, args), *captures])
        except Exception as error:
            found.refuse_to_repeat(error)
        if results is None:
            results = found([*map(operand, args), *captures])  # which raises again, and says where
        if is_array:
            return results[0]
        if assemble is not None:
            return assemble(results)
        return rebuild(trace.structure, trace.numeric, results, trace.others)

    return call


# ---- Constant folding: computes once, for a compiled function, terms in captured arrays alone ----
#
# They have, for good, the values that they had when it was traced.


_FEWEST: Final = 1024
"""Elements that are computed, from which on this is worth it."""

_CALL: Final = 64
"""Elements that take as long as a call."""

_MOST: Final = 1 << 26
"""Bytes that are kept, at most."""


class Folded(NamedTuple):
    """What is left of a program whose last inputs have their values for good."""

    program: Program
    bound: list[Any]  # the values of its last inputs


def fold(program: Program, first: int, captures: Sequence[Any]) -> Folded | None:
    """Compute once what follows from inputs from `first` on alone; None if that is not worth it."""
    ready = prepare(program)
    kept = _constant_equations(ready, first)
    if sum(_CALL + v.type.size for k in kept for v in ready.equations[k].results) < _FEWEST:
        return None
    constants, rest, used = _split(ready, first, kept)
    if sum(t.size * t.dtype.itemsize for t in constants.output_types) > _MOST:
        return None
    try:
        values = quiet(evaluate, constants, captures)
    except Exception:  # which comes again where the line of the user's is known
        return None
    in_order = [np.asarray(x, order="C") if isinstance(x, np.ndarray) else x for x in values]
    return Folded(rest, [*(captures[k] for k in used), *in_order])


def fastest_with(
    program: Program, first: int, captures: Sequence[Any], *, native: bool | None
) -> Callable[..., list[Any]]:
    """Return what runs a program whose inputs from `first` on have these values for good.

    It takes them all the same.
    """
    folded = fold(program, first, captures)
    if folded is None:
        return fastest(program, native=native)
    execute, bound = fastest(folded.program, native=native), folded.bound
    return lambda *operands: execute(*operands[:first], *bound)


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
            # as its largest operand, or as all of them together, which it may join
            sizes.update((v, max(*known, min(sum(known), v.type.size))) for v in eq.results)
    needed: set[Atom] = set()
    shared: set[Atom] = set(program.outputs)
    for place in reversed(range(len(program.equations))):
        eq = program.equations[place]
        if place in kept and shared.isdisjoint(eq.results):
            handed_on = [v for v in eq.results if v in needed]
            moves = eq.primitive.facts.elements == "moved" and not is_fresh(eq)
            moves = moves or eq.primitive.implementation.view
            if not handed_on or not (moves or any(v.type.size > sizes[v] for v in handed_on)):
                continue
        kept.discard(place)
        needed.update(eq.operands)
        if not is_fresh(eq) and not shared.isdisjoint(eq.results):
            shared.update(eq.operands)
    return kept


def _split(program: Program, first: int, kept: set[int]) -> tuple[Program, Program, list[int]]:
    """Return the programs of the constants, and of the outputs by inputs and constants.

    The second one takes the captured arrays that it uses, whose places come third.
    """
    others = (eq for place, eq in enumerate(program.equations) if place not in kept)
    used = {*program.outputs, *(x for eq in others for x in eq.operands)}
    constants = [v for place in sorted(kept) for v in program.equations[place].results if v in used]
    once = cut(program, program.inputs[first:], constants)
    places = [k for k, v in enumerate(program.inputs[first:]) if v in used]
    given = [*program.inputs[:first], *(program.inputs[first + k] for k in places), *constants]
    return once, cut(program, given, program.outputs), places
