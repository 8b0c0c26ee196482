"""Choosing elements by condition and by position, and functions applied along axes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from tests.numpy.agreement import assert_derivatives, assert_value, each_of
from tests.together import together

A = np.random.default_rng(0).normal(size=(2, 3, 4))
NO: Any = "no"
HALVES = np.array([0.5])
B = np.random.default_rng(1).normal(size=(2, 3, 4))
V = np.random.default_rng(2).normal(size=6)
W = np.random.default_rng(3).normal(size=6)
PLACES = np.array([[0, 2], [-1, 0]])

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("where", lambda x, y: np.where(x > 0, x, y), (A, B)),
    ("where broadcast", lambda x: np.where([True, False, True, True], x, 1), (A,)),
    ("where of numbers as condition", lambda x, y: np.where([[1.0], [0.0], [2.0]], x, y), (A, B)),
    ("where of positions", lambda x: x[np.where(x > 0)], (A,)),
    ("select", lambda x, y: np.select([x > 0.5, x < -0.5], [x, y], default=7), (A, B)),
    ("select overlapping", lambda x, y: np.select([x > 0, x > -1], [x * y, 2.0]), (A, B)),
    (
        "piecewise",
        lambda x: np.piecewise(x, [x < 0, x > 0.5], [lambda u: u * u, 3.0, np.sin]),
        (V,),
    ),
    ("piecewise of one condition", lambda x: np.piecewise(x, x > 0, [np.exp, np.sin]), (V,)),
    (
        "piecewise with arguments",
        lambda x: np.piecewise(x, [x > 0], [lambda u, k: u * k], 3.0),
        (A,),
    ),
    ("piecewise of a scalar", lambda x: np.piecewise(x, x > 0, [lambda u: u * u, 1.0]), (V[0],)),
    ("nonzero", lambda x: x[np.nonzero(x > 0)], (A,)),
    ("nonzero method", lambda x: x[(x > 0).nonzero()], (A,)),
    ("argwhere", lambda x: (np.argwhere(x > 0), x), (A,)),
    ("flatnonzero", lambda x: np.ravel(x)[np.flatnonzero(x > 0)], (A,)),
    ("compress", lambda x: np.compress([True, False, True], x, axis=1), (A,)),
    ("compress method", lambda x: x.compress(np.ravel(x) > 0), (A,)),
    ("extract", lambda x: np.extract(x > 0, x), (A,)),
    ("take", lambda x: np.take(x, [0, 5, 5, -1]), (A,)),
    ("take along an axis", lambda x: np.take(x, PLACES, axis=1), (A,)),
    ("take of one", lambda x: x.take(1, axis=-1), (A,)),
    ("take wrapping", lambda x: np.take(x, [7, -9, 3], mode="wrap"), (V,)),
    ("take clipping", lambda x: np.take(x, [7, -9, 3], axis=0, mode="clip"), (V,)),
    ("take of nothing", lambda x: np.take(x, []), (V,)),
    ("take by booleans", lambda x: np.take(x, [True, False]), (V,)),
    ("take by traced places", lambda x: np.take(x, np.argsort(x)), (V,)),
    ("take into a traced array", lambda x: np.take(x, [1, 1], out=np.zeros_like(x[:2])), (V,)),
    ("take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), (A,)),
    (
        "take_along_axis broadcast",
        lambda x: np.take_along_axis(x, np.array([[[3, 3, 0]]]), -1),
        (A,),
    ),
    (
        "take_along_axis of ones",
        lambda x: np.take_along_axis(x[:1], np.ones((2, 2, 4), int), 1),
        (A,),
    ),
    ("take_along_axis flat", lambda x: np.take_along_axis(x, np.array([1, -1]), None), (A,)),
    ("choose", lambda x, y: np.choose([0, 1, 1, 0, 1, 0], [x, y]), (V, W)),
    ("choose broadcast", lambda x, y: np.choose([[0], [1], [2]], [x, y, 1.0]), (V, W)),
    ("choose wrapping", lambda x, y: np.choose([0, 5, -1, 0, 1, 0], [x, y], mode="wrap"), (V, W)),
    ("choose clipping", lambda x, y: np.choose([0, 5, -1, 0, 1, 0], [x, y], mode="clip"), (V, W)),
    ("choose method", lambda x, y: (x > 0).astype(int).choose([x, y]), (V, W)),
    ("ix_", lambda x: x[np.ix_([0, 1], [True, False, True], [3, 0])], (A,)),
    ("apply_along_axis", lambda x: np.apply_along_axis(lambda v: v * v.sum(), 1, x), (A,)),
    ("apply_along_axis to scalars", lambda x: np.apply_along_axis(np.sum, 0, x), (A,)),
    ("apply_along_axis to lists", lambda x: np.apply_along_axis(lambda v: [v, v**2], 1, x), (A,)),
    (
        "apply_along_axis with arguments",
        lambda x: np.apply_along_axis(lambda v, k, s: v[k] * s, -1, x, 2, s=3.0),
        (A,),
    ),
    ("apply_along_axis of a vector", lambda x: np.apply_along_axis(np.cumsum, 0, x), (V,)),
    ("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, -1]), (A,)),
]


@together
@each_of(CALLS)
def test_values_are_those_of_numpy(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_value(f, *args)


@pytest.mark.thinned(2)
@each_of(CALLS)
def test_derivatives_agree_in_both_modes(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_derivatives(f, *args, order=2)


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.where(x > 0, x), ValueError, "both or neither"),
    (lambda x: np.select([x], [x]), TypeError, "boolean"),
    (lambda x: np.select([x > 0], [x, x]), ValueError, "same length"),
    (lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]), ValueError, "functions are expected"),
    (lambda x: np.take(x, 24), IndexError, "out of bounds"),
    (lambda x: np.take(x, HALVES), TypeError, "Cannot cast"),
    (lambda x: np.take(x, 0, mode=NO), ValueError, "clipmode"),
    (lambda x: np.take_along_axis(x, np.array([0]), 0), ValueError, "same number of dimensions"),
    (lambda x: np.take_along_axis(x, np.array([[[9]]]), 0), IndexError, "out of bounds"),
    (lambda x: np.choose([0, 2], [x[0, 0, :2], 1.0]), ValueError, "invalid entry"),
    (lambda x: np.compress([[True]], x), ValueError, "1-d"),
])  # fmt: skip
def test_what_does_not_fit_is_said(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, A)


def test_numbers_of_choices_may_be_batched_and_are_checked_even_so() -> None:
    numbers = np.array([[0, 1, 1], [1, 0, 0]])

    def chosen(numbers: Any) -> Any:
        return np.choose(numbers, [np.arange(3.0), np.arange(10.0, 13.0)])

    expected = [chosen(row) for row in numbers]
    np.testing.assert_array_equal(fd.vmap(chosen)(numbers), expected)
    np.testing.assert_array_equal(fd.jit(chosen)(numbers[0]), expected[0])
    for wrong in (numbers + 1, numbers - 1):
        with pytest.raises(ValueError, match="invalid entry"):
            fd.vmap(chosen)(wrong)


@pytest.mark.parametrize("f", [
    lambda x: np.compress([True, False, True], x, axis=0),
    lambda x: np.piecewise(x, [x < 0, x > 0.5], [np.square, 3.0, np.sin]),
    lambda x: np.piecewise(x, x > 0, [np.exp, np.sin]),
])  # fmt: skip
def test_a_trace_without_values_knows_what_does_not_depend_on_them(f: Any) -> None:
    rows = A[:, :, 0]
    np.testing.assert_array_equal(fd.vmap(f)(rows), np.stack([f(row) for row in rows]))


def test_positions_that_depend_on_values_need_them() -> None:
    with pytest.raises(ConcreteValueError):
        fd.vmap(lambda x: x[np.nonzero(x > 0)])(A)
