"""Propagation rules for supports: a table by primitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, reduce
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.indexing import gather_p, scatter_add_p, scatter_p
from funcdiff.ops.axes.recurrence import recurrence_p
from funcdiff.ops.axes.reductions import cumsum_p, reduce_any_p
from funcdiff.ops.control.tap import tap_p
from funcdiff.ops.elementwise.logic import logical_and, logical_or
from funcdiff.ops.elementwise.mathematics import div
from funcdiff.ops.linalg.degeneracy import blocks_p, distinct_p, gauge_p, settled_p, shared_p
from funcdiff.ops.linalg.determinants import adjugate_p
from funcdiff.ops.linalg.eigen import existing_p
from funcdiff.ops.linalg.functions.singular_functions import singular_derivative_p
from funcdiff.ops.linalg.functions.spectral import spectral_p
from funcdiff.ops.linalg.matrices import part_p
from funcdiff.ops.linalg.null_space import leaving_p, regular_p, vanishing_p
from funcdiff.ops.linalg.orthogonal import complement_p, divergent_p
from funcdiff.ops.linalg.pseudoinverse import constant_rank_p
from funcdiff.ops.linalg.reflectors import reflected_p
from funcdiff.ops.linalg.systems import solve_p, triangular_solve_p
from funcdiff.ops.products.contract import Contraction, Labels, contract_p
from funcdiff.ops.products.convolution import Convolution, convolve_p
from funcdiff.ops.products.fourier import Fourier, fft_p, ifft_p, irfft_p, rfft_p
from funcdiff.ops.products.masked import masked_contract_p, masked_convolve_p, masked_sum_p
from funcdiff.ops.structure.slicing import Slice, add_slice_p, replace_slice_p, slice_p
from funcdiff.ops.structure.sliding_windows import overlap_add_p, sliding_windows_p
from funcdiff.ops.structure.structural import (
    Axis,
    Permutation,
    concatenate_p,
    permute_p,
    select_p,
)
from funcdiff.ops.user.linear_solve import LinearSolve, linear_solve_p, named_solve_p
from funcdiff.passes.supports.support import Maybe, Support, booleans
from funcdiff.space import (
    Axes,
    Broadcast,
    broadcast_p,
    kept_axes,
)

Rule: TypeAlias = Callable[[Any, Sequence[Tracer], Sequence[Maybe]], Maybe]
RuleOfSeveral: TypeAlias = Callable[[Any, Sequence[Tracer], Sequence[Maybe]], Sequence[Maybe]]


def _as_itself(primitive: Primitive[Any], *given: int, start: int | None = None) -> Rule:
    """Return the rule of an operation that does to booleans what it does to numbers.

    Operands at places `given`, and those from `start` on, are known arrays.
    """

    def rule(p: Params, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
        operands = [
            x if k in given or (start is not None and k >= start) else booleans(x, s)
            for k, (x, s) in enumerate(zip(xs, supports, strict=True))
        ]
        return Support(primitive, p, operands)

    return rule


def _elementwise(_p: Params, _xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """Return the support of an operand that has one: that of any factor holds for a product."""
    return next(s for s in supports if isinstance(s, Support))


def _first(_p: Params, _xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Maybe:
    """Return the support of what is scaled, or checked, element by element, as others say."""
    return supports[0]


def _union(_p: Params, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Maybe:
    """Return where any of the operands may differ from zero."""
    terms = [(x, s) for x, s in zip(xs, supports, strict=True) if s is not False]
    if len(terms) < 2:
        return terms[0][1] if terms else False
    first, *others = [booleans(x, s) for x, s in terms]
    union = Support(logical_or.primitive, NONE, [first, others[0]])
    for other in others[1:]:
        union = Support(logical_or.primitive, NONE, [union, other])
    return union


def _any(p: Axes, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    return Support(reduce_any_p, p, [booleans(xs[0], supports[0])])


def _contracted(p: Contraction, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """An entry may differ from zero if any of those may that are summed for it."""
    sizes = {k: n for x, side in zip(xs, (p.left, p.right), strict=False)
             for k, n in zip(side, x.shape, strict=True)}  # fmt: skip
    shape = tuple(sizes[label] for label in p.out)

    def spread(k: int) -> Support:
        kept, some = _summed(p, (p.left, p.right)[k], xs[k], supports[k])
        return _spread(kept, some, p.out, shape)

    return _for_each(spread, supports)


def _convolved(p: Convolution, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Maybe:
    """Do the same, with any of the entries at places that meet an entry of the other operand."""
    (result,) = convolve_p.abstract(p, *(x.type for x in xs[:2]))
    left, right = (
        ArrayType(x.shape[len(side) :], BOOL)
        for x, side in zip(xs, (p.left, p.right), strict=False)
    )

    def spread(k: int) -> Support:
        kept, some = _summed(p, (p.left, p.right)[k], xs[k], supports[k])
        if k == 0:
            met = Support(convolve_p, _slides(p, kept, (), kept), [some, constant(True, right)])
        else:
            met = Support(convolve_p, _slides(p, (), kept, kept), [constant(True, left), some])
        return _spread(kept, met, p.out, result.shape)

    if any(isinstance(s, Support) for s in supports[:2]):
        return _for_each(spread, supports)
    slides = _slides(p, (), (), ())
    if _is_full(slides, left, right):
        return True
    met = Support(convolve_p, slides, [constant(True, left), constant(True, right)])
    return _spread((), met, p.out, result.shape)


def _slides(p: Convolution, left: Labels, right: Labels, out: Labels) -> Convolution:
    return Convolution(left, right, out, p.steps, p.offsets, p.lengths)


@lru_cache(maxsize=1024)
def _is_full(p: Convolution, left: ArrayType, right: ArrayType) -> bool:
    """Whether there is a product for every place of a result."""
    ones = (np.ones(t.shape, BOOL) for t in (left, right))
    return bool(np.all(convolve_p.impl(p)(*ones)))


def _for_each(spread: Callable[[int], Support], supports: Sequence[Maybe]) -> Support:
    """Return where the support of each of two factors that has one lets a product be."""
    found = [spread(k) for k, s in enumerate(supports[:2]) if isinstance(s, Support)]
    return found[0] if len(found) == 1 else Support(logical_and.primitive, NONE, found)


def _summed(
    p: Contraction | Convolution,
    labels: Labels,
    x: Tracer,
    support: Maybe,
) -> tuple[Labels, Support | Tracer]:
    """Return the labels that the result has, too, and where any entry with them may be."""
    some: Support | Tracer = booleans(x, support)
    gone = tuple(axis for axis, label in enumerate(labels) if label not in p.out)
    kept = tuple(label for label in labels if label in p.out)
    return kept, Support(reduce_any_p, Axes(gone), [some]) if gone else some


def _spread(kept: Labels, some: Support | Tracer, out: Labels, shape: tuple[int, ...]) -> Support:
    """Return a support with labels in front as one of a result with these and others."""
    extra = len(shape) - len(out)
    last = tuple(range(len(kept), len(kept) + extra))
    order = tuple(kept.index(label) for label in out if label in kept)
    moved = Support(permute_p, Permutation((*order, *last)), [some])
    axes = tuple(axis for axis, label in enumerate(out) if label in kept)
    axes = (*axes, *range(len(out), len(shape)))
    return Support(broadcast_p, Broadcast(shape, axes), [moved])


def _mixed(primitive: Primitive[Fourier]) -> Rule:
    """Every result along the axis of a Fourier transform depends on every operand."""

    def rule(p: Fourier, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
        (result,) = primitive.abstract(p, xs[0].type)
        some = _any(Axes((p.axis,)), xs, supports)
        axes = kept_axes(result.ndim, (p.axis,))
        return Support(broadcast_p, Broadcast(result.shape, axes), [some])

    return rule


def _recurrent(p: Axis, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """Return where some term has arrived, unless a boolean coefficient has forgotten it."""
    term = booleans(xs[1], supports[1])
    if xs[0].dtype == BOOL:
        return Support(recurrence_p, p, [xs[0], term])
    return Support(cumsum_p, p, [term])


def shifted(support: Support, axis: int) -> Support:
    """Return a support that has moved by one place along an axis."""
    shape = support.type.shape
    stops = (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])
    kept = Support(slice_p, Slice((0,) * len(shape), stops, (1,) * len(shape)), [support])
    first = constant(False, ArrayType((*shape[:axis], 1, *shape[axis + 1 :]), BOOL))
    return Support(concatenate_p, Axis(axis), [first, kept])


def _matrix_by_matrix(_p: Params, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """Every element of a result that is a matrix depends on every element of an operand."""
    k = next(k for k, s in enumerate(supports) if isinstance(s, Support))
    ndim = xs[k].ndim
    some = _any(Axes((ndim - 2, ndim - 1)), [xs[k]], [supports[k]])
    return Support(broadcast_p, Broadcast(xs[k].shape, tuple(range(ndim - 2))), [some])


def _solved(_p: Params, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """Every element of a column of A⁻¹·B depends on every element of that column of B."""
    _, b = xs
    some = _any(Axes((b.ndim - 2,)), [b], supports[1:])
    return Support(broadcast_p, Broadcast(b.shape, kept_axes(b.ndim, (b.ndim - 2,))), [some])


def _solved_by_user(
    p: LinearSolve, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Every unknown of an example depends on all right-hand sides of that example."""
    right, given = xs[-p.unknowns :], supports[-p.unknowns :]
    if True in given:
        return [True for _ in right]
    axes = tuple(range(len(p.batches)))
    some = [
        _any(Axes(tuple(range(len(axes), b.ndim))), [b], [support])
        for b, support in zip(right, given, strict=True)
        if isinstance(support, Support)
    ]
    if not some:
        return [False for _ in right]
    either = reduce(lambda a, b: Support(logical_or.primitive, NONE, [a, b]), some)
    return [Support(broadcast_p, Broadcast(b.shape, axes), [either]) for b in right]


def _averaged(_p: Params, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """Values that are equal share what belongs to any of them."""
    axis = xs[0].ndim - 1
    some = _any(Axes((axis,)), xs, supports)
    return Support(broadcast_p, Broadcast(xs[0].shape, tuple(range(axis))), [some])


def _of_blocks(_p: Any, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Sequence[Maybe]:
    """The eigenvalues of a matrix of zeros are zeros; its eigenvectors are not."""
    if not isinstance(supports[0], Support):
        return [supports[0], True]
    axes = tuple(range(xs[0].ndim - 2))
    some = _any(Axes((xs[0].ndim - 2, xs[0].ndim - 1)), xs, supports)
    return [Support(broadcast_p, Broadcast(xs[0].shape[:-1], axes), [some]), True]


def _one_by_one(*rules: Rule) -> RuleOfSeveral:
    """Return the rule of an operation that does something of its own to each of the operands."""

    def rule(p: Params, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Sequence[Maybe]:
        each = zip(rules, xs, supports, strict=False)
        return [s if s is True else of_one(p, [x], [s]) for of_one, x, s in each]

    return rule


RULES: Final[dict[Primitive[Any], Rule]] = {
    **{
        primitive: _as_itself(primitive)
        for primitive in (
            add_slice_p, replace_slice_p, concatenate_p, cumsum_p, sliding_windows_p, overlap_add_p,
        )
    },
    select_p: _as_itself(select_p, 0),
    gather_p: _as_itself(gather_p, start=1),
    scatter_add_p: _as_itself(scatter_add_p, start=2),
    scatter_p: _as_itself(scatter_p, start=2),
    div.primitive: _elementwise,
    **dict.fromkeys(
        (
            complement_p, constant_rank_p, distinct_p, divergent_p, existing_p, gauge_p, leaving_p,
            part_p, reflected_p, regular_p, spectral_p, tap_p, vanishing_p,
        ),
        _first,
    ),
    contract_p: _contracted,
    masked_contract_p: _contracted,
    convolve_p: _convolved,
    masked_convolve_p: _convolved,
    adjugate_p: _matrix_by_matrix,
    **dict.fromkeys((solve_p, triangular_solve_p, named_solve_p), _solved),
    shared_p: _averaged,
    masked_sum_p: _any,
    recurrence_p: _recurrent,
    **{primitive: _mixed(primitive) for primitive in (fft_p, ifft_p, rfft_p, irfft_p)},
}  # fmt: skip
"""How a support goes through an operation, where its facts do not tell."""


@cache
def rule_of(primitive: Primitive[Any]) -> Rule | None:
    """Return how a support goes through an operation; None if the result may be anywhere."""
    rule = RULES.get(primitive)
    if rule is not None:
        return rule
    facts = primitive.facts
    if facts.rearranges:
        return _as_itself(primitive)
    if facts.reduces is np.add and facts.linear is not None:
        return _any
    if facts.pointwise and facts.product:
        return _elementwise
    return _union if is_pointwise_sum(primitive) else None


def is_pointwise_sum(primitive: Primitive[Any]) -> bool:
    """Whether an element of the result is a sum of multiples of those at its place."""
    return primitive.facts.pointwise and primitive.facts.linear == slice(None)


def is_product(primitive: Primitive[Any]) -> bool:
    """Whether an operation is linear in an operand for every value of the others."""
    return primitive.facts.product or primitive in _QUOTIENTS


_QUOTIENTS: Final = frozenset({
    div.primitive, masked_contract_p, masked_convolve_p, adjugate_p, solve_p, triangular_solve_p,
    named_solve_p,
})  # fmt: skip

SEVERAL: Final[dict[Primitive[Any], RuleOfSeveral]] = {
    blocks_p: _of_blocks,
    settled_p: _one_by_one(_averaged, _first),
    singular_derivative_p: _one_by_one(_first, _first),
    linear_solve_p: _solved_by_user,
}
"""For operations of several results."""

MASKED: Final = (masked_contract_p, masked_convolve_p)
"""Products of which one factor, whether it is linear or not, has the support that it comes with."""

OWN: Final = frozenset({add_slice_p, replace_slice_p, convolve_p, *MASKED})
"""Operations of which a result may have a support although no operand has one."""
