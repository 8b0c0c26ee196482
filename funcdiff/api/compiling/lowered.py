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
    kinds, leaves
        For how many kinds of arguments it was traced; how many programs it has, which are several
        for a kind if Python decides by values.
    hits, misses
        How many calls found their program; how many had a new outcome, by place in the user's code.
    eager
        How many kinds are run as without `jit`, since they had ever new outcomes.
    function
        The user's function, with its file and line.
    """

    kinds: int
    leaves: int
    hits: int
    misses: dict[str, int]
    eager: int
    function: str

    def _rows(self) -> list[tuple[str, int]]:
        """Return each count behind what it counts."""
        return [
            ("kinds of arguments that it was traced for", self.kinds),
            ("programs that it keeps: one for each kind and each outcome of an if", self.leaves),
            ("hits: calls that found their program", self.hits),
            *((f"misses: calls with a new outcome at {x}", n) for x, n in self.misses.items()),
            ("kinds that run as without jit, as their outcomes do not repeat", self.eager),
        ]

    def __str__(self) -> str:
        """Return the counts in words."""
        lines = [f"{count:8}  {text}" for text, count in self._rows()]
        return "\n".join([f"jit of {self.function}", *lines])

    def _repr_html_(self) -> str:
        """Return how a notebook shows it."""
        shown: str = late_import("funcdiff.reading.tables").records_html(
            f"jit of {self.function}", ("what", "count"), self._rows()
        )
        return shown
