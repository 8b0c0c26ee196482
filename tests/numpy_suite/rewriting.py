"""Copies NumPy's or SciPy's own tests with calls, operators and indices handed to an observer.

The copy of a test does what the test does; the observer does calls in it once more with traced
arrays.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

_UNTOUCHED: Final = (
    "super", "locals", "globals", "vars", "dir", "eval", "exec", "isinstance", "len", "range",
    "print", "type", "repr", "str",
)  # fmt: skip
"""Functions that are called as they are: they look at the calling frame, or are Python's own."""
_PARTS: Final = frozenset({"T", "mT", "real", "imag"})
"""Attributes that are functions of the array."""


def rewritten(path: Path, package: str, observer: str = "tests.numpy_suite.observing") -> str:
    """Return the source of a test module of a package, what an observer has functions for seen."""
    rewriter = _Calls if observer.startswith("tests.scipy") else _Operations
    tree = rewriter(package).visit(ast.parse(path.read_text(encoding="utf-8")))
    body = tree.body
    first = 0
    while first < len(body) and (
        (isinstance(body[first], ast.Expr) and isinstance(body[first].value, ast.Constant))
        or (isinstance(body[first], ast.ImportFrom) and body[first].module == "__future__")
    ):
        first += 1
    header = f"import {observer} as _seen\n__file__ = {str(path)!r}"
    body[first:first] = ast.parse(header).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _observed(function: str, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    words = [ast.keyword(arg=word, value=value) for word, value in keywords.items()]
    target = ast.Attribute(ast.Name("_seen", ast.Load()), function, ast.Load())
    return ast.Call(target, list(args), words)


class _Calls(ast.NodeTransformer):
    """Hands calls of functions and methods over."""

    def __init__(self, package: str) -> None:
        self._package = package

    # decorators, defaults and annotations are evaluated once and are not what is tested
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.level:
            parents = self._package.split(".")
            kept = parents[: len(parents) - node.level + 1]
            node.module = ".".join([*kept, *([node.module] if node.module else [])])
            node.level = 0
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id not in _UNTOUCHED:
            return ast.Call(_observed("call").func, [node.func, *node.args], node.keywords)
        if isinstance(node.func, ast.Attribute) and not _is_mangled(node.func.attr):
            called = [node.func.value, ast.Constant(node.func.attr)]
            return ast.Call(_observed("method").func, [*called, *node.args], node.keywords)
        return node


class _Operations(_Calls):
    """Hands operators, indices and attributes over, too."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr in _PARTS and isinstance(node.ctx, ast.Load):
            return _observed("part", node.value, ast.Constant(node.attr))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if _is_literal(node.left) and _is_literal(node.right):
            return node
        return _observed("binary", ast.Constant(type(node.op).__name__), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) or _is_literal(node.operand):
            return node
        return _observed("unary", ast.Constant(type(node.op).__name__), node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        op = type(node.ops[0]).__name__
        if len(node.ops) > 1 or op in ("Is", "IsNot", "In", "NotIn"):
            return node
        return _observed("binary", ast.Constant(op), node.left, node.comparators[0])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return _observed("item", node.value, _index(node.slice))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return node
        write = _observed("set_item", target.value, _index(target.slice), node.value)
        return ast.Expr(write)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        op = ast.Constant(type(node.op).__name__)
        if isinstance(node.target, ast.Name):
            read = ast.Name(node.target.id, ast.Load())
            return ast.Assign([node.target], _observed("augmented", op, read, node.value))
        if isinstance(node.target, ast.Subscript):
            place = [node.target.value, _index(node.target.slice)]
            return ast.Expr(_observed("augmented_item", op, *place, node.value))
        return node


def _is_mangled(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr)


def _index(node: ast.expr) -> ast.expr:
    """Return an index, which may hold slices, as an ordinary expression."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), parts, [])
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(part) for part in node.elts], ast.Load())
    return node
