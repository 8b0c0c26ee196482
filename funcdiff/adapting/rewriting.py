"""Source code in which the few expressions that lose a derivative are calls that keep it.

A module runs as it is, but for ``float(x)`` and its like, ``type(x)``, ``map(float, xs)``,
``x /= y``, ``x[index] = y``, ``x.view(kind)``, ``super().__new__(...)`` and methods of plain arrays
with traced arguments.  Lines and columns stay, so that tracebacks and messages name the place in
the module's file.

A function has both: its code as it was, which runs where no trace is open, and the rewritten one.
"""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Iterator
from types import CodeType
from typing import Any, Final

import numpy as np

_KINDS: Final = frozenset(
    {"float", "int", "complex", "type", "dtype"}
    | {name for name, kind in vars(np).items() if isinstance(kind, type) and kind in
       frozenset(np.sctypeDict.values())}
)  # fmt: skip
_METHODS: Final = frozenset({"__array__", "choose", "clip", "compress", "dot", "searchsorted"})
_CHANGES: Final[dict[type[ast.operator], str]] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv", ast.Pow: "ipow",
    ast.FloorDiv: "ifloordiv", ast.Mod: "imod", ast.MatMult: "imatmul",
}  # fmt: skip


_PLACE: Final = "__funcdiff_place__"
"""The variable that keeps an index between reading and writing an item."""


def rewrite(source: str | bytes, file: str) -> CodeType:
    """Return the code of a module, rewritten."""
    plain = ast.parse(source, file)
    tree = Rewriter().visit(ast.parse(source, file))
    _Joiner(tree, _bind_own(tree)).visit(plain)
    return compile(tree, file, "exec", dont_inherit=True)


class Rewriter(ast.NodeTransformer):
    """Puts calls in the place of expressions, and notes whether there were any."""

    def __init__(self) -> None:
        self.has_changed = False
        self._variables: frozenset[str] = frozenset()

    def visit_FunctionDef(self, node: Any) -> Any:
        """Rewrite a function, whose variables may be changed in place."""
        around, self._variables = self._variables, _variables(node)
        found = self.generic_visit(node)
        self._variables = around
        return found

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Rewrite a class, whose body assigns attributes, and no variables of the function."""
        around, self._variables = self._variables, frozenset()
        self.generic_visit(node)
        self._variables = around
        return _share(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        """Rewrite a function, whose variables may be changed in place."""
        return self.visit_FunctionDef(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Rewrite conversions, and methods that plain arrays have."""
        self.generic_visit(node)
        called, args = node.func, node.args
        name = _last_name(called)
        is_plain = not any(isinstance(x, ast.Starred) for x in args)
        few = 1 <= len(args) <= (2 if name == "complex" else 1)
        if name in _KINDS and few and is_plain and not node.keywords:
            return self._call("convert", node, called, *args)
        if (
            isinstance(called, ast.Name)
            and name == "map"
            and args
            and _last_name(args[0]) in _KINDS
        ):
            node.args[0] = self._call("conversion", args[0], args[0])
        if isinstance(called, ast.Attribute) and (args or name == "__array__"):
            if name in _METHODS:
                changed = self._call("method", node, called, *args)
            elif name == "__new__":
                changed = self._call("new", node, called, *args)
            elif name == "view":
                changed = self._call("view", node, called.value, *args)
            else:
                return node
            changed.keywords = node.keywords
            return changed
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Rewrite ``x[index] = y``, where `x` is a variable of a function."""
        self.generic_visit(node)
        x = self._variable(node.targets[0]) if len(node.targets) == 1 else None
        if x is None or _assigns(node, x.id):
            return node
        return self._assign(node, x, "put", node.value, x, _index(node.targets[0]))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Rewrite ``x /= y`` and ``x[index] /= y``, where `x` is a variable of a function."""
        self.generic_visit(node)
        change = _CHANGES.get(type(node.op))
        if change is None:
            return node
        name = ast.Constant(change)
        if isinstance(node.target, ast.Name) and node.target.id in self._variables:
            return self._assign(node, node.target, "change", name, node.target, node.value)
        x = self._variable(node.target)
        if x is None or _assigns(node, x.id):
            return node
        place = ast.NamedExpr(ast.Name(_PLACE, ast.Store()), _index(node.target))
        old = ast.Subscript(ast.Name(x.id, ast.Load()), ast.Name(_PLACE, ast.Load()), ast.Load())
        return self._assign(node, x, "put_change", name, x, place, old, node.value)

    def _variable(self, target: ast.expr) -> ast.Name | None:
        """Return the variable of the function that an item is set of, if it is one."""
        x = target.value if isinstance(target, ast.Subscript) else None
        return x if isinstance(x, ast.Name) and x.id in self._variables else None

    def _assign(self, old: ast.stmt, x: ast.Name, function: str, *args: ast.expr) -> ast.stmt:
        """Return the assignment of what a function of `runtime` returns to a variable."""
        read = [ast.Name(x.id, ast.Load()) if a is x else a for a in args]
        target = ast.copy_location(ast.Name(x.id, ast.Store()), x)
        new = ast.Assign([target], self._call(function, old, *read))
        return ast.fix_missing_locations(ast.copy_location(new, old))

    def _call(self, function: str, old: ast.expr | ast.stmt, *args: ast.expr) -> ast.Call:
        """Return a call of a function of `runtime`, at the place of what it stands for."""
        self.has_changed = True
        called = ast.Call(ast.Name(f"__funcdiff_{function}__", ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(called, old))


def _share(node: ast.ClassDef) -> ast.ClassDef:
    """Let a class be the original's, if it is an exception or an enumeration."""
    whole = ast.copy_location(ast.Name("__funcdiff_shared__", ast.Load()), node)
    node.decorator_list.insert(0, whole)  # when the others have had it
    return node


def _variables(function: Any) -> frozenset[str]:
    """Return the variables that only a function itself assigns: parameters, and those it names.

    There are none where `locals` is read, which would show what rewritten code adds.
    """
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    others = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal):  # also in functions within
            others.update(node.names)
        elif isinstance(node, ast.Name) and node.id == "locals":
            return frozenset()
    stored = (
        n for n in _within(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    names.update(node.id for node in stored)
    return frozenset(names - others)


def _assigns(statement: ast.stmt, name: str) -> bool:
    """Return whether an expression in a statement assigns a variable, by ``:=``."""
    found = (n.target.id for n in ast.walk(statement) if isinstance(n, ast.NamedExpr))
    return name in found


_SCOPES: Final = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
"""What has variables of its own."""


def _index(target: ast.expr) -> ast.expr:
    """Return what stands in the brackets, as an expression outside of them."""
    assert isinstance(target, ast.Subscript)
    return _sliceless(target.slice)


def _sliceless(index: ast.expr) -> ast.expr:
    """Return an index with calls of `slice` in the place of colons."""
    if isinstance(index, ast.Slice):
        parts = [part or ast.Constant(None) for part in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Name("__funcdiff_slice__", ast.Load()), parts, [])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([*map(_sliceless, index.elts)], ast.Load())
    return index


def _last_name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


# ---- functions as they were, where no trace is open ----------------------------------------------


class _Joiner(ast.NodeTransformer):
    """Puts the code of functions as it was before the rewritten one; visits the module as it was.

    Where functions call what `own` names stand for, they call NumPy, SciPy and `math` themselves.
    """

    def __init__(self, rewritten: ast.Module, own: frozenset[str]) -> None:
        self._own = own
        self._is_inner = False
        functions = (n for n in ast.walk(rewritten) if isinstance(n, _FUNCTIONS))
        self._rewritten = {(n.lineno, n.col_offset): n for n in functions}

    def visit_FunctionDef(self, node: Any) -> Any:
        """Join a function, and those within it."""
        rewritten: Any = self._rewritten[node.lineno, node.col_offset]
        around = self._own, self._is_inner
        self._own = self._own.difference(x for part in ast.walk(node) for x in _bound(part))
        self._is_inner = True
        self.generic_visit(node)
        self._own, self._is_inner = around
        if any(isinstance(part, _DECLARED) for part in _within(node)):
            node.body = rewritten.body
        elif any(
            isinstance(part, ast.Name) and part.id.startswith("__funcdiff_")
            for part in (*ast.walk(node), *ast.walk(rewritten))
        ):
            node.body = _join(node.body, rewritten.body)
        if not self._is_inner:
            rewritten.body = node.body
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef  # noqa: N815 - as `ast` says

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Join the methods of a class."""
        self.generic_visit(node)
        return _share(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Call what stands for itself."""
        self.generic_visit(node)
        called = node.func
        while isinstance(called, ast.Attribute):
            called = called.value
        if isinstance(called, ast.Name) and called.id in self._own:
            called.id = own_name(called.id)
        return node


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DECLARED: Final = (ast.Global, ast.Nonlocal)
"""What may stand but once in a function."""


def _join(plain: Any, rewritten: Any) -> Any:
    """Return the body of a function, of statements or an expression, that asks for a trace."""
    parts = isinstance(plain, list)
    has_text = parts and isinstance(plain[0], ast.Expr) and isinstance(plain[0].value, ast.Constant)
    place = plain[has_text] if parts else plain
    test = ast.parse("__funcdiff_trace__() is None", mode="eval").body
    for node in ast.walk(test):
        ast.copy_location(node, place)
    if not parts:
        return ast.copy_location(ast.IfExp(test, plain, rewritten), place)
    joined = ast.If(test, plain[has_text:], rewritten[has_text:])
    return [*rewritten[:has_text], ast.copy_location(joined, place)]


def own_name(name: str) -> str:
    """Return the name of what an imported name stands for in code as it was."""
    return f"__funcdiff_own_{name}__"


def _bind_own(tree: ast.Module) -> frozenset[str]:
    """Let imports of a module bind the own names, too, and return which names these are for.

    Of a name that the module also binds in another way, or by ``import *``, nobody knows what it
    stands for.
    """
    others = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    imports = []
    for block in _blocks(tree):
        for statement in block:
            if isinstance(statement, _IMPORTS):
                imports.append((block, statement, _computing(statement)))
                others |= {name for a in statement.names for name in _bound(a)} - imports[-1][-1]
    within = (node for node in _within(tree) if not isinstance(node, ast.alias))
    others.update(name for node in within for name in _bound(node))
    if "*" in others:
        return frozenset()
    for block, statement, names in imports:
        for name in names - others:
            (added,) = ast.parse(f"{own_name(name)} = __funcdiff_own__({name})").body
            ast.fix_missing_locations(ast.copy_location(added, statement))
            block.insert(block.index(statement) + 1, added)
    return frozenset().union(*(names for *_, names in imports)) - others


_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_COMPUTING: Final = {"numpy", "scipy", "math", "cmath"}
_NAMES: Final = _COMPUTING.union(["np"], *map(dir, (np, np.linalg, np.fft, math, cmath)))
"""Names under which packages hand on what they import of NumPy and `math`."""


def _computing(statement: ast.Import | ast.ImportFrom) -> frozenset[str]:
    """Return the names that an import binds to what may be NumPy's, SciPy's or of `math`."""
    module = getattr(statement, "module", None)
    if module is None or module.partition(".")[0] not in _COMPUTING:
        found = [a for a in statement.names if a.name.partition(".")[0] in _NAMES]
    else:
        found = statement.names
    return frozenset(name for alias in found for name in _bound(alias)) - {"*"}


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    else:
        yield from filter(None, (getattr(node, name, None) for name in ("name", "arg", "rest")))


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements of a module, those of functions and classes left out."""
    for name in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(node, name, [])
        yield from [block] * (name != "handlers")
        for statement in block:
            if not isinstance(statement, _SCOPES):
                yield from _blocks(statement)


def _within(function: Any) -> Iterator[ast.AST]:
    """Yield what stands in a function, that in functions within it left out."""
    left = [*function.body] if isinstance(function.body, list) else [function.body]
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, _SCOPES):
            left += ast.iter_child_nodes(node)
