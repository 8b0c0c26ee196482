"""Programs of recordings, to be compiled and differentiated: simplified, and long ones in loops.

A Python loop of 10⁵ turns is a program of as many equations, and its derivative one of several
times as many; of a `scan` the derivative is derived once, for all iterations.
"""

from __future__ import annotations

from typing import Final

from funcdiff.core.program import Program
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.running.memo import memoised
from funcdiff.passes.loops.distribution import distribute
from funcdiff.passes.loops.rerolling import roll
from funcdiff.passes.simplify import simplify

LONG: Final = 1000
"""Equations from which loops are looked for: below, what is repeated runs more quickly without."""


_ROLLED: Final = 8  # equations for one in a loop, which takes some 10 µs


def is_loop(recording: Recording) -> bool:
    """Whether a recording is long, and its program with loops in it short."""
    count = len(recording[0])
    return count >= LONG and len(recorded(recording).equations) * _ROLLED <= count


@memoised
def recorded(recording: Recording) -> Program:
    """Return the program of a recording: if it is long and nobody reads it, with loops in it."""
    program = program_of(*recording)
    if len(program.equations) < LONG or program.origins is not None:
        return simplify.__wrapped__(program)  # the result alone is kept
    short = simplify.__wrapped__(roll.__wrapped__(program))  # of long ones it takes most memory
    return distribute.__wrapped__(roll.__wrapped__(short))
