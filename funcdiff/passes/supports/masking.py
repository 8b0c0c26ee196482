"""Masks products by the support of their linear factor, so that 0·∞ stays 0 in derivatives.

Where ``np.where(x > 0, np.sqrt(x), 0)`` is differentiated, the cotangent is masked first and then
multiplied by 1/(2√x), which is infinite at 0: 0·∞ = NaN, although the branch was not taken.  In a
linear program the two commute, so the mask goes last: ``mask(ct)·c = mask(ct·c)``.  The same holds
for all zeros that the program knows of (see `propagation`): what is multiplied is masked by its
support.

The rules hold for exact zeros that are structural, so they apply only to equations that depend
on a tangent or cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.access import Label, Labels
from funcdiff.core.primitive import NONE, Params, Primitive, operation
from funcdiff.core.running.walk import made_by
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL
from funcdiff.ops.axes.accumulation import recurrence_p
from funcdiff.ops.axes.indexing import gather_p, scatter_add_p
from funcdiff.ops.elementwise.mathematics import div
from funcdiff.ops.products.contract import Contraction, contract_p
from funcdiff.ops.products.convolution import Convolution, convolve_p
from funcdiff.ops.products.masked import (
    mask_contraction,
    mask_convolution,
    masked_contract_p,
    masked_convolve_p,
)
from funcdiff.ops.structure.slicing import Slice, add_slice_p, slice_p
from funcdiff.ops.structure.structural import Axis, Shape, reshape_p, select_p
from funcdiff.passes.rewrites import algebra
from funcdiff.passes.rewrites.rewriter import Emit, Rewriter, Rule, Rules
from funcdiff.passes.supports.propagation import Support, Supports, is_product, shift_by_one
from funcdiff.space import mul_p, splat, zeros

Bounds: TypeAlias = dict[Label, tuple[int, int, int]]

_div_p: Final = div.primitive
"""Only in rules that users have written: derivatives of the library's own multiply."""


def _is_zero(x: Tracer) -> bool:
    return bool(splat(x) == 0)


def _is_finite(c: Tracer) -> bool:
    """Whether a coefficient is finite for certain: a number, or a choice of two."""
    chosen = made_by(c, select_p)
    numbers = [splat(x) for x in (chosen[1][1:] if chosen else [c])]
    return all(number is not None and np.isfinite(number) for number in numbers)


def _split_mask(x: Tracer) -> tuple[Tracer, Tracer, bool] | None:
    """Return mask and value of ``select(mask, value, 0)``, and whether the sides are swapped."""
    found = made_by(x, select_p)
    if found is None:
        return None
    mask, a, b = found[1]
    if _is_zero(b):
        return mask, a, False
    return (mask, b, True) if _is_zero(a) else None


def _mask(emit: Emit, mask: Tracer, value: Tracer, *, swapped: bool) -> Tracer:
    pair = (zeros(value.type), value) if swapped else (value, zeros(value.type))
    return emit(select_p, NONE, mask, *pair)


def _split_padding(x: Tracer) -> tuple[Slice, Tracer] | None:
    """Return box and value of ``add_slice(0, value)``."""
    found = made_by(x, add_slice_p)
    return (found[0], found[1][1]) if found and _is_zero(found[1][0]) else None


# ---- masks, pads and scatters at hand: the product goes inside -----------------------------------

# A mask of the result would do instead; the ratios are of what derivatives of such programs take.


def _mask_last_rule(primitive: Primitive[Any], linear: Sequence[int]) -> Rule:
    def mask_last(emit: Emit, p: Params, *xs: Tracer) -> Tracer | None:
        """select(m, u, 0) · c = select(m, u·c, 0), and the same of u / c: `np.where`, 1.6."""
        for k in linear:
            found = _split_mask(xs[k])
            if found:
                mask, value, swapped = found
                y = emit(primitive, p, value, *xs[:k], *xs[k + 1 :])
                return _mask(emit, mask, y, swapped=swapped)
        return None

    return mask_last


def _work_inside_rule(primitive: Primitive[Any]) -> Rule:
    def work_inside(emit: Emit, p: Params, *xs: Tracer) -> Tracer | None:
        """f(add_slice(0, u), c) = add_slice(0, f(u, slice(c))), by the labels of what is padded.

        Slices of products of matrices: 1.1 to 1.5; of a function with a new axis: 1.5.
        """
        op = operation(primitive, p, tuple([x.type for x in xs]))
        (out,), (result,) = op.access.results, op.results
        for k, padded in enumerate(xs):
            found = _split_padding(padded)
            if not found or not found[1].type.size:
                continue
            pad, u = found
            bounds = dict(zip(op.access.operands[k], pad.ranges, strict=True))
            whole = zip(op.access.operands[k], pad.lengths, padded.shape, strict=True)
            if any(label is None and n != length for label, n, length in whole):
                continue
            sides = zip(xs, op.access.operands, strict=True)
            places = [_slice_at(bounds, labels, x.shape) for x, labels in sides]
            parts = [
                u if x is padded else x if place.lengths == x.shape else emit(slice_p, place, x)
                for x, place in zip(xs, places, strict=True)
            ]
            if primitive is mul_p:
                parts.sort(key=lambda x: x is not u)  # so that products of the same are shared
            place = _slice_at(bounds, out, result.shape)
            small = emit(primitive, Shape(place.lengths) if isinstance(p, Shape) else p, *parts)
            return small if small.type is result else emit(add_slice_p, place, zeros(result), small)
        return None

    return work_inside


def _scale_scattered(emit: Emit, _p: Params, x: Tracer, y: Tracer) -> Tracer | None:
    """scatter_add(0, u, i) · c = scatter_add(0, u · gather(c, i), i), if u is no larger.

    Elements of a function, taken by index: 1.7.
    """
    for scattered, c in ((x, y), (y, x)):
        found = made_by(scattered, scatter_add_p)
        if found and _is_zero(found[1][0]) and found[1][1].type.size <= c.type.size:
            p, (zero, u, *indices) = found
            scaled = emit(mul_p, NONE, u, emit(gather_p, p, c, *indices))
            return emit(scatter_add_p, p, zero, scaled, *indices)
    return None


def _convolve_padded(emit: Emit, p: Convolution, x: Tracer, y: Tracer) -> Tracer | None:
    """convolve(add_slice(0, u), c) = convolve(u, c) at other places, if only places are padded.

    A convolution of images cropped or with every second place left out: 1.7 to 2.8.
    """
    for k, padded in enumerate((x, y)):
        found = _split_padding(padded)
        if not found:
            continue
        pad, u = found
        count = len((p.left, p.right)[k])
        if u.shape[:count] != padded.shape[:count]:
            continue
        moved = zip(p.steps, p.offsets, pad.starts[count:], pad.steps[count:], strict=True)
        places = [_at_slice(k, *axis) for axis in moved]
        steps, offsets = (tuple(values) for values in zip(*places, strict=True))
        params = replace(p, steps=steps, offsets=offsets)
        return emit(convolve_p, params, *((u, y) if k == 0 else (x, u)))
    return None


def _at_slice(
    k: int, steps: tuple[int, int, int], offset: int, start: int, step: int
) -> tuple[tuple[int, int, int], int]:
    """Put ``start + step·q`` for the place q of an operand into ``a·q + b·t = c·p + o``."""
    a, b, c = steps
    moved = (a * step, b, c) if k == 0 else (a, b * step, c)
    return moved, offset - steps[k] * start


def _slice_at(bounds: Bounds, labels: Labels, shape: tuple[int, ...]) -> Slice:
    """Return the slice of an array at the labels that have bounds, whole at the others."""
    whole = [(0, n, 1) for n in shape]
    found = [b if k is None else bounds.get(k, b) for k, b in zip(labels, whole, strict=True)]
    return Slice(*zip(*found, strict=True)) if found else Slice((), (), ())


rules: Final[Rules] = {
    **algebra.masks,
    (mul_p, select_p): (_mask_last_rule(mul_p, (0, 1)),),
    (_div_p, select_p): (_mask_last_rule(_div_p, (0,)),),
    (mul_p, add_slice_p): (_work_inside_rule(mul_p),),
    (mul_p, scatter_add_p): (_scale_scattered,),
    (contract_p, add_slice_p): (_work_inside_rule(contract_p),),
    (convolve_p, add_slice_p): (_convolve_padded,),
    (reshape_p, add_slice_p): (_work_inside_rule(reshape_p),),
}


# ---- any other support: the product is masked by it ----------------------------------------------


class LinearRewriter(Rewriter):
    """A rewriter for one walk over a linear program, which keeps track of supports."""

    def __init__(self, *tables: Rules) -> None:
        self.supports: Final = Supports()  # where values recorded so far may differ from zero
        super().__init__(*tables, rules)

    def emit(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation, or what the rules have for it, and note its support."""
        ys = self._zeros(primitive, params, xs) or super().emit(primitive, params, *xs)
        self.supports.note(ys, primitive, params, xs)
        return ys

    def _zeros(
        self, primitive: Primitive[Any], params: Params, xs: Sequence[Tracer]
    ) -> tuple[Tracer, ...] | None:
        """Return the zero that a product with one is: a zero of a linear program is exact."""
        if primitive.facts.elements == "multiplied" and any(map(_is_zero, xs)):
            (type_,) = operation(primitive, params, tuple([x.type for x in xs])).results
            return (zeros(type_),)
        return None

    def record(self, primitive: Primitive[Any], params: Params, *xs: Tracer) -> tuple[Tracer, ...]:
        """Record an equation that no rule rewrites, a product masked by a support."""
        if is_product(primitive):
            for k, x in enumerate(xs):
                if self.supports.of(x) is True or all(map(_is_finite, (*xs[:k], *xs[k + 1 :]))):
                    continue
                support = self.supports.resolve(x)
                if isinstance(support, Support):
                    return self._record_masked(primitive, params, xs, k, support)
        if isinstance(params, Axis) and primitive is recurrence_p:
            return super().record(recurrence_p, params, self._mask_coefficient(params, *xs), xs[1])
        return super().record(primitive, params, *xs)

    def _record_masked(
        self,
        primitive: Primitive[Any],
        params: Params,
        xs: Sequence[Tracer],
        k: int,
        given: Support,
    ) -> tuple[Tracer, ...]:
        """f(u, c) = select(support(f(u, c)), f(u, c), 0), where `given` is the support of u."""
        if isinstance(params, Convolution):  # each product is masked before it is added
            p: Params = mask_convolution(params, k)
            return self.emit(masked_convolve_p, p, *xs, self.supports.record(given))
        if isinstance(params, Contraction):
            p = mask_contraction(params, k)
            return self.emit(masked_contract_p, p, *xs, self.supports.record(given))
        box = self._worthwhile_box(given) if primitive is mul_p else None
        if box is not None:
            part = self._single(slice_p, box, xs[k])
            padded = self._single(add_slice_p, box, zeros(xs[k].type), part)
            return self.emit(mul_p, params, *xs[:k], padded, *xs[k + 1 :])
        supports = self.supports.of_results(primitive, params, xs)
        masks = [self.supports.record(s) if isinstance(s, Support) else None for s in supports]
        ys = super().record(primitive, params, *xs)
        return tuple(
            y if mask is None else _mask(self._single, mask, y, swapped=False)
            for y, mask in zip(ys, masks, strict=True)
        )

    def _worthwhile_box(self, support: Support) -> Slice | None:
        """Return the box that a support is, if a mask would take more steps than padding.

        Rows of an array that `np.rot90` has turned: 1.3; strided convolutions: 1.1 to 1.2.
        """
        return self.supports.box(support) if self.supports.takes_more_than(2, support) else None

    def _mask_coefficient(self, p: Axis, a: Tracer, b: Tracer) -> Tracer:
        """recurrence(a, u) = recurrence(a′, u), with a′ zero where it only meets zeros."""
        if a.dtype == BOOL or not a.type.size:
            return a
        (support,) = self.supports.of_results(recurrence_p, p, (a, b))
        if not isinstance(support, Support):
            return a
        met = self.supports.record(shift_by_one(support, p.axis))
        return _mask(self._single, met, a, swapped=False)
