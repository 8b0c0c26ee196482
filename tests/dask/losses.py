"""Losses of blocks of examples, and data for them."""

from __future__ import annotations

from typing import Any

import numpy as np

rng = np.random.default_rng(3)
X = rng.normal(size=(103, 4))
Y = np.sign(rng.normal(size=103))
PARAMS = {"weights": rng.normal(size=4), "bias": 0.25}
VECTOR = {"weights": rng.normal(size=4), "bias": -1.5}


def scores(p: Any, X: Any) -> Any:
    return X @ p["weights"] + p["bias"]


def losses(p: Any, X: Any, y: Any) -> Any:
    return np.logaddexp(0.0, -y * scores(p, X))


def total(p: Any, X: Any, y: Any) -> Any:
    return np.sum(losses(p, X, y))


def mean(p: Any, X: Any, y: Any) -> Any:
    return np.mean(losses(p, X, y))


def not_definite(p: Any, X: Any, y: Any) -> Any:
    shifted = np.eye(2) * (p["bias"] - np.max(X))
    return np.sum(np.linalg.cholesky(shifted)) * np.sum(y)


def squares(p: Any, X: Any) -> Any:
    return np.sum(scores(p, X) ** 2)
