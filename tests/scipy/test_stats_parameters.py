"""Distributions at parameters with other formulas, far out, and over counts without values."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcdiff as fd
from funcdiff.scipy import stats
from tests.scipy.freeze_tails import FILE
from tests.together import together


@pytest.mark.slow
def test_moments_of_extreme_values_have_derivatives_in_the_midst_of_their_family() -> None:
    # those of (1 - Γ(1 + c))/c and of the other cumulants, with mpmath
    slopes = {
        0.0: (-0.98905599532797256, -4.3030772285491516, -5.9666124126670912, -28.917688340799625),
        0.05: (-0.90520932250000801, -3.3047453687736712, -4.9656342073284743, -17.518253579405654),
    }
    stats_of = fd.jacrev(lambda c: np.stack(stats.genextreme.stats(c, moments="mvsk")))
    for c, expected in slopes.items():
        found = stats_of(c)
        np.testing.assert_allclose(found, expected, rtol=1e-11)
        np.testing.assert_allclose(
            fd.jacfwd(lambda c: np.stack(stats.genextreme.stats(c, moments="mvsk")))(c), found
        )
    np.testing.assert_allclose(fd.vmap(stats_of)(np.array([0.0, 0.05]))[0], stats_of(0.0))
    by_moment = fd.grad(lambda c: stats.genextreme.moment(2, c))(0.0)
    square = fd.grad(lambda c: stats.genextreme.var(c) + stats.genextreme.mean(c) ** 2)(0.0)
    assert by_moment == pytest.approx(square, rel=1e-12)
    assert fd.grad(fd.grad(stats.genextreme.mean))(0.0) == pytest.approx(
        1.8149581521617726, rel=1e-11
    )
    assert fd.grad(lambda c: stats.genextreme(c, 1.0, 2.0).std())(0.0) == pytest.approx(
        2 * fd.grad(stats.genextreme.std)(0.0)
    )


@pytest.mark.filterwarnings("ignore:Some rows of `p`:FutureWarning")
@pytest.mark.parametrize("total", [1.0, 0.5])
@pytest.mark.parametrize("name", ["logpmf", "pmf"])
def test_the_last_share_of_a_multinomial_distribution_is_what_the_others_leave(
    name: str, total: float
) -> None:
    p = total * np.array([0.2, 0.3, 0.5])
    plain, ours = (
        partial(getattr(s.multinomial, name), [1, 2, 3], 6) for s in (scipy.stats, stats)
    )
    moves = 1e-6 * (np.eye(3) - np.eye(3)[2]) * (total == 1.0) + 1e-6 * np.eye(3) * (total != 1.0)
    slopes = [(plain(p + h) - plain(p - h)) / 2e-6 for h in moves]  # nan from SciPy 1.18 on
    if np.isnan(plain(p)):
        assert np.isnan(fd.vjp(ours, p)[0])
        return
    for found in (fd.grad(ours)(p), fd.jacfwd(ours)(p), fd.vmap(fd.grad(ours))(p[None])[0]):
        np.testing.assert_allclose(found, slopes, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_probabilities_of_counts_keep_digits_where_chances_are_near_an_end() -> None:
    """Those of the beta binomial distribution are also sums of its masses."""
    counts = np.arange(61.0)

    def summed(a: Any, b: Any) -> Any:
        return np.cumsum(stats.betabinom.pmf(counts, 60, a, b))

    def stated(a: Any, b: Any) -> Any:
        return stats.betabinom.cdf(counts, 60, a, b)

    for t in ((1.0, 0.0), (0.0, 1.0)):
        found, expected = (fd.jvp(f, (0.2, 0.3), t)[1] for f in (stated, summed))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)


# ---- tails ---------------------------------------------------------------------------------------


@pytest.mark.slow
@together
@pytest.mark.parametrize(("name", "shapes", "x", "expected"), json.loads(FILE.read_text()))
def test_tails_have_the_derivatives_that_mpmath_finds(
    name: str, shapes: list[float], x: float, expected: dict[str, Any]
) -> None:
    for method, (slope, curvature) in expected.items():

        def call(v: Any, method: str = method) -> Any:
            return getattr(getattr(stats, name), method)(*v)

        at = np.array([x, *shapes])
        np.testing.assert_allclose(fd.grad(call)(at), slope, rtol=1e-9)
        np.testing.assert_allclose(fd.jacfwd(call)(at), slope, rtol=1e-9)
        size = np.maximum(np.abs(slope), 1.0)
        error = np.abs(fd.hessian(call)(at) - curvature)
        assert np.all(error <= 1e-6 * np.abs(curvature) + 1e-13 * np.outer(size, size))


def test_at_the_ends_of_a_truncated_distribution_derivatives_are_finite() -> None:
    def probabilities(v: Any) -> Any:
        law = stats.truncnorm(v[1], v[2])
        return np.stack([law.cdf(v[0]), law.sf(v[0])])

    for x, share in ((3.0, 0.0), (5.0, 1.0)):
        at = np.array([x, 3.0, 5.0])
        low, high = stats.truncnorm.pdf(at[1:], 3.0, 5.0)
        slope = [stats.truncnorm.pdf(x, 3.0, 5.0), -low * (1 - share), -high * share]
        expected = np.outer([1.0, -1.0], slope)
        np.testing.assert_allclose(fd.jacrev(probabilities)(at), expected, rtol=1e-12)
        np.testing.assert_allclose(fd.jacfwd(probabilities)(at), expected, rtol=1e-12)
        assert np.all(np.isfinite(fd.hessian(lambda v: probabilities(v)[0])(at)))


# ---- counts --------------------------------------------------------------------------------------

SUMS: dict[str, tuple[Any, ...]] = {
    "all": (lambda s, m: s.poisson(m).expect(lambda k: k**2), 2.2),
    "of the number": (lambda s, m: s.poisson.expect(args=(m,), loc=2), 20.2),
    "from and to": (
        lambda s, m: s.poisson.expect(np.sqrt, (m,), lb=1, ub=6, conditional=True), 2.2,
    ),
    "from": (lambda s, m: s.poisson.expect(np.sqrt, (m,), lb=3), 2.2),
    "few": (lambda s, p: s.binom.expect(lambda k: k**2, (7, p)), 0.3),
    "first block of nothing": (lambda s, p: s.binom.expect(lambda k: 1.0 * (k > 60), (70, p)), 0.3),
    "options": (
        lambda s, m: s.poisson.expect(np.sqrt, (m,), 0, None, None, False, 9, 1e-4, 5), 20.2,
    ),
    "too many": (lambda s, m: s.poisson.expect(np.sqrt, (m,)), 1e6),
    "both signs": (lambda s, m: s.skellam.expect(lambda k: k**3, (m, 1.1)), 4.3),
}  # fmt: skip


@pytest.mark.slow
@together
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.filterwarnings("ignore:.*did not converge:RuntimeWarning")
def test_means_over_counts_need_no_values(name: str) -> None:
    call, parameter = SUMS[name]
    ours, plain = partial(call, stats), partial(call, scipy.stats)
    np.testing.assert_allclose(fd.jit(ours)(parameter), plain(parameter), rtol=1e-12)
    found = fd.vmap(fd.grad(ours))(np.array([parameter, 0.9 * parameter]))
    expected = [fd.grad(ours)(p) for p in (parameter, 0.9 * parameter)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_medians_and_entropies_have_second_derivatives() -> None:
    for median in (stats.gennorm.median, lambda b: stats.gennorm.isf(0.5, b)):
        assert fd.grad(median)(1.7) == fd.grad(fd.grad(median))(1.7) == 0

    def spread(a: Any) -> Any:
        return stats.skellam.entropy(a, 0.6)

    np.testing.assert_allclose(fd.grad(fd.grad(spread))(1.7), -0.09372554184459673, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "x", "shapes"),
    [
        ("f", 0.75, (1e8, 3.0)), ("gamma", 2.0**20, (2.0**20,)),
        pytest.param("pearson3", 0.75, (-0.125e-2,), marks=pytest.mark.slow),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_slopes_of_float32_arguments_are_those_of_the_same_numbers_in_double(
    name: str, x: float, shapes: tuple[float, ...], method: str
) -> None:
    single = [np.float32(z) for z in (x, *shapes)]
    numbers = tuple(range(len(single)))
    f = getattr(getattr(stats, name), method)
    expected = fd.grad(f, numbers)(*map(float, single))
    for derive in (fd.grad(f, numbers), fd.jit(fd.grad(f, numbers))):
        found = derive(*single)
        assert all(z.dtype == np.float32 for z in found)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    pushed = [fd.jvp(lambda z: f(z, *single[1:]), (single[0],), (np.float32(1),))[1]]
    np.testing.assert_allclose(pushed, expected[:1], rtol=1e-6)
