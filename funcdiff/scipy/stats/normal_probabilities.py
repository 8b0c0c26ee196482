"""Probabilities of normal vectors: SciPy's estimates, and derivatives of shorter vectors' ones.

With Φ(x, C) for mean 0, ∂Φ/∂xᵢ is the density of one component at xᵢ by the probability of the
others given it, ∂²Φ/∂xᵢ∂xⱼ that of two by the others given both, and ∂Φ/∂C half of that matrix.

References
----------
R. L. Plackett, "A reduction formula for normal multivariate integrals", Biometrika 41 (1954).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.rules.opaque import primitive
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy import zeros
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy import special
from funcdiff.scipy.covered import holds_traced, load

_SEED: Final = 0


def cdf(
    self: Any,
    x: Any,
    mean: Any,
    cov: Any,
    maxpts: Any,
    abseps: Any,
    releps: Any,
    lower: Any,
    rng: Any,
) -> Any:
    """Return what ``multivariate_normal_gen._cdf`` does, with the same random numbers always.

    Raises
    ------
    NotDifferentiableError
        If there is a lower limit, and something is traced.
    """
    if not holds_traced((x, mean, cov, lower)):
        plain = load("scipy.stats._multivariate").multivariate_normal_gen._cdf
        return plain(self, x, mean, cov, maxpts, abseps, releps, lower, rng)
    if lower is not None:
        raise NotDifferentiableError(
            f"multivariate_normal.cdf of traced arrays takes no lower_limit, at {user_location()}. "
            "Add and subtract probabilities of the corners."
        )
    b = array(x - mean)
    points = np.reshape(b, (-1, b.shape[-1]))
    found = vmap(lambda point: probability(point, cov))(points)
    return np.squeeze(np.reshape(found, b.shape[:-1]))


def probability(x: Any, cov: Any) -> Any:
    """Return the probability of being below x, of mean 0."""
    count = x.shape[0]
    if count == 0:
        return np.float64(1.0)
    return special.ndtr(x[0] / np.sqrt(cov[0, 0])) if count == 1 else _estimate(x, cov)


def _value(x: Any, cov: Any) -> Any:
    law = load("scipy.stats").multivariate_normal
    count = len(x)
    rng = np.random.default_rng(_SEED)
    return np.float64(law._cdf(x, np.zeros(count), cov, 1000000 * count, 1e-5, 1e-5, None, rng))


def _number(x: Any, cov: Any) -> Any:
    return np.float64(0.0)


_estimate: Final[Any] = primitive(_value, result=_number)


def _given(x: Any, cov: Any, places: list[int]) -> Any:
    """Return the density of components at x by the probability of the others given them."""
    others = [k for k in range(x.shape[0]) if k not in places]
    at, inner, across = x[places], cov[places][:, places], cov[others][:, places]
    weights = np.linalg.solve(inner, across.T).T
    log_density = -(at @ np.linalg.solve(inner, at) + np.linalg.slogdet(2 * np.pi * inner)[1]) / 2
    rest = probability(x[others] - weights @ at, cov[others][:, others] - weights @ across.T)
    return np.where(np.all(np.isfinite(at)), np.exp(log_density) * rest, 0.0)


def _forward(primals: Any, tangents: Any) -> Any:
    x, cov = primals
    moved, bent = tangents
    count = x.shape[0]
    slopes = [_given(x, cov, [k]) for k in range(count)]
    bends = zeros((count, count))
    for i in range(count):
        for j in range(i):
            bends[i, j] = bends[j, i] = _given(x, cov, [i, j])
    for i in range(count):
        rise = np.where(np.isfinite(x[i]), x[i] * slopes[i], 0.0)
        bends[i, i] = -(rise + bends[i] @ cov[i]) / cov[i, i]
    change = np.stack(slopes) @ moved + np.sum(bends * bent) / 2
    return _estimate(x, cov), change


_estimate.defjvp(_forward)
