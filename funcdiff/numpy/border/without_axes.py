"""Functions that return arrays even without axes, where others return NumPy scalars.

A ufunc, a reduction or an index makes a scalar of what has no axes.  Views have an array's type if
NumPy's have it (see `funcdiff.numpy.memory.views.view`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.tracer import Tracer

OF_ARRAYS: Final[frozenset[Callable[..., Any]]] = frozenset(
    {
        np.apply_along_axis, np.array, np.asanyarray, np.asarray, np.block, np.broadcast_arrays,
        np.broadcast_to, np.copy, np.cov, np.empty, np.empty_like, np.full, np.full_like, np.i0,
        np.ones, np.ones_like, np.piecewise, np.real_if_close, np.roll, np.select, np.tensordot,
        np.where, np.zeros, np.zeros_like,
    }
)  # fmt: skip

_ASTYPE: Final = getattr(np, "astype", None)  # of NumPy 2.1, which returns what it is given


def without_axes(function: Callable[..., Any], result: Any) -> Any:
    """Return a result of a function as what NumPy's is, an array or, without axes, a scalar."""
    if function in OF_ARRAYS:
        return arrays(result)
    if function is _ASTYPE:
        return result
    if type(result) is Builder.array_handle and not result.type.shape:
        is_view = getattr(result, "views", None) is not None
        return result if is_view else Builder.handle(result.builder, result.atom, result.type)
    return result


def arrays(result: Any) -> Any:
    """Return a result, or several in a tuple, as arrays."""
    if isinstance(result, Tracer):
        if result.type.shape or isinstance(result, np.ndarray):
            return result
        return Builder.array_handle(result.builder, result.atom, result.type)
    return tuple(map(arrays, result)) if isinstance(result, tuple) else result
