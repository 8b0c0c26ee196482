"""Every example in the pages of the documentation prints what the page shows."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from tests.together import together

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("errors/*.md")])
SLOW = {"densities", "SamplingWarning", "jit", "sparse", "testing"}
"""Pages that draw samples, compile or look for mistakes."""
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_there_are_pages() -> None:
    assert {"index.md", "coverage.md", "sharp-bits.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] if p.stem in SLOW else []) for p in PAGES],
    ids=lambda page: page.stem,
)
def test_the_examples_of_a_page_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        example = doctest.DocTestParser().get_doctest(block[1], names, page.name, page.name, line)
        runner.run(example, clear_globs=False)
        names = example.globs
    assert runner.summarize(verbose=False).failed == 0


@together
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_example_hides_in_a_block_that_is_not_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count(">>> ") == sum(block[1].count(">>> ") for block in BLOCK.finditer(text))
