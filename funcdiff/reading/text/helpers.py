"""Writes implementations from `funcdiff.ops` into a text: as expressions, or as functions.

What is one expression of NumPy's functions is written as that.  A longer function is copied as it
stands, with all it refers to: functions come along, constants and parameters become values.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import re
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from funcdiff.core.late import Routine, scipy_function
from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation
from funcdiff.errors import FuncdiffError
from funcdiff.ops.linalg.routines import scipy_linalg
from funcdiff.pytree.statics import static_key
from funcdiff.reading.text.expressions import (
    Symbol,
    UnwritableError,
    array,
    call,
    expression_of,
    name,
    public_name,
    text_of,
)
from funcdiff.reading.text.lines import Names, wrap

_OUTSIDE: Final = {"numpy", *sys.stdlib_module_names}
"""Packages that a text may import."""
_COMMENT: Final = re.compile(r"  # (type: ignore|fmt: skip|noqa).*$", re.MULTILINE)
"""Comments for tools."""

_HEAD: Final = re.compile(
    r"^(?:class|def \w+\(.*?\)(?: -> [^\n]*)?:[^\n]*\n)", re.MULTILINE | re.DOTALL
)
"""Where a definition begins, with its decorators before: up to the body of a function."""

_WRITTEN: Final[dict[Any, tuple[str, str]]] = {
    inspect.unwrap(scipy_function): (
        "import importlib",
        '''\
def scipy_function(name, module="scipy.special"):
    """Return a function of SciPy's."""
    return getattr(importlib.import_module(module), name)
''',
    ),
    scipy_linalg: (
        "import scipy.linalg",
        '''\
def scipy_linalg(name):
    """Return that function of ``scipy.linalg``."""
    return getattr(scipy.linalg, name)
''',
    ),
}
"""Functions that look things up here, as they are in a text, with what that imports."""


class Helpers:
    """The functions and constants of a module of text, and what it imports."""

    def __init__(self, names: Names, *, copies: bool = True) -> None:
        self.texts: list[str] = []
        self.imports: set[str] = {"import numpy as np"}
        self._names = names
        self._copies = copies
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
            found = expression_of(function(*symbols))
        except Exception:  # whatever NumPy and SciPy say to what is no array
            return None
        used = {node.id for node in ast.walk(found) if isinstance(node, ast.Name)}
        # what has none of them looked at what is no array
        return None if words and used.isdisjoint(words) else found

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
        if not self._copies:
            return public_name(function)
        module = (getattr(function, "__module__", "") or "").lstrip("_")
        if public_name(function) or module.split(".")[0] not in _OUTSIDE:
            return public_name(function)
        known = getattr(sys.modules.get(module), word, None) is function
        return self._import_name(module, word) if known else None

    # ---- functions -----------------------------------------------------------------------------

    def call(self, function: Any, wanted: str, operands: Sequence[ast.expr]) -> ast.expr:
        """Call an implementation, whose text comes along, or raise `UnwritableError`."""
        given = [expression_of(x) for x in getattr(function, "args", ())]
        words = {w: expression_of(x) for w, x in getattr(function, "keywords", {}).items()}
        written = self.function(getattr(function, "func", function), wanted)
        return call(written, *given, *operands, **words)

    def function(self, f: Callable[..., Any], wanted: str = "") -> str:
        """Return the name of a function in the text; add it if it is new, with what it needs.

        Raises `UnwritableError` if one of these has no text.
        """
        public = self._public(f)
        if public is not None:
            return public
        if not self._copies:
            raise UnwritableError("its implementation is a function of several statements of NumPy")
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
        source = textwrap.dedent(inspect.getsource(f))
        words = {f.__name__: written}
        for word, value, is_constant in _outside(f):
            words[word] = self._meaning(word, value, f.__module__ if is_constant else "")
        head = f"{_signature(f)}\n" if isinstance(f, FunctionType) else "class"
        (body,) = _HEAD.split(source, 1)[1:]
        if isinstance(f, type) or "def " in body:  # which has annotations
            self.imports.add("from __future__ import annotations")
        return _COMMENT.sub("", _rename(head + body, words))

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
            self._known[key] = word if "." in word else self._names.import_name(word)
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


def _signature(f: FunctionType) -> str:
    """Return the first line of a definition, without annotations."""
    parts = inspect.signature(f).parameters.values()
    plain = inspect.Signature([part.replace(annotation=part.empty) for part in parts])
    return f"def {f.__name__}{plain}:"


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


def _rename(source: str, words: Mapping[str, str]) -> str:
    """Return a source text with other words for names."""
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    depth, edits = 0, []
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        word = token.string
        if token.type == tokenize.OP:
            depth += (word in "([{") - (word in ")]}")
        elif token.type == tokenize.STRING and "f" in word[:2].lower():  # before Python 3.12
            word = re.sub(r"{(\w+)", lambda found: f"{{{words.get(found[1], found[1])}", word)
        elif token.type == tokenize.NAME and before.string != ".":
            is_keyword = depth > 0 and after.string == "="
            word = word if is_keyword else words.get(word, word)
        if word != token.string:
            edits.append((token.start, token.end, word))
    for (first, left), (end, right), word in reversed(edits):
        lines[first - 1 : end] = [lines[first - 1][:left] + word + lines[end - 1][right:]]
    return "".join(lines)
