"""Lays statements out: indents lines, and breaks long ones at commas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

WIDTH: Final = 92
_INDENT: Final = "    "


def wrap(text: str, depth: int) -> list[str]:
    r"""Return a statement as lines.

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
    cuts = _longest_bracket(text)
    if not cuts:
        return [line]
    parts = [text[start + 1 : stop].strip() for start, stop in pairwise(cuts)]
    # a call, a list or a dict may end with a comma, what is in mere parentheses must not
    inner = _fill([part for part in parts if part], depth + 1, trailing=len(parts) > 1)
    return [_INDENT * depth + text[: cuts[0] + 1], *inner, _INDENT * depth + text[cuts[-1] :]]


def _fill(parts: list[str], depth: int, *, trailing: bool) -> list[str]:
    """Return parts one to a line, numbers as many as fit."""
    comma = "," if trailing else ""
    if all(len(part) < 25 and part[:1] in "-0123456789n" for part in parts):
        lines = [""]
        for part in parts:
            if lines[-1] and len(lines[-1]) + len(part) + 2 > WIDTH - len(_INDENT) * depth:
                lines.append("")
            lines[-1] += f"{' ' if lines[-1] else ''}{part}{comma}"
        return [_INDENT * depth + text for text in lines]
    return [text for part in parts for text in wrap(f"{part}{comma}", depth)]


def _longest_bracket(text: str) -> list[int]:
    """Return the places of the longest outermost bracket: opening, commas in it, closing."""
    found: list[list[int]] = [[]]
    cuts: list[int] = []
    depth = 0
    for k, sign in _signs(text):
        opens, closes = sign in "([{", sign in ")]}"
        depth += opens
        if depth == 1 and (opens or closes or sign == ","):
            cuts = [k] if opens else [*cuts, k]
            if closes and k > cuts[0] + 1:
                found.append(cuts)
        depth -= closes
    return max(found, key=lambda cuts: cuts[-1] - cuts[0] if cuts else 0)


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
    r"""Escape what would end a line of the text, or could not be seen in it.

    >>> print(on_one_line("a\nb\x00"))
    a\nb\x00
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def in_docstring(text: str) -> str:
    r"""Escape what would end a docstring, or be changed in one.

    >>> print(in_docstring('"' * 3), in_docstring("\\d"))
    \"\"\" \\d
    """
    return on_one_line(text.replace("\\", "\\\\").replace('"' * 3, '\\"' * 3))
