"""Random NumPy functions: values are NumPy's own bit for bit, and the modes agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.core.evaluate import evaluate
from funcdiff.testing import strategies
from funcdiff.testing.subject import disagreement, rounding
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
def test_a_traced_program_gives_numpys_value_bit_for_bit(
    call: tuple[strategies.Function, tuple[Any, ...]],
) -> None:
    f, xs = call
    program = fd.trace(f)(*xs)
    assume(len(program.inputs) == len(xs))
    assert same_bits(evaluate(program, xs)[0], f(*xs))


@given(calls())
def test_forward_and_reverse_mode_agree(call: tuple[strategies.Function, tuple[Any, ...]]) -> None:
    f, xs = call
    gradients = every_call(fd.grad(f, tuple(range(len(xs)))), *xs)
    pairing = sum(np.sum(g * t) for g, t in zip(gradients, xs, strict=True))
    scale = sum(np.sum(np.abs(g * t)) for g, t in zip(gradients, xs, strict=True))
    tangent = every_call(lambda *xs: fd.jvp(f, xs, xs)[1], *xs)
    assert disagreement(tangent, pairing, rounding(xs), 1.0 + float(scale)) is None
    for g, x in zip(gradients, xs, strict=True):
        assert g.shape == x.shape
        assert g.dtype == x.dtype


@given(calls())
def test_inputs_are_never_written(call: tuple[strategies.Function, tuple[Any, ...]]) -> None:
    f, xs = call
    before = [x.copy() for x in xs]
    fd.vjp(f, *xs)[1]()
    assert all(same_bits(x, y) for x, y in zip(xs, before, strict=True))


@given(st.data())
def test_a_random_index_reads_what_numpy_reads(data: st.DataObject) -> None:
    shape = data.draw(strategies.shapes(min_ndim=1, min_side=1))
    x = data.draw(strategies.arrays(shape, np.float64))
    index = data.draw(strategies.indices(shape))

    def read(x: Any) -> Any:
        y, pull = fd.vjp(lambda z: z[index], x)
        return y, pull(np.ones_like(x[index]))[0]

    y, ct = every_call(read, x)
    assert same_bits(y, x[index])
    expected = np.zeros_like(x)
    np.add.at(expected, index, 1.0)
    assert np.array_equal(ct, expected)
