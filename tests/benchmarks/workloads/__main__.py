"""The command: ``python -m tests.benchmarks.workloads``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.workloads.comparison import compare
from tests.benchmarks.workloads.options import Options, environment
from tests.benchmarks.workloads.page import PAGE, page


def parsed() -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.workloads")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of names")
    parser.add_argument("--contestants", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--budget", type=float, default=2.5, help="seconds for each workload")
    parser.add_argument("--quick", action="store_true", help="5 rounds, a second for each workload")
    parser.add_argument("--cpu-time", action="store_true", help="for one thread on a busy machine")
    parser.add_argument(
        "--largest", type=int, default=100_000, help="reads in the loop whose growth is shown"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--write", action="store_true", help="regenerate docs/benchmarks.md")
    parser.add_argument("--profile", metavar="NAME", help="source and profiles of workloads")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two --json")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="of --json: measure nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.contestants):
        parser.error("--write writes the whole page: it goes without --only and --contestants")
    return arguments


def run(module: str, *arguments: str, threads: int) -> None:
    """Run a module of this package in a process of its own."""
    command = [sys.executable, "-m", f"tests.benchmarks.workloads.{module}", *arguments]
    subprocess.run(command, env=os.environ | environment(threads), check=True)


def measured(options: Options) -> dict[str, Any]:
    """Return the figures of a process with the given options."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "figures.json"
        given = dataclasses.replace(options, output=str(output))
        run("process", json.dumps(dataclasses.asdict(given)), threads=options.threads)
        figures: dict[str, Any] = json.loads(output.read_text())
        return figures


def main() -> None:
    """Measure with each number of threads, and write what was asked for."""
    arguments = parsed()
    if arguments.compare is not None:
        before, after = (json.loads(path.read_text(encoding="utf-8")) for path in arguments.compare)
        compare(before, after)
        return
    if arguments.profile is not None:
        run("profiling", arguments.profile, threads=arguments.threads[0])
        return
    if arguments.figures is not None:
        figures = json.loads(arguments.figures.read_text(encoding="utf-8"))
    else:
        figures = measure_all(arguments)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures), encoding="utf-8")
    if arguments.write:
        chosen = [run for run in figures if run["threads"] in arguments.threads]
        PAGE.write_text(page(chosen), encoding="utf-8")


def measure_all(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the figures for each number of threads."""
    if arguments.quick:
        arguments.rounds, arguments.budget = 5, 1.0
    return [
        measured(
            Options(
                only=arguments.only,
                contestants=arguments.contestants,
                rounds=arguments.rounds,
                budget=arguments.budget,
                threads=threads,
                largest=arguments.largest,
                cpu_time=arguments.cpu_time,
                output="",
            )
        )
        for threads in arguments.threads
    ]


if __name__ == "__main__":
    main()
