"""Functions that put values into an array: `copyto`, `put`, `place`, `putmask` and so on.

The array has to be a traced one.  An ordinary array takes values that have no derivative only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import WEAK, array, broadcast_to, is_weak, model_of
from funcdiff.numpy.border.values import constant_value
from funcdiff.numpy.choosing import assignment, flat
from funcdiff.numpy.choosing.positions import within
from funcdiff.numpy.memory import from_values, mutation, views
from funcdiff.numpy.memory.indices import positions
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.structure.structural import reshape, select


def _into_traced(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Enter a version of a NumPy function for traced arrays; ordinary ones are NumPy's own."""
    what = f"np.{function.__name__} of a traced value x into an ordinary array"

    def enter(handler: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(handler)
        target = next(iter(signature.parameters))

        @implements(function)
        @wraps(handler)
        def ours(*args: Any, **kwargs: Any) -> None:
            if isinstance(signature.bind(*args, **kwargs).arguments[target], Tracer):
                handler(*args, **kwargs)
                return
            concrete = [constant_value(v, what) if isinstance(v, Tracer) else v for v in args]
            for keyword, v in kwargs.items():
                kwargs[keyword] = constant_value(v, what) if isinstance(v, Tracer) else v
            function(*concrete, **kwargs)

        return handler

    return enter


def _mask(mask: Any, shape: tuple[int, ...]) -> Any:
    m = array(mask)
    return broadcast_to(m if m.dtype == BOOL else array(m != 0), shape)


@_into_traced(np.copyto)
def copyto(dst: Tracer, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Copy values into an array, where a mask is true."""
    src = from_values.array(src) if isinstance(src, list | tuple) else src
    model = src if type(src) in WEAK else model_of(src if is_weak(src) else array(src))
    np.copyto(np.empty(np.shape(model), dst.dtype), model, casting)  # or NumPy's own error
    v = assignment.convert_to_store(src, dst.type)
    mutation.assign(dst, v if where is True else select(_mask(where, dst.shape), v, dst))


@_into_traced(np.putmask)
def putmask(a: Tracer, /, mask: Any, values: Any) -> None:
    """Put, where a mask is true, the value of that place; too few are taken again and again."""
    if np.shape(mask) != a.shape:
        raise ValueError("putmask: mask and data must be the same size")
    mutation.check_writeable(a)
    if a.type.size and np.size(values):
        v = reshape(flat.cycle(values, a.dtype, a.type.size), a.shape)
        mutation.assign(a, select(_mask(mask, a.shape), v, a))


@_into_traced(np.place)
def place(arr: Tracer, mask: Any, vals: Any) -> None:
    """Put the first values where a mask is true; too few are taken again and again."""
    m = np.asarray(mask, bool)
    if m.size != arr.type.size:
        raise ValueError("place: mask and data must be the same size")
    if not mutation.rearrange(arr, vals, lambda a, v: np.place(a, m, v)):
        flat.write(arr, np.flatnonzero(m), vals)


@_into_traced(np.put)
def put(a: Tracer, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Put values at positions of the flat array; too few are taken again and again."""
    casting = "safe" if mode == "raise" else "same_kind"
    places = within(positions(ind, casting), a.type.size, mode)
    if np.size(v):
        values = views.fresh(v) if isinstance(v, Tracer) else v  # read before anything changes
        flat.write(a, np.reshape(places, -1), values)


@_into_traced(np.put_along_axis)
def put_along_axis(arr: Tracer, indices: Any, values: Any, axis: Any = -1) -> None:
    """Put a value, at each place, where the position along the axis stands."""
    places = array(indices)
    if places.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if places.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension")
        flat.write(arr, indices, values)
        return
    axis = normalize_axis(axis, arr.ndim)
    if places.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    grid = [
        np.arange(n).reshape(tuple(-1 if j == k else 1 for j in range(arr.ndim)))
        for k, n in enumerate(arr.shape)
    ]
    given = indices if isinstance(indices, Tracer) else np.asarray(indices)
    assignment.put(arr, tuple(given if k == axis else g for k, g in enumerate(grid)), values)
