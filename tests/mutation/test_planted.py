"""The table of planted mistakes fits the code that they are planted into."""

from __future__ import annotations

import ast

import pytest

from tests.mutation.mutants import Planted
from tests.mutation.planted import MUTANTS, NEAR
from tests.mutation.run import PACKAGE, ROOT
from tests.together import together

EACH = [pytest.param(m, id=f"{m.path}: {m.breaks}") for m in MUTANTS]


@together
@pytest.mark.parametrize("mutant", EACH)
def test_a_planted_mistake_has_one_place(mutant: Planted) -> None:
    assert (PACKAGE / mutant.path).read_text().count(mutant.old) == 1


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("mutant", EACH)
def test_a_planted_mistake_leaves_another_module_that_compiles(mutant: Planted) -> None:
    right = (PACKAGE / mutant.path).read_text()
    wrong = right.replace(mutant.old, mutant.new)
    compile(wrong, mutant.path, "exec")
    assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(right))


@pytest.mark.parametrize("package", ["passes", "backend", "numpy", "api"])
def test_every_package_has_planted_mistakes(package: str) -> None:
    assert sum(m.path.startswith(f"{package}/") for m in MUTANTS) >= 11


def test_every_planted_mistake_has_tests_that_are_likely_to_notice() -> None:
    assert {m.path.split("/")[0] for m in MUTANTS} == NEAR.keys()
    assert all((ROOT / tests).exists() for paths in NEAR.values() for tests in paths)
