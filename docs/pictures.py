"""Runs the examples of pages for Sphinx: writes drawings and reports, and shows messages whole."""

from __future__ import annotations

import doctest
import itertools
import linecache
import re
from pathlib import Path
from typing import Any, Final

from funcdiff.reading.drawing.picture import Drawing
from funcdiff.reading.explanation.report import Report

HERE: Final = Path(__file__).parent
_BLOCK: Final = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLACE: Final = re.compile(r"<doctest .*?>")
_FILE: Final = re.compile(r"&lt;doctest .*?&gt;")

_KEEP: Final = """\
<filter id="as-drawn" color-interpolation-filters="sRGB">
<feColorMatrix type="hueRotate" values="180"/>
<feComponentTransfer>
<feFuncR type="linear" slope="-1.1628" intercept="1.0814"/>
<feFuncG type="linear" slope="-1.1628" intercept="1.0814"/>
<feFuncB type="linear" slope="-1.1628" intercept="1.0814"/>
</feComponentTransfer>
</filter>
<style>@media (prefers-color-scheme: dark) { image { filter: url(#as-drawn) } }</style>
"""
"""The inverse of what ``custom.css`` does to drawings in the dark."""

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


class _Messages(doctest.DocTestRunner):
    """Runs examples, and keeps the message of each error that a page shows in part."""

    def __init__(self) -> None:
        super().__init__(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        self.found: list[tuple[str, str]] = []

    def report_success(
        self, _out: Any, _test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        """Note what the page shows of a message, and all of it."""
        if example.exc_msg is not None and "..." in example.exc_msg:
            text = got.rpartition("Traceback (most recent call last):\n")[2]
            lines = itertools.dropwhile(lambda line: line.startswith(" "), text.splitlines())
            self.found.append((example.exc_msg, _PLACE.sub("model.py", "\n".join(lines)) + "\n"))


def with_whole_messages(text: str) -> str:
    """Return the text of a page in which every message of an error stands as it is printed."""
    names: dict[str, Any] = {}

    def shown(block: re.Match[str]) -> str:
        runner, body = _Messages(), block[0]
        example = doctest.DocTestParser().get_doctest(block[1], names, "page", "page", 0)
        runner.run(example, out=lambda _: None, clear_globs=False)
        names.update(example.globs)
        for part, whole in runner.found:
            body = body.replace(part, whole, 1)
        return body

    return _BLOCK.sub(shown, text)


def _show_messages(_app: Any, name: str, content: list[str]) -> None:
    if (HERE / f"{name}.md").exists() and "Traceback (most recent call last)" in content[0]:
        content[0] = with_whole_messages(content[0])


def with_lasting_images(text: str) -> str:
    """Return an SVG in which heat maps and photographs keep their colours where it is darkened."""
    if "<image" not in text or _KEEP in text:
        return text
    return text.replace("</svg>", f"{_KEEP}</svg>")


def _keep_images(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for file in (Path(app.outdir) / "_images").glob("*.svg"):
            text = file.read_text(encoding="utf-8")
            file.write_text(with_lasting_images(text), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the pictures when Sphinx loads its configuration, before it looks for images."""
    for page in PAGES:
        write_pictures(page)
    app.connect("source-read", _show_messages)
    app.connect("build-finished", _keep_images)
    return {"parallel_read_safe": True}
