"""Propagation rules for supports, from the facts of operations and a table for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.primitive import NONE, Params, Primitive, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.indexing import scatter_add_p
from funcdiff.ops.axes.recurrence import recurrence_p
from funcdiff.ops.axes.reductions import cumsum_p, reduce_any_p
from funcdiff.ops.elementwise.logic import logical_and, logical_or
from funcdiff.ops.elementwise.mathematics import div
from funcdiff.ops.linalg.degeneracy import blocks_p, eigen_differential_p, mean_over_ties_p
from funcdiff.ops.linalg.determinants import adjugate_p
from funcdiff.ops.linalg.systems import solve_p, triangular_solve_p
from funcdiff.ops.products.contract import Contraction, Labels, contract_p
from funcdiff.ops.products.convolution import Convolution, convolve_p
from funcdiff.ops.products.fourier import Fourier, fft_p, ifft_p, irfft_p, rfft_p
from funcdiff.ops.products.masked import masked_contract_p, masked_convolve_p, masked_sum_p
from funcdiff.ops.structure.slicing import Slice, add_slice_p, slice_p
from funcdiff.ops.structure.structural import Axis, Permutation, concatenate_p, permute_p
from funcdiff.ops.user.linear_solve import LinearSolve, linear_solve_p, named_solve_p
from funcdiff.passes.supports.support import Maybe, Support, booleans, from_mask
from funcdiff.space import Axes, Broadcast, broadcast_p, kept_axes

Rule: TypeAlias = Callable[[Any, Types, Sequence[Tracer], Sequence[Maybe]], Sequence[Maybe]]
"""``rule(p, ys, xs, supports)``: the supports of results of the types `ys`."""


# ---- what the facts tell -------------------------------------------------------------------------


def _sums(primitive: Primitive[Any]) -> Rule:
    """Return the rule of an operation that does to booleans what it does to numbers."""

    def rule(
        p: Params, _ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
    ) -> Sequence[Maybe]:
        linear = range(len(xs))[primitive.facts.linear or slice(None)]
        if all(supports[k] is True for k in linear):
            return [True]
        operands = [booleans(x, supports[k]) if k in linear else x for k, x in enumerate(xs)]
        return [Support(primitive, p, operands)]

    return rule


def _total(
    p: Axes, _ys: Types, _xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    support = supports[0]
    return [Support(reduce_any_p, p, [support]) if isinstance(support, Support) else support]


def _diagonal(
    _p: Params, ys: Types, _xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    return supports[: len(ys)]


def _factor(
    _p: Params, _ys: Types, _xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Return the support of a factor that has one, which holds for the product.

    A zero coefficient is a number like any other.
    """
    return [next((s for s in supports if isinstance(s, Support)), True)]


def _union(
    _p: Params, _ys: Types, _xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Return where any of the operands may differ from zero."""
    if True in supports:
        return [True]
    some = [s for s in supports if isinstance(s, Support)]
    return [reduce(_either, some) if some else False]


def _either(x: Support | Tracer, y: Support | Tracer) -> Support:
    return Support(logical_or.primitive, NONE, [x, y])


def _any(axes: tuple[int, ...], x: Tracer, support: Maybe) -> Support | Tracer:
    some = booleans(x, support)
    return Support(reduce_any_p, Axes(axes), [some]) if axes else some


# ---- products ------------------------------------------------------------------------------------


def _contract(
    p: Contraction, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """An entry may differ from zero if any of those may that are summed for it."""

    def spread(k: int) -> Support:
        kept, some = _reduce_labels(p, (p.left, p.right)[k], xs[k], supports[k])
        return _spread(kept, some, p.out, ys[0].shape)

    return [_both(spread, supports)]


def _convolve(
    p: Convolution, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Do the same, with any of the entries at places that meet an entry of the other operand."""
    left, right = (
        ArrayType(x.shape[len(side) :], BOOL)
        for x, side in zip(xs, (p.left, p.right), strict=False)
    )

    def spread(k: int) -> Support:
        kept, some = _reduce_labels(p, (p.left, p.right)[k], xs[k], supports[k])
        if k == 0:
            met = Support(convolve_p, _slides(p, kept, (), kept), [some, constant(True, right)])
        else:
            met = Support(convolve_p, _slides(p, (), kept, kept), [constant(True, left), some])
        return _spread(kept, met, p.out, ys[0].shape)

    if any(isinstance(s, Support) for s in supports[:2]):
        return [_both(spread, supports)]
    met = Support(convolve_p, _slides(p, (), (), ()), [constant(True, left), constant(True, right)])
    return [_spread((), met, p.out, ys[0].shape)]


def _slides(p: Convolution, left: Labels, right: Labels, out: Labels) -> Convolution:
    return Convolution(left, right, out, p.steps, p.offsets, p.lengths)


def _both(spread: Callable[[int], Support], supports: Sequence[Maybe]) -> Maybe:
    """Return where the support of each of two factors that has one lets a product be."""
    found = [spread(k) for k, s in enumerate(supports[:2]) if isinstance(s, Support)]
    if not found:
        return True
    return found[0] if len(found) == 1 else Support(logical_and.primitive, NONE, found)


def _reduce_labels(
    p: Contraction | Convolution, labels: Labels, x: Tracer, support: Maybe
) -> tuple[Labels, Support | Tracer]:
    """Return the labels that the result has, too, and where any entry with them may be."""
    gone = tuple(axis for axis, label in enumerate(labels) if label not in p.out)
    return tuple(label for label in labels if label in p.out), _any(gone, x, support)


def _spread(kept: Labels, some: Support | Tracer, out: Labels, shape: tuple[int, ...]) -> Support:
    """Return a support with labels in front as one of a result with these and others."""
    extra = len(shape) - len(out)
    last = tuple(range(len(kept), len(kept) + extra))
    order = tuple(kept.index(label) for label in out if label in kept)
    turned = Support(permute_p, Permutation((*order, *last)), [some])
    axes = tuple(axis for axis, label in enumerate(out) if label in kept)
    axes = (*axes, *range(len(out), len(shape)))
    return Support(broadcast_p, Broadcast(shape, axes), [turned])


def _mask_factor(product: Rule) -> Rule:
    """Return the rule of a product of which a factor comes with its support."""

    def rule(p: Any, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Sequence[Maybe]:
        factors = list(supports[:2])
        factors[p.masked] = from_mask(xs[2])
        return product(p, ys, xs, factors)

    return rule


# ---- what mixes elements -------------------------------------------------------------------------


def _mixing(axes: Callable[[Any], Sequence[int]], operand: int = 0) -> Rule:
    """Return the rule of a result that depends on all elements along ``axes(p)`` of an operand."""

    def rule(p: Any, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Sequence[Maybe]:
        x, support = xs[operand], supports[operand]
        if not isinstance(support, Support):
            return [True]
        gone = tuple(axis % x.ndim for axis in axes(p))
        some = _any(gone, x, support)
        return [Support(broadcast_p, Broadcast(ys[0].shape, kept_axes(x.ndim, gone)), [some])]

    return rule


_along_axis: Final = _mixing(lambda p: (p.axis,))


def _spectrum(read: Callable[[int], int]) -> Rule:
    """Return the rule of a Fourier transform that reads so many of a number of points."""

    def rule(
        p: Fourier, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
    ) -> Sequence[Maybe]:
        support, count = supports[0], read(p.points)
        shape = xs[0].shape
        if isinstance(support, Support) and count < shape[p.axis]:
            stops = (*shape[: p.axis], count, *shape[p.axis + 1 :])
            box = Slice((0,) * len(shape), stops, (1,) * len(shape))
            support = Support(slice_p, box, [support])
        return _along_axis(p, ys, xs, [support])

    return rule


_of_vector: Final = _mixing(lambda _: (-1,))
_of_matrix: Final = _mixing(lambda _: (-2, -1))
_of_column: Final = _mixing(lambda _: (-2,), operand=1)


def _adjugate(
    p: Params, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """A derivative is linear in each operand but the first: any that has a support tells."""
    k = next((k for k, s in enumerate(supports) if isinstance(s, Support)), 0)
    return _of_matrix(p, ys, xs[k:], supports[k:])


def _blocks(
    p: Params, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """The eigenvalues of a matrix of zeros are zeros; its eigenvectors are not."""
    return [*_of_matrix(p, ys, xs, supports), True]


def _settle(
    p: Params, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Slopes that are equal share what belongs to any of them; the generator stays."""
    return [*_of_vector(p, ys, xs, supports), supports[1]]


def _linear_solve(
    p: LinearSolve, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Every unknown of an example depends on all right-hand sides of that example."""
    right, given = xs[-p.unknowns :], supports[-p.unknowns :]
    if True in given:
        return [True for _ in ys]
    batches = tuple(range(len(p.batches)))
    some = [
        _any(tuple(range(len(batches), b.ndim)), b, support)
        for b, support in zip(right, given, strict=True)
        if support is not False
    ]
    if not some:
        return [False for _ in ys]
    either = reduce(_either, some)
    return [Support(broadcast_p, Broadcast(y.shape, batches), [either]) for y in ys]


def _recurrence(
    p: Axis, _ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Return where some term has arrived, unless a boolean coefficient has forgotten it."""
    if not isinstance(supports[1], Support):
        return [True]
    if xs[0].dtype == BOOL:
        return [Support(recurrence_p, p, [xs[0], supports[1]])]
    return [Support(cumsum_p, p, [supports[1]])]


def shift_by_one(support: Support, axis: int) -> Support:
    """Return a support that has moved by one place along an axis."""
    shape = support.type.shape
    stops = (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])
    kept = Support(slice_p, Slice((0,) * len(shape), stops, (1,) * len(shape)), [support])
    first = constant(False, ArrayType((*shape[:axis], 1, *shape[axis + 1 :]), BOOL))
    return Support(concatenate_p, Axis(axis), [first, kept])


# ---- the table -----------------------------------------------------------------------------------


def _add_part(primitive: Primitive[Any]) -> Rule:
    """Return the rule of adding to an array, that needs no mask for a slice if it has no zeros."""
    rule = _sums(primitive)
    return lambda p, ys, xs, supports: [True] if supports[0] is True else rule(p, ys, xs, supports)


RULES: Final[dict[Primitive[Any], Rule]] = {
    **{primitive: _add_part(primitive) for primitive in (add_slice_p, scatter_add_p)},
    div.primitive: lambda p, ys, xs, supports: _factor(p, ys, xs, supports[:1]),
    contract_p: _contract,
    masked_contract_p: _mask_factor(_contract),
    convolve_p: _convolve,
    masked_convolve_p: _mask_factor(_convolve),
    masked_sum_p: _total,
    adjugate_p: _adjugate,
    **dict.fromkeys((solve_p, triangular_solve_p, named_solve_p), _of_column),
    linear_solve_p: _linear_solve,
    mean_over_ties_p: _of_vector,
    eigen_differential_p: _settle,
    blocks_p: _blocks,
    recurrence_p: _recurrence,
    **dict.fromkeys((fft_p, ifft_p, rfft_p), _spectrum(lambda points: points)),
    irfft_p: _spectrum(lambda points: points // 2 + 1),
}
"""How a support goes through an operation, where its facts do not tell.

Without any one of these, an infinite slope beside a mask is NaN in some test: of `tests.semantics`,
or, for contractions, convolutions and masked sums, of `tests.passes.test_support`; without those of
`_add_part`, a mask is recorded that nothing needs."""

SOURCES: Final = frozenset({convolve_p, masked_contract_p, masked_convolve_p})
"""Operations of which a result may have a support although no operand has one."""


@cache
def rule_of(primitive: Primitive[Any]) -> Rule | None:
    """Return how a support goes through an operation; None if the result may be anywhere."""
    facts = primitive.facts
    if primitive in RULES:
        return RULES[primitive]
    if facts.rearranges or facts.sums:
        return _sums(primitive)
    if facts.diagonal or facts.hands_on:
        return _diagonal
    if facts.reduces is np.add and facts.linear is not None:
        return _total
    if primitive.pointwise and facts.product:
        return _factor
    return _union if primitive.pointwise and facts.linear == slice(None) else None


def is_product(primitive: Primitive[Any]) -> bool:
    """Whether zeros of a result may be lost where a coefficient is not finite."""
    return primitive.facts.product or primitive in _QUOTIENTS


_QUOTIENTS: Final = frozenset({
    div.primitive, adjugate_p, solve_p, triangular_solve_p, named_solve_p, linear_solve_p,
})  # fmt: skip
