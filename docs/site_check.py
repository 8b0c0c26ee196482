"""Check the pages of the site: ``python -m docs.site_check FOLDER [AXE [PAGES]]``.

Links and anchors between pages lead somewhere, pictures and heads of columns have a text, and
headings an order.  AXE is the file ``axe.min.js`` of the npm package axe-core: with it, and with
the package playwright and Chromium, pages are checked for accessibility, on a screen and on a
phone, light and dark: those whose names match PAGES, such as ``"[g-j]*"``, or all, in minutes.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_NOT_OURS: Final = ("_static", "_sources", "_downloads", "_modules")
_EMPTY_HEAD: Final = re.compile(r"<th\b[^>]*>\s*(?:<p>\s*</p>)?\s*</th>")
_VIOLATIONS: Final = """axe.run(document, {resultTypes: ["violations"]}).then(({violations}) =>
    violations.map(x => [x.id, x.help, x.nodes.slice(0, 3).map(node => String(node.target))]))"""
"""The few words of the results that are told: all of them take longer to hand over than to find."""
_HEADINGS: Final = tuple(f"h{k}" for k in range(1, 7))


class Page(HTMLParser):
    """What a page links to, and what links to it may name."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.without_text: list[str] = []
        self.empty_heads = 0
        text = file.read_text(encoding="utf-8")
        self.empty_heads = len(_EMPTY_HEAD.findall(text))
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, is called or lacks."""
        given = dict(attrs)
        self.links += [x for x in (given.get("href"), given.get("src")) if x]
        self.ids += [given["id"]] if given.get("id") else []
        if tag in _HEADINGS:
            self.headings.append(int(tag[1]))
        if tag == "img" and "alt" not in given:
            self.without_text.append(str(given.get("src")))


def faults_of_text(folder: Path) -> Iterator[str]:
    """Give the faults that the text of the pages shows."""
    pages = {file: Page(file) for file in html_files(folder)}
    for file, page in pages.items():
        name = file.relative_to(folder)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                Path(os.path.normpath(file.parent / unquote(parts.path))) if parts.path else file
            )
            anchor = unquote(parts.fragment)
            if not target.exists():
                yield f"{name}: no page {link}"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{name}: no place {link}"
        yield from (f"{name}: no text for {x}" for x in page.without_text)
        yield from (f"{name}: a column has no head" for _ in range(page.empty_heads))
        jumps = [b for a, b in pairwise(page.headings) if b > a + 1]
        yield from (f"{name}: a heading of level {level} below none" for level in jumps)


def html_files(folder: Path) -> list[Path]:
    """Return the pages of the site, without what themes and other builds put beside them."""
    files = sorted(folder.rglob("*.html"))
    return [f for f in files if f.relative_to(folder).parts[0] not in _NOT_OURS]


def faults_by_axe(folder: Path, axe: Path, pages: str) -> Iterator[str]:
    """Give what axe-core finds in a browser, once for each rule and page."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (for this check alone)

    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        sheet: Any = browser.new_page()
        files = [f for f in html_files(folder) if f.relative_to(folder).match(pages)]
        for file, width in itertools.product(files, (1400, 390)):
            sheet.set_viewport_size({"width": width, "height": 900})
            sheet.goto(file.as_uri(), wait_until="load")
            sheet.add_script_tag(path=str(axe))
            for scheme in ("light", "dark"):
                sheet.emulate_media(color_scheme=scheme)
                for rule, text, places in sheet.evaluate(_VIOLATIONS):
                    name = f"{file.relative_to(folder)} ({width}, {scheme})"
                    yield f"{name}: {rule}: {text}: {'; '.join(places)}"


def main(folder: str, axe: str = "", pages: str = "*") -> int:
    """Print the faults as they are found, and return whether there are any."""
    count, site = 0, Path(folder)
    more = faults_by_axe(site, Path(axe), pages) if axe else iter(())
    for count, fault in enumerate(itertools.chain(faults_of_text(site), more), 1):  # noqa: B007
        print(fault, flush=True)  # noqa: T201
    print(f"{len(html_files(site))} pages, {count} faults")  # noqa: T201
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
