"""Edges of ``scipy.special``: poles, tails, ends of domains, digits that formulas lose."""

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


@pytest.mark.slow
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


@pytest.mark.parametrize(("a", "x", "slope", "curvature"), [
    (0.3, 0.2, -1.02338030722039, 0.958991143292019),
    (2.5, 1.7, -0.266542608550025, 0.109879287867948),
    (2.5, 6.0, -0.043929239988368, -0.0391854400984171),
    (40.0, 35.0, -0.0480011964148018, 0.00642556613750398),
    (1000.0, 1010.0, -0.0119457313372254, -0.000118872890085978),
    (0.001, 1.0, -0.219832728883122, -0.448638726768911),
])  # fmt: skip
def test_gammainc_in_its_shape_has_ten_digits(
    a: float, x: float, slope: float, curvature: float
) -> None:
    first = fd.grad(lambda a: scipy_special.gammainc(a, x))
    np.testing.assert_allclose(first(a), slope, rtol=1e-11)
    np.testing.assert_allclose(fd.grad(first)(a), curvature, rtol=1e-9)
    complement = fd.grad(lambda a: scipy_special.gammaincc(a, x))
    np.testing.assert_allclose(complement(a), -slope, rtol=1e-11)


@pytest.mark.parametrize(("a", "b", "x", "first", "second"), [
    (0.6, 0.7, 0.8, -0.285493569617342, 0.43597508190146),
    (2.0, 3.0, 0.4, -0.240869376087557, 0.156344336413599),
    (30.0, 50.0, 0.3, -0.0231252877109438, 0.0117228664110616),
    (0.01, 2.0, 0.5, -0.195254811845141, 0.00216188865024143),
    (400.0, 600.0, 0.42, -0.0066114451813905, 0.0045932532236577),
])  # fmt: skip
def test_betainc_in_its_parameters_has_ten_digits(
    a: float, b: float, x: float, first: float, second: float
) -> None:
    slopes = fd.grad(lambda a, b: scipy_special.betainc(a, b, x), argnums=(0, 1))(a, b)
    np.testing.assert_allclose(slopes, (first, second), rtol=1e-10)


@pytest.mark.parametrize(("name", "x", "slope", "rtol"), [
    ("erfcx", 1.5, -0.1636229177325601, 1e-14),
    ("erfcx", 45.0, -0.0002784060150105393, 1e-14),
    ("log_ndtr", -40.0, 40.02496884720726, 1e-14),
    ("log_ndtr", -5.0, 5.186503967125842, 1e-14),
    ("log_ndtr", 3.0, 0.004437839042125664, 1e-14),
    ("rgamma", -3.0, -6.0, 1e-14),
])  # fmt: skip
def test_slopes_that_naive_formulas_lose_keep_their_digits(
    name: str, x: float, slope: float, rtol: float
) -> None:
    np.testing.assert_allclose(fd.grad(getattr(scipy_special, name))(x), slope, rtol=rtol)


def test_the_curvature_of_erfcx_far_out_keeps_its_digits() -> None:
    curvature = fd.grad(fd.grad(scipy_special.erfcx))(45.0)
    np.testing.assert_allclose(curvature, 1.236445084040019e-05, rtol=1e-13)
