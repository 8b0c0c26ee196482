"""Splits long lists of assignments into functions of bounded length.

Long ones are split into functions of bounded length, because Python's compiler takes kilobytes of
memory for each statement of a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from funcdiff.backend.code.source import function

PART: Final = 4000
"""Statements in one function."""

KEPT: Final = "kept"
"""The list by which functions hand numbers to each other."""


class Statement(NamedTuple):
    """``name = template.format(*operands)``."""

    name: str
    template: str
    operands: Sequence[str]

    def text(self) -> str:
        """Return the statement."""
        return f"{self.name} = {self.template.format(*self.operands)}"

    def lines(self) -> list[str]:
        """Return the statement, in one line."""
        return [self.text()]


class Alternative(NamedTuple):
    """One of two lists of statements, and the names that get values from whichever runs."""

    condition: str  # whether the second runs
    names: Sequence[str]  # assigned by both
    # Statements and values.
    branches: Sequence[tuple[Sequence[Statement | Alternative], Sequence[str]]]

    def lines(self) -> list[str]:
        """Return the statement, line by line."""
        other, first = (
            [f"    {line}" for line in [*lines_of(statements), self._assign(values)]]
            for statements, values in self.branches
        )
        return [f"if {self.condition}:", *first, "else:", *other]

    def _assign(self, values: Sequence[str]) -> str:
        if not values:
            return "pass"
        return f"{', '.join(self.names)}, = {', '.join(values)},"


def lines_of(statements: Iterable[Statement | Alternative]) -> list[str]:
    """Return the lines of statements."""
    return [line for statement in statements for line in statement.lines()]


class Parts:
    """Functions that run some statements one after the other, and keep what is needed later.

    Each statement assigns to a name of its own; `kept` are those that are needed in the end.
    """

    def __init__(self, statements: Sequence[Statement], kept: Iterable[str]) -> None:
        self._statements = statements
        self._part = {s.name: k // PART for k, s in enumerate(statements)}
        # Index in the list of what is kept: those in `kept` come first, in order.
        self.place = {name: k for k, name in enumerate(kept)}
        for k, statement in enumerate(statements):
            for operand in statement.operands:
                if self._part.get(operand, k // PART) != k // PART:
                    self.place.setdefault(operand, len(self.place))

    def functions(self, parameters: Sequence[str], header: Sequence[str]) -> list[str]:
        """Return the text of the functions, which are called ``part_0`` and so on.

        They take what is kept, and `parameters`; each begins with the statements of `header`.
        """
        return [
            function(
                f"part_{first // PART}",
                [KEPT, *parameters],
                [*header, *map(self._text, self._statements[first : first + PART])],
            )
            for first in range(0, len(self._statements), PART)
        ]

    def _text(self, statement: Statement) -> str:
        here = self._part[statement.name]
        operands = [
            x if self._part.get(x, here) == here else f"{KEPT}[{self.place[x]}]"
            for x in statement.operands
        ]
        text = statement._replace(operands=operands).text()
        place = self.place.get(statement.name)
        return text if place is None else f"{KEPT}[{place}] = {text}"
