"""The code of one function, rewritten from its source.

It keeps what it closes over, its names that a class mangles, its file and its lines.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from functools import lru_cache
from inspect import getblock
from types import CodeType, FunctionType
from typing import Any, Final, Protocol

_OUTER: Final = "closing_over"


class Change(Protocol):
    """What rewrites a tree, and notes whether it has changed anything."""

    has_changed: bool

    def visit(self, node: ast.AST) -> Any:
        """Return a tree, changed."""


def rewritten(plain: FunctionType, change: Callable[[], Change]) -> CodeType:
    """Return the code of a function, changed; its own code, if that has no source or no change."""
    return _rewritten(plain.__code__, plain.__qualname__.split(".")[-2:][0], change)


@lru_cache(maxsize=1024)
def _rewritten(code: CodeType, owner: str, change: Callable[[], Change]) -> CodeType:
    function = _definition(code)
    if function is None:
        return code
    function.decorator_list = []  # of functions within they stay
    rewriter = change()
    function = rewriter.visit(function)
    if not rewriter.has_changed:
        return code
    # names that begin with two underscores are mangled by the class around, by its name without
    # the first ones, which hide no name that the function knows
    name = "____" + owner * owner.isidentifier()
    outer = f"def {_OUTER}({', '.join(code.co_freevars)}):\n class {name}: pass"
    tree = ast.parse(outer)
    tree.body[0].body[0].body = [function]  # type: ignore[attr-defined]
    changed = compile(tree, code.co_filename, "exec", dont_inherit=True)
    for inner in (_OUTER, name, code.co_name):
        parts = (part for part in changed.co_consts if isinstance(part, CodeType))
        changed = next(part for part in parts if part.co_name == inner)
    return changed if changed.co_freevars == code.co_freevars else code


def _definition(code: CodeType) -> ast.FunctionDef | None:
    """Return the definition of a function in its file; None if there is none."""
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno - 1
    try:
        block = lines[first : _last_line(code)]
        tree = _parse(block, first) or _parse(getblock(lines[first:]), first)
    except (SyntaxError, IndexError):
        return None
    if tree is None or len(tree.body) != 1:  # as of a lambda
        return None
    (node,) = tree.body
    node = node.body[0] if isinstance(node, ast.If) else node
    return node if isinstance(node, ast.FunctionDef) and node.name == code.co_name else None


def _parse(block: list[str], before: int) -> ast.Module | None:
    """Return the tree of some lines, with as many before them; None if they are not whole."""
    is_method = "".join(block)[:1].isspace()  # methods stand indented
    above = "\n" * (before - is_method) + "if True:\n" * is_method
    try:
        return ast.parse(above + "".join(block)) if block else None
    except SyntaxError:
        return None


def _last_line(code: CodeType) -> int:
    """Return the last line that does something: a bracket may still be closed on the next."""
    inner = [_last_line(part) for part in code.co_consts if isinstance(part, CodeType)]
    return max([0, *inner, *(end for _, end, _, _ in code.co_positions() if end)])
