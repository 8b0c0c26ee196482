"""Masked sums and products: of the entries that a mask takes, as if the others were not there.

Adding zeros for the entries left out would be the same sum with other rounding errors, as NumPy
adds runs of neighbouring entries pairwise; so would adding afterwards what a sum starts from.  And
a product with zero is not zero if the other factor is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.access import reducing
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.families import linear, multilinear
from funcdiff.ops.products.contract import (
    Contraction,
    Labels,
    access_product,
    contract_p,
    contraction,
    exchange,
    renumber,
    with_batch_label,
)
from funcdiff.ops.products.convolution import Convolution, convolve_p, solve_for
from funcdiff.ops.structure.structural import select
from funcdiff.space import (
    Axes,
    Maybe,
    abstract_reduction,
    add,
    align,
    broadcast,
    kept_axes,
    reduce_sum,
    sum_tangents,
    zeros,
)
from funcdiff.transforms.jvp import present


def _abstract(p: Axes, x: ArrayType, mask: ArrayType) -> Types:
    if mask is not x.with_dtype(BOOL):
        raise TypeError(f"the mask of {x} cannot be {mask}")
    return abstract_reduction(p, x)


def _transpose(p: Axes, types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    x, mask = types[0], xs[1]
    assert mask is not None
    return [select(mask, broadcast(cts[0], x.shape, kept_axes(x.ndim, p.axes)), zeros(x)), None]


masked_sum_p: Final = linear(
    "masked_sum",
    Axes,
    abstract=_abstract,
    impl=lambda p: lambda x, mask: np.add.reduce(x, axis=p.axes, dtype=x.dtype, where=mask),
    transpose=_transpose,
    operands=slice(1),
    access=reducing(np.add),
)


def masked_sum(x: Tracer, mask: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Sum the entries over axes where the mask is true."""
    return bind(masked_sum_p, Axes(axes), x, mask)[0]


# ---- a sum that starts from a value --------------------------------------------------------------


def _abstract_from(p: Axes, initial: ArrayType, x: ArrayType, *masks: ArrayType) -> Types:
    if initial is not ArrayType((), x.dtype):
        raise TypeError(f"a sum of {x} cannot start from {initial}")
    if any(mask is not x.with_dtype(BOOL) for mask in masks):
        raise TypeError(f"the mask of {x} cannot be {masks}")
    return abstract_reduction(p, x)


def _from_impl(p: Axes) -> Callable[..., Any]:
    def function(initial: Any, x: Any, *masks: Any) -> Any:
        where = masks[0] if masks else True
        return np.add.reduce(x, axis=p.axes, dtype=x.dtype, initial=initial, where=where)

    return function


def _from_jvp(p: Axes, xs: Tracers, ts: Tangents) -> Pushed:
    y = bind(sum_from_p, p, *xs)[0]
    first, rest = ts[0], ts[1]
    started = None if first is None else broadcast(first, y.shape, ())
    return [y], [sum_tangents([started, None if rest is None else _total(p.axes, rest, *xs[2:])])]


def _from_batch(p: Axes, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    """Add values of a batch afterwards: NumPy starts all sums of an array from the same one."""
    axes = tuple(axis + 1 for axis in p.axes)
    entries = align(size, xs[1:], batched[1:])
    if not batched[0]:
        return [bind(sum_from_p, Axes(axes), xs[0], *entries)[0]]
    total = _total(axes, *entries)
    return [add(broadcast(xs[0], total.shape, (0,)), total)]


def _total(axes: tuple[int, ...], x: Tracer, *masks: Tracer) -> Tracer:
    return masked_sum(x, masks[0], axes) if masks else reduce_sum(x, axes)


sum_from_p: Final = Primitive(
    "sum_from", Axes, _abstract_from, _from_impl, jvp=_from_jvp, batch=_from_batch
)


def sum_from(initial: Tracer, x: Tracer, mask: Tracer | None, axes: tuple[int, ...]) -> Tracer:
    """Sum the entries over axes, those where the mask is true if there is one, onto a number.

    The number comes first: added to the sum afterwards, it would give other rounding errors.
    """
    return bind(sum_from_p, Axes(axes), initial, x, *([] if mask is None else [mask]))[0]


# ---- products of which one operand is masked -----------------------------------------------------


class MaskedContraction(Contraction):
    """As `Contraction`; ``masked`` is 0 or 1, the operand that is zero where the mask is false."""

    masked: int


class MaskedConvolution(Convolution):
    """As `Convolution`; ``masked`` is 0 or 1, the operand that is zero where the mask is false."""

    masked: int


def mask_contraction(p: Contraction, masked: int) -> MaskedContraction:
    """Return the parameters of a contraction with a mask of one operand."""
    return MaskedContraction(p.left, p.right, p.out, masked)


def mask_convolution(p: Convolution, masked: int) -> MaskedConvolution:
    """Return the parameters of a convolution with a mask of one operand."""
    return MaskedConvolution(p.left, p.right, p.out, p.steps, p.offsets, p.lengths, masked)


M = TypeVar("M", MaskedContraction, MaskedConvolution)
Masked: TypeAlias = MaskedContraction | MaskedConvolution


def _together(
    masked: int, size: int, xs: Tracers, batched: Sequence[bool]
) -> tuple[list[Tracer], list[bool]]:
    """Give what is masked and its mask a batch axis if one of them has one."""
    operands, flags = list(xs), list(batched)
    if flags[masked] != flags[2]:
        for k in (masked, 2):
            (operands[k],) = align(size, [operands[k]], [flags[k]])
            flags[k] = True
    return operands, flags


def _product(
    name: str,
    masked: type[M],
    plain: Primitive[Any],
    unmasked: Callable[[M], Params],
    solve_for: Callable[[M, int, tuple[int, ...]], M],
) -> Primitive[M]:
    """Declare a product, linear in two operands, of which one is masked; a third is the mask.

    `plain` is the product without a mask, `unmasked` gives its parameters, and `solve_for` those of
    the product that is the cotangent of an operand, with that of the result in its place.
    """

    def abstract(p: M, x: ArrayType, y: ArrayType, mask: ArrayType) -> Types:
        if mask is not (x, y)[p.masked].with_dtype(BOOL):
            raise TypeError(f"the mask of {(x, y)[p.masked]} cannot be {mask}")
        return plain.abstract(unmasked(p), x, y)

    def impl(p: M) -> Callable[..., Any]:
        """Look for a product of zero with what is not finite only where the result is not."""
        multiply = plain.impl(unmasked(p))

        def function(x: Any, y: Any, mask: Any) -> Any:
            result = multiply(x, y)
            return result if np.isfinite(result).all() else _careful(p, multiply, x, y, mask)

        return function

    def transpose(p: M, types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
        """Mask the cotangent of what is masked; that of the other operand is masked again."""
        *factors, mask = xs
        assert mask is not None
        k = 0 if factors[0] is None else 1
        turned = solve_for(p, k, types[k].shape)
        factors[k] = cts[0]
        given = present(factors)
        pulled: list[Maybe] = [None, None, None]
        if p.masked == k:
            (ct,) = bind(plain, unmasked(turned), *given)
            pulled[k] = select(mask, ct, zeros(types[k]))
        else:
            pulled[k] = bind(primitive, turned, *given, mask)[0]
        return pulled

    def batch(p: M, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
        operands, flags = _together(p.masked, size, xs, batched)
        return bind(primitive, with_batch_label(p, flags[:2]), *operands)

    primitive: Primitive[M] = multilinear(
        name,
        masked,
        abstract=abstract,
        impl=impl,
        transpose=transpose,
        batch=batch,
        access=access_product,
    )
    return primitive


def _careful(p: Masked, multiply: Callable[..., Any], x: Any, y: Any, mask: Any) -> Any:
    """Leave out what is masked: exactly where nothing infinite is added, else as far as possible.

    Coefficients that only meet zeros of the mask are never added; of the others, those that are
    not finite spoil the results to which they contribute, and no more.
    """

    def product(coefficient: Any, factor: Any) -> Any:
        return multiply(factor, coefficient) if p.masked == 0 else multiply(coefficient, factor)

    factor, coefficient = (x, y) if p.masked == 0 else (y, x)
    infinite = ~np.isfinite(coefficient)
    meeting = _meets(p, np.asarray(mask), np.shape(coefficient))
    spoilt = product(infinite.astype(float), np.asarray(mask).astype(float)) > 0
    naive = product(np.where(infinite & ~meeting, 0, coefficient), factor)
    return np.where(spoilt, naive, product(np.where(infinite, 0, coefficient), factor))[()]


def _meets(p: Masked, mask: Any, shape: tuple[int, ...]) -> Any:
    """Return which coefficients are multiplied by any entry that is not masked.

    The axes behind the labels, those of places, count as a whole.
    """
    own, others = (p.left, p.right) if p.masked == 0 else (p.right, p.left)
    gone = tuple(axis for axis, label in enumerate(own) if label not in others)
    some = np.any(mask, axis=(*gone, *range(len(own), mask.ndim)))
    kept = [label for label in own if label in others]
    moved = np.transpose(some, [kept.index(label) for label in others if label in kept])
    places = [slice(None) if label in kept else None for label in others]
    places += [None] * (len(shape) - len(others))
    return np.broadcast_to(moved[tuple(places)], shape)


masked_contract_p: Final = _product(
    "masked_contract",
    MaskedContraction,
    contract_p,
    lambda p: contraction(p.left, p.right, p.out),
    exchange,
)
masked_convolve_p: Final = _product(
    "masked_convolve",
    MaskedConvolution,
    convolve_p,
    lambda p: renumber(Convolution(p.left, p.right, p.out, p.steps, p.offsets, p.lengths)),
    solve_for,
)


def masked_contract(
    x: Tracer, y: Tracer, mask: Tracer, labels: tuple[Labels, Labels, Labels], masked: int
) -> Tracer:
    """Contract over axes with equal labels what the mask takes of one operand.

    That operand is zero where its mask is false; there the other need not be finite.
    """
    return bind(masked_contract_p, MaskedContraction(*labels, masked), x, y, mask)[0]


def masked_convolve(x: Tracer, y: Tracer, mask: Tracer, p: Convolution, masked: int) -> Tracer:
    """Multiply and sum what fits of what the mask takes of one operand.

    That operand is zero where its mask is false; there the other need not be finite.
    """
    return bind(masked_convolve_p, mask_convolution(p, masked), x, y, mask)[0]
