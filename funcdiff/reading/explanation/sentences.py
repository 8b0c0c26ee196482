"""Phrases findings as sentences, and costs of lines in a few digits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from funcdiff.core.origins import Place
from funcdiff.reading.costs import bytes_text, count_text
from funcdiff.reading.explanation.findings import Advice, Fault, Kink, LineCost, Masked
from funcdiff.reading.labels import source_of


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
        *(Mark(KINDS[3], x.place, _advice(x)) for x in advice),
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
    return f"{os.path.basename(place.file)}:{place.line}" + (f": {source}" if source else "")


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
    return f"np.where drops {_count_of(masked.count, 'element')} of {masked.expression}{made}"


def _kink(kink: Kink) -> str:
    counts = [(kink.met, "on the kink"), (kink.near, "near it")]
    text = ", ".join(f"{n} {words}" for n, words in counts if n)
    at = f", first at {list(kink.index)}" if kink.index else ""
    return f"{kink.expression}: {text}{at}; {kink.convention}"


def _advice(advice: Advice) -> str:
    return f"{advice.about}: {advice.reason}; instead {advice.instead}"


def _count_of(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


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
