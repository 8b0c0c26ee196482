"""Propagates supports through a recording, and records them as booleans where they are used.

A support that depends on shapes only is evaluated, too: if it is everywhere, no mask is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.primitive import Primitive, operation
from funcdiff.core.tracer import Tracer
from funcdiff.ops.products.convolution import Convolution
from funcdiff.ops.products.masked import MaskedContraction
from funcdiff.ops.structure.slicing import Slice
from funcdiff.passes.rewrites import logic, structure
from funcdiff.passes.rewrites.rewriting import Rewriter
from funcdiff.passes.supports.rules import rule_of
from funcdiff.passes.supports.support import Maybe, Support, from_mask
from funcdiff.space import kept_axes, splat

_rewriter: Final = Rewriter(structure.rules, logic.rules)


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
