"""Finds the definitions of functions in source files, and edits their text by syntax tree."""

from __future__ import annotations

import ast
import copy
import inspect
import re
import sys
import textwrap
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from funcdiff.pytree.statics import static_key

_COMMENT: Final = re.compile(r"  # (type: ignore|fmt: skip|noqa).*$", re.MULTILINE)
"""Comments for tools."""


class UnwritableError(Exception):
    """Something has no text; caught by the writer, which knows the equation."""


class Edit(NamedTuple):
    """A stretch of a source text, by line and byte, and what comes in its place."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


@cache
def constant_assignments(module: ModuleType) -> dict[str, ast.Assign | ast.AnnAssign]:
    """Return the statements that assign the constants of a module."""
    found = [n for n in _tree(module).body if isinstance(n, ast.Assign | ast.AnnAssign)]
    return {target: node for node in found for target in targets_of(node)}


def definition(f: FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Return the syntax tree of a function, a copy."""
    if f.__name__ != "<lambda>":
        (statement,) = ast.parse(textwrap.dedent(inspect.getsource(f))).body
        assert isinstance(statement, ast.FunctionDef)
        return statement
    spans = set(f.__code__.co_positions())
    for node in ast.walk(_tree(sys.modules[f.__module__])):
        if isinstance(node, ast.Lambda):
            b = node.body
            if (b.lineno, b.end_lineno, b.col_offset, b.end_col_offset) in spans:
                return copy.deepcopy(node)
    raise UnwritableError(f"a function of {f.__module__} has no source")


def return_value(node: ast.FunctionDef | ast.Lambda) -> ast.expr | None:
    """Return the expression that a function of one line returns."""
    if isinstance(node, ast.Lambda):
        return node.body
    if len(node.body) == 1 and isinstance(node.body[0], ast.Return):
        return node.body[0].value
    return None


def closure(f: FunctionType) -> dict[str, Any]:
    """Return what a function closes over, by name."""
    cells = f.__closure__ or ()
    return dict(zip(f.__code__.co_freevars, (c.cell_contents for c in cells), strict=True))


def key_of(f: FunctionType) -> Any:
    """Return what tells a function apart: its code and what it closes over."""
    try:
        return f.__code__, static_key(tuple(closure(f).items()))
    except TypeError:
        return id(f)


def parameters(f: FunctionType) -> tuple[list[str], bool]:
    """Return the names of the positional parameters, and whether there may be more."""
    args = definition(f).args
    return [a.arg for a in args.args], args.vararg is not None


def signature(args: ast.arguments) -> list[str]:
    """Return the parameters as they stand in a definition."""
    return [a.arg for a in args.args] + ([f"*{args.vararg.arg}"] if args.vararg else [])


def bound_in(tree: ast.AST) -> set[str]:
    """Return all names that are bound anywhere inside."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.FunctionDef) and node is not tree:
            found.add(str(node.name))
    return found


def targets_of(node: ast.Assign | ast.AnnAssign) -> list[str]:
    """Return the names that a statement assigns."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


# ---- editing -----------------------------------------------------------------------------------


def annotation_of(node: ast.AST, source: str) -> tuple[Edit, ast.expr] | None:
    """Return the edit that takes an annotation away, and the annotation."""
    if isinstance(node, ast.arg) and node.annotation is not None:
        behind = node.lineno, node.col_offset + len(node.arg.encode())
        return Edit(behind, end_of(node), ""), node.annotation
    if isinstance(node, ast.AnnAssign):
        if node.value is None:  # a field
            return Edit(
                start_of(node.annotation), end_of(node.annotation), "object"
            ), node.annotation
        return Edit(end_of(node.target), end_of(node.annotation), ""), node.annotation
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        line, column = start_of(node.returns)
        before = source.splitlines()[line - 1].encode()[:column]
        return Edit((line, before.rindex(b"->") - 1), end_of(node.returns), ""), node.returns
    return None


def start_of(node: ast.expr) -> tuple[int, int]:
    """Return line and byte where the source of a node starts."""
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.arg) -> tuple[int, int]:
    """Return line and byte where the source of a node ends."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def renaming(node: ast.FunctionDef, source: str, name: str) -> Edit:
    """Return the edit that gives a function another name."""
    first = source.splitlines()[node.lineno - 1].index("def ") + 4
    return Edit((node.lineno, first), (node.lineno, first + len(node.name)), name)


def apply_edits(source: str, edits: list[Edit]) -> str:
    """Apply edits that do not overlap, the last one first."""
    lines = [line.encode() for line in source.splitlines()]
    for edit in sorted(set(edits), reverse=True):
        (first, left), (last, right) = edit.start, edit.end
        head, tail = lines[first - 1][:left], lines[last - 1][right:]
        lines[first - 1 : last] = [head + edit.text.encode() + tail]
    return _COMMENT.sub("", "\n".join(line.decode() for line in lines) + "\n")
