"""Renders a report as a page of HTML: source lines shaded by their time, with the findings.

The page is one file without scripts, and needs nothing from elsewhere.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from funcdiff.core.origins import Place
from funcdiff.reading.explanation.findings import LineCost
from funcdiff.reading.explanation.sentences import KINDS, Mark, cells

_AROUND: Final = 2
"""Lines shown around those that are known."""

_CLASSES: Final = dict(zip(KINDS, ("fault", "masked", "kink", "advice"), strict=True))

_STYLE: Final = """
.fd-report { font: 14px/1.45 system-ui, sans-serif; color: #1c1e21; background: #fff;
  padding: 1em; --line: #d8dbe0; --muted: #5b6270; --heat: 234, 120, 20;
  --fault: #c01c28; --masked: #5b6270; --kink: #7a3fb0; --advice: #0b6b8a; }
.fd-report h2 { font-size: 1.15em; margin: 0 0 .6em; }
.fd-report h3 { font: 600 .9em ui-monospace, monospace; color: var(--muted); margin: 1em 0 .3em; }
.fd-report table { border-collapse: collapse; width: 100%;
  font: 12.5px/1.5 ui-monospace, monospace; }
.fd-report th, .fd-report td { padding: 0 .7em; text-align: right; white-space: pre;
  color: inherit; background: none; border: 0; vertical-align: top; }
.fd-report th { color: var(--muted); font-weight: 600; border-bottom: 1px solid var(--line); }
.fd-report .number { color: var(--muted); }
.fd-report .source { text-align: left; width: 100%; }
.fd-report .note td { text-align: left; white-space: normal; padding-left: 2em; }
.fd-report .note span { display: block; max-width: min(80ch, 100vw - 6em); }
.fd-report .note b { font-weight: 600; }
.fd-report .fault { color: var(--fault); } .fd-report .masked { color: var(--masked); }
.fd-report .kink { color: var(--kink); } .fd-report .advice { color: var(--advice); }
.fd-report tr.line.fault { color: inherit; box-shadow: inset 4px 0 var(--fault); }
.fd-report .scroll { overflow-x: auto; }
@media (prefers-color-scheme: dark) { .fd-report { color: #e4e6eb; background: #17191c;
  --line: #3a3f47; --muted: #9aa3b2; --heat: 200, 105, 30; --fault: #ff7b72; --masked: #9aa3b2;
  --kink: #d2a8ff; --advice: #79c0ff; } }
"""

_HEADS: Final = (
    '<th class="source">line, with costs as value + derivative</th>'
    "<th>time</th><th>operations</th><th>bytes</th>"
)


def document(title: str, body: str) -> str:
    """Return a whole file that holds a fragment."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n"
        "<style>body { margin: 0; } @media (prefers-color-scheme: dark) "
        "{ body { background: #17191c; } }</style>\n"
        f"</head><body>\n{body}\n</body></html>\n"
    )


def fragment(heading: str, found: Sequence[Mark], lines: Sequence[LineCost]) -> str:
    """Return the page as part of another one."""
    costs = {line.place: line for line in lines}
    places = {p for p in (*costs, *(mark.place for mark in found)) if p is not None}
    files = sorted({place.file for place in places})
    parts = [f"<style>{_STYLE}</style>", '<div class="fd-report">', f"<h2>{escape(heading)}</h2>"]
    elsewhere = [mark for mark in found if mark.place is None]
    if elsewhere:
        parts += ["<table>", *map(_note, elsewhere), "</table>"]
    most = max((line.total_seconds for line in lines), default=0.0)
    for file in files:
        numbers = sorted({place.line for place in places if place.file == file})
        parts.append(f"<h3>{escape(os.path.basename(file))}</h3>")
        parts.append(f'<div class="scroll" tabindex="0"><table><tr><td></td>{_HEADS}</tr>')
        parts += _rows(file, numbers, costs, found, most)
        parts.append("</table></div>")
    rest = costs.get(None)
    if rest is not None:
        parts.append(f'<p class="number">elsewhere: {escape(", ".join(cells(rest)))}</p>')
    return "\n".join([*parts, "</div>"])


def _rows(
    file: str,
    numbers: Sequence[int],
    costs: dict[Place | None, LineCost],
    found: Sequence[Mark],
    most: float,
) -> Iterator[str]:
    """Give the lines of a file around those that are known, with notes below them."""
    known = {place.line: cost for place, cost in costs.items() if place and place.file == file}
    text = linecache.getlines(file)
    last = 0
    for number in _lines_to_show(numbers, len(text)):
        if last and number > last + 1:
            yield '<tr><td class="number">⋮</td><td></td></tr>'
        last = number
        source = text[number - 1].rstrip("\n") if number <= len(text) else ""
        cost = known.get(number)
        notes = [m for m in found if m.place and m.place[:2] == (file, number)]
        kind = " fault" if any(m.kind == KINDS[0] for m in notes) else ""
        heat = cost.total_seconds / most if cost is not None and most else 0.0
        shade = f' style="background: rgba(var(--heat), {0.6 * heat:.3f})"' if heat else ""
        numbers_text = cells(cost) if cost is not None else ("", "", "")
        yield (
            f'<tr class="line{kind}"{shade}><td class="number">{number}</td>'
            f'<td class="source">{escape(source)}</td>'
            + "".join(f"<td>{escape(cell)}</td>" for cell in numbers_text)
            + "</tr>"
        )
        yield from map(_note, notes)


def _lines_to_show(numbers: Sequence[int], count: int) -> list[int]:
    """Return the lines to be shown: the known ones, and some around them that there are."""
    near = {n + k for n in numbers for k in range(-_AROUND, _AROUND + 1)}
    return sorted({n for n in near if 1 <= n <= count} | set(numbers))


def _note(mark: Mark) -> str:
    kind = _CLASSES[mark.kind]
    return (
        f'<tr class="note {kind}"><td></td><td colspan="4"><span><b>{escape(mark.kind)}</b> '
        f"{escape(mark.sentence)}</span></td></tr>"
    )
