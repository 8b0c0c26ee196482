"""`numpy.array`, `numpy.asarray` and their like: memory order, views and copies.

Nested lists and tuples may hold traced values; the dtype is that of all their leaves together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import copy_mode, implements, refuse
from funcdiff.numpy.border.promotion import Traced, common_dtype, concrete, program_dtype
from funcdiff.numpy.border.promotion import array as traced
from funcdiff.numpy.memory import views
from funcdiff.ops.structure.structural import concatenate, convert, reshape


@implements(np.array)
def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K",
    subok: bool = False, ndmin: int = 0, ndmax: int = 0,
) -> Traced:  # fmt: skip
    """Return nested lists of traced values and numbers as one traced array."""
    refuse("np.array", ndmax=ndmax or None)
    copy, x = copy_mode(copy), _assemble(object)
    x = x if dtype is None else convert(x, program_dtype(dtype))
    x = reshape(x, (*(1,) * (ndmin - x.ndim), *x.shape))
    if copy is False and x is not object:
        raise ValueError(
            f"Unable to avoid copy while creating an array as requested, at {user_location()}"
        )
    if copy:
        return views.copy_in_order(x, order)
    if order == "K":
        return x
    given: Any = order
    return views.make_in_order(x, lambda b: np.asarray(b, order=given, like=b), order)


@implements(np.asarray)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None
) -> Traced:
    """Return nested lists of traced values and numbers as one traced array, an array as it is."""
    on_cpu("np.asarray", device)
    return array(a, dtype, copy=copy, order=order or "K")


@implements(np.asanyarray)
def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None
) -> Traced:
    """Do what `asarray` does; traced arrays have no subclasses."""
    return asarray(a, dtype, order, device=device, copy=copy)


@implements(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Traced:
    """Return the argument as an array of at least one axis, in C order."""
    return np.atleast_1d(asarray(a, dtype, "C"))


@implements(np.asfortranarray)
def asfortranarray(a: Any, dtype: Any = None) -> Traced:
    """Return the argument as an array of at least one axis, in F order."""
    return np.atleast_1d(asarray(a, dtype, "F"))


@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Traced:
    """Return the argument as an array in the order that is required."""
    wanted = {_REQUIREMENTS[name.upper()] for name in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError(f'Cannot specify both "C" and "F" order, at {user_location()}')
    x = asarray(a, dtype, "".join(wanted & {"C", "F"}) or None)
    is_view = views.is_view(a if isinstance(a, Tracer) else x)
    return views.copy_in_order(x, "A") if "O" in wanted and is_view else x


_REQUIREMENTS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
    **dict.fromkeys(("A", "ALIGNED", "W", "WRITEABLE", "E", "ENSUREARRAY"), ""),
}


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _assemble(value: Any) -> Traced:
    """Stack nested lists; the dtype is that of all leaves together, as NumPy finds it."""
    if not isinstance(value, list | tuple):
        return traced(value)
    leaves = _leaves(value)
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return traced(np.asarray(value))
    # Python numbers are strong here: np.array([np.float32(1), 2.0]) is float64
    strong = [traced(v) if isinstance(v, Tracer) else concrete(v) for v in leaves]
    return _stack(value, common_dtype(strong))


def _stack(value: Any, dtype: np.dtype[Any]) -> Traced:
    if not isinstance(value, list | tuple):
        return convert(traced(value), dtype)
    rows = [_stack(item, dtype) for item in value]
    if not rows:
        return constant(0, ArrayType((0,), dtype))
    if any(row.shape != rows[0].shape for row in rows):
        raise ValueError(
            "setting an array element with a sequence: the parts have the shapes "
            f"{', '.join(map(str, sorted({row.shape for row in rows})))}, at {user_location()}"
        )
    return concatenate([reshape(row, (1, *row.shape)) for row in rows], 0)


def on_cpu(name: str, device: Any) -> None:
    """Refuse a device other than NumPy's."""
    if device != "cpu":
        refuse(name, device=device)
