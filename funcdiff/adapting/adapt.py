"""`adapt`: code of packages and of your own, made to run on traced arrays."""

from __future__ import annotations

import io
import pickle
from dis import get_instructions
from functools import partial, update_wrapper
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from funcdiff.adapting.copies import (
    BUILTINS,
    NEVER,
    ask_for,
    copy_of,
    counterpart,
    is_copied,
    module_for,
    path_of,
)
from funcdiff.adapting.function_code import rewritten
from funcdiff.adapting.packages import is_of_copy
from funcdiff.adapting.rewriting import Rewriter
from funcdiff.api.calls.arguments import suggestion
from funcdiff.api.calls.repeated import TABLES
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, user_location

_OURS: Final = frozenset({"funcdiff", "numpy", "scipy"})
"""Packages whose functions take traced arrays, whatever they are given by."""

T = TypeVar("T")


@overload
def adapt(obj: str) -> Any: ...
@overload
def adapt(obj: T) -> T: ...
@public
def adapt(obj: Any) -> Any:
    """Return a function, class, module or package whose Python code runs on traced arrays.

    The package is imported a second time, beside the original: in that copy ``numpy``, ``scipy``
    and ``math`` are funcdiff's, and ``float(x)``, ``np.asarray(x, dtype=float)`` and the like keep
    derivatives.  The original stays as it is.  What the package imports in turn is copied, too, if
    it is Python code that computes with NumPy, SciPy or `math`.

    Parameters
    ----------
    obj
        A module, a class or a function of a package; or its name, as ``"pvlib.irradiance"``; or an
        object of such a class, or a method of it; or a function of your own that calls packages.

    Returns
    -------
    object
        The same thing in the copy.  With plain values it computes what the original does, to the
        bit; it raises the original's exceptions.  Of an object a copy as `pickle` makes it: it does
        not change when the original does.

    Raises
    ------
    ModuleNotFoundError
        If there is no module or nothing in it of that name.
    InputError
        If `obj` is compiled code, or an object that cannot be pickled.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from math import pi, pow
    >>> def area(r):
    ...     return pi * pow(float(r), 2)
    >>> print(fd.grad(fd.adapt(area))(1.0) == 2 * pi)
    True
    >>> polynomial = fd.adapt("numpy.polynomial")
    >>> print(fd.grad(lambda a: polynomial.Polynomial([a, 0.0, a])(2.0))(1.0))
    5.0
    """
    if isinstance(obj, str):
        return _by_name(obj)
    if isinstance(obj, ModuleType):
        return copy_of(obj.__name__)
    if isinstance(obj, partial):
        keywords = {name: _value(x) for name, x in obj.keywords.items()}
        return partial(adapt(obj.func), *map(_value, obj.args), **keywords)
    if isinstance(obj, np.ufunc) or is_of_copy(obj):  # which traced arrays answer by themselves
        return obj
    if path_of(obj) is not None and obj.__module__ != "__main__":
        package = obj.__module__.partition(".")[0]
        ask_for(package)
        return obj if package in _OURS else counterpart(obj)
    if isinstance(obj, FunctionType):  # of a script, or made by a function
        return _function(obj)
    if isinstance(obj, MethodType):
        return getattr(adapt(obj.__self__), obj.__name__)
    ask_for(str(type(obj).__module__).partition(".")[0])
    if counterpart(type(obj)) is not type(obj):
        return _object(obj)
    raise InputError(
        f"adapt was given {type(obj).__name__!r} at {user_location()}, which is no function, class "
        "or module of Python code, nor an object of such a class. Compiled code can be given a "
        "derivative with fd.primitive."
    )


class _Reader(pickle.Unpickler):
    """Reads an object with the copies of its classes and functions."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a name of a module stands for."""
        found = super().find_class(module, name)
        return counterpart(found) if is_copied(module) else found


def _object(plain: Any) -> Any:
    """Return a copy of an object, and of all that it refers to, of adapted classes."""
    try:
        return _Reader(io.BytesIO(pickle.dumps(plain))).load()
    except Exception as error:
        raise InputError(
            f"adapt was given an object of {type(plain).__name__!r} at {user_location()}, which "
            f"pickle cannot copy: {error}. Adapt the class, and make the object of that."
        ) from error


def _by_name(name: str) -> Any:
    """Return the module of a name, or what a module has under the rest of the name."""
    ask_for(name.partition(".")[0])
    module, rest = name, ""
    while True:
        try:
            found = module_for(module)
            break
        except ModuleNotFoundError as error:
            if "." not in module or not f"{module}.".startswith(f"{error.name}."):
                error.add_note(
                    f"funcdiff: adapt({name!r}) imports {error.name}, at {user_location()}. "
                    "Install it, or give the name that is imported, which may not be that of the "
                    "installation."
                )
                raise
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
    for part in rest.split(".") if rest else ():
        if not hasattr(found, part):
            meant = suggestion(part, dir(found), "Is it of another version?")
            raise ModuleNotFoundError(
                f"adapt: {module} has no {part!r}, at {user_location()}. {meant}", name=name
            )
        found = getattr(found, part)
    return found


# ---- functions of the user's, which call packages ------------------------------------------------


class _Scope(dict[str, Any]):
    """The global names of a function, as they are when they are used; packages are adapted."""

    def __init__(self, plain: dict[str, Any]) -> None:
        super().__init__(__builtins__=BUILTINS, __name__=plain.get("__name__", ""))
        self.plain = plain

    def __missing__(self, name: str) -> Any:
        return _value(self.plain[name])

    def get(self, name: str, default: Any = None) -> Any:
        """Return what code finds by a name, `default` if it finds nothing.

        What cannot be adapted is like nothing else: the code that asks for it says why.
        """
        try:
            return self[name]
        except KeyError:
            return default
        except Exception:
            return object()


TABLES.add(_Scope)

_functions: Final[WeakKeyDictionary[FunctionType, FunctionType]] = WeakKeyDictionary()
_scopes: Final[dict[int, _Scope]] = {}


def _value(plain: Any) -> Any:
    """Return what a name of the user's stands for in adapted code."""
    found = counterpart(plain)
    return _function(plain) if found is plain and _is_users(plain) else found


def _is_users(value: Any) -> bool:
    """Return whether that is a function of a script's, or one made by a function."""
    package = str(getattr(value, "__module__", "")).partition(".")[0]
    return isinstance(value, FunctionType) and (package == "__main__" or package not in NEVER)


def _function(plain: FunctionType) -> FunctionType:
    """Return a function of the same code, rewritten, for which packages are adapted."""
    if plain in _functions:
        return _functions[plain]
    names = plain.__globals__
    scope = _scopes.setdefault(id(names), _Scope(names))
    code = rewritten(plain, Rewriter)
    if _assigns_globals(code):
        raise InputError(
            f"adapt was given {plain.__qualname__} at {user_location()}, which assigns global "
            "names. Return the values, or put the function into a module and adapt that."
        )
    closure = tuple(map(_cell, plain.__closure__ or ()))
    found = FunctionType(code, scope, plain.__name__, closure=closure)
    update_wrapper(found, plain)
    del vars(found)["__wrapped__"]
    _functions[plain] = found  # before it is looked for again: functions may call each other
    for cell, own in zip(plain.__closure__ or (), closure, strict=True):
        if _is_empty(own) and not _is_empty(cell):
            own.cell_contents = _value(cell.cell_contents)
    found.__defaults__ = plain.__defaults__ and tuple(map(_value, plain.__defaults__))
    named = plain.__kwdefaults__
    found.__kwdefaults__ = named and {name: _value(x) for name, x in named.items()}
    return found


def _assigns_globals(code: CodeType) -> bool:
    """Return whether code, or that of a function within, assigns global names."""
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    stores = (op.opname == "STORE_GLOBAL" for op in get_instructions(code))
    return any(stores) or any(map(_assigns_globals, inner))


def _cell(cell: CellType) -> CellType:
    """Return a variable that is closed over: the same one, or one for what is adapted.

    For a function of the user's it is still empty.
    """
    if _is_empty(cell):
        return cell
    held = cell.cell_contents
    found = counterpart(held)
    if found is not held:
        return CellType(found)
    return CellType() if _is_users(held) else cell


def _is_empty(cell: CellType) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
