"""Statistics of traced arrays: order, NaN, degrees of freedom, half precision, kinks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.patterns.tables.reductions import METHODS
from tests.together import together

Function = Callable[..., Any]


RANDOM = np.random.default_rng(6)
X = RANDOM.normal(size=(3, 4, 5))
LONG = RANDOM.normal(size=(40, 50))
HOLES = np.where(RANDOM.random((3, 4, 5)) > 0.8, np.nan, X)

MOMENTS = [np.mean, np.var, np.std, np.average]
NAN_MOMENTS = [np.nanmean, np.nanvar, np.nanstd]
MEDIANS = [np.median, np.nanmedian]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("f", [*MOMENTS, *NAN_MOMENTS, *MEDIANS])
def test_long_statistics_add_in_the_order_of_numpy(f: Any, axis: Any) -> None:
    assert_value(lambda x: f(x, axis=axis), LONG)
    assert_value(lambda x: f(x[::-1, 1::2], axis=axis), LONG)


@pytest.mark.parametrize("f", [np.mean, np.std, np.median, partial(np.percentile, q=30)])
def test_statistics_of_integers_are_floating(f: Any) -> None:
    assert_value(lambda x: f((3 * x).astype(int)) + 0 * x, X)


@together
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_quantiles_at_and_near_the_ends_have_the_values_of_numpy(f: Any, method: Any) -> None:
    assert_value(partial(f, q=[0.0, 0.1, 0.25, 0.6, 1], axis=1, method=method), X)


def test_weights_of_ignored_nan_do_not_count() -> None:
    f: Function = partial(np.nanquantile, q=[0.2, 0.6], axis=1, method="inverted_cdf")
    assert_value(lambda x: f(x, weights=np.abs(X)), HOLES)


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_a_quantile_has_a_derivative_in_the_probability(f: Any) -> None:
    assert_derivatives(lambda x, q: f(x, q, axis=1), X, np.array([0.3, 0.62]))
    assert fd.grad(lambda q: f(np.array([1.0, 2, 5]), q))(0.75) == 6
    assert fd.grad(lambda q: f(np.array([1.0, 2, 5]), q))(0.5) == 6  # the right slope


def test_a_slice_of_nan_gives_nan_and_no_derivative_elsewhere() -> None:
    x = np.array([[np.nan, np.nan], [1.0, 3.0]])
    f: Function = partial(np.nanmedian, axis=1)
    pull: Any
    value, pull = fd.vjp(f, x)
    np.testing.assert_array_equal(value, [np.nan, 2])
    np.testing.assert_array_equal(pull(np.ones(2))[0], [[0, 0], [0.5, 0.5]])


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


# ---- covariances ---------------------------------------------------------------------------------

RANDOM_COVARIANCES = np.random.default_rng(0)
PAIRS = {
    "a vector with a row": (
        RANDOM_COVARIANCES.normal(size=4), RANDOM_COVARIANCES.normal(size=(1, 4)),
    ),
    "columns with a row": (
        RANDOM_COVARIANCES.normal(size=(4, 3)), RANDOM_COVARIANCES.normal(size=(1, 4)),
    ),
    "columns with a vector": (
        RANDOM_COVARIANCES.normal(size=(4, 3)), RANDOM_COVARIANCES.normal(size=4),
    ),
    "columns with columns": (
        RANDOM_COVARIANCES.normal(size=(4, 3)), RANDOM_COVARIANCES.normal(size=(4, 2)),
    ),
    "columns with a column": (
        RANDOM_COVARIANCES.normal(size=(4, 3)), RANDOM_COVARIANCES.normal(size=(4, 1)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("f", [np.cov, np.corrcoef])
@pytest.mark.parametrize(("m", "y"), PAIRS.values(), ids=list(PAIRS))
def test_a_second_set_of_variables_in_columns_is_taken_as_numpy_takes_it(
    m: Any, y: Any, f: Any
) -> None:
    def of_both(m: Any, y: Any) -> Any:
        return f(m, y, rowvar=False)

    np.testing.assert_allclose(fd.vjp(of_both, m, y)[0], of_both(m, y), rtol=1e-13)
    assert_derivatives(lambda y: of_both(m, y), y, order=1)


def test_correlations_of_no_variables_are_an_empty_matrix() -> None:
    with np.errstate(all="ignore"):
        assert fd.jacobian(np.corrcoef)(np.zeros((0, 2))).shape == (0, 0, 0, 2)


# ---- degrees of freedom --------------------------------------------------------------------------

X_FREEDOM = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 5.0]])


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value", "ignore:divide by")
@pytest.mark.parametrize("ddof", [1, 2, 3, 7])
@pytest.mark.parametrize("f", [
    lambda x, ddof: np.var(x, ddof=ddof), lambda x, ddof: np.std(x, axis=0, ddof=ddof),
    lambda x, ddof: np.var(x, axis=1, correction=ddof),
    lambda x, ddof: np.var(x, 1, ddof=ddof, where=X_FREEDOM < 5),
    lambda x, ddof: np.nanvar(x, axis=1, ddof=ddof), lambda x, ddof: np.cov(x, ddof=ddof),
    lambda x, ddof: np.cov(x, ddof=ddof, fweights=np.array([1, 2, 1])),
])  # fmt: skip
def test_a_spread_of_too_few_numbers_is_that_of_numpy(f: Any, ddof: int) -> None:
    expected = f(X_FREEDOM, ddof)
    for found in (
        fd.vjp(lambda x: f(x, ddof), X_FREEDOM)[0],
        fd.jit(lambda x: f(x, ddof))(X_FREEDOM),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


# ---- missing complex numbers ---------------------------------------------------------------------

Z = np.array([[1 + 2j, -0.5 + 0.25j, 3 - 1j], [0.5j, 2.0 - 2j, -1 + 1j]])
MISSING = np.array([[0, np.nan, 0], [complex(0, np.nan), 0, 0]])


@pytest.mark.parametrize("words", [{}, {"axis": 0}, {"axis": 1, "keepdims": True}])
@pytest.mark.parametrize("f", [np.nanvar, np.nanstd, np.nanmean, np.nansum])
def test_moments_of_complex_numbers_leave_nan_out(f: Any, words: Any) -> None:
    found = fd.vjp(lambda z: f(z + MISSING, **words), Z)[0]
    expected = f(Z + MISSING, **words)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found.dtype == expected.dtype
    assert_derivatives(lambda z: f(z + MISSING, **words), Z, order=1)


# ---- half precision ------------------------------------------------------------------------------

VALUES = np.random.default_rng(0).uniform(80, 120, (40, 60)).astype(np.float16)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("f", [
    np.mean, lambda x, axis: np.mean(x, axis, keepdims=True),
    lambda x, axis: np.mean(x, axis, np.float64), lambda x, axis: np.mean(x, axis, where=x > 100),
])  # fmt: skip
def test_the_mean_of_many_small_numbers_does_not_overflow(f: Any, axis: Any) -> None:
    expected = f(VALUES, axis)
    assert np.isfinite(expected).all()
    for found in (fd.vjp(lambda x: f(x, axis), VALUES)[0], fd.jit(lambda x: f(x, axis))(VALUES)):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("f", [
    np.max, np.min, np.nanmax, np.median, lambda x: np.maximum.accumulate(x)[-1],
    lambda x: np.fmin.accumulate(x)[-1],
])  # fmt: skip
def test_more_ties_than_half_precision_counts_share_alike(f: Any) -> None:
    x = np.zeros(70_000, np.float16)
    for derive in (fd.grad(f), fd.grad(fd.jit(f))):
        np.testing.assert_array_equal(derive(x), np.full(70_000, 1 / 70_000, np.float16))


def test_fractions_in_half_precision_of_more_entries_than_it_counts_give_what_numpy_gives() -> None:
    x, q = (np.arange(70_000) % 7).astype(np.float16), np.float16(0.5)
    with np.errstate(all="ignore"):
        expected = np.quantile(x, q)
        for found in (fd.vjp(lambda x: np.quantile(x, q), x)[0], fd.jit(np.quantile)(x, q)):
            np.testing.assert_array_equal(found, expected)
