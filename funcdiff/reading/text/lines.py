"""The lines of a function that is being written: statements, indentation, comments, names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from funcdiff.reading.text.expressions import is_simple, name, text_of
from funcdiff.reading.text.layout import on_one_line, wrap
from funcdiff.reading.text.names import Names


class Lines:
    """The statements of a function, one after the other."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._lines: list[str] = []
        self._depth = 1
        self._place = ""

    @property
    def text(self) -> str:
        """The statements."""
        return "\n".join(self._lines)

    def new(self, wanted: str) -> str:
        """Return a new name."""
        return self._names.new(wanted)

    def reserve(self, word: str) -> None:
        """Take the name of a parameter."""
        self._names.reserve(word)

    def line(self, text: str) -> None:
        """Add a statement."""
        self._lines.extend(wrap(text, self._depth))

    def comment(self, place: str) -> None:
        """Say where the statements that follow come from, if it is somewhere else."""
        if place and place != self._place:
            self._place = place
            self.line(f"# {on_one_line(place)}")

    def assign(self, target: str, value: ast.expr) -> None:
        """Add an assignment."""
        self.line(f"{target} = {text_of(value)}")

    @contextmanager
    def block(self, head: str, lines: Sequence[str] = ()) -> Iterator[None]:
        """Add a statement that holds some lines, and the statements that are added in it."""
        self.line(head)
        count = len(self._lines)
        self._lines.extend(lines)
        with self.indented():
            yield
            if len(self._lines) == count:
                self.line("pass")

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent what is added."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """Collect what is added in a list of its own."""
        (before, self._lines), place = (self._lines, []), self._place
        yield self._lines
        self._lines, self._place = before, place

    def simple(self, value: ast.expr, wanted: str = "t") -> ast.expr:
        """Return a name, or a number, for an expression."""
        if is_simple(value):
            return value
        target = self.new(wanted)
        self.assign(target, value)
        return name(target)
