"""Makes the page on which the examples of the tutorial and of the how-tos run in the browser.

Sphinx calls `finished` when it has built the pages.  ``python docs/browser.py`` runs the examples
by plain Python, as far as the packages that they need are installed.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import json
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
STATIC: Final = HERE / "_static" / "browser"
PYODIDE: Final = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
"""Where browsers get Python, NumPy and SciPy from."""

SIGNS: Final = {
    "scipy": ("scipy", "fd.adapt("),
    "pandas": ("pandas",),
    "xarray": ("xarray",),
    "igraph": ("fd.draw(",),
}
"""Packages of Pyodide, and what code has that needs them."""
ELSEWHERE: Final = {"dask", "bridges"}
"""How-tos about other machines and libraries that have no browser."""
COMPILER: Final = 'engine="llvm"'
"""What blocks have that need a compiler, and are left out."""

PART: Final = re.compile(
    r"^(?P<level>#+) (?P<heading>[^\n]*)$|^```pycon\n(?P<block>.*?)^```$", re.M | re.S
)
FLAGS: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
STACK: Final = re.compile(r"(?<=^Traceback \(most recent call last\):\n)(?: +.*\n)+", re.M)


class Cell(NamedTuple):
    """The statements of a block, what each shows, and the heading above it if it is the first."""

    heading: str
    statements: list[str]
    shown: list[str]


class Lesson(NamedTuple):
    """A page of the documentation as cells, and the packages that these need."""

    page: str
    title: str
    packages: list[str]
    cells: list[Cell]


def names() -> list[str]:
    """Return the tutorial, and the how-tos in the order of the first page."""
    text = (HERE / "index.md").read_text(encoding="utf-8")
    listed = text.partition(":caption: How to\n")[2].partition("```")[0].split()
    return ["getting-started", *(name for name in listed if name not in ELSEWHERE)]


def lesson(name: str) -> Lesson:
    """Return a page as cells."""
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    cells: list[Cell] = []
    heading = ""
    title = ""
    for part in PART.finditer(text):
        if part["block"] is None:
            title = title or part["heading"]
            heading = part["heading"] if len(part["level"]) > 1 else ""
            continue
        if COMPILER in part["block"]:
            continue
        examples = doctest.DocTestParser().get_examples(part["block"])
        shown = [STACK.sub("", example.want) for example in examples]
        cells.append(Cell(heading, [example.source for example in examples], shown))
        heading = ""
    code = "".join(statement for cell in cells for statement in cell.statements)
    packages = [name for name, signs in SIGNS.items() if any(sign in code for sign in signs)]
    return Lesson(name, title, packages, cells)


def lessons() -> list[Lesson]:
    """Return all pages as cells."""
    return [lesson(name) for name in names()]


def outputs(page: Lesson) -> list[str]:
    """Run the statements of a page here, and return what each prints."""
    run: Callable[..., str] = runpy.run_path(str(STATIC / "console.py"))["run"]
    space: dict[str, Any] = {"__name__": "__main__"}
    statements = [statement for cell in page.cells for statement in cell.statements]
    return [run(text, f"{page.page}-{k}.py", space) for k, text in enumerate(statements)]


def differences(page: Lesson, printed: list[str]) -> list[str]:
    """Return the statements that print something else than the page shows, and what."""
    pairs = [pair for c in page.cells for pair in zip(c.statements, c.shown, strict=True)]
    checker = doctest.OutputChecker()
    return [
        f"{page.page}: {statement}printed\n{found}and not\n{shown}"
        for (statement, shown), found in zip(pairs, printed, strict=True)
        if not checker.check_output(shown, found, FLAGS)
    ]


def wheel(folder: Path) -> str:
    """Build the wheel into a folder, and return its name."""
    build = importlib.import_module("hatchling.build")
    with contextlib.chdir(HERE.parent):
        return str(build.build_wheel(str(folder.resolve())))


def write(folder: Path) -> None:
    """Write the page and all that it loads into a folder, but for Pyodide."""
    shutil.copytree(STATIC, folder, dirs_exist_ok=True)
    shown = [page._asdict() | {"cells": [c._asdict() for c in page.cells]} for page in lessons()]
    found = {"lessons": shown, "wheel": wheel(folder), "pyodide": PYODIDE}
    (folder / "lessons.json").write_text(json.dumps(found), encoding="utf-8")


def finished(app: Any, error: Exception | None) -> None:
    """Write the page beside those of Sphinx, when it has built them."""
    if error is None and app.builder.format == "html":
        write(Path(app.outdir) / "_static" / "browser")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("build-finished", finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def main() -> None:
    """Run the examples, and end with an error if one prints something else than its page."""
    pages = [page for page in lessons() if all(map(find_spec, page.packages))]
    printed = {page.page: outputs(page) for page in pages}
    found = [text for page in pages for text in differences(page, printed[page.page])]
    print(*found, sep="\n")
    done = sum(map(len, printed.values()))
    print(f"{done} examples of {len(pages)} pages ran, {len(found)} differ from their pages")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
