"""Measurements in a process of its own, whose libraries have one thread."""

from __future__ import annotations

import dataclasses
import json
import sys
import warnings
from pathlib import Path

import funcdiff as fd
from docs.benchmarks.gradbench.hello import HELLO
from docs.benchmarks.gradbench.registry import chosen
from docs.benchmarks.gradbench.tables import HEAD, WARM, row
from docs.benchmarks.workloads.contestants import CONTESTANTS
from docs.benchmarks.workloads.in_numpy import loaded
from docs.benchmarks.workloads.machine import machine
from docs.benchmarks.workloads.options import Options
from docs.benchmarks.workloads.timing import measure


def main(options: Options) -> None:
    """Measure, print a row for each workload, and write what there is so far."""
    contestants = [c for c in CONTESTANTS if c.name in WARM and c.is_installed()]
    if any(c.module == "torch" for c in contestants):
        loaded("torch").set_num_threads(options.threads)
    fd.set_num_threads(options.threads)
    measure(HELLO, contestants, options)  # libraries are loaded by it
    print(HEAD, flush=True)
    found = machine() | {
        "threads": options.threads,
        "bits": options.bits,
        "cpu time": options.cpu_time,
        "workloads": [],
    }
    for w in chosen(options.only):
        figures = measure(w, contestants, options)
        print(row(figures), flush=True)
        found["workloads"].append(dataclasses.asdict(figures))
        Path(options.output).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Options(**json.loads(sys.argv[1])))
