"""Splits the text of a program into tokens, and reports errors at one of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from funcdiff.core.late import close_matches
from funcdiff.errors import ParseError

T = TypeVar("T")

_TOKENS: Final = re.compile(
    r"""(?P<variable>%\d+)
    | (?P<number>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf\b|nan<[0-9a-f]+>|nan\b))
    | (?P<name>[A-Za-z_]\w*)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<unfinished>['"].*)
    | (?P<sign>[(){}\[\],:=])
    | (?P<space>\s+)
    | (?P<unknown>.)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_PLAIN_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_SHOWN: Final = 80
"""Characters of a word, or of a line around it, that messages show."""


class Token(NamedTuple):
    """A word of the text; the kind of a sign is the sign itself."""

    kind: str
    text: str
    line: int
    column: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        if self.kind == "unfinished":
            return f"{abbreviate(self.text)!r}, a string without an end"
        return repr(abbreviate(self.text))


class Reader:
    """The tokens of a text and the position reached in them."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._tokens = [
            token for number, line in enumerate(self._lines) for token in _tokens(line, number)
        ]
        self._tokens.append(Token("end", "", len(self._lines) - 1, len(self._lines[-1])))
        self._position = 0

    @property
    def next(self) -> Token:
        """The next token."""
        return self._tokens[self._position]

    @property
    def is_at_end_of_line(self) -> bool:
        """Whether the next token is on another line than the one taken last."""
        before = self._tokens[self._position - 1]
        return self.next.line != before.line or self.next.kind == "end"

    def take(self, kind: str, expected: str = "") -> Token:
        """Return the next token, which has to be of the given kind, and go past it."""
        token = self.next
        if token.kind != kind:
            raise self.error(token, expected or repr(kind))
        self._position += 1
        return token

    def take_word(self, word: str) -> Token:
        """Go past a keyword."""
        if self.next.text != word:
            raise self.error(self.next, repr(word))
        return self.take("name")

    def skip(self, sign: str) -> bool:
        """Go past a sign if it comes next; return whether it did."""
        found = self.next.kind == sign
        self._position += found
        return found

    def read_list(self, item: Callable[[], T], closing: str) -> list[T]:
        """Read items between commas, and the closing sign; a comma may be left at the end."""
        items: list[T] = []
        while not self.skip(closing):
            items.append(item())
            if not self.skip(","):
                self.take(closing, f"',' or {closing!r}")
                break
        return items

    def error(self, token: Token, expected: str) -> ParseError:
        """Return the error for a token where something else was expected."""
        return self.failure(token, f"found {token}, expected {expected}")

    def failure(self, token: Token, what: str) -> ParseError:
        """Return an error that shows the line of a token."""
        line = self._lines[token.line]
        indent = len(line) - len(line.lstrip())
        start = max(indent, token.column - _SHOWN)  # of a long line, what is around it
        stop = min(len(line.rstrip()), token.column + _SHOWN)
        before, after = "... " * (start > indent), " ..." * (stop < len(line.rstrip()))
        text = before + _printable(line[start:stop]) + after
        marker = " " * max(token.column - start + len(before), 0) + "^"
        return ParseError(
            f"line {token.line + 1}: {_printable(what)}\n    {text}\n    {marker}",
            token.line + 1,
            token.column + 1,
        )

    def integer(self, token: Token) -> int:
        """Return the integer that a token says; Python reads no more than thousands of digits."""
        try:
            return int(token.text.removeprefix("%"))
        except ValueError:
            raise self.failure(
                token, f"found {abbreviate(token.text)}, expected an integer of fewer digits"
            ) from None

    def string(self, token: Token) -> str:
        """Return the string that a token says, in the escapes that `repr` writes."""

        def said(escape: re.Match[str]) -> str:
            digits = escape.group()[2:]
            if digits and int(digits, 16) <= sys.maxunicode:
                return chr(int(digits, 16))
            if not digits and escape.group()[1] in _PLAIN_ESCAPES:
                return _PLAIN_ESCAPES[escape.group()[1]]
            place = token._replace(column=token.column + 1 + escape.start())
            raise self.failure(
                place,
                f"found {escape.group()}, which stands for no character: expected one of \\n \\r "
                "\\t \\' \\\" \\\\, or \\x, \\u, \\U with 2, 4, 8 digits",
            )

        return _ESCAPE.sub(said, token.text[1:-1])


def abbreviate(text: str, most: int = _SHOWN) -> str:
    """Return a text as messages show it, not all of a long one."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _tokens(line: str, number: int) -> Iterable[Token]:
    for match in _TOKENS.finditer(line):
        kind = match.lastgroup or "unknown"
        if kind != "space":
            text = match.group()
            yield Token(text if kind == "sign" else kind, text, number, match.start())


def near_misses(name: str, known: Iterable[str]) -> str:
    """Return a hint at names that are like the one found."""
    found = close_matches(name, sorted(known), n=2)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""
