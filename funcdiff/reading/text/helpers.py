"""Copies multi-line implementations from `funcdiff.ops` into a text, with all they refer to.

An implementation there is a plain NumPy function with a docstring.  What it refers to is settled
here: functions come along, parameters of the operation become numbers, and annotations go.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.primitive import Params
from funcdiff.errors import FuncdiffError
from funcdiff.ops.special import family
from funcdiff.ops.special.family import scipy_function
from funcdiff.reading.text.definitions import (
    Edit,
    UnwritableError,
    annotation_of,
    apply_edits,
    bound_in,
    closure,
    constant_assignments,
    definition,
    end_of,
    key_of,
    renaming,
    return_value,
    signature,
    start_of,
    targets_of,
)
from funcdiff.reading.text.expressions import Substitution, build, constant, public_name
from funcdiff.reading.text.layout import wrap
from funcdiff.reading.text.literals import dtype_of
from funcdiff.reading.text.names import Names

_PACKAGE: Final = "funcdiff."
_SCIPY: Final = (scipy_function, getattr(family, "_found", None))
"""Functions that find a function of SciPy's by its name."""


_NOTHING: Final = object()
"""Stands for what a name does not refer to."""


class _Scope(NamedTuple):
    """What the names in a function mean.

    Attributes
    ----------
    module
        Where it is defined.
    cells
        What it closes over.
    bound
        Its own names, which stay.
    """

    module: ModuleType
    cells: Mapping[str, Any]
    bound: frozenset[str]

    def lookup(self, word: str) -> Any:
        """Return what a name from outside refers to, `_NOTHING` if it is not one."""
        if word in self.bound:
            return _NOTHING
        return self.cells.get(word, vars(self.module).get(word, _NOTHING))


class Helpers:
    """The functions and constants of a module of text, and what it imports."""

    def __init__(self, names: Names) -> None:
        self.texts: list[str] = []
        self.imports: set[str] = {"import numpy as np"}
        self._names = names
        self._known: dict[Any, str] = {}

    # ---- functions -----------------------------------------------------------------------------

    def function(self, f: Callable[..., Any], wanted: str = "") -> str:
        """Return the name under which the text has a function, adding it if it is new.

        Raises
        ------
        UnwritableError
            If it, or something that it needs, has no text.
        """
        public = public_name(f)
        if public is not None:
            return public
        f = inspect.unwrap(f)
        if isinstance(f, type) and f.__module__.startswith(_PACKAGE):
            return self._class(f)
        if not isinstance(f, FunctionType):
            raise UnwritableError(f"{f!r} is not a Python function")
        key = key_of(f)
        if key not in self._known:
            clash = wanted in bound_in(definition(f))
            self._known[key] = self._names.new(f"{wanted}_of" if clash else wanted or f.__name__)
            self.texts.append(self._definition(f, self._known[key]))
        return self._known[key]

    def add(self, text: str) -> None:
        """Add a helper as it is, once."""
        if text not in self.texts:
            self.texts.append(text)

    def _definition(self, f: FunctionType, name: str) -> str:
        node = definition(f)
        if isinstance(node, ast.Lambda):
            arguments = ", ".join(signature(node.args))
            return f"def {name}({arguments}):\n    return {ast.unparse(self.expression(f))}\n"
        source = textwrap.dedent(inspect.getsource(f))
        (tree,) = ast.parse(source).body
        assert isinstance(tree, ast.FunctionDef)
        scope = _Scope(sys.modules[f.__module__], closure(f), frozenset(bound_in(tree)))
        edits = [renaming(tree, source, name), *self._edits(tree, source, scope)]
        return apply_edits(source, edits)

    def _class(self, cls: type) -> str:
        """Return the name of a class, adding its definition; its annotations say no more."""
        if cls not in self._known:
            self._known[cls] = self._names.new(cls.__name__)
            source = textwrap.dedent(inspect.getsource(cls))
            (tree,) = ast.parse(source).body
            assert isinstance(tree, ast.ClassDef)
            scope = _Scope(sys.modules[cls.__module__], {}, frozenset(bound_in(tree)))
            edits = list(self._edits(tree, source, scope))
            self.texts.append(apply_edits(source, edits))
        return self._known[cls]

    def expression(
        self,
        f: FunctionType,
        parts: Mapping[str, ast.expr] | None = None,
        rest: Sequence[ast.expr] = (),
    ) -> ast.expr:
        """Return the body of a function that is one expression, with expressions for parameters."""
        node = definition(f)
        body = return_value(node)
        assert body is not None
        scope = _Scope(sys.modules[f.__module__], closure(f), frozenset(bound_in(node)))
        resolved = _Resolved(self, scope).visit(body)
        if parts is not None:
            starred = {node.args.vararg.arg: rest} if node.args.vararg else {}
            resolved = Substitution(parts, starred).visit(resolved)
        folded: ast.expr = _Folded().visit(resolved)
        return folded

    # ---- what names stand for ------------------------------------------------------------------

    def _edits(
        self, tree: ast.FunctionDef | ast.ClassDef, source: str, scope: _Scope
    ) -> Iterator[Edit]:
        """Give the changes that make a definition stand by itself."""
        settled: set[int] = set()
        for node in ast.walk(tree):
            if id(node) in settled:
                continue
            annotation = annotation_of(node, source)
            if annotation is not None:
                edit, gone = annotation
                settled.update(map(id, ast.walk(gone)))
                yield edit
            elif isinstance(node, ast.JoinedStr):
                # positions inside of it are not to be relied upon
                settled.update(map(id, ast.walk(node)))
                before = ast.unparse(node)
                after = ast.unparse(_Resolved(self, scope).visit(copy.deepcopy(node)))
                if after != before:
                    yield Edit(start_of(node), end_of(node), after)
            elif isinstance(node, ast.expr):
                replaced = self.resolve(node, scope)
                if replaced is not None:
                    settled.update(map(id, ast.walk(node)))
                    yield Edit(start_of(node), end_of(node), ast.unparse(replaced))

    def resolve(self, node: ast.expr, scope: _Scope) -> ast.expr | None:
        """Return what the text has for an expression that refers to something outside."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = scope.lookup(node.func.id)
            return self._scipy(function, node, scope) if function in _SCIPY else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            held = scope.lookup(node.value.id)
            return self._value(getattr(held, node.attr)) if isinstance(held, Params) else None
        if isinstance(node, ast.Name) and node.id not in scope.bound:
            return self._resolve_name(node.id, scope)
        return None

    def _scipy(self, function: Any, node: ast.Call, scope: _Scope) -> ast.expr:
        """Return the function that one of `_SCIPY` finds."""
        values = [
            scope.lookup(arg.id) if isinstance(arg, ast.Name) else ast.literal_eval(arg)
            for arg in node.args
        ]
        found = function(*values)
        if found is scipy_function(values[0]):
            self.imports.add("import scipy.special")
            return build(f"scipy.special.{values[0]}")
        return build(self._callable(found))

    def _resolve_name(self, word: str, scope: _Scope) -> ast.expr | None:
        value = scope.lookup(word)
        if value is np or (value is _NOTHING and hasattr(builtins, word)):
            return None
        if value is _NOTHING:
            raise UnwritableError(f"{word} is not known in {scope.module.__name__}")
        if isinstance(value, ModuleType):
            return build(self._import_name("", value.__name__))
        if isinstance(value, type) and issubclass(value, FuncdiffError):
            plain = next(c for c in value.__mro__ if c.__module__ == "builtins")
            return build(plain.__name__)
        if callable(value):
            return build(self._callable(value))
        if word not in scope.cells and word in constant_assignments(scope.module):
            return self._constant(word, scope.module)
        return self._value(value)

    def _callable(self, value: Any) -> str:
        public = public_name(value)
        if public is not None:
            return public
        module = (getattr(value, "__module__", "") or "").lstrip("_")
        if module.split(".")[0] in {"numpy", *sys.stdlib_module_names}:
            return self._import_name(module, value.__name__)
        return self.function(value)

    def _import_name(self, module: str, word: str) -> str:
        """Return the name under which the text has a module, or something of a module."""
        key = (module, word)
        if key not in self._known:
            self._known[key] = word if "." in word else self._names.imported_name(word)
            alias = f" as {self._known[key]}" if self._known[key] != word else ""
            self.imports.add(
                f"from {module} import {word}{alias}" if module else f"import {word}{alias}"
            )
        return str(self._known[key])

    def _value(self, value: Any) -> ast.expr:
        if isinstance(value, np.dtype):
            return build("np.dtype(kind)", kind=dtype_of(value))
        if isinstance(value, Params):
            return self._namespace(value)
        if value is None or isinstance(value, int | float | str | tuple | list):
            return constant(value)
        raise UnwritableError(f"{value!r} has no text")

    def _namespace(self, p: Params) -> ast.expr:
        """Return the name of a constant that holds the parameters of an operation."""
        if p not in self._known:
            factory = self._import_name("collections", "namedtuple")
            self._known[p] = self._names.new(type(p).__name__.lower())
            words = ", ".join(f"{f.name}={getattr(p, f.name)!r}" for f in fields(p))
            kind = f'{factory}("{type(p).__name__}", "{" ".join(f.name for f in fields(p))}")'
            lines = wrap(f"{self._known[p]} = {kind}({words})", 0)
            self.texts.append("\n".join(lines) + "\n")
        return build(self._known[p])

    def _constant(self, word: str, module: ModuleType) -> ast.expr:
        """Return the name of a constant that a module assigns, adding the assignment."""
        value = vars(module)[word]
        if isinstance(value, np.dtype):
            return build("np.dtype(kind)", kind=dtype_of(value))
        key = (module.__name__, word)
        if key not in self._known:
            statement = copy.deepcopy(constant_assignments(module)[word])
            assert statement.value is not None
            scope = _Scope(module, {}, frozenset(bound_in(statement.value)))
            right = ast.unparse(_Resolved(self, scope).visit(statement.value))
            for target in targets_of(statement):
                self._known[module.__name__, target] = self._names.new(target)
            left = ", ".join(self._known[module.__name__, t] for t in targets_of(statement))
            self.texts.append(f"{left} = {right}\n")
        return build(self._known[key])


class _Resolved(ast.NodeTransformer):
    """Replace what refers to something outside."""

    def __init__(self, helpers: Helpers, scope: _Scope) -> None:
        self._helpers = helpers
        self._scope = scope

    def visit(self, node: ast.AST) -> Any:
        """Visit a node."""
        if isinstance(node, ast.expr):
            found = self._helpers.resolve(node, self._scope)
            if found is not None:
                return found
        return self.generic_visit(node)


class _Folded(ast.NodeTransformer):
    """Decide what is decided already: ``"L" if True else "U"``."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Turn ``not True`` into False."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Take one side of a decided choice."""
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node
