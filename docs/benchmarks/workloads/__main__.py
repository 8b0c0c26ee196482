"""The command: ``python -m docs.benchmarks.workloads``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docs.benchmarks.workloads.comparison import compare
from docs.benchmarks.workloads.options import Options, environment, widest
from docs.benchmarks.workloads.page import PAGE, page


def parsed() -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(prog="python -m docs.benchmarks.workloads")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts of names")
    parser.add_argument("--contestants", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--budget", type=float, default=2.5, help="seconds for each workload")
    parser.add_argument("--quick", action="store_true", help="5 rounds, warm times only")
    parser.add_argument("--cpu-time", action="store_true", help="for one thread on a busy machine")
    parser.add_argument(
        "--largest", type=int, default=100_000, help="reads in the loop whose growth is shown"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--bits", type=int, nargs="+", default=[256, 512], help="of vectors, with one thread"
    )
    parser.add_argument("--write", action="store_true", help="regenerate docs/benchmarks.md")
    parser.add_argument("--profile", metavar="NAME", help="source and profiles of workloads")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="two --json")
    parser.add_argument(
        "--figures", type=Path, nargs="+", metavar="FILE", help="of --json: measure nothing"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.contestants):
        parser.error("--write writes the whole page: it goes without --only and --contestants")
    return arguments


def run(module: str, *arguments: str, threads: int, bits: int) -> None:
    """Run a module of this package in a process of its own."""
    command = [sys.executable, "-m", f"docs.benchmarks.workloads.{module}", *arguments]
    subprocess.run(command, env=environment(threads, bits), check=True)


def measured(options: Options) -> dict[str, Any]:
    """Return the figures of a process with the given options."""
    figures: dict[str, Any] = written_by("process", options)
    if options.further:
        peaks = written_by("peaks", options)
        for w in figures["workloads"]:
            w["peaks"] = peaks[w["name"]]
        if find_spec("autograd"):
            figures["unseen"] = unseen(options)
    return figures


def written_by(module: str, options: Options) -> Any:
    """Return what a module of this package writes."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "figures.json"
        given = json.dumps(dataclasses.asdict(dataclasses.replace(options, output=str(output))))
        run(module, given, threads=options.threads, bits=options.bits)
        return json.loads(output.read_text())


def unseen(options: Options) -> Any:
    """Return what derivatives of functions cost that were never seen before."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "figures.json"
        command = [sys.executable, "-m", "docs.benchmarks.first_sight", "--json", str(output)]
        command += ["--most", str(min(options.largest, 10_000))]
        subprocess.run(command, env=environment(options.threads, options.bits), check=True)
        return json.loads(output.read_text())


def main() -> None:
    """Measure with each number of threads, and write what was asked for."""
    arguments = parsed()
    if arguments.compare is not None:
        before, after = (json.loads(path.read_text(encoding="utf-8")) for path in arguments.compare)
        compare(before, after)
        return
    if arguments.profile is not None:
        run("profiling", arguments.profile, threads=arguments.threads[0], bits=arguments.bits[0])
        return
    if arguments.figures is not None:
        texts = [path.read_text(encoding="utf-8") for path in arguments.figures]
        figures = [run for text in texts for run in json.loads(text)]
    else:
        figures = measure_all(arguments)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures), encoding="utf-8")
    if arguments.write:
        PAGE.write_text(page(figures), encoding="utf-8")


def settings(arguments: argparse.Namespace) -> list[tuple[int, int]]:
    """Return the numbers of threads and bits to measure with: more threads with all the bits."""
    bits = [b for b in arguments.bits if b <= widest()]
    alone = [(1, b) for b in bits if 1 in arguments.threads]
    return alone + [(threads, max(bits)) for threads in arguments.threads if threads > 1]


def measure_all(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the figures for each number of threads and each width of vectors."""
    if arguments.quick:
        arguments.rounds, arguments.budget = 5, 1.0
    chosen = settings(arguments)
    return [
        measured(
            Options(
                only=arguments.only,
                contestants=arguments.contestants,
                rounds=arguments.rounds,
                budget=arguments.budget,
                threads=threads,
                bits=bits,
                largest=arguments.largest,
                cpu_time=arguments.cpu_time and threads == 1,
                further=(threads, bits) == chosen[0] and not (arguments.only or arguments.quick),
                output="",
            )
        )
        for threads, bits in chosen
    ]


if __name__ == "__main__":
    main()
