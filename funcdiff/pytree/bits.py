"""Bit patterns of numbers, which tell nans, zeros and the digits of a longdouble apart."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

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
