"""Times of the contestants of a workload, in rounds that take turns within one process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from docs.benchmarks.workloads.contestants import Contestant
from docs.benchmarks.workloads.options import Options
from docs.benchmarks.workloads.trees import converted
from docs.benchmarks.workloads.workload import Workload
from funcdiff.pytree import flatten_with_paths

SAMPLE: Final = 0.02
"""Seconds that the calls of one contestant in one round take together, unless one takes longer."""
WARM_CALLS: Final = 8
"""Calls before the first round: programs are compiled, as funcdiff does what came back six times,
and allocators have their memory."""
MANY_WARM_CALLS, WARM_SECONDS = 1300, 1.0
"""Calls while there is time: `jit` asks again after 300, 600 and 1200 which engine pays."""
FEW_WARM_CALLS: Final = 3
"""The same of contestants whose calls take seconds."""
TOO_LONG: Final = 4.0
"""A call that takes so many times the budget is timed once."""


@dataclass
class Figures:
    """What was measured of one workload.

    Attributes
    ----------
    name
        The workload's name.
    seconds
        Of each contestant, the seconds of a call in each round; None where it sat out.
    first
        Of each contestant, the seconds of CPU time of its first call.
    peaks
        Of each contestant, the bytes that a warm call holds at most.
    left_out
        Why a contestant did not take part.
    is_loop
        Whether it is many small steps in a row.
    """

    name: str
    seconds: dict[str, list[float | None]] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    is_loop: bool = False

    def median(self, contestant: str) -> float:
        """Return the median time of a call, in seconds."""
        return statistics.median(t for t in self.seconds[contestant] if t is not None)

    def ratio(self, contestant: str, reference: str) -> float | None:
        """Return the median over rounds of one time by another; None if one did not take part."""
        pairs = zip(self.seconds.get(contestant, ()), self.seconds.get(reference, ()), strict=False)
        ratios = [a / b for a, b in pairs if a is not None and b is not None]
        return statistics.median(ratios) if ratios else None


def measure(w: Workload, contestants: Sequence[Contestant], options: Options) -> Figures:
    """Check that all agree, and time them."""
    figures = Figures(w.name, left_out=dict(w.left_out), is_loop=w.is_loop)
    arguments = w.drawn()
    expected = w.by_hand(*arguments)
    calls: dict[str, Callable[[], Any]] = {}
    for c in contestants:
        if c.name in w.left_out:
            continue
        try:
            given = c.arrays(arguments)
            start = time.process_time()
            derivative = c.make(w)
            found = derivative(*given)
            figures.first[c.name] = time.process_time() - start
            must_agree(found, expected)
        except Exception as error:  # the others are measured all the same
            figures.left_out[c.name] = f"{type(error).__name__}: {error}"
            continue
        calls[c.name] = partial(derivative, *given)
    take_turns(figures, calls, options)
    return figures


def must_agree(found: Any, expected: Any) -> None:
    """Raise unless two containers hold the same numbers, up to rounding."""
    trees = (converted(np.asarray, tree) for tree in (found, expected))
    found, expected = (dict(flatten_with_paths(tree)[0]) for tree in trees)
    assert found.keys() == expected.keys(), f"{list(found)} for {list(expected)}"
    for path, x in found.items():
        y = expected[path]
        tolerance = 2e-3 if y.dtype == np.float32 else 1e-7
        scale = float(np.max(np.abs(y), initial=1e-30))
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale, err_msg=path)


def take_turns(figures: Figures, calls: Mapping[str, Callable[[], Any]], options: Options) -> None:
    """Time every contestant in every round; a slow one in some of them, or in one."""
    numbers, strides = {}, {}
    clock = time.process_time if options.cpu_time else time.perf_counter
    rounds, share = options.rounds, options.budget / len(calls)
    for name, call in calls.items():
        once = warm(call, options, clock)
        if once > TOO_LONG * options.budget:
            figures.seconds[name] = [once, *[None] * (rounds - 1)]
            continue
        numbers[name] = max(1, min(1000, int(SAMPLE / max(once, 1e-9))))
        spent = once * numbers[name]
        fewest = 1 if once > options.budget else 2
        affordable = max(fewest, min(rounds, int(share / spent)))
        strides[name] = rounds // affordable
    gc.collect()
    gc.freeze()  # what compilers have left is not looked through again in every round
    order = list(numbers)
    figures.seconds |= {name: [] for name in order}
    for k in range(rounds):
        for name in order[k % len(order) :] + order[: k % len(order)]:
            takes_part = k % strides[name] == 0
            time_of_call = timed(calls[name], numbers[name], clock) if takes_part else None
            figures.seconds[name].append(time_of_call)


def warm(
    call: Callable[[], Any], options: Options, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the smallest time of some first calls: of few slow ones, of one that is too long."""
    times = [timed(call, 1, clock)]
    while len(times) < MANY_WARM_CALLS and sum(times) < WARM_SECONDS:
        times.append(timed(call, 1, clock))
    longest = options.budget * TOO_LONG
    while len(times) < WARM_CALLS and (
        sum(times) < 10.0 * options.budget or (len(times) < FEW_WARM_CALLS and times[0] < longest)
    ):
        times.append(timed(call, 1, clock))
    return min(times)


def timed(
    call: Callable[[], Any], number: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the mean time of some calls in a row, in seconds."""
    start = clock()
    for _ in range(number):
        call()
    return (clock() - start) / number
