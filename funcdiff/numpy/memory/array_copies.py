"""Copies between traced and plain arrays: `numpy.array` and its like, and exports.

Nested lists and tuples may hold traced values; the dtype is that of all their leaves together.
"""

from __future__ import annotations

import sys
from typing import Any, Final
from weakref import ref

import numpy as np

from funcdiff.core.recording.builder import Builder, constant, current_builder
from funcdiff.core.recording.snapshot import Lent
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border import deferring
from funcdiff.numpy.border.dispatch import copy_mode, implements, refuse
from funcdiff.numpy.border.promotion import Traced, common_dtype, concrete, program_dtype
from funcdiff.numpy.border.promotion import array as traced
from funcdiff.numpy.border.values import concrete_value, constant_value, is_constant
from funcdiff.numpy.memory import views
from funcdiff.numpy.memory.layouts import NDArray
from funcdiff.ops.structure.structural import concatenate, convert, reshape


@implements(np.array)
def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K",
    subok: bool = False, ndmin: int = 0, ndmax: int = 0,
) -> Traced:  # fmt: skip
    """Return nested lists of traced values and numbers as one traced array."""
    refuse("np.array", ndmax=ndmax or None)
    copy, x = copy_mode(copy), _base(_assemble(object))
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


def _base(x: Traced) -> Traced:
    """Return a traced array itself, or as a view if it is of a class of somebody's."""
    plain = Builder.array_handle
    if type(x) is plain or not isinstance(x, plain):
        return x
    return views.view(x, views.as_array(x), lambda base: base[...])


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


# ---- Plain arrays of traced ones for NumPy and other libraries: read-only copies -----------------
#
# NumPy would hand out the array itself, and a write to that would be seen.  A write to a copy would
# be lost, so that it has to fail, with a note that says what to write instead.  A change of the
# traced array is written to the copies that somebody still has.


PROTOCOLS: Final = (
    "__dlpack__", "__dlpack_device__", "__array_interface__", "__array_struct__", "__buffer__",
)  # fmt: skip
"""By which arrays hand out their memory."""
_WRITEABLE: Final = ("W", "WRITEABLE")
_CURE: Final = (
    "Write to the traced array itself, y[i] = v or np.copyto(y, v), or take a copy of its value "
    "that is yours: np.array(y)."
)


def plain_array(x: Tracer, dtype: Any, copy: bool | None) -> NDArray:
    """Return the value of a traced array that has no derivative to lose, as NumPy asks for it.

    Raises `ValueError` if NumPy asks for the memory of the array itself.
    """
    if deferring.asks_for_values():
        return deferring.NO_VALUES
    value = np.asarray(
        constant_value(x, "np.asarray(x), or a function that NumPy cannot dispatch,")
    )
    given = value.item() if x.weak else value  # a number has to fit
    if copy:
        return np.array(given, dtype)
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: a traced array stands for "
            f"a value without memory, at {user_location()}. {_CURE}"
        )
    if dtype is not None and np.dtype(dtype) != x.dtype:
        return np.array(given, dtype)
    if _is_asked_for_writing():
        raise UnsupportedNumPyError(
            f"np.require(x, requirements='W') of a traced array, at {user_location()}: NumPy would "
            f"copy it, and what is written to the copy would be lost. {_CURE}"
        )
    model = views.layout(x, settle=True)
    lent = Lent(_lay_out(value, model))
    builder = current_builder()
    if builder is not None:
        builder.lend(lent)
    holder = _Holder(lent, is_laid_out=model is not None)
    record = views.memory(x)
    record.exports = [link for link in record.exports if link() is not None]
    # of one that may lie otherwise, they may copy what they make a view of in NumPy's code
    record.exports.append(ref(holder) if holder.is_laid_out else lambda: holder)
    return np.asarray(holder)


class _Holder:
    """What plain arrays of a traced one, and their views, keep alive as long as there are any."""

    def __init__(self, lent: Lent, *, is_laid_out: bool) -> None:
        self.lent = lent
        self.is_laid_out = is_laid_out
        known = lent.array.__array_interface__
        self.__array_interface__ = {**known, "data": (known["data"][0], True),
                                    "strides": lent.array.strides}  # fmt: skip


def follow(x: Tracer) -> None:
    """Write the value of an array that was changed to the plain arrays of it that are in use.

    Raises `UnsupportedNumPyError` if it has a derivative now, or its value or layout is not known
    here.
    """
    for holder in [link() for link in views.memory(x).exports]:
        if holder is None:
            continue
        try:
            if not (holder.is_laid_out and is_constant(x)):
                raise ConcreteValueError
            holder.lent.update(concrete_value(x))
        except ConcreteValueError:
            raise UnsupportedNumPyError(
                f"an array was changed in place at {user_location()}, of which a plain array was "
                f"made at {holder.lent.line}: that would not see the change, as NumPy's may. Use "
                "funcdiff.numpy.asarray(y) there, which is y itself, or take a copy, np.array(y)."
            ) from None


def _is_asked_for_writing() -> bool:
    """Whether `numpy.require` is asking, which copies what it may not write to."""
    caller = sys._getframe(3)  # behind us, `plain_array` and ``__array__``
    if caller.f_code is not np.require.__code__:
        return False
    return any(str(name).upper() in _WRITEABLE for name in caller.f_locals["requirements"] or ())


def _lay_out(value: NDArray, model: NDArray | None) -> NDArray:
    """Return a value laid out in memory as NumPy's array would be.

    Where NumPy's functions copy an array for the sake of its layout, they do so of this one.
    """
    known = model if model is not None and model.shape == value.shape else value  # or a batch
    if known.size and known.strides != value.strides:
        low, high = np.lib.array_utils.byte_bounds(known)
        memory = np.empty(high - low, np.uint8)
        start = known.__array_interface__["data"][0] - low
        laid_out: NDArray = np.ndarray(known.shape, known.dtype, memory, start, known.strides)
        laid_out[...] = value
        return laid_out
    return value
