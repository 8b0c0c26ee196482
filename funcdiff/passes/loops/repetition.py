"""Finds repeated sequences of equations in a program: candidates for loop rerolling.

A Python loop is recorded iteration by iteration, and so is the backward pass of its derivative.
Equations that say the same, up to which variables they are of and where slices begin, stand one
period apart, for as many periods as there are iterations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.program import Equation, Program
from funcdiff.ops.structure.slicing import Slice
from funcdiff.passes.loops.stages import can_batch

FEWEST: Final = 16
"""Iterations from which equations are taken for a loop."""
_WINDOW: Final = 6
"""Equations that must be the same for a period to be tried."""
_MULTIPLES: Final = 4
"""Periods that may be one iteration."""
_TRIMMED: Final = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1))
"""How many iterations are left out at the beginning and at the end."""
_TRIED: Final = 8
"""Periods that are tried from one equation on."""


class Run(NamedTuple):
    """Equations ``[start, start + period * length)``, which are iterations of a loop."""

    start: int
    period: int
    length: int

    @property
    def stop(self) -> int:
        """The place behind the last iteration."""
        return self.start + self.period * self.length

    def guesses(self) -> Iterator[Run]:
        """Yield runs that may be a loop if this is none.

        The first or last iteration may be like the others in words alone, and what is repeated
        twice in an iteration has half of the period.
        """
        for times in range(1, _MULTIPLES + 1):
            for first, last in _TRIMMED:
                length = (self.length - first) // times - last
                if length >= FEWEST:
                    yield Run(self.start + first * self.period, self.period * times, length)


def runs(program: Program) -> Iterator[Run]:
    """Yield the runs of a program, in order."""
    words = _words(program.equations)
    n = len(words)
    if n < FEWEST * 2:
        return
    windows = _windows(words)
    places = defaultdict(list)
    for place, window in enumerate(windows.tolist()):
        places[window].append(place)
    following = {
        place: found[k + 1 : k + 1 + _TRIED]
        for found in places.values()
        if len(found) >= FEWEST - 2
        for k, place in enumerate(found)
    }
    place = 0
    while place < n:
        found = _run_at(words, windows, place, following.get(place, ()))
        if found is None:
            place += 1
        else:
            run = _turn(program, found)
            yield run
            place = run.stop


def _run_at(words: Any, windows: Any, start: int, others: Sequence[int]) -> Run | None:
    """Return the longest run that begins at a place."""
    best = None
    for other in others:
        period = other - start
        probe = windows[start : start + period * (FEWEST - 2) : period]
        if len(probe) < FEWEST - 2 or np.any(probe != probe[0]):
            continue
        same = words[start:-period] == words[start + period :]
        length = int(np.argmin(same)) if not same.all() else len(same)
        count = length // period + 1
        if count >= FEWEST and (best is None or count * period > best.length * best.period):
            best = Run(start, period, count)
    return best


def _turn(program: Program, run: Run) -> Run:
    """Return a run that begins where the fewest variables go from one iteration to the next."""
    first, period = run.start, run.period
    begin, places = first + period, range(first, first + 3 * period)
    makers = {v: k for k in places for v in program.equations[k].results}
    last = {atom: k for k in places for atom in program.equations[k].operands if atom in makers}
    crossing = [
        sum(makers[v] < begin + turn <= place for v, place in last.items())  # type: ignore[index]
        for turn in range(period)
    ]
    turn = int(np.argmin(crossing))
    return run if turn == 0 else Run(first + turn, period, run.length - 1)


def _words(equations: Sequence[Equation]) -> Any:
    """Return a number for each equation, the same for those that say the same."""
    known: dict[Hashable, int] = {}
    words = []
    for place, eq in enumerate(equations):
        # what cannot be in a loop is unlike everything else
        word: Hashable = _word(eq) if can_batch(eq) else place
        words.append(known.setdefault(word, len(known)))
    return np.array(words, np.int64)


def _word(eq: Equation) -> Hashable:
    params: Hashable = eq.params
    if isinstance(eq.params, Slice):
        params = (eq.params.lengths, eq.params.steps)
    operands = tuple((isinstance(atom, Literal), atom.type) for atom in eq.operands)
    return eq.primitive, params, operands, eq.results[0].type


def _windows(words: Any) -> Any:
    """Return a number for each equation and those behind it."""
    mixed = words.astype(np.uint64)
    total = np.zeros(len(words), np.uint64)
    for k in range(min(_WINDOW, len(words))):
        shifted = np.zeros_like(mixed)
        shifted[: len(words) - k] = mixed[k:]
        total = total * np.uint64(1_000_003) + shifted
    return total
