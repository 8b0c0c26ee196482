"""Does each NumPy call of a test once more with traced arrays, and notes what differs.

The test itself sees NumPy's own results only.
"""

from __future__ import annotations

import json
import operator
import os
import types
import warnings
from collections import Counter
from typing import Any, Final

import numpy as np

from funcdiff.core.scope import without_recording
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.errors import FuncdiffError, UnsupportedNumPyError
from tests.numpy_suite.tracing import (
    TRACED,
    WAY,
    WAYS,
    each_once,
    is_traced,
    leaves_of,
    listed,
    mapped,
)

_BINARY: Final = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv",
    "Mod": "mod", "Pow": "pow", "MatMult": "matmul", "BitAnd": "and_", "BitOr": "or_",
    "BitXor": "xor", "LShift": "lshift", "RShift": "rshift", "Eq": "eq", "NotEq": "ne",
    "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge",
}  # fmt: skip
_UNARY: Final = {"USub": "neg", "UAdd": "pos", "Invert": "invert"}
_LARGEST: Final = 20_000
_OFTEN: Final = 25
"""Calls of one function in one test, whatever its parameters, that are repeated."""
_EXCLUDED: Final = frozenset(("empty_like", "seterr"))

_counts: Counter[tuple[str, str]] = Counter()


# ---- what rewritten tests call -------------------------------------------------------------------


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(function, type) or not _is_numpys(function):
        return function(*args, **kwargs)
    return _observed(_name(function), function, args, kwargs)


def method(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    if is_traced(owner) and not name.startswith("__"):

        def function(x: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(x, name)(*args, **kwargs)

        return _observed(f"ndarray.{name}", function, (owner, *args), kwargs)
    return call(getattr(owner, name), *args, **kwargs)


def part(owner: Any, name: str) -> Any:
    if not is_traced(owner):
        return getattr(owner, name)
    return _observed(f"ndarray.{name}", lambda x: getattr(x, name), (owner,), {})


def binary(op: str, left: Any, right: Any) -> Any:
    return _operation(getattr(operator, _BINARY[op]), left, right)


def unary(op: str, operand: Any) -> Any:
    return _operation(getattr(operator, _UNARY[op]), operand)


def item(owner: Any, index: Any) -> Any:
    return _operation(operator.getitem, owner, index)


def set_item(owner: Any, index: Any, value: Any) -> None:
    if type(owner) is np.ndarray:
        _observed("setitem", operator.setitem, (owner, index, value), {})
    else:
        owner[index] = value


def augmented(op: str, owner: Any, value: Any) -> Any:
    return _operation(getattr(operator, "i" + _BINARY[op].rstrip("_")), owner, value)


def augmented_item(op: str, owner: Any, index: Any, value: Any) -> None:
    change = getattr(operator, "i" + _BINARY[op].rstrip("_"))

    def function(owner: Any, index: Any, value: Any) -> None:
        owner[index] = change(owner[index], value)

    if type(owner) is np.ndarray:
        _observed(f"setitem {change.__name__}", function, (owner, index, value), {})
    else:
        function(owner, index, value)


def _operation(function: Any, *operands: Any) -> Any:
    if any(map(is_traced, operands[:2])):
        return _observed(function.__name__, function, operands, {})
    return function(*operands)


# ---- which calls, and with what ------------------------------------------------------------------


def _is_numpys(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    if isinstance(function, np.ufunc) or isinstance(owner, np.ufunc):
        return True
    return hasattr(function, "_implementation") and function.__name__ not in _EXCLUDED


def _name(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{owner.__name__}.{function.__name__}"
    return str(function.__name__)


def _is_suitable(leaves: list[Any]) -> bool:
    """Whether arrays could as well be traced: numbers, in memory of their own."""
    arrays: list[Any] = list({id(x): x for x in leaves if isinstance(x, TRACED)}.values())
    others = [x for x in leaves if not isinstance(x, TRACED)]
    if not arrays or any(isinstance(x, types.GeneratorType | np.flatiter) for x in others):
        return False
    if any(hasattr(x, "__array_ufunc__") and not isinstance(x, np.generic) for x in others):
        return False
    if any(x.dtype not in DTYPE_NAMES for x in arrays):
        return False
    arrays = [x for x in arrays if isinstance(x, np.ndarray)]
    plain = all(type(x) is np.ndarray for x in arrays)
    return plain and all(map(_is_usual, arrays)) and not _overlap(arrays)


def _is_usual(x: np.ndarray[Any, Any]) -> bool:
    """Whether an array is small and has each element at a place of its own."""
    first, behind = np.lib.array_utils.byte_bounds(x)
    own = not x.size or behind - first >= x.nbytes
    return own and x.dtype.isnative and x.size <= _LARGEST and x.flags.writeable


def _overlap(arrays: list[np.ndarray[Any, Any]]) -> bool:
    return any(
        np.may_share_memory(x, y) for k, x in enumerate(arrays[:8]) for y in arrays[k + 1 : 8]
    )


def _observed(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0].split("[")[0]
    leaves = leaves_of([args, kwargs])
    wanted = test and _is_suitable(leaves) and _counts[test, name] < _OFTEN
    if not wanted:
        return function(*args, **kwargs)
    _counts[test, name] += 1
    given = mapped(each_once(_kept), [list(args), kwargs])
    try:
        expected = function(*args, **kwargs)
    except Exception as error:
        _note(name, test, function, given, error, None)
        raise
    _note(name, test, function, given, expected, [args, kwargs])
    return expected


def _kept(x: Any) -> Any:
    """Return an array as it is now, laid out alike."""
    return x.copy(order="K") if isinstance(x, np.ndarray) else x


# ---- once more, and what differs -----------------------------------------------------------------


def _note(name: str, test: str, function: Any, given: Any, expected: Any, after: Any) -> None:
    if isinstance(expected, FloatingPointError):  # asked for by np.errstate
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"), without_recording():
        warnings.simplefilter("ignore")
        try:
            found, left = WAYS[WAY](function, given)
        except Exception as error:
            found, left = error, None
        kind, detail = classified(listed(expected), found)
        if kind == "right" and after is not None:
            kind, detail = classified(listed(mapped(lambda x: x, after)), listed(left))
            kind = kind if kind in ("right", "rounding") else f"argument: {kind}"
    path = os.environ.get("NUMPY_SUITE_RECORD")
    if path:
        text = "" if kind == "right" else f"{shown(given)} -> {detail}"
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps([kind, name, test, text]) + "\n")


def shown(given: Any) -> str:
    """Return arguments as a text."""

    def text(x: Any) -> Any:
        if type(x) is np.ndarray:
            values = np.array2string(x, threshold=8).replace("\n", "") if x.size <= 8 else "..."
            return f"{x.dtype}{list(x.shape)}{values}"
        return repr(x)[:60]

    return str(mapped(text, given))[:400]


def classified(expected: Any, found: Any) -> tuple[str, str]:
    """Return how an outcome with traced arrays compares with NumPy's, and a few words."""
    if isinstance(found, UnsupportedNumPyError):
        return "refused", str(found)[:120]
    if isinstance(found, FuncdiffError):
        if isinstance(expected, Exception):
            return "right", ""
        return f"refused: {type(found).__name__}", str(found)[:160]
    if isinstance(expected, Exception) and isinstance(found, Exception):
        if isinstance(found, type(expected)) or isinstance(expected, type(found)):
            return "right", ""
        return "other error", f"{expected!r:.150} but {found!r:.200}"
    if isinstance(found, Exception):
        return "error", f"{found!r:.250}"
    if isinstance(expected, Exception):
        return "accepted", f"{expected!r:.200}"
    return compared(expected, found)


def compared(expected: Any, found: Any) -> tuple[str, str]:
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return "structure", f"{type(found)} for a sequence of {len(expected)}"
        kinds = [compared(x, y) for x, y in zip(expected, found, strict=True)]
        return max(kinds, key=lambda k: _ORDER.index(k[0]), default=("right", ""))
    if isinstance(expected, dict):
        return compared(list(expected.values()), list(found.values()))
    if not isinstance(expected, np.ndarray | np.generic | int | float | complex):
        return "right", ""  # a dtype, None, a text, an iterator
    x, y = np.asarray(expected), np.asarray(found)
    if x.dtype not in DTYPE_NAMES:
        return "right", ""
    if x.shape != y.shape:
        return "shape", f"{y.shape} for {x.shape}"
    if x.dtype != y.dtype:
        return "dtype", f"{y.dtype} for {x.dtype}"
    if np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
        if (
            x.dtype.kind in "fc"
            and not (
                np.array_equal(np.signbit(x.real), np.signbit(y.real))
                and np.array_equal(np.signbit(x.imag), np.signbit(y.imag))
            )
            and not np.isnan(x).any()
        ):
            return "sign of zero", f"{y!r:.100} for {x!r:.100}"
        return "right", ""
    if x.dtype.kind in "fc":
        eps = np.finfo(x.dtype).eps
        scale = np.max(np.abs(x[np.isfinite(x)]), initial=0)
        if np.allclose(x, y, rtol=200 * eps, atol=200 * eps * float(scale), equal_nan=True):
            return "rounding", f"{y!r:.150} for {x!r:.150}"
        if np.allclose(x, y, rtol=eps**0.5, atol=eps**0.5 * float(scale), equal_nan=True):
            return "digits", f"{y!r:.150} for {x!r:.150}"
    return "value", f"{y!r:.200} for {x!r:.200}"


_ORDER: Final = (
    "right", "rounding", "digits", "sign of zero", "structure", "dtype", "shape", "value",
)  # fmt: skip
