"""Convolution of two sequences, bilinear: ``z_i = Σ_k x[i-k]·y[k]``, with NumPy's own sums.

The transposes are correlations, which are convolutions with one sequence turned around.  Each
derivative costs as many products as the value, and no matrix of shifted copies is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer, bind
from funcdiff.core.primitive import Params, Primitive, Types
from funcdiff.core.types import ArrayType
from funcdiff.ops.structural import reverse
from funcdiff.space import Maybe, align, sum_tangents


@dataclass(frozen=True, slots=True)
class Convolution(Params):
    """Whether there are results where the sequences overlap in part, or only where they fully do.

    The sequences lie along the last axis; axes in front of it are a stack, the same for both.
    """

    full: bool


def _abstract(p: Convolution, x: ArrayType, y: ArrayType) -> Types:
    fits = x.ndim == y.ndim > 0 and x.shape[:-1] == y.shape[:-1] and x.dtype == y.dtype
    if not fits or not x.shape[-1] >= y.shape[-1] > 0:
        raise TypeError(f"cannot convolve {x} with {y}, which must be as long or shorter")
    overhang = y.shape[-1] - 1
    length = x.shape[-1] + (overhang if p.full else -overhang)
    return (x.with_shape((*x.shape[:-1], length)),)


def _impl(p: Convolution) -> Any:
    mode: Any = "full" if p.full else "valid"

    def function(x: Any, y: Any) -> Any:
        if x.ndim == 1:
            return np.convolve(x, y, mode)
        (type_,) = _abstract(p, ArrayType(x.shape, x.dtype), ArrayType(y.shape, y.dtype))
        z = np.empty(type_.shape, type_.dtype)
        for index in np.ndindex(x.shape[:-1]):
            z[index] = np.convolve(x[index], y[index], mode)
        return z

    return function


def _forward(
    p: Convolution, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[Sequence[Tracer], Sequence[Maybe]]:
    (x, y), (tx, ty) = xs, ts
    terms = [
        None if tx is None else convolve(tx, y, full=p.full),
        None if ty is None else convolve(x, ty, full=p.full),
    ]
    return [convolve(x, y, full=p.full)], [sum_tangents(terms)]


def _transpose(
    p: Convolution, _types: Types, cts: Sequence[Any], xs: Sequence[Maybe]
) -> Sequence[Maybe]:
    (ct,), (x, y) = cts, xs
    if y is not None:
        return [convolve(ct, _turned(y), full=not p.full), None]
    assert x is not None, "convolve is linear in one operand at a time"
    if p.full:
        return [None, convolve(ct, _turned(x), full=False)]
    return [None, _turned(convolve(x, _turned(ct), full=False))]


def _turned(x: Tracer) -> Tracer:
    return reverse(x, (x.ndim - 1,))


convolve_p: Final = Primitive(
    "convolve",
    Convolution,
    _abstract,
    _impl,
    _forward,
    _transpose,
    batch=lambda p, size, xs, batched: [convolve(*align(size, xs, batched), full=p.full)],
)


def convolve(x: Tracer, y: Tracer, *, full: bool) -> Tracer:
    """Return the convolution along the last axis, of stacks of one shape."""
    long, short = (x, y) if x.shape[-1] >= y.shape[-1] else (y, x)
    return bind(convolve_p, Convolution(full), long, short)[0]
