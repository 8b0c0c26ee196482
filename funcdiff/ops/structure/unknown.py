"""Undefined derivatives: the value is zero, and the derivative is nan.

As a linear operation: what does not change has no part in it, in either mode.  So are zeros that
are cut off, as there would be more of the result if they changed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.access import pointwise
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers
from funcdiff.core.recording.builder import bind
from funcdiff.core.running.walk import made_by
from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import symmetric
from funcdiff.ops.structure.slicing import Slice, replace_slice, slice_p, take_slice
from funcdiff.space import add, broadcast, reduce_sum, zeros


def _nan_unless_zero(x: Any) -> Any:
    return np.where(x == 0, x, np.asarray(np.nan, x.dtype))[()]


unknown_p: Final = symmetric(
    "unknown",
    Params,
    impl=Implementation(lambda _p: _nan_unless_zero, fresh=True),
    access=pointwise,
)


def unknown(x: Tracer) -> Tracer:
    """Return 0 where `x` is 0, and nan elsewhere."""
    return bind(unknown_p, NONE, x)[0]


# ---- zeros that are cut off ----------------------------------------------------------------------


def _trimmed_jvp(p: Slice, xs: Tracers, ts: Tangents) -> Pushed:
    (x,), (t,) = xs, ts
    assert t is not None
    y, kept = trimmed(x, p), take_slice(t, p)
    cut = tuple(k for k in range(x.ndim) if y.shape[k] < x.shape[k])
    others = tuple(k for k in range(x.ndim) if k not in cut)
    lost = reduce_sum(unknown(replace_slice(t, zeros(kept.type), p)), cut)
    return [y], [add(kept, broadcast(lost, kept.shape, others))]


trimmed_p: Final = Primitive(
    "trimmed",
    Slice,
    abstract=slice_p.abstract,
    impl=lambda p: lambda x: x[p.index].copy(),
    jvp=_trimmed_jvp,
)


def trimmed(x: Tracer, p: Slice) -> Tracer:
    """Return a part of an array that is zero elsewhere: its derivative by these zeros is nan."""
    return bind(trimmed_p, p, x)[0]


def _shortened_jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    return [shortened(*xs)], [ts[0]]


shortened_p: Final = Primitive(
    "shortened",
    Params,
    abstract=lambda _p, x, _whole: (x,),
    impl=lambda _p: lambda x, _whole: x,
    jvp=_shortened_jvp,
)


def shortened(x: Tracer, whole: Tracer) -> Tracer:
    """Return `x`, and remember what it would be if nothing had been cut off."""
    return bind(shortened_p, NONE, x, whole)[0]


def whole_of(x: Tracer) -> Tracer:
    """Return a vector with the zeros in front that were cut off."""
    while True:
        cut, short = made_by(x, trimmed_p), made_by(x, shortened_p)
        if short:
            x = short[1][1]
        elif cut and cut[0].stops == cut[1][0].shape:
            x = cut[1][0]
        else:
            return x
