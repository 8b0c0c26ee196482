"""Recursive filters: y[n] = x[n] - Σ_k a[k]·y[n - 1 - k] along the last axis, of any order.

That solves ``A·y = x`` with the unit lower triangular Toeplitz matrix A of 1, a[0], a[1], ...; with
J, which turns vectors around, ``Aᵀ = J·A·J``.  So the transpose is the same filter, run backwards,
and ``A·dy = dx - da * y`` gives the derivative: a convolution, filtered.

References
----------
A. V. Oppenheim, R. W. Schafer, "Discrete-Time Signal Processing", 3rd edition, Prentice Hall 2010,
section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.primitive import NONE, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.products.convolution import Convolution, convolve
from funcdiff.ops.structure.structural import reverse
from funcdiff.space import broadcast, neg, sum_tangents


def _abstract(_p: Params, a: ArrayType, x: ArrayType) -> Types:
    stack = a.shape[:-1]
    if not (a.ndim and x.ndim >= a.ndim and x.shape[: len(stack)] == stack and a.dtype == x.dtype):
        raise TypeError(f"there is no recursive filter of {x} with coefficients {a}")
    return (x,)


def _solve(a: Any, x: Any) -> Any:
    if not (x.size and a.size):
        return x.copy()
    y, one = np.empty_like(x), np.ones(1, a.dtype)
    lfilter = scipy_function("lfilter", "scipy.signal")
    for index in np.ndindex(a.shape[:-1]):
        y[index] = lfilter(one, np.concatenate([one, a[index]]), x[index])
    return y


def _impl(_p: Params) -> Callable[..., Any]:
    return _solve


def convolve_causally(c: Tracer, x: Tracer, lag: int, length: int) -> Tracer:
    """Return Σ_k c[k]·x[n - lag - k] for n = 0, ..., length - 1, along the last axis.

    `x` is a stack of sequences, and `c` has coefficients for all of it or for its first axes.
    """
    stack = tuple(range(x.ndim - 1))
    p = Convolution(stack[: c.ndim - 1], stack, stack, ((1, 1, 1),), (-lag,), (length,))
    return convolve(c, x, p)


def _jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    (a, x), (ta, tx) = xs, ts
    y = recursion(a, x)
    moved = None if ta is None else neg(convolve_causally(ta, y, 1, x.shape[-1]))
    source = sum_tangents([tx, moved])
    return [y], [None if source is None else recursion(a, source)]


def _transpose(_p: Params, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    a, last = xs[0], (cts[0].ndim - 1,)
    assert a is not None
    return [None, reverse(recursion(a, reverse(cts[0], last)), last)]


def _batch(_p: Params, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    a, x = xs
    if not batched[1]:
        x = broadcast(x, (size, *x.shape), tuple(range(1, x.ndim + 1)))
    if not batched[0] and a.ndim > 1:
        a = broadcast(a, (size, *a.shape), tuple(range(1, a.ndim + 1)))
    return [recursion(a, x)]


recursion_p: Final = Primitive(
    "recursion",
    Params,
    abstract=_abstract,
    impl=_impl,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)


def recursion(a: Tracer, x: Tracer) -> Tracer:
    """Return y with y[n] = x[n] - Σ_k a[..., k]·y[n - 1 - k] along the last axis.

    The coefficients have the first axes of `x`, or none of them.
    """
    return bind(recursion_p, NONE, a, x)[0]
