"""How long programs for autograd take, with autograd and with funcdiff in its place.

Run ``python -m docs.benchmarks.autograd_programs [program ...]`` with autograd installed (``pip
install -e ".[bench]"``).  A program runs in a process of its own, in which its first run and the
least of later runs are measured, in CPU time with one thread; the contestants take turns, and
medians of their processes are printed as a table of Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from docs.benchmarks.workloads.machine import cpu, versions
from funcdiff.autograd.imports import in_place_of_autograd
from tests.autograd.freeze import PROGRAMS

_LIBRARIES: Final[dict[str, Callable[[], AbstractContextManager[None]]]] = {
    "autograd": nullcontext,
    "funcdiff": in_place_of_autograd,
}
_LATER: Final = 5
"""How often a program is run again."""


def measure(library: str, program: str) -> list[float]:
    """Return the milliseconds of the first run and of the fastest later one."""
    warnings.simplefilter("ignore")

    def timed(run: Callable[[], Any]) -> float:
        start = time.process_time()
        run()
        return 1e3 * (time.process_time() - start)

    with _LIBRARIES[library]():
        run = runpy.run_path(str(PROGRAMS / f"{program}.py"))["run"]
        first, *later = [timed(run) for _ in range(1 + _LATER)]
    return [first, min(later)]


def measure_apart(library: str, program: str) -> list[float]:
    """Return the same, measured in another process."""
    command = [sys.executable, "-m", "docs.benchmarks.autograd_programs", program]
    found = subprocess.run(
        [*command, "--library", library], check=True, capture_output=True, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    times: list[float] = json.loads(found.stdout)
    return times


def row(program: str, processes: int) -> str:
    """Return a line of the table."""
    times: dict[str, list[list[float]]] = {library: [] for library in _LIBRARIES}
    for _ in range(processes):
        for library, found in times.items():
            found.append(measure_apart(library, program))
    theirs, ours = (
        [statistics.median(column) for column in zip(*found, strict=True)]
        for found in times.values()
    )
    cells = [program.replace("_", " ")]
    for a, b in zip(theirs, ours, strict=True):
        cells += [f"{a:.1f}", f"{b:.1f}", f"{a / b:.2f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    known = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="program", help=", ".join(known))
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--library", choices=_LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measure(options.library, options.programs[0])))
        return
    print(f"{cpu()}; " + ", ".join(f"{name} {found}" for name, found in versions().items()))
    print(
        "| program | first run, ms: autograd | funcdiff | autograd / funcdiff | later runs, ms: "
        "autograd | funcdiff | autograd / funcdiff |"
    )
    print("|---" * 7 + "|")
    for program in options.programs or known:
        print(row(program, options.processes), flush=True)


if __name__ == "__main__":
    main()
