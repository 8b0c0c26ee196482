"""How the gradient of a loop over single elements grows with their number."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Final

from docs.benchmarks.workloads.in_numpy import by_hand, funcdiff_eager, funcdiff_jit
from docs.benchmarks.workloads.indexing import reads
from docs.benchmarks.workloads.timing import FEW_WARM_CALLS as WARM_CALLS
from docs.benchmarks.workloads.timing import timed

SMALLEST: Final = 1000


def slopes(largest: int) -> dict[str, list[float]]:
    """Return the sizes under "n", and the CPU time of a warm call of each, in seconds."""
    sizes = (SMALLEST, math.isqrt(SMALLEST * largest), largest)
    times: dict[str, list[float]] = {"by hand": [], "fd.jit": [], "fd": []}
    for n in sizes:
        w = reads(n)
        arguments = w.drawn()
        for name, make in (("by hand", by_hand), ("fd.jit", funcdiff_jit), ("fd", funcdiff_eager)):
            call = partial(make(w), *arguments)
            for _ in range(WARM_CALLS):
                call()
            times[name].append(min(timed(call, 1, time.process_time) for _ in range(2)))
    return {"n": list(sizes), **times}
