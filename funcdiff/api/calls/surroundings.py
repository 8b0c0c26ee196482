"""Purity analysis: the objects that functions can see besides numbers, with their contents.

It is followed from their code, cells, defaults and arguments, by names, to what changes nowhere: a
number, a function of NumPy's.  If all of it is the same objects with the same content, closed code
does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import WRAPPER_ASSIGNMENTS, partial
from itertools import repeat
from operator import is_
from types import CellType, FunctionType, ModuleType
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.api.calls.closed_code import ATTRIBUTES, Loads, is_value, kind_of, loads_of
from funcdiff.api.calls.closed_values import is_closed
from funcdiff.api.calls.transformed import Transformed
from funcdiff.core.snapshot import owner_of
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.numpy.namespace import Namespace

_MOST_BYTES: Final = 1 << 23
"""Of all arrays, which are compared whole: 40 µs for a megabyte."""

_MOST_THINGS: Final = 512
_MODULES: Final = (ModuleType, Namespace)
_NUMPYS: Final = (np, np.linalg, np.fft)
LABELS: Final = frozenset({*WRAPPER_ASSIGNMENTS, "__wrapped__", "__derived__", "_call", "_made"})
"""Attributes of functions for which nothing asks; others are open."""

ABSENT: Final[Any] = object()
F = TypeVar("F", bound=Callable[..., Any])


class OpenError(Exception):
    """Something can be seen that may decide and cannot be compared."""


class Surroundings:
    """What can be seen from some objects.

    Parameters
    ----------
    roots
        Functions, and arguments of theirs.

    Attributes
    ----------
    nbytes
        Of all arrays, with what these are views of.

    Raises
    ------
    OpenError
        If what is done with something is decided by what cannot be compared.
    """

    def __init__(self, roots: Sequence[Any]) -> None:
        self._roots, self.nbytes = roots, 0
        self._known: dict[int, Any] = {}  # which keeps all alive
        self._tables: dict[int, tuple[Mapping[str, Any], dict[str, Any]]] = {}
        self._parts: list[tuple[Any, list[Any]]] = []
        self._arrays: list[tuple[Any, tuple[Any, ...], bytes]] = []
        self._options: Any = None
        self._modules: dict[int, tuple[Any, type]] = {}
        self._pending: list[tuple[Any, tuple[str, ...]]] = []
        self._attributes: set[str] = set()
        self._passed: list[Any] = []  # NumPy's modules, of which any attribute may be asked
        self._add(roots)
        count = -1
        while count < len(self._known):
            count = len(self._known)
            while self._pending:
                self._admit(*self._pending.pop())
            found = [self._look_up(m, name) for m in self._passed for name in self._attributes]
            self._add(x for x in found if x is not ABSENT)
        if not self._attributes <= ATTRIBUTES.union(*map(vars, self._passed)):
            raise OpenError
        self._names = [(t, tuple(names), [*names.values()]) for t, names in self._tables.values()]

    def are_unchanged(self, roots: Sequence[Any]) -> bool:
        """Whether everything is as it was, for the same objects, or functions made anew."""
        if not (len(roots) == len(self._roots) and all(map(_are_alike, roots, self._roots))):
            return False
        for table, names, values in self._names:
            if not all(map(is_, map(table.get, names, repeat(ABSENT)), values)):
                return False
        if not all(type(module) is kind for module, kind in self._modules.values()):
            return False
        for x, parts in self._parts:
            if not _are_same(_parts_of(x), parts):
                return False
        for array, looks, content in self._arrays:
            if _looks(array) != looks or array.tobytes() != content:
                return False
        # by which numbers become strings in an array of strings
        return self._options is None or np.get_printoptions() == self._options

    def _add(self, things: Iterable[Any]) -> None:
        self._pending += [(x, ()) for x in things]

    def _admit(self, x: Any, asked: tuple[str, ...]) -> None:
        """Add something that can be seen, of which attributes are asked."""
        x = attributes_of(x, asked, self._look_up)
        kind = kind_of(x)
        if kind is str and self._options is None:
            self._options = np.get_printoptions()
        if (kind is not tuple and is_value(x)) or id(x) in self._known:
            return
        self._known[id(x)] = x
        if len(self._known) > _MOST_THINGS:
            raise OpenError
        if kind is np.ndarray:
            self.nbytes += owner_of(x).nbytes  # which is kept alive
            if x.dtype not in DTYPE_NAMES or self.nbytes > _MOST_BYTES:
                raise OpenError
            self._arrays.append((x, _looks(x), x.tobytes()))
        elif kind is tuple:
            self._add(x)
        elif kind is list or kind is dict:
            self._add(self._note(x))
        elif kind in _MODULES:
            if not (kind is Namespace or x in _NUMPYS):
                raise OpenError  # NumPy asks others for attributes, and they may make some
            self._passed.append(x)
        elif kind is partial:
            self._note(x)
            self._add((x.func, *x.args, x.keywords))
        elif (derived := derivation(x)) is not None:
            self._note(x)
            self._add((derived[-1],))
        elif kind is FunctionType and not is_closed(x, kind):
            self._admit_function(x)
        elif not is_closed(x, kind):
            raise OpenError

    def _admit_function(self, f: Any) -> None:
        """Add a function of the user's, and all that its code loads."""
        code = f.__code__
        loads = loads_of(code)
        if loads is None:
            raise OpenError
        self._note(f)
        self._add((*(f.__defaults__ or ()), f.__kwdefaults__))
        self._attributes |= loads.attributes
        free = dict(zip(code.co_freevars, map(content, f.__closure__ or ()), strict=True))
        self._pending += loaded_by(loads, f.__globals__, f.__builtins__, free, self._look_up)

    def _look_up(self, owner: Any, name: str) -> Any:
        """Return what a name stands for in a table or a module, noting it."""
        if type(owner) is not dict:
            self._modules[id(owner)] = owner, type(owner)
            owner = vars(owner)
        names = self._tables.setdefault(id(owner), (owner, {}))[1]
        return names.setdefault(name, owner.get(name, ABSENT))

    def _note(self, x: Any) -> list[Any]:
        """Note, and return, what something is made of."""
        if not LABELS.issuperset(getattr(x, "__dict__", ())):
            raise OpenError
        parts = _parts_of(x)
        self._parts.append((x, parts))
        return parts


LookUp: TypeAlias = Callable[[Any, str], Any]


def loaded_by(
    loads: Loads, table: dict[str, Any], pythons: Any, free: dict[str, Any], look_up: LookUp
) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield what code loads, by global names or from cells, and which attributes are asked of it.

    Raises
    ------
    OpenError
        If Python's own names are others for functions that are made while it runs.
    """
    within = look_up(table, "__builtins__")  # of functions that are defined in it
    is_usual = pythons is (vars(within) if type(within) is ModuleType else within)
    if not is_usual or not type(table) is type(pythons) is dict:
        raise OpenError
    if loads.has_text:
        yield "", ()
    for name, asked in loads.free:
        yield free[name], asked
    for name, asked in loads.globals:
        found = look_up(table, name)
        yield look_up(pythons, name) if found is ABSENT else found, asked


def attributes_of(x: Any, asked: Iterable[str], look_up: LookUp) -> Any:
    """Return what the attributes of a module lead to, up to a value of which they are closed."""
    for name in asked:
        if kind_of(x) in _MODULES:
            x = look_up(x, name)
        elif name not in ATTRIBUTES:
            raise OpenError
    return x


def derivation(x: Any) -> tuple[Any, ...] | None:
    """Return what decides what a derivative does: code of ours, options, and the function."""
    f = x._call if type(x) is Transformed else x
    found: Any = vars(f).get("__derived__") if type(f) is FunctionType else None
    if found is None or found[0] is not f.__code__ or not LABELS.issuperset(vars(x)):
        return None  # one of the user's that wraps it has its attributes
    return tuple(found)


def derived_from(f: Callable[..., Any], *options: Hashable) -> Callable[[F], F]:
    """Return a decorator of functions that see nothing but `f`, of which the options make them."""

    def note(function: F) -> F:
        vars(function)["__derived__"] = (function.__code__, options, f)
        return function

    return note


def _parts_of(x: Any) -> list[Any]:
    """Return what a function or a container is made of."""
    kind = type(x)
    if kind is FunctionType:
        given, cells = x.__defaults__ or (), map(content, x.__closure__ or ())
        parts = [x.__code__, x.__globals__, x.__builtins__, x.__kwdefaults__, *vars(x)]
        return [*parts, *given, ABSENT, *cells]
    if kind is list:
        return [*x]
    if kind is dict:
        return [*x, *x.values()]
    if kind is partial:
        return [x.func, x.args, x.keywords, *vars(x)]
    return [kind, *vars(x), *vars(x).values()]


def content(cell: CellType) -> Any:
    """Return what is in a cell."""
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return ABSENT


def _are_alike(f: Any, g: Any) -> bool:
    """Whether they are one object, or functions of one definition with the same in their cells."""
    if f is g:
        return True
    return type(f) is type(g) is FunctionType and _are_same(_parts_of(f), _parts_of(g))


def _are_same(these: Sequence[Any], those: Sequence[Any]) -> bool:
    return len(these) == len(those) and all(map(is_, these, those))


def _looks(x: Any) -> tuple[Any, ...]:
    return x.shape, x.strides, x.dtype, x.flags.num, id(x.base)
