"""Selecting and placing elements by condition or position.

Where the shape of a result depends on values (`nonzero`, `compress`, masks), these are looked at
and count as constants: only an eager trace has them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.masks import refuse_where, true_places
from funcdiff.numpy.border.promotion import (
    WEAK,
    array,
    broadcast_shapes,
    broadcast_to,
    fit,
    is_weak,
    model_of,
    promote,
    promote_and_broadcast,
)
from funcdiff.numpy.border.values import constant_value, value_of
from funcdiff.numpy.choosing import assignment
from funcdiff.numpy.memory import array_copies, index_expressions, mutation, views
from funcdiff.numpy.memory.index_expressions import positions
from funcdiff.numpy.shapes.shape import (
    as_ints,
    normalize_axis,
    ravel,
    reshape,
    transpose,
    with_axis,
)
from funcdiff.ops.axes.indexing import take_along
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.structural import convert
from funcdiff.space import zeros

# ---- Positions in the flat array, and the indices along each axis that they stand for ------------


def _integers(name: str, value: Any) -> Any:
    x = array(value)
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices have dtype {x.dtype} at {user_location()}, not integers")
    return convert(x, INT)


def _axes(order: str, ndim: int) -> range:
    """Return the axes, that which varies slowest first."""
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F' (got {order!r})")
    return range(ndim) if order == "C" else range(ndim - 1, -1, -1)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[Any, ...]:
    """Return the index along each axis of positions in the flat array."""
    lengths = as_ints(shape)
    rest = _integers("np.unravel_index", indices)
    size = int(np.prod(lengths, dtype=int))
    error = ValueError(f"np.unravel_index: an index is out of bounds for an array with size {size}")
    rest = refuse_where(np.logical_or(rest < 0, rest >= size), error, rest)
    found: list[Any] = [None] * len(lengths)
    for axis in reversed(_axes(order, len(lengths))):
        rest, found[axis] = rest // lengths[axis], rest % lengths[axis]
    return tuple(found)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """Return the positions in the flat array of indices along each axis."""
    lengths = as_ints(dims)
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    position: Any = 0
    for axis in _axes(order, len(lengths)):
        index = _integers("np.ravel_multi_index", multi_index[axis])
        position = position * lengths[axis] + _check(index, lengths[axis], modes[axis])
    return position


def within(positions: Any, length: int, mode: Any) -> Any:
    """Return positions brought into range as the mode says; "raise" leaves them as they are."""
    if mode == "wrap":
        return positions % length
    if mode == "clip":
        return np.minimum(np.maximum(positions, 0), length - 1)
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return positions


def _check(index: Any, length: int, mode: str) -> Any:
    """Return indices within range; raises NumPy's error if the mode is "raise"."""
    index = within(index, length, mode)
    if mode != "raise":
        return index
    error = ValueError(
        f"np.ravel_multi_index: an index is out of bounds for an axis of length {length}"
    )
    return refuse_where(np.logical_or(index < 0, index >= length), error, index)


WHOLE = slice(None)

# ---- by condition ------------------------------------------------------------------------------


@implements(np.where, operands=3)
def where(condition: Any, *branches: Any) -> Any:
    """Choose between two arrays elementwise; without arrays, return the true positions."""
    if not branches:
        return nonzero(condition)
    if len(branches) != 2:
        raise ValueError("either both or neither of x and y should be given")
    mask = _truth(condition)
    x, y = promote_and_broadcast(*branches)
    shape = broadcast_shapes(mask.shape, x.shape)
    return views.fresh(ops.select(*(broadcast_to(v, shape) for v in (mask, x, y))))


def _truth(condition: Any) -> Any:
    mask = array(condition)
    return mask if mask.dtype == BOOL else array(mask != 0)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Apply each function to the elements whose condition, a constant, is true.

    In a trace without values, each function is applied to all elements and then chosen from.
    """
    x = array(x)
    conditions = _conditions(x, condlist, len(funclist))
    calls = [partial(_apply, f, args, kw) for f in funclist]
    try:
        masks = [np.broadcast_to(value_of(c).astype(bool), x.shape) for c in conditions]
    except ConcreteValueError:
        result = zeros(x.type)
        for mask, call in zip(conditions, calls, strict=True):
            result = where(mask, fit(call(x), x.type), result)
        return result
    return _on_parts(x, masks, calls)


def _apply(function: Any, args: tuple[Any, ...], kw: dict[str, Any], x: Any) -> Any:
    return function(x, *args, **kw) if callable(function) else function


def _on_parts(x: Tracer, masks: list[Any], calls: Sequence[Callable[[Any], Any]]) -> Any:
    source = np.zeros(x.shape, int)  # 0 stands for the zero that fills what no condition covers
    parts = [constant(0, ArrayType((1,), x.dtype))]
    size = 1
    for mask, call in zip(masks, calls, strict=True):
        count = int(np.count_nonzero(mask))
        if not count:
            continue
        value = call(index_expressions.take(x, mask))
        parts.append(fit(value, ArrayType((count,), x.dtype)))
        source[mask] = size + np.arange(count)
        size += count
    return index_expressions.take(ops.concatenate(parts, 0), source)


def _conditions(x: Tracer, condlist: Any, count: int) -> list[Any]:
    """Return conditions, one for each function; the last may be what is left over."""
    single = np.isscalar(condlist) or (isinstance(condlist, Tracer) and condlist.ndim == x.ndim)
    if not single and x.ndim:
        single = not isinstance(condlist[0], list | np.ndarray | Tracer)
    conditions = [condlist] if single else list(condlist)
    if len(conditions) == count - 1:
        covered = conditions[0]
        for condition in conditions[1:]:
            covered = np.logical_or(covered, condition)
        conditions.append(np.logical_not(covered))
    if len(conditions) != count:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    return conditions


# ---- by concrete condition ---------------------------------------------------------------------


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    """Return the positions of the elements that are not zero, which have no derivative."""
    mask = _mask(a)
    if not mask.ndim:
        raise ValueError(
            f"nonzero, or where(condition), of a value without axes, at {user_location()}. Use "
            "np.atleast_1d(x)."
        )
    return tuple(true_places(mask))


def _mask(value: Any) -> Any:
    return _truth(value) if isinstance(value, Tracer) else np.not_equal(value, 0)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Take the places along an axis where the condition is true."""
    mask = _mask(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, true_places(mask)[0], axis, out)


# ---- by position -------------------------------------------------------------------------------


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """Take elements along an axis, by default from the flat array."""
    x, axis = with_axis(array(a), axis)
    places = positions(indices, "same_kind")
    if not x.shape[axis] and places.shape.count(0) == 0:
        raise IndexError("cannot do a non-empty take from an empty axes")
    places = within(places, x.shape[axis], mode)
    result = index_expressions.take(x, (*(WHOLE,) * axis, places))
    return mutation.store("np.take", views.fresh(result), out)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Take, at each place, the element whose position along the axis stands there."""
    x, places = array(arr), array(indices)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis(axis, x.ndim)
    if places.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if places.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if not isinstance(indices, Tracer):
        index_expressions.check_bounds(np.asarray(indices), x.shape[axis], axis)
    common = list(broadcast_shapes(_without(x, axis), _without(places, axis)))

    def widen(z: Tracer) -> Any:
        return broadcast_to(z, (*common[:axis], z.shape[axis], *common[axis:]))

    return take_along(widen(x), widen(places), axis)


def _without(x: Tracer, axis: int) -> tuple[int, ...]:
    return (*x.shape[:axis], *x.shape[axis + 1 :])


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    """Take each element from the choice whose number stands in `a`."""
    numbers = positions(a if isinstance(a, Tracer) else np.asarray(a))
    table = promote(*choices)
    if mode == "raise":
        numbers = _valid(numbers, len(table))
    numbers = array(within(numbers, len(table), mode))
    target = broadcast_shapes(numbers.shape, *(x.shape for x in table))
    layers: Any = np.stack([broadcast_to(x, target) for x in table])
    places = broadcast_to(numbers, target)
    result = take_along(layers, ops.reshape(places, (1, *target)), 0)
    return mutation.store("np.choose", ops.reshape(result, target), out)


def _valid(numbers: Any, count: int) -> Any:
    """Return numbers of choices; wrong ones raise, here or, without values, when they are taken."""
    try:
        concrete = value_of(numbers)
    except ConcreteValueError:
        return np.where(numbers < 0, count, numbers)
    if concrete.size and not 0 <= concrete.min() <= concrete.max() < count:
        raise ValueError(
            f"invalid entry in choice array, at {user_location()}. The entries must be from 0 "
            f"to {count - 1}, or pass mode='wrap' or mode='clip'."
        )
    return numbers


# ---- applying a function along axes ------------------------------------------------------------


@implements(np.apply_along_axis)
def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any
) -> Tracer:
    """Apply a function to the vectors along an axis, as NumPy does one after the other."""
    x = array(arr)
    axis = normalize_axis(axis, x.ndim)
    vectors = np.moveaxis(x, axis, -1)
    around = vectors.shape[:-1]
    if 0 in around:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    values = [
        array_copies.asarray(func1d(index_expressions.take(vectors, place), *args, **kwargs))
        for place in np.ndindex(around)
    ]
    dtype = values[0].dtype  # the first result decides, as in NumPy
    table: Any = np.stack([fit(v, ArrayType(values[0].shape, dtype)) for v in values])
    inner = values[0].ndim
    table = reshape(table, (*around, *values[0].shape))
    order = [*range(axis), *range(len(around), len(around) + inner), *range(axis, len(around))]
    return views.fresh(transpose(table, order))


# ---- Functions that put values into an array: `copyto`, `put`, `place`, `putmask` and so on ------
#
# The array has to be a traced one.  An ordinary array takes values that have no derivative only.


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
            found = {k: concrete(v) for k, v in kwargs.items()}
            function(*map(concrete, args), **found)

        def concrete(v: Any) -> Any:
            value = constant_value(v, what) if isinstance(v, Tracer) else v
            return value.item() if isinstance(v, Tracer) and v.weak else value

        return handler

    return enter


def _mask_of_shape(mask: Any, shape: tuple[int, ...]) -> Any:
    m = array(mask)
    return broadcast_to(m if m.dtype == BOOL else array(m != 0), shape)


@_into_traced(np.copyto)
def copyto(dst: Tracer, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Copy values into an array, where a mask is true."""
    src = array_copies.array(src) if isinstance(src, list | tuple) else src
    model = src if type(src) in WEAK else model_of(src if is_weak(src) else array(src))
    np.copyto(np.empty(np.shape(model), dst.dtype), model, casting)  # or NumPy's own error
    v = assignment.convert_to_store(src, dst.type)
    mutation.assign(
        dst, v if where is True else ops.select(_mask_of_shape(where, dst.shape), v, dst)
    )


@_into_traced(np.putmask)
def putmask(a: Tracer, /, mask: Any, values: Any) -> None:
    """Put, where a mask is true, the value of that place; too few are taken again and again."""
    if np.shape(mask) != a.shape:
        raise ValueError("putmask: mask and data must be the same size")
    mutation.check_writeable(a)
    if a.type.size and np.size(values):
        v = ops.reshape(assignment.cycle(values, a.dtype, a.type.size), a.shape)
        mutation.assign(a, ops.select(_mask_of_shape(mask, a.shape), v, a))


@_into_traced(np.place)
def place(arr: Tracer, mask: Any, vals: Any) -> None:
    """Put the first values where a mask is true; too few are taken again and again."""
    m = np.asarray(mask, bool)
    if m.size != arr.type.size:
        raise ValueError("place: mask and data must be the same size")
    if not mutation.rearrange(arr, vals, lambda a, v: np.place(a, m, v)):
        assignment.write(arr, np.flatnonzero(m), vals)


@_into_traced(np.put)
def put(a: Tracer, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Put values at positions of the flat array; too few are taken again and again."""
    casting = "safe" if mode == "raise" else "same_kind"
    places = within(positions(ind, casting), a.type.size, mode)
    if np.size(v):
        values = views.fresh(v) if isinstance(v, Tracer) else v  # read before anything changes
        assignment.write(a, np.reshape(places, -1), values)


@_into_traced(np.put_along_axis)
def put_along_axis(arr: Tracer, indices: Any, values: Any, axis: Any = -1) -> None:
    """Put a value, at each place, where the position along the axis stands."""
    places = array(indices)
    if places.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if places.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension")
        assignment.write(arr, indices, values)
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
