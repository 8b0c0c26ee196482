"""``ufunc.accumulate``: y[k] = f(y[k-1], x[k]) for an elementwise operation f of two operands.

The values are those of NumPy's own loop.  The derivative is a linear recurrence,
dy[k] = ∂f/∂u·dy[k-1] + ∂f/∂v·dx[k], with the partial derivatives of all steps at once.
For running maxima and minima it follows the entries that are the extremum so far; equal entries
share it equally, as in the maximum of the beginning that ends there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.access import along
from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import (
    NONE,
    Params,
    Primitive,
    Types,
    primitives,
)
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.recurrence import recurrence
from funcdiff.ops.elementwise.logic import same
from funcdiff.ops.elementwise.mathematics import mul, reciprocal
from funcdiff.ops.families import Elementwise, unary
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import Axis, concatenate, convert, select
from funcdiff.space import zeros


class Accumulation(Params):
    """The name of the elementwise operation, and the axis."""

    operation: str
    axis: int


def _abstract(p: Accumulation, x: ArrayType) -> Types:
    step = primitives.get(p.operation)
    if step is None or step.abstract(NONE, x, x) != (x,) or not 0 <= p.axis < x.ndim:
        raise TypeError(f"cannot accumulate {x} along axis {p.axis} with {p.operation}")
    return (x,)


def _impl(p: Accumulation) -> Callable[..., Any]:
    ufunc: Any = primitives[p.operation].impl(NONE)
    return lambda x: ufunc.accumulate(x, axis=p.axis, dtype=x.dtype)


def _tangent(p: Accumulation, x: Tracer, y: Tracer, t: Tracer) -> Tracer:
    n = x.shape[p.axis]
    if n < 2:
        return t
    before = slice_along(y, p.axis, 0, n - 1)
    rest, moved = (slice_along(z, p.axis, 1, n) for z in (x, t))
    jvp = primitives[p.operation].jvp
    assert jvp is not None
    _, (slope,) = jvp(NONE, [before, rest], [constant(1, rest.type), None])
    _, (term,) = jvp(NONE, [before, rest], [None, moved])
    first = slice_along(t, p.axis, 0, 1)
    a, b = (zeros(rest.type) if z is None else z for z in (slope, term))
    a, b = concatenate([zeros(first.type), a], p.axis), concatenate([first, b], p.axis)
    return recurrence(a, b, p.axis)


accumulate_p: Final = unary(
    "accumulate", Accumulation, abstract=_abstract, impl=_impl, tangent=_tangent, access=along
)


def is_accumulable(operation: Elementwise, x: Tracer) -> bool:
    """Whether `accumulate` knows the operation: a ufunc whose result is of the operands' type."""
    if not isinstance(operation.ufunc, np.ufunc):
        return False
    try:
        return operation.primitive.abstract(NONE, x.type, x.type) == (x.type,)
    except TypeError:
        return False


def accumulate(operation: Elementwise, x: Tracer, axis: int) -> Tracer:
    """Return the results of ``f(...f(f(x[0], x[1]), x[2])...)`` for all beginnings."""
    return bind(accumulate_p, Accumulation(operation.primitive.name, axis), x)[0]


def _is_unchanged(y: Tracer, axis: int) -> Tracer:
    """Return where an element is the same as the one before it; the first one is not."""
    length = y.shape[axis]
    before, after = slice_along(y, axis, 0, length - 1), slice_along(y, axis, 1, length)
    first = slice_along(y, axis, 0, 1).type.with_dtype(BOOL)
    return concatenate([constant(False, first), same(before, after)], axis)


def _running_tangent(p: Axis, x: Tracer, y: Tracer, t: Tracer) -> Tracer:
    if not x.shape[p.axis]:
        return t
    owners = same(x, y)
    lasts = _is_unchanged(y, p.axis)
    wide = convert(t, np.result_type(t.dtype, np.float32))  # half precision counts to 2048
    total = recurrence(lasts, select(owners, wide, zeros(wide.type)), p.axis)
    count = recurrence(lasts, convert(owners, wide.dtype), p.axis)
    return convert(mul(total, reciprocal(count)), t.dtype)


def _running(ufunc: np.ufunc) -> Primitive[Axis]:
    return unary(
        f"running_{ufunc.__name__}",
        Axis,
        abstract=lambda _p, x: (x,),
        impl=lambda p: lambda x: ufunc.accumulate(x, axis=p.axis),
        tangent=_running_tangent,
        access=along,
    )


by_extremum: Final[dict[np.ufunc, Primitive[Axis]]] = {
    f: _running(f) for f in (np.maximum, np.minimum, np.fmax, np.fmin)
}
"""The primitive of a ufunc's running extremum."""


def running_extremum(ufunc: np.ufunc, x: Tracer, axis: int) -> Tracer:
    """Return the extrema of all beginnings along an axis."""
    return bind(by_extremum[ufunc], Axis(axis), x)[0]
