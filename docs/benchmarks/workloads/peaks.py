"""Peaks of memory, each in a process of its own.

Every measurement is a fork of a process that has done nothing before but importing, so that none
sees what another has left: programs, caches, and what allocators keep.  What the calls import is
imported before memory is counted: a process before that one has found out what it is.
"""

from __future__ import annotations

import gc
import importlib
import json
import multiprocessing
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from docs.benchmarks.workloads.in_numpy import by_hand, funcdiff_eager, funcdiff_jit
from docs.benchmarks.workloads.options import Options
from docs.benchmarks.workloads.registry import chosen
from docs.benchmarks.workloads.workload import Function, Workload

COUNTED: Final[Mapping[str, Callable[[Workload], Function]]] = {
    "by hand": by_hand,
    "fd.jit": funcdiff_jit,
    "fd": funcdiff_eager,
}
"""Contestants all of whose arrays are NumPy's, so that `tracemalloc` sees them."""
WARM_CALLS: Final = 3
SMALLEST: Final = 1_000_000
"""Bytes below which memory is not of interest."""


def imported(make: Callable[[Workload], Function], w: Workload) -> list[str]:
    """Return the modules that calls import, in order."""
    before = set(sys.modules)
    derivative, arguments = make(w), w.drawn()
    for _ in range(WARM_CALLS):
        derivative(*arguments)
    return [name for name in sys.modules if name not in before]


def peak(make: Callable[[Workload], Function], w: Workload, modules: Iterable[str]) -> int:
    """Return the most bytes that a warm call holds, with all that it kept from earlier calls.

    The modules are imported before.
    """
    arguments = w.drawn()
    for name in modules:
        with suppress(ImportError):  # some are found by what imports them only
            importlib.import_module(name)
    gc.collect()
    tracemalloc.start()
    try:
        derivative = make(w)
        for _ in range(WARM_CALLS):
            derivative(*arguments)
        gc.collect()
        tracemalloc.reset_peak()
        derivative(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def alone(measure: Callable[[], Any], w: Workload) -> Any:
    """Return what a function does in a process of its own."""
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)

    def send(to: Connection) -> None:
        to.send(measure())

    child = processes.Process(target=send, args=(sender,))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError as error:
        raise RuntimeError(f"the process that measured {w.name} has ended early") from error
    finally:
        child.join()


def peak_alone(make: Callable[[Workload], Function], w: Workload) -> int:
    """Return `peak` of a process of its own."""
    modules = alone(partial(imported, make, w), w)
    found: int = alone(partial(peak, make, w, modules), w)
    return found


def peaks(w: Workload) -> dict[str, int]:
    """Return the peak of each contestant; none if the one by hand needs little."""
    first = peak_alone(by_hand, w)
    if first < SMALLEST:
        return {}
    return {name: peak_alone(make, w) for name, make in COUNTED.items()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    options = Options(**json.loads(sys.argv[1]))
    found = {w.name: peaks(w) for w in chosen(options.only)}
    Path(options.output).write_text(json.dumps(found))
