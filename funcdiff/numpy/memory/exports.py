"""The plain arrays that NumPy and others get for a traced one: copies that nobody may write to.

NumPy would hand out the array itself, and a write to that would be seen.  A write to a copy would
be lost, so that it has to fail, with a note that says what to write instead.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border import sparse
from funcdiff.numpy.border.values import constant_value
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

    Raises
    ------
    ValueError
        If NumPy asks for the memory of the array itself.
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
    locked = _as_read_only(value, views.layout(x, settle=True))
    builder = current_builder()
    if builder is not None:
        builder.lend(locked)
    return locked


def _is_asked_for_writing() -> bool:
    """Whether `numpy.require` is asking, which copies what it may not write to."""
    caller = sys._getframe(3)  # behind us, `plain_array` and ``__array__``
    if caller.f_code is not np.require.__code__:
        return False
    return any(str(name).upper() in _WRITEABLE for name in caller.f_locals["requirements"] or ())


def _as_read_only(value: NDArray, model: NDArray | None) -> NDArray:
    """Return a value that may not be written to, laid out in memory as NumPy's array would be.

    Where NumPy's functions copy an array for the sake of its layout, they do so of this one.
    """
    known = model if model is not None and model.shape == value.shape else value  # or a batch
    if known.size and known.strides != value.strides:
        low, high = np.lib.array_utils.byte_bounds(known)
        memory = np.empty(high - low, np.uint8)
        start = known.__array_interface__["data"][0] - low
        laid_out: NDArray = np.ndarray(known.shape, known.dtype, memory, start, known.strides)
        laid_out[...] = value
        memory.flags.writeable = False
        value = laid_out
    value.flags.writeable = False
    return value
