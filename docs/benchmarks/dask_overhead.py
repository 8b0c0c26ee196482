"""What `fd.dask` costs beside the work: on a cluster of two processes with one thread each.

Run ``python -m docs.benchmarks.dask_overhead [--repeats 40]`` on a quiet machine.  The work is
that of the same compiled calls, one block after the other, half of them in each worker at the same
time; the best of each counts.  The last line is the fit ``a + b·chunks`` to the overhead of chunks
that take no time.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import funcdiff as fd
from docs.benchmarks.workloads.machine import machine
from funcdiff.dask.data import Data
from funcdiff.dask.shipping import Code, Given, step_of

FEATURES: Final = 20
SMALL: Final = 10
CASES: Final = (
    *((chunks, SMALL) for chunks in (1, 5, 20, 50, 100, 200)),
    (20, 30_000), (200, 30_000), (100, 150_000),
)  # fmt: skip
"""Numbers of chunks, and of rows in each."""


def loss(w: Any, X: Any, y: Any) -> Any:
    """Return the logistic loss of a block."""
    return np.sum(np.logaddexp(0.0, -y * (X @ w)))


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def work(code: Code, given: Given, chunks: int, rows: int) -> float:
    """Return how long the blocks take one after the other; at most 20 different ones are made."""
    rng = np.random.default_rng(0)
    blocks = [(rng.normal(size=(rows, FEATURES)), np.ones(rows)) for _ in range(min(20, chunks))]
    for block in blocks:
        code(given, block)
    return seconds(lambda: [code(given, blocks[k % 20]) for k in range(chunks)])


def measure(client: Any, chunks: int, rows: int, repeats: int) -> tuple[list[float], float, float]:
    """Return seconds of calls, the CPU time of client and scheduler at best, the least work."""
    rng = da.random.default_rng(0)
    X = rng.normal(size=(chunks * rows, FEATURES), chunks=(rows, FEATURES))
    X, y = client.persist([X, da.ones(chunks * rows, chunks=rows)])
    wait([X, y])
    gradient, w = fd.dask.value_and_grad(loss), np.linspace(-1.0, 1.0, FEATURES)
    step, _ = step_of("work", fd.value_and_grad(loss), (w,), Data.of("work", (X, y), {}), {rows})
    workers = list(client.scheduler_info()["workers"])
    calls, clocks, least = [], [], np.inf
    for k in range(repeats):
        used = time.process_time()
        calls.append(seconds(partial(gradient, w + k / repeats, X, y)))
        clocks.append(time.process_time() - used)
        if k % 8 == 7:
            parts = [(chunks + 1) // 2, chunks // 2]
            found = [
                client.submit(work, step.code, step.given, part, rows, workers=[at], pure=False)
                for part, at in zip(parts, workers, strict=True)
            ]
            least = min(least, max(client.gather(found)))
    return calls, min(clocks), least


def main() -> None:
    """Print a table and the fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    repeats = max(8, parser.parse_args().repeats)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']:.1f}; milliseconds")
    print("| chunks | rows | first | best | median | client and scheduler | work | overhead |")
    print("|---" * 8 + "|")
    points = {}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):
        for chunks, rows in CASES:
            calls, clock, least = measure(client, chunks, rows, repeats)
            overhead = min(calls) - least
            cells = [calls[0], min(calls), float(np.median(calls)), clock, least, overhead]
            shown = " | ".join(f"{1e3 * cell:.1f}" for cell in cells)
            print(f"| {chunks} | {rows} | {shown} |", flush=True)
            if rows == SMALL:
                points[chunks] = 1e3 * overhead
    slope, start = np.polyfit(list(points), list(points.values()), 1)
    print(f"overhead = {start:.1f} ms + {slope:.2f} ms · chunks")


if __name__ == "__main__":
    main()
