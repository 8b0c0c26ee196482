"""The lines of a function that is being written: statements, indentation, comments, names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from funcdiff.reading.text.expressions import is_simple, name, text_of
from funcdiff.reading.text.layout import on_one_line, wrap
from funcdiff.reading.text.names import Names

Translate: TypeAlias = Callable[[Any], Any]
"""From a syntax tree to one of the same kind."""


class Lines:
    """The statements of a function, one after the other, in the language of a library."""

    def __init__(self, names: Names, translate: Translate | None = None) -> None:
        self._names = names
        self._translate = translate
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

    def line(self, text: str, comment: str = "") -> None:
        """Add a statement, or the head of one, with a comment behind it."""
        text = text if self._translate is None else _translate(text, self._translate)
        self._lines.extend(wrap(f"{text}  # {comment}" if comment else text, self._depth))

    def comment(self, place: str) -> None:
        """Say where the statements that follow come from, if it is somewhere else."""
        if place and place != self._place:
            self._place = place
            self._lines.extend(wrap(f"# {on_one_line(place)}", self._depth))

    def assign(self, target: str, value: ast.expr) -> None:
        """Add an assignment."""
        self.line(f"{target} = {text_of(value)}")

    @contextmanager
    def block(self, head: str, lines: Sequence[str] = ()) -> Iterator[None]:
        """Add a statement that holds some lines, and the statements that are added in it."""
        self.line(head)
        count = len(self._lines)
        self._lines.extend(lines)
        with self.indent():
            yield
            if len(self._lines) == count:
                self.line("pass")

    @contextmanager
    def indent(self) -> Iterator[None]:
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


def _translate(text: str, translate: Translate) -> str:
    """Return a statement, or the head of one, in the language of a library."""
    if text == "else:":
        return text
    begin = "el" if text.startswith("elif ") else ""
    tree = ast.parse(f"{text.removeprefix(begin)} pass" if text.endswith(":") else text)
    before = ast.unparse(tree)
    after = ast.unparse(translate(tree))
    return text if before == after else begin + after.removesuffix("\n    pass")
