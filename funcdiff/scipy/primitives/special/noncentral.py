"""Noncentral distribution functions of χ², of Fisher's F and Student's t, and all inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.scipy.primitives.numerics.chi_means import student_derivative
from funcdiff.scipy.primitives.numerics.contours import (
    beta_derivative,
    chi_square_derivative,
    chi_square_log_density,
)
from funcdiff.scipy.primitives.special.family import Formula, Op, by_order, special
from funcdiff.scipy.primitives.special.inverse import inverses

# ---- the families of their derivatives -----------------------------------------------------------


def _slope_in(family: Callable[[], Op], place: int) -> Formula:
    def partial(orders: tuple[int, ...], *xs: Any) -> Any:
        return family()(_shift_order(orders, place), *xs)

    return partial


def _shift_order(orders: tuple[int, ...], place: int, by: int = 1) -> tuple[int, ...]:
    return *orders[:place], orders[place] + by, *orders[place + 1 :]


def _by_odds(orders: tuple[int, ...], a: Any, nc: Any, odds: Any, b: Any) -> Any:
    """Return the slope of the factors v⁻ᵇ, (t/v)ᵏ and (-ln v)ʲ with v = 1 - odds·t."""
    raised = _shift_order(orders, 2)
    slope = (b + orders[2]) * noncentral_beta(raised, a, nc, odds, b)
    if j := orders[3]:
        slope = slope + j * noncentral_beta(_shift_order(raised, 3, -1), a, nc, odds, b)
    return slope


noncentral_chi_square: Op = by_order(
    "noncentral_chi_square",
    chi_square_derivative,
    *(_slope_in(lambda: noncentral_chi_square, k) for k in range(3)),
)
noncentral_chi_square_log_density: Op = by_order(
    "noncentral_chi_square_log_density",
    chi_square_log_density,
    *(_slope_in(lambda: noncentral_chi_square_log_density, k) for k in range(3)),
)
noncentral_beta: Op = by_order(
    "noncentral_beta",
    beta_derivative,
    *(_slope_in(lambda: noncentral_beta, k) for k in range(2)),
    _by_odds,
    _slope_in(lambda: noncentral_beta, 3),
)

noncentral_t: Op = by_order(
    "noncentral_t", student_derivative, *(_slope_in(lambda: noncentral_t, k) for k in range(3))
)

# ---- the distribution functions ------------------------------------------------------------------


def _chi_square_slope(*orders: int) -> Op:
    return lambda x, df, nc, _y: noncentral_chi_square(orders, df / 2, nc / 2, x / 2) / 2


def _beta(orders: tuple[int, ...], m: Any, n: Any, nc: Any, f: Any) -> Any:
    return noncentral_beta(orders, m / 2, nc / 2, m * f / n, n / 2)


def _slope_by_logarithm(m: Any, n: Any, nc: Any, f: Any) -> Any:
    """Return the slope by the logarithm of the odds, which is 0 at both ends."""
    inside = (f > 0) & (f < np.inf)
    z = np.where(inside, f, 1)
    return np.where(inside, m * z / n * _beta((0, 0, 1, 0), m, n, nc, z), 0)


def _f_freedom(m: Any, n: Any, nc: Any, f: Any, _y: Any) -> Any:
    return _beta((1, 0, 0, 0), m, n, nc, f) / 2 + n / (2 * m) * _slope_by_logarithm(m, n, nc, f)


def _f_other_freedom(m: Any, n: Any, nc: Any, f: Any, _y: Any) -> Any:
    return (_beta((0, 0, 0, 1), m, n, nc, f) - _slope_by_logarithm(m, n, nc, f)) / 2


def _f_noncentrality(m: Any, n: Any, nc: Any, f: Any, _y: Any) -> Any:
    return _beta((0, 1, 0, 0), m, n, nc, f) / 2


def _f_density(m: Any, n: Any, nc: Any, f: Any, _y: Any) -> Any:
    return m / 2 * _beta((0, 0, 1, 0), m, n, nc, f)


def _student_slope(*orders: int) -> Op:
    def slope(df: Any, nc: Any, t: Any, y: Any) -> Any:
        return np.where(np.isnan(y), np.nan, noncentral_t(orders, df, nc, t))

    return slope


_CHI_SQUARE: Final = tuple(map(_chi_square_slope, (0, 1, 0), (0, 0, 1), (1, 0, 0)))
_F: Final = (_f_freedom, _f_other_freedom, _f_noncentrality, _f_density)
_STUDENT: Final = tuple(map(_student_slope, (1, 0, 0), (0, 1, 0), (0, 0, 1)))

chndtr: Op = special("chndtr", *_CHI_SQUARE)
ncfdtr: Op = special("ncfdtr", *_F)
nctdtr: Op = special("nctdtr", *_STUDENT)
inverses(("chndtrix", "chndtridf", "chndtrinc"), chndtr, *_CHI_SQUARE)
inverses(("ncfdtridfn", "ncfdtridfd", "ncfdtrinc", "ncfdtri"), ncfdtr, *_F)
inverses(("nctdtridf", "nctdtrinc", "nctdtrit"), nctdtr, *_STUDENT)
