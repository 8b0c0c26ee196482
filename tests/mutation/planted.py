"""Mistakes planted by hand, each of which changes results, and which default test notices it.

    python -m tests.mutation.planted [--only N ...] [--stages N] [--record]

Each mistake is planted into a process forked from one that has collected the default tests.  Those
run there that call the function with the mistake, according to a record made once, the likeliest to
notice first.  What cannot be planted so, or survives, is planted into a copy of the tree and run in
new processes.  A survivor there is a missing test.  A test that fails without the mistake too does
not count.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

import pytest

from tests.mutation.forking import Suite, changed, collected
from tests.mutation.mistakes_in_backend import BACKEND
from tests.mutation.mistakes_in_calls import API, NUMPY
from tests.mutation.mistakes_in_densities import DENSITIES
from tests.mutation.mistakes_in_guards import GUARDS
from tests.mutation.mistakes_in_memory import MEMORY
from tests.mutation.mistakes_in_packages import PACKAGES
from tests.mutation.mistakes_in_programs import PASSES, REST
from tests.mutation.mistakes_in_solvers import SOLVERS
from tests.mutation.mistakes_in_sparsity import SPARSITY
from tests.mutation.mistakes_in_tapes import TAPE
from tests.mutation.mistakes_in_uncertainty import UNCERTAINTY
from tests.mutation.mutants import Planted
from tests.mutation.run import PACKAGE, ROOT, copied, first_failure

MUTANTS: Final = (
    *PASSES,
    *BACKEND,
    *NUMPY,
    *API,
    *REST,
    *GUARDS,
    *TAPE,
    *SPARSITY,
    *MEMORY,
    *PACKAGES,
    *SOLVERS,
    *UNCERTAINTY,
    *DENSITIES,
)

RECORD: Final = ROOT / ".pytest_cache" / "touching.json"
"""Which tests call which functions; only the order of tests depends on it."""

_SECONDS: Final = 240
"""How long the tests of a stage may take in a process of their own."""

Touching: TypeAlias = dict[str, dict[str, float]]

NEAR: Final[dict[str, list[str]]] = {
    "passes": ["tests/passes", "tests/semantics/test_masks.py", "tests/semantics/test_kinks.py",
               "tests/semantics/test_nested_masks.py", "tests/semantics/test_matrix_functions.py"],
    "backend": ["tests/backend", "tests/api/test_jit.py", "tests/api/test_guards.py",
                "tests/api/test_loops.py"],
    "interop": ["tests/interop"],
    "programs": ["tests/programs"],
    "adapting": ["tests/adapting"],
    "densities": ["tests/densities"],
    "labelled": ["tests/labelled"],
    "reading": ["tests/reading", "tests/api/test_naming.py", "tests/uncertainty"],
    "uncertainty": ["tests/uncertainty"],
    "numpy": ["tests/patterns/test_patterns.py", "tests/numpy"],
    "scipy": ["tests/rules", "tests/scipy/test_sparse_patterns.py",
              "tests/scipy/test_special_functions.py"],
    "api": ["tests/api"],
    "transforms": ["tests/transforms", "tests/api"],
    "core": ["tests/core", "tests/api/test_guards.py", "tests/reading", "tests/api"],
    "ops": ["tests/ops", "tests/semantics/test_singular_values.py", "tests/rules"],
}  # fmt: skip
"""Which tests are likeliest to notice a mistake in a package."""

NEXT: Final = ["tests/semantics", "tests/compositions", "tests/patterns", "tests/properties"]
"""Which tests are likeliest to notice what those do not; then come all."""


def stages_of(mutant: Planted) -> list[list[str]]:
    """Return the tests to run, the likeliest to notice first; an empty list is all of them."""
    folder = mutant.path.split("/")[0]
    own = Path("tests") / folder / f"test_{Path(mutant.path).stem}.py"
    special: list[list[str]] = []
    if mutant in SPARSITY:
        names = ("", "_patterns", "_products", "_full")
        special = [[f"tests/api/test_sparse{name}.py" for name in names]]
    elif mutant in MEMORY:
        special = [["tests/properties/test_kept_memory.py", "tests/backend/test_memory.py"]]
    return [*([[str(own)]] if (ROOT / own).exists() else []), *special, NEAR[folder], NEXT, []]


def noticed_by_forks(suite: Suite, mutant: Planted, touching: Touching) -> str:
    """Return the first test that fails with a mistake, and passes without it, or ""."""
    exchange = changed(str(PACKAGE / mutant.path), mutant.old, mutant.new)
    if not exchange.whole:
        return ""
    seconds = {t: s for name in exchange.names for t, s in touching.get(name, {}).items()}
    stages = [tuple(tests) for tests in stages_of(mutant)[:-1]]

    def rank(test: pytest.Item) -> tuple[int, float]:
        stage = next((k for k, s in enumerate(stages) if test.nodeid.startswith(s)), len(stages))
        return stage, seconds.get(test.nodeid, 0.0)

    tests = sorted((t for t in suite.tests if not seconds or t.nodeid in seconds), key=rank)
    while (found := suite.first_failure(tests, exchange.codes)) is not None:
        without = suite.first_failure(tests[: tests.index(found) + 1], {})
        if without is None:
            return found.nodeid
        tests.remove(without)
    return ""


def noticed_anew(where: Path, mutant: Planted, stages: int) -> str:
    """Return the test that notices a mistake in a copy of the tree, in new processes, or ""."""
    target = where / "funcdiff" / mutant.path
    right = target.read_text()
    for tests in stages_of(mutant)[:stages]:
        target.write_text(right.replace(mutant.old, mutant.new))
        found = first_failure(tests, where, _SECONDS)
        target.write_text(right)
        kind, _, named = found.partition(" ")
        if kind in ("FAILED", "ERROR") and not first_failure([named], where, _SECONDS):
            return found
    return ""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", type=int, help="numbers of mutants")
    parser.add_argument("--stages", type=int, default=4, help="leave out wider runs of tests")
    parser.add_argument("--record", action="store_true", help="ask anew which tests call what")
    given = parser.parse_args()
    left = given.only or [*range(len(MUTANTS))]

    def work(suite: Suite) -> None:
        if given.record or not RECORD.exists():
            RECORD.parent.mkdir(exist_ok=True)
            paths = {str(PACKAGE / mutant.path) for mutant in MUTANTS}
            RECORD.write_text(json.dumps(suite.touching(paths)))
        touching = json.loads(RECORD.read_text())
        for k in [*left]:
            start, found = monotonic(), noticed_by_forks(suite, MUTANTS[k], touching)
            if found:
                left.remove(k)
                report(k, found, monotonic() - start)

    collected(work)
    with copied() as where:
        for k in [*left]:
            start, found = monotonic(), noticed_anew(where, MUTANTS[k], given.stages)
            if found:
                left.remove(k)
            report(k, found or "SURVIVES", monotonic() - start)
    print(f"\n{len(left)} survive{''.join(f' {k}' for k in left)}")


def report(k: int, found: str, seconds: float) -> None:
    """Print what notices a mistake."""
    mutant = MUTANTS[k]
    print(f"{k:3} {seconds:5.1f} s  {mutant.path}: {mutant.breaks}\n{'':13}{found}", flush=True)


if __name__ == "__main__":
    main()
