"""Sums of the entries that a mask takes, as if the others were not there.

Adding zeros for the entries left out would be the same sum with other rounding errors, as NumPy
adds runs of neighbouring entries pairwise; and a product with zero is not zero if the other factor
is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer, bind
from funcdiff.core.primitive import Params, Primitive, Types
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.contract import Contraction, Labels, contract, contract_p
from funcdiff.ops.families import linear
from funcdiff.ops.structural import select
from funcdiff.space import (
    Axes,
    Maybe,
    abstract_reduction,
    align,
    broadcast,
    kept_axes,
    sum_tangents,
    zeros,
)


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


# ---- a contraction of which one operand is masked ------------------------------------------------


@dataclass(frozen=True, slots=True)
class MaskedContraction(Params):
    """As `Contraction`; ``masked`` is 0 or 1, the operand that is zero where the mask is false."""

    left: Labels
    right: Labels
    out: Labels
    masked: int

    @property
    def plain(self) -> Contraction:
        """The contraction without a mask."""
        return Contraction(self.left, self.right, self.out)


def _abstract_contract(p: MaskedContraction, x: ArrayType, y: ArrayType, mask: ArrayType) -> Types:
    if mask is not (x, y)[p.masked].with_dtype(BOOL):
        raise TypeError(f"the mask of {(x, y)[p.masked]} cannot be {mask}")
    return contract_p.abstract(p.plain, x, y)


def _contract_impl(p: MaskedContraction) -> Callable[..., Any]:
    """Look for a product of zero with what is not finite only where the result is not finite."""
    multiply = contract_p.impl(p.plain)

    def function(x: Any, y: Any, mask: Any) -> Any:
        result = multiply(x, y)
        return result if np.isfinite(result).all() else _careful(p, multiply, x, y, mask)

    return function


def _careful(p: MaskedContraction, multiply: Callable[..., Any], x: Any, y: Any, mask: Any) -> Any:
    """Leave out what is masked: exactly where nothing infinite is added, else as far as possible.

    Coefficients that only meet zeros of the mask are never added; of the others, those that are
    not finite spoil the results to which they contribute, and no more.
    """

    def product(coefficient: Any, factor: Any) -> Any:
        return multiply(factor, coefficient) if p.masked == 0 else multiply(coefficient, factor)

    factor, coefficient = (x, y) if p.masked == 0 else (y, x)
    infinite = ~np.isfinite(coefficient)
    meeting = _meeting(p, mask, coefficient.shape)
    spoilt = product(infinite.astype(float), np.asarray(mask).astype(float)) > 0
    naive = product(np.where(infinite & ~meeting, 0, coefficient), factor)
    return np.where(spoilt, naive, product(np.where(infinite, 0, coefficient), factor))[()]


def _meeting(p: MaskedContraction, mask: Any, shape: tuple[int, ...]) -> Any:
    """Return which coefficients are multiplied by any entry that is not masked."""
    own, others = (p.left, p.right) if p.masked == 0 else (p.right, p.left)
    gone = tuple(axis for axis, label in enumerate(own) if label not in others)
    some = np.any(mask, axis=gone)
    kept = [label for label in own if label in others]
    moved = np.transpose(some, [kept.index(label) for label in others if label in kept])
    places = tuple(slice(None) if label in kept else None for label in others)
    return np.broadcast_to(moved[places], shape)


def _contract_jvp(
    p: MaskedContraction, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[Sequence[Tracer], Sequence[Maybe]]:
    (x, y, mask), (tx, ty, _) = xs, ts
    terms = [
        None if tx is None else bind(masked_contract_p, p, tx, y, mask)[0],
        None if ty is None else bind(masked_contract_p, p, x, ty, mask)[0],
    ]
    return bind(masked_contract_p, p, x, y, mask), [sum_tangents(terms)]


def _contract_transpose(
    p: MaskedContraction, types: Types, cts: Sequence[Any], xs: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Mask the cotangent of what is masked; that of the other operand is a masked sum again."""
    (ct,), (x, y, mask) = cts, xs
    assert mask is not None
    if x is None:
        assert y is not None
        if p.masked == 0:
            pulled = contract(ct, y, p.out, p.right, p.left)
            return [select(mask, pulled, zeros(types[0])), None, None]
        return [masked_contract(ct, y, mask, (p.out, p.right, p.left), 1), None, None]
    if p.masked == 1:
        pulled = contract(x, ct, p.left, p.out, p.right)
        return [None, select(mask, pulled, zeros(types[1])), None]
    return [None, masked_contract(x, ct, mask, (p.left, p.out, p.right), 0), None]


def _contract_batch(
    p: MaskedContraction, size: int, xs: Sequence[Tracer], batched: Sequence[bool]
) -> Sequence[Tracer]:
    label = max((*p.left, *p.right), default=-1) + 1
    operands, flags = list(xs), list(batched)
    if flags[p.masked] != flags[2]:
        for k in (p.masked, 2):
            (operands[k],) = align(size, [operands[k]], [flags[k]])
            flags[k] = True
    sides = zip((p.left, p.right), flags, strict=False)
    left, right = ((label, *side) if flag else side for side, flag in sides)
    x, y, mask = operands
    return [masked_contract(x, y, mask, (left, right, (label, *p.out)), p.masked)]


masked_contract_p: Final = Primitive(
    "masked_contract",
    MaskedContraction,
    _abstract_contract,
    _contract_impl,
    _contract_jvp,
    _contract_transpose,
    _contract_batch,
)


def masked_contract(
    x: Tracer, y: Tracer, mask: Tracer, labels: tuple[Labels, Labels, Labels], masked: int
) -> Tracer:
    """Contract over axes with equal labels what the mask takes of one operand.

    That operand is zero where its mask is false; there the other need not be finite.
    """
    return bind(masked_contract_p, MaskedContraction(*labels, masked), x, y, mask)[0]
