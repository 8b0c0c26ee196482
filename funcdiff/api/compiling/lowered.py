"""Inspection of jitted functions: their programs, their source and their counters."""

from __future__ import annotations

from typing import NamedTuple

from funcdiff.api.calls.tracing import Trace
from funcdiff.core.late import late_import
from funcdiff.core.program import Program


class Lowered(NamedTuple):
    """What `jit` makes of a function for one kind of arguments.

    Attributes
    ----------
    program
        The program.
    source
        Its Python source.
    """

    program: Program
    source: str

    def _repr_markdown_(self) -> str:
        """Return the source as a notebook shows it."""
        shown: str = late_import("funcdiff.reading.tables").Code(self.source)._repr_markdown_()
        return shown


class Traced(NamedTuple):
    """A program, and the trace that it is made of."""

    program: Program
    trace: Trace


class JitInfo(NamedTuple):
    """What a jitted function keeps.

    Attributes
    ----------
    kinds
        For how many kinds of arguments it was traced.
    leaves
        How many programs it has: more than one for a kind if Python decides by values.
    hits
        How many calls with such a kind found their program.
    misses
        By place in the user's code: how often a call had an outcome there that none had before.
    eager
        How many kinds are run as without `jit`, since they had ever new outcomes.
    """

    kinds: int
    leaves: int
    hits: int
    misses: dict[str, int]
    eager: int

    def _repr_html_(self) -> str:
        """Return how a notebook shows it."""
        rows = [("kinds of arguments", self.kinds), ("programs", self.leaves), ("hits", self.hits)]
        rows += [(f"new outcome: {place}", count) for place, count in self.misses.items()]
        shown: str = late_import("funcdiff.reading.tables").records_html(
            "a jitted function",
            ("kept", "count"),
            [*rows, ("kinds run as without jit", self.eager)],
        )
        return shown
