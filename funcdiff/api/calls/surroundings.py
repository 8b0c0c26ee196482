"""Purity analysis: the objects that functions can see besides numbers, with their contents.

They are followed from arguments and code, by names, to what changes nowhere: a number, a function
of NumPy.  If all are the same objects with the same content, closed code does the same.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import WRAPPER_ASSIGNMENTS, partial
from itertools import repeat
from operator import is_
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.api.calls.closed_code import loads_of
from funcdiff.api.calls.closed_values import is_attribute, is_closed, is_value, kind_of
from funcdiff.api.calls.transformed import Transformed
from funcdiff.core.snapshot import owner_of
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.numpy.namespace import Namespace

_MOST_BYTES: Final = 1 << 23
"""Of all arrays, which are compared whole: 40 µs for a megabyte."""

_MOST_THINGS: Final = 512
_LABELS: Final = frozenset({*WRAPPER_ASSIGNMENTS, "__wrapped__", "__derived__", "_call", "_made"})
"""Attributes of functions for which nothing asks; others are open."""

MODULES: Final[set[type]] = {ModuleType, Namespace}
"""Types of modules, which have in ``vars`` what was found in them; packages above add theirs."""

TABLES: Final[set[type]] = {dict}
"""Types of tables of global names, whose ``get`` finds what code finds."""

ABSENT: Final[Any] = object()
F = TypeVar("F", bound=Callable[..., Any])
LookUp: TypeAlias = Callable[[dict[str, Any], str], Any]


class OpenError(Exception):
    """Something can be seen that may decide and cannot be compared."""


class Surroundings:
    """What can be seen from some functions, and arguments of theirs; `OpenError` if not all is."""

    def __init__(self, roots: Sequence[Any]) -> None:
        self._roots = roots
        self.nbytes = 0  # of all arrays, with those that they are views of
        self._known: dict[int, Any] = {}  # which keeps all alive
        self._tables: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._parts: list[tuple[Any, list[Any]]] = []
        self._arrays: list[tuple[Any, tuple[Any, ...], bytes]] = []
        self._options: Any = None
        pending = [*roots]
        while pending:
            pending += self._seen_in(pending.pop())
        self._names = [(t, tuple(names), [*names.values()]) for t, names in self._tables.values()]

    def are_unchanged(self, roots: Sequence[Any]) -> bool:
        """Whether everything is as it was, for the same objects, or functions made anew."""
        if not (len(roots) == len(self._roots) and all(map(_are_alike, roots, self._roots))):
            return False
        for table, names, values in self._names:
            if not all(map(is_, map(table.get, names, repeat(ABSENT)), values)):
                return False
        for x, parts in self._parts:
            if not _are_same(_parts_of(x), parts):
                return False
        for array, looks, content in self._arrays:
            if _looks(array) != looks or array.tobytes() != content:
                return False
        return self._options is None or np.get_printoptions() == self._options

    def _seen_in(self, x: Any) -> list[Any]:
        """Note something, and return what is seen in it."""
        kind = kind_of(x)
        if kind is str:  # with which numbers in an array become strings
            self._options = np.get_printoptions()
        is_known = id(x) in self._known or is_closed(x, kind)
        if is_known or (kind is not tuple and is_value(x)):
            return []
        self._known[id(x)] = x
        if len(self._known) > _MOST_THINGS:
            raise OpenError
        if kind is np.ndarray:
            self.nbytes += owner_of(x).nbytes  # which is kept alive
            if x.dtype not in DTYPE_NAMES or self.nbytes > _MOST_BYTES:
                raise OpenError
            self._arrays.append((x, _looks(x), x.tobytes()))
            return []
        parts = self._note(x)
        if (derived := derivation(x)) is not None:
            return [derived[-1]]
        if kind is FunctionType:
            return [*seen_by(x, self._look_up)]
        if kind not in (list, tuple, dict, partial, staticmethod) or (kind is partial and vars(x)):
            raise OpenError
        return [part for part in parts if part is not ABSENT]

    def _look_up(self, owner: Any, name: str) -> Any:
        """Return what a name stands for in a table or a module, noting it."""
        table = table_with(owner, name)
        if id(owner) not in self._tables:
            self._tables[id(owner)] = table, {}
            if table is not owner:
                self._note(owner)
        return self._tables[id(owner)][1].setdefault(name, table.get(name, ABSENT))

    def _note(self, x: Any) -> list[Any]:
        parts = _parts_of(x)
        self._parts.append((x, parts))
        return parts


def table_with(owner: Any, name: str) -> Mapping[str, Any]:
    """Return the names of a table or a module, with one that a module of ours finds when asked."""
    is_table = type(owner) in TABLES
    if not is_table and type(owner) is not ModuleType:
        getattr(owner, name, None)
    table: Mapping[str, Any] = owner if is_table else vars(owner)
    return table


def seen_by(f: Any, look_up: LookUp) -> Iterator[Any]:
    """Yield what a function loads from its cells, by names and as defaults."""
    if not _LABELS.issuperset(vars(f)):
        raise OpenError
    yield from (f.__defaults__ or ())
    yield f.__kwdefaults__
    yield from map(content, f.__closure__ or ())
    yield from loaded_by(f.__code__, f.__globals__, f.__builtins__, look_up)


def loaded_by(code: CodeType, table: Any, pythons: Any, look_up: LookUp) -> Iterator[Any]:
    """Yield what code loads by global names, and by attributes of modules that these lead to."""
    loads = loads_of(code)
    if loads is None or not all(map(is_attribute, loads.attributes)) or type(table) not in TABLES:
        raise OpenError
    within = look_up(table, "__builtins__")  # of functions that are defined in it
    if type(pythons) is not dict or not (
        within is pythons or (within is builtins and pythons is vars(builtins))
    ):
        raise OpenError
    if loads.has_text:
        yield ""
    for name, *attributes in loads.names:
        x = look_up(table, name)
        x = look_up(pythons, name) if x is ABSENT else x
        for attribute in attributes:
            if kind_of(x) in MODULES:
                x = look_up(x, attribute)
            elif not is_attribute(attribute):
                raise OpenError
        yield x


def derivation(x: Any) -> tuple[Any, ...] | None:
    """Return what decides what a derivative does: code of ours, options, and the function."""
    f = x._call if type(x) is Transformed else x
    found: Any = vars(f).get("__derived__") if type(f) is FunctionType else None
    if found is None or found[0] is not f.__code__ or not _LABELS.issuperset(vars(x)):
        return None  # one of the user's that wraps it has its attributes
    return tuple(found)


def derived_from(f: Callable[..., Any], *options: Hashable) -> Callable[[F], F]:
    """Return a decorator of functions that see nothing but `f`, of which the options make them."""

    def note(function: F) -> F:
        vars(function)["__derived__"] = (function.__code__, options, f)
        return function

    return note


def content(cell: CellType) -> Any:
    """Return what is in a cell, `ABSENT` if nothing is."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _parts_of(x: Any) -> list[Any]:
    """Return what a function or a container is made of."""
    kind = type(x)
    if kind is FunctionType:
        given, cells = x.__defaults__ or (), map(content, x.__closure__ or ())
        parts = [x.__code__, x.__globals__, x.__builtins__, x.__kwdefaults__, *vars(x), ABSENT]
        return [*parts, *given, ABSENT, *cells]
    if kind is list or kind is tuple:
        return [*x]
    if kind is staticmethod:  # of a function that is no method
        return [x.__func__]
    if kind is dict:
        return [*x, *x.values()]
    if kind is partial:
        named = x.keywords
        return [x.func, *x.args, ABSENT, *named, *named.values(), ABSENT, *vars(x)]
    return [kind, *vars(x), *vars(x).values()] if kind is Transformed else [kind]


def _are_alike(x: Any, y: Any) -> bool:
    """Whether they are one object, or made anew of the same parts."""
    if x is y:
        return True
    is_made = type(x) is type(y) and type(x) in (FunctionType, partial, tuple)
    return is_made and _are_same(_parts_of(x), _parts_of(y))


def _are_same(these: Sequence[Any], those: Sequence[Any]) -> bool:
    return len(these) == len(those) and all(map(is_, these, those))


def _looks(x: Any) -> tuple[Any, ...]:
    return x.shape, x.strides, x.dtype, x.flags.num, id(x.base)
