"""Leaves that are no numbers but hold some: passing them through would lose their derivatives."""

from __future__ import annotations

import enum
import numbers
from array import array
from collections.abc import Collection, Iterator
from itertools import chain
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.errors import PytreeError
from funcdiff.pytree.structure import flatten

_HARMLESS: Final = (
    str,
    bytes,
    bytearray,
    range,
    type,
    enum.Enum,
    np.ufunc,
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    ModuleType,
)


class Fault(NamedTuple):
    """Why a leaf cannot pass through, as the predicate of a sentence, and what to do instead."""

    problem: str
    cure: str


def fault_of(leaf: Any, *, alone: bool) -> Fault | None:
    """Return why a leaf that is no number must not pass through a derivative, None if it may.

    Text, flags, functions, enumerations and objects without arrays may: they are settings.  Unknown
    containers, numbers that NumPy does not compute with, arrays of other libraries, and objects
    with arrays in their attributes have a fault; so has any object `alone`, not in a container.
    """
    name = type(leaf).__name__
    if isinstance(leaf, _HARMLESS):
        return None
    if isinstance(leaf, np.ndarray | np.generic):
        return _fault_of_array(leaf)
    fault = foreign_fault(leaf)
    if fault is not None:
        return fault
    if isinstance(leaf, Collection | array):
        return Fault(
            f"is a {name}, a container that is not known by that type",
            "Register it with fd.pytree.register, or convert it to a plain dict, list or tuple.",
        )
    if isinstance(leaf, numbers.Number) and not isinstance(leaf, bool):
        return Fault(f"is a {name}, not a floating-point number", "Convert it with float(x).")
    if hasattr(type(leaf), "__array__"):
        return Fault(f"is a {name}, not a NumPy array", "Convert it with np.asarray(x).")
    cure = (
        f"Make {name} a dataclass or register it with fd.pytree.register, or, if it is constant, "
        "keep it out of the differentiated argument or in a static field."
    )
    attribute = _attribute_with_arrays(leaf)
    if attribute is not None:
        problem = f"is a {name}, which is no known container but holds arrays in .{attribute}"
        return Fault(problem, cure)
    if alone and not callable(leaf) and not isinstance(leaf, bool):
        return Fault(f"is a {name}, in which no numbers are found", cure)
    return None


def foreign_fault(leaf: Any) -> Fault | None:
    """Return how numbers are got out of what is no container: tables, sparse matrices, iterators.

    They are told by what they offer, for their libraries need not be there.
    """
    kind = type(leaf)
    if kind in (str, bool, type(None)) or isinstance(leaf, type | np.ndarray | np.generic):
        return None
    if isinstance(leaf, Iterator):
        return Fault(f"is a {kind.__name__}, which can be walked only once", "Give list(x).")
    if hasattr(kind, "aval"):
        cure = "Bridge the function: fd.interop.jax.wrap(fd.grad(f))."
        return Fault(f"is a {kind.__name__}, which JAX traces", cure)
    if hasattr(kind, "data_vars"):
        cure = "Give a dict of arrays: {name: v.to_numpy() for name, v in x.data_vars.items()}."
        return Fault(f"is a {kind.__name__}, not a NumPy array", cure)
    if hasattr(kind, "to_numpy"):
        columns = hasattr(kind, "columns")
        cure = ", or {name: x[name].to_numpy() for name in x}" if columns else ""
        return Fault(f"is a {kind.__name__}, not a NumPy array", f"Give x.to_numpy(){cure}.")
    if hasattr(kind, "toarray"):
        return Fault(
            f"is a {kind.__name__}, a sparse matrix",
            "Give its numbers, x.data, and declare the product with fd.primitive, or give "
            "x.toarray().",
        )
    return None


def _fault_of_array(x: Any) -> Fault | None:
    """Text and dates may pass; a structured array or one of objects may hide numbers."""
    if x.dtype.names is not None:
        return Fault(
            "is a structured array",
            f"Give its columns, such as x[{x.dtype.names[0]!r}], in a dict.",
        )
    if x.dtype.kind == "O" and any(map(_is_number, x.flat)):
        return Fault(
            "is an array of objects that holds numbers",
            "Convert it with .astype(float), or give a list.",
        )
    return None


def _attribute_with_arrays(leaf: Any) -> str | None:
    """Return the name of an attribute that is, or contains, an array of inexact numbers."""
    slots = chain.from_iterable(
        (s,) if isinstance(s, str) else s
        for s in (vars(cls).get("__slots__", ()) for cls in type(leaf).__mro__)
    )
    for name in (*getattr(leaf, "__dict__", ()), *slots):
        try:
            values, _ = flatten(getattr(leaf, name, None))
        except PytreeError:
            continue
        if any(_is_inexact(x) and getattr(x, "shape", ()) for x in values):
            return str(name)
    return None


def _is_number(x: Any) -> bool:
    """Tell whether an element of an array of objects may have a derivative to lose."""
    return _is_inexact(x) or (isinstance(x, numbers.Number) and not isinstance(x, int))


def _is_inexact(x: Any) -> bool:
    """Tell whether a value is a floating or complex number, array or tracer."""
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    return isinstance(x, float | complex) or kind in ("f", "c")
