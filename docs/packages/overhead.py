"""Measure how much longer calls of adapted functions take on plain values, and importing them.

``python -m docs.packages.overhead [--only NAME] [--json FILE]`` prints, for the cases of each
package, the least processor time of a call of the original and of the copy, in microseconds, and
what the copy takes beyond that; then the median and the worst of all.  Both are called in turn in
one process.  The times of importing are those of a package, and of its copy after that.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

import numpy as np

import funcdiff as fd
from docs.packages.__main__ import by_package
from docs.packages.cases import cases

ROUNDS: Final = 9
SECONDS: Final = 0.01
"""How long a round of calls of one function takes, about."""
GOAL: Final = 5.0
"""How many microseconds of a call are to be ours, at most."""


def duration(f: Callable[[Any], Any], x: Any, calls: int) -> float:
    """Return the processor time of a call, in microseconds."""
    start = process_time()
    for _ in range(calls):
        f(x)
    return (process_time() - start) / calls * 1e6


def pair(plain: Callable[[Any], Any], adapted: Callable[[Any], Any], x: Any) -> tuple[float, float]:
    """Return the processor times of a call of each, in microseconds, the least of some rounds."""
    adapted(x)
    calls = max(1, int(SECONDS * 1e6 / max(duration(plain, x, 3), 0.1)))
    rounds = [(duration(plain, x, calls), duration(adapted, x, calls)) for _ in range(ROUNDS)]
    return min(a for a, _ in rounds), min(b for _, b in rounds)


def measured(package: str) -> dict[str, Any]:
    """Return the times of importing a package and its copy, and of calls of its cases."""
    chosen = [case for case in cases() if case.package == package]
    start = process_time()
    for case in chosen:
        case.function(import_module)
    middle = process_time()
    for case in chosen:
        case.function(fd.adapt)
    imports = [middle - start, process_time() - middle]
    calls = {}
    for case in chosen:
        try:
            plain, adapted = case.function(import_module), case.function(fd.adapt)
            calls[case.title] = pair(plain, adapted, case.point())
        except Exception as error:
            print(f"{case.title}: {error}", file=sys.stderr)
    return {"package": package, "imports": imports, "calls": calls}


def main() -> None:
    """Measure the packages that are asked for, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="packages to run")
    parser.add_argument("--one", metavar="NAME", help="measure a package in this process")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    arguments = parser.parse_args()
    if arguments.one:
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        logging.disable()
        print(json.dumps(measured(arguments.one)))
        return
    rows = []
    for group in by_package(
        c for c in cases() if c.package in arguments.only or not arguments.only
    ):
        command = [sys.executable, "-m", "docs.packages.overhead", "--one", group[0].package]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(ended.stdout.splitlines()[-1]))
        report(rows[-1])
    over = [b - a for row in rows for a, b in row["calls"].values()]
    print(
        f"{len(over)} functions: {median(over):.1f} us more in the median, {max(over):.1f} at most,"
        f" {sum(x <= GOAL for x in over)} below {GOAL} us"
    )
    first, second = (sum(row["imports"][k] for row in rows) for k in (0, 1))
    print(f"imports: {first:.1f} s, and {second:.1f} s of the copies")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def report(row: dict[str, Any]) -> None:
    """Print the figures of a package."""
    first, second = row["imports"]
    print(f"{row['package']}: {first:.2f} s to import, {second:.2f} s the copy", flush=True)
    for title, (a, b) in row["calls"].items():
        print(f"  {title:60} {a:10.1f} {b:10.1f} {b - a:8.1f} ({b / a:.2f})", flush=True)


if __name__ == "__main__":
    main()
