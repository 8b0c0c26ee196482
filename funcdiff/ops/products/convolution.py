"""Convolution: products of entries whose places fit, summed; `contract` with sliding axes.

``out[k…, p…] = Σ left[i…, q…]·right[j…, t…]`` over the labels that `out` does not have, and over
the places q and t with ``a·q + b·t = c·p + o`` along every axis behind the labels.  With a, b, c
and o this is the convolution of signals (1, 1, 1, 0), the cross-correlation of neural networks
(1, -dilation, stride, -padding), and the transposes of both: solved for another place, the equation
has the same form.  So the transposes are convolutions of as many products, and the batch rule
prepends a label, as that of `contract` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.products.contract import Contraction, exchange, labelled_product, renumber
from funcdiff.ops.products.windows import Geometry, convolve_by_products

Steps: TypeAlias = tuple[int, int, int]

_FEW: Final = 2
"""Rows of sequences up to which NumPy convolves them faster than BLAS multiplies copies."""


class Convolution(Contraction):
    """Labels of the leading axes, as `Contraction` has them; the equation of every further axis.

    Attributes
    ----------
    steps
        ``(a, b, c)`` for each further axis, none of them 0, and c > 0.
    offsets
        o for each of these axes.
    lengths
        How many places the result has along each of them.
    """

    steps: tuple[Steps, ...]
    offsets: tuple[int, ...]
    lengths: tuple[int, ...]


P = TypeVar("P", bound=Convolution)


def _abstract(p: Convolution, x: ArrayType, y: ArrayType) -> Types:
    sides = (p.left, p.right, p.out)
    axes = len(p.steps)
    fits = (len(p.left) + axes, len(p.right) + axes) == (x.ndim, y.ndim) and x.dtype == y.dtype
    distinct = all(len(set(side)) == len(side) for side in sides)
    shared = all(sum(k in side for side in sides) >= 2 for side in sides for k in side)
    sizes = dict(zip(p.left, x.shape, strict=False))
    agree = all(sizes.setdefault(k, n) == n for k, n in zip(p.right, y.shape, strict=False))
    slides = all(0 not in step and step[2] > 0 for step in p.steps)
    counted = axes == len(p.offsets) == len(p.lengths) and all(n >= 0 for n in p.lengths)
    if not (axes and fits and distinct and shared and agree and slides and counted):
        raise TypeError(f"cannot convolve {x} with {y} as {p}")
    return (x.with_shape((*(sizes[k] for k in p.out), *p.lengths)),)


# ---- the value -----------------------------------------------------------------------------------


def _impl(p: Convolution) -> Callable[..., Any]:
    def function(x: Any, y: Any) -> Any:
        g = _geometry(p, x.shape, y.shape)
        if not (x.size and y.size and prod(p.lengths)):
            return np.zeros((*g.of(p.out), *p.lengths), x.dtype)
        if _are_sequences(p, g):
            return _sequences(p, g, x, y)
        if x.dtype != np.float16:
            return convolve_by_products(g, x, y)
        # sums in single precision, rounded once
        return convolve_by_products(g, x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)

    return function


def _geometry(p: Convolution, left: tuple[int, ...], right: tuple[int, ...]) -> Geometry:
    every = dict(zip(p.left, left, strict=False)) | dict(zip(p.right, right, strict=False))
    number = {k: position for position, k in enumerate(every)}
    labels = [tuple(number[k] for k in side) for side in (p.left, p.right, p.out)]
    a, b, c = (tuple(step[k] for step in p.steps) for k in range(3))
    return Geometry(
        (labels[0], labels[1], labels[2]),
        (a, b, tuple(-step for step in c)),
        p.offsets,
        tuple(every.values()),
        (left[len(p.left) :], right[len(p.right) :], p.lengths),
    )


def _are_sequences(p: Convolution, g: Geometry) -> bool:
    """Whether single sequences meet, few of them on one side, whose places go by ones."""
    if len(p.steps) > 1 or set(map(abs, p.steps[0])) != {1}:
        return False
    summed = prod(n for k, n in enumerate(g.sizes) if k not in g.labels[2])
    alone = [prod(n for k, n in enumerate(g.sizes) if k not in side) for side in g.labels[:2]]
    return summed == 1 and min(alone) <= _FEW


def _sequences(p: Convolution, g: Geometry, x: Any, y: Any) -> Any:
    """Let NumPy convolve every pair of sequences: what it computes has its own bits."""
    (a, b, _), (offset,), (length,) = p.steps[0], p.offsets, p.lengths
    if a < 0:
        x, offset = x[..., ::-1], offset + x.shape[-1] - 1
    if b < 0:
        y, offset = y[..., ::-1], offset + y.shape[-1] - 1
    (n,), (m,) = g.lengths[:2]
    full = offset == 0 and length == n + m - 1
    if not full and n >= m:
        x = _extend(x, m - 1 - offset, offset + length - n)
    elif not full:
        y = _extend(y, n - 1 - offset, offset + length - m)
    mode: Any = "full" if full else "valid"
    z = np.empty((*g.of(g.labels[2]), length), x.dtype)
    for index in np.ndindex(z.shape[:-1]):
        at = dict(zip(g.labels[2], index, strict=True))
        u, v = (
            s[tuple(at.get(k, 0) for k in side)] for s, side in zip((x, y), g.labels, strict=False)
        )
        z[index] = np.convolve(u, v, mode)
    return z


def _extend(x: Any, before: int, behind: int) -> Any:
    """Return sequences with so many zeros at their ends, or, if negative, so much shorter."""
    length = x.shape[-1]
    start, stop = max(0, -before), min(length, length + behind)
    if max(before, behind) <= 0:
        return x[..., start:stop]
    result = np.zeros((*x.shape[:-1], before + length + behind), x.dtype)
    if start < stop:
        result[..., before + start : before + stop] = x[..., start:stop]
    return result


# ---- its rules -----------------------------------------------------------------------------------


def solve_for(p: P, operand: int, shape: tuple[int, ...]) -> P:
    """Return the convolution of the result, in its place, with the other operand.

    It gives the cotangent of an operand of this shape: the equation of the places is solved for q,
    ``c·p - b·t = a·q - o``, or for t, and multiplied by -1 where the new c would be negative.
    """
    lengths = shape[len((p.left, p.right)[operand]) :]
    if operand == 0:
        steps = [(c, -b, a) for a, b, c in p.steps]
    else:
        steps = [(-a, c, b) for a, b, c in p.steps]
    signs = [1 if step[2] > 0 else -1 for step in steps]
    turned = tuple((s * a, s * b, s * c) for s, (a, b, c) in zip(signs, steps, strict=True))
    moved = tuple(-s * o for s, o in zip(signs, p.offsets, strict=True))
    q = exchange(p, operand, shape)
    return replace(q, steps=turned, offsets=moved, lengths=lengths)


convolve_p: Final = labelled_product(
    "convolve", Convolution, abstract=_abstract, impl=_impl, solve_for=solve_for
)


def convolve(x: Tracer, y: Tracer, p: Convolution) -> Tracer:
    """Multiply and sum what fits."""
    return bind(convolve_p, renumber(p), x, y)[0]


def sequences(x: ArrayType, y: ArrayType, *, full: bool) -> Convolution:
    """Return the convolution along the last axis, of stacks of one shape: Σ_k x[i-k]·y[k].

    There are results where the sequences overlap in part, or only where they fully do.
    """
    stack = tuple(range(x.ndim - 1))
    overhang = min(x.shape[-1], y.shape[-1]) - 1
    length = max(x.shape[-1], y.shape[-1]) + (overhang if full else -overhang)
    return Convolution(stack, stack, stack, ((1, 1, 1),), (0 if full else overhang,), (length,))
