"""Adapts SciPy's Python code where it asks questions that traced arrays cannot answer.

- ``if np.any(x <= 0): raise ...``, where nobody knows the values, inside `vmap` say: a branch that
  only raises or warns decides nothing about the result, so such a condition counts as false.
- ``if np.any(mask): y[mask] = 0``: without values the branch is taken, which changes nothing where
  the mask is false.
- ``x.view(float)`` of a complex array, and back: its real and imaginary parts, in turn.
- ``x.setflags(...)``: it does nothing to a traced array.
- ``x.dot(y)`` and ``x.searchsorted(y)``: of a plain array and a traced one, methods of traced ones.
- ``x.item()``: a traced number stays one.
- ``float(x)``: a traced number stays one; ``int(x)`` has no derivative.
- ``np.float64(x)``, and other floating types: a traced array is converted.
- ``np.asarray_chkfinite(x)``: a traced array is not checked.
- ``np.may_share_memory(x, y)``: it may, so that results go to another array first.
- ``x /= y`` of a plain array and a traced number: another array takes the name.
- ``if x == y``, and other comparisons of numbers that decide: see `equalities`.

What a function imports when it is called is borrowed, too.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final

import numpy as np

import funcdiff.numpy
from funcdiff.adapting.conditions import may_hold
from funcdiff.adapting.function_code import rewritten
from funcdiff.adapting.runtime import convert
from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.equalities import (
    any_of,
    differ_of,
    equal_of,
    greater_of,
    is_known_to_fail,
    less_of,
    negligible_of,
    trim_zeros_of,
)

BORROW: Final = "borrow_what_is_imported"
"""The name by which changed code borrows."""


def _view(array: Any, *dtypes: Any, **keywords: Any) -> Any:
    """Return ``x.view(dtype)``, of a traced array a copy with the same content."""
    if not isinstance(array, Tracer) or keywords or len(dtypes) != 1:
        return array.view(*dtypes, **keywords)
    x: Any = array
    dtype = np.dtype(dtypes[0])
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype == x.dtype.type().real.dtype:
        parts: Any = np.stack([x.real, x.imag], axis=-1)
        return parts.reshape(*x.shape[:-1], 2 * x.shape[-1]) if x.ndim else parts
    if dtype.kind == "c" and x.dtype == dtype.type().real.dtype:
        return x[..., ::2] + 1j * x[..., 1::2]
    return x.view(dtype)  # which says why not


def _set_flags(x: Any, **flags: Any) -> None:
    if not isinstance(x, Tracer):
        x.setflags(**flags)


def _method(x: Any, name: str, *args: Any, **keywords: Any) -> Any:
    """Return what a method gives, also one of a plain array that has a traced argument."""
    if name == "item" and isinstance(x, Tracer) and not args:
        return array(x).reshape(())
    joins = type(x) is np.ndarray and any(isinstance(y, Tracer) for y in args)
    return getattr(array(x) if joins else x, name)(*args, **keywords)


def _may_share(a: Any, b: Any) -> bool:
    return isinstance(a, Tracer) or isinstance(b, Tracer) or np.may_share_memory(a, b)


def _change_in_place(change: str, x: Any, y: Any) -> Any:
    """Return what ``x /= y`` leaves in `x`: of a plain array and a traced one, another array."""
    is_other = isinstance(x, np.ndarray) and isinstance(y, Tracer) and not isinstance(x, Tracer)
    found = getattr(operator, change if is_other else f"i{change}")(x, y)
    return found.astype(x.dtype) if is_other and x.dtype.kind in "fc" else found


ANSWERS: Final[dict[str, Callable[..., Any]]] = {
    "is_known_to_fail": is_known_to_fail,
    "may_hold": may_hold,
    "equal_of": equal_of,
    "differ_of": differ_of,
    "less_of": less_of,
    "greater_of": greater_of,
    "any_of": any_of,
    "negligible_of": negligible_of,
    "trim_zeros_of": trim_zeros_of,
    "view_of": _view,
    "array_of": funcdiff.numpy.asarray_chkfinite,
    "may_share": _may_share,
    "convert_to": convert,
    "set_flags_of": _set_flags,
    "method_of": _method,
    "changed_by": _change_in_place,
}
"""What the changed code calls, by name."""


_ANSWERED: Final = {
    "asarray_chkfinite": "array_of",
    "may_share_memory": "may_share",
    "shares_memory": "may_share",
    "trim_zeros": "trim_zeros_of",
}
"""Functions of NumPy's -> what is called in their place."""


def adapt_code(plain: FunctionType) -> CodeType:
    """Return the code of a function, in which these questions are answered."""
    return rewritten(plain, _Change)


class _Change(ast.NodeTransformer):
    """Changes the questions into calls of the answers, and notes whether there are any."""

    def __init__(self) -> None:
        self.has_changed = False
        self._decides = False

    def visit_If(self, node: ast.If) -> ast.If:
        kind = _kind_of_branch(node)
        node.test = self._visit_decision(node.test)
        self.generic_visit(node)
        if kind is not None:
            nothing = ast.arguments([], [], None, [], [], None, [])
            node.test = self._call(kind, node.test, [ast.Lambda(nothing, node.test)])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        names = [alias.asname or alias.name for alias in node.names]
        assigned = [
            ast.Assign(
                [ast.Name(n, ast.Store())], self._call(BORROW, node, [ast.Name(n, ast.Load())])
            )
            for n in names
            if n != "*"
        ]
        return [node, *(ast.fix_missing_locations(ast.copy_location(a, node)) for a in assigned)]

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "view":
            return self._call("view_of", node, [called.value, *node.args], node.keywords)
        if isinstance(called, ast.Attribute) and called.attr == "setflags":
            return self._call("set_flags_of", node, [called.value], node.keywords)
        if isinstance(called, ast.Attribute) and called.attr in _METHODS:
            given = [called.value, ast.Constant(called.attr), *node.args]
            return self._call("method_of", node, given, node.keywords)
        if (
            self._decides
            and ast.unparse(called) == "np.any"
            and len(node.args) == 1
            and not node.keywords
        ):
            return self._call("any_of", node, node.args)
        if ast.unparse(called) in _TYPES and len(node.args) == 1 and not node.keywords:
            return self._call("convert_to", node, [called, *node.args])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self._visit_decision(node.test)
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        node.values = [self._visit_decision(value) for value in node.values]
        return node

    def _visit_decision(self, test: ast.expr) -> ast.expr:
        """Change the comparisons in what is asked whether it is true."""
        around, self._decides = self._decides, True
        changed: ast.expr = self.visit(test)
        self._decides = around
        return changed

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        name = _COMPARISONS.get(type(node.ops[0])) if self._decides else None
        size = _magnitude(node.left)
        if size and isinstance(node.ops[0], ast.LtE) and self._decides and _is_tiny(sides[1]):
            name, sides = "negligible_of", [size, sides[1]]
        if name is None or len(sides) > 2 or not all(map(_may_be_number, sides)):
            return node
        return self._call(name, node, sides)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        change = _CHANGES.get(type(node.op))
        if change is None or not isinstance(node.target, ast.Name):
            return node
        given = [ast.Constant(change), _read(node.target.id), node.value]
        called = self._call("changed_by", node, given)
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([node.target], called), node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr in _ANSWERED:
            self.has_changed = True
            return ast.copy_location(_read(_ANSWERED[node.attr]), node)
        return node

    def _call(
        self, name: str, old: ast.expr | ast.stmt, args: list[ast.expr], keywords: Any = ()
    ) -> ast.Call:
        self.has_changed = True
        called = ast.Call(ast.Name(name, ast.Load()), args, list(keywords))
        return ast.fix_missing_locations(ast.copy_location(called, old))


_TYPES: Final = {"float", "int"} | {
    f"np.{name}" for name in ("float32", "float64", "complex64", "complex128", "double")
}

_METHODS: Final = ("dot", "item", "searchsorted")

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "equal_of", ast.NotEq: "differ_of", ast.Lt: "less_of", ast.Gt: "greater_of"
}  # fmt: skip


_CHANGES: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv"
}  # fmt: skip


def _magnitude(side: ast.expr) -> ast.expr | None:
    """Return what a magnitude, ``abs(x)``, is of."""
    is_call = isinstance(side, ast.Call) and ast.unparse(side.func).split(".")[-1] == "abs"
    return side.args[0] if is_call else None  # type: ignore[attr-defined]


def _is_tiny(bound: ast.expr) -> bool:
    is_number = isinstance(bound, ast.Constant) and isinstance(bound.value, float)
    return is_number and 0 < bound.value < 1e-10  # type: ignore[attr-defined]


def _may_be_number(side: ast.expr) -> bool:
    """Return whether what is compared may be a traced number: no text, no length, no shape."""
    if isinstance(side, ast.Constant):
        return isinstance(side.value, int | float | complex)
    if isinstance(side, ast.Call):
        return ast.unparse(side.func) not in ("len", "type", "xp_size", "np.ndim", "np.shape")
    parts = ("ndim", "size", "shape", "dtype", "kind")
    return not any(isinstance(p, ast.Attribute) and p.attr in parts for p in ast.walk(side))


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _kind_of_branch(node: ast.If) -> str | None:
    """Return which question a condition is, if it is one of these."""
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return None
    *before, last = node.body
    if isinstance(last, ast.Raise) or _warns(last):
        return "is_known_to_fail" if all(isinstance(s, ast.Assign) for s in before) else None
    asked = node.test
    if isinstance(asked, ast.Call) and ast.unparse(asked.func) == "np.any" and asked.args:
        mask = ast.unparse(asked.args[0])
        if not node.orelse and all(_writes_at(mask, s) for s in node.body):
            return "may_hold"
    return None


def _warns(statement: ast.stmt) -> bool:
    """Return whether a statement calls a function of that name."""
    called = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return called and ast.unparse(statement.value.func).endswith("warn")  # type: ignore[attr-defined]


def _writes_at(mask: str, statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Subscript)
        and ast.unparse(statement.targets[0].slice) == mask
    )
