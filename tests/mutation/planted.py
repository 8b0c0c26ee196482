"""Mistakes planted by hand, each of which changes results, and which default test notices it.

    python -m tests.mutation.planted [--only N ...] [--stages N]

The work is done in a copy of the tree, which is thrown away.  Of the default tests, those likeliest
to notice run first, then those of the folder, then all.  A survivor is a missing test.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final

from tests.mutation.mistakes_in_calls import API, NUMPY
from tests.mutation.mistakes_in_guards import GUARDS
from tests.mutation.mistakes_in_memory import MEMORY
from tests.mutation.mistakes_in_programs import BACKEND, PASSES, REST
from tests.mutation.mistakes_in_sparsity import SPARSITY
from tests.mutation.mistakes_in_tapes import TAPE
from tests.mutation.mutants import Planted
from tests.mutation.run import ROOT, copied, first_failure

MUTANTS: Final = (*PASSES, *BACKEND, *NUMPY, *API, *REST, *GUARDS, *TAPE, *SPARSITY, *MEMORY)

NEAR: Final[dict[str, list[str]]] = {
    "passes": ["tests/passes", "tests/semantics/test_masks.py", "tests/semantics/test_kinks.py",
               "tests/semantics/test_nested_masks.py", "tests/semantics/test_matrix_functions.py"],
    "backend": ["tests/backend", "tests/api/test_jit.py", "tests/api/test_guards.py",
                "tests/api/test_loops.py"],
    "reading": ["tests/reading", "tests/api/test_naming.py"],
    "numpy": ["tests/numpy"],
    "api": ["tests/api"],
    "transforms": ["tests/transforms", "tests/api"],
    "core": ["tests/core", "tests/api/test_guards.py", "tests/reading", "tests/api"],
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


def outcomes(numbers: list[int], stages: int) -> Iterator[tuple[int, str, float]]:
    """Yield the number of each mutant, the test that notices it or "", and the seconds."""
    with copied() as where:
        for k in numbers:
            mutant = MUTANTS[k]
            target = where / "funcdiff" / mutant.path
            right = target.read_text()
            target.write_text(right.replace(mutant.old, mutant.new))
            start, found = monotonic(), ""
            for tests in stages_of(mutant)[:stages]:
                found = found or first_failure(tests, where, None)
            target.write_text(right)
            yield k, found, monotonic() - start


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", type=int, help="numbers of mutants")
    parser.add_argument("--stages", type=int, default=4, help="leave out wider runs of tests")
    given = parser.parse_args()
    alive = []
    for k, found, seconds in outcomes(given.only or [*range(len(MUTANTS))], given.stages):
        mutant = MUTANTS[k]
        print(f"{k:3} {seconds:5.0f} s  {mutant.path}: {mutant.breaks}", flush=True)
        print(f"             {found or 'SURVIVES'}", flush=True)
        if not found:
            alive.append(k)
    print(f"\n{len(alive)} survive{''.join(f' {k}' for k in alive)}")


if __name__ == "__main__":
    main()
