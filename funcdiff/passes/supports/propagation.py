"""Propagates supports through a recording, and records them as booleans where they are used.

A support that depends on shapes only is evaluated, too: if it is everywhere, no mask is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import cache, reduce
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.primitive import NONE, Params, Primitive, Types, operation
from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.accumulation import recurrence_p
from funcdiff.ops.axes.indexing import scatter_add_p
from funcdiff.ops.axes.reductions import cumsum_p, reduce_any_p
from funcdiff.ops.elementwise.logic import logical_and, logical_or
from funcdiff.ops.elementwise.mathematics import div
from funcdiff.ops.families import Elementwise
from funcdiff.ops.linalg.degeneracy import eigen_differential_p
from funcdiff.ops.linalg.determinants import adjugate_p
from funcdiff.ops.products.contract import Labels
from funcdiff.ops.products.convolution import Convolution, convolve_p
from funcdiff.ops.products.masked import MaskedContraction, masked_contract_p, masked_convolve_p
from funcdiff.ops.structure.slicing import Slice, add_slice_p, along, slice_p
from funcdiff.ops.structure.structural import (
    Axis,
    Permutation,
    Shape,
    concatenate_p,
    permute_p,
    reshape_p,
)
from funcdiff.ops.user.solved_equations import LinearSolve, linear_solve_p
from funcdiff.passes.rewrites import algebra, rearranging
from funcdiff.passes.rewrites.rewriter import Rewriter
from funcdiff.space import Axes, Broadcast, broadcast_p, kept_axes, splat

# ---- A support: where a tangent or cotangent may be nonzero, as a small program of booleans ------
#
# Masks, padding and scattering put zeros in places that the program knows.  Such a support is
# itself a small program of booleans, in which most linear operations stand for themselves: what
# moves numbers moves booleans, a sum becomes "any", an addition "or".  It is kept as a tree and
# recorded only where it is needed.


class Support:
    """One step of a support: an operation on booleans, of supports and known arrays.

    It is the result `place` of the operation.
    """

    __slots__ = ("fixed", "operands", "operation", "place", "type")
    fixed: bool  # whether it depends on shapes only, not on masks or indices
    type: ArrayType

    def __init__(
        self,
        primitive: Primitive[Any],
        params: Params,
        operands: Sequence[Support | Tracer],
        place: int = 0,
    ) -> None:
        self.operation = operation(primitive, params, tuple([x.type for x in operands]))
        self.operands = tuple(operands)
        self.place = place
        self.fixed = all(
            x.fixed if isinstance(x, Support) else splat(x) is not None for x in self.operands
        )
        self.type = self.operation.results[place]

    @property
    def sources(self) -> list[Support]:
        """The supports among the operands."""
        return [x for x in self.operands if isinstance(x, Support)]


Maybe: TypeAlias = Support | bool
"""A support; True is everywhere, False nowhere."""


def from_mask(mask: Tracer) -> Support:
    """Return a mask that is recorded as a support."""
    return Support(reshape_p, Shape(mask.shape), [mask])


def booleans(x: Tracer, support: Maybe) -> Support | Tracer:
    """Return the support of `x` as an operand of booleans."""
    if isinstance(support, Support):
        return support
    return constant(support, ArrayType(x.shape, BOOL))


# ---- Propagation rules for supports, from the facts of operations and a table for the others -----


K = TypeVar("K")
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


def _rule_by_labels(
    primitive: Primitive[Any], linear: slice = slice(None), *, product: bool = False
) -> Rule:
    """Return the rule that labels tell: where any of the entries may be that a result is made of.

    That is of any of the operands in which the operation is linear, of a product of all of them: a
    coefficient that is zero is a number like any other.
    """
    either = logical_and if product else logical_or

    def rule(p: Any, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Sequence[Maybe]:
        chosen = range(len(xs))[linear]
        found = [(k, s) for k in chosen if isinstance(s := supports[k], Support)]
        if not found or (not product and any(supports[k] is True for k in chosen)):
            return [product or any(supports[k] for k in chosen) for _ in ys]
        access = operation(primitive, p, tuple([x.type for x in xs])).access
        return [
            _combine(either, [_spread(access.operands[k], s, labels, y.shape) for k, s in found])
            for labels, y in zip(access.results, ys, strict=True)
        ]

    return rule


def _any(axes: tuple[int, ...], x: Support | Tracer) -> Support | Tracer:
    return Support(reduce_any_p, Axes(axes), [x]) if axes else x


def _reduce_labels(
    labels: Sequence[K], some: Support | Tracer, out: Sequence[Any]
) -> tuple[tuple[K, ...], Support | Tracer]:
    """Return the labels that the result has, too, and where any entry with them may be."""
    kept = tuple([k for k in labels if k is not None and k in out])
    return kept, _any(tuple([axis for axis, k in enumerate(labels) if k not in kept]), some)


def _spread(
    labels: Sequence[Any], some: Support | Tracer, out: Sequence[Any], shape: tuple[int, ...]
) -> Support | Tracer:
    """Return a support as one of a result, the same along the labels that it has not."""
    kept, some = _reduce_labels(labels, some, out)
    axes = tuple([axis for axis, k in enumerate(out) if k in kept])
    order = tuple([kept.index(out[axis]) for axis in axes])
    if order != tuple(range(len(order))):
        some = Support(permute_p, Permutation(order), [some])
    if shape != some.type.shape:
        some = Support(broadcast_p, Broadcast(shape, axes), [some])
    return some


def _combine(either: Elementwise, supports: Sequence[Support | Tracer]) -> Support:
    """Return where any, or where all, of some supports are."""
    found = reduce(lambda x, y: Support(either.primitive, NONE, [x, y]), supports)
    return found if isinstance(found, Support) else from_mask(found)


# ---- products that slide -------------------------------------------------------------------------


def _convolve(
    p: Convolution, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """An entry may differ from zero if any of those may, at places that meet, that are summed."""
    sides, every = (p.left, p.right), (*p.out, *(-1 - k for k in range(len(p.steps))))
    places = [
        constant(True, ArrayType(x.shape[len(side) :], BOOL))
        for x, side in zip(xs, sides, strict=False)
    ]
    found: list[Support | Tracer] = []
    for k, support in enumerate(supports[:2]):
        if isinstance(support, Support):
            own = (*sides[k], *every[len(p.out) :])
            kept, some = _reduce_labels(own, support, every)
            labels: list[Labels] = [(), ()]
            factors: list[Support | Tracer] = [*places]
            labels[k], factors[k] = kept[: len(kept) - len(p.steps)], some
            met = Support(convolve_p, _slides(p, labels[0], labels[1], labels[k]), factors)
            found.append(_spread(kept, met, every, ys[0].shape))
    if not found:
        met = Support(convolve_p, _slides(p, (), (), ()), places)
        found = [_spread(every[len(p.out) :], met, every, ys[0].shape)]
    return [_combine(logical_and, found)]


def _slides(p: Convolution, left: Labels, right: Labels, out: Labels) -> Convolution:
    return Convolution(left, right, out, p.steps, p.offsets, p.lengths)


def _mask_factor(product: Rule) -> Rule:
    """Return the rule of a product of which a factor comes with its support."""

    def rule(p: Any, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Sequence[Maybe]:
        factors = list(supports[:2])
        factors[p.masked] = from_mask(xs[2])
        return product(p, ys, xs, factors)

    return rule


# ---- what mixes elements -------------------------------------------------------------------------


def _settle(
    p: Params, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Slopes that are equal share what belongs to any of them; the generator stays."""
    return [_rule_by_labels(eigen_differential_p, slice(1))(p, ys, xs, supports)[0], supports[1]]


def _linear_solve(
    p: LinearSolve, ys: Types, xs: Sequence[Tracer], supports: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Every unknown of an example depends on all right-hand sides of that example."""
    right, given = xs[-p.unknowns :], supports[-p.unknowns :]
    if True in given:
        return [True for _ in ys]
    batches: Labels = tuple(range(len(p.batches)))
    some = [
        _any(tuple(range(len(batches), b.ndim)), booleans(b, support))
        for b, support in zip(right, given, strict=True)
        if support is not False
    ]
    if not some:
        return [False for _ in ys]
    either = _combine(logical_or, some)
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
    kept = Support(slice_p, along(shape, axis, 0, shape[axis] - 1), [support])
    first = constant(False, ArrayType((*shape[:axis], 1, *shape[axis + 1 :]), BOOL))
    return Support(concatenate_p, Axis(axis), [first, kept])


# ---- the table -----------------------------------------------------------------------------------


def _add_part(primitive: Primitive[Any]) -> Rule:
    """Return the rule of adding to an array, that needs no mask for a slice if it has no zeros."""
    rule = _sums(primitive)
    return lambda p, ys, xs, supports: [True] if supports[0] is True else rule(p, ys, xs, supports)


RULES: Final[dict[Primitive[Any], Rule]] = {
    **{primitive: _add_part(primitive) for primitive in (add_slice_p, scatter_add_p)},
    div.primitive: _rule_by_labels(div.primitive, slice(1), product=True),
    masked_contract_p: _mask_factor(_rule_by_labels(masked_contract_p, slice(2), product=True)),
    convolve_p: _convolve,
    masked_convolve_p: _mask_factor(_convolve),
    adjugate_p: _rule_by_labels(adjugate_p, product=True),
    linear_solve_p: _linear_solve,
    eigen_differential_p: _settle,
    recurrence_p: _recurrence,
}
"""How a support goes through an operation, where its facts do not tell.

Without any one of these, an infinite slope beside a mask is NaN in some test: of `tests.semantics`,
or, for contractions, convolutions and masked sums, of `tests.passes.test_support`; without those of
`_add_part`, a mask is recorded that nothing needs."""


@cache
def rule_of(primitive: Primitive[Any]) -> Rule | None:
    """Return how a support goes through an operation; None if the result may be anywhere."""
    facts = primitive.facts
    if rule := RULES.get(primitive):
        return rule
    if facts.elements in ("moved", "summed", "added"):
        return _sums(primitive)
    if facts.elements == "scaled" or facts.hands_on:
        return lambda _p, ys, _xs, supports: supports[: len(ys)]
    if facts.elements == "multiplied" and primitive.access is not None:
        return _rule_by_labels(primitive, product=True)
    by_labels = facts.linear is not None and primitive.access is not None
    return _rule_by_labels(primitive, facts.linear or slice(None)) if by_labels else None


def is_product(primitive: Primitive[Any]) -> bool:
    """Whether zeros of a result may be lost where a coefficient is not finite."""
    facts = primitive.facts
    solves = facts.raises and facts.linear is not None  # for what the other operands may refuse
    return facts.elements == "multiplied" or solves or primitive in _QUOTIENTS


_QUOTIENTS: Final = (div.primitive, adjugate_p, linear_solve_p)


_rewriter: Final = Rewriter(algebra.rules, rearranging.rules)


class Supports:
    """The supports of what one walk over a linear program has recorded."""

    def __init__(self) -> None:
        self._known: dict[Any, Maybe] = {}
        self._recorded: dict[Support, Tracer] = {}
        self._values = _Values()

    def of(self, x: Tracer) -> Maybe:
        """Return where `x` may differ from zero."""
        value = splat(x)
        if value is not None:
            return bool(value != 0)
        return self._known.get(x.atom, True)

    def resolve(self, x: Tracer) -> Maybe:
        """Return `of`, evaluated if it depends on shapes only: True where it is everywhere."""
        support = self.of(x)
        if isinstance(support, Support) and self.is_everywhere(support):
            self._known[x.atom] = True
            return True
        return support

    def assume(self, x: Tracer, support: Support | Tracer) -> None:
        """Take `support` for where `x` may differ from zero."""
        self._known[x.atom] = support if isinstance(support, Support) else from_mask(support)

    def note(
        self, ys: Sequence[Tracer], primitive: Primitive[Any], params: Any, xs: Sequence[Tracer]
    ) -> None:
        """Work out the supports of results that have just been recorded."""
        rule = rule_of(primitive)
        if rule is None or (
            not isinstance(params, Convolution | MaskedContraction)
            and all(isinstance(x.atom, int) and x.atom not in self._known for x in xs)
        ):
            return
        types = tuple([y.type for y in ys])
        found = rule(params, types, xs, [self.of(x) for x in xs])
        for y, support in zip(ys, found, strict=True):
            if support is not True and splat(y) is None:
                self._known.setdefault(y.atom, support)

    def of_results(
        self, primitive: Primitive[Any], params: Any, xs: Sequence[Tracer]
    ) -> Sequence[Maybe]:
        """Return the supports that results will have, True where they turn out to be everywhere."""
        rule = rule_of(primitive)
        types = operation(primitive, params, tuple([x.type for x in xs])).results
        if rule is None:
            return [True for _ in types]
        found = rule(params, types, xs, [self.resolve(x) for x in xs])
        return [True if isinstance(s, Support) and self.is_everywhere(s) else s for s in found]

    def record(self, support: Support) -> Tracer:
        """Record the equations of a support, those recorded before excepted."""
        for node in _steps(support, self._recorded):
            xs = [self._recorded[x] if isinstance(x, Support) else x for x in node.operands]
            op = node.operation
            self._recorded[node] = _rewriter.emit(op.primitive, op.params, *xs)[node.place]
        return self._recorded[support]

    def takes_more_than(self, count: int, support: Support) -> bool:
        """Whether a support takes more steps than `count`, those recorded before excepted."""
        found: set[Support] = set()
        pending = [support]
        while pending and len(found) <= count:
            node = pending.pop()
            if node not in self._recorded:
                found.add(node)
                pending += node.sources
        return len(found) > count

    def is_everywhere(self, support: Support) -> bool:
        """Whether a support that depends on shapes only turns out to be everywhere."""
        return support.fixed and bool(np.all(self._values.of(support)))

    def box(self, support: Support) -> Slice | None:
        """Return the box that a support is that depends on shapes only, if it is one."""
        if not support.fixed or not np.any(self._values.of(support)):
            return None
        value = self._values.of(support)
        axes = range(value.ndim)
        places = [np.flatnonzero(np.any(value, kept_axes(value.ndim, (k,)))) for k in axes]
        starts = tuple(int(along[0]) for along in places)
        stops = tuple(int(along[-1]) + 1 for along in places)
        found = Slice(starts, stops, (1,) * value.ndim)
        return found if np.all(value[found.index]) else None


class _Values:
    """The values of supports that depend on shapes only: each is computed once.

    So the steps of a loop over the elements of an array, each of which asks for the support of the
    whole array, take linear time.  Values that were only computed on the way to others are dropped
    where there is no more room.
    """

    room = 1 << 26
    """How many bytes may be kept."""

    def __init__(self) -> None:
        self._known: dict[Support, Any] = {}
        self._size = 0

    def of(self, support: Support) -> Any:
        """Return the booleans that a support consists of."""
        missing = _steps(support, self._known)
        uses = Counter(x for node in missing for x in node.sources)
        for node in missing:
            results = node.operation.function(*map(self._operand, node.operands))
            value = results if len(node.operation.results) == 1 else results[node.place]
            self._known[node] = value
            self._size += _own_size(value)
            for x in node.sources:
                uses[x] -= 1
                if not uses[x] and self._size > self.room:
                    self._size -= _own_size(self._known.pop(x))
        return self._known[support]

    def _operand(self, x: Support | Tracer) -> Any:
        if isinstance(x, Support):
            return self._known[x]
        assert isinstance(x.atom, Literal)
        return x.atom.array


def _own_size(value: Any) -> int:
    """Return how many bytes an array takes that is no view."""
    return value.nbytes if value.base is None else 0


def _steps(support: Support, known: Container[Support]) -> list[Support]:
    """Return the steps of a support that are not known, operands first."""
    found: dict[Support, None] = {}
    pending = [] if support in known else [support]
    while pending:
        missing = [x for x in pending[-1].sources if x not in known and x not in found]
        if missing:
            pending += missing
        else:
            found[pending.pop()] = None
    return list(found)
