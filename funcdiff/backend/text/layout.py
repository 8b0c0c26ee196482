"""Lines: indented, and broken at commas where they are too long."""

from __future__ import annotations

from typing import Final

WIDTH: Final = 92
_INDENT: Final = "    "
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


def wrapped(text: str, depth: int) -> list[str]:
    r"""Return a statement as lines.

    Examples
    --------
    >>> wrapped("y = f(x)", 1)
    ['    y = f(x)']
    >>> print("\n".join(wrapped(f"y = f({'x' * 50}, {'z' * 50})", 0)))
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
    inner = _filled(parts, depth + 1, trailing=trailing)
    return [
        _INDENT * depth + text[: start + 1],
        *inner,
        _INDENT * depth + text[stop:],
    ]


def _filled(parts: list[str], depth: int, *, trailing: bool) -> list[str]:
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
    return [text for part in parts for text in wrapped(f"{part}{comma}", depth)]


def _outermost(text: str) -> tuple[int, int] | None:
    """Return where the longest outermost bracket opens and closes."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    quote = ""
    for k, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _PAIRS:
            opened.append(k)
        elif sign in _PAIRS.values():
            start = opened.pop()
            if not opened and k > start + 1:
                found.append((start, k))
    return max(found, key=lambda span: span[1] - span[0], default=None)


def _split(text: str) -> list[str]:
    """Split at commas outside of brackets and strings."""
    parts, depth, quote, current = [], 0, "", ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _PAIRS:
            depth += 1
        elif sign in _PAIRS.values():
            depth -= 1
        if sign == "," and not depth and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += sign
    if current.strip():
        parts.append(current.strip())
    return parts
