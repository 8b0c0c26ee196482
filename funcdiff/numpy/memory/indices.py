"""Normalizes indices to a canonical form, the one place that looks at types of indices.

NumPy asks an item of an index, in this order, whether it is None, ``...`` or a slice; whether it
has an ``__index__``; and else for an array of it, whatever it is: a list, a tuple inside a tuple,
a range, a deque, a pandas Series.  Only that array's dtype decides.
"""

from __future__ import annotations

from operator import index as as_int
from types import EllipsisType
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT
from funcdiff.errors import user_location
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.memory import from_values
from funcdiff.ops.structure.structural import convert

Arrays: TypeAlias = "np.ndarray[Any, Any] | Tracer"
Item: TypeAlias = "int | slice | EllipsisType | Arrays | None"
Items: TypeAlias = tuple[Item, ...]
"""A normalised index: its slices hold ints, its arrays are booleans, or integers as `intp` unless
they are traced.  An array without axes is one of `Arrays`, too."""

_INVALID: Final = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)

_ARRAYS: Final = "arrays used as indices must be of integer (or boolean) type"


def normalize(index: Any) -> Items:
    """Return an index, as it stands between brackets, as the items that NumPy makes of it.

    Raises `IndexError` if an item is nothing that NumPy takes.
    """
    items = index if isinstance(index, tuple) else (index,)
    return tuple([item if type(item) is int else _item(item) for item in items])


def is_advanced(items: Items) -> bool:
    """Return whether a normalised index holds arrays, so that NumPy copies."""
    return any(isinstance(item, np.ndarray | Tracer) for item in items)


def is_mask(item: Item) -> TypeGuard[Arrays]:
    """Return whether an item of a normalised index is an array of booleans."""
    return isinstance(item, np.ndarray | Tracer) and item.dtype == BOOL


def _item(item: Any) -> Item:
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return slice(*map(_as_bound, (item.start, item.stop, item.step)))
    if isinstance(item, np.ndarray | Tracer):
        return _positions_or_mask(item, _ARRAYS, item.dtype)
    if not isinstance(item, bool | np.bool_):  # which are masks, and no integers
        try:
            return as_int(item)
        except TypeError:
            pass
    return _positions_or_mask(as_array(item), _INVALID, type(item).__name__)


def _as_bound(value: Any) -> int | None:
    try:
        return None if value is None else as_int(value)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method, not "
            f"{type(value).__name__}, at {user_location()}"
        ) from None


def as_array(value: Any) -> Arrays:
    """Return the array that NumPy makes of a value; without elements, it is one of integers.

    Lists and tuples may hold traced numbers.
    """
    if isinstance(value, np.ndarray | Tracer):
        return value
    try:
        found: Arrays = from_values.array(value) if is_traced(value) else np.asarray(value)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"{error}, at {user_location()}") from None
    if isinstance(found, np.ndarray) and not found.size:
        return found.astype(np.intp)
    return found


def positions(value: Any, casting: Any = "safe") -> Arrays:
    """Return positions as NumPy's functions (`take`, `put`, `repeat`) take them.

    It is not by an index's rules: booleans are 0 and 1, an array has to be of a dtype that can be
    cast (else `TypeError`), and of all else the elements are made integers, floats too.
    """
    if not isinstance(value, np.ndarray | Tracer):
        value = as_array(value) if is_traced(value) else np.asarray(value, np.intp)
    if not np.can_cast(value.dtype, np.intp, casting):
        raise TypeError(
            f"Cannot cast array data from {value.dtype!r} to {INT!r} according to the rule "
            f"{casting!r}, at {user_location()}"
        )
    return convert(value, INT) if isinstance(value, Tracer) else np.asarray(value, np.intp)


def _positions_or_mask(a: Arrays, valid: str, given: Any) -> Arrays:
    """Return an array as an item of an index; `valid` and `given` are for the message."""
    dtype = a.dtype
    if dtype is INT or dtype == BOOL:
        return a if isinstance(a, Tracer) else np.asarray(a)
    if dtype.kind not in "iu":
        raise IndexError(f"{valid}, not {given}, at {user_location()}")
    return a if isinstance(a, Tracer) else np.asarray(a, np.intp)
