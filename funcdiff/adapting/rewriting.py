"""Source code in which the few expressions that lose a derivative are calls that keep it.

A module runs as it is, but for ``float(x)`` and its like, ``type(x)``, ``map(float, xs)``,
``x /= y``, ``x[index] = y``, ``x.view(kind)``, ``super().__new__(...)``, ``np.sqrt([x, y])``,
methods of plain arrays with traced arguments, and conditions of loops that search.  Lines and
columns stay, so that tracebacks and messages name the place in the module's file.

A function has both: its code as it was, which runs where no trace is open, and the rewritten one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, partial
from types import CodeType
from typing import Any, Final

import numpy as np

from funcdiff.adapting.bisections import NAMES, choices, last_name
from funcdiff.core.running.memo import without_collection

_KINDS: Final = frozenset(
    {"float", "int", "complex", "type", "dtype"}
    | {name for name, kind in vars(np).items() if isinstance(kind, type) and kind in
       frozenset(np.sctypeDict.values())}
)  # fmt: skip
_METHODS: Final = frozenset({"__array__", "choose", "clip", "compress", "dot", "searchsorted"})
_UFUNCS: Final = frozenset({"accumulate", "outer", "reduce"}).union(
    name for name, value in vars(np).items() if isinstance(value, np.ufunc)
)
_LISTS: Final = (ast.List, ast.ListComp, ast.Tuple)
_CHANGES: Final[dict[type[ast.operator], str]] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv", ast.Pow: "ipow",
    ast.FloorDiv: "ifloordiv", ast.Mod: "imod", ast.MatMult: "imatmul",
}  # fmt: skip

_PLACE: Final = "__funcdiff_place__"
"""The variable that keeps an index between reading and writing an item."""


def rewrite(source: str | bytes, file: str) -> CodeType:
    """Return the code of a module, rewritten.

    Trees have no cycles: looking for some among their nodes would take a third of the time.
    """
    return without_collection(_rewrite, source, file)


def _rewrite(source: str | bytes, file: str) -> CodeType:
    plain, tree, rewriter = ast.parse(source, file), ast.parse(source, file), Rewriter()
    rewriter.visit(tree)
    _Joiner(tree, rewriter).visit(plain)
    return compile(tree, file, "exec", dont_inherit=True)


_PARTS: Final = {
    kind: tuple(
        name for name in kind._fields if name not in {"ctx", "op", "ops", "id", "attr", "arg"}
    )
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, ast.Constant)
}
"""Names of the fields of nodes that may hold nodes with something to look at."""


class _Transformer(ast.NodeTransformer):
    """Visits the nodes that have parts, and notes which functions were changed.

    Operators, names and constants are most of a tree, and nobody's methods ask for them.
    """

    def __init__(self) -> None:
        self.changed: set[tuple[int, int]] = set()
        self._around: list[tuple[int, int]] = []

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        """Visit a sum, which may have more terms than calls may be nested."""
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        self.generic_visit(spine[-1])
        for part in spine[-2::-1]:
            self.generic_visit(part, ["right"])
        return node

    def generic_visit(self, node: Any, names: Iterable[str] = ()) -> Any:
        """Visit the parts of a node, or those of some names."""
        for name in names or _PARTS[type(node)]:
            old: Any = getattr(node, name, None)
            if type(old) is list:
                for k, part in enumerate(old):
                    if _PARTS.get(type(part)):
                        old[k] = self.visit(part)
                    elif type(part) is ast.Name:
                        self.visit_Name(part)
            elif _PARTS.get(type(old)):
                setattr(node, name, self.visit(old))
            elif type(old) is ast.Name:
                self.visit_Name(old)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Visit a class; an exception or an enumeration is to be the original's."""
        self.generic_visit(node)
        whole = ast.copy_location(ast.Name("__funcdiff_shared__", ast.Load()), node)
        node.decorator_list.insert(0, whole)  # when the others have had it
        return node

    def visit_Name(self, node: ast.Name) -> None:
        """Look at a name, which stays."""

    def visit_function(self, node: Any) -> None:
        """Visit the parts of a function, of which all but the body belong to what is around."""
        self.generic_visit(node, [name for name in _PARTS[type(node)] if name != "body"])
        self._around.append(_place(node))
        self.generic_visit(node, ["body"])
        self._around.pop()

    def note_change(self) -> None:
        """Note that the functions around have changed."""
        self.changed.update(self._around)


def _place(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


class Rewriter(_Transformer):
    """Puts calls in the place of expressions, and notes whether there were any."""

    def __init__(self) -> None:
        super().__init__()
        self.has_changed = False
        self.functions: dict[tuple[int, int], Any] = {}
        self.bound: dict[tuple[int, int], set[str]] = {}
        """The places of functions -> what these and functions within them bind."""
        self.declarations: list[ast.Global | ast.Nonlocal] = []
        self._bound: set[str] = set()
        self._variables: Callable[[], frozenset[str]] = frozenset
        self._function: ast.AST | None = None
        self._choosing: set[tuple[int, Any]] = set()

    def visit_FunctionDef(self, node: Any) -> Any:
        """Rewrite a function, whose variables may be changed in place."""
        around = self._function, self._variables
        self._function, self._variables = node, cache(partial(_variables, node))
        self.visit_Lambda(node)
        self._function, self._variables = around
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - as `ast` says

    def visit_While(self, node: Any) -> Any:
        """Rewrite the conditions by which a loop searches for a solution."""
        if self._function is not None:
            for (container, key), *names in [*choices(node, self._function)]:
                if (id(container), key) not in self._choosing:
                    self._choosing.add((id(container), key))
                    texts = (ast.Constant(" ".join(sorted(x))) for x in names)
                    container[key] = self._call("choice", container[key], container[key], *texts)
        return self.generic_visit(node)

    visit_For = visit_While  # noqa: N815 - as `ast` says

    def visit_Lambda(self, node: Any) -> Any:
        """Rewrite a function without statements."""
        place = _place(node)
        around, self._bound = self._bound, set()
        self.functions[place], self.bound[place] = node, self._bound
        self.visit_function(node)
        self._bound = around | self._bound
        return node

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node, and note which names it binds."""
        if type(node) in _BINDING:
            self._bound.update(_bound(node))
        return getattr(self, f"visit_{type(node).__name__}", self.generic_visit)(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Note that a name is bound."""
        self._bound.update(_bound(node))

    def visit_Global(self, node: Any) -> Any:
        """Note which names are of other scopes."""
        self.declarations.append(node)
        return node

    visit_Nonlocal = visit_Global  # noqa: N815 - as `ast` says

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Rewrite a class, whose body assigns attributes, and no variables of the function."""
        around, self._variables = self._variables, frozenset
        super().visit_ClassDef(node)
        self._variables = around
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Rewrite conversions, methods that plain arrays have, and ufuncs of lists."""
        self.generic_visit(node)
        called, args = node.func, node.args
        name = last_name(called)
        is_plain = not any(isinstance(x, ast.Starred) for x in args)
        few = 1 <= len(args) <= (2 if name == "complex" else 1)
        if name in _KINDS and few and is_plain and not node.keywords:
            return self._call("convert", node, called, *args)
        if isinstance(called, ast.Name) and name == "map" and args and last_name(args[0]) in _KINDS:
            node.args[0] = self._call("conversion", args[0], args[0])
        of_object = called if args or name == "__array__" else None
        if name in _UFUNCS and any(isinstance(x, _LISTS) for x in args):
            changed = self._call("method", node, called, *args)
        elif not isinstance(of_object, ast.Attribute):
            return node
        elif name in _METHODS:
            changed = self._call("method", node, called, *args)
        elif name == "__new__":
            changed = self._call("new", node, called, *args)
        elif name == "view":
            changed = self._call("view", node, of_object.value, *args)
        else:
            return node
        changed.keywords = node.keywords
        return changed

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
        if isinstance(node.target, ast.Name) and node.target.id in self._variables():
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
        return x if isinstance(x, ast.Name) and x.id in self._variables() else None

    def _assign(self, old: ast.stmt, x: ast.Name, function: str, *args: ast.expr) -> ast.stmt:
        """Return the assignment of what a function of `runtime` returns to a variable."""
        read = [ast.Name(x.id, ast.Load()) if a is x else a for a in args]
        target = ast.copy_location(ast.Name(x.id, ast.Store()), x)
        new = ast.Assign([target], self._call(function, old, *read))
        return ast.fix_missing_locations(ast.copy_location(new, old))

    def _call(self, function: str, old: ast.expr | ast.stmt, *args: ast.expr) -> ast.Call:
        """Return a call of a function of `runtime`, at the place of what it stands for."""
        self.has_changed = True
        self.note_change()
        called = ast.Call(ast.Name(f"__funcdiff_{function}__", ast.Load()), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(called, old))


def _variables(function: Any) -> frozenset[str]:
    """Return the variables that only a function itself assigns: parameters, and those it names.

    There are none where `locals` is read, which would show what rewritten code adds.
    """
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    others = set()
    for node in _walk(function):
        if isinstance(node, _DECLARED):  # also in functions within
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


# ---- functions as they were, where no trace is open ----------------------------------------------


class _Joiner(_Transformer):
    """Puts the code of functions as it was before the rewritten one; visits the module as it was.

    Where functions call what imports of NumPy, SciPy and `math` have bound, they call these
    themselves, by names that the imports bind, too.
    """

    def __init__(self, rewritten: ast.Module, rewriter: Rewriter) -> None:
        super().__init__()
        self._own = _bind_own(rewritten, [*_within(rewritten), *rewriter.declarations])
        self._rewritten, self._bound = rewriter.functions, rewriter.bound
        self.changed |= rewriter.changed

    def visit_FunctionDef(self, node: Any) -> Any:
        """Join a function, and those within it."""
        rewritten: Any = self._rewritten[_place(node)]
        around = self._own
        bound = self._bound[_place(node)]
        self._own = around - bound
        if _IMPORTED in bound:
            self._own |= _bind_own(node, [*_walk(node.args, *node.body)])
        self.visit_function(node)
        self._own = around
        node.body = _join(node, rewritten) if _place(node) in self.changed else rewritten.body
        if not self._around:
            rewritten.body = node.body
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef  # noqa: N815 - as `ast` says

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Call what stands for itself."""
        self.generic_visit(node)
        called = node.func
        while isinstance(called, ast.Attribute):
            called = called.value
        if isinstance(called, ast.Name) and called.id in self._own:
            called.id = own_name(called.id)
            self.note_change()
        return node


_DECLARED: Final = (ast.Global, ast.Nonlocal)


def _join(plain: Any, rewritten: Any) -> Any:
    """Return the body of a function, of statements or an expression, that asks for a trace."""
    body = plain.body
    if not isinstance(body, list):
        return ast.copy_location(ast.IfExp(_test(body), body, rewritten.body), body)
    has_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    declared, _ = _without_declarations(plain), _without_declarations(rewritten)
    joined = ast.If(_test(body[has_text]), body[has_text:], rewritten.body[has_text:])
    rewritten.body[has_text:has_text] = declared  # for where it stands alone
    return [*body[:has_text], *declared, ast.copy_location(joined, body[has_text])]


def _test(place: ast.AST) -> ast.expr:
    """Return the question whether no trace is open."""
    test = ast.parse("__funcdiff_trace__() is None", mode="eval").body
    for node in ast.walk(test):
        ast.copy_location(node, place)
    return test


def _without_declarations(function: Any) -> list[ast.stmt]:
    """Return ``global`` and ``nonlocal`` statements of a function, which pass where they stood.

    They hold for all of a function, and may not stand behind the use of a name.
    """
    found: list[ast.stmt] = []
    for block in _blocks(function):
        for k, statement in enumerate(block):
            if isinstance(statement, _DECLARED):
                found.append(statement)
                block[k] = ast.copy_location(ast.Pass(), statement)
    return found


def own_name(name: str) -> str:
    """Return the name of what an imported name stands for in code as it was."""
    return f"__funcdiff_own_{name}__"


def _bind_own(scope: Any, nodes: Collection[ast.AST]) -> frozenset[str]:
    """Let imports of a module or function bind own names, too, and return which these are for.

    Of a name that one of the `nodes` binds in another way, or ``import *``, nobody knows what it
    stands for.
    """
    imports = [
        (block, statement, _computing(statement))
        for block in _blocks(scope)
        for statement in block
        if isinstance(statement, _IMPORTS)
    ]
    known = {id(alias) for _, statement, names in imports for alias in statement.names
             if names.union([_IMPORTED]).issuperset(_bound(alias))}  # fmt: skip
    others = {name for node in nodes if id(node) not in known for name in _bound(node)}
    if not others.isdisjoint({"*", "locals"}):
        return frozenset()
    for block, statement, names in imports:
        for name in names - others:
            (added,) = ast.parse(f"{own_name(name)} = __funcdiff_own__({name})").body
            for node in ast.walk(added):
                ast.copy_location(node, statement)
            block.insert(block.index(statement) + 1, added)
    return frozenset().union(*(names for *_, names in imports)) - others


_IMPORTS: Final = (ast.Import, ast.ImportFrom)
_COMPUTING: Final = {"numpy", "scipy", "math", "cmath"}


def _computing(statement: ast.Import | ast.ImportFrom) -> frozenset[str]:
    """Return the names that an import binds to what may be NumPy's, SciPy's or of `math`."""
    module = getattr(statement, "module", None)
    if module is None or module.partition(".")[0] not in _COMPUTING:
        found = [a for a in statement.names if a.name.partition(".")[0] in NAMES]
    else:
        found = statement.names
    return frozenset(name for alias in found for name in _bound(alias)) - {"*", _IMPORTED}


def _bound(node: ast.AST) -> Iterable[str]:
    """Return the names that a node itself binds or declares; ``locals``, which shows them all."""
    kind = type(node)
    if kind is ast.Name:
        name = node.id  # type: ignore[attr-defined]
        is_bound = type(node.ctx) is not ast.Load or name == "locals"  # type: ignore[attr-defined]
        return (name,) if is_bound else ()
    if kind is ast.alias:
        return node.asname or node.name.partition(".")[0], _IMPORTED  # type: ignore[attr-defined]
    names = _BINDING.get(kind, ())
    found = [getattr(node, name, None) for name in names]
    return [name for x in found for name in (x if isinstance(x, list) else [x]) if name]


_IMPORTED: Final = "import"
"""What stands among names where one of them is imported; a keyword is no name."""

_BINDING: Final = {
    kind: names
    for kind in _PARTS
    if (names := {"name", "arg", "rest", "names"}.intersection(kind._fields))
    and not issubclass(kind, ast.Import | ast.ImportFrom | ast.keyword)
}
"""Kinds of nodes that bind names -> the fields that hold these."""


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements of a module or function, without those of others within."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        block = getattr(node, name, [])
        yield from [block] * (name not in ("handlers", "cases"))
        for statement in block:
            if not isinstance(statement, _SCOPES):
                yield from _blocks(statement)


def _within(function: Any) -> Iterator[ast.AST]:
    """Yield what stands in a function, that in functions within it left out."""
    return _walk(*(function.body if isinstance(function.body, list) else [function.body]),
                 without=_SCOPES)  # fmt: skip


def _walk(*nodes: Any, without: tuple[type, ...] = ()) -> Iterator[Any]:
    """Yield nodes and their parts but constants and operators; not the parts `without` kinds."""
    left = [*nodes]
    while left:
        node = left.pop()
        kind = type(node)
        if kind not in _PARTS:
            continue
        yield node
        if kind not in without:
            for name in _PARTS[kind]:
                part = getattr(node, name, None)
                if type(part) is list:
                    left += part
                elif part is not None:
                    left.append(part)
