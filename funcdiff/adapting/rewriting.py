"""Source code in which the few expressions that lose a derivative are calls that keep it.

A module runs as it is, but for ``float(x)`` and its like, ``type(x)``, ``map(float, xs)``,
``x /= y``, ``x.view(kind)`` and methods of plain arrays with traced arguments.  Lines and columns
stay, so that tracebacks and messages name the place in the module's file.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, Final

import numpy as np

_KINDS: Final = frozenset(
    {"float", "int", "complex", "type", "dtype"}
    | {name for name, kind in vars(np).items() if isinstance(kind, type) and kind in
       frozenset(np.sctypeDict.values())}
)  # fmt: skip
_METHODS: Final = frozenset({"choose", "clip", "compress", "dot", "searchsorted"})
_CHANGES: Final[dict[type[ast.operator], str]] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv", ast.Pow: "ipow",
    ast.FloorDiv: "ifloordiv", ast.Mod: "imod", ast.MatMult: "imatmul",
}  # fmt: skip


def rewrite(source: str | bytes, file: str) -> CodeType:
    """Return the code of a module, rewritten."""
    tree = Rewriter().visit(ast.parse(source, file))
    return compile(tree, file, "exec", dont_inherit=True)


class Rewriter(ast.NodeTransformer):
    """Puts calls in the place of expressions, and notes whether there were any."""

    def __init__(self) -> None:
        self.has_changed = False
        self._in_function = False

    def visit_FunctionDef(self, node: Any) -> Any:
        """Rewrite a function, whose variables may be changed in place."""
        around, self._in_function = self._in_function, True
        found = self.generic_visit(node)
        self._in_function = around
        return found

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """Rewrite a function, whose variables may be changed in place."""
        return self.visit_FunctionDef(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Rewrite conversions, and methods that plain arrays have."""
        self.generic_visit(node)
        called, args = node.func, node.args
        name = _last_name(called)
        is_plain = not any(isinstance(x, ast.Starred) for x in args)
        if name in _KINDS and len(args) == 1 and is_plain and not node.keywords:
            return self._call("converted", node, called, *args)
        if (
            isinstance(called, ast.Name)
            and name == "map"
            and args
            and _last_name(args[0]) in _KINDS
        ):
            node.args[0] = self._call("conversion", args[0], args[0])
        if isinstance(called, ast.Attribute) and args:
            if name in _METHODS:
                changed = self._call("method", node, called.value, ast.Constant(name), *args)
            elif name == "view":
                changed = self._call("view", node, called.value, *args)
            else:
                return node
            changed.keywords = node.keywords
            return changed
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Rewrite ``x /= y``, where `x` is a variable of a function."""
        self.generic_visit(node)
        change = _CHANGES.get(type(node.op))
        if change is None or not isinstance(node.target, ast.Name) or not self._in_function:
            return node
        variable = ast.Name(node.target.id, ast.Load())
        called = self._call("change", node, ast.Constant(change), variable, node.value)
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([node.target], called), node))

    def _call(self, question: str, old: ast.expr | ast.stmt, *args: ast.expr) -> ast.Call:
        """Return a call of a question, at the place of what it stands for."""
        self.has_changed = True
        called = ast.Call(ast.Name(f"__funcdiff_{question}__", ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(called, old))


def _last_name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""
