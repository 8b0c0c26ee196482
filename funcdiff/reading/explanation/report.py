"""The report of a call, as text for a terminal and as a page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from funcdiff.reading.explanation.findings import Advice, Fault, Kink, LineCost, Masked
from funcdiff.reading.explanation.page import document, fragment
from funcdiff.reading.explanation.sentences import KINDS, marks, summary, table, where


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
