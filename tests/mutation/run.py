"""Run the tests against mutants of funcdiff, and tell which of them nothing notices.

    python -m tests.mutation.run funcdiff/passes --fraction 0.1 --seed 1

The work is done in a copy of the tree, which is thrown away.  Mutants are drawn at random; a
mutant survives if all tests of its stages pass.  A survivor is a missing test, or changes nothing
but speed: somebody has to look.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Final

import funcdiff as fd
from tests.mutation.mutants import Mutant, mutants_of

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = Path(fd.__file__).resolve().parent
"""The sources of the package that the tests import, which is installed or beside them."""

STAGES: Final[dict[str, list[list[str]]]] = {
    "funcdiff/passes": [
        ["tests/passes"],
        ["tests/semantics/test_masks.py", "tests/semantics/test_kinks.py",
         "tests/semantics/test_linear_algebra.py", "tests/compositions/test_random_programs.py"],
        ["tests/semantics", "tests/api/test_loops.py", "tests/api/test_scanning.py",
         "tests/transforms", "tests/rules/test_rules.py"],
    ],
    "funcdiff/reading": [["tests/reading"], ["tests/api/test_naming.py", "tests/docs"]],
    "funcdiff/backend": [
        ["tests/backend"],
        ["tests/api/test_jit.py", "tests/compositions/test_random_programs.py"],
        ["tests/patterns", "tests/rules/test_rules.py", "tests/api/test_loops.py"],
    ],
    "funcdiff/numpy/memory": [
        ["tests/numpy/test_mutation.py", "tests/numpy/test_assignment.py",
         "tests/numpy/test_whose_memory.py"],
        ["tests/numpy/test_order.py", "tests/numpy/test_arranging.py",
         "tests/numpy/test_creation.py", "tests/numpy/test_exports.py",
         "tests/numpy/test_indexing.py", "tests/properties/test_indices.py"],
        ["tests/semantics/test_buffers.py", "tests/properties/test_in_place.py",
         "tests/semantics/test_arrays_without_axes.py"],
    ],
}  # fmt: skip
"""Which tests are run for the modules below a path, the likeliest to notice first."""

_LIMIT: Final = 4.0
"""How many times longer than without a mistake the tests may take."""


def stages_of(module: str) -> list[list[str]]:
    """Return the tests for a module, those of the longest path that fits."""
    fitting = [path for path in STAGES if module.startswith(path)]
    return STAGES[max(fitting, key=len)]


_PYTEST: Final = ("-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-n", "0")
"""One process, up to the first failure; the markers are those of a plain run."""


def first_failure(tests: list[str], where: Path, limit: float | None) -> str:
    """Return the first test that fails, or takes too long; empty if all pass."""
    command = ["nice", "-n", "15", sys.executable, *_PYTEST, *tests]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=where, env=environment, timeout=limit, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "too slow"
    if done.returncode == 0:
        return ""
    named = [line for line in done.stdout.split("\n") if line.startswith(("FAILED ", "ERROR "))]
    return named[0].split(" - ")[0] if named else f"pytest ended with {done.returncode}"


def passes(tests: list[str], where: Path, limit: float | None) -> bool:
    """Whether tests pass in time, one process at low priority."""
    return not first_failure(tests, where, limit)


@contextmanager
def copied() -> Iterator[Path]:
    """Give a copy of the tree, which is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, where, ignore=ignored)
        yield where


def drawn(paths: list[str], fraction: float, seed: int) -> tuple[list[tuple[Path, Mutant]], int]:
    """Return a random part of the mutants of some modules, and how many there are in all."""
    every: list[tuple[Path, Mutant]] = []
    for path in paths:
        whole = ROOT / path
        files = [whole] if whole.is_file() else sorted(whole.rglob("*.py"))
        for file in files:
            name = file.relative_to(ROOT)
            every += [(name, mutant) for mutant in mutants_of(file.read_text())]
    chosen = random.Random(seed).sample(every, max(1, round(fraction * len(every))))
    return chosen, len(every)


def survivors(
    chosen: list[tuple[Path, Mutant]], where: Path, report: Path | None, most: int | None
) -> list[str]:
    """Run the tests of each mutant; print and return those that survive."""
    times: dict[str, float] = {}
    found = []
    for k, (name, mutant) in enumerate(chosen, 1):
        stages = stages_of(str(name))[:most]
        for tests in stages:
            key = " ".join(tests)
            if key not in times:
                start = monotonic()
                if not passes(tests, where, None):
                    raise SystemExit(f"these fail without a mistake: {key}")
                times[key] = monotonic() - start
        target = where / name
        right = target.read_text()
        target.write_text(mutant.source)
        alive = all(passes(t, where, 30 + _LIMIT * times[" ".join(t)]) for t in stages)
        target.write_text(right)
        shown = f"{name}:{mutant.line}: {mutant.what}"
        print(f"{k}/{len(chosen)} {'SURVIVES' if alive else 'killed'} {shown}", flush=True)
        if alive:
            changed = zip(right.split("\n"), mutant.source.split("\n"), strict=False)
            before, after = next((a, b) for a, b in changed if a != b)
            found.append(f"{shown}\n  - {before.strip()}\n  + {after.strip()}")
            if report is not None:
                report.write_text(json.dumps(found, indent=1))
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", help="modules or packages, from the root of the tree")
    parser.add_argument("--fraction", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stages", type=int, help="leave out wider runs of tests")
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    chosen, count = drawn(given.paths, given.fraction, given.seed)
    with copied() as where:
        found = survivors(chosen, where, given.report, given.stages)
    print(f"\n{len(found)} of {len(chosen)} mutants survive, drawn from {count}\n")
    print("\n".join(found))


if __name__ == "__main__":
    main()
