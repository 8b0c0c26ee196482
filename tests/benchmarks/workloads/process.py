"""Measurements in a process of its own, whose libraries use a given number of threads.

The number must be set before they are imported, so `__main__` starts this module with the
variables of `environment` and `Options` as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import funcdiff as fd
from tests.benchmarks.workloads.contestants import CONTESTANTS, Contestant
from tests.benchmarks.workloads.first_calls import first_calls
from tests.benchmarks.workloads.in_numpy import loaded
from tests.benchmarks.workloads.options import Options, in_force, widest
from tests.benchmarks.workloads.registry import chosen
from tests.benchmarks.workloads.slopes import slopes
from tests.benchmarks.workloads.tables import head, line
from tests.benchmarks.workloads.timing import WARM_CALLS, measure

PACKAGES = ("numpy", "scipy", "autograd", "jax", "torch")


def cpu() -> str:
    """Return the model of the processor."""
    try:
        rows = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((r.split(":")[1].strip() for r in rows if r.startswith("model name")), "unknown")


def versions() -> dict[str, str]:
    """Return the versions of the libraries; those that are not installed are left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def takes_part(c: Contestant, options: Options) -> bool:
    """Return whether a contestant is asked for."""
    if options.contestants:
        return c.name in options.contestants
    return c.is_peer or options.further


def main(options: Options) -> dict[str, Any]:
    """Measure, print a line for each workload, and return everything."""
    contestants = [c for c in CONTESTANTS if c.is_installed() and takes_part(c, options)]
    if any(c.module == "torch" for c in contestants):
        loaded("torch").set_num_threads(options.threads)
    if hasattr(fd, "set_num_threads"):
        fd.set_num_threads(options.threads)
    print(head(options.threads, options.bits), flush=True)
    measured = []
    for w in chosen(options.only):
        figures = measure(w, contestants, options)
        print(line(figures), flush=True)
        measured.append(dataclasses.asdict(figures))
    return {
        "threads": options.threads,
        "bits": options.bits,
        "widest": widest(),
        "cpu time": options.cpu_time,
        "in force": in_force(),
        "rounds": options.rounds,
        "warm calls": WARM_CALLS,
        "load": os.getloadavg()[1],
        "cores": len(os.sched_getaffinity(0)),
        "cpu": cpu(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "workloads": measured,
        "first calls": first_calls(contestants) if options.further else {},
        "slopes": slopes(options.largest) if options.further else {},
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = Options(**json.loads(sys.argv[1]))
    Path(given.output).write_text(json.dumps(main(given)))
