"""The log-likelihood of a Gaussian mixture with full precision matrices.

The precision of each component is QᵀQ with a lower triangular Q whose diagonal is an exponential,
as in F. Srajer, Z. Kukelova, A. Fitzgibbon, "A benchmark of selected algorithmic differentiation
tools on some problems in computer vision and machine learning", arXiv:1807.10129, 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def logsumexp(np_: Any, x: Any, axis: int) -> Any:
    """Return ln Σ exp(x) along an axis."""
    largest = np_.max(x, axis=axis, keepdims=True)
    return np_.sum(largest, axis=axis) + np_.log(np_.sum(np_.exp(x - largest), axis=axis))


def log_likelihood(np_: Any, parameters: Any, points: Any) -> Any:
    """Return the log-likelihood of (n, d) points, up to a constant.

    The parameters are log-weights (K,), means (K, d), the logarithms of the diagonals of Q (K, d),
    and matrices (K, d, d) whose strictly lower triangles are the rest of Q.
    """
    alphas, means, log_diagonals, lower = parameters
    eye = np_.eye(points.shape[1])
    Q = np_.tril(lower, -1) + np_.exp(log_diagonals)[:, :, None] * eye
    z = (points - means[:, None, :]) @ np_.swapaxes(Q, 1, 2)
    heights = alphas + np_.sum(log_diagonals, axis=1)
    exponents = heights[:, None] - 0.5 * np_.sum(z * z, axis=2)
    return np_.sum(logsumexp(np_, exponents, 0)) - len(points) * logsumexp(np_, alphas, 0)


def in_jax(jax: Any, parameters: Any, points: Any) -> Any:
    """Return the same in JAX."""
    jnp = jax.numpy
    alphas, means, log_diagonals, lower = parameters
    eye = jnp.eye(points.shape[1])
    Q = jnp.tril(lower, -1) + jnp.exp(log_diagonals)[:, :, None] * eye
    z = (points - means[:, None, :]) @ jnp.swapaxes(Q, 1, 2)
    heights = alphas + jnp.sum(log_diagonals, axis=1)
    exponents = heights[:, None] - 0.5 * jnp.sum(z * z, axis=2)
    likelihoods = jax.scipy.special.logsumexp(exponents, axis=0)
    return jnp.sum(likelihoods) - len(points) * jax.scipy.special.logsumexp(alphas)


def in_torch(torch: Any, parameters: Any, points: Any) -> Any:
    """Return the same in PyTorch."""
    alphas, means, log_diagonals, lower = parameters
    Q = torch.tril(lower, -1) + torch.diag_embed(torch.exp(log_diagonals))
    z = (points - means[:, None, :]) @ Q.mT
    heights = alphas + torch.sum(log_diagonals, dim=1)
    exponents = heights[:, None] - 0.5 * torch.sum(z * z, dim=2)
    likelihoods = torch.logsumexp(exponents, dim=0)
    return torch.sum(likelihoods) - len(points) * torch.logsumexp(alphas, dim=0)


def gradient(parameters: Any, points: Any) -> Any:
    """Return the gradient in the parameters.

    All z = Q (x - μ) are one product of matrices, Q x - Q μ, and so are all gradients in Q.
    """
    alphas, means, log_diagonals, lower = parameters
    (n, d), K = points.shape, len(alphas)
    diagonals = np.exp(log_diagonals)
    Q = np.tril(lower, -1)
    np.einsum("kdd->kd", Q)[:] = diagonals
    z = points @ Q.reshape(K * d, d).T
    z -= (Q @ means[:, :, None]).ravel()
    of_components = z.reshape(n, K, d)
    shares = np.einsum("nkd,nkd->nk", of_components, of_components)
    shares *= -0.5
    shares += alphas + log_diagonals.sum(axis=1)
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    totals = shares.sum(axis=0)
    weights = np.exp(alphas - alphas.max())
    weights /= weights.sum()
    of_components *= shares[:, :, None]
    sums = (np.ones(n) @ z).reshape(K, d)
    g_Q = sums[:, :, None] * means[:, None, :]
    g_Q -= (z.T @ points).reshape(K, d, d)
    g_means = (sums[:, None, :] @ Q)[:, 0]
    g_log_diagonals = np.einsum("kdd->kd", g_Q) * diagonals + totals[:, None]
    return totals - n * weights, g_means, g_log_diagonals, np.tril(g_Q, -1)


def mixture(d: int, K: int, n: int) -> Workload:
    """Return the workload for n points in d dimensions and K components."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        parameters = (
            rng.normal(size=K),
            rng.normal(size=(K, d)),
            rng.normal(size=(K, d)) * 0.1,
            rng.normal(size=(K, d, d)) * 0.1,
        )
        return parameters, rng.normal(size=(n, d))

    return Workload(
        name=f"Gaussian mixture, d = {d}, K = {K}, n = {n}",
        arguments=arguments,
        function=log_likelihood,
        by_hand=gradient,
        in_jax=in_jax,
        in_torch=in_torch,
    )


SIZES = ((2, 5), (10, 10), (20, 25), (32, 50), (64, 100), (128, 200))

WORKLOADS = tuple(mixture(d, K, 1000) for d, K in SIZES)
TINY = (mixture(3, 2, 4),)
