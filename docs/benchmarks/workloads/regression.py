"""Logistic regression on a tall matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def loss(np_: Any, w: Any, X: Any, signs: Any) -> Any:
    """Return the mean of ln(1 + exp(-s x·w)) over rows x and signs s, with a penalty."""
    return np_.mean(np_.logaddexp(0.0, -signs * (X @ w))) + 0.05 * (w @ w)


def in_torch(torch: Any, w: Any, X: Any, signs: Any) -> Any:
    """Return the same in PyTorch."""
    return torch.mean(torch.nn.functional.softplus(-signs * (X @ w))) + 0.05 * (w @ w)


def gradient(w: Any, X: Any, signs: Any) -> Any:
    """Return the gradient in w."""
    slopes = X @ w
    slopes *= signs
    np.exp(slopes, out=slopes)
    slopes += 1.0
    np.divide(signs, slopes, out=slopes)
    g = slopes @ X
    g *= -1.0 / len(X)
    g += 0.1 * w
    return g


def regression(n: int, d: int) -> Workload:
    """Return the workload of n rows of d numbers."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.normal(size=d), rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)

    return Workload(
        name=f"logistic regression, {n} x {d}",
        arguments=arguments,
        function=loss,
        by_hand=gradient,
        in_torch=in_torch,
    )


SIZES = ((100, 5), (1000, 10), (10_000, 100), (1_000_000, 20))

WORKLOADS = tuple(regression(n, d) for n, d in SIZES)
TINY = (regression(5, 3),)
