"""Where a tangent or cotangent may differ from zero, as far as the program tells.

Masks, padding and scattering put zeros in places that the program knows.  Such a support is
itself a small program of booleans, in which most linear operations stand for themselves: what
moves numbers moves booleans, a sum becomes "any", an addition "or".  It is kept as a tree and
recorded only where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import Builder, Tracer, constant
from funcdiff.core.evaluate import Executable
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.complex import conj_p, imag_p, real_p
from funcdiff.ops.contract import Contraction, contract_p
from funcdiff.ops.indexing import gather_p, scatter_add_p
from funcdiff.ops.logic import logical_not, logical_or
from funcdiff.ops.reductions import cumsum_p, reduce_any_p
from funcdiff.ops.slicing import add_slice_p, slice_p
from funcdiff.ops.structural import (
    Permutation,
    concatenate_p,
    convert_p,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)
from funcdiff.passes import algebra
from funcdiff.passes.rewriting import Rewriter
from funcdiff.space import (
    Axes,
    Broadcast,
    add_p,
    broadcast_p,
    mul_p,
    neg_p,
    reduce_sum_p,
    splat,
)


class Support:
    """One step of a support: a primitive of booleans applied to supports and known arrays.

    Attributes
    ----------
    fixed
        Whether it depends on shapes only, not on masks or indices.
    """

    __slots__ = ("fixed", "operands", "params", "primitive", "type")
    fixed: bool
    type: ArrayType

    def __init__(
        self, primitive: Primitive[Any], params: Params, operands: Sequence[Support | Tracer]
    ) -> None:
        self.primitive = primitive
        self.params = params
        self.operands = tuple(operands)
        self.fixed = all(
            x.fixed if isinstance(x, Support) else splat(x) is not None for x in self.operands
        )
        (self.type,) = primitive.abstract(params, *(x.type for x in operands))


Maybe: TypeAlias = Support | bool
"""A support; True is everywhere, False nowhere."""

Rule: TypeAlias = Callable[[Any, Sequence[Tracer], Sequence[Maybe]], Support]


def _booleans(x: Tracer, support: Maybe) -> Support | Tracer:
    if isinstance(support, Support):
        return support
    return constant(support, ArrayType(x.shape, BOOL))


def _as_itself(primitive: Primitive[Any], *given: int, start: int | None = None) -> Rule:
    """Return the rule of an operation that does to booleans what it does to numbers.

    Operands at places `given`, and those from `start` on, are known arrays.
    """

    def rule(p: Any, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
        operands = [
            x if k in given or (start is not None and k >= start) else _booleans(x, s)
            for k, (x, s) in enumerate(zip(xs, supports, strict=True))
        ]
        return Support(primitive, p, operands)

    return rule


def _elementwise(_p: Any, _xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """Return the support of an operand that has one: that of any factor holds for a product."""
    return next(s for s in supports if isinstance(s, Support))


def _either(_p: Any, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    if False in supports:
        return _elementwise(_p, xs, supports)
    pair = [_booleans(x, s) for x, s in zip(xs, supports, strict=True)]
    return Support(logical_or.primitive, NONE, pair)


def _any(p: Any, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    return Support(reduce_any_p, p, [_booleans(xs[0], supports[0])])


def _contracted(p: Contraction, xs: Sequence[Tracer], supports: Sequence[Maybe]) -> Support:
    """An entry may differ from zero if any of those may that are summed for it."""
    k = 0 if isinstance(supports[0], Support) else 1
    labels = (p.left, p.right)[k]
    some: Support | Tracer = _booleans(xs[k], supports[k])
    summed = tuple(axis for axis, label in enumerate(labels) if label not in p.out)
    if summed:
        some = Support(reduce_any_p, Axes(summed), [some])
    kept = [label for label in labels if label in p.out]
    order = tuple(kept.index(label) for label in p.out if label in kept)
    moved = Support(permute_p, Permutation(order), [some])
    (result,) = contract_p.abstract(p, *(x.type for x in xs))
    axes = tuple(axis for axis, label in enumerate(p.out) if label in kept)
    return Support(broadcast_p, Broadcast(result.shape, axes), [moved])


_RULES: Final[dict[Primitive[Any], Rule]] = {
    **{
        primitive: _as_itself(primitive)
        for primitive in (
            reshape_p, permute_p, reverse_p, broadcast_p, slice_p, add_slice_p, concatenate_p,
            cumsum_p,
        )
    },
    select_p: _as_itself(select_p, 0),
    gather_p: _as_itself(gather_p, start=1),
    scatter_add_p: _as_itself(scatter_add_p, start=2),
    **dict.fromkeys((neg_p, mul_p, convert_p, conj_p, real_p, imag_p), _elementwise),
    add_p: _either,
    reduce_sum_p: _any,
    contract_p: _contracted,
}  # fmt: skip
"""How a support goes through an operation; through others it does not: everywhere."""


_rewriter: Final = Rewriter(algebra.rules)


class Supports:
    """The supports of what one walk over a linear program has recorded."""

    def __init__(self) -> None:
        self._known: dict[Any, Maybe] = {}
        self._recorded: dict[int, tuple[Support, Tracer]] = {}
        self._evaluated: tuple[Support, Any] | None = None

    def of(self, x: Tracer) -> Maybe:
        """Return where `x` may differ from zero."""
        value = splat(x)
        if value is not None:
            return bool(value != 0)
        return self._known.get(x.atom, True)

    def note(
        self, y: Tracer, primitive: Primitive[Any], params: Params, xs: Sequence[Tracer]
    ) -> None:
        """Work out the support of a result that has just been recorded."""
        rule = _RULES.get(primitive)
        if rule is None or y.atom in self._known or splat(y) is not None:
            return
        supports = [self.of(x) for x in xs]
        if primitive is add_p and True in supports:
            return
        if primitive in (add_slice_p, scatter_add_p) and supports[0] is True:
            return
        if primitive in (mul_p, contract_p):  # a zero coefficient is a number like any other
            supports = [s if isinstance(s, Support) else True for s in supports]
        if primitive is select_p:
            supports[0] = True
        if any(s is not True for s in supports):
            self._known[y.atom] = rule(params, xs, supports)

    def forget(self, x: Tracer) -> None:
        """Take the support of `x` for everywhere."""
        self._known[x.atom] = True

    def record(self, support: Support) -> Tracer:
        """Record the equations of a support, those recorded before excepted."""
        pending = [support]
        while pending:
            node = pending[-1]
            missing = [x for x in node.operands if isinstance(x, Support) and not self._has(x)]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if not self._has(node):
                xs = [self._recorded[id(x)][1] if isinstance(x, Support) else x
                      for x in node.operands]  # fmt: skip
                self._recorded[id(node)] = node, _emit(node, xs)
        return self._recorded[id(support)][1]

    def is_everywhere(self, support: Support) -> bool:
        """Whether a support that depends on shapes only turns out to be everywhere.

        The one evaluated last is kept: a sum that is multiplied whenever a piece has been added
        is evaluated piece by piece, too.
        """
        if not support.fixed:
            return False
        inner = Supports()
        arrays = []
        with Builder("a support", closed=True, shares=True) as builder:
            if self._evaluated is not None:
                node, array = self._evaluated
                inner._recorded[id(node)] = node, builder.input(node.type)
                arrays = [array]
            program = builder.program([inner.record(support)])
        (value,) = Executable(program)(*arrays)
        self._evaluated = support, value
        return bool(np.all(value))

    def _has(self, node: Support) -> bool:
        return id(node) in self._recorded


def _emit(node: Support, xs: Sequence[Tracer]) -> Tracer:
    if node.primitive is select_p:
        sides = [splat(x) for x in xs[1:]]
        if sides == [True, False]:
            return xs[0]
        if sides == [False, True]:
            return logical_not(xs[0])
    if node.primitive is logical_or.primitive and algebra.same(*xs):
        return xs[0]
    return _rewriter.emit(node.primitive, node.params, *xs)[0]
