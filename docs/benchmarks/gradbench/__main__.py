"""The command: ``python -m docs.benchmarks.gradbench``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from docs.benchmarks.gradbench.page import PAGE, with_figures
from docs.benchmarks.gradbench.registry import chosen, is_slow
from docs.benchmarks.workloads.options import Options, environment, widest


def parsed() -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(prog="python -m docs.benchmarks.gradbench")
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of names")
    parser.add_argument("--quick", action="store_true", help="3 rounds, no call of many seconds")
    parser.add_argument("--cpu-time", action="store_true", help="for a busy machine")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="of --json: measure nothing")
    arguments = parser.parse_args()
    if arguments.write and (arguments.names or arguments.quick):
        parser.error("--write writes all tables: it goes without names and --quick")
    return arguments


def measured(names: list[str], *, quick: bool, cpu_time: bool) -> dict[str, Any]:
    """Return the figures of the evaluations with such names."""
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            only=[w.name for w in chosen(names) if not (quick and is_slow(w))],
            contestants=[],
            rounds=3 if quick else 7,
            budget=0.5 if quick else 1.0,
            threads=1,
            bits=widest(),
            largest=0,
            cpu_time=cpu_time,
            further=False,
            output=str(Path(folder) / "figures.json"),
        )
        command = [sys.executable, "-m", "docs.benchmarks.gradbench.process"]
        command.append(json.dumps(dataclasses.asdict(options)))
        subprocess.run(command, env=environment(options.threads, options.bits), check=True)
        found: dict[str, Any] = json.loads(Path(options.output).read_text(encoding="utf-8"))
        return found


def main() -> None:
    """Measure, print the table, and write what was asked for."""
    arguments = parsed()
    if arguments.figures is not None:
        figures = json.loads(arguments.figures.read_text(encoding="utf-8"))
    else:
        figures = measured(arguments.names, quick=arguments.quick, cpu_time=arguments.cpu_time)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures), encoding="utf-8")
    if arguments.write:
        page = with_figures(PAGE.read_text(encoding="utf-8"), figures)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
