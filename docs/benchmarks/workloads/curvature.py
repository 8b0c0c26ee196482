"""The Hessian of the last layer of a classifier, as for a Laplace approximation.

The negative log-likelihood of multinomial logistic regression, whose Hessian is equation 4.110 of
C. Bishop, "Pattern Recognition and Machine Learning", Springer 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def cross_entropy(np_: Any, weights: Any, features: Any, targets: Any) -> Any:
    """Return the mean cross-entropy of (n, d) features by (d, classes) weights."""
    scores = features @ weights
    largest = np_.max(scores, axis=1, keepdims=True)
    normalisers = np_.log(np_.sum(np_.exp(scores - largest), axis=1)) + largest[:, 0]
    return np_.mean(normalisers - np_.sum(targets * scores, axis=1))


def in_jax(jax: Any, weights: Any, features: Any, targets: Any) -> Any:
    """Return the same in JAX."""
    scores = jax.nn.log_softmax(features @ weights)
    return -jax.numpy.mean(jax.numpy.sum(targets * scores, axis=1))


def in_torch(torch: Any, weights: Any, features: Any, targets: Any) -> Any:
    """Return the same in PyTorch."""
    scores = torch.log_softmax(features @ weights, dim=1)
    return -torch.mean(torch.sum(targets * scores, dim=1))


def hessian(weights: Any, features: Any, targets: Any) -> Any:
    """Return Σ x xᵀ ⊗ (diag p - p pᵀ) / n: one product for all classes, and one for each."""
    (n, d), classes = features.shape, weights.shape[1]
    shares = features @ weights
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    scaled = (features[:, :, None] * shares[:, None, :]).reshape(n, d * classes)
    H = scaled.T @ scaled
    H *= -1.0 / n
    blocks = H.reshape(d, classes, d, classes)
    diagonal = (features.T @ scaled).reshape(d, d, classes)
    diagonal *= 1.0 / n
    for k in range(classes):
        blocks[:, k, :, k] += diagonal[:, :, k]
    return blocks


def last_layer(n: int, d: int, classes: int) -> Workload:
    """Return the workload of n examples."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        targets = np.eye(classes)[rng.integers(0, classes, n)]
        return rng.normal(size=(d, classes)) / np.sqrt(d), rng.normal(size=(n, d)), targets

    return Workload(
        name=f"Hessian of a last layer, {d * classes} x {d * classes}",
        derivative="hessian",
        arguments=arguments,
        function=cross_entropy,
        by_hand=hessian,
        in_jax=in_jax,
        in_torch=in_torch,
    )


WORKLOADS = (last_layer(1000, 32, 10),)
TINY = (last_layer(5, 3, 2),)
