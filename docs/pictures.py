"""Runs the examples of pages when Sphinx starts, and writes the drawings that they make."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any, Final

from funcdiff.reading.drawing.picture import Drawing

HERE: Final = Path(__file__).parent
_BLOCK: Final = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


PAGES: Final = ("backward.md", "draw.md")


def write_pictures(page: str) -> None:
    """Write ``_build/pictures/NAME.svg`` for every variable NAME of the page that is a drawing."""
    text = (HERE / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in _BLOCK.finditer(text):
        example = doctest.DocTestParser().get_doctest(block[1], names, page, page, 0)
        runner.run(example, clear_globs=False)
        names = example.globs
    folder = HERE / "_build" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in names.items():
        if isinstance(value, Drawing):
            value.save(folder / f"{name}.svg")


def setup(_app: Any) -> dict[str, Any]:
    """Write the pictures when Sphinx loads its configuration, before it looks for images."""
    for page in PAGES:
        write_pictures(page)
    return {"parallel_read_safe": True}
