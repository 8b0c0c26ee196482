"""The logarithm of a sum of exponentials, with the largest one taken out."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def log_sum_exp(np_: Any, x: Any) -> Any:
    """Return log(sum(exp(x))) without overflow; works in each library but PyTorch."""
    largest = np_.max(x)
    return largest + np_.log(np_.sum(np_.exp(x - largest)))


def softmax(x: Any) -> Any:
    """Return the gradient."""
    e = np.exp(x - x.max())
    return e / e.sum()


def value(x: Any) -> Any:
    """Return the value by adding two exponentials at a time."""
    return np.logaddexp.reduce(x)


def summed(n: int) -> Workload:
    """Return the workload of n numbers."""
    return Workload(
        name=f"lse, n = {n}",
        arguments=lambda rng: (rng.uniform(size=n),),
        function=log_sum_exp,
        by_hand=softmax,
    )


WORKLOADS = (summed(2_500), summed(640_000))
TINY = (summed(7),)
