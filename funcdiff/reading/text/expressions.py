"""Builds Python expressions as syntax trees, so that parentheses come out right."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np


@cache
def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def substitute(node: Any, parts: Mapping[str, ast.expr]) -> Any:
    """Return a new tree with expressions in place of names."""
    if isinstance(node, ast.Name):
        return parts.get(node.id, node)
    if isinstance(node, list):
        return [substitute(part, parts) for part in node]
    if not isinstance(node, ast.AST) or not node._fields:
        return node
    return type(node)(**{word: substitute(part, parts) for word, part in ast.iter_fields(node)})


def build(text: str, **parts: ast.expr) -> ast.expr:
    """Return the expression of a text, with expressions in place of some of its names.

    >>> sum_ = build("a + b", a=name("x"), b=name("y"))
    >>> text_of(build("a * b", a=sum_, b=name("z")))
    '(x + y) * z'
    """
    found: ast.expr = substitute(_parse(text), parts)
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
        if vars(module).get(word) is function:  # without warnings of old names
            return f"{path}.{word}"
    return None
