"""The report of a call, as text for a terminal and as a page."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from funcdiff.core.origins import Place
from funcdiff.reading.costs import bytes_text, count_text, with_count
from funcdiff.reading.explanation.findings import Advice, Fault, Kink, LineCost, Masked
from funcdiff.reading.provenance import short_file, source_of

# ---- Phrases findings as sentences, and costs of lines in a few digits ---------------------------


class Mark(NamedTuple):
    """A sentence about a line."""

    kind: str  # the heading under which it stands
    place: Place | None  # None for what belongs to no line
    sentence: str


KINDS = ("not finite", "not finite, but masked", "kinks", "advice")
"""Headings, in order."""


def marks(
    faults: Sequence[Fault],
    masked: Sequence[Masked],
    kinks: Sequence[Kink],
    advice: Sequence[Advice],
) -> list[Mark]:
    """Return what is to be said of all that was found."""
    return [
        *(Mark(KINDS[0], x.place, _fault(x)) for x in faults),
        *(Mark(KINDS[1], x.place, _sentence_on_mask(x)) for x in masked),
        *(Mark(KINDS[2], x.place, _kink(x)) for x in kinks),
        *(Mark(KINDS[3], x.place, f"{x.about}: {x.reason}; instead {x.instead}") for x in advice),
    ]


def summary(found: Sequence[Mark]) -> str:
    """Return how much was found, in one line."""
    counts = {kind: sum(mark.kind == kind for mark in found) for kind in KINDS}
    return ", ".join(f"{kind}: {count}" for kind, count in counts.items() if count) or "all is well"


def where(place: Place | None) -> str:
    """Return a line as ``model.py:12: y = np.log(x)``."""
    if place is None:
        return "elsewhere"
    source = source_of(place)
    return f"{short_file(place.file)}:{place.line}" + (f": {source}" if source else "")


def _fault(fault: Fault) -> str:
    if fault.kind == "error":
        return f"{fault.expression} raises {fault.found}"
    at = f" at {list(fault.index)}, and {fault.count} of {fault.size}" if fault.index else ""
    text = f"{fault.expression} = {fault.found}{at}"
    if fault.kind == "argument":
        return f"the argument {text}"
    known = ", ".join(f"{word} = {value}" for word, value in fault.operands)
    return f"the {fault.kind} {text}" + (f", with {known}" if known else "")


def _sentence_on_mask(masked: Masked) -> str:
    elsewhere = masked.made_at not in (None, masked.place)
    made = f", made in {where(masked.made_at)}" if elsewhere else ""
    return f"np.where drops {with_count(masked.count, 'element')} of {masked.expression}{made}"


def _kink(kink: Kink) -> str:
    counts = [(kink.met, "on the kink"), (kink.near, "near it")]
    text = ", ".join(f"{n} {words}" for n, words in counts if n)
    at = f", first at {list(kink.index)}" if kink.index else ""
    return f"{kink.expression}: {text}{at}; {kink.convention}"


# ---- costs ---------------------------------------------------------------------------------------


def table(lines: Sequence[LineCost]) -> list[str]:
    """Return time, operations and bytes of lines: of the value, and of the derivative behind +."""
    rows = [("time", "operations", "bytes", "line, as value + derivative")]
    rows += [(*cells(line), where(line.place)) for line in lines]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return [
        "  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[3]])
        for row in rows
    ]


def cells(line: LineCost) -> tuple[str, str, str]:
    """Return the costs of a line as text."""
    return (
        " + ".join(map(seconds_text, line.seconds)),
        " + ".join(map(count_text, line.flops)),
        " + ".join(map(bytes_text, line.bytes)),
    )


def seconds_text(seconds: float) -> str:
    """Return a time in three digits and a unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


# ---- Renders a report as a page of HTML: source lines shaded by their time, with the findings ----
#
# The page is one file without scripts, and needs nothing from elsewhere.


_AROUND: Final = 2
"""Lines shown around those that are known."""

_CLASSES: Final = dict(zip(KINDS, ("fault", "masked", "kink", "advice"), strict=True))

_LIGHT: Final = """color: #1c1e21; background: #fff; --line: #d8dbe0; --muted: #5b6270;
  --heat: 234, 120, 20; --fault: #c01c28; --masked: #5b6270; --kink: #7a3fb0; --advice: #0b6b8a;"""
_DARK: Final = """color: #e4e6eb; background: #17191c; --line: #3a3f47; --muted: #9aa3b2;
  --heat: 200, 105, 30; --fault: #ff7b72; --masked: #9aa3b2; --kink: #d2a8ff; --advice: #79c0ff;"""

_STYLE: Final = (
    """
FD { LIGHT font: 14px/1.45 system-ui, sans-serif; padding: 1em; }
@media (prefers-color-scheme: dark) { FD { DARK } }
:is([data-jp-theme-light="true"], [data-theme="light"], .vscode-light) FD { LIGHT }
:is([data-jp-theme-light="false"], [data-theme="dark"], .vscode-dark) FD { DARK }
FD * { all: revert; }
FD h2 { font-size: 1.15em; margin: 0 0 .6em; }
FD h3 { font: 600 .9em ui-monospace, monospace; color: var(--muted); margin: 1em 0 .3em; }
FD table { border-collapse: collapse; width: 100%; color: inherit;
  font: 12.5px/1.5 ui-monospace, monospace; }
FD th, FD td { padding: 0 .6em; text-align: right; white-space: nowrap; vertical-align: top; }
FD th { color: var(--muted); font-weight: 600; border-bottom: 1px solid var(--line); }
FD .number { color: var(--muted); }
FD .source { text-align: left; width: 100%; min-width: 24ch; white-space: pre-wrap; }
FD .note td { text-align: left; white-space: normal; padding-left: 2em; }
FD .note span { display: block; max-width: min(80ch, 100vw - 10em); }
FD .fault { color: var(--fault); } FD .masked { color: var(--masked); }
FD .kink { color: var(--kink); } FD .advice { color: var(--advice); }
FD tr.line.fault { color: inherit; box-shadow: inset 4px 0 var(--fault); }
FD .scroll { overflow-x: auto; }
""".replace("FD", ".fd-report:not(#_)")
    .replace("LIGHT", _LIGHT)
    .replace("DARK", _DARK)
)
# ``:not(#_)`` holds for every report, and weighs more than all that notebooks set by classes.

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


_CODE: Final = "text-align: left; white-space: pre-wrap; overflow-wrap: anywhere"
"""Stands in the cells: notebooks that are not trusted drop the style of the page."""


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
        parts.append(f"<h3>{escape(short_file(file))}</h3>")
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
            f'<td class="source" style="{_CODE}">{escape(source)}</td>'
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
        f'<tr class="note {kind}"><td></td><td colspan="4" style="text-align: left">'
        f"<span><b>{escape(mark.kind)}</b> {escape(mark.sentence)}</span></td></tr>"
    )


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What `explain` finds out about a call.

    Attributes
    ----------
    name
        What was called.
    faults
        Where values, and derivatives, are first not finite, if the result is not; the value's come
        first, in order, then those of the derivative, from behind, as the reverse sweep meets them.
    masked
        What is not finite in a branch that `np.where` does not take, and does no harm.
    kinks
        Where operands are on a kink or near one, and what counts as the derivative.
    advice
        What to write instead.
    lines
        What lines cost, the slowest first, of the value and the derivative together.
    """

    name: str
    faults: tuple[Fault, ...]
    masked: tuple[Masked, ...]
    kinks: tuple[Kink, ...]
    advice: tuple[Advice, ...]
    lines: tuple[LineCost, ...]

    def __str__(self) -> str:
        found = marks(self.faults, self.masked, self.kinks, self.advice)
        parts = [f"{self.name}: {summary(found)}"]
        for kind in KINDS:
            of_kind = [mark for mark in found if mark.kind == kind]
            parts += ["", kind] if of_kind else []
            for mark in of_kind:
                parts += [f"  {where(mark.place)}"] if mark.place else []
                parts.append(f"    {mark.sentence}")
        return "\n".join([*parts, "", *table(self.lines)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the page as a notebook shows it."""
        found = marks(self.faults, self.masked, self.kinks, self.advice)
        return fragment(f"{self.name}: {summary(found)}", found, self.lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which needs nothing else.

        Parameters
        ----------
        path
            Name of the file: ``report.html``.
        """
        Path(path).write_text(document(self.name, self._repr_html_()), encoding="utf-8")
