"""What the source says of a function: the keywords it refuses, the partial derivatives it declares.

Both are read from the syntax tree, so that the page of what is covered cannot say anything else.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import funcdiff

PACKAGE: Final = Path(funcdiff.__file__).parent
_IN_PARENTHESES: Final = re.compile(r"np\.[\w.]+\((.*)\)")


# ---- keywords ----------------------------------------------------------------------------------


def refused_keywords(handler: Callable[..., Any]) -> list[str]:
    """Return what a handler, or a function of its module that it calls, refuses: ``copy=False``.

    Parameters
    ----------
    handler
        Our version of a NumPy function.

    Returns
    -------
    list of str
        Keywords with an equals sign, each once, in the order of the source.
    """
    return list(dict.fromkeys(_refused(declared(handler), set())))


def declared(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a handler; the members of a family have one."""
    return handler.func if isinstance(handler, functools.partial) else handler


def _refused(function: Any, seen: set[Any]) -> Iterator[str]:
    if function in seen or not isinstance(function, FunctionType):
        return
    seen.add(function)
    for node in ast.walk(_tree(function)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        name = node.func.id
        if name == "refuse":
            yield from (f"{keyword.arg}=" if keyword.arg else "others" for keyword in node.keywords)
        elif name == "refusal_error" and node.args:
            found = _IN_PARENTHESES.match(_text(node.args[0]))
            yield from [found[1]] if found else []
        else:
            called = function.__globals__.get(name)
            if getattr(called, "__module__", None) == function.__globals__["__name__"]:
                yield from _refused(called, seen)


def _tree(function: FunctionType) -> ast.AST:
    declared: Any = inspect.unwrap(function)
    declared = declared if declared.__module__ == function.__globals__["__name__"] else function
    return ast.parse(textwrap.dedent(inspect.getsource(declared.__code__)))


def _text(node: ast.expr) -> str:
    """Return a literal string; what an f-string computes stands as ``...``."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "..."


# ---- partial derivatives -----------------------------------------------------------------------


def partial_derivatives() -> dict[str, tuple[list[str], list[str]]]:
    """Return, for each primitive declared by ``elementwise``, its operands and their formulas.

    Returns
    -------
    dict
        Name of the primitive -> names of the operands, formulas in plain ``np``.
    """
    found = {}
    for path in sorted((PACKAGE / "ops").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        named = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "elementwise":
                name, _ufunc, *partials = node.args
                partials += [k.value for k in node.keywords if k.arg == "tangent"]
                if isinstance(name, ast.Constant) and not node.keywords[:0]:
                    found[str(name.value)] = (
                        _operands(partials),
                        [_formula(partial, named) for partial in partials],
                    )
    return found


def _operands(partials: list[ast.expr]) -> list[str]:
    for partial in partials:
        if isinstance(partial, ast.Lambda):
            return [argument.arg for argument in partial.args.args]
    return []


class _WrittenOut(ast.NodeTransformer):
    """Writes the formulas with which docstrings begin in place of calls of functions."""

    def __init__(self, named: dict[str, ast.FunctionDef]) -> None:
        self.named = named

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return the formula of a function of the module, of the arguments of the call."""
        found = self.named.get(ast.unparse(node.func))
        if found is None:
            self.generic_visit(node)
            return node
        names = [a.arg for a in found.args.args]
        values = [*node.args, *found.args.defaults[len(node.args) - len(names) :]]
        formula = re.split(r",? which |, | of |;|\.$", ast.get_docstring(found) or "", maxsplit=1)[
            0
        ]
        given = dict(zip(names, values, strict=False))
        return _Replaced(given).visit(ast.parse(formula, mode="eval").body)


class _Replaced(ast.NodeTransformer):
    """Replaces names by expressions; a factor of 1 is left out."""

    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return what stands for the name."""
        return self.given.get(node.id, node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Return the product without a factor of 1."""
        self.generic_visit(node)
        return node.right if ast.unparse(node).startswith("1.0 * ") else node


def _formula(partial: ast.expr, named: dict[str, ast.FunctionDef]) -> str:
    """Return the formula of one operand; of a function with a name, what its docstring says."""
    if isinstance(partial, ast.Lambda):
        return f"`{ast.unparse(_WrittenOut(named).visit(partial.body))}`"
    if isinstance(partial, ast.Name) and partial.id in named:
        described = ast.get_docstring(named[partial.id]) or partial.id
        return described.partition(";")[0].splitlines()[0].rstrip(".:")
    return "0" if ast.unparse(partial) == "None" else f"`{ast.unparse(partial)}`"
