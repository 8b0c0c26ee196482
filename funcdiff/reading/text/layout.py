"""Lays statements out: indents lines, and breaks at commas those that are too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

WIDTH: Final = 92
_INDENT: Final = "    "
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


def wrap(text: str, depth: int) -> list[str]:
    r"""Return a statement as lines.

    Examples
    --------
    >>> wrap("y = f(x)", 1)
    ['    y = f(x)']
    >>> print("\n".join(wrap(f"y = f({'x' * 50}, {'z' * 50})", 0)))
    y = f(
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
        zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz,
    )
    """
    line = _INDENT * depth + text
    if len(line) <= WIDTH or text.startswith("#"):
        return [line]
    span = _outermost(text)
    if span is None:
        return [line]
    start, stop = span
    parts = _split(text[start + 1 : stop])
    # a call, a list or a dict may end with a comma, what is in mere parentheses must not
    trailing = len(parts) > 1 or text[start + 1 : stop].rstrip().endswith(",")
    inner = _fill(parts, depth + 1, trailing=trailing)
    return [
        _INDENT * depth + text[: start + 1],
        *inner,
        _INDENT * depth + text[stop:],
    ]


def _fill(parts: list[str], depth: int, *, trailing: bool) -> list[str]:
    """Return parts one to a line, numbers as many as fit."""
    comma = "," if trailing else ""
    if all(len(part) < 25 and part[:1] in "-0123456789n" for part in parts):
        lines, line = [], ""
        for part in parts:
            if line and len(line) + len(part) + 2 > WIDTH - len(_INDENT) * depth:
                lines.append(line)
                line = ""
            line += f"{' ' if line else ''}{part}{comma}"
        return [_INDENT * depth + text for text in [*lines, line]]
    return [text for part in parts for text in wrap(f"{part}{comma}", depth)]


def _outermost(text: str) -> tuple[int, int] | None:
    """Return where the longest outermost bracket opens and closes."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for k, sign in _signs(text):
        if sign in _PAIRS:
            opened.append(k)
        elif sign in _PAIRS.values():
            start = opened.pop()
            if not opened and k > start + 1:
                found.append((start, k))
    return max(found, key=lambda span: span[1] - span[0], default=None)


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and strings."""
    parts, depth, start = [], 0, 0
    for k, sign in _signs(text):
        depth += (sign in _PAIRS) - (sign in _PAIRS.values())
        if sign == "," and not depth:
            parts.append(text[start:k].strip())
            start = k + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts


def _signs(text: str) -> Iterator[tuple[int, str]]:
    """Give what stands outside of strings, with its place."""
    quote, escaped = "", False
    for k, sign in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            yield k, sign


def on_one_line(text: str) -> str:
    r"""Return a text of the user's without what would end a line, or could not be seen in it.

    Examples
    --------
    >>> print(on_one_line("a\nb\x00"))
    a\nb\x00
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def in_docstring(text: str) -> str:
    r"""Return a text of the user's so that it neither ends a docstring nor is changed in it.

    Examples
    --------
    >>> print(in_docstring('"' * 3), in_docstring("\\d"))
    \"\"\" \\d
    """
    return on_one_line(text.replace("\\", "\\\\").replace('"' * 3, '\\"' * 3))
