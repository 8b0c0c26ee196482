"""The linear recurrence of first order, y[k] = a[k]·y[k-1] + b[k], along an axis.

Derivatives of cumulative functions are of this form.  It is evaluated by halves: of two steps
one is made, the steps at odd places are a recurrence of half the length, and those at even places
follow from them (G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, section
1.4).  That is linear in the length, and divides by nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.access import along
from funcdiff.core.builder import bind
from funcdiff.core.primitive import Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import Axis, concatenate, reverse
from funcdiff.space import mul, sum_tangents, zeros

_WIDE: Final = 256
"""Elements of one step from which on it is cheaper to go step by step."""


def _abstract(p: Axis, a: ArrayType, b: ArrayType) -> Types:
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


def _impl(p: Axis) -> Callable[..., Any]:
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
    abstract=_abstract,
    impl=_impl,
    jvp=_jvp,
    transpose=_transpose,
    access=along,
)


def recurrence(a: Tracer, b: Tracer, axis: int) -> Tracer:
    """Return y with y[k] = a[k]·y[k-1] + b[k] along an axis, and y[0] = b[0].

    Coefficients may be booleans: what came before is kept or forgotten.
    """
    return bind(recurrence_p, Axis(axis), a, b)[0]
