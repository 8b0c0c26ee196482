"""Array types: a shape and a dtype, interned so that equality is identity."""

from __future__ import annotations

import math
import os
import threading
from operator import index
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

_interned: WeakValueDictionary[tuple[tuple[int, ...], np.dtype[Any]], ArrayType] = (
    WeakValueDictionary()
)
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # a thread that holds it is not there in the child
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]

BOOL: Final = np.dtype(np.bool_)
INT: Final = np.dtype(np.int64)
FLOAT: Final = np.dtype(np.float64)

DTYPE_NAMES: Final[dict[np.dtype[Any], str]] = {
    np.dtype(np.bool_): "bool",
    **{np.dtype(f"i{n}"): f"i{8 * n}" for n in (1, 2, 4, 8)},
    **{np.dtype(f"u{n}"): f"u{8 * n}" for n in (1, 2, 4, 8)},
    **{np.dtype(f"f{n}"): f"f{8 * n}" for n in (2, 4, 8)},
    **{np.dtype(f"c{n}"): f"c{8 * n}" for n in (8, 16)},
}
# On some platforms longdouble is float64 itself; elsewhere its width differs: name it by role.
DTYPE_NAMES.setdefault(np.dtype(np.longdouble), "flong")
DTYPE_NAMES.setdefault(np.dtype(np.clongdouble), "clong")
DTYPES: Final[dict[str, np.dtype[Any]]] = {name: dtype for dtype, name in DTYPE_NAMES.items()}


class ArrayType:
    """The shape and dtype of an array; one object per distinct pair.

    The dtype is in native byte order: boolean, integer, floating or complex.

    >>> ArrayType((2, 3), np.dtype("f4"))
    f32[2,3]
    >>> ArrayType((2,), np.dtype(float)) is ArrayType((2,), np.dtype(float))
    True
    """

    __slots__ = ("__weakref__", "differentiable", "dtype", "shape", "size")
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    differentiable: bool  # whether values have tangents: floating and complex ones do
    size: int  # number of elements

    def __new__(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ArrayType:
        """Return the one object for a shape and a dtype."""
        found = _interned.get((shape, dtype))
        if found is not None:
            return found
        with _lock:
            found = _interned.get((shape, dtype))
            if found is None:
                found = object.__new__(cls)
                # of Python's integers: one type serves all that are equal, NumPy's included
                object.__setattr__(found, "shape", tuple(map(index, shape)))
                object.__setattr__(found, "dtype", dtype)
                object.__setattr__(found, "differentiable", dtype.kind in "fc")
                object.__setattr__(found, "size", math.prod(found.shape))
                _interned[shape, dtype] = found
            return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ArrayType is immutable; make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"ArrayType is immutable; {name} cannot be deleted")

    def __reduce__(self) -> tuple[type[ArrayType], tuple[tuple[int, ...], np.dtype[Any]]]:
        return ArrayType, (self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"{DTYPE_NAMES[self.dtype]}[{','.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    def with_shape(self, shape: tuple[int, ...]) -> ArrayType:
        """Return the type with another shape."""
        return ArrayType(shape, self.dtype)

    def with_dtype(self, dtype: np.dtype[Any]) -> ArrayType:
        """Return the type with another dtype."""
        return ArrayType(self.shape, dtype)


def native(x: Any) -> Any:
    """Return an array in the byte order that types have."""
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the real part: ``c128 -> f64``; real dtypes are unchanged."""
    part: np.dtype[Any] = dtype.type(0).real.dtype
    return part


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the complex dtype with parts of the given floating dtype: ``f32 -> c64``."""
    joined: np.dtype[Any] = np.result_type(dtype, np.complex64)
    return joined
