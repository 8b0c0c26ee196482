"""Programs written for autograd, run as they are, give what autograd gives."""

import json
import runpy

import numpy as np
import pytest

from funcdiff.autograd.imports import in_place_of_autograd
from tests.autograd.flattened import numbers
from tests.autograd.freeze import PROGRAMS, VALUES

EXPECTED = json.loads(VALUES.read_text(encoding="utf-8"))


def test_every_program_has_its_values() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in PROGRAMS.glob("*.py"))


@pytest.mark.thinned(12)
@pytest.mark.parametrize("program", EXPECTED)
def test_a_program_for_autograd_gives_the_same_numbers(program: str) -> None:
    with in_place_of_autograd():
        run = runpy.run_path(str(PROGRAMS / f"{program}.py"))["run"]
        results = run()
    assert results.keys() == EXPECTED[program].keys()
    for name, y in results.items():
        wanted = np.array(EXPECTED[program][name])
        np.testing.assert_allclose(
            [*numbers(y)], wanted, rtol=1e-8, atol=1e-8 * np.max(np.abs(wanted)), err_msg=name
        )
