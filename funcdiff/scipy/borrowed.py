"""SciPy's own Python code, run on traced arrays in a scope that knows them.

Much of SciPy is Python code over NumPy, a few compiled functions, and other such code.  What is
*borrowed* is that code, of the installed version, in a scope in which NumPy is `funcdiff.numpy`, a
covered function of SciPy's is ours (also a compiled one, of a private module), and every other
function and class of SciPy's is borrowed in turn, when it is first met.  Values, keywords, kinds of
results and errors are SciPy's by construction; derivatives are those of what is called.
"""

from __future__ import annotations

import builtins
import cmath
import copyreg
import math
from collections.abc import Callable
from enum import Enum
from functools import cached_property, partial, wraps
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeVar

import numpy as np

import funcdiff.numpy
from funcdiff.core.late import computed
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracebacks import public
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy import array_api
from funcdiff.scipy.adaptation import ANSWERS, BORROW, adapt_code
from funcdiff.scipy.covered import (
    Holder,
    cover,
    covers,
    holds_traced,
    load,
    replacement_of,
    table,
    without_delegation,
)
from funcdiff.scipy.equalities import run_watched
from funcdiff.scipy.instances import metaclass_of
from funcdiff.scipy.places import place, requirements_of

_borrowed: Final[dict[int, tuple[Any, Any]]] = {}
"""Identity of a function, class or object of SciPy's -> itself, so that it lives, and ours."""


def borrow(plain: Any) -> Any:
    """Return what a value that SciPy's code refers to is for traced arrays.

    `plain`: a function, class, module or object of SciPy's or NumPy's; anything else is returned as
      it is.
    """
    if isinstance(plain, ModuleType):
        return _module(plain)
    if type(plain) in (dict, list, tuple):
        return _container(plain)
    numpys = _of_numpy(plain)
    if numpys is not None:
        return numpys
    if getattr(plain, "__module__", None) in ("math", "cmath"):
        return _of_math(plain)
    if not _is_scipys(plain) or isinstance(plain, np.ufunc | BuiltinFunctionType):
        return replacement_of(plain) or plain
    if id(plain) not in _borrowed:
        _borrowed[id(plain)] = plain, plain  # while it is made: it may refer to itself
        _borrowed[id(plain)] = plain, replacement_of(plain) or _borrow(plain)
    return _borrowed[id(plain)][1]


def copy_of(plain: Any) -> Any:
    """Return a function or class of SciPy's in a scope for traced arrays, covered or not."""
    key = -id(plain)
    if key not in _borrowed:
        _borrowed[key] = plain, _borrow(plain)
    return _borrowed[key][1]


def define(module: str, **names: Any) -> None:
    """Let global names of a module of SciPy's mean something else in borrowed code."""
    _scope(vars(load(module))).update(names)


def stand_in(plain: Any, ours: Any) -> None:
    """Let SciPy's own code, run on traced arrays, find an object of ours for one of SciPy's."""
    _borrowed[id(plain)] = plain, ours


# ---- what is borrowed ----------------------------------------------------------------------------


def _is_scipys(value: Any) -> bool:
    value = value.func if isinstance(value, partial) else value
    module = getattr(value, "__module__", None) or type(value).__module__
    return str(module).partition(".")[0] == "scipy"


def _of_numpy(value: Any) -> Any:
    """Return ours of NumPy's function, or None for what is not NumPy's."""
    if value is np.r_ or value is np.c_:
        return funcdiff.numpy.r_ if value is np.r_ else funcdiff.numpy.c_
    name = getattr(value, "__name__", None)
    if isinstance(value, type) or not isinstance(name, str):
        return None
    is_wrapped = "array_api_compat.numpy" in str(getattr(value, "__module__", None))
    is_numpys = is_wrapped or getattr(np, name, None) is value
    return getattr(funcdiff.numpy, name, None) if is_numpys else None


def _of_math(plain: Any) -> Any:
    """Return a function of `math` or `cmath` that is NumPy's where something is traced."""
    numpys = getattr(np, plain.__name__, None)
    if not isinstance(numpys, np.ufunc):
        return plain

    def function(*xs: Any) -> Any:
        if not holds_traced(xs) or len(xs) != numpys.nin:
            return plain(*xs)
        y = numpys(*xs)
        return y.astype(int) if plain in (math.ceil, math.floor, math.trunc) else y

    return function


def _container(plain: Any) -> Any:
    """Return a table with what its entries are for traced arrays; itself, if they are the same."""
    keys, values = (plain, plain.values()) if isinstance(plain, dict) else ((), plain)
    found = [*map(borrow, values)]
    if all(ours is value for ours, value in zip(found, values, strict=True)):
        return plain
    return dict(zip(keys, found, strict=True)) if keys else type(plain)(found)


def _module(plain: ModuleType) -> Any:
    """Return a module for traced arrays: of NumPy's or SciPy's, others are as they are."""
    root, _, rest = plain.__name__.partition(".")
    if plain.__name__ in ("numpy.linalg", "numpy.fft"):
        return getattr(funcdiff.numpy, rest)
    if plain is np or hasattr(plain, "__array_namespace_info__"):
        return funcdiff.numpy
    return _Module(plain) if root == "scipy" or plain in (math, cmath) else plain


class _Module:
    """A module of SciPy's, whose functions are borrowed when they are asked for."""

    def __init__(self, plain: ModuleType) -> None:
        self.__plain = plain

    def __getattr__(self, name: str) -> Any:
        found = borrow(getattr(self.__plain, name))
        setattr(self, name, found)
        return found


class _Scope(dict[str, Any]):
    """The global names of a module of SciPy's for traced arrays, found when they are used.

    What is covered under the module's own name comes first, wherever SciPy has it from.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        super().__init__(
            __name__=__name__, __builtins__=builtins, __package__=plain.get("__package__")
        )
        self.plain = plain

    def __missing__(self, name: str) -> Any:
        known = name in ANSWERS or name == BORROW or (name in _KNOWN and name in self.plain)
        ours = table.get(self.plain["__name__"], {}).get(name)
        found = _KNOWN[name] if known else ours or borrow(self.plain[name])
        self[name] = found
        return found


def _validate(a: Any, *, as_inexact: bool = False, **_options: Any) -> Any:
    x: Any = funcdiff.numpy.asarray(a)
    return x.astype(float) if as_inexact and x.dtype.kind in "biu" else x


_scopes: Final[dict[int, _Scope]] = {}
_KNOWN: Final[dict[str, Any]] = {
    "array_namespace": lambda *_arrays, **_options: funcdiff.numpy,
    "np_compat": funcdiff.numpy,
    "xp": funcdiff.numpy,
    "is_numpy": lambda _namespace: True,
    "is_lazy_array": array_api.is_lazy_array,
    "_asarray": lambda a, dtype=None, order=None, **_options: funcdiff.numpy.asarray(
        a, dtype, order
    ),
    "asarray_chkfinite": funcdiff.numpy.asarray_chkfinite,
    **ANSWERS,
    BORROW: borrow,
    "_asarray_validated": _validate,
}
"""Names by which SciPy's code asks which library an array is of, or checks its values."""


def _borrow(plain: Any) -> Any:
    if isinstance(plain, type):
        return _class(plain)
    if isinstance(plain, FunctionType):
        return _function(plain)
    if isinstance(plain, MethodType):
        return MethodType(borrow(plain.__func__), borrow(plain.__self__))
    if isinstance(plain, partial):
        keywords = {k: borrow(v) for k, v in plain.keywords.items()}
        return partial(borrow(plain.func), *map(borrow, plain.args), **keywords)
    kind = _class(type(plain)) if _is_scipys(type(plain)) else type(plain)
    if kind is type(plain) or not hasattr(plain, "__dict__"):
        return plain
    found: Any = object.__new__(kind)
    vars(found).update(vars(plain))
    return found


def _scope(names: dict[str, Any]) -> _Scope:
    return _scopes.setdefault(id(names), _Scope(names))


def _function(plain: FunctionType, cells: dict[int, CellType] | None = None) -> FunctionType:
    """Return a function of the same code, whose global names mean those for traced arrays."""
    closure = tuple(_cell(c, cells or {}) for c in plain.__closure__ or ())
    code, scope = adapt_code(plain), _scope(plain.__globals__)
    found = FunctionType(code, scope, plain.__name__, plain.__defaults__, closure)
    found.__kwdefaults__ = plain.__kwdefaults__
    found.__qualname__ = plain.__qualname__
    found.__doc__ = plain.__doc__
    vars(found).update({k: v for k, v in vars(plain).items() if k != "__wrapped__"})
    return found


def _cell(cell: CellType, known: dict[int, CellType]) -> CellType:
    """Return what a closure holds, for traced arrays; an empty cell is kept."""
    try:
        held = cell.cell_contents
    except ValueError:
        return cell
    if known and isinstance(held, FunctionType) and _is_scipys(held):  # a method, decorated
        return CellType(_function(held, known))
    return known.get(id(held)) or CellType(borrow(held))


def _class(plain: Any) -> Any:
    """Return a subclass of a class of SciPy's whose methods are borrowed, and so its bases'."""
    if issubclass(plain, BaseException | tuple | Enum) or not _is_scipys(plain):
        return plain
    known = _borrowed.get(-id(plain))
    if known is not None:
        return known[1]
    own = CellType()
    members = {
        name: _late_member(value, {id(plain): own})
        for name, value in vars(plain).items()
        if name not in ("__dict__", "__weakref__", "__slots__")
    }
    members |= {"__reduce_ex__": _reduction(plain), "borrowed_from": plain}
    bases = tuple(_class(base) for base in plain.__bases__ if _is_scipys(base))
    holder = () if any(issubclass(b, Holder) for b in bases) else (Holder,)
    found = metaclass_of(plain)(plain.__name__, (*bases, plain, *holder), members)
    # where no base is borrowed, super() must not be the class itself
    own.cell_contents = found if bases else plain
    _borrowed[-id(plain)] = plain, found
    return found


def _reduction(plain: Any) -> Any:
    """Return what pickles objects of a borrowed class: under the name of SciPy's own."""

    def reduce(self: Any, protocol: Any) -> Any:
        found: Any = object.__reduce_ex__(self, protocol)
        make, args, *state = found
        if make is copyreg.__newobj__ and args[0] is copy_of(plain):  # type: ignore[attr-defined]
            return _blank, (plain, *args[1:]), *state
        return make, args, *state

    return reduce


def _blank(plain: Any, *args: Any) -> Any:
    """Return a new object of the class borrowed from one of SciPy's, before it has a state."""
    kind = copy_of(plain)
    return kind.__new__(kind, *args)


def _watch(name: str, member: Any) -> Any:
    """Return a method that is called from outside, in which equal numbers are looked at."""
    is_public = not name.startswith("_") or name in ("__init__", "__call__")
    if not isinstance(member, FunctionType) or not is_public:
        return member

    @public
    @wraps(member)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run_watched(partial(member, self, *args, **kwargs), self)

    return method


class _LateMethod:
    """A method of a borrowed class, which is borrowed when it is first asked for."""

    def __init__(self, plain: FunctionType, cells: dict[int, CellType]) -> None:
        self._plain, self._cells = plain, cells
        self.__isabstractmethod__ = getattr(plain, "__isabstractmethod__", False)

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = _watch(self._name, _function(self._plain, self._cells))
        if vars(self._owner).get(self._name) is self:
            setattr(self._owner, self._name, found)
        return found.__get__(instance, owner)


def _late_member(value: Any, cells: dict[int, CellType]) -> Any:
    is_method = isinstance(value, FunctionType) and value.__name__ != "__new__"
    return _LateMethod(value, cells) if is_method else _member(value, cells)


def _member(value: Any, cells: dict[int, CellType]) -> Any:
    """Return an attribute of a class for traced arrays."""
    if isinstance(value, FunctionType):
        return _function(value, cells)
    if isinstance(value, staticmethod | classmethod):
        return type(value)(_member(value.__func__, cells))
    if isinstance(value, property):
        parts = (value.fget, value.fset, value.fdel)
        fget, fset, fdel = (part and _member(part, cells) for part in parts)
        return property(fget, fset, fdel, value.__doc__)
    if isinstance(value, cached_property):
        found = computed(_member(value.func, cells))
        found.__set_name__(type, value.attrname or value.func.__name__)
        return found
    return value


# ---- Functions, classes and methods of SciPy's that are covered by their own, borrowed code ------


F = TypeVar("F", bound=Callable[..., Any])


def borrow_functions(
    module: str,
    names: str,
    *,
    code: str = "",
    note: str = "",
    closures: bool = False,
    read: int | None = None,
) -> None:
    """Cover functions of SciPy's by their own code.

    `module`: ``"scipy.linalg"``, say.
    `names`: with spaces between; those that the installed version does not have are passed over.
    `code`: where their code is, if what is public only hands over to it.
    `note`, `closures`: as in `covers`.
    `read`: which argument is a table whose entries their code reads at traced places.
    """
    for name in names.split():
        plain = getattr(load(code or module), name, None)
        if plain is not None:
            call = _call_borrowed if read is None else partial(_call_with_table, read)
            ours = wraps(plain)(partial(call, without_delegation(plain)))
            covers(module, name, note=note, closures=closures)(ours)


def _call_borrowed(plain: Any, *args: Any, **kwargs: Any) -> Any:
    return run_watched(partial(copy_of(plain), *args, **kwargs))


def _call_with_table(place: int, plain: Any, *args: Any, **kwargs: Any) -> Any:
    given = list(args)
    given[place : place + 1] = map(array, map(funcdiff.numpy.asarray, given[place : place + 1]))
    return _call_borrowed(plain, *given, **kwargs)


def borrow_classes(module: str, names: str, *, note: str = "") -> None:
    """Cover classes of SciPy's: theirs, with methods that take traced arrays.

    A function that returns an object of such a class is also given here: what it makes of plain
    arrays can then be called with traced ones.
    """
    for name in names.split():
        plain = getattr(load(module), name, None)
        if plain is not None:
            cover(module, name, copy_of(plain), note=note)


def cover_choice(module: str, name: str, chosen: str) -> None:
    """Let what chooses a class by the array library, if there is such, choose NumPy's."""
    if hasattr(load(module), name):
        cover(module, name, lambda _library: (copy_of(place(module, chosen)), funcdiff.numpy))


def method_of(
    module: str, owner: str, *, always: bool = False, fills: bool = False
) -> Callable[[F], F]:
    """Enter the decorated function as what a method of a borrowed class does with traced arrays.

    Where neither the object nor the arguments are traced, the method is SciPy's, unless it is to
    be `always` ours while something else is traced.  One that `fills` an array by compiled code is
    then not even borrowed, so that the array is NumPy's.
    """

    def enter(method: F) -> F:
        with requirements_of(module.partition("._")[0], owner.lstrip("_")):
            attach(method)
        return method

    def attach(method: F) -> None:
        theirs = place(module, owner)
        kind = copy_of(theirs)
        name = method.__name__
        place(theirs.__module__, f"{theirs.__name__}.{name}")
        plain = getattr(theirs if fills else kind, name)
        is_static = isinstance(vars(kind).get(name), staticmethod)

        @wraps(plain)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = [*args[0 if is_static else 1 :], *kwargs.values()]
            traced = always or holds_traced(given) or not (is_static or _is_plain(args[0]))
            is_ours = current_builder() is not None and traced
            return (method if is_ours else plain)(*args, **kwargs)

        setattr(kind, name, staticmethod(wrapper) if is_static else wrapper)

    return enter


def _is_plain(holder: Any) -> bool:
    """Return whether no attribute of an object is traced."""
    slots = {n for kind in type(holder).__mro__ for n in getattr(kind, "__slots__", ())}
    held = [*vars(holder).values(), *(getattr(holder, name, 0) for name in slots)]
    rest = [x for x in held if not isinstance(x, Holder)]
    return not holds_traced(rest) and all(_is_plain(x) for x in held if isinstance(x, Holder))
