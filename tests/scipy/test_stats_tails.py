"""Derivatives of distributions far out, where values vanish or differences have no digits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.scipy import stats
from tests.scipy.freeze_tails import FILE
from tests.together import together


@pytest.mark.thinned(3)
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
