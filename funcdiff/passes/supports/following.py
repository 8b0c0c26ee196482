"""Keeps the supports of what is recorded, and records them as booleans where they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.evaluate import Executable
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive
from funcdiff.core.tracer import Tracer
from funcdiff.ops.axes.indexing import scatter_add_p
from funcdiff.ops.axes.recurrence import recurrence_p
from funcdiff.ops.elementwise.logic import logical_not, logical_or
from funcdiff.ops.structure.slicing import Slice, add_slice_p, replace_slice_p, slice_p
from funcdiff.ops.structure.structural import select_p
from funcdiff.passes.rewrites import logic, structure
from funcdiff.passes.rewrites.rewriting import Rewriter, is_same
from funcdiff.passes.supports.rules import (
    MASKED,
    OWN,
    SEVERAL,
    is_pointwise_sum,
    is_product,
    rule_of,
)
from funcdiff.passes.supports.support import Maybe, Support, from_mask
from funcdiff.passes.supports.written_tiles import Tiles
from funcdiff.space import splat

_rewriter: Final = Rewriter(structure.rules, logic.rules)


class Supports:
    """The supports of what one walk over a linear program has recorded."""

    def __init__(self) -> None:
        self._known: dict[Any, Maybe] = {}
        self._recorded: dict[int, tuple[Support, Tracer]] = {}
        self._evaluated: tuple[Support, Any] | None = None
        self._tiles = Tiles()

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
            self.forget(x)
            return True
        return support

    def assume(self, x: Tracer, support: Support | Tracer) -> None:
        """Take `support` for where `x` may differ from zero."""
        self._known[x.atom] = support if isinstance(support, Support) else from_mask(support)

    def note(
        self, ys: Sequence[Tracer], primitive: Primitive[Any], params: Any, xs: Sequence[Tracer]
    ) -> None:
        """Work out the supports of results that have just been recorded."""
        several = SEVERAL.get(primitive)
        if several is not None:
            found = several(params, xs, [self.of(x) for x in xs])
            self._known.update((y.atom, s) for y, s in zip(ys, found, strict=True) if s is not True)
        elif len(ys) == 1:
            self._note(ys[0], primitive, params, xs)

    def _note(
        self, y: Tracer, primitive: Primitive[Any], params: Any, xs: Sequence[Tracer]
    ) -> None:
        rule = rule_of(primitive)
        if rule is None or y.atom in self._known or splat(y) is not None:
            return
        if primitive not in OWN and all(
            isinstance(x.atom, int) and x.atom not in self._known for x in xs
        ):
            return
        supports = [self.of(x) for x in xs]
        if primitive in MASKED:
            supports[params.masked] = from_mask(xs[2])
        if primitive in (add_slice_p, replace_slice_p):
            before, tile = (s is True for s in supports)
            adds = primitive is add_slice_p
            self._tiles.write(y, xs[0], params, everywhere=tile, before=before, adds=adds)
        if primitive is slice_p and self._tiles.is_dense(xs[0], params):
            return
        if is_pointwise_sum(primitive) and True in supports:
            return
        if primitive in (add_slice_p, scatter_add_p) and supports[0] is True:
            return
        # A zero coefficient is a number like any other.
        if is_product(primitive):
            supports = [s if isinstance(s, Support) else True for s in supports]
        if primitive in (select_p, recurrence_p):
            supports[0] = True
        if primitive in OWN or any(s is not True for s in supports):
            self._known[y.atom] = rule(params, xs, supports)

    def result(
        self, primitive: Primitive[Any], params: Any, xs: Sequence[Tracer]
    ) -> Support | None:
        """Return the support of a product of the operands, if masks or indices make one."""
        supports = [s if isinstance(s, Support) else True for s in map(self.resolve, xs)]
        if all(s is True for s in supports):
            return None
        rule = rule_of(primitive)
        assert rule is not None
        support = rule(params, xs, supports)
        if not isinstance(support, Support) or self.is_everywhere(support):
            return None
        return support

    def results(
        self, primitive: Primitive[Any], params: Any, xs: Sequence[Tracer]
    ) -> Sequence[Maybe]:
        """Return the supports of several results, True where they turn out to be everywhere."""
        found = SEVERAL[primitive](params, xs, [self.resolve(x) for x in xs])
        everywhere = [isinstance(s, Support) and self.is_everywhere(s) for s in found]
        return [whole or s for whole, s in zip(everywhere, found, strict=True)]

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

    def takes_more_than(self, count: int, support: Support) -> bool:
        """Whether a support takes more steps than `count`, those recorded before excepted."""
        steps: set[int] = set()
        pending = [support]
        while pending and len(steps) <= count:
            node = pending.pop()
            if not self._has(node):
                steps.add(id(node))
                pending.extend(x for x in node.operands if isinstance(x, Support))
        return len(steps) > count

    def is_everywhere(self, support: Support) -> bool:
        """Whether a support that depends on shapes only turns out to be everywhere."""
        return support.fixed and bool(np.all(self._value(support)))

    def box(self, support: Support) -> Slice | None:
        """Return the box that a support is that depends on shapes only, if it is one."""
        if not support.fixed or not np.any(self._value(support)):
            return None
        value = self._value(support)
        places = [np.flatnonzero(np.any(value, _others(value.ndim, k))) for k in range(value.ndim)]
        starts = tuple(int(along[0]) for along in places)
        stops = tuple(int(along[-1]) + 1 for along in places)
        found = Slice(starts, stops, (1,) * value.ndim)
        return found if np.all(value[found.index]) else None

    def _value(self, support: Support) -> Any:
        """Return a support that depends on shapes only.

        The one evaluated last is kept: a sum that is multiplied whenever a piece has been added
        is evaluated piece by piece, too.
        """
        if self._evaluated is not None and self._evaluated[0] is support:
            return self._evaluated[1]
        inner = Supports()
        arrays = []
        with Builder("a support", SHARED) as builder:
            if self._evaluated is not None:
                node, array = self._evaluated
                inner._recorded[id(node)] = node, builder.input(node.type)
                arrays = [array]
            program = builder.program([inner.record(support)])
        (value,) = Executable(program)(*arrays)
        self._evaluated = support, value
        return value

    def _has(self, node: Support) -> bool:
        return id(node) in self._recorded


def _others(ndim: int, axis: int) -> tuple[int, ...]:
    return tuple(k for k in range(ndim) if k != axis)


def _emit(node: Support, xs: Sequence[Tracer]) -> Tracer:
    if node.primitive is select_p:
        sides = [splat(x) for x in xs[1:]]
        if sides == [True, False]:
            return xs[0]
        if sides == [False, True]:
            return logical_not(xs[0])
    if node.primitive is logical_or.primitive and is_same(*xs):
        return xs[0]
    return _rewriter.emit(node.primitive, node.params, *xs)[node.place]
