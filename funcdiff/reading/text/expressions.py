"""Builds Python expressions as syntax trees, so that parentheses come out right."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np


@cache
def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class Substitution(ast.NodeTransformer):
    """Put expressions in place of names; a starred name may stand for several.

    What has come together is put shorter: ``x.T.T``, and ``x[1:2, :1][0, 0]``.
    """

    def __init__(
        self, parts: Mapping[str, ast.expr], starred: Mapping[str, Sequence[ast.expr]] | None = None
    ) -> None:
        self._parts = parts
        self._starred = starred or {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name."""
        if node.id in self._starred:
            return ast.Tuple(list(self._starred[node.id]), ast.Load())
        return self._parts.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace names; the transpose of a transpose is what that is of."""
        x = self.visit(node.value)
        if node.attr == "T" and isinstance(x, ast.Attribute) and x.attr == "T":
            return x.value
        return ast.Attribute(x, node.attr, ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace names; the first element of a slice is an element."""
        x, index = self.visit(node.value), self.visit(node.slice)
        if isinstance(x, ast.Subscript):
            lowers = [_lower_of(part) for part in _parts_of(x.slice)]
            zeros = [_is_zero(part) for part in _parts_of(index)]
            if all(zeros) and len(zeros) == len(lowers) and None not in lowers:
                return item(x.value, [lower for lower in lowers if lower is not None])
        return ast.Subscript(x, index, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Replace starred arguments, then the names in it."""
        args: list[ast.expr] = []
        for arg in node.args:
            inner = arg.value if isinstance(arg, ast.Starred) else None
            if isinstance(inner, ast.Name) and inner.id in self._starred:
                args.extend(self._starred[inner.id])
            else:
                args.append(self.visit(arg))
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return ast.Call(self.visit(node.func), args, keywords)


def _parts_of(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _is_zero(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value == 0


def _lower_of(part: ast.expr) -> ast.expr | None:
    """Return where a slice starts that runs forwards from a known place; None for others."""
    if isinstance(part, ast.Slice) and all(
        isinstance(x, ast.Constant | None) for x in (part.lower, part.step)
    ):
        return part.lower or ast.Constant(0)
    return None


def build(text: str, **parts: ast.expr) -> ast.expr:
    """Return the expression of a text, with expressions in place of some of its names.

    Examples
    --------
    >>> sum_ = build("a + b", a=name("x"), b=name("y"))
    >>> text_of(build("a * b", a=sum_, b=name("z")))
    '(x + y) * z'
    """
    found: ast.expr = Substitution(parts).visit(copy.deepcopy(_parse(text)))
    return found


def name(identifier: str) -> ast.Name:
    """Return a name."""
    return ast.Name(identifier, ast.Load())


def constant(value: Any) -> ast.expr:
    """Return a Python value with an exact `repr`: a string, None, integers, tuples of them."""
    return _parse(repr(value))


def call(function: str, *args: ast.expr, **keywords: ast.expr) -> ast.expr:
    """Return a call of a function given by its dotted name."""
    words = [ast.keyword(word, value) for word, value in keywords.items()]
    return ast.Call(_parse(function), list(args), words)


def method(x: ast.expr, word: str, *args: ast.expr) -> ast.expr:
    """Return a call of a method."""
    return ast.Call(ast.Attribute(x, word, ast.Load()), list(args), [])


def attribute(x: ast.expr, word: str) -> ast.expr:
    """Return an attribute."""
    return ast.Attribute(x, word, ast.Load())


def item(x: ast.expr, indices: Sequence[ast.expr]) -> ast.expr:
    """Return ``x[i, j]``."""
    index = indices[0] if len(indices) == 1 else ast.Tuple(list(indices), ast.Load())
    return ast.Subscript(x, index, ast.Load())


def items(values: Sequence[ast.expr]) -> ast.expr:
    """Return a tuple display."""
    return ast.Tuple(list(values), ast.Load())


def text_of(expression: ast.expr) -> str:
    """Return the text of an expression, on one line."""
    text = ast.unparse(expression)
    return text[1:-1] if isinstance(expression, ast.Tuple) and len(expression.elts) > 1 else text


def is_simple(expression: ast.expr) -> bool:
    """Whether an expression is a name or a number, which may be repeated."""
    return isinstance(expression, ast.Name | ast.Constant)


def public_name(function: Any) -> str | None:
    """Return under which name NumPy has a function: ``np.linalg.solve``."""
    word = getattr(function, "__name__", "")
    for path, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
        if getattr(module, word, None) is function:
            return f"{path}.{word}"
    return None
