"""NumPy's functions along one axis: cumulative sums, differences, gradients, interpolation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.together import together

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 4, 5))
V = RANDOM.normal(size=6)
Z = RANDOM.normal(size=(3, 4)) + 1j * RANDOM.normal(size=(3, 4))
HOLES = np.where(RANDOM.random((3, 4, 5)) > 0.8, np.nan, X)
KNOTS = np.sort(RANDOM.normal(size=5))
HEIGHTS = RANDOM.normal(size=5)
POINTS = np.array([-4.0, -0.7, -0.31, 0.1, 0.12, 0.9, 5.0])

ALONG: list[Function] = [
    np.cumsum,
    np.cumprod,
    lambda x: np.cumsum(x, axis=1),
    lambda x: np.cumprod(x, axis=-1),
    lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    lambda x: np.cumulative_prod(x, axis=-1),
    lambda x: np.cumulative_prod(x, axis=1, include_initial=True),
    lambda x: np.nancumsum(x, axis=0),
    lambda x: np.nancumprod(x),
    np.add.accumulate,
    lambda x: np.multiply.accumulate(x, -1),
    lambda x: x.cumsum(2) * x.cumprod(0),
    np.diff,
    lambda x: np.diff(x, 2, axis=0),
    lambda x: np.diff(x, axis=1, prepend=0, append=x[:, :2]),
    np.ediff1d,
    lambda x: np.ediff1d(x, to_begin=[1, 2], to_end=x[0, 0]),
    np.trapezoid,
    lambda x: np.trapezoid(x, dx=0.3, axis=0),
    lambda x: np.trapezoid(x, KNOTS, axis=-1),
    lambda x: np.trapezoid(x, np.cumsum(np.abs(X), axis=1), axis=1),
    np.gradient,
    lambda x: np.gradient(x, 0.5, axis=(0, 2)),
    lambda x: np.gradient(x, 0.5, 2, KNOTS, edge_order=1),
    lambda x: np.gradient(x, [1.0, 2, 4], axis=0, edge_order=2),
    lambda x: np.gradient(x, np.arange(4), axis=1, edge_order=2),
]
COORDINATES: list[Function] = [
    lambda x, t: np.gradient(x, t, axis=2),
    lambda x, t: np.gradient(x, t, axis=-1, edge_order=2),
    lambda x, t: np.gradient(x, t[0] ** 2, edge_order=2),
    lambda x, t: np.trapezoid(x, t),
    lambda x, t: np.trapezoid(x, dx=t[1], axis=0),
    lambda x, t: np.diff(x, prepend=t[0], append=x[..., :1]),
]


@together
@pytest.mark.parametrize("f", ALONG)
def test_values_are_those_of_numpy(f: Function) -> None:
    assert_value(f, X)
    assert_value(lambda x: f(x[:, ::-1]), X)


@pytest.mark.parametrize("f", [np.nancumsum, lambda x: np.nancumprod(x, axis=1)])
def test_nan_is_left_out_as_in_numpy(f: Function) -> None:
    assert_value(f, HOLES)
    assert np.all(fd.grad(lambda x: np.sum(f(x)))(HOLES)[np.isnan(HOLES)] == 0)


@pytest.mark.parametrize("f", [np.cumsum, np.cumprod, np.diff, np.gradient, np.trapezoid])
def test_complex_values_are_those_of_numpy(f: Any) -> None:
    assert_value(lambda z: f(z, axis=1), Z)
    assert_derivatives(lambda z: f(z, axis=1), Z)


@pytest.mark.parametrize("f", [
    lambda x: np.cumsum(x > 0, axis=0),
    lambda x: np.cumprod(np.round(x).astype("i2")),
    lambda x: np.diff(x > 0, axis=1),
    lambda x: np.cumsum(x, axis=1, dtype="f4"),
    lambda x: np.gradient(np.round(3 * x).astype(int), axis=0),
])  # fmt: skip
def test_dtypes_are_those_of_numpy(f: Function) -> None:
    found = fd.vjp(lambda x: (np.sum(x), f(x)), X, has_aux=True)[2]
    assert found.dtype == f(X).dtype
    np.testing.assert_array_equal(found, f(X))


@pytest.mark.parametrize("f", ALONG)
def test_derivatives(f: Function) -> None:
    assert_derivatives(f, X)


@pytest.mark.parametrize("f", COORDINATES)
def test_derivatives_in_the_coordinates(f: Function) -> None:
    assert_derivatives(f, X, KNOTS)
    np.testing.assert_allclose(fd.vjp(f, X, KNOTS)[0], f(X, KNOTS), rtol=1e-13)


def test_evenly_spaced_traced_coordinates_keep_all_their_derivatives() -> None:
    assert_derivatives(lambda t: np.gradient(V, t), np.arange(6.0))


def test_cumprod_is_exact_with_zeros() -> None:
    np.testing.assert_array_equal(
        fd.grad(lambda x: np.sum(np.cumprod(x)))(np.array([2.0, 0, 3])), [1, 8, 0]
    )


def test_differences_of_order_zero_are_the_array() -> None:
    assert fd.grad(lambda x: np.sum(np.diff(x, 0) * x))(np.array([3.0]))[0] == 6


def test_out_receives_a_cumulative_sum() -> None:
    def f(x: Any) -> Any:
        out = np.empty_like(x)
        assert np.cumsum(x, axis=0, out=out) is out
        return out * x

    assert_value(f, X)
    assert_derivatives(f, X)


# ---- interpolation ---------------------------------------------------------------------------


@pytest.mark.parametrize("keywords", [{}, {"left": -3}, {"left": 1.5, "right": 0}, {"period": 1.3}])
def test_interpolation_has_the_values_of_numpy(keywords: dict[str, Any]) -> None:
    assert_value(lambda x: np.interp(x, KNOTS, HEIGHTS, **keywords), POINTS)
    assert_value(lambda x: np.interp(x[1:].reshape(2, 3), [0, 1], [3, 4], **keywords), POINTS)
    assert_value(lambda x: np.interp(x, [0.1], [2.0], **keywords), POINTS)
    assert_value(lambda y: np.interp(POINTS, KNOTS, y + 1j * y**2, **keywords), HEIGHTS)
    assert_derivatives(lambda x, t, y: np.interp(x, t, y, **keywords), POINTS, KNOTS, HEIGHTS)


def test_interpolation_of_complex_heights_has_derivatives() -> None:
    assert_derivatives(lambda x, y: np.interp(x, KNOTS, y), POINTS, HEIGHTS + 1j * HEIGHTS[::-1])


def test_values_on_the_left_and_right_have_derivatives() -> None:
    assert_derivatives(
        lambda x, a, b: np.interp(x, KNOTS, HEIGHTS, left=a, right=b),
        POINTS, np.float64(2), np.float64(3),
    )  # fmt: skip


def test_interpolation_has_the_right_slope_at_a_knot() -> None:
    xp, fp = np.array([0.0, 1, 2]), np.array([0.0, 1, 4])
    slopes = fd.grad(lambda x: np.sum(np.interp(x, xp, fp)))(np.array([-1.0, 0, 1, 2, 3]))
    np.testing.assert_array_equal(slopes, [0, 1, 3, 0, 0])
    np.testing.assert_array_equal(fd.grad(lambda y: np.interp(1.0, xp, y))(fp), [0, 1, 0])
    np.testing.assert_array_equal(fd.grad(lambda t: np.interp(1.0, t, fp))(xp), [0, -3, 0])


def test_interpolation_meets_infinite_heights_as_numpy_does() -> None:
    heights = np.array([1.0, np.inf, np.inf, 2])
    assert_value(
        lambda x: np.interp(x, [0.0, 1, 2, 3], heights), np.array([0.5, 1, 1.5, 2, 2.5, 3])
    )
    assert_value(lambda x: np.interp(x, [0.0, 1], [2.0, 3]), np.array([np.nan, 0.25]))


@pytest.mark.parametrize("f", [
    np.cumsum, np.diff, lambda x: np.interp(0.3, np.arange(6), x), lambda x: np.gradient(V, x),
    lambda x: np.interp(x, np.arange(6) / 3, V), np.trapezoid,
])  # fmt: skip
def test_functions_along_an_axis_batch(f: Any) -> None:
    rows = np.cumsum(RANDOM.random((4, 6)), axis=1)
    np.testing.assert_allclose(fd.vmap(f)(rows), np.stack([f(x) for x in rows]), rtol=1e-13)


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.diff(x, -1), ValueError, "order must be non-negative but got -1"),
    (lambda x: np.diff(x[0]), ValueError, "at least one dimensional"),
    (lambda x: np.cumulative_sum(x[None]), ValueError, "``axis`` argument is required"),
    (lambda x: np.ediff1d(x.astype("f4"), to_end=1j), TypeError, "`to_end` must be compatible"),
    (lambda x: NP.gradient(x, 1, 2), TypeError, "invalid number of arguments"),
    (lambda x: np.gradient(x, [1.0, 2]), ValueError, "distances must match the length"),
    (lambda x: np.gradient(x, np.ones((2, 2))), ValueError, "either scalars or 1d"),
    (lambda x: NP.gradient(x, edge_order=3), ValueError, "greater than 2 not supported"),
    (lambda x: np.gradient(x[:1]), ValueError, "Shape of array too small"),
    (lambda x: np.interp(1, x, x[1:]), ValueError, "not of the same length"),
    (lambda x: np.interp(1, x[:0], x[:0]), ValueError, "array of sample points is empty"),
    (lambda x: np.interp(1, x[None], x[None]), ValueError, "must be 1-D sequences"),
    (lambda x: np.interp(1, x, x, period=0), ValueError, "non-zero value"),
    (lambda x: NP.interp(x + 1j, V, V), TypeError, "x is complex128.*real part"),
    (lambda x: NP.interp(1, x * 1j, x), TypeError, "xp is complex128"),
    (lambda x: NP.interp(1, V, x.astype("g")), TypeError, "fp is (float|complex)"),
    (lambda x: np.cumsum(x, axis=3), np.exceptions.AxisError, "out of bounds"),
])  # fmt: skip
def test_an_error_is_the_one_of_numpy(f: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, np.arange(3.0))
