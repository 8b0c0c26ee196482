"""R-hat and effective sample sizes against ArviZ's, and warnings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.densities.diagnostics import bulk_ess, rhat, tail_ess
from funcdiff.errors import SamplingWarning
from tests.densities.chains import KINDS, NUMBERS, chains
from tests.densities.test_unconstrained import FEW

FROZEN = json.loads(Path(__file__).with_name("arviz.json").read_text())["found"]


def test_diagnostics_are_those_of_arviz() -> None:
    for numbers in NUMBERS:
        for kind in KINDS:
            x, expected = chains(numbers, kind), FROZEN[f"{numbers}, {kind}"]
            found, few = [rhat(x), bulk_ess(x), tail_ess(x)], numbers[1] < 10
            expected = [expected[0], np.nan, np.nan] if few else expected
            np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=f"{numbers}, {kind}")


def test_draws_too_few_for_autocorrelations_have_no_effective_size() -> None:
    # ArviZ gives N log10(N) here, which exceeds the number of draws
    x = np.random.default_rng(0).normal(size=(4, 10))
    for count in range(4, 10):
        assert np.isnan([bulk_ess(x[:, :count]), tail_ess(x[:, :count])]).all()
    assert bulk_ess(x) > 0


@pytest.mark.slow
@FEW
def test_elements_that_never_change_have_no_r_hat() -> None:
    d = fd.density(lambda p: -np.sum(p["L"] ** 2), {"L": np.eye(2)}, {"L": "cholesky"})
    draws = d.sample(100, rng=0, warmup=100)
    assert np.isnan(draws.rhat["L"][0, 1])
    assert draws.bulk_ess["L"][0, 1] == 400
    assert draws.rhat["L"].shape == draws.tail_ess["L"].shape == (2, 2)


def two_modes(x: Any) -> Any:
    return np.logaddexp(-0.5 * (x - 20) ** 2, -0.5 * (x + 20) ** 2)


def funnel(p: Any) -> Any:
    scale = np.exp(p["log_scale"])
    return -0.5 * (p["log_scale"] / 3) ** 2 - 0.5 * (p["x"] / scale) ** 2 - p["log_scale"]


def test_chains_that_do_not_meet_are_told_with_their_parameter() -> None:
    d = fd.density(lambda p: two_modes(p["a"]) - p["b"] ** 2, {"a": 0.0, "b": 0.0})
    with pytest.warns(SamplingWarning, match=r"R-hat is 1.[1-9].*params\['a'\]") as told:
        draws = d.sample(100, rng=2, warmup=100, chains=4)
    assert draws.rhat["a"] > 1.1 > draws.rhat["b"]
    assert told[0].filename == __file__


@pytest.mark.slow
def test_draws_that_diverge_are_told() -> None:
    with pytest.warns(SamplingWarning, match="of 400 draws diverged.*Raise target"):
        fd.density(funnel, {"log_scale": 0.0, "x": 0.0}).sample(100, rng=0, warmup=100)
