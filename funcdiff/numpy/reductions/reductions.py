"""Reductions over axes: sum, product, extrema, logic and positions.

The keywords mean what they mean to NumPy.  An entry left out by ``where=`` is replaced by the
neutral element before reducing, so that it gets a derivative of zero; ``initial=`` is one more
entry, with a derivative of its own if it is traced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.masks import mask_of, masked, sum_of
from funcdiff.numpy.border.promotion import Traced, array, broadcast_to, fit, known_dtype
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.shapes.shape import normalized_axes, normalized_axis
from funcdiff.ops.axes.reductions import (
    argmax as position_of_max,
)
from funcdiff.ops.axes.reductions import (
    argmin as position_of_min,
)
from funcdiff.ops.axes.reductions import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
)
from funcdiff.ops.products.masked import sum_from
from funcdiff.ops.structure.structural import concatenate, convert, permute, reshape
from funcdiff.space import kept_axes, reduce_sum

# ---- keywords ----------------------------------------------------------------------------------


def given(value: Any) -> bool:
    """Return whether a keyword was given: neither None nor NumPy's mark for nothing."""
    return value is not None and value is not default


@lru_cache(maxsize=256)
def _default_accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    widened: np.dtype[Any] = np.add.reduce(np.empty(0, dtype)).dtype
    return widened


def accumulator(x: Tracer, dtype: Any, out: Any) -> np.dtype[Any]:
    """Return the dtype in which NumPy adds or multiplies: small integers are widened."""
    if dtype is not None:
        return known_dtype(dtype)
    if isinstance(out, Tracer):
        joined: np.dtype[Any] = np.result_type(x.dtype, out.dtype)
        return joined
    return _default_accumulator(x.dtype)


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction, ascending; a 0-d array may be reduced over axis 0 or -1."""
    if ndim == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return normalized_axes(axis, ndim)


def with_kept(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: Any) -> Traced:
    """Return a reduction of `x`, with the reduced axes as axes of length 1 if wanted."""
    if given(keepdims) and keepdims:
        y = reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))
    return y


def stored(name: str, result: Tracer, out: Any) -> Traced:
    """Return a reduction, written into ``out=`` if there is one, which must have its dtype.

    NumPy casts intermediate results into another one on the way, truncating; that is refused.
    """
    return mutation.store(name, views.fresh(result), out, casting="equiv")


def _scalar_initial(initial: Any, dtype: np.dtype[Any]) -> Traced:
    if np.ndim(initial) != 0:
        raise ValueError(
            f"initial= has shape {np.shape(initial)} at {user_location()}; it must be a scalar"
        )
    return fit(initial, ArrayType((), dtype))


def _check_start(name: str, x: Tracer, axes: tuple[int, ...], initial: Any) -> None:
    """Raise if ``initial=None`` says that a sum or product of nothing has no value."""
    if initial is None and any(x.shape[axis] == 0 for axis in axes):
        raise ValueError(
            f"zero-size array to reduction operation {name} which has no identity, "
            f"at {user_location()}"
        )


def _with_initial(x: Tracer, axes: tuple[int, ...], initial: Any) -> tuple[Tracer, tuple[int]]:
    """Merge the reduced axes into a last one, in front of which stands the initial value."""
    kept = kept_axes(x.ndim, axes)
    shape = tuple(x.shape[axis] for axis in kept)
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    entries = reshape(permute(x, (*kept, *axes)), (*shape, count))
    first = broadcast_to(_scalar_initial(initial, x.dtype), (*shape, 1))
    return concatenate([first, entries], len(kept)), (len(kept),)


# ---- sum and product ---------------------------------------------------------------------------


@implements(np.sum)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Sum over axes."""
    x = array(a)
    axes = reduced_axes(axis, x.ndim)
    _check_start("add", x, axes, initial)
    x = convert(x, accumulator(x, dtype, out))
    if given(initial):
        y = sum_from(_scalar_initial(initial, x.dtype), x, mask_of(where, x.shape), axes)
    else:
        y = sum_of(x, axes, where)
    return stored("np.sum", with_kept(y, x, axes, keepdims), out)


@implements(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Multiply over axes."""
    x = array(a)
    axes = reduced_axes(axis, x.ndim)
    _check_start("multiply", x, axes, initial)
    x = masked(convert(x, accumulator(x, dtype, out)), where, 1)
    y = reduce_prod(*_with_initial(x, axes, initial)) if given(initial) else reduce_prod(x, axes)
    return stored("np.prod", with_kept(y, x, axes, keepdims), out)


# ---- extrema -----------------------------------------------------------------------------------


def _bound(dtype: np.dtype[Any], sign: int) -> Traced:
    """Return the number that never is the maximum (`sign` -1) or minimum (`sign` 1)."""
    if dtype.kind == "b":
        return sign > 0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if sign < 0 else limits.max
    return complex(sign * np.inf, sign * np.inf) if dtype.kind == "c" else sign * np.inf


def _extremum(
    name: str,
    reduce: Callable[[Tracer, tuple[int, ...]], Tracer],
    sign: int,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Traced:
    x = array(a)
    axes = reduced_axes(axis, x.ndim)
    if given(initial):
        y = reduce(*_with_initial(masked(x, where, _bound(x.dtype, sign)), axes, initial))
        return stored(name, with_kept(y, x, axes, keepdims), out)
    if mask_of(where, x.shape) is not None:
        raise ValueError(
            f"{name} has no identity, so to use a where mask one has to specify 'initial', "
            f"at {user_location()}"
        )
    if any(x.shape[k] == 0 for k in axes):
        raise ValueError(
            f"{name}: zero-size array to a reduction operation which has no identity, "
            f"at {user_location()}; specify 'initial'"
        )
    return stored(name, with_kept(reduce(x, axes), x, axes, keepdims), out)


@implements(np.max, np.amax)
def max_(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Return the largest entry over axes; equal ones share the derivative."""
    return _extremum("np.max", reduce_max, -1, a, axis, out, keepdims, initial, where)


@implements(np.min, np.amin)
def min_(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Return the smallest entry over axes; equal ones share the derivative."""
    return _extremum("np.min", reduce_min, 1, a, axis, out, keepdims, initial, where)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = default) -> Traced:
    """Return the largest entry over axes minus the smallest."""
    span = np.subtract(max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims))
    return stored("np.ptp", array(span), out)


# ---- logic and positions: no derivative ----------------------------------------------------------


def _logic(
    name: str,
    reduce: Callable[[Tracer, tuple[int, ...]], Tracer],
    neutral: bool,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    where: Any,
) -> Traced:
    x = masked(convert(array(a), BOOL), where, neutral)
    axes = reduced_axes(axis, x.ndim)
    return stored(name, with_kept(reduce(x, axes), x, axes, keepdims), out)


@implements(np.all)
def all_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = default, *, where: Any = default
) -> Traced:
    """Return whether all entries over axes are non-zero."""
    return _logic("np.all", reduce_all, True, a, axis, out, keepdims, where)


@implements(np.any)
def any_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = default, *, where: Any = default
) -> Traced:
    """Return whether any entry over axes is non-zero."""
    return _logic("np.any", reduce_any, False, a, axis, out, keepdims, where)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    """Return how many entries over axes are non-zero, int64."""
    x = array(a)
    axes = normalized_axes(axis, x.ndim)
    count = reduce_sum(convert(convert(x, BOOL), INT), axes)
    return views.fresh(with_kept(count, x, axes, keepdims))


def _position(
    name: str,
    find: Callable[[Tracer, int], Tracer],
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
) -> Traced:
    x = array(a)
    flat = reshape(x, (x.type.size,)) if axis is None or x.ndim == 0 else x
    along = 0 if axis is None else normalized_axis(axis, flat.ndim)
    if flat.shape[along] == 0:
        raise ValueError(
            f"attempt to get {name.removeprefix('np.')} of an empty sequence, at {user_location()}"
        )
    axes = tuple(range(x.ndim)) if flat is not x or axis is None else (along,)
    return stored(name, with_kept(find(flat, along), x, axes, keepdims), out)


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = default) -> Traced:
    """Return the position of the (first) largest entry, int64."""
    return _position("np.argmax", position_of_max, a, axis, out, keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = default) -> Traced:
    """Return the position of the (first) smallest entry, int64."""
    return _position("np.argmin", position_of_min, a, axis, out, keepdims)
