"""Gaussian kernel density estimates by data, points, weights and bandwidth."""

from __future__ import annotations

import numpy as np
import pytest

from tests.scipy.agreement import assert_agrees

_rng = np.random.default_rng(1)
X = _rng.normal(size=(2, 9))
Q = _rng.normal(size=(2, 4))
W = _rng.uniform(0.5, 2, size=9)


def test_a_density_agrees_by_data_and_points() -> None:
    assert_agrees("scipy.stats", lambda s, x, q: s.gaussian_kde(x)(q), X, Q, order=1)


@pytest.mark.slow
def test_a_density_agrees_by_weights_and_bandwidth() -> None:
    assert_agrees(
        "scipy.stats",
        lambda s, x, q, w: s.gaussian_kde(x, "silverman", weights=w).logpdf(q),
        X, Q, W,
    )  # fmt: skip
    assert_agrees(
        "scipy.stats", lambda s, x, b: s.gaussian_kde(x[0], b).integrate_box_1d(-1, 0.5), X, 0.4
    )
