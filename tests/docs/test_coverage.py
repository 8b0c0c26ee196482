"""The page of what is covered says what the tables say."""

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from docs import coverage
from funcdiff.numpy.border import dispatch

document = cache(coverage.document)


def rows(page: str) -> Iterator[tuple[str, str]]:
    """Return the first name of each row of a table, with the row."""
    for line in page.splitlines():
        if line.startswith("| `"):
            yield line.split("`")[1], line


def installed(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return hasattr({"": np, "linalg": np.linalg, "fft": np.fft}.get(module, np), last)


@pytest.mark.slow
def test_the_page_is_what_its_generator_writes() -> None:
    """Rows of functions that the installed NumPy lacks are not compared."""
    written = set(coverage.PAGE.read_text(encoding="utf-8").splitlines())
    made = document()
    assert [line for line in made.splitlines() if line not in written] == []
    known = set(made.splitlines())
    stale = [row for name, row in rows("\n".join(written)) if row not in known and installed(name)]
    assert stale == [], "run python -m docs.coverage"


@pytest.mark.slow
def test_formulas_have_no_private_names() -> None:
    shown = "".join(
        row for _, row in rows(document().partition("## Ufuncs")[2].partition("## ")[0])
    )
    assert "x / np.hypot(x, y) ** 2" in shown
    assert not re.search(r"\b_\w", shown)
    assert "| `1 / np.sqrt(x - 1) * (1 / np.sqrt(x + 1))` |" in shown
    assert "- -" not in shown


@pytest.mark.slow
def test_functions_without_a_derivative_are_covered_functions() -> None:
    names = {coverage.short_name(function) for function in dispatch.functions()}
    assert names >= coverage.LOCALLY_CONSTANT


@pytest.mark.slow
def test_keywords_that_are_refused_are_found_in_the_source() -> None:
    found = dict(rows(document()))
    assert "| `order=` |" in found["sort"]
    assert "| `copy=False` |" in found["reshape"]


@pytest.mark.slow
def test_the_derivatives_of_ufuncs_are_those_of_their_declarations() -> None:
    found = dict(rows(document()))
    assert found["sin"] == "| `sin` | `np.cos(x)` |"
    assert found["floor"] == "| `floor` | zero |"
    assert found["subtract"] == "| `subtract` | ∂x: `1`; ∂y: `-1` |"
