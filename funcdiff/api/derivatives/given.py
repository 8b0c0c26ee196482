"""Known inputs of a derivative: index arrays, masks, and zeros of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.decisions import argument_value, decided
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import INT
from funcdiff.ops.axes.reductions import reduce_all
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.structure.structural import convert, reshape
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.parts import held
from funcdiff.space import mul, reduce_sum


class Given:
    """What is known of the inputs of a recording, compared by contents."""

    def __init__(self, operands: Sequence[Any], count: int) -> None:
        captures = [_constant(x) for x in operands[count:]]
        # By input: arrays of integers and booleans, and the zeros of floating matrices; None for
        # others.
        self.values = [*(None for _ in operands[:count]), *captures]
        self._key = tuple([_contents(x) for x in captures])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _constant(x: Any) -> Any:
    """Return what may be relied on of a value that is not differentiated."""
    if isinstance(x, Tracer):
        return _argument(x) if x.ndim and x.dtype.kind in "biu" else None
    if not isinstance(x, np.ndarray | np.generic):
        return None
    array = np.asarray(x)
    if array.dtype.kind in "biu":
        return array.copy()
    return array != 0 if array.ndim > 1 and not array.all() else None


def _argument(x: Tracer) -> Array | None:
    """Return the value of an argument of a function that is compiled, by which it decides.

    Arrays are told apart by a number first, which leads to the way of the array; then all of it is
    compared.
    """
    value = argument_value(x)
    if value is None or decided(x, _number) is None:
        return None
    return value if decided(x, lambda x: _equals(x, value)) else None


def _equals(x: Tracer, value: Array) -> Tracer:
    return reduce_all(equal(x, held(value)), tuple(range(x.ndim)))


def _number(x: Tracer) -> Tracer:
    """Return a number that hardly any other array of the size has."""
    factors = np.random.default_rng(0).integers(1, 1 << 31, x.type.size)
    flat = convert(reshape(x, (x.type.size,)), INT)
    return reduce_sum(mul(flat, held(factors)), (0,))


def _contents(x: Any) -> Any:
    return None if x is None else (x.shape, x.dtype.char, x.tobytes())
