"""Measurements in a process of its own, whose libraries use a given number of threads.

The number must be set before they are imported, so `__main__` starts this module with the
variables of `environment` and `Options` as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import funcdiff as fd
from docs.benchmarks.workloads.contestants import CONTESTANTS, Contestant
from docs.benchmarks.workloads.first_calls import first_calls
from docs.benchmarks.workloads.in_numpy import loaded
from docs.benchmarks.workloads.machine import machine
from docs.benchmarks.workloads.options import Options
from docs.benchmarks.workloads.registry import chosen
from docs.benchmarks.workloads.slopes import slopes
from docs.benchmarks.workloads.tables import head, line
from docs.benchmarks.workloads.timing import WARM_CALLS, measure


def takes_part(c: Contestant, options: Options) -> bool:
    """Return whether a contestant is asked for."""
    if options.contestants:
        return c.name in options.contestants
    return c.is_peer


def main(options: Options) -> Iterator[dict[str, Any]]:
    """Measure, print a line for each workload, and yield everything that there is so far."""
    contestants = [c for c in CONTESTANTS if c.is_installed() and takes_part(c, options)]
    if any(c.module == "torch" for c in contestants):
        loaded("torch").set_num_threads(options.threads)
    if hasattr(fd, "set_num_threads"):
        fd.set_num_threads(options.threads)
    print(head(options.threads, options.bits), flush=True)
    found = machine() | {
        "threads": options.threads,
        "bits": options.bits,
        "rounds": options.rounds,
        "warm calls": WARM_CALLS,
        "cpu time": options.cpu_time,
        "workloads": [],
        "first calls": first_calls(contestants) if options.further else {},
        "slopes": slopes(options.largest) if options.further else {},
    }
    for w in chosen(options.only):
        figures = measure(w, contestants, options)
        print(line(figures), flush=True)
        found["workloads"].append(dataclasses.asdict(figures))
        yield found | {"load": os.getloadavg()[1]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = Options(**json.loads(sys.argv[1]))
    for figures_so_far in main(given):
        Path(given.output).write_text(json.dumps(figures_so_far))
