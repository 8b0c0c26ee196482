"""Times of compiled and of traced gradients of every second workload."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

# behind the funcdiff that asv installed, which is of the commit that is measured
sys.path.append(str(Path(__file__).parents[3]))

from docs.benchmarks.workloads.in_numpy import funcdiff_eager, funcdiff_jit
from docs.benchmarks.workloads.registry import WORKLOADS
from docs.benchmarks.workloads.timing import must_agree
from docs.benchmarks.workloads.workload import Function

CHOSEN = {w.name: w for w in WORKLOADS[::2]}
WARM_CALLS = 16
"""After so many, programs are compiled."""


class Compiled:
    """``fd.jit(fd.grad(f))``, in CPU time."""

    params = (list(CHOSEN),)
    param_names = ("workload",)
    timer = time.process_time
    timeout = 300
    made = staticmethod(funcdiff_jit)

    def setup(self, name: str) -> None:
        """Call the derivative until it is compiled, and compare it with that by hand."""
        w = CHOSEN[name]
        self.arguments: tuple[Any, ...] = w.drawn()
        self.derivative: Function = self.made(w)
        for _ in range(WARM_CALLS):
            found = self.derivative(*self.arguments)
        must_agree(found, w.by_hand(*self.arguments))

    def time_gradient(self, name: str) -> None:
        """A warm call."""
        self.derivative(*self.arguments)


class Traced(Compiled):
    """``fd.grad(f)``, in CPU time."""

    made = staticmethod(funcdiff_eager)
