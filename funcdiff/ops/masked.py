"""The sum of the entries that a mask takes, in NumPy's own order of addition.

Adding zeros for the entries left out would be the same sum with other rounding errors: NumPy
adds runs of neighbouring entries pairwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer, bind
from funcdiff.core.primitive import Types
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.families import linear
from funcdiff.ops.structural import select
from funcdiff.space import Axes, Maybe, abstract_reduction, align, broadcast, kept_axes, zeros


def _abstract(p: Axes, x: ArrayType, mask: ArrayType) -> Types:
    if mask is not x.with_dtype(BOOL):
        raise TypeError(f"the mask of {x} cannot be {mask}")
    return abstract_reduction(p, x)


def _impl(p: Axes) -> Callable[..., Any]:
    return lambda x, mask: np.add.reduce(x, axis=p.axes, dtype=x.dtype, where=mask)


def _transpose(p: Axes, types: Types, cts: Sequence[Any], xs: Sequence[Maybe]) -> Sequence[Maybe]:
    x, mask = types[0], xs[1]
    assert mask is not None
    return [select(mask, broadcast(cts[0], x.shape, kept_axes(x.ndim, p.axes)), zeros(x)), None]


def _batch(p: Axes, size: int, xs: Sequence[Tracer], batched: Sequence[bool]) -> Sequence[Tracer]:
    x, mask = align(size, xs, batched)
    return [masked_sum(x, mask, tuple(axis + 1 for axis in p.axes))]


masked_sum_p: Final = linear(
    "masked_sum",
    Axes,
    abstract=_abstract,
    impl=_impl,
    transpose=_transpose,
    batch=_batch,
    given=(1,),
)


def masked_sum(x: Tracer, mask: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Sum the entries over axes where the mask is true."""
    return bind(masked_sum_p, Axes(axes), x, mask)[0]
