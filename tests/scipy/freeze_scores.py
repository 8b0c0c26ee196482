"""Freeze derivatives of log densities and special functions where formulas cancel, by mpmath.

Run ``python -m tests.scipy.freeze_scores`` in an environment with mpmath.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import mpmath as mp
except ModuleNotFoundError:
    mp = None

FILE = Path(__file__).parent / "scores.json"


def _ln_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def _gamma(x: Any, a: Any) -> Any:
    return (a - 1) * mp.log(x) - x - mp.loggamma(a)


def _gennorm(x: Any, b: Any) -> Any:
    return mp.log(b) - mp.loggamma(1 / b) - abs(x) ** b


def _genextreme(x: Any, c: Any) -> Any:
    y = mp.log1p(-c * x) / c
    return y - mp.exp(y) - mp.log1p(-c * x)


def _genhalflogistic(x: Any, c: Any) -> Any:
    y = mp.log1p(-c * x) / c
    return mp.log(2) + y - mp.log1p(-c * x) - 2 * mp.log1p(mp.exp(y))


def _normal_tail(t: Any) -> Any:
    return mp.log(mp.erfc(t / mp.sqrt(2)) / 2)


DENSITIES: dict[str, Callable[..., Any]] = {
    "gamma": _gamma,
    "erlang": _gamma,
    "dgamma": lambda x, a: _gamma(abs(x), a),
    "chi2": lambda x, k: _gamma(x / 2, k / 2),
    "chi": lambda x, k: _gamma(x * x / 2, k / 2) + mp.log(x),
    "invgamma": lambda x, a: _gamma(1 / x, a) - 2 * mp.log(x),
    "nakagami": lambda x, v: v * mp.log(v) - mp.loggamma(v) + (2 * v - 1) * mp.log(x) - v * x * x,
    "loggamma": lambda x, c: c * x - mp.exp(x) - mp.loggamma(c),
    "gengamma": lambda x, a, c: mp.log(c) - mp.loggamma(a) + (c * a - 1) * mp.log(x) - x**c,
    "beta": lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - _ln_beta(a, b),
    "betaprime": lambda x, a, b: (a - 1) * mp.log(x) - (a + b) * mp.log1p(x) - _ln_beta(a, b),
    "f": lambda x, n, m: (
        n / 2 * mp.log(n / m)
        + (n / 2 - 1) * mp.log(x)
        - (n + m) / 2 * mp.log1p(n * x / m)
        - _ln_beta(n / 2, m / 2)
    ),
    "t": lambda x, v: (
        -_ln_beta(v / 2, mp.mpf(1) / 2) - mp.log(v) / 2 - (v + 1) / 2 * mp.log1p(x * x / v)
    ),
    "rdist": lambda x, c: (c / 2 - 1) * mp.log1p(-x * x) - _ln_beta(c / 2, mp.mpf(1) / 2),
    "exponnorm": lambda x, k: 1 / (2 * k * k) - x / k - mp.log(k) + _normal_tail(1 / k - x),
    "logistic": lambda x: -x - 2 * mp.log1p(mp.exp(-x)),
    "genlogistic": lambda x, c: mp.log(c) - x - (c + 1) * mp.log1p(mp.exp(-x)),
    "genhalflogistic": _genhalflogistic,
    "gumbel_r": lambda x: -x - mp.exp(-x),
    "gumbel_l": lambda x: x - mp.exp(x),
    "genextreme": _genextreme,
    "gennorm": _gennorm,
    "halfgennorm": _gennorm,
    "invgauss": lambda x, u: -3 * mp.log(x) / 2 - (x / u - 1) ** 2 / (2 * x),
    "recipinvgauss": lambda x, u: -mp.log(x) / 2 - (1 / u - x) ** 2 / (2 * x),
    "argus": lambda x, c: (
        3 * mp.log(c)
        - mp.log(mp.gammainc(1.5, 0, c * c / 2))
        + mp.log(x)
        + mp.log1p(-x * x) / 2
        + c * c * (x * x - 1) / 2
    ),
    "pareto": lambda x, b: mp.log(b) - (b + 1) * mp.log(x),
    "lognorm": lambda x, s: -mp.log(s * x) - (mp.log(x) / s) ** 2 / 2,
    "vonmises": lambda x, k: k * mp.cos(x) - mp.log(mp.besseli(0, k)),
    "rice": lambda x, b: -(x * x + b * b) / 2 + mp.log(x * mp.besseli(0, x * b)),
    "johnsonsu": lambda x, a, b: mp.log(b) - mp.log1p(x * x) / 2 - (a + b * mp.asinh(x)) ** 2 / 2,
    "poisson": lambda k, u: k * mp.log(u) - u,
    "nbinom": lambda k, n, p: (
        mp.loggamma(n + k) - mp.loggamma(n) + n * mp.log(p) + k * mp.log1p(-p)
    ),
    "betabinom": lambda k, n, a, b: _ln_beta(a + k, b + n - k) - _ln_beta(a, b),
    "betanbinom": lambda k, n, a, b: _ln_beta(a + n, b + k) - _ln_beta(a, b),
    "yulesimon": lambda k, a: mp.log(a) + _ln_beta(k, a + 1),
    "zipf": lambda k, a: -a * mp.log(k) - mp.log(mp.zeta(a)),
    "planck": lambda k, rate: mp.log(-mp.expm1(-rate)) - rate * k,
    "dlaplace": lambda k, a: mp.log(mp.tanh(a / 2)) - a * abs(k),
    "logser": lambda k, p: k * mp.log(p) - mp.log(-mp.log1p(-p)),
}
"""Log densities, but for what depends on neither their arguments nor parameters."""


def _truncweibull_min(x: Any, c: Any, a: Any, b: Any) -> Any:
    return (mp.exp(-(a**c)) - mp.exp(-(x**c))) / (mp.exp(-(a**c)) - mp.exp(-(b**c)))


def _f(x: Any, n: Any, m: Any) -> Any:
    return 1 - mp.betainc(m / 2, n / 2, 0, m / (m + n * x), regularized=True)


def _pearson3(x: Any, skew: Any) -> Any:
    a = 4 / skew**2
    below = mp.gammainc(a, 0, a + 2 * x / skew, regularized=True)
    return below if skew > 0 else 1 - below


def _crystalball(x: Any, beta: Any, m: Any) -> Any:
    """Return F above -β."""
    tail = m / beta / (m - 1) * mp.exp(-beta * beta / 2)
    above, whole = (mp.erfc(v / mp.sqrt(2)) * mp.sqrt(mp.pi / 2) for v in (x, -beta))
    return 1 - above / (tail + whole)


PROBABILITIES: dict[str, Callable[..., Any]] = {
    "mielke.pdf": lambda x, k, s: k * x ** (k - 1) / (1 + x**s) ** (1 + k / s),
    "mielke.cdf": lambda x, k, s: x**k / (1 + x**s) ** (k / s),
    "mielke.sf": lambda x, k, s: 1 - x**k / (1 + x**s) ** (k / s),
    "exponweib.sf": lambda x, a, c: 1 - (1 - mp.exp(-(x**c))) ** a,
    "exponweib.logsf": lambda x, a, c: mp.log(1 - (1 - mp.exp(-(x**c))) ** a),
    "genhalflogistic.sf": lambda x, c: 2 * (1 - c * x) ** (1 / c) / (1 + (1 - c * x) ** (1 / c)),
    "truncweibull_min.cdf": _truncweibull_min,
    "truncweibull_min.sf": lambda *xs: 1 - _truncweibull_min(*xs),
    "truncweibull_min.logpdf": lambda x, c, a, b: (
        mp.log(c) + (c - 1) * mp.log(x) - x**c - mp.log(mp.exp(-(a**c)) - mp.exp(-(b**c)))
    ),
    "truncpareto.logpdf": lambda x, b, c: mp.log(b) - (b + 1) * mp.log(x) - mp.log(1 - c**-b),
    "truncexpon.sf": lambda x, b: (mp.exp(-b) - mp.exp(-x)) / mp.expm1(-b),
    "fatiguelife.pdf": lambda x, c: (
        (x + 1) / (2 * c * mp.sqrt(2 * mp.pi * x**3)) * mp.exp(-((x - 1) ** 2) / (2 * x * c * c))
    ),
    "planck.logsf": lambda k, rate: -rate * (k + 1),
    "pearson3.cdf": _pearson3,
    "pearson3.sf": lambda *xs: 1 - _pearson3(*xs),
    "foldnorm.cdf": lambda x, c: (mp.erf((x - c) / mp.sqrt(2)) + mp.erf((x + c) / mp.sqrt(2))) / 2,
    "crystalball.cdf": _crystalball,
    "f.cdf": _f,
    "f.sf": lambda *xs: 1 - _f(*xs),
}
"""Densities and probabilities of distributions."""


def _beta_function(a: Any, b: Any, p: Any, q: Any) -> Any:
    """Return I(p; a, b), where q = 1 - p, by the series of the smaller side."""
    if p * b > a * q:
        return 1 - _beta_function(b, a, q, p)
    return p**a * q**b / (a * mp.beta(a, b)) * mp.hyp2f1(a + b, 1, a + 1, p)


def _half_beta(v: Any, t: Any) -> Any:
    return _beta_function(v / 2, mp.mpf(1) / 2, v / (v + t * t), t * t / (v + t * t)) / 2


def _airy_factor(z: Any, sign: int) -> Any:
    return mp.exp(sign * 2 * z * mp.sqrt(z) / 3)


SPECIAL: dict[str, Callable[..., Any]] = {
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "k0e": lambda x: mp.besselk(0, x) * mp.exp(x),
    "k1e": lambda x: mp.besselk(1, x) * mp.exp(x),
    "ive": lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)),
    "kve": lambda v, x: mp.besselk(v, x) * mp.exp(x),
    "hankel1e": lambda v, x: mp.hankel1(v, x) * mp.exp(-1j * x),
    "hankel2e": lambda v, x: mp.hankel2(v, x) * mp.exp(1j * x),
    "airye": lambda k, z: (
        (mp.airyai if k < 2 else mp.airybi)(z, derivative=int(k) % 2)
        * _airy_factor(z, 1 if k < 2 else -1)
    ),
    "betaln": _ln_beta,
    "kl_div": lambda x, y: x * mp.log(x / y) - x + y,
    "rel_entr": lambda x, y: x * mp.log(x / y),
    "powm1": lambda x, y: mp.expm1(y * mp.log(x)),
    "stdtr": lambda v, t: _half_beta(v, t) if t < 0 else 1 - _half_beta(v, t),
    "fdtr": lambda m, n, x: _beta_function(m / 2, n / 2, m * x / (n + m * x), n / (n + m * x)),
    "betainc": lambda a, b, x: _beta_function(a, b, x, 1 - x),
    "gammainc": lambda a, x: (
        mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * mp.hyp1f1(1, a + 1, x)
    ),
}
"""Functions of ``scipy.special``, or their real parts; of `airye`, the number of the result comes
first."""

CASES: tuple[tuple[str, int, tuple[float, ...]], ...] = (
    ("gamma", 1, (1e10, 1e10)), ("gamma", 0, (1e10, 1e10)), ("gamma", 1, (3.0, 2.3)),
    ("gamma", 1, (1e300, 1e-300)), ("gamma", 0, (74115205221.0, 0.5)), ("erlang", 1, (1e6, 1e6)),
    ("dgamma", 1, (-1e9, 1e9)), ("chi2", 1, (1e8, 1e8)), ("chi2", 1, (10.0, 1e275)),
    ("chi", 1, (1e5, 1e10)), ("invgamma", 1, (1e-8, 2e8)), ("nakagami", 1, (1.0, 1e12)),
    ("nakagami", 1, (1.001, 1e6)), ("loggamma", 1, (0.5, 1.7)), ("gengamma", 1, (1.5, 2.0, 1.3)),
    ("beta", 1, (0.5, 1e12, 1e12)), ("beta", 2, (0.25, 1e8, 3e8)), ("beta", 1, (0.3, 10.0, 1e-6)),
    ("beta", 2, (0.07, 32007496782.0, 1e63)), ("betaprime", 1, (1.0, 1e9, 1e9)),
    ("betaprime", 2, (0.4, 2.0, 3e9)), ("f", 1, (1.0, 1e8, 1e8)), ("f", 2, (1.0, 1e8, 1e8)),
    ("f", 1, (1.0001, 1e12, 7.0)), ("f", 2, (0.9999, 3.0, 1e10)), ("f", 0, (1.0, 1e8, 1e8)),
    ("t", 0, (1e150, 5.0)), ("t", 0, (-1e-150, 5.0)), ("t", 1, (1.3, 1e10)), ("t", 1, (2.0, 1.5)),
    ("t", 1, (1e150, 5.0)), ("rdist", 1, (3e-6, 1e12)), ("rdist", 0, (1e-12, 3.0)),
    ("exponnorm", 1, (0.3, 1e-4)), ("exponnorm", 0, (0.3, 1e-4)), ("exponnorm", 1, (-1e14, 0.01)),
    ("exponnorm", 1, (0.046, 0.05)), ("exponnorm", 1, (30.0, 2.0)), ("logistic", 0, (1e-15,)),
    ("logistic", 0, (23.0,)), ("genlogistic", 0, (-5e11, 2e-12)), ("gumbel_r", 0, (1e-15,)),
    ("gumbel_l", 0, (1e-10,)), ("genhalflogistic", 1, (0.5, 2e-10)),
    ("genhalflogistic", 0, (1e-15, 1e-15)), ("genextreme", 0, (-3e-3, 1e-9)),
    ("gennorm", 1, (0.5, 1e8)), ("halfgennorm", 1, (0.7, 1e6)), ("invgauss", 0, (2660393.0, 1e-3)),
    ("recipinvgauss", 1, (368528.5, 368528.5)), ("recipinvgauss", 0, (5e11, 1e-4)),
    ("argus", 1, (0.5, 1e-6)), ("argus", 1, (0.7, 1e-2)), ("argus", 1, (0.3, 1.4)),
    ("argus", 1, (0.6, 3.0)), ("argus", 1, (0.9, 40.0)), ("argus", 0, (0.4, 1e-3)),
    ("pareto", 0, (1.0000000001, 1e9)), ("pareto", 1, (100.0, 100.0)),
    ("lognorm", 0, (10.0, 1e150)), ("lognorm", 1, (4e-211, 374.0)), ("vonmises", 1, (2e-3, 1e6)),
    ("vonmises", 1, (0.0, 1e12)), ("rice", 1, (3.0, 3e-13)), ("rice", 1, (1e4, 1e4)),
    ("johnsonsu", 0, (7e11, 0.01, 1.25)), ("poisson", 1, (1e10 + 1, 1e10)),
    ("poisson", 1, (1.0, 1e15)), ("nbinom", 1, (1e10, 1e10, 0.5)), ("nbinom", 1, (1.0, 1e15, 0.3)),
    ("nbinom", 1, (1613.0, 1e9, 0.9999983)), ("betabinom", 2, (3.0, 7.0, 3e9, 4e9)),
    ("betabinom", 3, (3.0, 7.0, 3e9, 4e9)), ("betabinom", 2, (6.0, 3e14, 3868.0, 6.1)),
    ("betanbinom", 2, (19.0, 1.0, 1e8, 1e9)), ("betanbinom", 3, (19.0, 1.0, 1e8, 1e9)),
    ("yulesimon", 1, (1.0, 1e8)), ("yulesimon", 1, (4.0, 2.5)), ("zipf", 1, (89.0, 90.0)),
    ("planck", 1, (10.0, 23.0)), ("dlaplace", 1, (-3.0, 20.0)), ("logser", 1, (1.0, 1.5e-9)),
    ("logser", 1, (4.0, 0.3)), ("i0e", 0, (1e6,)), ("i0e", 0, (-1e12,)), ("i1e", 0, (1e10,)),
    ("i1e", 0, (-400.0,)), ("k0e", 0, (1e12,)), ("k1e", 0, (1e10,)), ("ive", 1, (2.5, 3e8)),
    ("ive", 1, (100.0, 1e5)), ("ive", 1, (-1.7, 1e4)), ("kve", 1, (0.3, 1e8)),
    ("kve", 1, (30.0, 310.0)), ("kve", 1, (1e4, 1e8)), ("airye", 1, (0, 1e6)),
    ("airye", 1, (1, 1e4)), ("airye", 1, (2, 1e6)), ("airye", 1, (3, 1e4)),
    ("mielke.pdf", 2, (0.212286842215, 10.4, 50.09)), ("mielke.cdf", 2, (1e-50, 0.14, 0.36)),
    ("mielke.sf", 2, (0.212286842215, 10.4, 50.09)), ("exponweib.sf", 2, (1e-4, 0.13, 1.95)),
    ("exponweib.logsf", 1, (1e-13, 0.8, 0.68)), ("exponweib.logsf", 2, (2e-6, 0.13, 1.95)),
    ("genhalflogistic.sf", 1, (2e-3, 0.77)),
    ("truncweibull_min.cdf", 1, (0.9997, 2442.0, 0.5, 1.8)),
    ("truncweibull_min.cdf", 3, (0.9997, 2442.0, 0.5, 1.8)),
    ("truncweibull_min.sf", 1, (0.15, 5e-2, 0.1456, 0.2412)),
    ("truncweibull_min.logpdf", 1, (0.993, 2442.0, 0.5, 1.8)),
    ("truncweibull_min.logpdf", 3, (0.15, 4.9e-3, 0.1456, 0.2412)),
    ("truncpareto.logpdf", 2, (1.01, 1e-5, 1.03)),
    ("truncexpon.sf", 1, (1.5, 27.8)), ("fatiguelife.pdf", 1, (1.3, 1e-2)),
    ("planck.logsf", 1, (0.0, 2665.0)), ("f.cdf", 2, (1e19, 9.0, 0.34)),
    ("f.sf", 1, (1e19, 9.0, 0.34)), ("f.sf", 2, (1e6, 2.0, 1.5)),
    ("hankel1e", 1, (2.0, 400.0)), ("hankel1e", 1, (0.0, 1e4)), ("hankel2e", 1, (30.0, 350.0)),
    ("hankel2e", 1, (-1.7, 1e8)), ("betaln", 1, (0.7, 1e-9)), ("betaln", 0, (3.0, 1e-6)),
    ("kl_div", 0, (1e10 + 1, 1e10)),
    ("kl_div", 1, (1e10 + 1, 1e10)), ("rel_entr", 0, (1e-200, 1e200)), ("powm1", 1, (1e12, -1.7)),
    ("stdtr", 0, (0.01, 1.0)), ("stdtr", 0, (3.0, 1e-100)), ("stdtr", 0, (3.0, -1e6)),
    ("stdtr", 0, (300.0, -5.0)), ("stdtr", 0, (1e4, 0.01)), ("stdtr", 0, (4.7e5, 1.3)),
    ("stdtr", 0, (4.7e5, -8.0)), ("stdtr", 0, (1e7, 2.0)), ("fdtr", 0, (3.0, 5.0, 1e-20)),
    ("fdtr", 0, (1e4, 7.0, 1.01)), ("fdtr", 1, (1e4, 7.0, 1.01)), ("fdtr", 0, (3.0, 1e6, 2.0)),
    ("fdtr", 1, (3.0, 1e6, 2.0)), ("fdtr", 1, (0.1, 1e6, 2.0)), ("fdtr", 0, (1e6, 0.3, 2.0)),
    ("fdtr", 2, (2.0, 1.5, 1e6)), ("betainc", 0, (0.7, 1e-9, 0.3)),
    ("betainc", 0, (1e-3, 1e4, 3e-6)), ("betainc", 1, (1e-3, 1e4, 3e-6)),
    ("betainc", 1, (1e-8, 3.0, 0.3)), ("betainc", 0, (1e-8, 1e-8, 0.5)),
    ("gammainc", 0, (1e-8, 1e-3)), ("gammainc", 0, (1e5, 1.003e5)), ("gammainc", 1, (1e5, 1.003e5)),
    ("pearson3.cdf", 1, (-0.510727, 3.0)), ("pearson3.sf", 1, (2.00335, 3.0)),
    ("pearson3.sf", 1, (16.9, 3.0)), ("pearson3.cdf", 1, (-26.6, -2.0)),
    ("pearson3.cdf", 1, (0.7, 0.5)), ("pearson3.sf", 1, (0.7, -0.3)),
    ("foldnorm.cdf", 1, (8e-12, 1.95)), ("foldnorm.cdf", 1, (1.0, 1e-9)),
    ("crystalball.cdf", 1, (7.0, 2.0, 3.0)), ("crystalball.cdf", 2, (7.0, 2.0, 3.0)),
)  # fmt: skip
"""Name, number of the argument, and arguments."""


def derivatives(name: str, k: int, point: tuple[float, ...]) -> tuple[float, float]:
    """Return the first and the second derivative by an argument, as central differences."""
    mp.mp.dps = 220 + 2 * max(abs(math.frexp(v)[1]) for v in point) // 3
    function = DENSITIES.get(name) or PROBABILITIES.get(name) or SPECIAL[name]
    at = [mp.mpf(v) for v in point]
    step = mp.mpf(10) ** -60 * (abs(at[k]) or 1)

    def moved(sign: int) -> Any:
        return mp.re(function(*(v + sign * step * (i == k) for i, v in enumerate(at))))

    above, here, below = moved(1), moved(0), moved(-1)
    return float((above - below) / (2 * step)), float((above - 2 * here + below) / step**2)


def main() -> None:
    """Write the file."""
    rows = [[name, k, point, derivatives(name, k, point)] for name, k, point in CASES]
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
