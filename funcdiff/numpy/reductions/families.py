"""Families of reductions: one function for all members, and for their forms that leave NaN out.

``np.nansum`` is ``np.sum`` of the array where NaN is replaced by what does not count.  What becomes
of a slice of nothing but NaN, the function of the family says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.promotion import Traced, array, program_dtype
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.shapes.shape import normalize_axes
from funcdiff.ops.elementwise.logic import isnan
from funcdiff.ops.structure.structural import permute, reshape, select
from funcdiff.space import kept_axes

# ---- members -----------------------------------------------------------------------------------


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


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
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
