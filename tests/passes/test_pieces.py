"""Neighbouring pieces of an array are added at once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.core.builder import Builder, constant
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.ops.structure.slicing import add_slice, along, slice_along
from funcdiff.passes.pieces import merge_pieces


def chain(shape: tuple[int, ...], axis: int, pieces: Any, *, from_zero: bool) -> Program:
    """Return the program that adds pieces of two arrays: which, from where, to where, how long."""
    type_ = ArrayType(shape, np.dtype(float))
    with Builder("chain") as builder:
        base, *wholes = (builder.input(type_) for _ in range(3))
        total = constant(0.0, type_) if from_zero else base
        for which, start, place, length in pieces:
            taken = slice_along(wholes[which], axis, start, start + length)
            total = add_slice(total, taken, along(shape, axis, place, place + length))
        return builder.program([total])


def count(program: Program) -> int:
    """Return how many times something is added to a slice."""
    return sum(eq.primitive.name == "add_slice" for eq in program.equations)


def assert_same(before: Program, after: Program) -> None:
    xs = [np.random.default_rng(k).normal(size=t.shape) for k, t in enumerate(before.input_types)]
    (x,), (y,) = fd.evaluate(before, xs), fd.evaluate(after, xs)
    np.testing.assert_allclose(y, x, rtol=1e-14, atol=1e-14)


@st.composite
def chains(draw: Any) -> Program:
    n = draw(st.integers(1, 6))
    pieces = []
    for _ in range(draw(st.integers(1, 7))):
        length = draw(st.integers(0, n))
        places = st.integers(0, n - length)
        pieces.append((draw(st.integers(0, 1)), draw(places), draw(places), length))
    shape, axis = draw(st.sampled_from([((n,), 0), ((n, 2), 0), ((2, n), 1), ((n, 1), 0)]))
    return chain(shape, axis, pieces, from_zero=draw(st.booleans()))


@given(chains())
def test_chains_have_their_sums(program: Program) -> None:
    after = merge_pieces(program)
    assert_same(program, after)
    assert count(after) <= count(program)


@pytest.mark.parametrize(("pieces", "left"), [
    ([(0, 0, 0, 3), (0, 3, 3, 1)], 1),
    ([(0, 3, 4, 1), (1, 0, 2, 2), (0, 1, 2, 2)], 2),  # in any order
    ([(0, 0, 1, 2), (1, 1, 1, 2)], 1),  # a place in common
    ([(0, 0, 0, 3), (0, 3, 3, 2)], 0),  # all of the array
    ([(0, 0, 0, 2), (0, 3, 3, 1)], 2),  # a gap
    ([(0, 0, 0, 2), (0, 2, 3, 1)], 2),  # neighbours elsewhere
    ([(0, 0, 0, 2), (1, 2, 2, 1)], 2),  # of other arrays
    ([(0, 0, 0, 2), (0, 1, 1, 2)], 2),  # overlapping
])  # fmt: skip
def test_what_adjoins_is_added_at_once(pieces: Any, left: int) -> None:
    program = chain((5,), 0, pieces, from_zero=True)
    after = merge_pieces(program)
    assert count(after) == left
    assert_same(program, after)


def test_all_of_an_array_is_added_to_what_was_there() -> None:
    program = chain((5,), 0, [(0, 0, 0, 3), (0, 3, 3, 2)], from_zero=False)
    after = merge_pieces(program)
    assert [eq.primitive.name for eq in after.equations] == ["add"]
    assert_same(program, after)


def test_what_is_used_between_is_kept() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[:2] += x[:2]
        halfway = y.copy()
        y[2:] += x[2:]
        return halfway, y

    x = np.arange(1.0, 5.0)
    halfway, y = fd.jit(f)(x)
    assert np.array_equal(halfway, [1.0, 2.0, 0.0, 0.0])
    assert np.array_equal(y, x)


def test_the_gradient_of_a_loop_adds_two_pieces() -> None:
    """What the last turn adds is the neighbour of what all others add."""

    def rosenbrock(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 1):
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return total

    x = np.random.default_rng(0).normal(size=100)
    a = x[:-1]
    expected = np.append(-400.0 * a * (x[1:] - a**2) - 2.0 * (1.0 - a), 0.0)
    expected[1:] += 200.0 * (x[1:] - a**2)
    gradient = fd.jit(fd.grad(rosenbrock))
    for _ in range(9):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-13)
    source = gradient.lower(x).source
    assert source.count("+=") == 1
    assert len(source.splitlines()) < 20
