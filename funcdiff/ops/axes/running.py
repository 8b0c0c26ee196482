"""Running maxima and minima: the derivative follows the entries that are the extremum so far.

Equal entries share it equally, as in the maximum of the beginning that ends there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer, bind, constant
from funcdiff.core.primitive import Primitive
from funcdiff.core.types import BOOL
from funcdiff.ops.axes.recurrence import recurrence
from funcdiff.ops.elementwise.logic import same
from funcdiff.ops.elementwise.mathematics import mul, reciprocal
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import Axis, concatenate, convert, select
from funcdiff.space import Maybe, zeros


def _unchanged(y: Tracer, axis: int) -> Tracer:
    """Return where an element is the same as the one before it; the first one is not."""
    length = y.shape[axis]
    before, after = slice_along(y, axis, 0, length - 1), slice_along(y, axis, 1, length)
    first = slice_along(y, axis, 0, 1).type.with_dtype(BOOL)
    return concatenate([constant(False, first), same(before, after)], axis)


def _running(name: str, ufunc: np.ufunc) -> Primitive[Axis]:
    def forward(
        p: Axis, xs: Sequence[Tracer], ts: Sequence[Maybe]
    ) -> tuple[Sequence[Tracer], Sequence[Maybe]]:
        (x,), (t,) = xs, ts
        assert t is not None
        (y,) = bind(primitive, p, x)
        if not x.shape[p.axis]:
            return [y], [t]
        owners = same(x, y)
        lasts = _unchanged(y, p.axis)
        total = recurrence(lasts, select(owners, t, zeros(t.type)), p.axis)
        count = recurrence(lasts, convert(owners, t.dtype), p.axis)
        return [y], [mul(total, reciprocal(count))]

    def batch(
        p: Axis, _size: int, xs: Sequence[Tracer], _batched: Sequence[bool]
    ) -> Sequence[Tracer]:
        return bind(primitive, Axis(p.axis + 1), xs[0])

    primitive: Primitive[Axis] = Primitive(
        name,
        Axis,
        abstract=lambda _p, x: (x,),
        impl=lambda p: lambda x: ufunc.accumulate(x, axis=p.axis),
        jvp=forward,
        batch=batch,
    )
    return primitive


by_extremum: Final[dict[np.ufunc, Primitive[Any]]] = {
    np.maximum: _running("running_maximum", np.maximum),
    np.minimum: _running("running_minimum", np.minimum),
    np.fmax: _running("running_fmax", np.fmax),
    np.fmin: _running("running_fmin", np.fmin),
}
"""The primitive of a ufunc's running extremum."""


def running(ufunc: np.ufunc, x: Tracer, axis: int) -> Tracer:
    """Return the extrema of all beginnings along an axis."""
    return bind(by_extremum[ufunc], Axis(axis), x)[0]
