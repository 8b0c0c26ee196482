"""Reductions over axes: sum, product, extrema, logic and positions.

The keywords mean what they mean to NumPy.  An entry left out by ``where=`` is replaced by the
neutral element before reducing, so that it gets a derivative of zero; ``initial=`` is one more
entry, with a derivative of its own if it is traced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT, ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.masks import fill_left_out, mask_of, refuse_where, sum_of
from funcdiff.numpy.border.promotion import Traced, array, broadcast_to, fit, program_dtype
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.shapes.shape import normalize_axes, normalize_axis
from funcdiff.ops.axes.reductions import argmax as position_of_max
from funcdiff.ops.axes.reductions import argmin as position_of_min
from funcdiff.ops.axes.reductions import (
    axes_last,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
)
from funcdiff.ops.elementwise.logic import isnan
from funcdiff.ops.products.masked import sum_from
from funcdiff.ops.structure.structural import concatenate, convert, permute, reshape, select
from funcdiff.space import kept_axes, reduce_sum

# ---- members -----------------------------------------------------------------------------------


# --------------------------------------------------------------------------------------------------
# Families of reductions: one function for all members, and for their forms that leave NaN out.
#
# ``np.nansum`` is ``np.sum`` of the array where NaN is replaced by what does not count. What
# becomes of a slice of nothing but NaN, the function of the family says.


class Member(NamedTuple):
    """What sets a function apart from the others of its family."""

    name: str  # NumPy's: ``sum``, and ``np.sum`` once it is entered
    doc: str  # its docstring, with braces for the words of the form that leaves NaN out
    operation: Any = None  # as the family takes it
    neutral: float = 0  # value that does not count; an infinity is the bound of any dtype
    without: str = ", leaving NaN out"  # those words
    skips_nan: bool = False  # whether it is that form

    def read(self, a: Any) -> tuple[Tracer, Tracer | None]:
        """Return an array, NaN replaced by what does not count, and where there may be NaN."""
        x = array(a)
        if not self.skips_nan or not x.type.differentiable:
            return x, None
        nan = isnan(x)
        return select(nan, constant(self.neutral_of(x.dtype), x.type), x), nan

    def neutral_of(self, dtype: np.dtype[Any]) -> Any:
        """Return what does not count, as a number of this dtype."""
        if isfinite(self.neutral):
            return self.neutral
        if dtype.kind == "b":
            return self.neutral > 0
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            return limits.min if self.neutral < 0 else limits.max
        return complex(self.neutral, self.neutral) if dtype.kind == "c" else self.neutral

    def finish(
        self, y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: Any, out: Any
    ) -> Traced:
        """Return a reduction of `x` over axes as its keywords ask for it."""
        return store_reduction(self.name, with_kept(y, x, axes, keepdims), out)


def family(
    *members: Member, operands: float = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function of a member as each member, and as its form without NaN.

    Those that NumPy does not have, or this version of it, are passed over.  What `operands` are,
    `implements` says.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for member in members:
            for form in (member, member._replace(name=f"nan{member.name}", skips_nan=True)):
                _enter(function, form, operands)
        return function

    return enter


def _enter(function: Callable[..., Any], member: Member, operands: float) -> None:
    ours: Any = partial(function, member._replace(name=f"np.{member.name}"))
    ours.__name__ = function.__name__
    ours.__doc__ = member.doc.format(member.without if member.skips_nan else "")
    implements(member.name, operands=operands)(ours)


# ---- keywords ----------------------------------------------------------------------------------


def is_given(value: Any) -> bool:
    """Return whether a keyword was given: neither None nor NumPy's mark for nothing."""
    return value is not None and value is not default


@lru_cache(maxsize=256)
def _default_accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    widened: np.dtype[Any] = np.add.reduce(np.empty(0, dtype)).dtype
    return widened


def accumulator(x: Tracer, dtype: Any, out: Any) -> np.dtype[Any]:
    """Return the dtype in which NumPy adds or multiplies: small integers are widened."""
    if dtype is not None:
        return program_dtype(dtype)
    if isinstance(out, Tracer):
        joined: np.dtype[Any] = np.result_type(x.dtype, out.dtype)
        return joined
    return _default_accumulator(x.dtype)


def reduction_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction, ascending; a 0-d array may be reduced over axis 0 or -1."""
    if ndim == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return normalize_axes(axis, ndim)


def with_kept(y: Tracer, x: Tracer, axes: tuple[int, ...], keepdims: Any) -> Traced:
    """Return a reduction of `x`, with the reduced axes as axes of length 1 if wanted."""
    if is_given(keepdims) and keepdims:
        y = reshape(y, tuple(1 if k in axes else n for k, n in enumerate(x.shape)))
    return y


def merge_axes(x: Tracer, axes: tuple[int, ...]) -> Traced:
    """Return an array with the axes of a reduction merged into its first one."""
    kept = kept_axes(x.ndim, axes)
    size = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    return reshape(permute(x, (*axes, *kept)), (size, *(x.shape[axis] for axis in kept)))


def store_reduction(name: str, result: Tracer, out: Any) -> Traced:
    """Return a reduction, written into ``out=`` if there is one, which must have its dtype.

    NumPy casts intermediate results into another one on the way, truncating; that is refused.
    """
    return mutation.store(name, views.fresh(result), out, casting="equiv")


# ---- where a reduction starts ------------------------------------------------------------------


def _scalar_initial(initial: Any, dtype: np.dtype[Any]) -> Traced:
    if np.ndim(initial) != 0:
        raise ValueError(
            f"initial= has shape {np.shape(initial)} at {user_location()}; it must be a scalar"
        )
    return fit(initial, ArrayType((), dtype))


def _check_start(name: str, x: Tracer, axes: tuple[int, ...], initial: Any) -> None:
    """Raise if ``initial=None`` says that a sum or product of nothing has no value."""
    if initial is None and any(x.shape[axis] == 0 for axis in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def _with_initial(x: Tracer, axes: tuple[int, ...], initial: Any) -> tuple[Tracer, tuple[int]]:
    """Merge the reduced axes into a last one, in front of which stands the initial value."""
    entries = axes_last(x, axes)
    last = entries.ndim - 1
    first = broadcast_to(_scalar_initial(initial, x.dtype), (*entries.shape[:-1], 1))
    return concatenate([first, entries], last), (last,)


# ---- sum and product ---------------------------------------------------------------------------


def _add_up(x: Tracer, axes: tuple[int, ...], initial: Any, where: Any) -> Tracer:
    _check_start("add", x, axes, initial)
    if is_given(initial):
        return sum_from(_scalar_initial(initial, x.dtype), x, mask_of(where, x.shape), axes)
    return sum_of(x, axes, where)


def _multiply_up(x: Tracer, axes: tuple[int, ...], initial: Any, where: Any) -> Tracer:
    _check_start("multiply", x, axes, initial)
    x = fill_left_out(x, where, 1)
    return (
        reduce_prod(*_with_initial(x, axes, initial)) if is_given(initial) else reduce_prod(x, axes)
    )


@family(
    Member("sum", "Sum over axes{}.", _add_up, 0, ", NaN counting as 0"),
    Member("prod", "Multiply over axes{}.", _multiply_up, 1, ", NaN counting as 1"),
    operands=1,
)
def _total(
    of: Member,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    x, _ = of.read(a)
    axes = reduction_axes(axis, x.ndim)
    total = of.operation(convert(x, accumulator(x, dtype, out)), axes, initial, where)
    return of.finish(total, x, axes, keepdims, out)


# ---- extrema -----------------------------------------------------------------------------------

_UNLESS_NAN: Final = " that is not NaN, NaN where there is none"
_LARGEST: Final = (
    "Return the largest entry over axes{}; equal ones share the derivative.",
    reduce_max,
    -np.inf,
    _UNLESS_NAN,
)
_SMALLEST: Final = (
    "Return the smallest entry over axes{}; equal ones share the derivative.",
    reduce_min,
    np.inf,
    _UNLESS_NAN,
)


@family(
    Member("max", *_LARGEST),
    Member("amax", *_LARGEST),
    Member("min", *_SMALLEST),
    Member("amin", *_SMALLEST),
    operands=1,
)
def _extremum(
    of: Member,
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = default,
    initial: Any = default,
    where: Any = default,
) -> Traced:
    """Reduce to an extremum; without a start, that of nothing but NaN is NaN."""
    x, nan = of.read(a)
    axes = reduction_axes(axis, x.ndim)
    if is_given(initial):
        entries = fill_left_out(x, where, of.neutral_of(x.dtype))
        y = of.operation(*_with_initial(entries, axes, initial))
        return of.finish(y, x, axes, keepdims, out)
    if mask_of(where, x.shape) is not None:
        raise ValueError(
            f"{of.name} has no identity, so to use a where mask one has to specify 'initial'"
        )
    if any(x.shape[k] == 0 for k in axes):
        raise ValueError(
            f"{of.name}: zero-size array to a reduction operation which has no identity, "
            f"at {user_location()}; specify 'initial'"
        )
    y = of.operation(x, axes)
    if nan is not None:
        y = select(reduce_all(nan, axes), constant(np.nan, y.type), y)
    return of.finish(y, x, axes, keepdims, out)


# ---- logic and positions: no derivative ----------------------------------------------------------


@family(
    Member("all", "Return whether all entries over axes are non-zero.", reduce_all, True),
    Member("any", "Return whether any entry over axes is non-zero.", reduce_any, False),
    operands=1,
)
def _logic(
    of: Member,
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: Any = default,
    *,
    where: Any = default,
) -> Traced:
    x = fill_left_out(convert(array(a), BOOL), where, of.neutral)
    axes = reduction_axes(axis, x.ndim)
    return of.finish(of.operation(x, axes), x, axes, keepdims, out)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Traced:
    """Return how many entries over axes are non-zero, int64."""
    x = array(a)
    axes = reduction_axes(axis, x.ndim)
    count = reduce_sum(convert(convert(x, BOOL), INT), axes)
    return views.fresh(with_kept(count, x, axes, keepdims))


@family(
    Member(
        "argmax",
        "Return the position of the (first) largest entry{}, int64.",
        position_of_max,
        -np.inf,
        " that is not NaN",
    ),
    Member(
        "argmin",
        "Return the position of the (first) smallest entry{}, int64.",
        position_of_min,
        np.inf,
        " that is not NaN",
    ),
)
def _position(
    of: Member, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = default
) -> Traced:
    x, nan = of.read(a)
    flat = reshape(x, (x.type.size,)) if axis is None or x.ndim == 0 else x
    along = 0 if axis is None else normalize_axis(axis, flat.ndim)
    if flat.shape[along] == 0:
        name = of.operation.__name__
        raise ValueError(f"attempt to get {name} of an empty sequence")
    axes = tuple(range(x.ndim)) if flat is not x or axis is None else (along,)
    found = of.operation(flat, along)
    if nan is not None:
        error = ValueError("All-NaN slice encountered")
        found = refuse_where(reduce_all(nan, axes), error, found)
    return of.finish(found, x, axes, keepdims, out)
