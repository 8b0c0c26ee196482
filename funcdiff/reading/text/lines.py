"""The lines of a function that is being written: statements, layout, comments, names."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final, TypeAlias

from funcdiff.reading.text.expressions import is_simple, name, text_of

# ---- Lays statements out: indents lines, and breaks long ones at commas --------------------------


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


# ---- Chooses unique names for the variables of a text: from the code, or a short word ------------


_MODULES: Final = ("np", "scipy", "math", "jax", "jnp", "torch", "cupy")
_TAKEN: Final = frozenset({*_MODULES, *keyword.kwlist, *dir(builtins)})


class Names:
    """The names of a module, or those of a function in it.

    Functions may have the same names, but not those of the module.

    >>> names = Names()
    >>> [names.new(word) for word in ("w", "w", "lambda", "params['w']")]
    ['w', 'w_2', 'lambda_', 'params_w']
    >>> names.scope().new("w")
    'w_3'
    """

    def __init__(self, module: Names | None = None) -> None:
        self._own: set[str] = set()
        self._others: set[str] = set() if module is None else module._own
        self._all: set[str] = set() if module is None else module._others

    def new(self, wanted: str) -> str:
        """Return a name that nothing else has, the wanted one if it is free."""
        found = free(wanted, self._own | self._others)
        self.reserve(found)
        return found

    def import_name(self, word: str) -> str:
        """Return a name for something that is imported: its own, if nothing else has it."""
        return self.new(word) if word in self._own | self._others else self.reserve(word)

    def reserve(self, word: str) -> str:
        """Take a name, that of a parameter."""
        self._own.add(word)
        self._all.add(word)
        return word

    def scope(self) -> Names:
        """Return the names of a function of the module."""
        return Names(self)


def identifier(text: str) -> str:
    """Return a text as an identifier, in the form in which Python knows it.

    >>> identifier("params['w']"), identifier("3d"), identifier("x\u00b2"), identifier("\ufb01t")
    ('params_w', 'value_3d', 'x2', 'fit')
    """
    normal = unicodedata.normalize("NFKC", text)
    allowed = "".join(sign if f"_{sign}".isidentifier() else " " for sign in normal)
    plain = re.sub(r" +", "_", allowed).replace("__", "_").rstrip("_")
    if not plain:
        return "value"
    return plain if plain.isidentifier() else f"value_{plain}"


def is_builtin(word: str) -> bool:
    """Whether Python gives a name a meaning, which the text may rely upon."""
    return hasattr(builtins, word)


def is_plain(text: str) -> bool:
    """Whether a text stands for itself as a name: Python neither refuses nor changes it."""
    normal = unicodedata.normalize("NFKC", text)
    return text.isidentifier() and not keyword.iskeyword(text) and normal == text


def free(wanted: str, given: set[str]) -> str:
    """Return a name that is none of those given, the wanted one if it is free."""
    plain = identifier(wanted)
    if plain in _TAKEN:
        plain += "_"
    found, count = plain, 2
    while found in given:
        found, count = f"{plain}_{count}", count + 1
    return found


SHORT_WORDS: Final = {
    "add": "t", "sub": "difference", "mul": "product", "div": "ratio", "neg": "t",
    "contract": "product", "reduce_sum": "total", "reduce_max": "largest",
    "reduce_min": "smallest", "select": "chosen", "less": "mask", "less_equal": "mask",
    "greater": "mask", "greater_equal": "mask", "equal": "mask", "not_equal": "mask",
    "logical_and": "mask", "logical_or": "mask", "logical_not": "mask", "broadcast": "spread",
    "reshape": "t", "permute": "t", "slice": "part", "gather": "part", "concatenate": "joined",
    "convert": "t", "svd": "t", "eigh": "t",
}  # fmt: skip
"""Short names for results of operations that the user gave none."""


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
