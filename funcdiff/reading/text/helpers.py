"""Writes implementations from `funcdiff.ops` into a text: as expressions, or as functions.

What is one expression of NumPy's functions is written as that.  A longer function is copied as it
stands, with all it refers to: functions come along, constants and parameters become values.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import keyword
import re
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation
from funcdiff.errors import FuncdiffError, InternalError
from funcdiff.ops.special.family import Routine, scipy_function
from funcdiff.pytree.statics import static_key
from funcdiff.reading.text.expressions import call, name, public_name, text_of
from funcdiff.reading.text.layout import wrap
from funcdiff.reading.text.literals import array
from funcdiff.reading.text.names import Names
from funcdiff.reading.text.symbols import Symbol, UnwritableError, expression_of

Token: TypeAlias = tokenize.TokenInfo
Place: TypeAlias = tuple[int, int]
"""Line and column."""

_OUTSIDE: Final = {"numpy", *sys.stdlib_module_names}
"""Packages that a text may import."""
_COMMENT: Final = re.compile(r"  # (type: ignore|fmt: skip|noqa).*$", re.MULTILINE)
"""Comments for tools."""

_WRITTEN: Final[dict[Any, tuple[str, str]]] = {
    inspect.unwrap(scipy_function): (
        "import scipy.special",
        '''\
def scipy_function(name):
    """Return that function of ``scipy.special``."""
    return getattr(scipy.special, name)
''',
    ),
}
"""Functions that look things up here, as they are in a text, with what that imports."""


class Helpers:
    """The functions and constants of a module of text, and what it imports."""

    def __init__(self, names: Names) -> None:
        self.texts: list[str] = []
        self.imports: set[str] = {"import numpy as np"}
        self._names = names
        self._known: dict[Any, str] = {}

    def add(self, text: str) -> None:
        """Add a helper as it is, once."""
        if text not in self.texts:
            self.texts.append(text)

    # ---- expressions ---------------------------------------------------------------------------

    def expression(self, eq: Equation, words: Sequence[str]) -> ast.expr | None:
        """Return an implementation as an expression of operands, if it is no more than that."""
        function: Any = eq.operation.function
        if isinstance(function, FunctionType) and _has_statements(function.__code__):
            return None
        symbols = [
            Symbol(name(word), self._import_public, len(eq.results), atom.type)
            for word, atom in zip(words, eq.operands, strict=True)
        ]
        try:
            return expression_of(function(*symbols))
        except Exception:  # whatever NumPy and SciPy say to what is no array
            return None

    def _import_public(self, function: Any) -> str:
        found = self._public(function)
        if found is None:
            raise UnwritableError(f"{function!r} has no name")
        return found

    def _public(self, function: Any) -> str | None:
        """Return how the text calls a function of NumPy's, SciPy's or Python's; None of ours."""
        word = getattr(function, "__name__", "")
        special = sys.modules.get("scipy.special")
        if isinstance(function, Routine) or getattr(special, word, None) is function:
            self.imports.add("import scipy.special")
            return f"scipy.special.{word}"
        module = (getattr(function, "__module__", "") or "").lstrip("_")
        if public_name(function) or module.split(".")[0] not in _OUTSIDE:
            return public_name(function)
        known = getattr(sys.modules.get(module), word, None) is function
        return self._import_name(module, word) if known else None

    # ---- functions -----------------------------------------------------------------------------

    def call(self, function: Any, wanted: str, operands: Sequence[ast.expr]) -> ast.expr:
        """Return a call of an implementation, which comes along.

        Raises
        ------
        UnwritableError
            If it, or something that it needs, has no text.
        """
        given = [expression_of(x) for x in getattr(function, "args", ())]
        words = {w: expression_of(x) for w, x in getattr(function, "keywords", {}).items()}
        written = self.function(getattr(function, "func", function), wanted)
        return call(written, *given, *operands, **words)

    def function(self, f: Callable[..., Any], wanted: str = "") -> str:
        """Return the name under which the text has a function, adding it if it is new.

        Raises
        ------
        UnwritableError
            If it, or something that it needs, has no text.
        """
        public = self._public(f)
        if public is not None:
            return public
        f = inspect.unwrap(f)
        if not isinstance(f, FunctionType | type) or f.__name__ == "<lambda>":
            raise UnwritableError(f"{f!r} is not a function that has a name")
        key = _key_of(f)
        if key not in self._known:
            own = f.__code__.co_varnames if isinstance(f, FunctionType) else ()
            free = f"{wanted}_of" if wanted in own else wanted
            self._known[key] = self._names.new(free or f.__name__)
            self.texts.append(self._definition(f, self._known[key]))
        return self._known[key]

    def _definition(self, f: FunctionType | type, written: str) -> str:
        if f in _WRITTEN:
            line, text = _WRITTEN[f]
            self.imports.add(line)
            return text.replace(f.__name__, written, 1)
        if isinstance(f, type):  # whose fields are annotated
            self.imports.add("from __future__ import annotations")
        source = textwrap.dedent(inspect.getsource(f))
        source = source[re.search(r"^(def|class) ", source, re.MULTILINE).start() :]  # type: ignore[union-attr]
        words = {f.__name__: written}
        for word, value, is_constant in _outside(f):
            words[word] = self._meaning(word, value, f.__module__ if is_constant else "")
            if isinstance(value, Params):
                words |= _properties(word, value, source)
        return _COMMENT.sub("", _renamed(source, words))

    def _meaning(self, word: str, value: Any, module: str) -> str:
        """Return what the text has for something outside of a function.

        A constant of a module keeps its name; what a function closes over is written in its place.
        """
        if isinstance(value, ModuleType):
            return "np" if value is np else self._import_name("", value.__name__)
        if isinstance(value, type) and issubclass(value, FuncdiffError):
            return next(c for c in value.__mro__ if c.__module__ == "builtins").__name__
        if callable(value):
            return self.function(value)
        if isinstance(value, Params):
            parts = {f.name: expression_of(getattr(value, f.name)) for f in fields(value)}
            factory = self._import_name("types", "SimpleNamespace")
            return self._constant(value, type(value).__name__.lower(), call(factory, **parts))
        written = array(value) if isinstance(value, np.ndarray) else expression_of(value)
        if isinstance(value, np.dtype) or not module:
            return text_of(ast.List([written], ast.Load()))[1:-1]
        return self._constant((module, word), word, written)

    def _constant(self, key: Any, wanted: str, value: ast.expr) -> str:
        """Return the name of a constant of the text, adding it if it is new."""
        if key not in self._known:
            self._known[key] = self._names.new(wanted)
            lines = wrap(f"{self._known[key]} = {ast.unparse(value)}", 0)
            self.texts.append("\n".join(lines) + "\n")
        return self._known[key]

    def _import_name(self, module: str, word: str) -> str:
        """Return the name under which the text has a module, or something of a module."""
        key = (module, word)
        if key not in self._known:
            self._known[key] = word if "." in word else self._names.imported_name(word)
            alias = f" as {self._known[key]}" if self._known[key] != word else ""
            self.imports.add(
                f"from {module} import {word}{alias}" if module else f"import {word}{alias}"
            )
        return self._known[key]


# ---- Python functions ----------------------------------------------------------------------------


def _has_statements(code: CodeType) -> bool:
    """Whether a function does more than return an expression."""
    return any(
        i.opname.startswith(("STORE", "RAISE", "BEFORE_WITH")) for i in dis.get_instructions(code)
    )


def _key_of(f: FunctionType | type) -> Any:
    """Return what tells a function apart: its code and what it closes over."""
    if isinstance(f, type):
        return f
    try:
        return f.__code__, static_key(tuple(_cells(f).items()))
    except TypeError:
        return id(f)


def _cells(f: FunctionType) -> dict[str, Any]:
    """Return what a function closes over, by name."""
    cells = f.__closure__ or ()
    return dict(zip(f.__code__.co_freevars, (c.cell_contents for c in cells), strict=True))


def _outside(f: FunctionType | type) -> Iterator[tuple[str, Any, bool]]:
    """Give the names that a definition has from outside, what they mean, and which are global."""
    if isinstance(f, type):
        for base in getattr(f, "__orig_bases__", ()):
            yield base.__name__, base, False
        methods = [x for x in vars(f).values() if isinstance(x, FunctionType)]
        for method in methods:
            if method.__module__ == f.__module__:
                yield from _outside(method)
        return
    for word, value in _cells(f).items():
        yield word, value, False
    for word in sorted(_global_names(f.__code__)):
        if word in f.__globals__:
            yield word, f.__globals__[word], True
        elif not hasattr(builtins, word):
            raise UnwritableError(f"{word} is not known in {f.__module__}")


def _global_names(code: CodeType) -> set[str]:
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    inner = [x for x in code.co_consts if isinstance(x, CodeType)]
    return found.union(*map(_global_names, inner))


def _properties(word: str, p: Params, source: str) -> dict[str, str]:
    """Return what a source text asks of parameters beside their fields."""
    stored = {f.name for f in fields(p)}
    asked = set(re.findall(rf"\b{word}\.(\w+)", source)) - stored
    return {f"{word}.{attr}": ast.unparse(expression_of(getattr(p, attr))) for attr in asked}


def _renamed(source: str, words: Mapping[str, str]) -> str:
    """Return a definition with other words for names and for attributes as ``p.x``.

    Annotations of functions and their variables go.
    """
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    gone = [] if source.startswith("class") else list(_annotations(tokens))
    edits = [(start, end, "") for start, end in gone]
    depth = 0
    for k, token in enumerate(tokens[:-2]):
        after, last = tokens[k + 1 : k + 3]
        if any(start <= token.start < end for start, end in gone):
            continue
        depth += _nesting(token)
        if token.type == tokenize.STRING and "f" in token.string[:2].lower():
            edits.append((token.start, token.end, _renamed_in_braces(token.string, words)))
        elif token.type == tokenize.NAME and (k == 0 or tokens[k - 1].string != "."):
            attribute = f"{token.string}.{last.string}" if after.string == "." else ""
            is_keyword = depth > 0 and after.string == "="
            if attribute in words:
                edits.append((token.start, last.end, words[attribute]))
            elif token.string in words and not is_keyword:
                edits.append((token.start, token.end, words[token.string]))
    for (first, left), (end, right), text in sorted(edits, reverse=True):
        lines[first - 1 : end] = [lines[first - 1][:left] + text + lines[end - 1][right:]]
    return "".join(lines)


def _nesting(token: Token) -> int:
    """Return 1 for a bracket that opens, -1 for one that closes."""
    is_operator = token.type == tokenize.OP
    return is_operator * ((token.string in "([{") - (token.string in ")]}"))


def _annotations(tokens: Sequence[Token]) -> Iterator[tuple[Place, Place]]:
    """Give where annotations of parameters, results and local variables are."""
    depth, head = 0, -1  # head: how deep the `def` is whose parameters these are
    for k, token in enumerate(tokens):
        name, before = tokens[k - 1], tokens[k - 2].type
        if token.string == "def":
            head = depth
        elif token.string == "->":
            yield name.end, _end(tokens, k)
        elif token.string == ":" and depth == head + 1 and head >= 0:
            yield token.start, _end(tokens, k)
        elif token.string == ":" and depth == head:
            head = -1
        elif token.string == ":" and depth == 0 and name.type == tokenize.NAME:
            is_variable = before in _STARTS and not keyword.iskeyword(name.string)
            if is_variable:
                yield token.start, _end(tokens, k)
        depth += _nesting(token)


_STARTS: Final = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
"""What comes before a statement."""


def _end(tokens: Sequence[Token], k: int) -> Place:
    """Return where an annotation ends that a token begins."""
    depth = 0
    for before, token in pairwise(tokens[k:]):
        if depth == 0 and (token.string in ",=):" or token.type == tokenize.NEWLINE):
            return before.end
        depth += _nesting(token)
    raise InternalError("an annotation has no end")


def _renamed_in_braces(text: str, words: Mapping[str, str]) -> str:
    """Return a formatted string, which may be one token, with other words for what it computes."""
    word = re.compile(r"(?<![\w.])([^\W\d]\w*)(\.\w+)?")

    def other(found: re.Match[str]) -> str:
        return words.get(found[0]) or words.get(found[1], found[1]) + (found[2] or "")

    return re.sub(r"\{[^{}]*\}", lambda braces: word.sub(other, braces[0]), text)
