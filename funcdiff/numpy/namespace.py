"""The public namespace: every NumPy name that is covered, under its own name.

``funcdiff.numpy.sin`` is ``numpy.sin``.  A function that is more than a ufunc also takes what
NumPy does not hand over by itself: lists of traced numbers, traced indices.  What NumPy cannot
dispatch at all (`array`, `full`, `arange`, ...) is ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np

from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border import dispatch
from funcdiff.numpy.creation.concatenator import c_, r_
from funcdiff.numpy.creation.construction import (
    FILLED,
    arange,
    array,
    asarray,
    ascontiguousarray,
    fromiter,
    full,
    full_like,
    is_traced,
    without_like,
)
from funcdiff.numpy.messages.refusals import untouched
from funcdiff.ops.families import by_ufunc

_OURS: Final[dict[str, Any]] = {
    "arange": arange,
    "array": array,
    "asanyarray": asarray,
    "asarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    **FILLED,
    "c_": c_,
    "fromiter": fromiter,
    "full": full,
    "full_like": full_like,
    "r_": r_,
}
"""What NumPy cannot dispatch, and we can do."""

_MODULES: Final = frozenset({"exceptions", "random"})
"""Modules of functions that take nothing to differentiate: NumPy's own."""

_OF_SEQUENCES: Final = frozenset(
    {
        "choose", "column_stack", "concat", "concatenate", "dstack", "hstack", "ix_",
        "lexsort", "multi_dot", "piecewise", "select", "stack", "vstack",
    }
)  # fmt: skip
"""Functions of a list of arrays, which must not be joined to one array."""


_OF_VECTORS: Final = frozenset({"histogram2d", "histogramdd"})
"""Functions of lists of arrays, which must not be joined, and of lists of numbers."""


class UncoveredNameError(UnsupportedNumPyError, AttributeError):
    """A name of NumPy's was asked of `funcdiff.numpy` that it does not have."""


class Namespace:
    """The covered names of a NumPy module.

    Parameters
    ----------
    module
        ``numpy`` itself, ``numpy.linalg``, ``numpy.fft`` or ``numpy.lib.stride_tricks``.
    ours
        What stands for names that NumPy cannot dispatch.
    """

    def __init__(self, module: ModuleType, ours: dict[str, Any]) -> None:
        self._module = module
        self._found = dict(ours)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._found.get(name)
        if found is None and not self._covers(name):
            raise self._uncovered(name)
        if found is None:
            plain = getattr(self._module, name)
            found = plain
            if _is_dispatched(plain) and plain is not np.block:  # which takes nested lists anyway
                found = _accepting_lists(plain)
            self._found[name] = found
        return found

    def __dir__(self) -> list[str]:
        names = [*self._found, *filter(self._covers, dir(self._module))]
        return sorted(set(names))

    def _covers(self, name: str) -> bool:
        value = getattr(self._module, name, self)
        if value is self or name.startswith("_") or name in ("matrix", "recarray", "chararray"):
            return False
        if isinstance(value, np.ufunc):
            return value in by_ufunc or value in dispatch.ufuncs
        if f"{self._module.__name__}.{name}".removeprefix("numpy.") in untouched:
            return True
        if isinstance(value, type):
            return issubclass(value, np.generic | bool | Exception)
        if isinstance(value, float) or name in _MODULES:
            return True
        return value is None or _is_dispatched(value)

    def _uncovered(self, name: str) -> Exception:
        near = difflib.get_close_matches(name, dir(self), n=3, cutoff=0.6)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        module = self._module.__name__
        if not hasattr(self._module, name):
            return AttributeError(
                f"{module} has no attribute {name!r}, nor has funcdiff.{module}.{hint}"
            )
        return UncoveredNameError(
            f"{module}.{name} is not covered by funcdiff, at {user_location()}.{hint} Use "
            f"{module}.{name} itself on values that need no derivative."
        )


def _is_dispatched(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and value in dispatch.functions


def _accepting_lists(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy function that also takes lists of traced numbers where it takes an array."""

    @wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        if not is_traced([*args, *kwargs.values()]):
            return plain(*args, **kwargs)
        keywords = {k: prepare(v) for k, v in without_like(kwargs).items()}
        return dispatch.call(plain, tuple(prepare(a) for a in args), keywords)

    prepare = _prepare
    if plain.__name__ in _OF_SEQUENCES:
        prepare = _prepare_sequence
    elif plain.__name__ in _OF_VECTORS:
        prepare = _prepare_vectors
    return function


def _prepare(value: Any) -> Any:
    """Return lists of traced numbers as arrays, anything else as it is."""
    return array(value) if isinstance(value, list | tuple) and is_traced(value) else value


def _prepare_sequence(value: Any) -> Any:
    return list(map(_prepare, value)) if isinstance(value, list | tuple) else value


def _prepare_vectors(value: Any) -> Any:
    several = isinstance(value, list | tuple) and any(map(np.ndim, value))
    return _prepare_sequence(value) if several else _prepare(value)


numpy: Final = Namespace(np, _OURS)
linalg: Final = Namespace(np.linalg, {})
fft: Final = Namespace(np.fft, {})
lib: Final = SimpleNamespace(stride_tricks=Namespace(np.lib.stride_tricks, {}))
