"""The logarithm of the posterior of a Gaussian mixture with Wishart's prior."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from docs.benchmarks.workloads.workload import Workload

GAMMA: Final = 1.0
"""Of the prior, its precision."""
EXTRA: Final = 0
"""Of the prior, its degrees of freedom beyond the least."""


def places(d: int) -> tuple[Any, Any]:
    """Return rows and columns of the elements below the diagonal, column by column."""
    columns, rows = np.triu_indices(d, 1)
    return rows, columns


def positions(d: int) -> Any:
    """Return where the elements of a strict triangle stand, after a zero for all the others."""
    at = np.zeros((d, d), dtype=np.int64)
    at[places(d)] = np.arange(1, d * (d - 1) // 2 + 1)
    return at


def log_sum_exp(np_: Any, x: Any) -> Any:
    """Return log(sum(exp(x))) over the last axis."""
    largest = np_.amax(x, -1)
    return largest + np_.log(np_.sum(np_.exp(x - largest[..., None]), -1))


def constant(n: int, d: int, k: int) -> float:
    """Return what depends on no parameter."""
    freedom = d + EXTRA + 1
    gammas = sum(math.lgamma(0.5 * (freedom - j)) for j in range(d))
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + gammas
    prior = freedom * d * (math.log(GAMMA) - 0.5 * math.log(2.0)) - log_gamma
    return k * prior - 0.5 * n * d * math.log(2.0 * math.pi)


def posterior(np_: Any, parameters: Any, x: Any) -> Any:
    """Return the value for (n, d) points; works in each library.

    The parameters are weights alpha (k,), means mu (k, d), and of triangular roots of precisions
    the logarithms q (k, d) of their diagonals and the elements l (k, d (d - 1) / 2) below them.
    """
    alpha, mu, q, lower = (parameters[name] for name in ("alpha", "mu", "q", "l"))
    (n, d), k = x.shape, len(alpha)
    below = np_.concatenate((np_.zeros_like(alpha)[:, None], lower), 1)[:, positions(d)]
    centred = x[:, None] - mu
    z = np_.exp(q) * centred + np_.einsum("kij,nkj->nki", below, centred)
    sums = np_.sum(q, 1)
    terms = alpha + sums - 0.5 * np_.sum(z * z, -1)
    likelihood = np_.sum(log_sum_exp(np_, terms)) - n * log_sum_exp(np_, alpha)
    squares = np_.sum(np_.exp(q) ** 2) + np_.sum(lower**2)
    prior = EXTRA * np_.sum(sums) - 0.5 * GAMMA**2 * squares
    return likelihood + prior + constant(n, d, k)


def gradient(parameters: Any, x: Any) -> Any:
    """Return the gradient: shares of the points in the components weight everything."""
    alpha, mu, q, lower = (parameters[name] for name in ("alpha", "mu", "q", "l"))
    n, d = x.shape
    rows, columns = places(d)
    root = np.zeros((len(alpha), d, d))
    root[:, range(d), range(d)] = np.exp(q)
    root[:, rows, columns] = lower
    centred = x[:, None] - mu
    z = np.einsum("kij,nkj->nki", root, centred)
    terms = alpha + q.sum(1) - 0.5 * (z * z).sum(-1)
    shares = np.exp(terms - terms.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    weighted = shares[..., None] * z
    of_root = -np.einsum("nki,nkj->kij", weighted, centred)
    weights = np.exp(alpha - alpha.max())
    diagonal = of_root[:, range(d), range(d)] - GAMMA**2 * np.exp(q)
    return {
        "alpha": shares.sum(0) - n * weights / weights.sum(),
        "mu": np.einsum("kij,nki->kj", root, weighted),
        "q": shares.sum(0)[:, None] + EXTRA + np.exp(q) * diagonal,
        "l": of_root[:, rows, columns] - GAMMA**2 * lower,
    }


def value(parameters: Any, x: Any) -> Any:
    """Return the value by densities of the normal and of Wishart's distribution, as defined."""
    alpha, mu, q, lower = (parameters[name] for name in ("alpha", "mu", "q", "l"))
    d, freedom = x.shape[1], x.shape[1] + EXTRA + 1
    weights = np.exp(alpha) / np.exp(alpha).sum()
    density, prior = np.zeros(len(x)), 1.0
    of_gamma = math.pi ** (d * (d - 1) / 4) * math.prod(
        math.gamma((freedom - j) / 2) for j in range(d)
    )
    for k in range(len(alpha)):
        root = np.diag(np.exp(q[k]))
        root[places(d)] = lower[k]
        precision, centred = root.T @ root, x - mu[k]
        det, forms = np.linalg.det(precision), np.sum((centred @ precision) * centred, axis=1)
        density += weights[k] * np.exp(-forms / 2) * math.sqrt(det / (2 * math.pi) ** d)
        trace = GAMMA**2 * np.trace(precision)
        prior *= det ** (EXTRA / 2) * math.exp(-trace / 2) * GAMMA ** (d * freedom)
        prior /= 2 ** (d * freedom / 2) * of_gamma
    return np.sum(np.log(density)) + math.log(prior)


def mixture(d: int, k: int, n: int = 1000) -> Workload:
    """Return the workload of k components for n points of d numbers."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        x, mu = rng.normal(size=(n, d)), rng.uniform(size=(k, d))
        q, lower = rng.normal(size=(k, d)), rng.normal(size=(k, d * (d - 1) // 2))
        return {"alpha": rng.normal(size=k), "mu": mu, "q": q, "l": lower}, x

    return Workload(
        name=f"gmm, d = {d}, k = {k}", arguments=arguments, function=posterior, by_hand=gradient
    )


WORKLOADS = (mixture(2, 5), mixture(10, 25), mixture(32, 25))
TINY = (mixture(3, 2, 5),)
