"""NumPy's statistics of traced arrays: moments, order statistics, covariance; kinks and errors."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.together import together

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""

RANDOM = np.random.default_rng(6)
X = RANDOM.normal(size=(3, 4, 5))
ROWS = RANDOM.normal(size=(4, 6))
LONG = RANDOM.normal(size=(40, 50))
Z = RANDOM.normal(size=(3, 4)) + 1j * RANDOM.normal(size=(3, 4))
MASK = RANDOM.random((3, 4, 5)) > 0.3
HOLES = np.where(RANDOM.random((3, 4, 5)) > 0.8, np.nan, X)
WIDE = RANDOM.uniform(0.5, 2, size=X.shape)
WEIGHTS = RANDOM.uniform(0.5, 2, size=6)

MOMENTS = [np.mean, np.var, np.std, np.average]
NAN_MOMENTS = [np.nanmean, np.nanvar, np.nanstd]
MEDIANS = [np.median, np.nanmedian]
AXES = [None, 0, -1, (0, 2)]

KEYWORDS: list[Function] = [
    lambda x: np.var(x, axis=1, ddof=1),
    lambda x: np.std(x, axis=(0, 1), correction=1.5, keepdims=True),
    lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)),
    lambda x: np.mean(x, axis=1, where=MASK),
    lambda x: np.var(x, axis=0, where=MASK[:, :, :1]),
    lambda x: np.std(x, axis=(0, 1), where=MASK, ddof=1),
    lambda x: np.nanmean(x, axis=1, where=MASK),
    lambda x: np.nanvar(x, axis=(0, 2), where=MASK, correction=1),
    lambda x: np.mean(x, axis=1, dtype="f8"),
    lambda x: np.average(x, axis=2, weights=[1, 2, 3, 4, 5]),
    lambda x: np.average(x, axis=(2, 0), weights=np.arange(1.0, 16).reshape(5, 3)),
    lambda x: np.average(x, weights=np.arange(1.0, 61).reshape(3, 4, 5), returned=True),
    lambda x: np.average(x, axis=1, returned=True, keepdims=True),
    lambda x: x.mean() + x.std(0) + x.var(axis=-1, keepdims=True),
]
MATRICES: list[Function] = [
    np.cov,
    lambda x: np.cov(x[0]),
    lambda x: np.cov(x, rowvar=False, bias=True),
    lambda x: np.cov(x[0], x[1], ddof=0),
    lambda x: np.cov(x, aweights=WEIGHTS),
    lambda x: np.cov(x, fweights=[1, 2, 1, 3, 1, 2], aweights=WEIGHTS, ddof=2),
    np.corrcoef,
    lambda x: np.corrcoef(x[0], x[1], rowvar=False),
]
METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased",
    "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
PROBABILITIES: list[Any] = [0.3, 0, 1.0, np.float64(0.77), [0.1, 0.5, 0.95], [[0.2], [0.8]]]
QUANTILES: list[Function] = [
    lambda x: np.percentile(x, [5, 50.0, 99]),
    lambda x: np.percentile(x, 40, axis=(0, 2), keepdims=True),
    lambda x: np.nanpercentile(x, [20.0, 70], axis=1),
    lambda x: np.quantile(x, [0.2, 0.9], axis=2, method="inverted_cdf",
                          weights=[0.0, 2, 1, 0, 3]),
    lambda x: np.nanquantile(x, 0.4, axis=0, method="inverted_cdf", weights=WIDE),
]  # fmt: skip


@together
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("f", [*MOMENTS, *NAN_MOMENTS, *MEDIANS])
def test_a_statistic_has_the_values_of_numpy(f: Any, axis: Any, keepdims: bool) -> None:
    assert_value(lambda x: f(x, axis=axis, keepdims=keepdims), X)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("f", [*MOMENTS, *NAN_MOMENTS, *MEDIANS])
def test_long_statistics_add_in_the_order_of_numpy(f: Any, axis: Any) -> None:
    assert_value(lambda x: f(x, axis=axis), LONG)
    assert_value(lambda x: f(x[::-1, 1::2], axis=axis), LONG)


@together
@pytest.mark.parametrize("axis", [0, 2, (0, 1)])
@pytest.mark.parametrize("f", [*MOMENTS, *NAN_MOMENTS, *MEDIANS])
def test_nan_is_treated_as_in_numpy(f: Any, axis: Any) -> None:
    assert_value(lambda x: f(x, axis=axis), HOLES)


@pytest.mark.parametrize("f", [*KEYWORDS, *QUANTILES])
def test_keywords_have_the_values_of_numpy(f: Function) -> None:
    assert_value(f, X)


@pytest.mark.parametrize("f", MATRICES)
def test_matrices_of_moments_have_the_values_of_numpy_to_rounding(f: Function) -> None:
    found = fd.vjp(f, ROWS)[0]
    assert found.dtype == f(ROWS).dtype
    np.testing.assert_allclose(found, f(ROWS), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("f", [np.mean, np.var, np.std, np.nanmean, np.average])
def test_complex_statistics_have_the_values_of_numpy(f: Any) -> None:
    assert_value(lambda z: f(z, axis=1), Z)


@pytest.mark.parametrize("q", PROBABILITIES)
@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_a_quantile_has_the_values_of_numpy(f: Any, q: Any) -> None:
    for axis in (None, 1, (0, 2)) if np.ndim(q) < 2 else (None,):
        assert_value(partial(f, q=q, axis=axis), X)
    if np.ndim(q) < 2:  # NumPy's nanquantile fails for probabilities in a matrix
        assert_value(lambda x: f(x, q, axis=0, keepdims=True), HOLES)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_of_quantiles_has_the_values_of_numpy(method: Any) -> None:
    for f in (np.quantile, np.nanquantile):
        assert_value(partial(f, q=[0.0, 0.1, 0.25, 0.6, 1], axis=1, method=method), X)


@pytest.mark.parametrize("f", [np.mean, np.std, np.median, partial(np.quantile, q=0.3)])
def test_statistics_keep_half_and_single_precision(f: Any) -> None:
    for dtype in ("f2", "f4"):
        x = X[0].astype(dtype)
        found = fd.vjp(f, x)[0]
        assert found.dtype == dtype
        assert found == f(x)


@pytest.mark.parametrize("f", [np.mean, np.std, np.median, partial(np.percentile, q=30)])
def test_statistics_of_integers_are_floating(f: Any) -> None:
    assert_value(lambda x: f((3 * x).astype(int)) + 0 * x, X)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("f", [*MOMENTS, *NAN_MOMENTS, *MEDIANS])
def test_derivatives_of_statistics(f: Any, axis: Any) -> None:
    assert_derivatives(lambda x: f(x, axis=axis), X)


@pytest.mark.parametrize("f", [*KEYWORDS[:-1], *QUANTILES])
def test_derivatives_with_keywords(f: Function) -> None:
    assert_derivatives(f, X)


@pytest.mark.parametrize("f", MATRICES)
def test_derivatives_of_matrices_of_moments(f: Function) -> None:
    assert_derivatives(f, ROWS)


@pytest.mark.parametrize("f", [np.mean, np.var, np.std, np.cov, np.corrcoef])
def test_derivatives_of_complex_statistics(f: Any) -> None:
    assert_derivatives(f, Z)


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_quantiles(method: Any) -> None:
    assert_derivatives(lambda x: np.quantile(x, [0.15, 0.62], axis=1, method=method), X)


def test_weights_have_a_derivative() -> None:
    assert_derivatives(lambda x, w: np.average(x, axis=1, weights=w, returned=True), ROWS, WEIGHTS)
    assert_derivatives(lambda x, w: np.cov(x, aweights=w), ROWS, WEIGHTS)
    assert_derivatives(lambda x, m: np.var(x, axis=1, mean=m), ROWS, ROWS[:, :1] * 0.2)


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_a_quantile_has_a_derivative_in_the_probability(f: Any) -> None:
    assert_derivatives(lambda x, q: f(x, q, axis=1), X, np.array([0.3, 0.62]))
    assert fd.grad(lambda q: f(np.array([1.0, 2, 5]), q))(0.75) == 6
    assert fd.grad(lambda q: f(np.array([1.0, 2, 5]), q))(0.5) == 6  # the right slope


@pytest.mark.parametrize("f", [
    np.median, np.nanmedian, partial(np.quantile, q=0.5), partial(np.nanpercentile, q=25),
])  # fmt: skip
def test_entries_equal_to_an_order_statistic_share_its_weight(f: Any) -> None:
    x = np.array([7.0, 2, 1, 2, 2])
    np.testing.assert_allclose(fd.grad(f)(x), [0, 1 / 3, 0, 1 / 3, 1 / 3], rtol=1e-15)
    slopes = [fd.jvp(f, (x,), (t,))[1] for t in np.eye(5)]
    np.testing.assert_allclose(slopes, [0, 1 / 3, 0, 1 / 3, 1 / 3], rtol=1e-15)


def test_the_median_of_an_even_count_halves_between_two_groups() -> None:
    np.testing.assert_array_equal(fd.grad(NP.median)(np.array([1.0, 3, 3, 1])), [0.25] * 4)


@pytest.mark.parametrize("f", [np.std, np.nanstd])
def test_the_standard_deviation_of_constants_has_slope_zero(f: Any) -> None:
    for x in (np.full(3, 2.0), np.array([5.0])):
        np.testing.assert_array_equal(fd.grad(f)(x), np.zeros_like(x))
        np.testing.assert_array_equal(fd.jvp(f, (x,), (np.ones_like(x),))[1], 0)
        np.testing.assert_array_equal(fd.grad(lambda x: f(x) ** 2)(x), np.zeros_like(x))


def test_too_many_degrees_of_freedom_give_nan() -> None:
    assert np.isnan(fd.vjp(lambda x: np.std(x, ddof=1), np.array([5.0]))[0])
    assert np.isnan(fd.vjp(lambda x: np.nanvar(x, ddof=2), np.array([5.0, 5.5]))[0])


@pytest.mark.parametrize("f", [*NAN_MOMENTS, np.nanmedian, partial(np.nanquantile, q=0.4)])
def test_an_ignored_nan_has_derivative_zero(f: Any) -> None:
    gradient = fd.grad(lambda x: np.sum(f(x, axis=2)))(HOLES)
    assert np.all(gradient[np.isnan(HOLES)] == 0)
    assert np.all(np.isfinite(gradient))


def test_a_slice_of_nan_gives_nan_and_no_derivative_elsewhere() -> None:
    x = np.array([[np.nan, np.nan], [1.0, 3.0]])
    f: Function = partial(np.nanmedian, axis=1)
    pull: Any
    value, pull = fd.vjp(f, x)
    np.testing.assert_array_equal(value, [np.nan, 2])
    np.testing.assert_array_equal(pull(np.ones(2))[0], [[0, 0], [0.5, 0.5]])


@pytest.mark.parametrize("f", [np.mean, np.std, np.median, partial(np.nanquantile, q=0.3), np.cov])
def test_statistics_batch(f: Any) -> None:
    np.testing.assert_allclose(fd.vmap(f)(LONG[:4]), np.stack([f(x) for x in LONG[:4]]), rtol=1e-15)


def test_out_receives_a_statistic() -> None:
    def f(x: Any) -> Any:
        out = np.zeros_like(x[0])
        assert np.std(x, axis=0, out=out) is out
        second = np.empty_like(x[0])
        return out + np.median(x, axis=0, out=second) * second

    assert_value(f, X)
    assert_derivatives(f, X)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("f", [np.mean, np.nanmean, np.var, np.nanvar, np.std, np.nanstd])
def test_out_may_have_another_dtype(f: Any, dtype: str) -> None:
    assert_value(lambda x: f(x, axis=1, out=np.zeros_like(x[:, 0], dtype)), HOLES.astype("f4"))


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.average(x, weights=[1, -1]), ZeroDivisionError, "Weights sum to zero"),
    (lambda x: np.average(x, weights=np.ones(3)), TypeError, "Axis must be specified"),
    (lambda x: np.average(x, axis=0, weights=np.ones(3)), ValueError, "Shape of weights"),
    (lambda x: np.var(x, ddof=1, correction=1), ValueError, "provided simultaneously"),
    (lambda x: np.quantile(x, 1.5), ValueError, r"Quantiles must be in the range \[0, 1\]"),
    (lambda x: np.percentile(x, -1), ValueError, r"Percentiles must be in the range \[0, 100\]"),
    (lambda x: np.quantile(x, x[0] * 2), ValueError, "Quantiles must be in the range"),
    (lambda x: NP.quantile(x, 0.5, method="mid"), ValueError, "'mid' is not a valid method"),
    (lambda x: np.quantile(x, 0.5, weights=x), ValueError, "Only method 'inverted_cdf'"),
    (lambda x: np.quantile(x, 0.5, weights=-x, method="inverted_cdf"), ValueError, "non-negative"),
    (lambda x: np.quantile(x, 0.5, weights=0 * x, method="inverted_cdf"), ValueError, "all zero"),
    (lambda x: np.quantile(x[:0], 0.5), IndexError, "axis of size 0"),
    (lambda x: np.quantile(x + 0j, 0.5).real, TypeError, "array of real numbers"),
    (lambda x: np.cov(x, ddof=0.5), ValueError, "ddof must be integer"),
    (lambda x: np.cov(x[None, None]), ValueError, "m has more than 2 dimensions"),
    (lambda x: np.cov(x, aweights=[1.0]), RuntimeError, "incompatible numbers of samples"),
    (lambda x: np.cov(x, aweights=-x), ValueError, "aweights cannot be negative"),
    (lambda x: np.cov(x, fweights=x / 3), TypeError, "fweights must be integer"),
    (lambda x: np.nanmean(x, dtype=int), TypeError, "dtype must be inexact"),
])  # fmt: skip
def test_an_error_is_the_one_of_numpy(f: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, np.array([1.0, 2.0]))
