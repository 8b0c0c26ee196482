"""Logistic regression on a tall matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.workloads.workload import Workload


def loss(np_: Any, w: Any, X: Any, signs: Any) -> Any:
    """Return the mean of ln(1 + exp(-s x·w)) over rows x and signs s, with a penalty."""
    return np_.mean(np_.logaddexp(0.0, -signs * (X @ w))) + 0.05 * (w @ w)


def in_torch(torch: Any, w: Any, X: Any, signs: Any) -> Any:
    """Return the same in PyTorch."""
    return torch.mean(torch.nn.functional.softplus(-signs * (X @ w))) + 0.05 * (w @ w)


def gradient(w: Any, X: Any, signs: Any) -> Any:
    """Return the gradient in w."""
    slopes = -signs / (1.0 + np.exp(signs * (X @ w)))
    return slopes @ X / len(X) + 0.1 * w


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


WORKLOADS = (regression(1_000_000, 20),)
TINY = (regression(5, 3),)
