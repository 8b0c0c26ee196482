"""An order statistic: a value that some entries along an axis attain.

The value is found elsewhere, by sorting; this operation only says whose derivative it has: that
of the entries equal to it, in equal shares, as for the maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from funcdiff.core.builder import Tracer, bind
from funcdiff.core.primitive import Primitive, Types
from funcdiff.core.types import ArrayType
from funcdiff.ops.logic import same
from funcdiff.ops.reductions import mean_of_marked
from funcdiff.ops.structural import Axis
from funcdiff.space import (
    Axes,
    Maybe,
    abstract_reduction,
    align,
    broadcast,
    kept_axes,
)


def _abstract(p: Axis, x: ArrayType, y: ArrayType) -> Types:
    if abstract_reduction(Axes((p.axis,)), x) != (y,):
        raise TypeError(f"{y} is not {x} without axis {p.axis}")
    return (y,)


def _jvp(
    p: Axis, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[Sequence[Tracer], Sequence[Maybe]]:
    (x, y), (t, _) = xs, ts
    if t is None:
        return [attained(x, y, p.axis)], [None]
    value = broadcast(y, x.shape, kept_axes(x.ndim, (p.axis,)))
    return [attained(x, y, p.axis)], [mean_of_marked(t, same(x, value), (p.axis,))]


def _batch(p: Axis, size: int, xs: Sequence[Tracer], batched: Sequence[bool]) -> Sequence[Tracer]:
    x, y = align(size, xs, batched)
    return [attained(x, y, p.axis + 1)]


attained_p: Final = Primitive(
    "attained",
    Axis,
    abstract=_abstract,
    impl=lambda _p: lambda _x, y: y,
    jvp=_jvp,
    batch=_batch,
)


def attained(x: Tracer, y: Tracer, axis: int) -> Tracer:
    """Return `y`, each element of which is among the entries of `x` along an axis.

    Its derivative is that of the entries of `x` equal to it, in equal shares.
    """
    return bind(attained_p, Axis(axis), x, y)[0]
