"""Posteriors of posteriordb, written in NumPy: data, densities and what is known of them.

Means, means of squares and their Monte Carlo errors are those that posteriordb publishes of its
reference draws. ``posteriors.json`` holds them and the data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

_FROZEN = json.loads(Path(__file__).with_name("posteriors.json").read_text())
REFERENCES: Final[dict[str, dict[str, list[float]]]] = _FROZEN["references"]


def _data(name: str, key: str | None = None) -> Any:
    found = _FROZEN["data"][name]
    return np.array(found if key is None else found[key], dtype=float)


class Posterior(NamedTuple):
    """A log-density of a container, and the published quantities ``(..., k)`` of its draws."""

    logp: Callable[[Any], Any]
    start: Any
    bounds: Any
    quantities: Callable[[Any], Any]


def _normal(x: Any, mean: Any, deviation: Any) -> Any:
    """Return the log-density of normal variables, added up, but for a constant."""
    z = (x - mean) / deviation
    return -0.5 * np.sum(z**2) - np.sum(np.log(deviation) + 0.0 * z)


def _beside(*parts: Any) -> Any:
    """Return draws of numbers and vectors as those of one vector."""
    return np.concatenate([x if x.ndim == 3 else x[..., None] for x in parts], axis=-1)


def _eight_schools() -> Posterior:
    y, errors = _data("eight_schools", "effects"), _data("eight_schools", "errors")

    def logp(p: Any) -> Any:
        prior = _normal(p["eta"], 0.0, 1.0) + _normal(p["mu"], 0.0, 5.0)
        theta = p["mu"] + p["tau"] * p["eta"]
        return prior - np.log1p((p["tau"] / 5) ** 2) + _normal(y, theta, errors)

    def quantities(p: Any) -> Any:
        theta = p["mu"][..., None] + p["tau"][..., None] * p["eta"]
        return _beside(theta, p["mu"], p["tau"])

    start = {"eta": np.zeros(8), "mu": 0.0, "tau": 1.0}
    return Posterior(logp, start, {"tau": (0, None)}, quantities)


def _ar() -> Posterior:
    y = _data("ar")
    past = np.stack([y[4 - k : -1 - k] for k in range(5)], axis=1)

    def logp(p: Any) -> Any:
        prior = _normal(p["alpha"], 0.0, 10.0) + _normal(p["beta"], 0.0, 10.0)
        prior = prior - np.log1p((p["sigma"] / 2.5) ** 2)
        return prior + _normal(y[5:], p["alpha"] + past @ p["beta"], p["sigma"])

    start = {"alpha": 0.0, "beta": np.zeros(5), "sigma": 1.0}
    return Posterior(
        logp, start, {"sigma": (0, None)}, lambda p: _beside(p["alpha"], p["beta"], p["sigma"])
    )


def _garch() -> Posterior:
    y = _data("garch")

    def logp(p: Any) -> Any:
        squares = (y - p["mu"]) ** 2
        variance, found = 0.25, 0.0
        for t in range(len(y)):
            if t > 0:
                variance = p["alpha0"] + p["w"][0] * squares[t - 1] + p["w"][1] * variance
            found = found - 0.5 * squares[t] / variance - 0.5 * np.log(variance)
        return found

    start = {"mu": 5.0, "alpha0": 1.0, "w": np.full(3, 1 / 3)}  # alpha1, beta1 and the rest to 1
    return Posterior(
        logp,
        start,
        {"alpha0": (0, None), "w": "simplex"},
        lambda p: _beside(p["mu"], p["alpha0"], p["w"][..., :2]),
    )


def _covariance(rho: Any, alpha: Any, noise: Any) -> Any:
    x = np.arange(-10.0, 11.0, 2.0)
    distances = x[:, None] - x
    return alpha**2 * np.exp(-0.5 * (distances / rho) ** 2) + noise * np.eye(11)


def _gp_prior(p: Any) -> Any:
    return 24 * np.log(p["rho"]) - 4 * p["rho"] + _normal(p["alpha"], 0.0, 2.0)


def _gp_normal() -> Posterior:
    y = _data("gp", "y")

    def logp(p: Any) -> Any:
        covariance = _covariance(p["rho"], p["alpha"], p["sigma"])
        likelihood = -0.5 * y @ np.linalg.solve(covariance, y)
        likelihood = likelihood - 0.5 * np.linalg.slogdet(covariance)[1]
        return _gp_prior(p) + _normal(p["sigma"], 0.0, 1.0) + likelihood

    names = ("rho", "alpha", "sigma")
    return Posterior(
        logp,
        {"rho": 6.0, "alpha": 1.0, "sigma": 1.0},
        dict.fromkeys(names, (0, None)),
        lambda p: _beside(*(p[name] for name in names)),
    )


def _gp_poisson() -> Posterior:
    k = _data("gp", "k")

    def logp(p: Any) -> Any:
        f = np.linalg.cholesky(_covariance(p["rho"], p["alpha"], 1e-10)) @ p["z"]
        return _gp_prior(p) + _normal(p["z"], 0.0, 1.0) + np.sum(k * f - np.exp(f))

    def quantities(p: Any) -> Any:
        rows = zip(p["rho"].ravel(), p["alpha"].ravel(), p["z"].reshape(-1, 11), strict=True)
        f = [np.linalg.cholesky(_covariance(rho, alpha, 1e-10)) @ z for rho, alpha, z in rows]
        return _beside(p["rho"], p["alpha"], np.reshape(f, p["z"].shape))

    start = {"rho": 6.0, "alpha": 1.0, "z": np.zeros(11)}
    return Posterior(logp, start, {"rho": (0, None), "alpha": (0, None)}, quantities)


def _kilpisjarvi() -> Posterior:
    y, x = _data("kilpisjarvi"), np.arange(3952.0, 4014.0)
    middle = x.mean()  # the height there depends less on the slope than the one at 0

    def logp(p: Any) -> Any:
        alpha = p["height"] - p["beta"] * middle
        prior = _normal(alpha, 9.31290322580645, 100.0) + _normal(p["beta"], 0.0, 1 / 30)
        return prior + _normal(y, alpha + p["beta"] * x, p["sigma"])

    return Posterior(
        logp,
        {"height": 9.0, "beta": 0.0, "sigma": 1.0},
        {"sigma": (0, None)},
        lambda p: _beside(p["height"] - p["beta"] * middle, p["beta"], p["sigma"]),
    )


def _mesquite(kind: str) -> Posterior:
    names = ("diam1", "diam2", "canopy_height", "total_height", "density", "group", "weight")
    first, second, height, total, density, group, weight = (_data("mesquite", n) for n in names)
    area = np.log(first * second)
    columns = [np.ones(46), area + np.log(height)]
    if kind != "volume":
        columns.append(area)
    if kind == "vas":
        columns += [np.log(first / second), np.log(total), np.log(density)]
    if kind != "volume":
        columns.append(group)
    design, y = np.stack(columns, axis=1), np.log(weight)

    def logp(p: Any) -> Any:
        return _normal(y, design @ p["beta"], p["sigma"])

    start = {"beta": np.zeros(len(columns)), "sigma": 1.0}
    return Posterior(logp, start, {"sigma": (0, None)}, lambda p: _beside(p["beta"], p["sigma"]))


def _dogs() -> Posterior:
    y = np.array([[float(c) for c in row] for row in _FROZEN["data"]["dogs"]])
    shocks = np.cumsum(y, axis=1) - y
    avoided = np.arange(25.0) - shocks

    def logp(p: Any) -> Any:
        logits = p["beta"][0] + p["beta"][1] * avoided + p["beta"][2] * shocks
        return _normal(p["beta"], 0.0, 100.0) + np.sum(y * logits - np.logaddexp(0.0, logits))

    return Posterior(logp, {"beta": np.zeros(3)}, None, lambda p: p["beta"])


def _hmm() -> Posterior:
    y = _data("hmm")

    def logp(p: Any) -> Any:
        mu = np.cumsum(p["steps"])  # positive and increasing
        seen = -0.5 * (y[:, None] - mu) ** 2
        changes = np.log(np.stack([p["first"], p["second"]]))
        state = seen[0]
        for t in range(1, len(y)):
            both = state[:, None] + changes
            state = np.logaddexp(both[0], both[1]) + seen[t]
        prior = _normal(mu, np.array([3.0, 10.0]), 1.0)
        return prior + np.logaddexp(state[0], state[1])

    start = {"first": np.full(2, 0.5), "second": np.full(2, 0.5), "steps": np.array([3.0, 6.0])}
    bounds = {"first": "simplex", "second": "simplex", "steps": (0, None)}
    return Posterior(
        logp,
        start,
        bounds,
        lambda p: _beside(p["first"], p["second"], np.cumsum(p["steps"], axis=-1)),
    )


POSTERIORS: Final[dict[str, Posterior]] = {
    "eight_schools": _eight_schools(),
    "ar": _ar(),
    "garch": _garch(),
    "gp_normal": _gp_normal(),
    "gp_poisson": _gp_poisson(),
    "kilpisjarvi": _kilpisjarvi(),
    "mesquite_volume": _mesquite("volume"),
    "mesquite_va": _mesquite("va"),
    "mesquite_vas": _mesquite("vas"),
    "dogs": _dogs(),
    "hmm": _hmm(),
}
