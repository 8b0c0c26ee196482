"""What rewritten code calls in place of expressions that would lose a derivative.

Each of these does with plain values what the expression does; of a traced array it gives the value
that keeps the derivative.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import array, as_number
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import asarray
from funcdiff.ops.structure.structural import stop_gradient


def converted(kind: Any, x: Any) -> Any:
    """Return ``kind(x)``, where `kind` is a type of numbers, or `type` itself.

    A traced array stays traced as ``float(x)``, ``complex(x)`` and ``np.float64(x)``; ``int(x)``,
    which has no derivative, is the integer.
    """
    if isinstance(x, Tracer):
        return _converted(kind, x)
    if isinstance(x, list | tuple) and _is_of_arrays(kind) and is_traced(x):
        return asarray(x, kind)
    return kind(x)


def _converted(kind: Any, x: Any) -> Any:
    if kind is type:
        return x.__class__
    if kind is int:
        known: Any = stop_gradient(x)
        return int(known.astype(int))
    if kind is float or kind is complex:
        kind(np.zeros(x.shape))  # or NumPy's error, of more than one number
        if kind is float and x.dtype.kind == "c":
            raise TypeError(f"float() argument must be a string or a real number, not {x.dtype}")
        return as_number(x.reshape(()).astype(kind))
    return x.astype(kind) if _is_of_arrays(kind) else kind(x)


def _is_of_arrays(kind: Any) -> bool:
    return isinstance(kind, type) and kind in _ARRAYS


def conversion(kind: Any) -> Callable[[Any], Any]:
    """Return a function that converts, for ``map(float, xs)``."""
    return lambda x: converted(kind, x)


_ARRAYS: Final = frozenset(np.sctypeDict.values()) - {np.object_, np.str_, np.bytes_, np.void}


def method(x: Any, name: str, *args: Any, **keywords: Any) -> Any:
    """Return what a method gives, also one of a plain array that has a traced argument."""
    joins = type(x) is np.ndarray and any(map(is_traced, args))
    return getattr(array(x) if joins else x, name)(*args, **keywords)


def view(x: Any, *args: Any, **keywords: Any) -> Any:
    """Return ``x.view(kind)``; of a traced array one of the same class, with its attributes."""
    if not isinstance(x, Tracer) or keywords or len(args) != 1:
        return x.view(*args, **keywords)
    given: Any = x
    (kind,) = args
    return given if kind is np.ndarray else given.view(kind)


def change(name: str, x: Any, y: Any) -> Any:
    """Return what ``x /= y`` leaves in `x`: of a plain array and a traced `y` another array.

    That is right where nothing but the variable knows the plain array, so that nobody could tell
    the difference; elsewhere NumPy is asked, and the error says what to write.
    """
    is_mixed = type(x) is np.ndarray and isinstance(y, Tracer)
    if is_mixed and x.base is None and sys.getrefcount(x) <= _ALONE:
        found = getattr(operator, name[1:])(array(x), y)
        return found if found.dtype == x.dtype else found.astype(x.dtype)
    return _IN_PLACE[name](x, y)


_IN_PLACE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(operator, name)
    for name in ["iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod", "imatmul"]
}


def _references_of_one_variable() -> int:
    """Return how many references `change` counts where only a variable has the array."""
    counts = []

    def count(_name: str, x: Any, _y: Any) -> Any:
        counts.append(sys.getrefcount(x))
        return x

    x = np.zeros(1)
    x = count("iadd", x, 1.0)
    return counts[0]


# Python 3.14 lends references to calls, or does not, as it proves that it may.
_ALONE: Final = _references_of_one_variable() if sys.version_info < (3, 14) else 0

QUESTIONS: Final[dict[str, Callable[..., Any]]] = {
    f"__funcdiff_{function.__name__}__": function
    for function in (converted, conversion, method, view, change)
}
"""Names by which rewritten code calls these."""
