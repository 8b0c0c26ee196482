"""Plain arrays of traced ones for NumPy and other libraries: read-only copies.

NumPy would hand out the array itself, and a write to that would be seen.  A write to a copy would
be lost, so that it has to fail, with a note that says what to write instead.  A change of the
traced array is written to the copies that somebody still has.
"""

from __future__ import annotations

import sys
from typing import Any, Final
from weakref import ref

import numpy as np

from funcdiff.core.builder import current_builder
from funcdiff.core.snapshot import Lent
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border import sparse
from funcdiff.numpy.border.values import concrete_value, constant_value, is_constant
from funcdiff.numpy.memory import views
from funcdiff.numpy.memory.regions import NDArray

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
    if sparse.asks_for_values():
        return sparse.NO_VALUES
    value = np.asarray(
        constant_value(x, "np.asarray(x), or a function that NumPy cannot dispatch,")
    )
    if copy:
        return np.array(value, dtype)
    if copy is False:
        raise ValueError(
            "Unable to avoid copy while creating an array as requested: a traced array stands for "
            f"a value without memory, at {user_location()}. {_CURE}"
        )
    if dtype is not None and np.dtype(dtype) != x.dtype:
        return np.array(value, dtype)
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
