"""What a function can see besides its arguments, where that alone decides what it does.

Its names lead to modules, NumPy's functions, other such functions, numbers, and arrays and lists of
them.  If all of these are after a call as they were before it, the next call does the same.
"""

from __future__ import annotations

from abc import ABC, ABCMeta
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import is_
from types import (
    CellType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final, Generic, TypeVar

import numpy as np

from funcdiff.api.calls.closed_code import ATTRIBUTES, names_of_closed
from funcdiff.api.calls.closed_values import IMMUTABLE, home, is_closed
from funcdiff.api.calls.transformed import Transformed
from funcdiff.core.snapshot import owner_of
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.numpy.namespace import Namespace

_MOST_BYTES: Final = 1 << 23
"""Of all arrays, which are compared whole: 40 µs for a megabyte."""

_MOST_THINGS: Final = 512

_BASES: Final = frozenset({object, tuple, Generic, ABC, SimpleNamespace})
_METACLASSES: Final = frozenset({type, ABCMeta})
_DYNAMIC: Final = frozenset({"__getattr__", "__getattribute__", "__get__", "__array_ufunc__"})
_UNCALLED: Final = frozenset(
    """
    __class_getitem__ __del__ __delattr__ __format__ __getnewargs__ __getstate__ __init__
    __init_subclass__ __new__ __post_init__ __reduce__ __reduce_ex__ __replace__ __repr__
    __set_name__ __setattr__ __setstate__ __str__
    """.split()  # noqa: SIM905
)
"""Methods that nothing calls: instances are neither made nor changed, but by what is called."""

_ABSENT: Final[Any] = object()


class _Open(Exception):  # noqa: N818
    """Something can be seen that may decide and cannot be compared."""


F = TypeVar("F", bound=Callable[..., Any])


def derived_from(f: Callable[..., Any], *options: Hashable) -> Callable[[F], F]:
    """Return a decorator of functions that see nothing but `f`, of which the options make them."""

    def note(function: F) -> F:
        vars(function)["__derived__"] = (function.__code__, f, options)
        return function

    return note


def _derived(f: Any) -> tuple[Any, Any, Any] | None:
    """Return the code of a derived function, what it is derived from, and the options."""
    found: tuple[Any, Any, Any] | None = vars(f).get("__derived__")
    # a function of the user's that wraps it has its attributes
    return found if found is not None and found[0] is f.__code__ else None


def parts_of(f: Any) -> tuple[tuple[Hashable, ...], list[Any]]:
    """Return how a function is made of others and of arguments, and these."""
    kind = type(f)
    if kind is Transformed:
        return parts_of(f._call)
    if kind is partial:
        how, parts = parts_of(f.func)
        return (partial, len(f.args), *f.keywords, *how), [*parts, *f.args, *f.keywords.values()]
    if kind is MethodType:
        how, parts = parts_of(f.__func__)
        return (MethodType, *how), [*parts, f.__self__]
    if kind is not FunctionType:
        return (id(f),), [f]
    derived = _derived(f)
    if derived is None:
        return (f.__code__,), [f]
    code, function, options = derived
    how, parts = parts_of(function)
    return (code, options, *how), parts


class Surroundings:
    """What functions and all those that they can call see, as it is now.

    Parameters
    ----------
    parts
        The functions, or arguments of them.
    given
        Further arguments.

    Attributes
    ----------
    nbytes
        Of all arrays that they see, with what these are views of.
    """

    def __init__(self, parts: Sequence[Any], given: Iterable[Any]) -> None:
        self._parts = parts
        self._things: dict[int, Any] = {}
        self._pending: list[Any] = [*parts, *given]
        self._tables: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._attributes: set[str] = set()
        self._owners: list[Mapping[str, Any]] = []
        self._classes: set[type] = set()
        self._tables_of_classes: list[tuple[Mapping[str, Any], int]] = []
        self._functions: list[tuple[FunctionType, list[Any]]] = []
        self._arrays: list[tuple[Any, tuple[Any, ...], bytes]] = []
        self._containers: list[tuple[Any, list[Any]]] = []
        self._instances: list[tuple[Any, list[Any]]] = []
        self.nbytes = 0
        while self._pending:
            while self._pending:
                self._admit(self._pending.pop())
            for owner in self._owners:
                for name in self._attributes:
                    self._look_up(owner, name)
        if not self._attributes <= ATTRIBUTES.union(*map(self._attributes_of, self._owners)):
            raise _Open
        self._names = [(t, tuple(names), [*names.values()]) for t, names in self._tables.values()]

    def are_unchanged(self, parts: Sequence[Any]) -> bool:
        """Whether functions of the same definitions, and what they can see, are as they were."""
        for x, y in zip(parts, self._parts, strict=True):
            if x is not y and not _are_alike(x, y):
                return False
        for table, names, values in self._names:
            if not all(map(is_, map(table.get, names, repeat(_ABSENT)), values)):
                return False
        for known, parts in self._functions:
            if not _are_same(_seen_by(known), parts):
                return False
        for array, looks, content in self._arrays:
            if _looks(array) != looks or array.tobytes() != content:
                return False
        for x, (kind, own) in self._instances:
            if type(x) is not kind or getattr(x, "__dict__", None) is not own:
                return False
        if any(len(table) != count for table, count in self._tables_of_classes):
            return False
        return all(_are_same(_items(x), items) for x, items in self._containers)

    def _admit(self, x: Any) -> None:
        """Add something that can be seen.

        Raises
        ------
        _Open
            If what is done with it is decided by something that cannot be seen, or compared.
        """
        kind = type(x)
        if kind in IMMUTABLE or id(x) in self._things:
            return
        self._things[id(x)] = x
        if len(self._things) > _MOST_THINGS:
            raise _Open
        if kind is FunctionType and home(x) not in ("numpy", "funcdiff"):
            self._admit_function(x)
        elif kind is ModuleType or kind is Namespace:
            self._owners.append(vars(x))
        elif kind is np.ndarray:
            self.nbytes += owner_of(x).nbytes  # which is kept alive
            if x.dtype not in DTYPE_NAMES or self.nbytes > _MOST_BYTES:
                raise _Open
            self._arrays.append((x, _looks(x), x.tobytes()))
        elif kind is tuple:
            self._pending += x
        elif kind is list or kind is dict:
            self._containers.append((x, _items(x)))
            self._pending += _items(x)
        elif kind is slice:
            self._pending += (x.start, x.stop, x.step)
        elif kind is Transformed:
            self._pending.append(x._call)
        elif kind is partial:
            self._pending += (x.func, x.args, x.keywords)
        elif kind is MethodType:
            self._pending += (x.__func__, x.__self__)
        elif kind is property:
            self._pending.append(x.fget)
        elif kind is staticmethod:
            self._pending.append(x.__func__)
        elif not is_closed(x, kind):
            self._admit_instance(x, kind)

    def _admit_function(self, f: Any) -> None:
        derived = _derived(f)
        if derived is not None:
            self._pending.append(derived[1])
            return
        names = names_of_closed(f.__code__)
        if names is None or not all(name.startswith("__") for name in vars(f)):
            raise _Open
        parts = _seen_by(f)
        self._functions.append((f, parts))
        self._pending += parts[1:]
        self._attributes |= names.attributes
        for name in names.globals:
            if self._look_up(f.__globals__, name) is _ABSENT:
                self._look_up(f.__builtins__, name)

    def _admit_instance(self, x: Any, kind: type) -> None:
        """Add an instance of a class that is written in Python."""
        own = getattr(x, "__dict__", None)
        self._instances.append((x, [kind, own]))
        if type(own) is dict:
            self._owners.append(own)
        elif not issubclass(kind, tuple):
            raise _Open
        if issubclass(kind, tuple):
            self._pending += x
        for cls in kind.__mro__:
            if cls in self._classes or cls in _BASES:
                continue
            self._classes.add(cls)
            table = vars(cls)
            if (
                type(cls) not in _METACLASSES
                or cls.__module__.partition(".")[0] == "funcdiff"
                or not table.keys().isdisjoint(_DYNAMIC)
            ):
                raise _Open
            if table.get("__slots__"):
                raise _Open
            self._owners.append(table)
            self._tables_of_classes.append((table, len(table)))
            for name, value in table.items():
                if name.startswith("__") and callable(value) and _is_called(name, value, table):
                    self._look_up(table, name)

    def _look_up(self, table: Mapping[str, Any], name: str) -> Any:
        """Return what a name stands for in a table, noting it; it is seen, too."""
        names = self._tables.setdefault(id(table), (table, {}))[1]
        if name not in names:
            found = names[name] = table.get(name, _ABSENT)
            if found is not _ABSENT:
                self._pending.append(found)
        return names[name]

    def _attributes_of(self, owner: Mapping[str, Any]) -> set[str]:
        """Return which attributes that anything is asked for an owner has."""
        looked_up = self._tables.get(id(owner), ({}, {}))[1]
        found = {name for name, value in looked_up.items() if value is not _ABSENT}
        make = owner.get("__getattr__")
        if make is None or str(owner.get("__name__")).startswith("funcdiff.numpy"):
            return found  # ours makes NumPy's
        if any(_is_made(make, name) for name in looked_up.keys() - found):
            raise _Open
        return found


def surroundings(parts: Sequence[Any], given: Iterable[Any]) -> Surroundings | None:
    """Return what functions can see now; None if something else may decide what they do."""
    try:
        return Surroundings(parts, given)
    except _Open:
        return None


def _is_made(make: Callable[[str], Any], name: str) -> bool:
    """Whether a module makes an attribute when it is asked for it."""
    try:
        make(name)
    except AttributeError:
        return False
    return True


def _is_called(name: str, method: Any, table: Mapping[str, Any]) -> bool:
    """Whether a method of a class may be called by an operator, and was not made by `dataclass`."""
    code = getattr(method, "__code__", None)
    made = code is not None and code.co_filename == "<string>" and "__dataclass_fields__" in table
    return name not in _UNCALLED and not made


def _are_alike(f: Any, g: Any) -> bool:
    """Whether two functions have one definition, and the same in their cells and defaults."""
    return (
        type(f) is type(g) is FunctionType
        and f.__code__ == g.__code__
        and f.__globals__ is g.__globals__
        and not f.__kwdefaults__
        and not vars(f)
        and _are_same([*(f.__defaults__ or ()), ...], [*(g.__defaults__ or ()), ...])
        and _are_same(_seen_by(f)[3:], _seen_by(g)[3:])
    )


def _seen_by(f: Any) -> list[Any]:
    """Return the code of a function, its defaults, and what is in its cells."""
    return [f.__code__, f.__defaults__, f.__kwdefaults__, *map(_content, f.__closure__ or ())]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return _ABSENT


def _items(container: Any) -> list[Any]:
    if type(container) is dict:
        return [*container, *container.values()]
    return [*container]


def _are_same(these: Sequence[Any], those: Sequence[Any]) -> bool:
    return len(these) == len(those) and all(map(is_, these, those))


def _looks(array: Any) -> tuple[Any, ...]:
    return array.shape, array.strides, array.dtype
