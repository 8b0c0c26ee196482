"""Jacobi's elliptic functions and the arithmetic-geometric mean.

The functions are those of the amplitude φ, for which F(φ, m) = u: their derivatives are those of
an implicit function (NIST Digital Library of Mathematical Functions, sections 22.13 and 22.16).
"""

from __future__ import annotations

from typing import Any

from funcdiff.scipy.primitives.special.elliptic import (
    complete_slope,
    ellipe,
    ellipk,
    ellipkinc,
    incomplete_slope,
)
from funcdiff.scipy.primitives.special.family import Op, result_of, special


def _amplitude_in_parameter(u: Any, m: Any) -> Any:
    phi = jacobi_amplitude(u, m)
    return -jacobi_dn(u, m) * incomplete_slope(phi, m, ellipkinc(phi, m))


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
    "jacobi_dn",
    2,
    lambda u, m, y: -m * jacobi_sn(u, m) * jacobi_cn(u, m),
    _dn_in_parameter,
)
jacobi_amplitude: Op = _function(
    "jacobi_amplitude",
    3,
    lambda u, m, y: jacobi_dn(u, m),
    lambda u, m, y: _amplitude_in_parameter(u, m),
)


def _mean_slope(a: Any, b: Any, y: Any) -> Any:
    """Return ∂/∂a of π(a + b)/4K(m) with m = ((a - b)/(a + b))², DLMF 19.8.5."""
    total = a + b
    m: Any = ((a - b) / total) ** 2
    first = ellipk(m)
    slope = complete_slope(m, 1 - m, first, ellipe(m))
    return y / total - y * slope / first * 4 * b * (a - b) / total**3


agm: Op = special("agm", _mean_slope, lambda a, b, y: _mean_slope(b, a, y))
