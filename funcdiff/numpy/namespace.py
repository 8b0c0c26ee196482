"""The public namespace: all of NumPy's names, and covered functions that also take lists.

``funcdiff.numpy.sin`` is ``numpy.sin``.  A function that is more than a ufunc also takes what
NumPy does not hand over by itself: lists of traced numbers, traced indices.  What NumPy cannot
dispatch at all (`array`, `full`, `arange`, ...) is ours.  Everything else is NumPy's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import numpy as np

from funcdiff.core.late import close_matches
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.numpy.border import calling, dispatch
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import (
    FILLED,
    arange,
    argsort,
    array,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    c_,
    eye,
    fftfreq,
    from_dlpack,
    fromiter,
    full,
    full_like,
    identity,
    join_traced,
    of_known_integers,
    r_,
    rfftfreq,
    sort,
    without_like,
)

OURS: Final[dict[str, Any]] = {
    "arange": arange,
    "argsort": argsort,
    "array": array,
    "asanyarray": asanyarray,
    "asarray": asarray,
    "asarray_chkfinite": asarray_chkfinite,
    "ascontiguousarray": ascontiguousarray,
    **FILLED,
    "c_": c_,
    "eye": eye,
    "from_dlpack": from_dlpack,
    "fromiter": fromiter,
    "full": full,
    "full_like": full_like,
    "identity": identity,
    "indices": of_known_integers(np.indices),
    "r_": r_,
    "sort": sort,
    "tri": of_known_integers(np.tri),
}
"""What NumPy cannot dispatch, or lacks keywords of the array API standard, and we can do."""

_PUBLIC: Final = ("__all__", "__version__", "__array_api_version__", "__array_namespace_info__")
"""Names with underscores that are passed through; others say what a module itself is."""

_OF_SEQUENCES: Final = frozenset(
    {
        "choose", "column_stack", "concat", "concatenate", "dstack", "hstack", "ix_",
        "lexsort", "multi_dot", "piecewise", "select", "stack", "vstack",
    }
)  # fmt: skip
"""Functions of a list of arrays, which must not be joined to one array."""


_OF_VECTORS: Final = frozenset({"histogram2d", "histogramdd"})
"""Functions of lists of arrays, which must not be joined, and of lists of numbers."""


class Namespace(ModuleType):
    """A module of NumPy's, whose covered functions take lists of traced numbers, too.

    Names are looked up when they are first asked for, and kept; `ours` are those that NumPy cannot
    dispatch.
    """

    def __init__(self, plain: str, ours: dict[str, Any] | None = None) -> None:
        super().__init__(f"funcdiff.{plain}", f"``{plain}``, for traced arrays and lists of them.")
        self._plain = plain
        self._ours = ours or {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _PUBLIC:
            raise AttributeError(name)
        module = import_module(self._plain)
        plain = getattr(module, name, self)
        if plain is self:
            raise self._missing(name)
        found = self._ours.get(name, plain)
        if _is_dispatched(found) and found is not np.block:  # which takes nested lists anyway
            found = _accepting.get(found) or _accepting.setdefault(found, _make_accepting(found))
        if name in vars(module):  # and not deprecated, which NumPy says each time
            setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        names = {*self._ours, *dir(import_module(self._plain))}
        return sorted(name for name in names if not name.startswith("_"))

    def _missing(self, name: str) -> AttributeError:
        near = close_matches(name, dir(self), n=3, cutoff=0.6)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        return AttributeError(
            f"{self._plain} has no attribute {name!r}, nor has {self.__name__}.{hint}"
        )


def _is_dispatched(value: Any) -> bool:
    is_function = callable(value) and not isinstance(value, type | np.ufunc)
    return is_function and dispatch.implementation(value) is not None


_accepting: Final[dict[Callable[..., Any], Callable[..., Any]]] = {}
"""Functions of NumPy's -> ours: one each, whichever thread asks first."""


def _make_accepting(plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current_builder() is None or not any(map(_is_traced, (*args, *kwargs.values()))):
            return plain(*args, **kwargs)
        if any(map(_is_of_subclass, args)):  # which answers by itself
            return plain(*args, **kwargs)
        keywords = {k: prepare(v) for k, v in without_like(kwargs).items()}
        return calling.call(plain, tuple(prepare(a) for a in args), keywords)

    function.__module__ = __name__  # where pickle finds it
    function.__qualname__ = f"{plain.__module__.rpartition('.')[2]}.{plain.__name__}"
    prepare = join_traced
    if plain.__name__ in _OF_SEQUENCES:
        prepare = _prepare_sequence
    elif plain.__name__ in _OF_VECTORS:
        prepare = _prepare_vectors
    return function


def _is_traced(value: Any) -> bool:
    return is_traced(value.coeffs if isinstance(value, np.poly1d) else value)


def _is_of_subclass(value: Any) -> bool:
    """Return whether a traced array stands for one of a class of somebody's, or a list has such."""
    if isinstance(value, list | tuple):
        return any(map(_is_of_subclass, value))
    array = Builder.array_handle
    return isinstance(value, array) and type(value) is not array


def _prepare_sequence(value: Any) -> Any:
    return list(map(join_traced, value)) if isinstance(value, list | tuple) else value


def _prepare_vectors(value: Any) -> Any:
    several = isinstance(value, list | tuple) and any(map(np.ndim, value))
    return _prepare_sequence(value) if several else join_traced(value)


fft: Final = Namespace("numpy.fft", {"fftfreq": fftfreq, "rfftfreq": rfftfreq})
linalg: Final = Namespace("numpy.linalg")
stride_tricks: Final = Namespace("numpy.lib.stride_tricks")
lib: Final = Namespace("numpy.lib", {"stride_tricks": stride_tricks})
numpy: Final = Namespace("numpy", {**OURS, "fft": fft, "lib": lib, "linalg": linalg})

_OTHERS: Final = (
    "ctypeslib", "dtypes", "exceptions", "ma", "polynomial", "polynomial.polynomial", "random",
    "testing", "typing",
)  # fmt: skip
"""Modules in which nothing is ours."""

for _module in (fft, lib, stride_tricks, *(Namespace(f"numpy.{name}") for name in _OTHERS)):
    sys.modules[_module.__name__] = _module  # for ``from funcdiff.numpy.random import ...``
