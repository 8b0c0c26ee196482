"""Leaves of SciPy's noncentral distributions as integrals that keep their digits in both tails."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any, Final

import numpy as np

from funcdiff.numpy.border.promotion import array
from funcdiff.scipy import special
from funcdiff.scipy.primitives.special.noncentral import (
    noncentral_beta,
    noncentral_chi_square,
    noncentral_chi_square_log_density,
    noncentral_t,
)
from funcdiff.scipy.stats.counts import nothing_stated

# ---- Student's t ---------------------------------------------------------------------------------


def _student(orders: tuple[int, ...], df: Any, nc: Any, t: Any) -> Any:
    return noncentral_t(orders, *map(array, np.broadcast_arrays(df, nc, t)))


def _nct_munp(_self: Any, n: int, df: Any, nc: Any) -> Any:
    """E[(Z + δ)ⁿ]·(ν/2)ⁿᐟ²·Γ((ν-n)/2)/Γ(ν/2), which exists for n < ν.

    N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous Univariate Distributions", volume 2,
    chapter 31.
    """
    normal = sum(
        comb(n, 2 * k) * float(np.prod(np.arange(2 * k - 1, 0, -2))) * nc ** (n - 2 * k)
        for k in range(n // 2 + 1)
    )
    ratio = np.exp(special.gammaln((df - n) / 2) - special.gammaln(df / 2))
    return normal * (df / 2) ** (n / 2) * ratio


# ---- χ² and F ------------------------------------------------------------------------------------


def _ncx2_pdf(_self: Any, x: Any, df: Any, nc: Any) -> Any:
    operands = map(array, np.broadcast_arrays(df / 2, nc / 2, x / 2))
    return noncentral_chi_square((0, 0, 1), *operands) / 2


def _ncx2_logpdf(_self: Any, x: Any, df: Any, nc: Any) -> Any:
    operands = map(array, np.broadcast_arrays(df / 2, nc / 2, x / 2))
    return noncentral_chi_square_log_density((0, 0, 0), *operands) - np.log(2)


def _ncf_pdf(_self: Any, x: Any, dfn: Any, dfd: Any, nc: Any) -> Any:
    odds = dfn * x / dfd
    operands = map(array, np.broadcast_arrays(dfn / 2, nc / 2, odds, dfd / 2))
    return dfn / 2 * noncentral_beta((0, 0, 1, 0), *operands)


def _ncf_munp(_self: Any, n: int, dfn: Any, dfd: Any, nc: Any) -> Any:
    """E[(χ'²)ⁿ]·E[(χ²)⁻ⁿ]·(dfd/dfn)ⁿ, which exists for 2n < dfd, and is else nan."""
    above: Any = 0
    for j in range(n + 1):
        term = comb(n, j) * (nc / 2) ** j
        for k in range(j, n):
            term = term * (dfn / 2 + k)
        above = above + term
    finite = dfd > 2 * n
    half = np.where(finite, dfd / 2, n + 1)
    below: Any = 1
    for k in range(1, n + 1):
        below = below * (half - k)
    return np.where(finite, 1.0, np.nan) * above / below * (dfd / dfn) ** n


NONCENTRAL: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "nct": {
        "_pdf": lambda _self, x, df, nc: _student((0, 0, 1), df, nc, x),
        "_cdf": lambda _self, x, df, nc: _student((0, 0, 0), df, nc, x),
        "_sf": lambda _self, x, df, nc: _student((0, 0, 0), df, -nc, -x),
        "_munp": _nct_munp, "_stats": nothing_stated},
    "ncx2": {
        "_logpdf": _ncx2_logpdf, "_pdf": _ncx2_pdf,
        "_cdf": lambda _self, x, df, nc: special.chndtr(x, df, nc)},
    "ncf": {
        "_pdf": _ncf_pdf, "_munp": _ncf_munp, "_stats": nothing_stated,
        "_logpdf": lambda self, *xs: np.log(self._pdf(*xs))},
}  # fmt: skip
"""Distribution -> leaf -> what computes it, with the distribution in front."""
