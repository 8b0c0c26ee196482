"""Scores: partial derivatives of log densities in forms that keep their digits.

A log density is a sum of logarithms of gamma functions and of powers, each of which may be far
larger than the sum.  Of the derivatives, which are sums of digamma functions ψ and of logarithms,
rounding would leave nothing where parameters are large: about 1/a of terms of the size of ln a.
Here the logarithms are put together as one of a number near 1, and what ψ is more than that comes
from its asymptotic series.

C. Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000, does so for values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.api.inspection import stop_gradient
from funcdiff.core.access import Access
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.numpy.border.promotion import fit
from funcdiff.ops.families import Implementation
from funcdiff.scipy.primitives.special.gamma import (
    LARGE,
    psi,
    psi_difference,
    psi_excess,
    psi_fall,
    riemann_slope,
    riemann_zeta,
)
from funcdiff.scipy.primitives.special.losses import expit, log_ratio, ratio_less_one, xlogy
from funcdiff.scipy.primitives.special.normal import erfcx
from funcdiff.scipy.primitives.special.powers import (
    exprel,
    exprel_derivatives,
    log1p_ratio_derivatives,
)
from funcdiff.scipy.stats.leaf_programs import along, evaluate
from funcdiff.scipy.stats.leaves import has_own
from funcdiff.space import align, sum_tangents

_ROOT: Final = math.sqrt(2 / math.pi)

# ---- terms that scores are made of ---------------------------------------------------------------


_over: Final = partial(psi_difference, short=False)
"""Return ψ(x + step) - ψ(x) for steps that are no small part of an x that is not large."""


def _log1p_rest(s: Any, logarithm: Any) -> Any:
    """Return ln(1 + s) - s, with ln(1 + s) given: near 0 by ln(1 + s) = 2·artanh(s/(2 + s))."""
    near = np.abs(s) < 0.25
    small = np.where(near, s, 0.0)
    r = small / (2 + small)
    square, total = r * r, 0.0
    for k in range(7, -1, -1):
        total = total * square + 2 / (2 * k + 3)
    return np.where(near, r * (square * total - small), logarithm - s)


def _in_gamma(x: Any, a: Any) -> Any:
    """Of a·ln x - x - ln Γ(a) by a."""
    return log_ratio(x, a) - psi_excess(a)


def _in_beta(a: Any, b: Any, ln_p: Any, ln_q: Any, odds: Any) -> tuple[Any, Any]:
    """Of a·ln p + b·ln q - ln B(a, b) by a and b, where p + q = 1 and odds = p/q."""
    excess = (odds * (b / a) - 1) / (odds + 1)
    other = (a / b - odds) / (odds + 1)
    return psi_difference(a, b, ln_p, excess), psi_difference(b, a, ln_q, other)


def _in_beta_ratio(a: Any, b: Any, k: Any, m: Any) -> tuple[Any, Any]:
    """Of ln B(a + k, b + m) - ln B(a, b) by a and b."""
    return _in_first(a, b, k, m), _in_first(b, a, m, k)


def _in_first(a: Any, b: Any, k: Any, m: Any) -> Any:
    """Of the same by a; 1 + excess is the quotient of 1 + k/a and 1 + (k + m)/(a + b)."""
    c, n = a + b, k + m
    excess = (k * (b / a) - m) / (c + n)
    large = (a >= LARGE) & (np.abs(excess) < 0.5)
    first, total = np.where(large, a, LARGE), np.where(large, c, LARGE)
    by, more = np.where(large, k, 0.0), np.where(large, n, 0.0)
    near = np.log1p(np.where(large, excess, 0.0)) + psi_fall(first, by) - psi_fall(total, more)
    return np.where(large, near, _over(a, k) - _over(c, n))


def _psi_rest(x: Any, step: Any, *, short: bool = True) -> Any:
    """Return ψ(x + step) - ψ(x) - ln(1 + step/x)."""
    large = (x >= LARGE) & (x + step >= LARGE)
    near = psi_fall(np.where(large, x, LARGE), np.where(large, step, 0.0))
    return np.where(large, near, psi_difference(x, step, short=short) - np.log1p(step / x))


def _in_f(r: Any, x: Any, n: Any, m: Any) -> Any:
    """Of the logarithm of an F density by n, with r = 1 - x."""
    half = n / 2
    s = -m * r / (m + n * x)
    logarithm = np.log((n + m) * x / (m + n * x))
    return (_log1p_rest(s, logarithm) + _psi_rest(half, m / 2)) / 2


# ---- scores of distributions ---------------------------------------------------------------------


def _of_gamma(x: Any, a: Any) -> tuple[Any, ...]:
    return _gamma_slope(x, a), _in_gamma(x, a)


def _gamma_slope(x: Any, a: Any) -> Any:
    """Return (a - 1)/x - 1, also where x is 0."""
    zero = x == 0
    at_zero = np.where(a == 1, -1.0, (a - 1) / x)
    return np.where(zero, at_zero, ratio_less_one(a - 1, np.where(zero, 1.0, x)))


def _of_chi2(x: Any, k: Any) -> tuple[Any, ...]:
    return tuple(slope / 2 for slope in _of_gamma(x / 2, k / 2))


def _of_nakagami(x: Any, v: Any) -> tuple[Any, ...]:
    return None, _log1p_rest((x - 1) * (x + 1), 2 * np.log(x)) - psi_excess(v)


def _of_f(x: Any, n: Any, m: Any) -> tuple[Any, ...]:
    zero = x == 0
    z = np.where(zero, 1.0, x)
    at_zero = np.where(n == 2, -(n + m) / m, (n / 2 - 1) / x)
    slope = (n * (m / 2) * (1 - z) / (m + n * z) - 1) / z
    return (
        np.where(zero, at_zero, slope),
        _in_f(1 - x, z, n, m),
        _in_f(1 - 1 / z, 1 / z, m, n),
    )


def _of_t(x: Any, v: Any) -> tuple[Any, ...]:
    """Of Student's t, whose square has an F density; the slope as √v·u/(1 + u²) of u = x/√v."""
    finite = v < np.inf
    v = np.where(finite, v, 1.0)
    u = x / np.sqrt(v)
    far = np.abs(u) > 1
    inner = np.where(far, 1 / np.where(far, u, 1.0), u)
    slope = -(1 + 1 / v) * np.sqrt(v) * inner / (1 + inner * inner)
    radius = np.hypot(np.sqrt(v), x)
    s = (1 - x) / radius * ((1 + x) / radius)
    score = (
        _log1p_rest(s, np.log1p(v) - 2 * np.log(radius)) + _psi_rest(v / 2, 0.5, short=False)
    ) / 2
    return np.where(finite, slope, -x), np.where(finite, score, 0.0)


def _of_rdist(x: Any, c: Any) -> tuple[Any, ...]:
    share = (1 - x) * (1 + x)
    return (2 - c) * x / share, _over(c / 2, 0.5, np.log(share), share / c - x * x) / 2


def _of_yulesimon(k: Any, a: Any) -> tuple[Any, ...]:
    return None, 1 / (a * (a + 1)) - _over(a + 2, k - 1)


def _of_poisson(k: Any, mu: Any) -> tuple[Any, ...]:
    zero = mu == 0
    at_zero = np.where(k == 0, -1.0, k / mu)
    return None, np.where(zero, at_zero, ratio_less_one(k, np.where(zero, 1.0, mu)))


def _of_logser(k: Any, p: Any) -> tuple[Any, ...]:
    v = np.log1p(-p)
    return None, (k - 1) / p - exprel_derivatives((1,), v) / exprel(v) / (1 - p)


def _of_exponnorm(x: Any, k: Any) -> tuple[Any, ...]:
    """Of ln Φ(-t) + 1/(2k²) - x/k - ln k with t = 1/k - x, by the hazard λ(t) = φ(t)/Φ(-t).

    For large t it is t/r(w), where r = 1 - w + 3w² - 15w³ + ... is a series of w = 1/t².  What is
    left are t·(λ - t) = c/r, with r = 1 - w·c, and c/r - 1 = 2w·r'(w)/r.
    """
    t, rate = 1 / k - x, 1 / k
    far = t > 18
    z = np.where(far, t, 18.0)
    w, c, slope = 1 / (z * z), 1.0, 0.0
    for n in range(15, 1, -2):
        c, slope = 1 - n * w * c, -n * (c + w * slope)
    r, slope = 1 - w * c, -(c + w * slope)
    gap = c / r
    beyond = 2 * w * slope / r
    # further left it is less than the least number
    hazard = _ROOT / erfcx(np.where(far, 0.0, np.maximum(t, -37.0)) / math.sqrt(2))
    by_x = np.where(far, gap / z - x, hazard - rate)
    by_k = np.where(far, (beyond + gap / z * x) / k, ((hazard - t) / k - 1) / k)
    return by_x, by_k


def _half_tanh(x: Any) -> Any:
    """Return tanh(x/2), whose slope has its digits where it is near 0."""
    near = np.abs(x) < 1
    z = np.where(near, 0.0, x)
    return np.where(near, np.tanh(np.where(near, x, 0.0) / 2), expit(z) - expit(-z))


def _of_genextreme(x: Any, c: Any) -> tuple[Any, ...]:
    y = -x * log1p_ratio_derivatives((0,), -c * x)
    return (np.expm1(y) + c) / (1 - c * x), None


def _of_genhalflogistic(x: Any, c: Any) -> tuple[Any, ...]:
    """With the logistic argument -y of y = ln(1 - cx)/c."""
    y = -x * log1p_ratio_derivatives((0,), -c * x)
    y_c = x * x * log1p_ratio_derivatives((1,), -c * x)
    slope = _half_tanh(y)
    return (slope + c) / (1 - c * x), x / (1 - c * x) - slope * y_c


def _of_gennorm(x: Any, b: Any) -> tuple[Any, ...]:
    size = np.abs(x)
    return None, psi(1 + 1 / b) / (b * b) - xlogy(size**b, size)


def _of_invgauss(x: Any, mu: Any) -> tuple[Any, ...]:
    return (1 / (x * x) - 1 / (mu * mu) - 3 / x) / 2, (x - mu) / mu / mu / mu


def _of_recipinvgauss(x: Any, mu: Any) -> tuple[Any, ...]:
    return (1 / (mu * x) ** 2 - 1 - 1 / x) / 2, (1 - mu * x) / (x * mu**3)


scores: Final[dict[str, Callable[..., tuple[Any, ...]]]] = {
    **dict.fromkeys(("gamma", "erlang"), _of_gamma),
    "chi2": _of_chi2,
    "chi": lambda x, k: (None, log_ratio(x, np.sqrt(k)) - psi_excess(k / 2) / 2),
    "invgamma": lambda x, a: (None, _in_gamma(1 / x, a)),
    "dgamma": lambda x, a: (None, _in_gamma(np.abs(x), a)),
    "nakagami": _of_nakagami,
    "gengamma": lambda x, a, c: (None, c * np.log(x) - np.log(a) - psi_excess(a), None),
    "loggamma": lambda x, c: (None, x - np.log(c) - psi_excess(c)),
    "beta": lambda x, a, b: (None, *_in_beta(a, b, np.log(x), np.log1p(-x), x / (1 - x))),
    "betaprime": lambda x, a, b: (None, *_in_beta(a, b, np.log(x) - np.log1p(x), -np.log1p(x), x)),
    "f": _of_f,
    "t": _of_t,
    "rdist": _of_rdist,
    "poisson": _of_poisson,
    "nbinom": lambda k, n, p: (None, _over(n, k, np.log(p), p * (k / n) - (1 - p)), None),
    "betabinom": lambda k, n, a, b: (None, None, *_in_beta_ratio(a, b, k, n - k)),
    "betanbinom": lambda k, n, a, b: (None, None, *_in_beta_ratio(a, b, n, k)),
    "yulesimon": _of_yulesimon,
    "zipf": lambda k, a: (None, -np.log(k) - riemann_slope(a) / riemann_zeta(a)),
    "planck": lambda k, rate: (None, np.exp(-rate) / -np.expm1(-rate) - k),
    "pareto": lambda x, b: (-(b + 1) / x, 1 / b - np.log(x)),
    "lognorm": lambda x, s: (-(1 + np.log(x) / (s * s)) / x, (np.log(x) / s) ** 2 / s - 1 / s),
    "dlaplace": lambda k, a: (None, 2 * np.exp(-a) / -np.expm1(-2 * a) - np.abs(k)),
    "logser": _of_logser,
    "exponnorm": _of_exponnorm,
    "logistic": lambda x: (-_half_tanh(x),),
    "genlogistic": lambda x, c: (c * expit(-x) - expit(x), None),
    "genhalflogistic": _of_genhalflogistic,
    "gumbel_r": lambda x: (np.expm1(-x),),
    "gumbel_l": lambda x: (-np.expm1(x),),
    "genextreme": _of_genextreme,
    **dict.fromkeys(("gennorm", "halfgennorm"), _of_gennorm),
    "invgauss": _of_invgauss,
    "recipinvgauss": _of_recipinvgauss,
}
"""Distribution -> partial derivatives of its log density by the argument and shape parameters.

None stands for that of SciPy's own formula, which loses nothing.
"""


# ---- log densities -------------------------------------------------------------------------------


class Scored(Params):
    """The log density of a distribution, whose value is known."""

    distribution: str
    leaf: str


def _abstract(_p: Scored, value: ArrayType, *xs: ArrayType) -> Types:
    if any(x.ndim != value.ndim or x.dtype != value.dtype for x in xs):
        raise TypeError(f"operands must be of the rank and dtype of {value!r}, got {xs!r}")
    return (value,)


def _forward(p: Scored, operands: Tracers, ts: Tangents) -> Pushed:
    (y,) = bind(scored_p, p, *operands)
    with np.errstate(all="ignore"):
        found = slope(p.distribution, p.leaf, operands[1:], ts[1:], y)
    return [y], [None if found is None else fit(found, y.type)]


def _batch(p: Scored, size: int, operands: Tracers, batched: Sequence[bool]) -> Tracers:
    (value,) = align(size, operands[:1], batched[:1])
    xs = zip(operands[1:], batched[1:], strict=True)
    return bind(scored_p, p, value, *(x if flag else x[None] for x, flag in xs))


def _access(_p: Scored, types: tuple[ArrayType, ...]) -> Access:
    """Say what `pointwise` does, but for axes of length 1 of what is the same everywhere."""
    value = types[0].shape
    labels = tuple(range(len(value)))
    operands = (
        tuple([k if t.shape[k] == value[k] else len(value) + k for k in labels]) for t in types
    )
    return Access((labels,), tuple(operands))


scored_p: Final = Primitive(
    "scored",
    Scored,
    _abstract,
    impl=Implementation(lambda _p: lambda value, *_xs: value, view=True),
    jvp=_forward,
    batch=_batch,
    access=_access,
)


def has_scores(distribution: str, leaf: str) -> bool:
    """Return whether derivatives of a leaf, a log density, are not those of its own formula."""
    is_logarithm = leaf in ("_logpdf", "_logpmf")
    return is_logarithm and (distribution in scores or not has_own(distribution, leaf))


def slope(distribution: str, leaf: str, xs: Sequence[Any], ts: Sequence[Any], y: Any) -> Any:
    """Return the derivative of a leaf, whose value is y, along tangents, None for zero.

    It is that of scores, where there are.  That of a logarithm of a density f which SciPy takes is
    f'·exp(-y), which has a derivative where that of 1/f overflows.
    """
    if not has_scores(distribution, leaf):
        return along(distribution, leaf, xs, ts)
    if distribution not in scores:
        density = leaf.replace("log", "")
        found = along(distribution, density, xs, ts)
        return None if found is None else found * np.exp(-y)
    pairs = list(zip(scores[distribution](*xs), ts, strict=True))
    rest = along(distribution, leaf, xs, [t if own is None else None for own, t in pairs])
    stated = [None if own is None or t is None else own * t for own, t in pairs]
    return sum_tangents([rest, *stated])


def scored(distribution: str, leaf: str, *xs: Tracer) -> Any:
    """Return a log density by SciPy's formula, or None if it is no program, with its slopes."""
    value = evaluate(distribution, leaf, *map(stop_gradient, xs))
    if value is None:
        return None
    ranks = [(1,) * (value.ndim - x.ndim) + x.shape for x in xs]
    operands = [
        fit(np.reshape(x, rank), ArrayType(rank, value.dtype))
        for x, rank in zip(xs, ranks, strict=True)
    ]
    return bind(scored_p, Scored(distribution, leaf), value, *operands)[0]
