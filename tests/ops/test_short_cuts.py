"""What records nothing where nothing is to be done refuses a wrong call all the same.

Equal lengths hide that axes are exchanged: a call that does not fit raises what its type rule says,
and of one that fits the result has the type of the rule, also of literals and where `x` comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, TypeAlias

import pytest

from funcdiff.core.policy import CLOSED
from funcdiff.core.primitive import NONE, Params, Primitive, operation
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, FLOAT, ArrayType
from funcdiff.ops.axes import reductions
from funcdiff.ops.structure import slicing, structural
from funcdiff.ops.structure.slicing import Slice
from funcdiff.ops.structure.structural import Axis, Permutation, Reversal, Shape
from funcdiff.space import (
    Axes,
    Broadcast,
    broadcast,
    broadcast_p,
    mul,
    mul_p,
    reduce_sum,
    reduce_sum_p,
)

Shapes: TypeAlias = tuple[tuple[int, ...], ...]
Call: TypeAlias = tuple[Shapes, Params, Callable[..., Tracer]]
"""Shapes of the operands, parameters, and the function that may take a short cut."""

SHAPES: Shapes = ((), (2,), (0, 0), (1, 1), (2, 2), (2, 3), (2, 2, 2))
AXES: Shapes = tuple(axes for n in range(4) for axes in product(range(-1, 4), repeat=n))
PAIRS = tuple(product(SHAPES, SHAPES))


def _of_axes(params: Callable[..., Params], function: Callable[..., Tracer]) -> Iterator[Call]:
    for shape, axes in product(SHAPES, AXES):
        yield (shape,), params(axes), lambda x, axes=axes: function(x, axes)


def _broadcasts() -> Iterator[Call]:
    for (x, y), axes in product(PAIRS, AXES):
        yield (x,), Broadcast(y, axes), lambda a, y=y, axes=axes: broadcast(a, y, axes)


def _reshaped() -> Iterator[Call]:
    for x, y in PAIRS:
        yield (x,), Shape(y), lambda a, y=y: structural.reshape(a, y)


def _boxes() -> Iterator[Slice]:
    lines = [(a, b, step) for a, b, step in product((-1, 0, 1), (0, 1, 2, 3), (1, 2))]
    for n in range(3):
        for some in product(lines, repeat=n):
            yield Slice(*zip(*some, strict=True)) if some else Slice((), (), ())


def _sliced() -> Iterator[Call]:
    for p, x in product(_boxes(), SHAPES[:5]):
        yield (x,), p, lambda a, p=p: slicing.take_slice(a, p)


def _written(function: Callable[..., Tracer]) -> Iterator[Call]:
    for p, x in product(_boxes(), SHAPES[:5]):
        for u in {x, p.lengths}:
            yield (x, u), p, lambda a, b, p=p: function(a, b, p)


def _concatenated() -> Iterator[Call]:
    for x, axis in product(SHAPES, range(-1, 4)):
        yield (x,), Axis(axis), lambda a, axis=axis: structural.concatenate([a], axis)


def _products() -> Iterator[Call]:
    return (((x, y), NONE, mul) for x, y in PAIRS)


def _selected() -> Iterator[Call]:
    for (x, y), mask in product(PAIRS, SHAPES):
        yield (mask, x, y), NONE, structural.select


CALLS: dict[str, tuple[Primitive[Any], Callable[[], Iterator[Call]]]] = {
    "broadcast": (broadcast_p, _broadcasts),
    "permute": (structural.permute_p, lambda: _of_axes(Permutation, structural.permute)),
    "reverse": (structural.reverse_p, lambda: _of_axes(Reversal, structural.reverse)),
    "reduce_sum": (reduce_sum_p, lambda: _of_axes(Axes, reduce_sum)),
    "reduce_max": (reductions.reduce_max_p, lambda: _of_axes(Axes, reductions.reduce_max)),
    "reshape": (structural.reshape_p, _reshaped),
    "slice": (slicing.slice_p, _sliced),
    "add_slice": (slicing.add_slice_p, lambda: _written(slicing.add_slice)),
    "replace_slice": (slicing.replace_slice_p, lambda: _written(slicing.replace_slice)),
    "concatenate": (structural.concatenate_p, _concatenated),
    "mul": (mul_p, _products),
    "select": (structural.select_p, _selected),
}


def _type_of(function: Callable[..., ArrayType], *args: Any) -> ArrayType | None:
    """Return a type; None if the call is refused."""
    try:
        return function(*args)
    except (TypeError, ValueError, IndexError):
        return None


@pytest.mark.thinned(14)
@pytest.mark.parametrize("value", [None, 0, 3], ids=["recorded", "zeros", "numbers"])
@pytest.mark.parametrize("name", CALLS)
def test_a_short_cut_refuses_what_the_type_rule_refuses(name: str, value: int | None) -> None:
    primitive, calls = CALLS[name]
    with Builder("calls", CLOSED) as builder:
        for shapes, params, function in calls():
            kinds = [BOOL] if name == "select" else []
            dtypes = [*kinds, *[FLOAT] * (len(shapes) - len(kinds))]
            types = tuple(map(ArrayType, shapes, dtypes))
            xs = [builder.input(t) if value is None else constant(value, t) for t in types]
            expected = _type_of(lambda *args: operation(*args).results[0], primitive, params, types)
            found = _type_of(lambda f, *xs: f(*xs).type, function, *xs)
            assert found is expected, (params, types)
