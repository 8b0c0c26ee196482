"""Moments of posteriors of posteriordb are those of its reference draws, within their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.densities.diagnostics import bulk_ess
from tests.densities.posteriors import POSTERIORS, REFERENCES
from tests.densities.test_unconstrained import FEW


def errors_of_means(x: Any) -> Any:
    """Return the Monte Carlo errors of means of draws ``(chains, draws, k)``."""
    sizes = np.array([bulk_ess(x[..., i]) for i in range(x.shape[-1])])
    return x.std((0, 1)) / np.sqrt(sizes)


@FEW
@pytest.mark.slow
@pytest.mark.parametrize("name", POSTERIORS)
def test_moments_are_those_of_reference_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "gp_poisson":  # a covariance of condition 1e11 shows in which order code rounds
        monkeypatch.setenv("FUNCDIFF_CHECK", "0")
    posterior, reference = POSTERIORS[name], REFERENCES[name]
    d = fd.density(posterior.logp, posterior.start, posterior.bounds)
    count = 200 if name == "gp_poisson" else 500  # its steps are the longest
    draws = d.sample(count, rng=1, warmup=count)
    assert draws.diverging.mean() < 0.02
    x = posterior.quantities(draws.params)
    for found, kind in ((x, "mean"), (x**2, "square")):
        error = np.hypot(errors_of_means(found), np.array(reference[f"{kind}_error"]))
        z = (found.mean((0, 1)) - np.array(reference[kind])) / error
        assert np.all(np.abs(z) < 4.5), (kind, dict(zip(reference["names"], z, strict=True)))


def test_gradients_of_posteriors_are_their_differences() -> None:
    for name in ("gp_normal", "mesquite_vas", "dogs"):
        posterior = POSTERIORS[name]
        d = fd.density(posterior.logp, posterior.start, posterior.bounds)
        z, h = d.start + 0.1, 1e-5
        ends = [(d.value(z + h * e), d.value(z - h * e)) for e in np.eye(d.size)]
        slopes = [(up - down) / (2 * h) for up, down in ends]
        np.testing.assert_allclose(d.value_and_grad(z)[1], slopes, rtol=1e-5, err_msg=name)
