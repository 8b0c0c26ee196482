"""Derivatives of distributions by parameters at which SciPy has another formula."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcdiff as fd
from funcdiff.scipy import stats


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
