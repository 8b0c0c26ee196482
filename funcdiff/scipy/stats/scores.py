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
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import fit
from funcdiff.ops.structure.structural import convert, reshape
from funcdiff.scipy.primitives.numerics.derivative_integrals import log1p_rest
from funcdiff.scipy.primitives.special import gamma as gammas
from funcdiff.scipy.primitives.special.gamma import LARGE, psi_difference, psi_excess, psi_fall
from funcdiff.scipy.primitives.special.incomplete import gammainc
from funcdiff.scipy.primitives.special.losses import expit, log_ratio, ratio_less_one, xlogy
from funcdiff.scipy.primitives.special.normal import erfcx
from funcdiff.scipy.primitives.special.orthogonal_polynomials import hyp1f1
from funcdiff.scipy.primitives.special.powers import exprel, exprel_derivatives
from funcdiff.scipy.primitives.special.powers import log1p_ratio_derivatives as log1p_ratios
from funcdiff.scipy.stats.leaf_programs import along, evaluate, is_sharpened
from funcdiff.scipy.stats.leaves import has_own
from funcdiff.space import align, sum_tangents

_ROOT: Final = math.sqrt(2 / math.pi)

# ---- terms that scores are made of ---------------------------------------------------------------


_over: Final = partial(psi_difference, short=False)  # for steps that are not short


def _in_gamma(x: Any, a: Any) -> Any:
    """Of a·ln x - x - ln Γ(a) by a."""
    return log_ratio(x, a) - psi_excess(a)


def _in_beta(a: Any, b: Any, ln_p: Any, ln_q: Any, odds: Any) -> tuple[Any, Any]:
    """Of a·ln p + b·ln q - ln B(a, b) by a and b, where p + q = 1 and odds = p/q."""
    excess = (odds * (b / a) - 1) / (odds + 1)
    other = (a / b - odds) / (odds + 1)
    return psi_difference(a, b, ln_p, excess), psi_difference(b, a, ln_q, other)


def _in_beta_ratio(a: Any, b: Any, k: Any, m: Any) -> Any:
    """Of ln B(a + k, b + m) - ln B(a, b) by a: 1 + excess is (1 + k/a)/(1 + (k + m)/(a + b))."""
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
    logarithm = np.log((n + m) * x / (m + n * x))
    return (log1p_rest(-m * r / (m + n * x), logarithm) + _psi_rest(n / 2, m / 2)) / 2


# ---- scores of distributions ---------------------------------------------------------------------


def _of_gamma(x: Any, a: Any) -> tuple[Any, ...]:
    """Return (a - 1)/x - 1, also where x is 0, and the slope by a."""
    zero = x == 0
    at_zero = np.where(a == 1, -1.0, (a - 1) / x)
    inside = ratio_less_one(a - 1, np.where(zero, 1.0, x))
    return np.where(zero, at_zero, inside), _in_gamma(x, a)


def _of_f(x: Any, n: Any, m: Any) -> tuple[Any, ...]:
    zero = x == 0
    z = np.where(zero, 1.0, x)
    at_zero = np.where(n == 2, -(n + m) / m, (n / 2 - 1) / x)
    slope = (n * (m / 2) * (1 - z) / (m + n * z) - 1) / z
    return np.where(zero, at_zero, slope), _in_f(1 - x, z, n, m), _in_f(1 - 1 / z, 1 / z, m, n)


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
        log1p_rest(s, np.log1p(v) - 2 * np.log(radius)) + _psi_rest(v / 2, 0.5, short=False)
    ) / 2
    return np.where(finite, slope, -x), np.where(finite, score, 0.0)


def _of_exponnorm(x: Any, k: Any) -> tuple[Any, ...]:
    """Of ln Φ(-t) + 1/(2k²) - x/k - ln k with t = 1/k - x, by the hazard λ(t) = φ(t)/Φ(-t).

    For large t it is t/r(w), where r = 1 - w + 3w² - 15w³ + ... is a series of w = 1/t².  What is
    left are t·(λ - t) = c/r, with r = 1 - w·c, and c/r - 1 = 2w·r'(w)/r.
    """
    t, rate = 1 / k - x, 1 / k
    far = t > 18
    z = np.where(far, t, 18.0)
    w: Any = 1 / (z * z)
    c, slope = 1 + 0 * w, 0 * w
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


def _of_genhalflogistic(x: Any, c: Any) -> tuple[Any, ...]:
    """Of a logistic density at y = ln(1 - cx)/c."""
    slope = _half_tanh(-x * log1p_ratios((0,), -c * x))
    by_c = x / (1 - c * x) - slope * x * x * log1p_ratios((1,), -c * x)
    return (slope + c) / (1 - c * x), by_c


_Scores = Callable[..., tuple[Any, ...]]


def _of_argus(x: Any, chi: Any) -> tuple[Any, ...]:
    """By Kummer's M(1, 5/2, u) of u = χ²/2, times u√u·exp(-u) the incomplete gamma function."""
    u = chi * chi / 2
    near, one = u < 1, np.ones_like(u)
    z: Any = np.where(near, u, 0.0)
    v: Any = np.where(near, 1.0, u)
    ratio = hyp1f1(2 * one, 3.5 * one, z) / hyp1f1(one, 2.5 * one, z) / 2.5
    height = 2 / math.sqrt(math.pi) * np.sqrt(v) * np.exp(-v) / gammainc(1.5 * one, v)
    far = 3 / chi - chi * (height + (1 - x) * (1 + x))
    return None, np.where(near, chi * (x * x - ratio), far)


scores: Final[dict[str, _Scores]] = {
    **dict.fromkeys(("gamma", "erlang"), _of_gamma),
    "chi2": lambda x, k: tuple(slope / 2 for slope in _of_gamma(x / 2, k / 2)),
    "chi": lambda x, k: (None, log_ratio(x, np.sqrt(k)) - psi_excess(k / 2) / 2),
    "invgamma": lambda x, a: (None, _in_gamma(1 / x, a)),
    "dgamma": lambda x, a: (None, _in_gamma(np.abs(x), a)),
    "nakagami": lambda x, v: (
        None, log1p_rest((x - 1) * (x + 1), 2 * np.log(x)) - psi_excess(v)),
    "gengamma": lambda x, a, c: (None, c * np.log(x) - np.log(a) - psi_excess(a), None),
    "loggamma": lambda x, c: (None, x - np.log(c) - psi_excess(c)),
    "beta": lambda x, a, b: (None, *_in_beta(a, b, np.log(x), np.log1p(-x), x / (1 - x))),
    "betaprime": lambda x, a, b: (
        None, *_in_beta(a, b, np.log(x) - np.log1p(x), -np.log1p(x), x)),
    "f": _of_f,
    "t": _of_t,
    "rdist": lambda x, c: (
        (2 - c) * x / ((1 - x) * (1 + x)),
        _over(c / 2, 0.5, np.log((1 - x) * (1 + x)), (1 - x) * (1 + x) / c - x * x) / 2),
    "poisson": lambda k, mu: (None, _of_gamma(mu, k + 1)[0]),
    "nbinom": lambda k, n, p: (None, _over(n, k, np.log(p), p * (k / n) - (1 - p)), None),
    "betabinom": lambda k, n, a, b: (
        None, None, _in_beta_ratio(a, b, k, n - k), _in_beta_ratio(b, a, n - k, k)),
    "betanbinom": lambda k, n, a, b: (
        None, None, _in_beta_ratio(a, b, n, k), _in_beta_ratio(b, a, k, n)),
    "yulesimon": lambda k, a: (None, 1 / (a * (a + 1)) - _over(a + 2, k - 1)),
    "zipf": lambda k, a: (None, -np.log(k) - gammas.riemann_slope(a) / gammas.riemann_zeta(a)),
    "planck": lambda k, rate: (None, np.exp(-rate) / -np.expm1(-rate) - k),
    "dlaplace": lambda k, a: (None, 2 * np.exp(-a) / -np.expm1(-2 * a) - np.abs(k)),
    "logser": lambda k, p: (
        None, (k - 1) / p - exprel_derivatives((1,), v := np.log1p(-p)) / exprel(v) / (1 - p)),
    "exponnorm": _of_exponnorm,
    "pareto": lambda x, b: (-(b + 1) / x, 1 / b - np.log(x)),
    "lognorm": lambda x, s: (-(1 + np.log(x) / (s * s)) / x, (np.log(x) / s) ** 2 / s - 1 / s),
    "logistic": lambda x: (-_half_tanh(x),),
    "genlogistic": lambda x, c: (c * expit(-x) - expit(x), None),
    "gumbel_r": lambda x: (np.expm1(-x),),
    "gumbel_l": lambda x: (-np.expm1(x),),
    "genhalflogistic": _of_genhalflogistic,
    "genextreme": lambda x, c: (
        (np.expm1(-x * log1p_ratios((0,), -c * x)) + c) / (1 - c * x), None),
    **dict.fromkeys(("gennorm", "halfgennorm"), lambda x, b: (
        None, gammas.psi(1 + 1 / b) / (b * b) - xlogy(np.abs(x) ** b, np.abs(x)))),
    "argus": _of_argus,
    "invgauss": lambda x, mu: (
        (1 / (x * x) - 1 / (mu * mu) - 3 / x) / 2, (x - mu) / mu / mu / mu),
    "recipinvgauss": lambda x, mu: (
        (1 / (mu * x) ** 2 - 1 - 1 / x) / 2, (1 - mu * x) / (x * mu**3)),
}  # fmt: skip
"""Distribution -> partial derivatives of its log density by the argument and shape parameters.

None stands for that of SciPy's own formula.
"""


# ---- log densities -------------------------------------------------------------------------------


class Slopes(Params):
    """A log density, by distribution and leaf, whose value is known."""

    distribution: str
    leaf: str


def _forward(p: Slopes, operands: Tracers, ts: Tangents) -> Pushed:
    (y,) = bind(log_density_p, p, *operands)
    with np.errstate(all="ignore"):
        found = slope(p.distribution, p.leaf, operands[1:], ts[1:], y)
    return [y], [None if found is None else fit(found, y.type)]


def _batch(p: Slopes, size: int, operands: Tracers, batched: Sequence[bool]) -> Tracers:
    (value,) = align(size, operands[:1], batched[:1])
    xs = zip(operands[1:], batched[1:], strict=True)
    return bind(
        log_density_p, p, value, *(x if flag else reshape(x, (1, *x.shape)) for x, flag in xs)
    )


def _access(_p: Slopes, types: Types) -> Access:
    """Say what `pointwise` does, but for axes of length 1 of what is the same everywhere."""
    axes = tuple(enumerate(types[0].shape))
    operands = (tuple([k if t.shape[k] == n else len(axes) + k for k, n in axes]) for t in types)
    return Access((tuple(range(len(axes))),), tuple(operands))


log_density_p: Final = Primitive(
    "log_density",
    Slopes,
    lambda _p, value, *_xs: (value,),
    impl=Implementation(lambda _p: lambda value, *_xs: value, view=True),
    jvp=_forward,
    batch=_batch,
    access=_access,
)


_LOGARITHMS: Final = ("_logpdf", "_logpmf")


def has_scores(distribution: str, leaf: str) -> bool:
    """Return whether derivatives of a leaf, a density, are not those of its own formula."""
    is_stated = distribution in scores or not has_own(distribution, leaf)
    return (leaf in _LOGARITHMS and is_stated) or is_sharpened(distribution, leaf)


def slope(distribution: str, leaf: str, xs: Sequence[Any], ts: Sequence[Any], y: Any) -> Any:
    """Return the derivative of a leaf, whose value is y, along tangents, None for zero.

    It is that of scores, where there are.  That of a logarithm of a density f which SciPy takes is
    f'·exp(-y), which has a derivative where that of 1/f overflows.
    """
    is_stated = distribution in scores
    if leaf not in _LOGARITHMS or (has_own(distribution, leaf) and not is_stated):
        return along(distribution, leaf, xs, ts)
    if not is_stated:
        density = leaf.replace("log", "")
        found = along(distribution, density, xs, ts)
        return None if found is None else found * np.exp(-y)
    pairs = list(zip(scores[distribution](*xs), ts, strict=True))
    rest = along(distribution, leaf, xs, [t if own is None else None for own, t in pairs])
    stated = [None if own is None or t is None else own * t for own, t in pairs]
    return sum_tangents([rest, *stated])


def log_density(distribution: str, leaf: str, *xs: Tracer) -> Any:
    """Return a log density by SciPy's formula, or None if it is no program, with its slopes."""
    value = evaluate(distribution, leaf, *map(stop_gradient, xs))
    if value is None:
        return None
    ranks = [(1,) * (value.ndim - x.ndim) + x.shape for x in xs]
    wide = [reshape(convert(x, value.dtype), rank) for x, rank in zip(xs, ranks, strict=True)]
    return bind(log_density_p, Slopes(distribution, leaf), value, *wide)[0]
