"""The paper's bibliography, length and computed claims hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from docs.paper import collection

HERE = Path(__file__).parents[2] / "docs/paper"
TEXT = (HERE / "paper.md").read_text(encoding="utf-8")


def test_what_is_cited_is_in_the_bibliography_and_the_other_way_round() -> None:
    cited = set(re.findall(r"@([a-z]+\d{4})", TEXT))
    listed = re.findall(r"^@\w+\{(\w+),", (HERE / "paper.bib").read_text(encoding="utf-8"), re.M)
    assert cited == set(listed)


def test_it_is_as_long_as_such_papers_are() -> None:
    body = TEXT.split("---", 2)[2]
    assert 1000 <= len(re.findall(r"[\w'`.-]+", body)) <= 1700


@pytest.mark.parametrize("entry", collection.ENTRIES, ids=lambda e: e.problem)
def test_coded_derivatives_disagree_with_the_values_beside_them(entry: collection.Entry) -> None:
    assert all(name in TEXT for name in entry.problem.split(", "))
    h = 1e-4
    x = np.asarray(entry.point)
    if entry.place == ():
        differences = (entry.value(x + h) - entry.value(x - h)) / (2 * h)
    else:
        i, j = (h * np.eye(x.size)[k] for k in entry.place)
        f = entry.value
        differences = (f(x + i + j) - f(x + i - j) - f(x - i + j) + f(x - i - j)) / (4 * h * h)
    computed = entry.derivative(entry.value)(entry.point)[entry.place]
    np.testing.assert_allclose(computed, differences, rtol=1e-4)
    assert abs(entry.coded(entry.point) - computed) > 0.1 * abs(computed)
