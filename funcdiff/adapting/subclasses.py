"""Traced arrays of classes that packages derive from `numpy.ndarray` or `float` in Python.

Such an object has the methods and attributes of the class, and the values of a traced array.  What
NumPy's functions, operators and methods make of it is of the class, too, where NumPy's result is:
NumPy is asked, with an array of the same shape and of a class without attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, update_wrapper
from types import CellType, FunctionType
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

import numpy as np

from funcdiff import pytree
from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border import deferring
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.memory.views import as_array, view
from funcdiff.numpy.traced.array import NDArray
from funcdiff.numpy.traced.python_numbers import Number

_NOT_COPIED: Final = frozenset(
    {"__array_finalize__", "__dict__", "__doc__", "__new__", "__weakref__"}
)
_PLAIN: Final = (float, np.ndarray, object)
_classes: Final[WeakKeyDictionary[type[Any], type[Any]]] = WeakKeyDictionary()


def as_subclass(x: Any, kind: type[Any], parent: Any = None) -> Any:
    """Return ``x.view(kind)`` of a traced array and a subclass of `numpy.ndarray`.

    Of one of `float` it is ``kind(x)``.
    """
    found = _class(kind)(x.builder, x.atom, x.type)
    if isinstance(x, NDArray):  # and not a number
        view(x, found, lambda base: base[...])
    finalize = getattr(kind, "__array_finalize__", None)
    if isinstance(finalize, FunctionType):
        finalize(found, x if parent is None else parent)
    return found


def traced_like(x: Any) -> Any:
    """Return a traced array of the class of an array, and with its attributes."""
    traced = array(np.asarray(x))
    return traced if type(x) is np.ndarray else as_subclass(traced, type(x), x)


@lru_cache(maxsize=256)
def _override(kind: type[Any]) -> Callable[..., Any] | None:
    """Return what is ``__array_ufunc__`` of arrays of a class where one meets a traced array.

    None unless it is derived from `numpy.ndarray`, and traced or with methods of adapted code.
    """
    if issubclass(kind, OfSubclass):
        return kind.__array_ufunc__
    if not issubclass(kind, np.ndarray):
        return None
    bases = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    members = [member for base in bases for member in vars(base).values()]
    methods: list[Any] = [member for member in members if isinstance(member, FunctionType)]
    return _meet if any("__funcdiff_trace__" in m.__builtins__ for m in methods) else None


deferring.derived.append(_override)


def _meet(_x: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    override: Callable[[Any], Any] = _override
    given = [traced_like(x) if override(type(x)) is _meet else x for x in inputs]
    if "out" in kwargs:  # what is written into a plain array is refused for what it is
        kwargs["out"] = tuple(x if is_traced(x) else np.asarray(x) for x in kwargs["out"])
    return getattr(ufunc, method)(*given, **kwargs)


def _class(kind: type[Any]) -> type[Any]:
    """Return the class of traced arrays that stand for arrays of a class."""
    if kind not in _classes:
        members: dict[str, Any] = {"_kind": kind, "_stands_for": kind, "_claimed": (kind,)}
        own = CellType()
        for base in [b for b in reversed(kind.__mro__) if b not in _PLAIN]:
            names = {k: v for k, v in vars(base).items() if k not in _NOT_COPIED}
            members |= {k: _member(v, own) for k, v in names.items()}
        metaclass: Any = type(NDArray)
        parents = (OfNumber if issubclass(kind, float) else OfSubclass,)
        _classes[kind] = own.cell_contents = metaclass(kind.__name__, parents, members)
    return _classes[kind]


def _member(member: Any, own: CellType) -> Any:
    """Return a method for which ``super()`` goes on to a traced array's."""
    if not isinstance(member, FunctionType) or "__class__" not in member.__code__.co_freevars:
        return member
    place = member.__code__.co_freevars.index("__class__")
    cells = list(member.__closure__ or ())
    cells[place] = own
    found = FunctionType(
        member.__code__, member.__globals__, member.__name__, member.__defaults__, tuple(cells)
    )
    found.__kwdefaults__ = member.__kwdefaults__
    return found


def _plain(value: Any) -> Any:
    """Return arguments in which arrays of subclasses are plain ones that share their memory."""
    leaves, structure = pytree.flatten(value)
    plain = [
        view(x, as_array(x), lambda base: base[...]) if isinstance(x, OfSubclass) else x
        for x in leaves
    ]
    return pytree.unflatten(structure, plain)


class _Probe(np.ndarray):
    """A class of arrays of which NumPy's results show whether they keep the class."""


@cache
def _probe(priority: float) -> type[_Probe]:
    """Return a class that comes before others as the class of such a priority does."""
    return type("Probe", (_Probe,), {"__array_priority__": priority})


def _stand_in(x: Any) -> Any:
    """Return an array without content like a traced one."""
    if not isinstance(x, Tracer):
        return x
    plain = np.ones(x.type.shape, x.type.dtype)
    if isinstance(x, OfSubclass):
        return plain.view(_probe(type(x)._kind.__array_priority__))
    return plain if isinstance(x, NDArray) else plain[()]


def _of_class(x: OfSubclass, call: Callable[..., Any], args: Any, keywords: Any, y: Any) -> Any:
    """Return a result of NumPy's functions, of the class of `x` if it is such for NumPy."""
    if not any(isinstance(leaf, Tracer) for leaf in pytree.flatten(y)[0]):
        return y
    leaves, structure = pytree.flatten((args, keywords))
    given, named = pytree.unflatten(structure, [_stand_in(leaf) for leaf in leaves])
    try:
        with np.errstate(all="ignore"):
            found = call(*given, **named)
    except Exception as error:
        raise UnsupportedNumPyError(
            f"an array of the class {type(x)._kind.__name__} met a function of NumPy's at "
            f"{user_location()} of which it is not known whether it keeps the class ({error}). "
            "Give it np.asarray(x)."
        ) from None
    return _like(x, found, y)


def _like(x: OfSubclass, found: Any, y: Any) -> Any:
    """Return a result, or each of several, of the class of `x` where what was found keeps it."""
    if isinstance(y, tuple | list):
        parts = [_like(x, f, part) for f, part in zip(found, y, strict=True)]
        return type(y)(parts) if type(y) in (tuple, list) else type(y)(*parts)
    keeps = isinstance(found, _Probe) and isinstance(y, Tracer) and not isinstance(y, OfSubclass)
    return as_subclass(y, type(x)._kind, x) if keeps else y


def _wrap(x: OfSubclass, y: Any) -> Any:
    """Return what the class makes of the result of a ufunc."""
    wrap = getattr(type(x)._kind, "__array_wrap__", None)
    is_own = isinstance(wrap, FunctionType) and isinstance(y, OfSubclass)
    return wrap(x, y, None, False) if is_own else y  # type: ignore[misc]


class OfSubclass(NDArray):
    """A traced array of a class that is derived from `numpy.ndarray`."""

    _kind: ClassVar[type[Any]] = np.ndarray

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return OfSubclass if deferring.asks_for_class() else type(self)._kind

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        given, named = _plain((inputs, kwargs))
        y = getattr(ufunc, method)(*given, **named)
        return _wrap(self, _of_class(self, getattr(ufunc, method), inputs, kwargs, y))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        given, named = _plain((args, kwargs))
        y = func(*given, **named)
        return _of_class(self, func, args, kwargs, y)


class OfNumber(Number):
    """A traced number of a class that is derived from `float`; what it gives are numbers."""

    _kind: ClassVar[type[Any]] = float

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return OfNumber if deferring.asks_for_class() else type(self)._kind


def _method(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    def on(x: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(x, name)(*args, **keywords)

    def method(self: OfSubclass, *args: Any, **keywords: Any) -> Any:
        given, named = _plain(((self, *args), keywords))
        y = theirs(*given, **named)
        found = y if y is NotImplemented else _of_class(self, on, (self, *args), keywords, y)
        return _wrap(self, found) if name in _OPERATORS else found

    return update_wrapper(method, theirs)


def _property(name: str, theirs: property) -> property:
    def get(self: OfSubclass) -> Any:
        return _of_class(self, lambda x: getattr(x, name), (self,), {}, theirs.fget(_plain(self)))  # type: ignore[misc]

    return property(get, theirs.fset)


_OPERATORS: Final = frozenset(
    f"__{side}{name}__"
    for name in "add and divmod floordiv matmul mod mul or pow sub truediv xor".split()  # noqa: SIM905
    for side in ("", "r")
) | {"__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__gt__", "__ge__",
     "__eq__", "__ne__"}  # fmt: skip
_NAMES: Final = (
    "all any argmax argmin argsort astype choose clip compress conj conjugate copy cumprod "
    "cumsum diagonal dot flatten max mean min nonzero prod ravel repeat reshape round searchsorted "
    "squeeze std sum swapaxes take trace transpose var __getitem__ __copy__ __deepcopy__"
)

for _name in _OPERATORS.union(_NAMES.split()):
    setattr(OfSubclass, _name, _method(_name, getattr(NDArray, _name)))
for _name in ("T", "imag", "mT", "real"):
    setattr(OfSubclass, _name, _property(_name, getattr(NDArray, _name)))
OfSubclass.__hash__ = NDArray.__hash__  # type: ignore[method-assign]
