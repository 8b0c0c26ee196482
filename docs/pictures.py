"""Runs the examples of pages when Sphinx starts, and writes the drawings and reports they make."""

from __future__ import annotations

import doctest
import linecache
import re
from pathlib import Path
from typing import Any, Final

from funcdiff.reading.drawing.picture import Drawing
from funcdiff.reading.explanation.report import Report

HERE: Final = Path(__file__).parent
_BLOCK: Final = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE: Final = re.compile(r"&lt;doctest .*?&gt;")

PAGES: Final = ("backward.md", "draw.md", "explain.md")


def write_pictures(page: str) -> None:
    """Write the drawings and the reports that a page makes.

    A drawing called ``name`` goes to ``_build/pictures/name.svg``, a report to ``name.html``.
    """
    text = (HERE / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, block in enumerate(_BLOCK.finditer(text)):
        name = f"{page} {number}"
        example = doctest.DocTestParser().get_doctest(block[1], names, name, page, 0)
        runner.run(example, clear_globs=False)
        names = example.globs
        for k, part in enumerate(example.examples):  # reports look lines up when they are shown
            file, lines = f"<doctest {name}[{k}]>", part.source.splitlines(keepends=True)
            linecache.cache[file] = len(part.source), None, lines, file
    folder = HERE / "_build" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in names.items():
        if isinstance(value, Drawing):
            value.save(folder / f"{name}.svg")
        elif isinstance(value, Report):
            shown = _FILE.sub("model.py", value._repr_html_())
            (folder / f"{name}.html").write_text(shown, encoding="utf-8")


def setup(_app: Any) -> dict[str, Any]:
    """Write the pictures when Sphinx loads its configuration, before it looks for images."""
    for page in PAGES:
        write_pictures(page)
    return {"parallel_read_safe": True}
