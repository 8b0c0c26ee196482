"""Convolution: products of entries whose places fit, summed; `contract` with sliding axes.

``out[k…, p…] = Σ left[i…, q…]·right[j…, t…]`` over the labels that `out` does not have, and over
the places q and t with ``a·q + b·t = c·p + o`` along every axis behind the labels.  With a, b, c
and o this is the convolution of signals (1, 1, 1, 0), the cross-correlation of neural networks
(1, -dilation, stride, -padding), and the transposes of both: solved for another place, the equation
has the same form.  So the transposes are convolutions of as many products, and the batch rule
prepends a label, as that of `contract` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import permutations, product
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from funcdiff.core.primitive import Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.products.contract import Contraction, bilinear_product, exchange, renumber

# --------------------------------------------------------------------------------------------------
# Convolution by matrix products (im2col): windows of an array, copied into columns by blocks.
#
# The operands and the result of a convolution are alike: arrays of which those entries meet whose
# places q, t and p fulfil ``a·q + b·t = c·p + o``.  One of the three has few places, the kernel or
# its gradient: these are the *taps*.  Another one is taken as it is, *place* by place.  The third
# one is seen through *windows*: the entries that meet the first tap, the second tap, ...
#
# The windows of some places are a matrix with a row for every tap: a factor of a product that BLAS
# computes or, if it is the result that has windows, such a product, whose rows are then added up.
# Which of the three takes which part is a matter of cost only.
#
# K. Chellapilla, S. Puri, P. Simard, "High Performance Convolutional Neural Networks for Document
# Processing", Workshop on Frontiers in Handwriting Recognition, 2006.


Shape: TypeAlias = tuple[int, ...]
Labels: TypeAlias = tuple[int, ...]

OUT: Final = 2
"""The result, where the operands are 0 and 1."""

_BLOCK: Final = 1 << 17
"""Elements of the columns that are made at a time, so that they stay in the cache."""

_PER_PRODUCT, _PER_SUM, _PER_CALL = 0.1, 1.5, 3000.0
"""Times of a product in BLAS, an added element and a call of NumPy, in that of a copied element."""


class Geometry(NamedTuple):
    """A convolution of arrays of certain shapes: of left, right and out, where there are three."""

    labels: tuple[Labels, Labels, Labels]  # of the leading axes
    steps: tuple[Shape, Shape, Shape]  # along each further axis: ``Σ step·place = offset``
    offsets: Shape  # one for each of these axes
    sizes: Shape  # how many entries each label has
    lengths: tuple[Shape, Shape, Shape]  # numbers of places along each axis

    def of(self, labels: Labels) -> Shape:
        """Return the sizes of some labels."""
        return tuple(self.sizes[k] for k in labels)


class Parts(NamedTuple):
    """Which of left, right and out has the taps, is taken as it is, and has windows."""

    taps: int
    direct: int
    windowed: int
    # The labels of each in three groups: (stack, columns, inner), (stack, rows, columns) and
    # (stack, rows, inner).
    groups: dict[int, tuple[Labels, Labels, Labels]]
    # Along each axis, the first place that a window has, and how many there are: ``offset -
    # Σ step·place`` over the two others.
    lows: Shape
    extents: Shape


@lru_cache(maxsize=4096)
def _cheapest(g: Geometry) -> Parts:
    """Return the parts that cost the least; there are no more taps than places."""
    counts = [prod(lengths) for lengths in g.lengths]
    ways = [k for k in permutations(range(3)) if counts[k[0]] <= counts[k[1]]]
    return min((_parts(g, *k) for k in ways), key=lambda p: _cost(g, p))


def _parts(g: Geometry, taps: int, direct: int, windowed: int) -> Parts:
    def common(*sides: int) -> Labels:
        wanted = [side in sides for side in range(3)]
        return tuple(k for k in range(len(g.sizes)) if [k in side for side in g.labels] == wanted)

    stack, rows = common(0, 1, 2), common(direct, windowed)
    inner, columns = common(taps, windowed), common(taps, direct)
    bounds = []
    for axis, offset in enumerate(g.offsets):
        reach = [-g.steps[k][axis] * (g.lengths[k][axis] - 1) for k in (taps, direct)]
        ends = offset + sum(min(0, r) for r in reach), offset + sum(max(0, r) for r in reach)
        bounds.append(ends)
    return Parts(
        taps,
        direct,
        windowed,
        {
            taps: (stack, columns, inner),
            direct: (stack, rows, columns),
            windowed: (stack, rows, inner),
        },
        lows=tuple(low for low, _ in bounds),
        extents=tuple(high - low + 1 for low, high in bounds),
    )


def _cost(g: Geometry, p: Parts) -> float:
    entries = prod(map(prod, map(g.of, p.groups[p.windowed])))
    taps = prod(g.lengths[p.taps])
    elements = entries * taps * prod(g.lengths[p.direct])
    calls, per_element = (taps, _PER_SUM) if p.windowed == OUT else (1, 1.0)
    products = prod(g.of(p.groups[p.direct][2]))
    return (
        elements * (per_element + products * _PER_PRODUCT)
        + entries * prod(p.extents)
        + (elements / _BLOCK + 1) * calls * _PER_CALL
    )


def convolve_by_products(g: Geometry, x: Any, y: Any) -> Any:
    """Return the convolution, of arrays that have entries, by products of matrices."""
    p = _cheapest(g)
    arrays = [_fold(g, p, k, z) for k, z in enumerate((x, y))]
    arrays.append(np.zeros((*map(prod, map(g.of, p.groups[OUT])), *g.lengths[OUT]), x.dtype))
    taps, direct, windowed = (arrays[k] for k in (p.taps, p.direct, p.windowed))
    if p.windowed == OUT:
        _sum_windows(g, p, taps, direct, windowed)
        return _unfold(g, p, windowed)
    multiply = _sum_places if p.taps == OUT else _sum_taps
    if _is_within(g, p):
        multiply(g, p, taps, direct, windowed)
    else:
        with np.errstate(invalid="ignore"):
            multiply(g, p, taps, direct, _pad(g, p, windowed))
        if not np.isfinite(taps).all():  # zeros around an array are no factors of its entries
            _sum_pairs(g, p, taps, direct, windowed)
    return _unfold(g, p, arrays[OUT])


# ---- three products of taps[s, c, i, t…], direct[s, r, c, p…] and windows[s, i, t…, r, p…] ------


def _sum_places(g: Geometry, p: Parts, taps: Any, direct: Any, padded: Any) -> None:
    """Let taps be the sum over places, direct·windows."""
    windows = _windows(g, p, padded)
    total = taps.reshape(*taps.shape[:2], -1)
    for stack, rows, places in _blocks(g, p):
        factor = _matrix(direct[stack, rows, :, *places].swapaxes(1, 2), 2)
        columns = _matrix(windows[(stack, ..., rows, *places)], -len(places) - 1)
        total[stack] += factor @ columns.swapaxes(1, 2)


def _sum_taps(g: Geometry, p: Parts, taps: Any, direct: Any, padded: Any) -> None:
    """Let direct be the sum over taps, taps·windows."""
    windows = _windows(g, p, padded)
    factor = _matrix(taps, 2)
    for stack, rows, places in _blocks(g, p):
        columns = _matrix(windows[(stack, ..., rows, *places)], -len(places) - 1)
        result = direct[stack, rows, :, *places].swapaxes(1, 2)
        result[...] = (factor[stack] @ columns).reshape(result.shape)


def _sum_windows(g: Geometry, p: Parts, taps: Any, direct: Any, result: Any) -> None:
    """Let the result be what its windows are the parts of, taps·direct."""
    padded = np.zeros((*result.shape[:3], *p.extents), result.dtype)
    windows = _windows(g, p, padded)
    factor = _matrix(taps, 2).swapaxes(1, 2)
    for stack, rows, places in _blocks(g, p):
        columns = factor[stack] @ _matrix(direct[stack, rows, :, *places].swapaxes(1, 2), 2)
        block = windows[(stack, ..., rows, *places)]
        columns = columns.reshape(block.shape)
        for tap in np.ndindex(g.lengths[p.taps]):
            block[:, :, *tap] += columns[:, :, *tap]
    inside, around = _overlap(g, p)
    result[:, :, :, *inside] = padded[:, :, :, *around]


def _matrix(x: Any, rows: int) -> Any:
    """Return matrices: of the axes behind the first, those before `rows` are rows."""
    return x.reshape(x.shape[0], prod(x.shape[1:rows]), prod(x.shape[rows:]))


def _blocks(g: Geometry, p: Parts) -> Iterator[tuple[slice, slice, tuple[slice, ...]]]:
    """Yield entries of the stack, rows and places, as many as make a block of columns."""
    stack, rows, inner = map(prod, map(g.of, p.groups[p.windowed]))
    first, *others = g.lengths[p.direct]
    each = inner * prod(g.lengths[p.taps]) * prod(others)
    counts = (1, 1, max(1, _BLOCK // each))
    if each * first <= _BLOCK:
        counts = (1, _BLOCK // (each * first), first)
    if each * first * rows <= _BLOCK:
        counts = (_BLOCK // (each * first * rows), rows, first)
    starts = map(range, (0, 0, 0), (stack, rows, first), counts)
    whole = tuple(slice(None) for _ in others)
    for a, b, c in product(*starts):
        yield slice(a, a + counts[0]), slice(b, b + counts[1]), (slice(c, c + counts[2]), *whole)


# ---- windows -------------------------------------------------------------------------------------


def _windows(g: Geometry, p: Parts, padded: Any) -> Any:
    """Return a view, windows[stack, inner, tap…, rows, place…]."""
    stack, rows, inner, *around = padded.strides
    steps = [
        [-step * stride for step, stride in zip(g.steps[k], around, strict=True)]
        for k in (p.taps, p.direct)
    ]
    start = tuple(slice(o - low, None) for o, low in zip(g.offsets, p.lows, strict=True))
    shape = padded.shape
    return as_strided(
        padded[:, :, :, *start],
        (shape[0], shape[2], *g.lengths[p.taps], shape[1], *g.lengths[p.direct]),
        (stack, inner, *steps[0], rows, *steps[1]),
    )


def _is_within(g: Geometry, p: Parts) -> bool:
    """Whether an array itself has all the places that windows have."""
    return all(
        step == 1 and low == 0 and extent <= length
        for step, low, extent, length in zip(
            g.steps[p.windowed], p.lows, p.extents, g.lengths[p.windowed], strict=True
        )
    )


def _pad(g: Geometry, p: Parts, windowed: Any) -> Any:
    """Return an array of all the places that windows have, zero where there is no entry."""
    result = np.zeros((*windowed.shape[:3], *p.extents), windowed.dtype)
    inside, around = _overlap(g, p)
    result[:, :, :, *around] = windowed[:, :, :, *inside]
    return result


def _overlap(g: Geometry, p: Parts) -> tuple[list[slice], list[slice]]:
    """Return which entries of an array windows have, and where: at ``step·place``."""
    inside, around = [], []
    for step, length, low, extent in zip(
        g.steps[p.windowed], g.lengths[p.windowed], p.lows, p.extents, strict=True
    ):
        ends = (low, low + extent - 1) if step > 0 else (low + extent - 1, low)
        first, last = max(0, -(-ends[0] // step)), min(length - 1, ends[1] // step)
        count = max(0, last - first + 1)
        inside.append(slice(first, first + count))
        around.append(_progression(step * first - low, step, count))
    return inside, around


def _progression(start: int, step: int, count: int) -> slice:
    """Return the slice of `count` indices from `start` on."""
    stop = start + step * count
    return slice(start, None if stop < 0 else stop, step) if count else slice(0, 0)


# ---- pair by pair --------------------------------------------------------------------------------


def _sum_pairs(g: Geometry, p: Parts, taps: Any, direct: Any, windowed: Any) -> None:
    """Compute the result, taps or direct, from the entries that there are, and no zeros."""
    (direct if p.direct == OUT else taps)[...] = 0
    for tap in np.ndindex(g.lengths[p.taps]):
        places, partners = zip(
            *(_meeting_places(g, p, axis, t) for axis, t in enumerate(tap)), strict=True
        )
        at, to = np.ix_(*places), np.ix_(*partners)
        if not all(map(len, places)):
            continue
        entries, others = windowed[:, :, :, *to], direct[:, :, :, *at]
        entries, flat = (z.reshape(*z.shape[:3], -1) for z in (entries, others))
        if p.taps == OUT:
            taps[:, :, :, *tap] = np.einsum("srcp,srip->sci", flat, entries)
        else:
            sums = np.einsum("sci,srip->srcp", taps[:, :, :, *tap], entries)
            direct[:, :, :, *at] += sums.reshape(others.shape)


def _meeting_places(g: Geometry, p: Parts, axis: int, tap: int) -> tuple[Any, Any]:
    """Return the places along an axis that meet an entry at a tap, and those of the entries."""
    places = np.arange(g.lengths[p.direct][axis])
    steps = g.steps[p.taps][axis], g.steps[p.direct][axis], g.steps[p.windowed][axis]
    left = g.offsets[axis] - steps[0] * tap - steps[1] * places
    partners = left // steps[2]
    there = (left % steps[2] == 0) & (partners >= 0) & (partners < g.lengths[p.windowed][axis])
    return places[there], partners[there]


# ---- groups of labels ----------------------------------------------------------------------------


def _fold(g: Geometry, p: Parts, side: int, x: Any) -> Any:
    """Return an operand with one axis for each group of labels."""
    labels, groups = g.labels[side], p.groups[side]
    order = [labels.index(k) for group in groups for k in group]
    moved = x.transpose(*order, *range(len(labels), x.ndim))
    return moved.reshape(*map(prod, map(g.of, groups)), *g.lengths[side])


def _unfold(g: Geometry, p: Parts, x: Any) -> Any:
    """Return a result with one axis for each label."""
    labels = [k for group in p.groups[OUT] for k in group]
    order = [labels.index(k) for k in g.labels[OUT]]
    return x.reshape(*g.of(tuple(labels)), *g.lengths[OUT]).transpose(
        *order, *range(len(labels), len(labels) + len(g.offsets))
    )


Steps: TypeAlias = tuple[int, int, int]

_FEW: Final = 2
"""Rows of sequences up to which NumPy convolves them faster than BLAS multiplies copies."""


class Convolution(Contraction):
    """Labels of the leading axes, as `Contraction` has them; the equation of every further axis."""

    steps: tuple[Steps, ...]  # ``(a, b, c)`` for each further axis, none of them 0, and c > 0
    offsets: tuple[int, ...]  # o for each of these axes
    lengths: tuple[int, ...]  # how many places the result has along each of them


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


convolve_p: Final = bilinear_product(
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
