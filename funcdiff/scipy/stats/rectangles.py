"""Probabilities of normal and t vectors in rectangles; derivatives by vectors of fewer components.

With P(a, b, C) for location 0, ∂P/∂bᵢ is the density of one component at bᵢ by the probability of
the others given it, ∂²P/∂bᵢ∂bⱼ that of two by the others given both, and ∂P/∂C half of that matrix.
Given some components, the others are a t vector again.  A t vector is a normal one over √w, where
νw is distributed as χ² with ν degrees of freedom; ∂P/∂C and ∂P/∂ν are means over w.

References
----------
R. L. Plackett, "A reduction formula for normal multivariate integrals", Biometrika 41 (1954).
A. Genz and F. Bretz, "Computation of Multivariate Normal and t Probabilities", Springer 2009.
H. Takahasi and M. Mori, "Double Exponential Formulas for Numerical Integration", Publ. RIMS 9
(1974): the integral over w.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.api.batching import vmap
from funcdiff.api.rules.opaque_functions import primitive, without_effects
from funcdiff.core.tracer import Tracer
from funcdiff.numpy import zeros
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy import special
from funcdiff.scipy.covered import holds_traced, load
from funcdiff.scipy.places import place

_SEED: Final = 0
_NODES: Final = 64
"""At how many w the mean is taken."""

_TAIL: Final = 1e-15


def normal_cdf(
    self: Any, x: Any, mean: Any, cov: Any, maxpts: Any, abseps: Any, releps: Any, lower: Any,
    rng: Any,
) -> Any:  # fmt: skip
    """Return what ``multivariate_normal_gen._cdf`` does, with the same random numbers always."""
    if not holds_traced((x, mean, cov, lower)):
        plain = place("scipy.stats._multivariate", "multivariate_normal_gen")._cdf
        return plain(self, x, mean, cov, maxpts, abseps, releps, lower, rng)
    return _between(lower, x, mean, cov, None)


def t_cdf(
    self: Any, x: Any, loc: Any, shape: Any, df: Any, dim: int, maxpts: Any = None,
    lower_limit: Any = None, random_state: Any = None,
) -> Any:  # fmt: skip
    """Return what ``multivariate_t_gen._cdf`` does, with the same random numbers always."""
    if not holds_traced((x, loc, shape, df, lower_limit)):
        plain = place("scipy.stats._multivariate", "multivariate_t_gen")._cdf
        return plain(self, x, loc, shape, df, dim, maxpts, lower_limit, random_state)
    if not holds_traced(df) and np.isinf(df):  # of which SciPy 1.17 says 0
        df = None
    return _between(lower_limit, self._process_quantiles(x, dim), loc, shape, df)


def logcdf(self: Any, *args: Any, **kwds: Any) -> Any:
    """Return the logarithm of the cdf, which is complex where one is negative."""
    found = self.cdf(*args, **kwds)
    has_limit = kwds.get("lower_limit") is not None
    negative = has_limit and is_known_to_hold(lambda: np.any(found < 0))
    return np.log(found + 0j if negative else found)


def _between(low: Any, high: Any, center: Any, cov: Any, df: Any) -> Any:
    """Return probabilities of points between limits, negative where an odd number is swapped."""
    high = array(high - center)
    count = high.shape[-1]
    if low is None:
        points = np.reshape(high, (-1, count))
        found = vmap(lambda b: probability(None, b, cov, df))(points)
        return np.squeeze(np.reshape(found, high.shape[:-1]))[()]
    low, high = np.broadcast_arrays(array(low - center), high)
    swapped = high < low
    limits = np.where(swapped, high, low), np.where(swapped, low, high)
    signs = np.prod(np.where(swapped, -1.0, 1.0), axis=-1)
    pairs = [np.reshape(x, (-1, count)) for x in limits]
    found = vmap(lambda a, b: probability(a, b, cov, df))(*pairs)
    return np.squeeze(np.reshape(found, high.shape[:-1]) * signs)[()]


def probability(low: Any, high: Any, cov: Any, df: Any) -> Any:
    """Return the probability of a vector between limits, of location 0.

    `low`, `high`: limits: shape (n,); None if there are no lower ones.
    `cov`: covariance, or shape of a t distribution: shape (n, n).
    `df`: degrees of freedom, or None of a normal distribution.
    """
    count = high.shape[0]
    if count == 0:
        return np.float64(1.0)
    if count > 1:
        return (_estimate_by_df if isinstance(df, Tracer) else _estimate)(low, high, cov, df)
    ends = [x[0] / np.sqrt(cov[0, 0]) for x in (high, low) if x is not None]
    if low is not None:  # from below, where there are more digits
        above = ends[1] > 0
        ends = [np.where(above, -ends[1 - k], ends[k]) for k in range(2)]
    found = [special.ndtr(x) if df is None else special.stdtr(df, x) for x in ends]
    return found[0] if low is None else found[0] - found[1]


def _value(low: Any, high: Any, cov: Any, df: Any) -> Any:
    stats, count, rng = load("scipy.stats"), len(high), np.random.default_rng(_SEED)
    given = high, np.zeros(count), cov
    if df is None:
        law = stats.multivariate_normal
        return np.float64(law._cdf(*given, 1_000_000 * count, 1e-5, 1e-5, low, rng))
    if df < 1:  # SciPy 1.17 scales the limits in a wrong way
        return _mean(low, high, cov, df)
    law = stats.multivariate_t
    return np.float64(law._cdf(*given, float(df), count, 10_000 * count, low, rng))


def _number(low: Any, high: Any, cov: Any, df: Any) -> Any:
    return np.float64(0.0)


_estimate: Final[Any] = without_effects(primitive(_value, result=_number, nondiff_argnums=3))
_estimate_by_df: Final[Any] = without_effects(primitive(_value, result=_number))


def _conditional(at: Any, places: list[int], low: Any, high: Any, cov: Any, df: Any) -> Any:
    """Return the density of one component or two by the probability of the others given them.

    Of two components of a t vector it is that of the normal one, in the mean over w.
    """
    others = [k for k in range(high.shape[0]) if k not in places]
    is_there, at = np.all(np.isfinite(at)), np.where(np.isfinite(at), at, 0.0)
    inner, across = cov[places][:, places], cov[others][:, places]
    weights = np.linalg.solve(inner, across.T).T
    distance = at @ np.linalg.solve(inner, at)
    rest, more = cov[others][:, others] - weights @ across.T, 2 - len(places)
    log_density = -np.linalg.slogdet(2 * np.pi * inner)[1] / 2
    if df is None:
        log_density, freedom = log_density - distance / 2, None
    else:
        freedom = df + more
        rest = rest * ((df + distance) / freedom)
        power = df * np.log1p(distance / df) + more * np.log((df + distance) / 2)
        log_density = log_density + np.log(special.poch(df / 2, more / 2)) - power / 2
    low, high = (None if x is None else x[others] - weights @ at for x in (low, high))
    found = np.exp(log_density) * probability(low, high, rest, freedom)
    return np.where(is_there, found, 0.0)


def _change(low: Any, high: Any, cov: Any, df: Any, moved: Any, bent: Any) -> Any:
    """Return the change of a probability with its limits and its covariance."""
    places, given = range(high.shape[0]), (low, high, cov, df)
    ends = [(s, x, t) for s, x, t in zip((-1.0, 1.0), (low, high), moved, strict=True)
            if x is not None]  # fmt: skip
    slopes = [np.stack([_conditional(x[[k]], [k], *given) for k in places]) for _, x, _ in ends]
    bends = zeros((len(places), len(places)))
    for i in places:
        for j in range(i):
            corners = [
                s * r * _conditional(np.stack([x[i], y[j]]), [i, j], *given)
                for s, x, _ in ends
                for r, y, _ in ends
            ]
            bends[i, j] = bends[j, i] = sum(corners)
    rises = [
        s * np.where(np.isfinite(x), x, 0.0) * f for (s, x, _), f in zip(ends, slopes, strict=True)
    ]
    total = sum(rises)
    for i in places:
        bends[i, i] = -(total[i] + bends[i] @ cov[i]) / cov[i, i]
    shifts = [s * (f @ t) for (s, _, t), f in zip(ends, slopes, strict=True)]
    return sum(shifts) + np.sum(bends * bent) / 2


def _forward(df: Any, primals: Any, tangents: Any) -> Any:
    low, high, cov = primals
    *moved, bent = tangents
    return _estimate(low, high, cov, df), _change(low, high, cov, df, moved, bent)


def _forward_by_df(primals: Any, tangents: Any) -> Any:
    low, high, cov, df = primals
    *moved, bent, freed = tangents
    change = _change(low, high, cov, df, moved, bent) + _slope_by_df(low, high, cov, df) * freed
    return _estimate_by_df(low, high, cov, df), change


_estimate.defjvp(_forward)
_estimate_by_df.defjvp(_forward_by_df)


def _slope_by_df(low: Any, high: Any, cov: Any, df: Any) -> Any:
    """Return ∂P/∂ν: the mean of normal probabilities by ∂/∂ν of the logarithm of w's density."""
    half = df / 2
    constant = np.log(half) + 1 - special.psi(half)
    return _mean(low, high, cov, df, lambda w, log_w: (constant + log_w - w) / 2)


def _mean(low: Any, high: Any, cov: Any, df: Any, factor: Any = None) -> Any:
    """Return the mean over w of a factor by the probability of a normal vector over √w."""
    half = df / 2
    fixed: Any = stop_gradient(array(half)) if isinstance(half, Tracer) else half
    least, most = special.gammaincinv(fixed, _TAIL), special.gammainccinv(fixed, _TAIL)
    bound = (np.log(_TAIL) + special.gammaln(fixed + 1)) / fixed  # of the least, if it vanishes
    logs = [np.where(least > 1e-300, np.log(np.maximum(least, 1e-300)), bound), np.log(most)]
    first, last = (-np.log(special.wrightomega(np.log(fixed) - x)) for x in logs)
    step = (last - first) / (_NODES - 1)
    t = first + step * np.arange(_NODES)
    log_w = t - np.exp(-t)  # from minus infinity, doubly exponentially
    w = np.exp(log_w)
    log_density = half * (np.log(half) + log_w - w) - special.gammaln(half)
    weights = step * (1 + np.exp(-t)) * np.exp(log_density)

    def probability_at(root: Any) -> Any:
        return probability(None if low is None else root * low, root * high, cov, None)

    found = vmap(probability_at)(np.sqrt(w))
    return np.sum(weights * (found if factor is None else factor(w, log_w) * found))
