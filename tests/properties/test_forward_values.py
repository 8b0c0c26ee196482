"""Random NumPy functions: values are NumPy's own bit for bit, and the modes agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.testing import strategies
from tests.properties.calling import every_call

SHAPES = strategies.broadcastable_shapes(2, min_side=1, max_side=3).filter(
    lambda pair: all(len(shape) > 0 for shape in pair)
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[strategies.Function, tuple[Any, ...]]:
    """Draw a function of one or two arrays of one dtype, and arrays to call it with."""
    count = draw(st.integers(1, 2))
    dtype = draw(strategies.dtypes("f"))
    pair = draw(SHAPES)
    points = tuple(draw(strategies.arrays(shape, dtype)) for shape in pair[:count])
    return draw(strategies.functions(count)), points


def same_bits(x: Any, y: Any) -> bool:
    x, y = np.asarray(x), np.asarray(y)
    return bool(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes())


@pytest.mark.slow
@given(calls())
def test_the_value_under_a_derivative_is_numpys_bit_for_bit(
    call: tuple[strategies.Function, tuple[Any, ...]],
) -> None:
    f, xs = call
    expected = f(*xs)
    positions = tuple(range(len(xs)))

    def values(*xs: Any) -> Any:
        gradient = fd.value_and_grad(f, positions)(*xs)
        return fd.vjp(f, *xs)[0], gradient[0], fd.jvp(f, xs, xs)[0], fd.linearize(f, *xs)[0]

    for value in every_call(values, *xs):
        assert same_bits(value, expected)


@given(calls())
def test_inputs_are_never_written(call: tuple[strategies.Function, tuple[Any, ...]]) -> None:
    f, xs = call
    before = [x.copy() for x in xs]
    fd.vjp(f, *xs)[1]()
    assert all(same_bits(x, y) for x, y in zip(xs, before, strict=True))
