"""Gradients of densities beside PyMC's: ``python -m pytest -n 0 -s tests/densities/in_pymc.py``.

It prints CPU times of one call, in turns in one process, with PyMC's Numba mode and both engines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import funcdiff as fd

pytestmark = pytest.mark.filterwarnings("ignore")  # of these packages

RANDOM: Final = np.random.default_rng(0)
EFFECTS: Final = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS: Final = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
X: Final = RANDOM.normal(size=(1000, 10))
FLAGS: Final = 1.0 * (RANDOM.random(1000) < 1 / (1 + np.exp(-X @ RANDOM.normal(size=10))))
GROUPS: Final = RANDOM.integers(0, 50, 1000)
Y: Final = RANDOM.normal(size=50)[GROUPS] + 0.5 * X[:, 0] + RANDOM.normal(size=1000)
TIMES: Final = np.linspace(0, 5, 50)
WAVE: Final = np.sin(TIMES) + 0.1 * RANDOM.normal(size=50)
SQUARES: Final = (TIMES[:, None] - TIMES) ** 2


def schools(p: Any) -> Any:
    prior = -0.5 * (p["mu"] / 5) ** 2 - np.log1p((p["tau"] / 5) ** 2) - 0.5 * np.sum(p["eta"] ** 2)
    return prior - 0.5 * np.sum(((EFFECTS - p["mu"] - p["tau"] * p["eta"]) / ERRORS) ** 2)


def schools_in_pymc() -> None:
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
    eta = pm.Normal("eta", 0, 1, shape=8)
    pm.Normal("y", mu + tau * eta, ERRORS, observed=EFFECTS)


def logistic(p: Any) -> Any:
    odds = X @ p["b"]
    return -0.5 * np.sum(p["b"] ** 2) + np.sum(FLAGS * odds - np.logaddexp(0.0, odds))


def logistic_in_pymc() -> None:
    b = pm.Normal("b", 0, 1, shape=10)
    pm.Bernoulli("y", logit_p=pt.dot(X, b), observed=FLAGS.astype(int))


def hierarchy(p: Any) -> Any:
    r = (Y - (p["mu"] + p["tau"] * p["a"][GROUPS] + p["b"] * X[:, 0])) / p["sigma"]
    prior = p["mu"] ** 2 + p["b"] ** 2 + p["tau"] ** 2 + p["sigma"] ** 2 + np.sum(p["a"] ** 2)
    return -0.5 * prior - 0.5 * np.sum(r**2) - len(Y) * np.log(p["sigma"])


def hierarchy_in_pymc() -> None:
    mu, tau, sigma = pm.Normal("mu", 0, 1), pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
    a, b = pm.Normal("a", 0, 1, shape=50), pm.Normal("b", 0, 1)
    pm.Normal("y", mu + tau * a[GROUPS] + b * X[:, 0], sigma, observed=Y)


def process(p: Any) -> Any:
    K = p["s"] ** 2 * np.exp(-0.5 * SQUARES / p["l"] ** 2) + (p["n"] ** 2 + 1e-6) * np.eye(50)
    L = np.linalg.cholesky(K)
    z = fd.scipy.linalg.solve_triangular(L, WAVE, lower=True)
    prior = -0.5 * (p["l"] ** 2 + p["s"] ** 2 + p["n"] ** 2)
    return prior - 0.5 * z @ z - np.sum(np.log(np.diagonal(L)))


def process_in_pymc() -> None:
    length, s, n = (pm.HalfNormal(name, 1) for name in ("l", "s", "n"))
    K = s**2 * pt.exp(-0.5 * SQUARES / length**2) + (n**2 + 1e-6) * pt.eye(50)
    pm.MvNormal("y", mu=np.zeros(50), cov=K, observed=WAVE)


def seconds(functions: Sequence[Callable[[], Any]]) -> list[float]:
    """Return the least CPU time of a call of each, in turns."""
    counts, best = [], [np.inf] * len(functions)
    for function in functions:
        for _ in range(9):  # compiled by then
            function()
        start, count = time.process_time(), 0
        while time.process_time() < start + 0.02:
            function()
            count += 1
        counts.append(count)
    for _ in range(15):
        for k, (function, count) in enumerate(zip(functions, counts, strict=True)):
            start = time.process_time()
            for _ in range(count):
                function()
            best[k] = min(best[k], (time.process_time() - start) / count)
    return best


@pytest.mark.parametrize(
    ("logp", "theirs", "params", "positive"),
    [
        (schools, schools_in_pymc, {"mu": 0.0, "tau": 1.0, "eta": np.zeros(8)}, ["tau"]),
        (logistic, logistic_in_pymc, {"b": np.zeros(10)}, []),
        (hierarchy, hierarchy_in_pymc,
         {"mu": 0.0, "tau": 1.0, "sigma": 1.0, "a": np.zeros(50), "b": 0.0}, ["tau", "sigma"]),
        (process, process_in_pymc, {"l": 1.0, "s": 1.0, "n": 0.2}, ["l", "s", "n"]),
    ],
)  # fmt: skip
def test_gradients_are_those_of_pymc_and_take_as_long(
    logp: Any, theirs: Any, params: Any, positive: list[str]
) -> None:
    with pm.Model() as model:
        theirs()
    compiled = model.logp_dlogp_function(ravel_inputs=True, mode="NUMBA")
    compiled.set_extra_values({})
    function = compiled._pytensor_function  # without its checks of arguments
    function.trust_input = True
    bounds = dict.fromkeys(positive, (0, None))
    engines: Any = ("numpy", "llvm", None)
    ours = [fd.density(logp, params, bounds, engine=engine) for engine in engines]
    z = ours[0].start + np.linspace(-0.3, 0.3, ours[0].size)
    for d in ours:
        np.testing.assert_allclose(d.value_and_grad(z)[1], function(z)[1], rtol=1e-8, atol=1e-10)
    own, *found = seconds([lambda: function(z), *(lambda d=d: d.value_and_grad(z) for d in ours)])
    ratios = [t / own for t in found]
    said = ", ".join(f"{engine}: {x:.2f}" for engine, x in zip(engines, ratios, strict=True))
    print(f"{logp.__name__}: PyMC {1e6 * own:.1f} µs; {said}")
    assert found[-1] < 1.5 * own  # what is chosen where llvmlite is installed
