"""What a gradient costs, as a multiple of its function, for every call pattern at realistic size.

Run ``python docs/benchmarks/costs.py [family ...]``.  Each function runs on plain NumPy arrays of
about 1e5 elements (matrices: 200 x 200), and the gradient of a weighted sum of its results is
timed warm, in turn with it; the smallest of the rounds is taken.  Patterns whose ratio is above 6
are printed, then the median and the extremes of each family.

``--slopes`` times at three sizes, and prints the patterns whose gradient grows faster than the
function: by the exponents p of time = size**p, between the two larger sizes.
"""

from __future__ import annotations

import math
import statistics
import sys
import timeit
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

import funcdiff as fd
from tests.patterns.pattern import SIZE, Pattern, smooth
from tests.patterns.tables import FAMILIES

ROUNDS, BUDGET, LIMIT = 5, 0.03, 6.0
SIZES, STEEPER = (SIZE // 4, SIZE, 4 * SIZE), 0.35


def times(p: Pattern, size: int) -> tuple[float, float]:
    """Return the times of the function and of its gradient in seconds."""
    values = p.large_values(size)
    places = smooth(values)

    def function(*xs: Any) -> list[Any]:
        changed = list(values)
        for k, x in zip(places, xs, strict=True):
            changed[k] = x
        results = fd.pytree.flatten(p.function(np, *changed))[0]
        return [y for y in results if y.dtype.kind in "fc"]

    xs = [values[k] for k in places]
    cotangents = [np.ones_like(y)[()] for y in function(*xs)]
    plain = fastest(lambda: function(*xs))
    pulled = fastest(lambda: fd.vjp(function, *xs)[1](cotangents))
    return plain, pulled


def fastest(call: Callable[[], Any]) -> float:
    """Return the smallest time of a call in seconds; the first calls are not counted."""
    call()
    once = timeit.timeit(call, number=1)
    number = max(1, min(100, int(BUDGET / max(once, 1e-9))))
    return min([once, *(t / number for t in timeit.repeat(call, number=number, repeat=ROUNDS))])


def report(family: str) -> None:
    """Print the patterns of one family above the limit, and its summary."""
    ratios = {}
    for p in FAMILIES[family]:
        if p.large == ():
            continue
        try:
            plain, pulled = times(p, SIZE)
            ratios[p.name] = pulled / plain
        except Exception as error:  # a pattern without a larger form shows up in the list
            print(f"    failed: {p.name}: {error!r:.110}")
            continue
        if ratios[p.name] > LIMIT:
            print(f"  {ratios[p.name]:7.1f} x  {plain * 1e3:9.3f} ms  {p.name}")
    if not ratios:
        return
    middle, worst = statistics.median(ratios.values()), max(ratios.values())
    above = sum(r > LIMIT for r in ratios.values())
    print(f"{family}: {len(ratios)} patterns, median {middle:.1f} x, worst {worst:.1f} x, "
          f"{above} above {LIMIT:.0f} x")  # fmt: skip


def report_slopes(family: str) -> None:
    """Print the patterns of one family whose gradient grows faster than the function."""
    for p in FAMILIES[family]:
        if p.large == ():
            continue
        try:
            timed = [times(p, size) for size in SIZES]
        except Exception as error:  # a pattern without a larger form shows up in the list
            print(f"    failed: {p.name}: {error!r:.110}")
            continue
        (a, b), (c, d) = timed[-2:]
        plain, pulled = (math.log(x) / math.log(SIZES[-1] / SIZES[-2]) for x in (c / a, d / b))
        if pulled > plain + STEEPER and d > LIMIT * c:
            ratios = " ".join(f"{y / x:7.1f} x" for x, y in timed)
            print(f"  {plain:5.2f} -> {pulled:5.2f}  {ratios}  {p.name}")
    print(f"{family}: exponents of the function and its gradient, ratios at {SIZES}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    show = report_slopes if "--slopes" in sys.argv else report
    for name in [a for a in sys.argv[1:] if a != "--slopes"] or FAMILIES:
        show(name)
