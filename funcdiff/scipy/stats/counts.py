"""Leaves of SciPy's discrete distributions as formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.types import FLOAT
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy import special
from funcdiff.scipy.primitives.special.gamma import powers_of_numbers, riemann_slope
from funcdiff.scipy.primitives.special.powers import log1p_ratio_derivatives
from funcdiff.scipy.special.python_functions import broadcast_to
from funcdiff.scipy.stats.double_exponential import integral


def _from_logarithm(self: Any, k: Any, *shapes: Any) -> Any:
    return np.exp(self._logpmf(k, *shapes))


def _binom_below(k: Any, n: Any, _p: Any, q: Any) -> Any:
    """I of 1 - p, in n - k and k + 1: equation 26.5.24 of Abramowitz and Stegun."""
    k = np.floor(k)
    last = k >= n
    return np.where(last, 1.0, special.betainc(np.where(last, 1.0, n - k), k + 1, q))


def _binom_above(k: Any, n: Any, p: Any, _q: Any) -> Any:
    k = np.floor(k)
    last = k >= n
    return np.where(last, 0.0, special.betainc(k + 1, np.where(last, 1.0, n - k), p))


def nothing_stated(_self: Any, *_shapes: Any, **_moments: Any) -> tuple[None, ...]:
    """Let statistics follow from moments."""
    return None, None, None, None


def _geom_entropy(_self: Any, p: Any) -> Any:
    """H of one trial over p; near 0 as ``-ln p + (1 - p)·ln(1 - p)/(-p)``."""
    small, q = p < 0.5, 1 - p
    x, y = np.where(small, p, 0.25), np.where(small, 0.75, p)
    near_zero = (1 - x) * log1p_ratio_derivatives((0,), array(-x)) - np.log(np.where(small, p, 1.0))
    return np.where(
        small, near_zero, (special.entr(y) + special.entr(np.where(small, 0.25, q))) / y
    )


def _bernoulli_stats(_self: Any, p: Any) -> tuple[Any, ...]:
    v = p * (1 - p)
    return p, v, (1 - 2 * p) / np.sqrt(v), 1 / v - 6


def _over_beta(function: Callable[..., Any], k: Any, n: Any, a: Any, b: Any) -> Any:
    """Integrate over the logarithm of the odds, where p and 1 - p keep their digits."""

    def integrand(u: Any) -> Any:
        up, down = special.log_expit(u), special.log_expit(-u)
        density = np.exp(a * up + b * down - special.betaln(a, b))
        return function(k, n, np.exp(up), np.exp(down)) * density

    # the first factor falls near these odds, where points are dense, in half-lines from there
    cut = np.log((k + 1) / np.maximum(n - k, 0.5)) + 0.0 * (a + b)
    return integral(integrand, cut - np.inf, cut, cut, 1.0) + integral(
        integrand, cut, cut + np.inf, cut, 1.0
    )


def _skellam_slopes(method: str) -> Callable[..., tuple[Any, ...]]:
    """Return derivatives by both means: those of P(K = k) are P(K = k ± 1) - P(K = k).

    One event more moves the count by 1, so that those of P(K <= k) are -P(K = k) and P(K = k + 1).
    """

    def of_mass(apply: Any, k: Any, a: Any, b: Any) -> tuple[Any, ...]:
        here = apply(method, k, a, b)
        gaps = [apply(method, n, a, b) - here for n in (k - 1, k + 1)]
        return tuple(np.expm1(gap) if method == "logpmf" else gap for gap in gaps)

    def of_sum(apply: Any, k: Any, a: Any, b: Any) -> tuple[Any, ...]:
        sign, low = (1 if method == "cdf" else -1), np.floor(k)
        return -sign * apply("pmf", low, a, b), sign * apply("pmf", low + 1, a, b)

    return of_mass if method.endswith("pmf") else of_sum


def _zipf_entropy(_self: Any, a: Any) -> Any:
    """Return ln ζ(a) - a·ζ'(a)/ζ(a)."""
    value = special.zeta(a)
    return np.log(value) - a * riemann_slope(a) / value


def _harmonic(a: Any, first: Any, last: Any) -> Any:
    """Return Σ k⁻ᵃ over whole numbers."""
    kinds = (np.dtype(FLOAT),) * 3
    return powers_of_numbers((0,), *broadcast_to(kinds, a, np.floor(first), np.floor(last)))


COUNTS: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "binom": {
        "_pmf": _from_logarithm,
        "_cdf": lambda _self, k, n, p: _binom_below(k, n, p, 1 - p),
        "_sf": lambda _self, k, n, p: _binom_above(k, n, p, 1 - p)},
    "betabinom": {
        "_cdf": lambda _self, *xs: _over_beta(_binom_below, *xs),
        "_sf": lambda _self, *xs: _over_beta(_binom_above, *xs)},
    "bernoulli": {
        "_stats": _bernoulli_stats,
        "_cdf": lambda _self, k, p: _binom_below(k, 1.0, p, 1 - p),
        "_sf": lambda _self, k, p: _binom_above(k, 1.0, p, 1 - p)},
    "geom": {"_entropy": _geom_entropy},
    "skellam": {"_logpmf": lambda self, *xs: self.logpmf(*xs)},
    "zipf": {
        "_sf": lambda _self, k, a: (
            special.zeta(a, np.floor(k) + 1) / special.zeta(a, 1.0 + 0.0 * k)),
        "_entropy": _zipf_entropy},
    "zipfian": {
        "_logpmf": lambda _self, k, a, n: -a * np.log(k) - np.log(_harmonic(a, 1.0, n)),
        "_pmf": _from_logarithm, "_stats": nothing_stated,
        "_cdf": lambda _self, k, a, n: _harmonic(a, 1.0, k) / _harmonic(a, 1.0, n),
        "_sf": lambda _self, k, a, n: _harmonic(a, np.floor(k) + 1, n) / _harmonic(a, 1.0, n),
        "_munp": lambda _self, m, a, n: _harmonic(a - m, 1.0, n) / _harmonic(a, 1.0, n)},
    "nbinom": {
        "_pmf": _from_logarithm,
        "_cdf": lambda _self, k, n, p: special.betainc(n, np.floor(k) + 1, p),
        "_sf": lambda _self, k, n, p: special.betaincc(n, np.floor(k) + 1, p),
        "_stats": lambda _self, n, p: (
            n * (1 - p) / p, n * (1 - p) / p**2, (2 - p) / np.sqrt(n * (1 - p)),
            6 / n + p**2 / (n * (1 - p)))},
}  # fmt: skip
"""Distribution -> leaf -> what computes it, with the distribution in front."""
COUNT_SLOPES: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "skellam": {f"_{m}": _skellam_slopes(m) for m in ("pmf", "logpmf", "cdf", "sf")}
}
"""Distribution -> leaf -> its partial derivatives in the shape parameters, by its methods."""
