"""What the page for browsers runs are the examples of the pages, and all that it loads is there."""

import re

import pytest

from docs import browser
from tests.together import together


def test_the_tutorial_and_the_how_tos_are_on_the_page() -> None:
    pages = browser.lessons()
    assert pages[0].page == "getting-started"
    assert {"gradients", "sparse", "scipy", "export"} <= {page.page for page in pages}
    assert all(page.cells and page.title for page in pages)
    needed = {page.page: page.packages for page in pages}
    assert needed["gradients"] == []
    assert needed["draw"] == ["igraph"]
    assert "scipy" in needed["labelled"] or "pandas" in needed["labelled"]


@pytest.mark.slow
@together
@pytest.mark.parametrize("name", browser.names())
def test_a_cell_prints_what_the_page_shows(name: str) -> None:
    page = browser.lesson(name)
    assert "\n".join(browser.differences(page, browser.outputs(page))) == ""


def test_a_cell_that_prints_something_else_is_noticed() -> None:
    page = browser.lesson("gradients")
    printed = browser.outputs(page)
    printed[3] += "1\n"
    assert len(browser.differences(page, printed)) == 1


def test_the_page_loads_what_is_beside_it_and_pyodide() -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in browser.STATIC.glob("*.*")}
    loaded = {
        name for text in files.values() for name in re.findall(r"[\"`(](\w+\.\w+)[\"`?]", text)
    }
    made = {"lessons.json", "pyodide.mjs"}
    assert {"worker.js", "console.py"} <= loaded & set(files)
    assert {n for n in loaded if n.endswith((".js", ".py", ".json", ".mjs"))} <= made | set(files)
    assert not any("://" in text for text in files.values())
    assert browser.PYODIDE.startswith("https://")
