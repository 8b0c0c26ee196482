"""Mutants of a module: its source with one small mistake each, as people make them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

_FLIPPED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_SIGNS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_OTHER_NAMES: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """A source with a mistake, and where it is."""

    line: int
    what: str
    source: str


class Planted(NamedTuple):
    """A mistake in a module.

    Attributes
    ----------
    path
        The module, below `funcdiff`.
    old, new
        What stands there, once, and what stands there instead.
    breaks
        What is wrong then.
    """

    path: str
    old: str
    new: str
    breaks: str


Change: TypeAlias = tuple[str, ast.expr]


def _comparison(node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        changed = copy.deepcopy(node)
        changed.ops = [_FLIPPED[type(node.ops[0])]()]
        yield "comparison", changed


def _choice(node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", ast.BoolOp(other, node.values)
        for k in range(len(node.values)):
            rest = node.values[:k] + node.values[k + 1 :]
            yield "dropped condition", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "dropped not", node.operand
    if isinstance(node, ast.IfExp):
        yield "other branch", ast.IfExp(node.test, node.orelse, node.body)


def _constant(node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Name) and node.id in _OTHER_NAMES:
        yield "other function", ast.Name(_OTHER_NAMES[node.id], ast.Load())


def _arithmetic(node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        yield "sign", ast.BinOp(node.left, _SIGNS[type(node.op)](), node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "dropped minus", node.operand


def _arguments(node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        first, second, *rest = node.args
        if not any(isinstance(a, ast.Starred) for a in (first, second)):
            yield "swapped arguments", ast.Call(node.func, [second, first, *rest], node.keywords)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        whole = ast.Slice(None, None, node.slice.step)
        yield "whole slice", ast.Subscript(node.value, whole, node.ctx)


_CHANGES: Final[tuple[Callable[[ast.expr], Iterator[Change]], ...]] = (
    _comparison, _choice, _constant, _arithmetic, _arguments,
)  # fmt: skip


def mutants_of(source: str) -> list[Mutant]:
    """Return the mutants of a module, in the order of its lines."""
    tree = ast.parse(source)
    found = []
    for node in _inner(tree):
        if isinstance(node, ast.expr):
            for change in _CHANGES:
                for what, changed in change(node):
                    text = ast.unparse(ast.fix_missing_locations(changed))
                    found.append(Mutant(node.lineno, what, _replaced(source, node, f"({text})")))
        elif _may_be_dropped(node):
            found.append(Mutant(node.lineno, "dropped statement", _replaced(source, node, "pass")))
    return sorted(m for m in found if _is_valid(m.source))


def _inner(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Give expressions and statements that compute: no types, messages, defaults of nothing."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            yield from _inner(child)


def _may_be_dropped(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return isinstance(node, ast.AugAssign | ast.Continue | ast.Break)


def _replaced(source: str, node: ast.expr | ast.stmt, text: str) -> str:
    """Return the source with other text for a node."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = [line.encode() for line in source.split("\n")]
    head = lines[node.lineno - 1][: node.col_offset]
    tail = lines[node.end_lineno - 1][node.end_col_offset :]
    lines[node.lineno - 1 : node.end_lineno] = [head + text.encode() + tail]
    return b"\n".join(lines).decode()


def _is_valid(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
