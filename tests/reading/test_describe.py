"""Descriptions of containers, and tables of what is kept, say what numbers are and show as HTML."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError
from funcdiff.reading.described import Leaf


class Cells(HTMLParser):
    """Collects the cells of a table, and checks that tags match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self.styles.append(dict(attrs)["style"])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_leaves_are_described_by_type_size_and_what_is_not_finite() -> None:
    found = fd.describe({
        "w": np.array([[3.0, -4.0], [0.0, np.nan]], np.float32),
        "b": [2, None, True],
        "z": np.array([3 + 4j]),
        "none": np.zeros((0, 3)),
        "name": "relu",
    })  # fmt: skip
    assert found.leaves[0].root_mean_square == pytest.approx((25 / 3) ** 0.5)
    assert found.leaves == (
        Leaf("['w']", "f32[2,2]", found.leaves[0].root_mean_square, -4.0, 3.0, 1, 1),
        Leaf("['b'][0]", "i64[]", 2.0, 2.0, 2.0),
        Leaf("['b'][2]", "bool[]", 1.0, 1.0, 1.0),
        Leaf("['z']", "c128[1]", 5.0),
        Leaf("['none']", "f64[0,3]"),
        Leaf("['name']", "str"),
    )
    lines = str(found).splitlines()
    assert len(lines) == 7
    assert lines[1].split() == ["['w']", "f32[2,2]", "2.887", "-4", "3", "1", "1"]
    assert lines[6].split() == ["['name']", "str"]


def test_large_leaves_are_dark_small_ones_pale_and_those_with_nan_red() -> None:
    sizes = {"large": np.ones(3), "small": np.full(3, 1e-4), "bad": np.array([1.0, np.inf])}
    cells = Cells(fd.describe(sizes)._repr_html_())
    of = {cells.cells[k - 2]: cells.styles[k] for k in range(9, len(cells.cells), 7)}
    assert "rgb(240, 140, 60)" in of["['large']"]
    assert "rgb(255, 255, 255)" in of["['small']"]
    assert "rgb(255, 90, 100)" in of["['bad']"]


@pytest.mark.parametrize("tree", [{}, (), [np.zeros(0)], 1.0, {"<a>": 1.0}, np.array(["a"])])
def test_what_is_empty_or_no_container_is_described(tree: Any) -> None:
    found = fd.describe(tree)
    assert str(found).startswith("leaf")
    assert "<a>" not in Cells(found._repr_html_()).rawdata
    assert "<a>" not in found._repr_html_()


def test_traced_values_are_not_described() -> None:
    def f(x: Any) -> Any:
        fd.describe({"x": x})
        return x

    with pytest.raises(InputError, match="tap_values"):
        fd.grad(f)(1.0)


def test_what_is_kept_shows_as_a_table() -> None:
    f = fd.jit(lambda x: x * 2.0 if x > 0 else x)
    f(1.0)
    f(-1.0)
    info = f.cache_info()
    table = Cells(info._repr_html_())
    assert table.cells[:4] == ["what", "count", "kinds of arguments that it was traced for", "1"]
    told = rf"jit of <lambda> \(.*{Path(__file__).name}:\d+\)"
    for shown in (str(info), info._repr_html_()):
        assert re.search(told, html.unescape(shown))
        assert "hits: calls that found their program" in shown
        assert re.search(rf"misses: calls with a new outcome at .*{Path(__file__).name}", shown)
    for _ in range(3):
        fd.grad(lambda x: x * x)(1.0)
    kept = fd.cache_info()
    cells = Cells(kept._repr_html_()).cells
    assert cells[3] == kept[0].name
    assert len(cells) == 3 * (1 + len(kept))
