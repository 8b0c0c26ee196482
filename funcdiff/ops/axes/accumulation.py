"""``ufunc.accumulate``, y[k] = f(y[k-1], x[k]), and linear recurrences, its derivatives.

The values are those of NumPy's own loop.  The derivative is a linear recurrence,
dy[k] = ∂f/∂u·dy[k-1] + ∂f/∂v·dx[k], with the partial derivatives of all steps at once.
For running maxima and minima it follows the entries that are the extremum so far; equal entries
share it equally, as in the maximum of the beginning that ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.access import along
from funcdiff.core.primitive import (
    NONE,
    Params,
    Primitive,
    Pushed,
    Tangents,
    Tracers,
    Types,
    primitives,
)
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.elementwise.logic import same
from funcdiff.ops.elementwise.mathematics import reciprocal
from funcdiff.ops.families import Elementwise, unary
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import Axis, concatenate, convert, reverse, select
from funcdiff.space import mul, sum_tangents, zeros

# ---- The linear recurrence of first order, y[k] = a[k]·y[k-1] + b[k], along an axis --------------
#
# Derivatives of cumulative functions are of this form.  It is evaluated by halves: of two steps
# one is made, the steps at odd places are a recurrence of half the length, and those at even places
# follow from them (G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, section
# 1.4).  That is linear in the length, and divides by nothing.


_WIDE: Final = 256
"""Elements of one step from which on it is cheaper to go step by step."""


def _abstract_recurrence(p: Axis, a: ArrayType, b: ArrayType) -> Types:
    if a not in (b, b.with_dtype(BOOL)) or not 0 <= p.axis < b.ndim:
        raise TypeError(f"no recurrence of coefficients {a} and terms {b} along axis {p.axis}")
    return (b,)


def _scale(a: Any, y: Any) -> Any:
    """Return a·y; a boolean coefficient keeps or forgets, also what is infinite."""
    return np.where(a, y, np.zeros((), y.dtype)) if a.dtype == BOOL else a * y


def _solve(a: Any, b: Any) -> Any:
    """Evaluate the recurrence along axis 0."""
    n = len(b)
    y = np.empty_like(b)
    y[:1] = b[:1]
    if n <= 2 or b.size >= _WIDE * n:
        for k in range(1, n):
            y[k] = _scale(a[k], y[k - 1]) + b[k]
        return y
    even, odd = slice(0, n - n % 2, 2), slice(1, n, 2)
    y[odd] = _solve(a[odd] * a[even], _scale(a[odd], b[even]) + b[odd])
    y[2::2] = _scale(a[2::2], y[1:-1:2]) + b[2::2]
    return y


def _impl_recurrence(p: Axis) -> Callable[..., Any]:
    def function(a: Any, b: Any) -> Any:
        y = _solve(np.moveaxis(a, p.axis, 0), np.moveaxis(b, p.axis, 0))
        return np.moveaxis(y, 0, p.axis)

    return function


def previous(y: Tracer, axis: int) -> Tracer:
    """Return y[k-1] in place of y[k] along an axis, and zero in front."""
    length = y.shape[axis]
    first = slice_along(y, axis, 0, min(length, 1))
    before = slice_along(y, axis, 0, max(length - 1, 0))
    return concatenate([zeros(first.type), before], axis)


def _jvp(p: Axis, xs: Tracers, ts: Tangents) -> Pushed:
    """dy[k] = a[k]·dy[k-1] + (da[k]·y[k-1] + db[k])."""
    (a, b), (ta, tb) = xs, ts
    y = recurrence(a, b, p.axis)
    moved = None if ta is None else mul(ta, previous(y, p.axis))
    term = sum_tangents([moved, tb])
    return [y], [None if term is None else recurrence(a, term, p.axis)]


def _transpose(p: Axis, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    """ct_b[k] = a[k+1]·ct_b[k+1] + ct[k]: the same, backwards."""
    a = xs[0]
    assert a is not None
    length = a.shape[p.axis]
    first = slice_along(a, p.axis, 0, min(length, 1))
    rest = slice_along(a, p.axis, min(length, 1), length)
    turned = concatenate([first, reverse(rest, (p.axis,))], p.axis)
    pulled = recurrence(turned, reverse(cts[0], (p.axis,)), p.axis)
    return [None, reverse(pulled, (p.axis,))]


recurrence_p: Final = Primitive(
    "recurrence",
    Axis,
    abstract=_abstract_recurrence,
    impl=_impl_recurrence,
    jvp=_jvp,
    transpose=_transpose,
    access=along,
)


def recurrence(a: Tracer, b: Tracer, axis: int) -> Tracer:
    """Return y with y[k] = a[k]·y[k-1] + b[k] along an axis, and y[0] = b[0].

    Coefficients may be booleans: what came before is kept or forgotten.
    """
    return bind(recurrence_p, Axis(axis), a, b)[0]


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
