"""Functions that rewritten code calls, so that no derivative is lost.

Each of these does with plain values what the expression does; of a traced array it gives the value
that keeps the derivative.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import choice, is_known_to_hold
from funcdiff.adapting.subclasses import as_subclass, traced_like
from funcdiff.api.calls.repeated import CLOSED
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.scope import innermost
from funcdiff.core.tracer import Tracer
from funcdiff.errors import LostDerivativeError, user_location
from funcdiff.numpy.border.promotion import array, as_number
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import asarray, full_like
from funcdiff.ops.elementwise.complex import join
from funcdiff.ops.structure.structural import stop_gradient


def convert(kind: Any, x: Any, *rest: Any) -> Any:
    """Return ``kind(x)``, where `kind` is a type of numbers, or `type` itself.

    A traced array stays traced as ``float(x)``, ``complex(x, y)`` and ``np.float64(x)``;
    ``int(x)``, which has no derivative, is the integer.
    """
    if rest:
        is_complex = kind is complex and is_traced([x, *rest])
        return _complex_number(x, *rest) if is_complex else kind(x, *rest)
    if isinstance(x, Tracer):
        return _convert_traced(kind, x)
    if kind is float and isinstance(own := getattr(type(x), "__float__", None), FunctionType):
        found = own(x) if current_builder() else x
        return _convert_traced(float, found) if isinstance(found, Tracer) else float(found)
    if isinstance(x, list | tuple) and _is_of_arrays(kind) and is_traced(x):
        return asarray(x, kind)
    if isinstance(x, str) and x.lstrip().startswith("~") and current_builder() and kind is not type:
        raise LostDerivativeError(
            f"{x!r}, the text of a traced number, was read as a number at {user_location()}. The "
            "derivative ends there. Give the function a derivative with fd.primitive, or compute "
            "without the text."
        )
    return kind(x)


def _convert_traced(kind: Any, x: Any) -> Any:
    if kind is type:
        return x.__class__
    if kind is int:
        return _integer(stop_gradient(x))
    if kind is float or kind is complex:
        kind(np.zeros(x.shape))  # or NumPy's error, of more than one number
        if kind is float and x.dtype.kind == "c":
            raise TypeError(f"float() argument must be a string or a real number, not {x.dtype}")
        return as_number(x.reshape(()).astype(kind))
    return x.astype(kind) if _is_of_arrays(kind) else kind(x)


def _complex_number(x: Any, y: Any) -> Any:
    """Return ``complex(x, y)``, of infinite parts too, of which a product with 1j makes NaN."""
    parts: list[Any] = [asarray(part) for part in (x, y)]
    if any(part.dtype.kind == "c" for part in parts):
        return _convert_traced(complex, parts[0] + 1j * parts[1])
    return as_number(join(*(array(convert(float, part)) for part in parts)))


def _integer(x: Any) -> int:
    """Return ``int(x)`` of a traced number, or raise what Python raises, if the number is known."""
    if x.dtype.kind == "f" and not is_known_to_hold(lambda: np.abs(x) < 2.0**63):
        if is_known_to_hold(lambda: np.isnan(x)):
            raise ValueError("cannot convert float NaN to integer")
        if is_known_to_hold(lambda: np.isinf(x)):
            raise OverflowError("cannot convert float infinity to integer")
        if is_known_to_hold(lambda: np.abs(x) >= 2.0**63):
            raise OverflowError(
                f"int(x) of a traced number has 63 bits at most, at {user_location()}"
            )
    return int(x.astype(int))


def _is_of_arrays(kind: Any) -> bool:
    return isinstance(kind, type) and kind in _ARRAYS


def conversion(kind: Any) -> Callable[[Any], Any]:
    """Return a function that converts, for ``map(float, xs)``."""
    return lambda x, *rest: kind(x, *rest) if rest else convert(kind, x)


_ARRAYS: Final = frozenset(np.sctypeDict.values()) - {np.object_, np.str_, np.bytes_, np.void}


def method(function: Any, *args: Any, **keywords: Any) -> Any:
    """Call a function, or a method; that of a plain array takes traced arguments, too.

    So do ufuncs and their methods lists of these.
    """
    if current_builder() is None:
        return function(*args, **keywords)
    x, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(function, np.ufunc) or isinstance(x, np.ufunc):
        given = [asarray(a) if type(a) in (list, tuple) and is_traced(a) else a for a in args]
        return function(*given, **keywords)
    if name == "__array__" and isinstance(x, Tracer):
        return asarray(x, *args, **keywords)
    is_numpys = isinstance(x, np.ndarray) and isinstance(function, BuiltinMethodType)
    if is_numpys and any(map(is_traced, (*args, *keywords.values()))):
        return getattr(traced_like(x), name)(*args, **keywords)
    return function(*args, **keywords)


def view(x: Any, *args: Any, **keywords: Any) -> Any:
    """Return ``x.view(kind)``; of a traced array one of the same class, with its attributes."""
    if not isinstance(x, Tracer) or keywords or len(args) != 1:
        return x.view(*args, **keywords)
    given: Any = x
    (kind,) = args
    if isinstance(kind, type) and issubclass(kind, np.ndarray):
        return given[...] if kind is np.ndarray else as_subclass(given, kind)
    return given.view(kind)


def new(make: Any, *args: Any, **keywords: Any) -> Any:
    """Return ``make(kind, shape, dtype, buffer)``, where `make` may be ``super().__new__``.

    That of a class derived from `float` is ``make(kind, x)``.
    """
    parent = getattr(make, "__self__", None)
    if parent not in (float, np.ndarray) or not is_traced([*args, *keywords.values()]):
        return make(*args, **keywords)

    def of_traced(kind: Any, shape: Any, dtype: Any = float, buffer: Any = None) -> Any:
        return as_subclass(asarray(buffer, dtype).reshape(shape), kind)

    def of_number(kind: Any, x: Any) -> Any:
        return as_subclass(convert(float, x), kind)

    return (of_number if parent is float else of_traced)(*args, **keywords)


def change(name: str, x: Any, y: Any) -> Any:
    """Return what ``x /= y`` leaves in `x`: of a plain array and a traced `y` another array.

    That is right where nothing but the variable knows the plain array, so that nobody could tell
    the difference; elsewhere NumPy is asked, and the error says what to write.
    """
    if is_plain(x) and is_traced(y) and sys.getrefcount(x) <= _ALONE:
        return _IN_PLACE[name](buffer(x), y)
    return _IN_PLACE[name](x, y)


def put(y: Any, x: Any, index: Any) -> Any:
    """Return what ``x[index] = y`` leaves in `x`, which is another array as it is for `change`."""
    if is_plain(x) and is_traced(y) and sys.getrefcount(x) <= _ALONE:
        x = buffer(x)
    x[index] = y
    return x


def put_change(name: str, x: Any, index: Any, old: Any, y: Any) -> Any:
    """Return what ``x[index] += y`` leaves in `x`, which is another array as it is for `change`.

    `old` is ``x[index]`` before `y` was computed.
    """
    if type(x) is np.ndarray and is_traced(y):
        is_view = isinstance(old, np.ndarray) and old.base is (x if x.base is None else x.base)
        if is_plain(x, is_view) and sys.getrefcount(x) - (is_view and x.base is None) <= _ALONE:
            x = buffer(x)
            old = x[index] if is_view else old
    x[index] = _IN_PLACE[name](old, y)
    return x


def is_plain(x: Any, views: int = 0) -> bool:
    """Return whether that is an array of NumPy's own, which may be written to its own memory.

    So may one that looks into an array that nothing else knows, as ``np.linspace(0, 1, 5)`` does,
    but for some `views` that are counted.
    """
    if type(x) is not np.ndarray or not x.flags.writeable:
        return False
    return x.base is None or (
        type(x.base) is np.ndarray
        and x.base.base is None
        and _references_to_base(x) - views <= _ONE_VIEW
    )


def _references_to_base(x: Any) -> int:
    return sys.getrefcount(x.base)


def buffer(x: Any) -> Any:
    """Return a traced array of the values of a plain one, which takes traced values."""
    found = full_like(x, 0)
    found[...] = x
    return found


_IN_PLACE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(operator, name)
    for name in ["iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod", "imatmul"]
}


def _references_of_one_variable() -> int:
    """Return how many references `change` counts where only a variable has the array.

    Some versions of Python lend a reference to a call where they can prove that they may: the
    least count is the one that no second reference can hide in.
    """
    counts = []

    def count(_name: str, x: Any, _y: Any) -> Any:
        counts.append(sys.getrefcount(x))
        return x

    x = np.zeros(1)
    count("iadd", x, 1.0)
    x = count("iadd", x, 1.0)
    return min(counts)


_ALONE: Final = _references_of_one_variable()

_ONE_VIEW: Final = min(_references_to_base(np.zeros(1)[:]) for _ in range(2))

RUNTIME: Final[dict[str, Any]] = {
    "__funcdiff_slice__": slice,
    "__funcdiff_trace__": innermost.get,
} | {
    f"__funcdiff_{function.__name__}__": function
    for function in (convert, conversion, method, view, new, change, put, put_change, choice)
}
"""Names by which rewritten code calls these."""
CLOSED.update(RUNTIME.values())
