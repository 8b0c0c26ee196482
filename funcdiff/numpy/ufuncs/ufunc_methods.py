"""The methods of ufuncs: reductions and scans with any ufunc of two arguments, and outer.

A ufunc without a reduction of its own is folded from left to right, by ``ufunc.accumulate``; where
masks or dtypes do not allow that, by a loop along the axis that is recorded once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from funcdiff.core.policy import CLOSED
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.calling import call
from funcdiff.numpy.border.dispatch import default, refusal_error
from funcdiff.numpy.border.masks import mask_of
from funcdiff.numpy.border.promotion import array, broadcast_to, program_dtype
from funcdiff.numpy.choosing import assignment
from funcdiff.numpy.memory.index_expressions import positions
from funcdiff.numpy.messages.foreign import ufunc_name
from funcdiff.numpy.messages.mistakes import MADE_INSIDE, explain
from funcdiff.numpy.reductions.sums_and_extrema import (
    is_given,
    merge_axes,
    reduction_axes,
    store_reduction,
    with_kept,
)
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.numpy.ufuncs import ufunc_calls
from funcdiff.numpy.ufuncs.ufunc_calls import apply
from funcdiff.ops.axes import accumulation
from funcdiff.ops.axes.accumulation import by_extremum, running_extremum
from funcdiff.ops.axes.indexing import gather
from funcdiff.ops.control.loops import scan
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.families import Elementwise, by_ufunc
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, permute, reshape, select
from funcdiff.space import kept_axes

_REDUCTIONS: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.fmax: np.nanmax,
    np.fmin: np.nanmin,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_SCANS: Final[dict[np.ufunc, Callable[..., Any]]] = {np.add: np.cumsum, np.multiply: np.cumprod}
_SUMS: Final = (np.add, np.multiply)
"""Ufuncs whose reductions take ``dtype=``, and widen small integers."""
_LOGIC: Final = (np.logical_and, np.logical_or)
"""Ufuncs whose reductions are np.all and np.any, which have no ``initial=``."""


def call_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Return what ``ufunc.method(*inputs, **kwargs)`` is for traced arrays."""
    try:
        return _call(ufunc, method, inputs, dict(kwargs))
    except Exception as error:
        name = ufunc_name(ufunc)
        explain(error, name if method == "__call__" else f"{name}.{method}", inputs, kwargs)
        raise


def _call(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if method == "__call__":
        return ufunc_calls.call(ufunc, inputs, keywords)
    if method == "at":
        return _at(ufunc, *inputs)
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if method == "outer":
        return _outer(ufunc, *inputs, **keywords)
    if isinstance(keywords.get("out"), tuple):
        (keywords["out"],) = keywords["out"]
    if method == "reduce":
        _check_caller(inputs[0], keywords.get("out"))
    methods: dict[str, Callable[..., Any]] = {
        "reduce": reduce,
        "accumulate": accumulate,
        "reduceat": reduceat,
    }
    return methods[method](ufunc, *inputs, **keywords)


def _check_caller(x: Any, out: Any) -> None:
    """Refuse methods of ndarrays that go on with `out` as they do with no array of NumPy's."""
    if isinstance(x, Tracer) or not isinstance(out, Tracer) or isinstance(out, np.ndarray):
        return
    code = sys._getframe(4).f_code
    if code.co_name in ("_mean", "_var") and code.co_filename.endswith("_methods.py"):
        raise UnsupportedNumPyError(
            "The method mean, var or std of an ordinary array was given a traced one as out=, at "
            f"{user_location()}, where NumPy would leave it half done. Use the function: "
            "np.mean(x, out=y)."
        )


def _at(ufunc: np.ufunc, target: Any, index: Any, *values: Any) -> None:
    if not isinstance(target, Tracer):
        raise refusal_error(
            f"{ufunc_name(ufunc)}.at of an ordinary array with traced values",
            f"Make the array {MADE_INSIDE}.",
        )
    assignment.at(target, ufunc, index, *values)


def _outer(ufunc: np.ufunc, x: Any, y: Any, **keywords: Any) -> Any:
    x, y = (array(z) for z in (x, y))  # Python numbers are strong here
    widened = reshape(x, (*x.shape, *(1,) * y.ndim))
    return ufunc_calls.call(ufunc, (widened, y), keywords)


# ---- reductions --------------------------------------------------------------------------------


def reduce(
    ufunc: np.ufunc,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = default,
    where: Any = True,
) -> Any:
    """Reduce over axes, by default the first one."""
    x = array(x)
    if ufunc in _REDUCTIONS:
        keywords = {"out": out, "where": where}
        keywords = {k: v for k, v in keywords.items() if is_given(v) and v is not True}
        if ufunc in _LOGIC and is_given(initial):
            y = call(_REDUCTIONS[ufunc], (x, axis), {**keywords, "out": None, "keepdims": keepdims})
            return store_reduction(
                f"{ufunc_name(ufunc)}.reduce", apply(ufunc, y, bool(initial)), out
            )
        if is_given(initial) or (initial is None and ufunc in _SUMS):
            keywords["initial"] = initial
        if ufunc in _SUMS:
            keywords["dtype"] = dtype
        elif dtype is not None:
            x = _cast(ufunc, x, dtype)
        return call(_REDUCTIONS[ufunc], (x, axis), {**keywords, "keepdims": keepdims})
    axes = reduction_axes(axis, x.ndim)
    if len(axes) > 1 and ufunc.identity is None:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may "
            "be specified"
        )
    entries = merge_axes(_cast(ufunc, x, dtype), axes)
    mask = mask_of(where, x.shape)
    needed = mask is not None or not entries.shape[0]
    start = _start(ufunc, initial, needed=needed)
    if start is None and needed:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so for where= or "
            f"an empty array one has to specify 'initial'"
        )
    if start is None:
        first, entries = _without_first(entries)
    else:
        first = broadcast_to(convert(start, entries.dtype), entries.shape[1:])
    masks = None if mask is None else merge_axes(mask, axes)
    if start is None and masks is not None:
        _, masks = _without_first(masks)
    (result,) = _fold(ufunc, first, entries, masks, stacks=False)
    result = with_kept(result, x, axes, keepdims)
    return store_reduction(f"{ufunc_name(ufunc)}.reduce", result, out)


def _start(ufunc: np.ufunc, initial: Any, *, needed: bool) -> Tracer | None:
    """Return what a reduction starts from, None if from its first entry.

    NumPy starts from the identity of the ufunc; of a single -1, np.hypot makes hypot(0, -1) = 1.
    An infinite one, np.logaddexp's, changes nothing, but would take a share of the derivative from
    infinite entries: it is used only if there may be no entry.
    """
    if is_given(initial):
        value: Tracer = array(initial)
        return value
    if initial is not default or ufunc.identity is None:
        return None
    return array(ufunc.identity) if needed or np.isfinite(ufunc.identity) else None


def _cast(ufunc: np.ufunc, x: Tracer, dtype: Any) -> Tracer:
    """Convert to the dtype in which NumPy reduces; it raises if there is none."""
    wanted = x.dtype if dtype is None else program_dtype(dtype)
    first, second, _ = ufunc.resolve_dtypes((None, wanted, None), reduction=True)
    if first != second:
        raise refusal_error(f"{ufunc_name(ufunc)}.reduce of {wanted}", "Convert the array first.")
    return convert(x, first)


def _without_first(x: Tracer) -> tuple[Tracer, Tracer]:
    first = reshape(slice_along(x, 0, 0, 1), x.shape[1:])
    return first, slice_along(x, 0, 1, x.shape[0])


def _step(ufunc: np.ufunc, x: Tracer) -> Elementwise | None:
    """Return the operation of a ufunc if arrays like `x` can be accumulated with it."""
    found = by_ufunc.get(ufunc)
    return found if found is not None and accumulation.is_accumulable(found, x) else None


def _fold(
    ufunc: np.ufunc, first: Tracer, rows: Tracer, masks: Tracer | None, *, stacks: bool
) -> list[Tracer]:
    """Return ``ufunc(... ufunc(ufunc(first, rows[0]), rows[1]) ...)``, or all steps of it."""
    step = _step(ufunc, rows)
    if masks is None and step is not None:
        n = rows.shape[0]
        every = concatenate([reshape(first, (1, *first.shape)), rows], 0)
        steps = accumulation.accumulate(step, every, 0)
        last = reshape(slice_along(steps, 0, n, n + 1), first.shape)
        return [last, slice_along(steps, 0, 1, n + 1)] if stacks else [last]
    with Builder("fold", CLOSED) as builder:
        total, row = builder.input(first.type), builder.input(first.type)
        inputs = [total, row]
        result = apply(ufunc, total, row)
        if masks is not None:
            inputs.append(builder.input(ArrayType(first.shape, BOOL)))
            result = select(inputs[-1], result, total)
        body = builder.program([result, result] if stacks else [result])
    operands = [rows] if masks is None else [rows, masks]
    return list(scan(Scan(body, 0, 1, rows.shape[0], reverse=False), [first, *operands]))


# ---- scans -------------------------------------------------------------------------------------


def accumulate(ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """Return the reductions of all beginnings along an axis."""
    x = array(x)
    if x.ndim == 0:
        raise TypeError("cannot accumulate on a scalar")
    if ufunc in _SCANS:
        return call(_SCANS[ufunc], (x, axis), {"dtype": dtype, "out": out})
    along = normalize_axis(axis, x.ndim)
    moved: Any = _cast(ufunc, x, dtype)
    if ufunc in by_extremum:
        return store_reduction(
            f"{ufunc_name(ufunc)}.accumulate", running_extremum(ufunc, moved, along), out
        )
    step = _step(ufunc, moved)
    if step is not None:
        steps = accumulation.accumulate(step, moved, along)
        return store_reduction(f"{ufunc_name(ufunc)}.accumulate", steps, out)
    moved = np.moveaxis(moved, along, 0)
    if x.shape[along]:
        first, rest = _without_first(moved)
        _, rows = _fold(ufunc, first, rest, None, stacks=True)
        moved = concatenate([reshape(first, (1, *first.shape)), rows], 0)
    result: Any = np.moveaxis(moved, 0, along)
    return store_reduction(f"{ufunc_name(ufunc)}.accumulate", result, out)


def reduceat(
    ufunc: np.ufunc, x: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Return the reductions from each index up to the next, or the element if that is behind it.

    Stretches of one length are reduced together: there are at most about √(2n) lengths.
    """
    x = array(x)
    if x.ndim == 0:
        raise TypeError("cannot reduceat on a scalar")
    along = normalize_axis(axis, x.ndim)
    size = x.shape[along]
    given_starts = np.asarray(indices) if isinstance(indices, Tracer) else indices
    model = np.broadcast_to(np.zeros((), bool), (size,))
    np.add.reduceat(model, given_starts)  # NumPy's own errors
    starts = np.asarray(positions(given_starts))
    ends = np.append(starts[1:], size)
    lengths = np.maximum(ends - starts, 1)
    rows = permute(x, (*kept_axes(x.ndim, (along,)), along))
    flat: Any = reshape(rows, (rows.type.size,))
    offsets = size * np.arange(rows.type.size // max(size, 1)).reshape(-1, 1)
    groups, order = [], []
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        places = (offsets + starts[members])[..., np.newaxis] + np.arange(length)
        groups.append(_stretches(ufunc, gather(flat, [array(places)], (0,)), dtype))
        order.append(members)
    shape = (*rows.shape[:-1], len(starts))
    if groups:
        joined = concatenate(groups, 1)
        back = np.argsort(np.concatenate(order))
        joined = gather(joined, [array(back)], (1,))  # the indexed axis comes first
        result: Any = reshape(joined, (len(starts), *rows.shape[:-1]))
    else:
        result = constant(0, reduce(ufunc, flat[:1], 0, dtype).type.with_shape((0, *shape[:-1])))
    turned: Any = np.moveaxis(result, 0, along)
    return store_reduction(f"{ufunc_name(ufunc)}.reduceat", turned, out)


def _stretches(ufunc: np.ufunc, x: Any, dtype: Any) -> Tracer:
    """Reduce along the last axis; sums begin with the first element, as those of NumPy do here."""
    if ufunc is not np.add or x.shape[-1] == 1:
        result: Tracer = reduce(ufunc, x, -1, dtype, initial=None)  # from the first entry
        return result
    first, rest = (reduce(ufunc, x[..., k], -1, dtype) for k in (slice(1), slice(1, None)))
    total: Tracer = apply(ufunc, first, rest)
    return total
