"""Complete and incomplete elliptic integrals, differentiable in amplitude and parameter.

The formulas of the complete integrals are those of the NIST Digital Library of Mathematical
Functions, section 19.4, and, where the parameter m is near 0 and they are 0/0, the series 19.5.1
and 19.5.2.  The incomplete ones lose all digits for small amplitudes in such formulas: their
derivatives are those of the integrands, integrated numerically.

Carlson's symmetric integrals ∫₀^∞ tᵏ Π (t + xⱼ)^(-hⱼ/2) dt, of orders k and h (section 19.16), have
such derivatives, too: the formulas 19.18.1 to 19.18.4 are 0/0 where arguments coincide.  Jacobi's
functions are those of the amplitude φ, for which F(φ, m) = u: their derivatives are those of an
implicit function (sections 22.13 and 22.16).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.scipy.primitives.numerics.derivative_integrals import carlson_integral
from funcdiff.scipy.primitives.special.family import Op, by_order, result_of, special
from funcdiff.scipy.primitives.special.orthogonal_polynomials import hyp2f1

# ---- complete ------------------------------------------------------------------------------------


def _series(a: float, b: float, m: Any) -> Any:
    """Return F(a, b; 2; m) where |m| < 1/2, and 1 elsewhere."""
    x, y, z = (constant(value, m.type) for value in (a, b, 2))
    return hyp2f1(x, y, z, np.where(np.abs(m) < 0.5, m, 0))


def _apart(m: Any, quotient: Any, series: Any) -> Any:
    """Return the quotient, or the series where m is small."""
    return np.where(np.abs(m) < 0.5, series, quotient)


def complete_slope(m: Any, complement: Any, first: Any, second: Any) -> Any:
    """K' = (E / (1 - m) - K) / 2m; infinite with K."""
    quotient = (second / complement - first) / (2 * m)
    slope = _apart(m, quotient, np.pi / 8 * _series(1.5, 1.5, m))
    return np.where(np.isinf(first), first, slope)


ellipk: Op = special("ellipk", lambda m, y: complete_slope(m, 1 - m, y, ellipe(m)))
ellipkm1: Op = special("ellipkm1", lambda p, y: -complete_slope(1 - p, p, y, ellipe(1 - p)))
ellipe: Op = special(
    "ellipe", lambda m, y: _apart(m, (y - ellipk(m)) / (2 * m), -np.pi / 8 * _series(0.5, 1.5, m))
)

# ---- incomplete ----------------------------------------------------------------------------------


def _delta(phi: Any, m: Any) -> Any:
    return np.sqrt(1 - m * np.sin(phi) ** 2)


def _sines(orders: tuple[int, ...], phi: Any, m: Any) -> Any:
    """Return Carlson's integral that it is up to π/2, and what whole periods add to that.

    With sin²θ = sin²φ / (1 + t), where Δ² = 1 - m·sin²φ = cos²φ + (1 - m)·sin²φ.
    """
    p, q = orders
    halves = (0, 1, 2 * (p - q) + 1, 2 * q + 1)
    periods = np.rint(phi / np.pi)
    sine, cosine = np.sin(phi - periods * np.pi), np.cos(phi)
    squares = cosine**2, np.ones_like(phi), cosine**2 + (1 - m) * sine**2
    inside = sine ** (2 * p + 1) / 2 * carlson_integral(halves, *squares)
    if not periods.any():
        return inside
    complete = carlson_integral(halves, np.zeros_like(m), np.ones_like(m), 1 - m)
    return inside + np.where(periods == 0, 0, periods * complete)


def _sines_slope(orders: tuple[int, ...], phi: Any, m: Any) -> Any:
    p, q = orders
    return np.sin(phi) ** (2 * p) / _delta(phi, m) ** (2 * q + 1)


elliptic_sines: Op = by_order(
    "elliptic_sines",
    _sines,
    _sines_slope,
    lambda orders, phi, m: (orders[1] + 0.5) * elliptic_sines(_next(orders), phi, m),
)
"""∫ sin²ᵖθ (1 - m·sin²θ)^(-q - 1/2) dθ from 0 to φ."""


def _next(orders: tuple[int, ...]) -> tuple[int, ...]:
    p, q = orders
    return (p + 1, q + 1)


def _where_known(y: Any, slope: Any) -> Any:
    return np.where(np.isnan(y), y, slope)


ellipkinc: Op = special(
    "ellipkinc",
    lambda phi, m, y: 1 / _delta(phi, m),
    lambda phi, m, y: _where_known(y, elliptic_sines((1, 1), phi, m) / 2),
)
ellipeinc: Op = special(
    "ellipeinc",
    lambda phi, m, y: _delta(phi, m),
    lambda phi, m, y: _where_known(y, elliptic_sines((1, 0), phi, m) / -2),
)

# ---- Carlson's integrals -------------------------------------------------------------------------


def _slope(j: int) -> Op:
    """Return ∂/∂xⱼ, -hⱼ/2 times the integral in which hⱼ is larger by 2."""

    def slope(orders: tuple[int, ...], *xs: Any) -> Any:
        raised = (*orders[: j + 1], orders[j + 1] + 2, *orders[j + 2 :])
        return -orders[j + 1] / 2 * of_arguments[len(xs)](raised, *xs)

    return slope


of_arguments: Final[dict[int, Op]] = {
    n: by_order(f"carlson_{many}", carlson_integral, *map(_slope, range(n)), kinds="fc")
    for n, many in ((2, "pair"), (3, "triple"), (4, "quadruple"))
}
"""How many arguments -> the integrals."""


def _declare(name: str, factor: float, k: int, *halves: int) -> Op:
    """Declare the integral of these orders times a factor."""

    def partial(j: int) -> Op:
        return lambda *xs: factor * _slope(j)((k, *halves), *xs[:-1])

    return special(name, *map(partial, range(len(halves))))


elliprf: Op = _declare("elliprf", 1 / 2, 0, 1, 1, 1)
elliprc: Op = _declare("elliprc", 1 / 2, 0, 1, 2)
elliprd: Op = _declare("elliprd", 3 / 2, 0, 1, 1, 3)
elliprj: Op = _declare("elliprj", 3 / 2, 0, 1, 1, 1, 2)
elliprg: Op = _declare("elliprg", -1 / 4, 1, 1, 1, 1)  # the finite part of what diverges

# ---- Jacobi's functions --------------------------------------------------------------------------


def _amplitude_in_parameter(u: Any, m: Any) -> Any:
    phi = jacobi_amplitude(u, m)
    return -jacobi_dn(u, m) * elliptic_sines((1, 1), phi, m) / 2


def _dn_in_parameter(u: Any, m: Any, y: Any) -> Any:
    s = jacobi_sn(u, m)
    return -(s * s + 2 * m * s * jacobi_cn(u, m) * _amplitude_in_parameter(u, m)) / (2 * y)


def _function(name: str, k: int, by_u: Op, by_m: Op) -> Op:
    return special(name, by_u, by_m, run=result_of("ellipj", k))


jacobi_sn: Op = _function(
    "jacobi_sn",
    0,
    lambda u, m, y: jacobi_cn(u, m) * jacobi_dn(u, m),
    lambda u, m, y: jacobi_cn(u, m) * _amplitude_in_parameter(u, m),
)
jacobi_cn: Op = _function(
    "jacobi_cn",
    1,
    lambda u, m, y: -jacobi_sn(u, m) * jacobi_dn(u, m),
    lambda u, m, y: -jacobi_sn(u, m) * _amplitude_in_parameter(u, m),
)
jacobi_dn: Op = _function(
    "jacobi_dn", 2, lambda u, m, y: -m * jacobi_sn(u, m) * jacobi_cn(u, m), _dn_in_parameter
)
jacobi_amplitude: Op = _function(
    "jacobi_amplitude",
    3,
    lambda u, m, y: jacobi_dn(u, m),
    lambda u, m, y: _amplitude_in_parameter(u, m),
)


def _mean_slope(a: Any, b: Any, y: Any) -> Any:
    """Return ∂/∂a of π(a + b)/4K(m) with m = ((a - b)/(a + b))², DLMF 19.8.5.

    1 - m is a product, which keeps its digits where a and b are far apart.
    """
    total = a + b
    m: Any = ((a - b) / total) ** 2
    complement = 4 * (a / total) * (b / total)
    first = ellipkm1(complement)
    slope = complete_slope(m, complement, first, ellipe(m))
    return y / total - y * slope / first * 4 * b * (a - b) / total**3


agm: Op = special("agm", _mean_slope, lambda a, b, y: _mean_slope(b, a, y))
