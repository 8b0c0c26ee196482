"""Statistics of samples and tests: SciPy's values, and all derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.scipy.agreement import assert_agrees

_rng = np.random.default_rng(3)
X = _rng.normal(size=7) + 0.3
Y = _rng.normal(size=7) * 2
P = _rng.uniform(0.5, 2, size=7)
Q = _rng.uniform(0.5, 2, size=7)
LONG = _rng.normal(size=20)
TABLE = _rng.normal(size=(8, 3))
COUNTS = _rng.uniform(0.2, 2, size=(8, 3))

STATISTICS: dict[str, tuple[Any, ...]] = {
    "boxcox_llf": (lambda s, p, m: s.boxcox_llf(m, p), P, 0.4),
    "circmean": (lambda s, x: s.circmean(x), X),
    "circstd": (lambda s, x: s.circstd(x, high=3, low=-3, axis=1), TABLE),
    "circvar": (lambda s, x: s.circvar(x), X),
    "describe": (lambda s, x: s.describe(x), TABLE),
    "differential_entropy": (lambda s, x: s.differential_entropy(x), LONG),
    "differential_entropy_vasicek": (
        lambda s, x: s.differential_entropy(x, method="vasicek", base=2, window_length=3), LONG,
    ),
    "differential_entropy_ebrahimi": (
        lambda s, x: s.differential_entropy(x, method="ebrahimi"), LONG,
    ),
    "differential_entropy_correa": (lambda s, x: s.differential_entropy(x, method="correa"), LONG),
    "directional_stats": (lambda s, x: vars(s.directional_stats(x)), TABLE),
    "energy_distance": (lambda s, x, y: s.energy_distance(x, y), X, Y),
    "energy_distance_weighted": (lambda s, x, y, p, q: s.energy_distance(x, y, p, q), X, Y, P, Q),
    "entropy": (lambda s, p: s.entropy(p), P),
    "entropy_relative": (lambda s, p, q: s.entropy(p, q, base=2), P, Q),
    "entropy_axis": (lambda s, p: s.entropy(p, axis=1, keepdims=True), COUNTS),
    "expectile": (lambda s, x: s.expectile(x, 0.3), X),
    "expectile_weighted": (lambda s, x, p: s.expectile(x, 0.8, weights=p), X, P),
    "false_discovery_control": (lambda s, p: s.false_discovery_control(p / 3), P),
    "false_discovery_by": (lambda s, p: s.false_discovery_control(p / 3, method="by"), P),
    "gmean": (lambda s, p: s.gmean(p, axis=1), COUNTS),
    "gmean_weighted": (lambda s, p, q: s.gmean(p, weights=q), P, Q),
    "gstd": (lambda s, p: s.gstd(p, ddof=0), P),
    "gzscore": (lambda s, p: s.gzscore(p, ddof=1), P),
    "hmean": (lambda s, p: s.hmean(p, axis=(0, 1)), COUNTS),
    "hmean_weighted": (lambda s, p, q: s.hmean(p, weights=q, keepdims=True), P, Q),
    "iqr": (lambda s, x: s.iqr(x), X),
    "iqr_scaled": (
        lambda s, x: s.iqr(x, axis=0, scale="normal", rng=(20, 70), interpolation="hazen"), TABLE,
    ),
    "kstat": (lambda s, x: [s.kstat(x, n) for n in (1, 2, 3, 4)], X),
    "kstatvar": (lambda s, x: [s.kstatvar(x, n) for n in (1, 2)], X),
    "kurtosis": (lambda s, x: s.kurtosis(x, axis=None), TABLE),
    "kurtosis_unbiased": (lambda s, x: s.kurtosis(x, fisher=False, bias=False), X),
    "linregress": (lambda s, x, y: s.linregress(x, y), X, Y),
    "linregress_errors": (
        lambda s, x: s.linregress(x, x[::-1] ** 2, "less", axis=0).intercept_stderr, TABLE,
    ),
    "lmoment": (lambda s, x: s.lmoment(x), X),
    "lmoment_one": (lambda s, x: s.lmoment(x, 2, axis=0, standardize=False), TABLE),
    "median_abs_deviation": (lambda s, x: s.median_abs_deviation(x, scale="normal"), X),
    "median_abs_deviation_center": (
        lambda s, x: s.median_abs_deviation(x, axis=1, center=np.mean), TABLE,
    ),
    "moment": (lambda s, x: s.moment(x, [1, 2, 3], center=0.2), TABLE),
    "moment_third": (lambda s, x: s.moment(x, 3), X),
    "obrientransform": (lambda s, x, y: s.obrientransform(x, y), X, Y),
    "pmean": (lambda s, p, q: s.pmean(p, 0.7, weights=q), P, Q),
    "quantile": (lambda s, x: s.quantile(x, np.array([0.3, 0.5]), method="hazen"), X),
    "scoreatpercentile": (lambda s, x: s.scoreatpercentile(x, 30), X),
    "sem": (lambda s, x: s.sem(x, axis=1, ddof=0), TABLE),
    "siegelslopes": (lambda s, x, y: s.siegelslopes(y, x), X, Y),
    "siegelslopes_separate": (lambda s, x, y: s.siegelslopes(y, x, method="separate"), X, Y),
    "skew": (lambda s, x: s.skew(x), X),
    "skew_unbiased": (lambda s, x: s.skew(x, axis=1, bias=False, keepdims=True), TABLE),
    "tmax": (lambda s, x: s.tmax(x, 1.0), X),
    "tmean": (lambda s, x: s.tmean(x, (-1, 1)), X),
    "tmin": (lambda s, x: s.tmin(x, axis=None), TABLE),
    "trim1": (lambda s, x: s.trim1(x, 0.2), X),
    "trim_mean": (lambda s, x: s.trim_mean(x, 0.2, axis=1, keepdims=True), TABLE),
    "trimboth": (lambda s, x: s.trimboth(x, 0.2), X),
    "tsem": (lambda s, x: s.tsem(x, (-1, 1)), X),
    "tstd": (lambda s, x: s.tstd(x, (-1, 2), inclusive=(False, True)), X),
    "tvar": (lambda s, x: s.tvar(x, axis=0, ddof=0), TABLE),
    "variation": (lambda s, p: s.variation(p, ddof=1), P),
    "wasserstein_distance": (lambda s, x, y: s.wasserstein_distance(x, y), X, Y),
    "wasserstein_distance_weighted": (
        lambda s, x, y, p, q: s.wasserstein_distance(x, y, p, q), X, Y, P, Q,
    ),
    "boxcox": (lambda s, p, m: s.boxcox(p, m), P, 0.4),
    "boxcox_log": (lambda s, p: s.boxcox(p, 0.0), P),
    "yeojohnson": (lambda s, x, m: s.yeojohnson(x, m), X, 0.3),
    "yeojohnson_llf": (lambda s, x, m: s.yeojohnson_llf(m, x), X, 0.3),
    "zmap": (lambda s, x, y: s.zmap(x, y), X, Y),
    "zscore": (lambda s, x: s.zscore(x, axis=1, ddof=1), TABLE),
}  # fmt: skip

TESTS: dict[str, tuple[Any, ...]] = {
    "alexandergovern": (lambda s, x, y, p: vars(s.alexandergovern(x, y, p)), X, Y, P),
    "bartlett": (lambda s, x, y, p: s.bartlett(x, y, p), X, Y, P),
    "chi2_contingency": (lambda s, p: s.chi2_contingency(p, correction=False), COUNTS),
    "chisquare": (lambda s, p: s.chisquare(p, p[::-1], ddof=1), P),
    "combine_pvalues": (
        lambda s, p: [
            tuple(s.combine_pvalues(p / 3, how))
            for how in ("fisher", "pearson", "tippett", "mudholkar_george")
        ],
        P,
    ),
    "combine_pvalues_weighted": (
        lambda s, p, q: s.combine_pvalues(p / 3, "stouffer", weights=q), P, Q,
    ),
    "f_oneway": (lambda s, x, y, p: s.f_oneway(x, y, p), X, Y, P),
    "jarque_bera": (lambda s, x: s.jarque_bera(x), X),
    "kurtosistest": (lambda s, x: s.kurtosistest(x), LONG),
    "levene": (lambda s, x, y, p: s.levene(x, y, p), X, Y, P),
    "levene_mean": (lambda s, x, y, p: s.levene(x, y, p, center="mean"), X, Y, P),
    "levene_trimmed": (lambda s, x, y: s.levene(x, y, center="trimmed", proportiontocut=0.2), X, Y),
    "normaltest": (lambda s, x: s.normaltest(x), LONG),
    "pearsonr": (lambda s, x, y: tuple(s.pearsonr(x, y)), X, Y),
    "pearsonr_axis": (
        lambda s, x: tuple(s.pearsonr(x, x[::-1] ** 2, axis=0, alternative="less")), TABLE,
    ),
    "pointbiserialr": (lambda s, x: tuple(s.pointbiserialr(np.arange(7) > 3, x)), X),
    "power_divergence": (lambda s, p: s.power_divergence(p, p[::-1], lambda_="neyman"), P),
    "skewtest": (lambda s, x: s.skewtest(x, alternative="greater"), LONG),
    "ttest_1samp": (lambda s, x, m: tuple(s.ttest_1samp(x, m, axis=1)), TABLE, 0.2),
    "ttest_ind": (lambda s, x, y: tuple(s.ttest_ind(x, y)), X, Y),
    "ttest_ind_trimmed": (lambda s, x, y: tuple(s.ttest_ind(x, y, trim=0.2)), X, Y),
    "ttest_ind_welch": (lambda s, x, y: s.ttest_ind(x, y, equal_var=False).statistic, X, Y),
    "ttest_ind_from_stats": (
        lambda s, m, d: tuple(s.ttest_ind_from_stats(m[0], d[0], 5, m[1], d[1], 6)), X, P,
    ),
    "ttest_rel": (lambda s, x, y: tuple(s.ttest_rel(x, y, alternative="less")), X, Y),
}  # fmt: skip


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_agree(name: str) -> None:
    call, *arrays = STATISTICS[name]
    assert_agrees("scipy.stats", call, *arrays, rtol=1e-10 if "expectile" in name else 1e-12)


@pytest.mark.thinned(91)
@pytest.mark.parametrize("name", TESTS)
def test_tests_agree(name: str) -> None:
    call, *arrays = TESTS[name]
    assert_agrees("scipy.stats", call, *arrays)


def test_entries_that_are_not_a_number_are_omitted() -> None:
    x = np.array([1.0, np.nan, 4.0, 2.0])
    kept = x[[0, 2, 3]]
    for name in ("skew", "sem", "zscore", "gmean", "tstd"):

        def call(x: Any, name: str = name) -> Any:
            found = getattr(fd.scipy.stats, name)(x, nan_policy="omit")
            return np.sum(np.where(np.isnan(found), 0, found) ** 3)

        with np.errstate(all="ignore"):
            found = fd.grad(call)(x)
        assert found[1] == 0
        np.testing.assert_allclose(found[[0, 2, 3]], fd.grad(call)(kept), rtol=1e-12)


def test_a_batch_propagates_what_is_not_a_number() -> None:
    x = np.array([[1.0, 2.0, 3.0, 4.0, 9.0], [1.0, np.nan, 3.0, 4.0, 9.0]])
    stats = fd.scipy.stats
    for call in (stats.iqr, stats.median_abs_deviation, stats.tmean, stats.skew):
        assert list(np.isnan(fd.vmap(call)(x))) == [False, True]
    found = fd.vmap(lambda x: stats.trim_mean(x, 0.25))(x)
    np.testing.assert_array_equal(found, [3.0, np.nan])


def test_single_precision_stays() -> None:
    x = X.astype(np.float32)
    for name in ("skew", "kurtosis", "gmean", "sem", "zscore", "iqr", "tvar"):
        with np.errstate(all="ignore"):
            found = fd.vjp(getattr(fd.scipy.stats, name), np.abs(x))[0]
        assert found.dtype == np.float32


def test_a_transform_of_powers_is_smooth_at_zero_and_at_its_own_logarithms() -> None:
    transform = fd.scipy.stats.yeojohnson
    for exponent in (0.0, 0.7, 2.0):
        assert fd.grad(lambda x, m=exponent: transform(x, m))(0.0) == 1.0
        slope = fd.grad(fd.grad(lambda x, m=exponent: transform(x, m)))(0.0)
        assert slope == pytest.approx(exponent - 1)
    assert fd.grad(lambda m: transform(np.e - 1, m))(0.0) == pytest.approx(0.5)
    likelihood = fd.scipy.stats.boxcox_llf
    near = fd.grad(lambda m: likelihood(m, P))(1e-6)
    assert fd.grad(lambda m: likelihood(m, P))(0.0) == pytest.approx(near, abs=1e-4)


def test_one_of_two_samples_may_be_plain() -> None:
    distance = fd.scipy.stats.wasserstein_distance
    slope = fd.grad(lambda x: distance(x, Y))(X)
    np.testing.assert_array_equal(slope, fd.grad(distance)(X, Y))


def test_lines_along_an_axis_have_no_error_if_they_have_two_points() -> None:
    fit = fd.scipy.stats.linregress
    lines = fd.vjp(lambda y: fit(y[::-1], y), np.array([[1.0, 2.0], [2.0, 5.0]]))[0]
    np.testing.assert_array_equal(lines, [[-1.0, -1.0], [3.0, 7.0], [-1.0, -1.0], [0, 0], [0, 0]])


def test_what_takes_a_search_or_ranks_is_refused() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"boxcox_normmax of a .*Give the value"):
        fd.grad(lambda p: fd.scipy.stats.boxcox(p)[1])(P)
    with pytest.raises(UnsupportedNumPyError, match=r"yeojohnson_normmax"):
        fd.grad(lambda p: fd.scipy.stats.yeojohnson(p)[1])(P)
    with pytest.raises(UnsupportedNumPyError, match=r"depends on ranks alone"):
        fd.grad(lambda x: fd.scipy.stats.spearmanr(x, Y).statistic)(X)


def test_a_correlation_has_an_interval() -> None:
    x = np.abs(np.random.default_rng(0).normal(size=12)) + 0.2

    def interval(s: Any, y: Any) -> Any:
        return np.stack(list(s.pearsonr(x, y).confidence_interval(0.9)))

    assert_agrees("scipy.stats", interval, x**2 + np.sin(9 * x))


def test_a_sample_is_described_by_what_is_a_number() -> None:
    x = np.append(X, np.nan)

    def parts(s: Any, x: Any, **options: Any) -> Any:
        found = s.describe(x, nan_policy="omit", **options)
        return np.stack([*found.minmax, found.mean, found.variance, found.skewness, found.kurtosis])

    np.testing.assert_allclose(
        fd.vjp(lambda x: parts(fd.scipy.stats, x), x)[0], parts(scipy.stats, x), rtol=1e-12
    )
    for options in ({}, {"axis": None}):
        slopes = fd.jacobian(lambda x: parts(fd.scipy.stats, x, **options))(x)  # noqa: B023
        plain = fd.jacobian(lambda x: np.stack(fd.scipy.stats.describe(x)[2:]))(X)
        np.testing.assert_array_equal(slopes[2:, :-1], plain)
        assert not np.any(slopes[:, -1])
    with pytest.raises(UnsupportedNumPyError, match=r"masked arrays\. Describe x\["):
        fd.jacobian(lambda x: parts(fd.scipy.stats, np.stack([x, x])))(x)


@pytest.mark.slow
def test_the_power_mean_is_smooth_in_its_power() -> None:
    a, weights = np.array([1.2, 0.4, 2.3]), np.array([0.3, 0.5, 0.4])

    def mean(p: Any) -> Any:
        return fd.scipy.stats.pmean(a, p, weights=weights)

    def slopes(p: Any) -> Any:
        return np.stack([fd.vjp(mean, p)[0], fd.grad(mean)(p), fd.grad(fd.grad(mean))(p)])

    # with mpmath
    expected = [
        [0.9431112380417683, 0.2763100034501428, 0.0736396174253712],
        [0.9433848210124531, 0.2763828465894424, 0.0735182175165766],
    ]
    found = [slopes(p) for p in (0.0, 9.9e-4)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    powers = np.array([-0.7, 0.0, 0.3])
    np.testing.assert_allclose(fd.vmap(slopes)(powers), [slopes(p) for p in powers], rtol=1e-12)
    step = 1e-3  # across where formulas meet
    above, below = slopes(0.01 + step), slopes(0.01 - step)
    middle = (above + below)[1:] / 2
    np.testing.assert_allclose((above - below)[:2] / (2 * step), middle, rtol=1e-4)
    for values in (np.append(a, 0.0), np.append(a, -1.0)):
        for p in (0.4, 0.0, -0.4):
            with np.errstate(divide="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                plain = scipy.stats.pmean(values, p)
                traced = fd.vjp(lambda p: fd.scipy.stats.pmean(values, p), p)[0]  # noqa: B023
            np.testing.assert_allclose(traced, plain)
    with pytest.raises(NotImplementedError, match="finite `p`"):
        fd.grad(lambda p: fd.scipy.stats.pmean(a, p))(np.inf)


@pytest.mark.parametrize("lmb", [-60.0, -8.0, 0.0, 0.5, 40.0])
def test_the_likelihood_of_a_large_power_does_not_overflow(lmb: float) -> None:
    x = np.array([198.0, 233.0, 233.0, 392.0])
    found, pull = fd.vjp(fd.scipy.stats.boxcox_llf, lmb, x)
    np.testing.assert_allclose(found, scipy.stats.boxcox_llf(lmb, x), rtol=1e-12)
    ends = [scipy.stats.boxcox_llf(lmb + h, x) for h in (1e-4, -1e-4)]
    np.testing.assert_allclose(pull(1.0)[0], (ends[0] - ends[1]) / 2e-4, rtol=1e-4)


# ---- densities of samples ------------------------------------------------------------------------

_rng_of_density = np.random.default_rng(1)
X_DENSITY = _rng_of_density.normal(size=(2, 9))
Q_DENSITY = _rng_of_density.normal(size=(2, 4))
W = _rng_of_density.uniform(0.5, 2, size=9)


def test_a_density_agrees_by_data_and_points() -> None:
    assert_agrees(
        "scipy.stats", lambda s, x, q: s.gaussian_kde(x)(q), X_DENSITY, Q_DENSITY, order=1
    )


@pytest.mark.slow
def test_a_density_agrees_by_weights_and_bandwidth() -> None:
    assert_agrees(
        "scipy.stats",
        lambda s, x, q, w: s.gaussian_kde(x, "silverman", weights=w).logpdf(q),
        X_DENSITY, Q_DENSITY, W,
    )  # fmt: skip
    assert_agrees(
        "scipy.stats",
        lambda s, x, b: s.gaussian_kde(x[0], b).integrate_box_1d(-1, 0.5),
        X_DENSITY,
        0.4,
    )
