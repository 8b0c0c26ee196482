"""Densities in other packages: ``python -m pytest tests/densities/in_samplers.py``, with them."""

from __future__ import annotations

from typing import Any

import arviz
import emcee
import mici
import numpy as np
import nutpie
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest

import funcdiff as fd
from tests.densities.test_unconstrained import MEAN, PRECISION, make

pytestmark = pytest.mark.filterwarnings("ignore")  # of these packages

COVARIANCE = np.linalg.inv(PRECISION)


def check(data: Any) -> None:
    """Compare moments of `make`'s parameters in ArviZ's data with the exact ones."""
    posterior = data.posterior
    expected = {"x": MEAN, "tau": 1.5}
    deviations = {"x": np.sqrt(np.diagonal(COVARIANCE)), "tau": np.sqrt(0.75)}
    sizes, worst = arviz.ess(data), arviz.rhat(data)
    for name, mean in expected.items():
        errors = deviations[name] / np.sqrt(sizes[name].values)
        found = posterior[name].mean(("chain", "draw")).values
        print(name, "mean", found, "errors", (found - mean) / errors, "ess", sizes[name].values)
        assert np.all(np.abs(found - mean) < 4.5 * errors)
        assert np.all(worst[name] < 1.02)
        spread = posterior[name].std(("chain", "draw")).values / deviations[name]
        assert np.all(np.abs(spread - 1) < 0.1)


def test_arviz_has_the_draws_and_our_diagnostics() -> None:
    d = make()
    draws = d.sample(1000, rng=0)
    data = d.arviz(draws)
    check(data)
    np.testing.assert_allclose(draws.rhat["x"], arviz.rhat(data)["x"], rtol=1e-9)
    np.testing.assert_allclose(draws.bulk_ess["tau"], arviz.ess(data)["tau"], rtol=1e-9)
    np.testing.assert_array_equal(data.sample_stats["n_steps"], draws.steps)


def test_nutpie_draws_from_it() -> None:
    check(nutpie.sample(make().nutpie(), draws=1000, chains=4, seed=1, progress_bar=False))


def test_emcee_draws_from_it() -> None:
    d, rng = make(), np.random.default_rng(0)
    sampler = emcee.EnsembleSampler(24, **d.emcee())
    sampler.run_mcmc(d.start + 0.5 * rng.normal(size=(24, d.size)), 6000)
    params = d.constrain_all(np.swapaxes(sampler.get_chain(discard=1000), 0, 1))
    check(arviz.from_dict(params))


def test_mici_draws_from_it() -> None:
    d = make()
    system = mici.systems.EuclideanMetricSystem(**d.mici())
    sampler = mici.samplers.DynamicMultinomialHMC(
        system, mici.integrators.LeapfrogIntegrator(system), np.random.default_rng(3)
    )
    starts = [d.start + 0.1 * k for k in range(4)]
    adapters = [mici.adapters.DualAveragingStepSizeAdapter()]
    _, traces, _ = sampler.sample_chains(
        500, 1000, starts, adapters=adapters, display_progress=False
    )
    check(arviz.from_dict(d.constrain_all(np.array(traces["pos"]))))


def test_pymc_draws_from_a_potential_beside_its_own_variables() -> None:
    d = make()
    with pm.Model():
        z = pm.Flat("z", shape=d.size, initval=d.start)
        pm.Potential("density", d.pymc_potential()(z))
        other = pm.Normal("other")
        data = pm.sample(1000, tune=1000, chains=4, cores=1, random_seed=1, progressbar=False)
    params = d.constrain_all(data.posterior["z"].values)
    check(arviz.from_dict(params))
    assert abs(float(data.posterior[other.name].mean())) < 0.15


def test_a_potential_has_the_value_and_gradient_of_the_density_and_its_branch() -> None:
    d, z = make(), pt.dvector()
    y = d.pymc_potential()(z)
    function = pytensor.function([z], [y, pytensor.grad(y, z)])
    for at in np.random.default_rng(0).normal(size=(5, 3)):
        value, gradient = d.value_and_grad(at)
        np.testing.assert_allclose(function(at)[0], value, rtol=1e-14)
        np.testing.assert_allclose(function(at)[1], gradient, rtol=1e-14)
    assert function(np.array([2e3, 0.0, 0.0]))[0] == -np.inf


def test_a_potential_is_minus_infinity_where_a_matrix_cannot_be_factorized() -> None:
    d = fd.density(lambda x: np.sum(np.linalg.cholesky(np.diag(x))) - x @ x, np.ones(2))
    z = pt.dvector()
    y = d.pymc_potential()(z)
    function = pytensor.function([z], [y, pytensor.grad(y, z), pytensor.gradient.hessian(y, z)])
    for _ in range(3):
        value, gradient, _ = function(-np.ones(2))
        assert value == -np.inf
        assert gradient.tolist() == [0.0, 0.0]
        np.testing.assert_allclose(function(np.ones(2))[1], [-1.5, -1.5])
    with pm.Model():
        z = pm.Flat("z", shape=2, initval=np.ones(2))
        pm.Potential("density", d.pymc_potential()(z))
        data = pm.sample(200, tune=200, chains=1, cores=1, random_seed=1, progressbar=False)
    assert np.all(data.posterior["z"].values > 0)
