"""The marginal likelihood of a Gaussian process in the parameters of its kernel.

C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006, equations 2.30
and 5.9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from docs.benchmarks.workloads.workload import Workload


def nll(np_: Any, log_parameters: Any, points: Any, y: Any) -> Any:
    """Return the negative log-likelihood of n values at (n, d) points, up to a constant.

    The parameters are logarithms: of d lengths, of an amplitude, and of the noise.
    """
    scaled = points / np_.exp(log_parameters[:-2])
    squares = np_.sum(scaled * scaled, axis=1)
    distances = squares[:, None] + squares - 2.0 * (scaled @ scaled.T)
    kernel = np_.exp(2.0 * log_parameters[-2] - 0.5 * distances)
    L = np_.linalg.cholesky(kernel + np_.exp(2.0 * log_parameters[-1]) * np_.eye(len(y)))
    z = np_.linalg.solve(L, y)
    return 0.5 * (z @ z) + np_.sum(np_.log(np_.diag(L)))


def in_jax(jax: Any, log_parameters: Any, points: Any, y: Any) -> Any:
    """Return the same in JAX, with its triangular solver."""
    jnp = jax.numpy
    scaled = points / jnp.exp(log_parameters[:-2])
    squares = jnp.sum(scaled * scaled, axis=1)
    distances = squares[:, None] + squares - 2.0 * (scaled @ scaled.T)
    kernel = jnp.exp(2.0 * log_parameters[-2] - 0.5 * distances)
    L = jnp.linalg.cholesky(kernel + jnp.exp(2.0 * log_parameters[-1]) * jnp.eye(len(y)))
    z = jax.scipy.linalg.solve_triangular(L, y, lower=True)
    return 0.5 * (z @ z) + jnp.sum(jnp.log(jnp.diag(L)))


def in_torch(torch: Any, log_parameters: Any, points: Any, y: Any) -> Any:
    """Return the same in PyTorch, with its triangular solver."""
    scaled = points / torch.exp(log_parameters[:-2])
    squares = torch.sum(scaled * scaled, dim=1)
    distances = squares[:, None] + squares - 2.0 * (scaled @ scaled.T)
    kernel = torch.exp(2.0 * log_parameters[-2] - 0.5 * distances)
    noise = torch.exp(2.0 * log_parameters[-1]) * torch.eye(len(y), dtype=y.dtype)
    L = torch.linalg.cholesky(kernel + noise)
    z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
    return 0.5 * torch.sum(z * z) + torch.sum(torch.log(torch.diag(L)))


def gradient(log_parameters: Any, points: Any, y: Any) -> Any:
    """Return tr((K⁻¹ - ααᵀ) ∂K) / 2 with α = K⁻¹y, whose inverse LAPACK makes of the factor."""
    scaled = points / np.exp(log_parameters[:-2])
    halves = 0.5 * np.einsum("nd,nd->n", scaled, scaled)
    kernel = scaled @ scaled.T
    kernel -= (halves - 2.0 * log_parameters[-2])[:, None]
    kernel -= halves
    np.exp(kernel, out=kernel)
    noise, diagonal = np.exp(2.0 * log_parameters[-1]), slice(None, None, len(y) + 1)
    noisy = kernel.copy()
    noisy.ravel()[diagonal] += noise
    factor, _ = lapack.dpotrf(noisy.T, lower=1, overwrite_a=1, clean=0)
    alpha, _ = lapack.dpotrs(factor, y, lower=1)
    inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0].T  # its upper triangle
    trace = np.trace(inverse) - alpha @ alpha
    weighted = np.triu(inverse, 1)
    weighted += weighted.T
    weighted.ravel()[diagonal] = inverse.diagonal()
    weighted -= alpha[:, None] * alpha
    weighted *= kernel
    rows = weighted.sum(axis=1)
    g_lengths = rows @ (scaled * scaled) - np.einsum("nd,nd->d", scaled, weighted @ scaled)
    return np.append(g_lengths, [rows.sum(), noise * trace])


def process(n: int, d: int = 3) -> Workload:
    """Return the workload for n values."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        points = rng.normal(size=(n, d))
        return rng.normal(size=d + 2) * 0.1, points, np.sin(points.sum(axis=1))

    return Workload(
        name=f"Gaussian process, n = {n}",
        arguments=arguments,
        function=nll,
        by_hand=gradient,
        in_jax=in_jax,
        in_torch=in_torch,
    )


WORKLOADS = (process(200), process(600))
TINY = (process(5),)
