"""Loops that search for a solution by comparing, as bisection does, found in their source.

What a loop computes of itself and of what it leaves alone, by arithmetic, is its *state*.  In

    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle**3 < a:
            low = middle
        else:
            high = middle
    return middle

that is `low`, `high` and `middle`.  A condition chooses the next state.  It depends on what it has
chosen before, and on `a`, on which no step of the state depends.  So `a` decides the result by
answers alone, which have no derivative: that by `a` is lost, however close the result comes to the
solution.  In Newton's method each step depends on `a`, and a maximum on what it is compared with.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

_MODULES: Final = frozenset({"np", "numpy", "math", "cmath", "scipy"})
NAMES: Final = _MODULES.union(*map(dir, (np, np.linalg, np.fft, math, cmath)))
"""Names under which packages have NumPy and `math`, and what is of these."""

_KNOWN: Final = NAMES | frozenset(dir(builtins))
_OTHER: Final = "()"
"""What an expression reads that calls what nobody knows."""
_ANSWER: Final = "<"
"""What an expression reads that compares: no state, and nothing new to those who ask of it."""

_Names = frozenset[str]
Slot = tuple[Any, Any]
"""A list, or the attributes of a node, and where in it an expression stands."""
_Slots = tuple[Slot, ...]


class _Move(NamedTuple):
    """An assignment in a loop: to what, from which names, and under which conditions."""

    name: str
    read: _Names
    tests: _Slots = ()


def choices(loop: ast.stmt, function: ast.AST) -> Iterator[tuple[Slot, _Names, _Names]]:
    """Yield the conditions of a loop in a function that choose, and have no derivative.

    With each go the variables of the state that it chooses, and the others it is computed from.
    """
    moves = [*_moves([loop], ())]
    if not any(move.tests for move in moves):
        return
    stored = _names(ast.walk(loop), ast.Store) - {move.name for move in moves}
    moves += (_Move(name, frozenset({_OTHER})) for name in stored)
    state = frozenset(move.name for move in moves)
    changing = state | {_OTHER, _ANSWER}
    while left := {m.name for m in moves if m.name in state and m.read & changing - state}:
        state -= left
    steps = [m for m in moves if m.name in state and m.read & state]
    if not any(move.tests for move in steps):
        return
    made = {move.name for move in moves} | {_ANSWER}
    results = [_closure({name}, moves) for name in _results(loop, function) & state]
    for move in steps:
        for container, key in move.tests:
            asked = _closure(_read(container[key]), moves)
            if move.name not in asked:
                continue
            lost = [asked - of - made for of in results if move.name in of]
            if any(lost):
                others = frozenset().union(*lost)
                yield (container, key), state & move.read | {move.name}, others


def _results(loop: ast.stmt, function: ast.AST) -> _Names:
    """Return the variables that a function reads outside of a loop, or returns from it."""
    within = [*ast.walk(loop)]
    others = {id(node) for node in within}
    returned = (x for node in within if isinstance(node, ast.Return) for x in ast.walk(node))
    outside = (node for node in ast.walk(function) if id(node) not in others)
    return _names(chain(outside, returned), ast.Load)


def _names(nodes: Iterable[ast.AST], context: type) -> _Names:
    """Return the variables that are read, or stored, at some nodes."""
    found = (x for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, context))
    return frozenset(x.id for x in found)


def _closure(names: Iterable[str], moves: list[_Move]) -> _Names:
    """Return all names from which those given are computed in a loop, and these."""
    found, left = set(), [*names]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += (part for move in moves if move.name == name for part in move.read)
    return frozenset(found)


def _read(*values: ast.AST) -> _Names:
    """Return the names that expressions read, but for functions that compute of nothing else."""
    found, left = set(), [*values]
    while left:
        node = left.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
            continue
        if isinstance(node, ast.Call) and last_name(node.func) in _KNOWN:
            left += [*node.args, *node.keywords, *ast.iter_child_nodes(node.func)]
            continue
        if isinstance(node, ast.Subscript):  # an index has no derivative
            left.append(node.value)
            continue
        if isinstance(node, ast.Call | ast.Lambda | ast.comprehension | ast.NamedExpr):
            found.add(_OTHER)
        if isinstance(node, ast.Compare):
            found.add(_ANSWER)
        left += ast.iter_child_nodes(node)
    return frozenset(found - _MODULES)


def last_name(called: ast.expr) -> str:
    """Return the name by which a function is called, without that of its object."""
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _moves(nodes: Iterable[ast.AST], tests: _Slots) -> Iterator[_Move]:
    """Yield the assignments of statements, and of those within, which stand under conditions."""
    for node in nodes:
        if isinstance(node, ast.If):
            inner = (*tests, *_conditions((vars(node), "test")))
            yield from _moves([*node.body, *node.orelse], inner)
            continue
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _moves_to(target, (vars(node), "value"), tests)
        elif isinstance(node, ast.AugAssign):
            yield from _moves_to(node.target, (vars(node), "value"), tests, node.target)
        elif isinstance(node, ast.For):
            yield from _moves_to(node.target, (vars(node), "iter"), tests)
        elif isinstance(node, ast.Call) and last_name(node.func) == "copyto":
            where = (_conditions((vars(k), "value")) for k in node.keywords if k.arg == "where")
            yield from _moves_to(node.args[0], (node.args, 1), (*tests, *chain(*where)))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from _moves(ast.iter_child_nodes(node), tests)


def _moves_to(target: ast.expr, slot: Slot, tests: _Slots, *old: ast.expr) -> Iterator[_Move]:
    """Yield the assignments of an expression, of whose values a condition may choose one."""
    value = slot[0][slot[1]]
    parts: list[Slot] = []
    if isinstance(value, ast.IfExp):
        parts = [(vars(value), name) for name in ("test", "body", "orelse")]
    elif isinstance(value, ast.Call) and last_name(value.func) == "where" and len(value.args) == 3:
        parts = [(value.args, k) for k in range(3)]
    if parts:
        tests = (*tests, *_conditions(parts[0]))
        for part in parts[1:]:
            yield from _moves_to(target, part, tests, *old)
    elif isinstance(target, ast.Tuple | ast.List):
        values = getattr(value, "elts", [])
        is_each = len(values) == len(target.elts)
        for k, one in enumerate(target.elts):
            yield from _moves_to(one, (values, k) if is_each else slot, tests)
    elif isinstance(target, ast.Name):
        yield _Move(target.id, _read(value, *old), tests)
    elif isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
        asked = _conditions((vars(target), "slice")) if isinstance(target, ast.Subscript) else ()
        yield from _moves_to(target.value, slot, (*tests, *asked), target.value)


def _conditions(slot: Slot) -> Iterator[Slot]:
    """Yield where conditions in a condition stand that say which of two numbers is larger."""
    node = slot[0][slot[1]]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _conditions((vars(node), "operand"))
    elif isinstance(node, ast.BoolOp):
        yield from chain.from_iterable(
            _conditions((node.values, k)) for k in range(len(node.values))
        )
    elif isinstance(node, ast.Call) and last_name(node.func) in ("any", "all") and node.args:
        yield from _conditions((node.args, 0))
    elif isinstance(node, ast.Compare):
        with_constant = isinstance(node.comparators[0], ast.Constant)
        yield from [slot] * isinstance(node.ops[0], _ORDERS[: 4 if with_constant else None])
    elif last_name(getattr(node, "func", node)) not in ("isnan", "isinf", "isfinite"):
        yield from [slot] * (not isinstance(node, ast.Slice | ast.Tuple | ast.Constant))


_ORDERS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
