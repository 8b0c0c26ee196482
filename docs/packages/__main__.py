"""Differentiate functions of packages as they are installed, and write the table of the outcomes.

``python -m docs.packages --write`` runs all cases, a process for each package, and writes the page;
the extra `packages` installs what they call.  ``--only NAME`` runs a package's cases alone, and
``--examples`` runs the pages of the gallery that need packages, and draws their pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from docs.packages.case import Case
from docs.packages.cases import cases
from docs.packages.page import PAGE, page, summary

ROOT: Final = Path(__file__).parents[2]


def run(package: list[Case]) -> list[dict[str, Any]]:
    """Return the outcomes of the cases of a package; a process that dies costs one case."""
    found: dict[str, dict[str, Any]] = {}
    while left := [c.title for c in package if c.title not in found]:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "rows.jsonl"
            output.touch()
            ended = process(output, left)
            rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            found[row["title"]] = row
        dead = {"title": rows[-1]["title"] if rows else left[0], "died": ended}
        if not rows or "started" in rows[-1]:
            found[dead["title"]] = dead
    print(package[0].package, file=sys.stderr, flush=True)
    return [found[c.title] for c in package]


def process(output: Path, titles: list[str]) -> str:
    """Run a process for cases in the folder of its output, and return how it ended."""
    command = [sys.executable, "-m", "docs.packages.worker", str(output), *titles]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=output.parent,  # some packages write logs when they are imported
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    return f"the process ended with {ended.returncode}: {cause(ended.stderr)}"


def cause(stderr: str) -> str:
    """Return the error that ended a process, with the innermost place if it could not be raised."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    dumped = [k for k, line in enumerate(lines) if line.endswith("(most recent call first):")]
    if dumped:  # the main thread is the last
        return f"{lines[dumped[0] - 1]} {lines[dumped[-1] + 1]}"
    return lines[-1] if lines else ""


def by_package(chosen: Iterable[Case]) -> list[list[Case]]:
    """Return cases by package, those of packages that are not installed left out."""
    found: dict[str, list[Case]] = {}
    for case in chosen:
        found.setdefault(case.package, []).append(case)
    missing = [name for name in found if find_spec(name) is None]
    if missing:
        print("not installed:", *missing, file=sys.stderr)
    return [group for name, group in found.items() if name not in missing]


@cache
def state() -> str:
    """Return what the cases are run on: the commit, the interpreter and the machine."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    commit = described.stdout.strip() or "no commit"
    return f"{commit}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def run_examples() -> None:
    """Run the pages of the gallery that need packages, each in a process, and keep pictures."""
    for file in sorted((ROOT / "examples" / "gallery" / "packages").glob("adapt_*.py")):
        print(file.name, file=sys.stderr, flush=True)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        command = [sys.executable, "-m", "docs.packages.pictures", str(file)]
        subprocess.run(command, env=environment, check=True)


def main() -> None:
    """Run what is asked for, print a summary, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="packages to run")
    parser.add_argument("--processes", type=int, default=1, help="how many run at a time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all outcomes")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="take the outcomes of a file")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--examples", action="store_true", help="run the gallery's pages")
    arguments = parser.parse_args()
    state()  # as it is before the first case
    if arguments.examples:
        run_examples()
        return
    if arguments.rows:
        rows = json.loads(arguments.rows.read_text(encoding="utf-8"))
    else:
        chosen = [c for c in cases() if not arguments.only or c.package in arguments.only]
        with ThreadPoolExecutor(arguments.processes) as pool:
            rows = [row for group in pool.map(run, by_package(chosen)) for row in group]
        for row in rows:
            row["on"] = state()
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(summary(rows))
    if arguments.write:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
