"""Rewrites NumPy syntax trees for another library: names, keywords, calls, methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.reading.text.expressions import build
from funcdiff.reading.text.symbols import UnwritableError

Call: TypeAlias = Callable[[Sequence[ast.expr], Mapping[str, ast.expr]], ast.expr]
"""From the arguments and keywords of a call, in the other library, to what replaces it."""

_ROOTS: Final = ("np", "scipy")
_LIBRARIES: Final = (*_ROOTS, "jax", "jnp", "torch", "cupy")


class Rules(NamedTuple):
    """How a library spells NumPy's functions."""

    # From a dotted name in NumPy or SciPy; raises `UnwritableError` where there is none.
    spell: Callable[[str], str]
    keywords: Mapping[str, str] = {}  # those with another name
    calls: Mapping[str, Call] = {}  # functions with another call, by dotted name
    # Methods with another call, whose first argument is the object.
    methods: Mapping[str, Call] = {}
    # Other syntax, by kind; the parts are rewritten before.
    nodes: Mapping[type[ast.AST], Callable[[Any], ast.AST]] = {}
    formulas: Mapping[str, Call] = {}  # functions that it lacks, in NumPy's and SciPy's names


def rewriter(rules: Rules) -> Callable[[Any], Any]:
    """Return what rewrites a tree; what is written in the library already stays."""
    return _Rewriter(rules).visit


class _Rewriter(ast.NodeTransformer):
    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a tree, its parts first."""
        found = super().visit(node)
        rule = self._rules.nodes.get(type(found))
        return found if rule is None else rule(found)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rewrite a name of NumPy's that is no call: a dtype, a constant."""
        path = dotted_name(node)
        if path.partition(".")[0] in _ROOTS:
            return build(self._rules.spell(path))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite a call of a function or a method."""
        path = dotted_name(node.func)
        root = path.partition(".")[0]
        args = [self.visit(x) for x in node.args]
        words = {str(word.arg): self.visit(word.value) for word in node.keywords}
        if root not in _LIBRARIES and isinstance(node.func, ast.Attribute):
            target, method = self.visit(node.func.value), node.func.attr
            if method in self._rules.methods:
                return self._rules.methods[method]([target, *args], words)
            return _call(ast.Attribute(target, method, ast.Load()), args, words)
        if path in self._rules.calls:
            return self._rules.calls[path](args, words)
        if path in self._rules.formulas:
            found: ast.AST = self.visit(self._rules.formulas[path](args, words))
            return found
        if root not in _ROOTS:
            return _call(node.func, args, words)
        renamed = {self._rules.keywords.get(word, word): x for word, x in words.items()}
        return _call(build(self._rules.spell(path)), args, renamed)


def _call(function: ast.expr, args: Sequence[ast.expr], words: Mapping[str, ast.expr]) -> ast.Call:
    return ast.Call(function, list(args), [ast.keyword(word, x) for word, x in words.items()])


def dotted_name(node: ast.expr) -> str:
    """Return a dotted name; empty if it is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Attribute):
        return ""
    before = dotted_name(node.value)
    return f"{before}.{node.attr}" if before else ""


def names_in(text: str) -> frozenset[str]:
    """Return names that a text lists."""
    return frozenset(text.split())


def missing(path: str, library: str) -> UnwritableError:
    """Return the error that a library has no such function."""
    return UnwritableError(f"{library} has no counterpart of {path.replace('np.', 'numpy.', 1)}")


def call_of_formula(formula: str, *names: str, **defaults: Any) -> Call:
    """Return a call that puts its arguments into a formula.

    `names` are those of the parameters, each ``x`` in the formula; `defaults` are the values of
    those that need not be given.
    """

    def apply(args: Sequence[ast.expr], keywords: Mapping[str, ast.expr]) -> ast.expr:
        parts: dict[str, ast.expr] = {word: ast.Constant(x) for word, x in defaults.items()}
        parts.update(zip(names, args, strict=False), **keywords)
        unknown = parts.keys() - set(names)
        if unknown or len(args) > len(names):
            raise UnwritableError(f"a call with {', '.join(sorted(unknown))} has no counterpart")
        return build(formula, **parts)

    return apply
