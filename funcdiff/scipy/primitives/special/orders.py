"""Families of functions numbered by integers: the derivatives of each are others of the family.

The numbers are parameters of the equation, so that derivatives of any order are defined without
a primitive for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import conform, weights
from funcdiff.space import mul, same_types, sum_tangents

Formula: TypeAlias = Callable[..., Any]
"""``formula(orders, *xs)``: of float64 arrays where it computes, of tracers where it derives."""


class Orders(Params):
    """The numbers of a function in its family."""

    orders: tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """The functions of a family: ``family(orders, *xs)`` of tracers of one type."""

    primitive: Primitive[Orders]

    def __call__(self, orders: tuple[int, ...], *xs: Tracer) -> Tracer:
        """Record the function of these numbers."""
        return bind(self.primitive, Orders(orders), *xs)[0]


def numbered(name: str, compute: Formula, *partials: Formula | None, kinds: str = "f") -> Family:
    """Declare a family by what computes it in float64, and its partial derivatives in each operand.

    Functions of the family occur in derivatives only, so they silence NumPy's warnings.  Complex
    operands, of kind "c", come in complex128; None is the derivative in a whole number.
    """

    def abstract(p: Orders, *types: ArrayType) -> Types:
        if any(t.dtype.kind not in kinds for t in types):
            raise TypeError(f"{name} needs real operands, got {', '.join(map(repr, types))}")
        return same_types(p, *types)

    def implement(p: Orders) -> Callable[..., Any]:
        def run(*xs: Any) -> Any:
            with np.errstate(all="ignore"):
                wide = np.result_type(xs[0].dtype, np.float64)
                y = compute(p.orders, *(np.asarray(x, wide) for x in xs))
            return np.asarray(y).astype(xs[0].dtype)[()]

        return run

    def forward(p: Orders, xs: Tracers, ts: Tangents) -> Pushed:
        y = family(p.orders, *xs)
        terms = [
            None
            if t is None or partial is None
            else mul(t, conform(partial(p.orders, *xs), y.type))
            for partial, t in zip(partials, ts, strict=True)
        ]
        return [y], [sum_tangents(terms)]

    weights[name] = 1000  # an integral, or a series of many terms
    family = Family(Primitive(name, Orders, abstract, implement, jvp=forward))
    return family
