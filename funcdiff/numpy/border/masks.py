"""Masks of reductions: the entries that ``where=`` leaves out take no part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.running.decisions import decided
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.dispatch import default
from funcdiff.numpy.border.promotion import array, broadcast_to
from funcdiff.numpy.border.values import concrete_value, value_of
from funcdiff.ops.axes.indexing import places
from funcdiff.ops.control.guard import demand
from funcdiff.ops.products.masked import masked_sum
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import reduce_sum, splat


def holds(condition: Any) -> bool:
    """Return whether a condition holds anywhere; False where the trace has no values."""
    try:
        with np.errstate(all="ignore"):
            return bool(value_of(np.any(condition)))
    except ConcreteValueError:
        return False


def refuse_where(condition: Any, error: Exception, x: Any) -> Any:
    """Return `x`; an error is raised where a condition holds anywhere.

    Where the trace has no values, it is when the program runs.
    """
    anywhere = np.any(condition)
    try:
        with np.errstate(all="ignore"):
            is_refused = bool(value_of(anywhere))
    except ConcreteValueError:
        return demand(array(x), array(anywhere), error)
    if is_refused:
        raise error
    return x


def mask_of(where: Any, shape: tuple[int, ...]) -> Tracer | None:
    """Return the mask of ``where=`` in the shape of the operand, None if it leaves nothing out."""
    if where is None or where is default or where is True:
        return None
    mask = array(where)
    if mask.dtype != BOOL:
        raise TypeError(
            f"where= is an array of dtype {mask.dtype} at {user_location()}; it needs booleans, "
            "such as x > 0"
        )
    return None if splat(mask) else broadcast_to(mask, shape)


def fill_left_out(x: Tracer, where: Any, neutral: Any) -> Tracer:
    """Return `x` with the entries that ``where=`` leaves out replaced by a neutral element."""
    mask = mask_of(where, x.shape)
    return x if mask is None else select(mask, x, constant(neutral, x.type))


def sum_of(x: Tracer, axes: tuple[int, ...], where: Any) -> Tracer:
    """Sum over axes what ``where=`` takes; nothing else can reach value or derivative."""
    mask = mask_of(where, x.shape)
    return reduce_sum(x, axes) if mask is None else masked_sum(x, mask, axes)


def count_of(x: Tracer, axes: tuple[int, ...], where: Any) -> int | Tracer:
    """Return how many entries a reduction over `axes` takes: an int, or with a mask an array."""
    mask = mask_of(where, x.shape)
    if mask is None:
        return int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    return reduce_sum(convert(mask, INT), axes)


def true_places(mask: Any) -> Sequence[Any]:
    """Return the positions of the true elements of a mask with axes, along each of them.

    They are constants if the mask has a value.  Where only the trace that decides knows it, as
    under `jit`, it decides how many there are.
    """
    found = find_true_places(mask) if isinstance(mask, Tracer) else None
    return np.nonzero(np.asarray(mask)) if found is None else found


def find_true_places(mask: Tracer) -> Sequence[Any] | None:
    """Return what `true_places` does; None if nobody knows how many there are."""
    try:
        return np.nonzero(concrete_value(mask))
    except ConcreteValueError:
        count = decided(mask, _count)
        return None if count is None else places(mask, count)


def _count(mask: Tracer) -> Tracer:
    """Record how many elements are true: by one function, as looks are told apart by it."""
    return reduce_sum(convert(mask, INT), tuple(range(mask.ndim)))
