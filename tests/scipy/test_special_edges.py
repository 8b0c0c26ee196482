"""Edges of ``scipy.special``: poles, far tails, ends of domains, removable singularities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from tests.together import together

INF, NAN = np.inf, np.nan


def slopes(name: str, *point: float) -> tuple[Any, ...]:
    """Return the partial derivatives in all arguments, the same in both modes."""
    function = getattr(scipy_special, name)
    pulled: tuple[Any, ...] = fd.grad(function, argnums=tuple(range(len(point))))(*point)
    for k, slope in enumerate(pulled):

        def along(x: Any, place: int = k) -> Any:
            return function(*point[:place], x, *point[place + 1 :])

        np.testing.assert_allclose(fd.jvp(along, (point[k],), (1.0,))[1], slope, rtol=1e-13)
    return pulled


@together
@pytest.mark.parametrize(("name", "x", "slope"), [
    ("gammaln", 0.0, -INF),
    ("gammaln", -1.0, NAN),
    ("gamma", 200.0, INF),
    ("rgamma", 0.0, 1.0),
    ("erfinv", 1.0, INF),
    ("erfinv", -1.0, INF),
    ("erfcinv", 0.0, -INF),
    ("ndtri", 0.0, INF),
    ("logit", 0.0, INF),
    ("logit", 1.0, INF),
    ("expit", 1000.0, 0.0),
    ("expit", -1000.0, 0.0),
    ("expit", 40.0, 4.248354255291589e-18),
    ("log_expit", 1000.0, 0.0),
    ("log_expit", -1000.0, 1.0),
    ("entr", 0.0, INF),
    ("ndtr", 40.0, 0.0),
    ("ndtr", -40.0, 0.0),
    ("log_ndtr", 40.0, 0.0),
    ("log_ndtr", -1e4, 10000.000099999997),
    ("erfcx", 1e8, -5.641895835477563e-17),
    ("dawsn", -1e8, -5e-17),
    ("exprel", 0.0, 0.5),
    ("exprel", -1000.0, 1e-6),
    ("cbrt", 0.0, INF),
])  # fmt: skip
def test_slopes_at_the_ends_of_a_domain_are_the_limits(name: str, x: float, slope: float) -> None:
    np.testing.assert_allclose(slopes(name, x), [slope], rtol=1e-13)


@together
@pytest.mark.parametrize(("name", "point", "expected"), [
    ("xlogy", (0.0, 0.0), (0.0, 0.0)),
    ("xlogy", (0.0, -1.0), (0.0, 0.0)),
    ("xlogy", (0.0, 2.0), (np.log(2), 0.0)),
    ("xlog1py", (0.0, -1.0), (0.0, 0.0)),
    ("xlog1py", (0.0, 1.0), (np.log(2), 0.0)),
    ("rel_entr", (0.0, 0.0), (1.0, -1.0)),
    ("kl_div", (0.0, 0.0), (0.0, 0.0)),
    ("kl_div", (0.0, 1.0), (-INF, 1.0)),
    ("gammainc", (2.0, 0.0), (0.0, 0.0)),
    ("gammainc", (0.5, 0.0), (0.0, INF)),
    ("gammainc", (2.0, INF), (0.0, 0.0)),
    ("betainc", (1.0, 3.0, 0.0), (0.0, 0.0, 3.0)),
    ("betainc", (2.0, 1.0, 1.0), (0.0, 0.0, 2.0)),
    ("boxcox", (2.0, 0.0), (0.5, np.log(2) ** 2 / 2)),
    ("boxcox", (2.0, 1e-20), (0.5, np.log(2) ** 2 / 2)),
    ("boxcox", (0.0, 2.0), (0.0, 0.25)),
    ("boxcox1p", (1.0, 0.0), (0.5, np.log(2) ** 2 / 2)),
    ("inv_boxcox", (2.0, 0.0), (np.exp(2), -2 * np.exp(2))),
    ("inv_boxcox", (-1.0, 1.0), (1.0, -1.0)),
    ("inv_boxcox1p", (2.0, 0.0), (np.exp(2), -2 * np.exp(2))),
    ("huber", (1.0, 1.0), (0.0, 1.0)),
    ("huber", (-1.0, 1.0), (NAN, NAN)),
    ("pseudo_huber", (0.0, 0.0), (0.0, 0.0)),
    ("pseudo_huber", (0.0, 3.0), (3.0, 0.0)),
    ("pseudo_huber", (1.0, 0.0), (0.0, 0.0)),
    ("owens_t", (0.0, 0.0), (0.0, 1 / (2 * np.pi))),
    ("binom", (3.0, 5.0), (-0.05, 0.05)),
    ("poch", (-3.0, 5.0), (-6.0, 0.0)),
])  # fmt: skip
def test_slopes_at_removable_singularities_are_finite(
    name: str, point: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(slopes(name, *point), expected, rtol=1e-13, atol=1e-15)


def test_poch_of_a_pole_and_a_whole_number_has_the_slope_of_the_polynomial() -> None:
    slope = fd.grad(lambda z: scipy_special.poch(z, 2.0))(-3.0)  # z² + z
    np.testing.assert_allclose(slope, -5.0, rtol=1e-14)


@pytest.mark.parametrize("name", ["boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p"])
def test_the_transformations_of_box_and_cox_are_smooth_where_lambda_vanishes(name: str) -> None:
    hessian = fd.hessian(getattr(scipy_special, name), argnums=(0, 1))
    np.testing.assert_allclose(hessian(1.7, 0.0), hessian(1.7, 1e-9), rtol=1e-7)


def test_a_masked_entropy_of_probabilities_with_zeros_is_finite() -> None:
    p, q = np.array([0.0, 0.5, 0.5]), np.array([0.0, 0.25, 0.75])
    p_slope, q_slope = fd.grad(lambda p, q: np.sum(scipy_special.kl_div(p, q)), argnums=(0, 1))(
        p, q
    )
    np.testing.assert_allclose(p_slope, [0.0, np.log(2), np.log(2 / 3)], rtol=1e-14)
    np.testing.assert_allclose(q_slope, [0.0, -1.0, 1 / 3], rtol=1e-14)


def test_an_infinite_slope_behind_a_mask_is_zero() -> None:
    def f(x: Any) -> Any:
        return np.where(x > 0, scipy_special.logit(np.abs(x)), 0.0)

    assert fd.grad(f)(0.0) == 0


@together
@pytest.mark.parametrize(("function", "x", "first", "second"), [
    (scipy_special.erf, INF, 0.0, 0.0),
    (scipy_special.erfc, -INF, 0.0, 0.0),
    (scipy_special.ndtr, -INF, 0.0, 0.0),
    (scipy_special.log_ndtr, INF, 0.0, 0.0),
    (scipy_special.rgamma, INF, 0.0, 0.0),
    (scipy_special.i0e, INF, 0.0, 0.0),
    (scipy_special.i1e, -INF, 0.0, 0.0),
    (scipy_special.i1e, 1e20, 0.0, 0.0),
    (scipy_special.k0e, INF, 0.0, 0.0),
    (scipy_special.k1e, INF, 0.0, 0.0),
    (scipy_special.logit, 0.0, INF, -INF),
    (scipy_special.logit, 1.0, INF, INF),
    (scipy_special.expi, 0.0, INF, -INF),
    (scipy_special.expi, INF, INF, INF),
    (scipy_special.exp1, 0.0, -INF, INF),
    (scipy_special.exprel, INF, INF, INF),
    (lambda x: scipy_special.sici(x)[1], 0.0, INF, -INF),
    (lambda x: scipy_special.sici(x)[1], INF, 0.0, 0.0),
    (lambda x: scipy_special.shichi(x)[1], 0.0, INF, -INF),
    (lambda x: scipy_special.shichi(x)[1], -INF, -INF, INF),
    (lambda x: scipy_special.beta(2.0, x), INF, 0.0, 0.0),
    (lambda x: scipy_special.betaln(x, 2.0), INF, 0.0, 0.0),
    (lambda x: scipy_special.pseudo_huber(2.0, x), -INF, -2.0, 0.0),
    (lambda x: scipy_special.owens_t(0.0, x), 1e200, 0.0, 0.0),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*(divide by zero|invalid value|overflow):RuntimeWarning")
def test_both_derivatives_are_the_limits_where_these_exist(
    function: Any, x: float, first: float, second: float
) -> None:
    slope = fd.grad(function)
    tiny = 1e-24  # what is as small as this counts as 0
    assert slope(x) == pytest.approx(first, abs=tiny)
    assert fd.grad(slope)(x) == pytest.approx(second, abs=tiny)
    assert fd.jvp(slope, (x,), (1.0,))[1] == pytest.approx(second, abs=tiny)
