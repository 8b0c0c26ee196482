"""Keys of static values: equal keys mean values that compute the same.

Python's ``==`` takes 1 for 1.0 and for True, 0.0 for -0.0, and a nan for nothing, not even for
another nan.  What is remembered for one of them must not be handed out for another.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import struct
from collections.abc import Callable, Hashable, Iterable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

# ---- Bit patterns of numbers, which tell nans, zeros and the digits of a longdouble apart --------


_LONGDOUBLE_BYTES: Final = (
    10 if np.finfo(np.longdouble).nmant == 63 else np.dtype(np.longdouble).itemsize
)
"""How many bytes of a longdouble mean something: x87 numbers are padded."""


def scalar_bits(value: Any) -> bytes:
    """Return the bytes of a NumPy scalar without padding."""
    if isinstance(value, np.clongdouble):
        return scalar_bits(value.real) + scalar_bits(value.imag)
    raw: bytes = value.tobytes()
    return raw[:_LONGDOUBLE_BYTES] if isinstance(value, np.longdouble) else raw


def scalar_of_bits(bits: bytes, dtype: np.dtype[Any]) -> Any:
    """Return the floating scalar that has these bytes: what ``nan<…>`` stands for.

    Raises `ValueError` if there are too many bytes or too few.
    """
    size = _LONGDOUBLE_BYTES if dtype.type is np.longdouble else dtype.itemsize
    if len(bits) != size:
        raise ValueError(f"{dtype} has {size} bytes, not {len(bits)}")
    return np.frombuffer(bits.ljust(dtype.itemsize, b"\0"), dtype)[0]


def static_key(value: Any) -> Hashable:
    """Return a key that two static values share if nothing tells them apart.

    Numbers are compared by type and bits, tuples, named tuples, frozen sets, dataclasses, attrs
    classes and `functools.partial` by their parts, functions by identity.  An object of another
    class is as equal as its own ``==`` says, but attributes that are equal must have equal types,
    too; those that ``==`` ignores may differ.  A value that is not hashable raises `TypeError`.

    The key is a tuple with the type in front, or the value itself where ``==`` is exact.

    >>> static_key(1) == static_key(1.0), static_key((0.0,)) == static_key((-0.0,))
    (False, False)
    >>> static_key(float("nan")) == static_key(float("nan"))
    True
    """
    if type(value) not in _EXACT:
        hash(value)  # raises for what is mutable, whatever its parts are
    return _key(value, _Object)


def _key(value: Any, other: Callable[[Any], Hashable]) -> Hashable:
    """Return the key of a value; `other` makes that of an object with an equality of its own."""
    cls = type(value)
    if cls in _EXACT:
        return value  # type: ignore[no-any-return]
    if cls is tuple or cls is list:  # most often of the keys of a dict
        return (cls, *[item if type(item) is str else _key(item, other) for item in value])
    rule = _RULES.get(cls)
    if rule is not None:
        return cls, rule(value)
    if cls is dict:
        return cls, *[(_key(k, other), _key(x, other)) for k, x in value.items()]
    if cls is set or cls is frozenset:
        return cls, frozenset([_key(item, other) for item in value])
    if cls.__module__ == "numpy" and isinstance(value, np.generic) and value.dtype.kind != "O":
        return cls, value.dtype, scalar_bits(value)
    try:
        parts = _parts(value)
        if parts is not None:
            return (cls, *[_key(part, other) for part in parts])
    except (TypeError, RecursionError):  # a part is an array, say, which the class does not mind
        pass
    hash(value)
    return other(value)


def _moment(x: date | time) -> Hashable:
    """Return what tells points in time apart: the same one may be told in two zones."""
    zone = getattr(x, "tzinfo", None)
    return repr(x if zone is None else x.replace(tzinfo=None)), static_key(zone)  # type: ignore[call-arg]


_EXACT: Final = frozenset(
    {str, type(None), type, FunctionType, BuiltinFunctionType, np.ufunc, type(...)}
)
"""Types whose ``==`` tells all their values apart, and from those of other types."""

_RULES: Final[dict[type, Callable[[Any], Hashable]]] = {
    bool: lambda x: x,
    int: lambda x: x,
    bytes: lambda x: x,
    float: lambda x: struct.pack("d", x),
    complex: lambda x: struct.pack("dd", x.real, x.imag),
    range: lambda x: (x.start, x.stop, x.step),
    Decimal: lambda x: x.as_tuple(),
    **dict.fromkeys((date, datetime, time, timedelta, timezone), _moment),
}
"""What is compared of values of a type, beside the type."""


def _parts(value: Any) -> Iterable[Any] | None:
    """Return what makes up a value whose class compares part by part; None for any other."""
    cls = type(value)
    for base, content in _CONTENTS:
        if isinstance(value, base) and cls.__eq__ is base.__eq__:
            return (content(value),)
    if cls is functools.partial:
        return value.func, value.args, value.keywords, value.__dict__
    if cls is MethodType:  # of another object with the same parts, not of one that is "equal"
        owner = static_key(value.__self__)
        return None if isinstance(owner, _Object) else (value.__func__, value.__self__)
    if isinstance(value, enum.Enum) or not _is_generated(cls.__eq__):
        return None
    if dataclasses.is_dataclass(value):
        return [getattr(value, f.name) for f in dataclasses.fields(value) if f.compare]
    fields = getattr(cls, "__attrs_attrs__", ())
    if not fields or any(f.eq_key is not None for f in fields):
        return None
    return [getattr(value, f.name) for f in fields if f.eq]


def _is_generated(method: Any) -> bool:
    """Whether a method was written by dataclasses or attrs, and so compares field by field."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_filename.startswith(("<string>", "<attrs generated"))


class _Object:
    """A value of a class with an equality of its own."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Object):
            return NotImplemented
        a, b = self._value, other._value
        return a is b or (type(a) is type(b) and bool(a == b) and _is_alike(a, b))


def _is_alike(a: Any, b: Any) -> bool:
    """Whether attributes of two equal objects that are equal have equal types, too."""
    inner, others = _state(a), _state(b)
    for word in inner.keys() & others.keys():
        x, y = inner[word], others[word]
        try:
            # one level deep, or objects that refer to each other would be compared for ever
            if x is not y and _key(x, _shallow) != _key(y, _shallow) and x == y:
                return False
        except Exception:  # an array, say: then the object knows better
            continue
    return True


_CONTENTS: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (float, float.__pos__),
    (complex, complex.__pos__),
    (tuple, lambda x: tuple(tuple.__iter__(x))),
    (frozenset, lambda x: frozenset(frozenset.__iter__(x))),
    (np.generic, scalar_bits),
)
"""What tells instances of a class apart that is derived from one of these."""


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, and under an empty name what it is as a number."""
    found = dict(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for word in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, word):
                found[word] = getattr(value, word)
    contents = (content(value) for base, content in _CONTENTS if isinstance(value, base))
    return {"": next(contents, None), **found}


def _shallow(value: Any) -> Hashable:
    return type(value), value
