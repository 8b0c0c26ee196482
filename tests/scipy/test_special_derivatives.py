"""Derivatives of the ufuncs of ``scipy.special``: all arguments, modes and orders, by one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from funcdiff.testing import check_grads
from tests.numpy.agreement import default
from tests.together import together

POINTS: list[tuple[Any, ...]] = [
    ("gamma", 2.3), ("gamma", -1.4), ("gamma", 1.2 + 0.7j),
    ("gammaln", 2.3), ("gammaln", -1.4),
    ("loggamma", 2.3), ("loggamma", -2.2 + 0.4j),
    ("rgamma", 2.3), ("rgamma", -1.4), ("rgamma", -2.0), ("rgamma", 1.1 + 0.3j),
    ("psi", 2.3), ("digamma", -1.4), ("psi", -3.2 + 0.6j),
    ("beta", 1.3, 2.7), ("betaln", 1.3, 2.7),
    ("binom", 5.3, 2.2), ("binom", -1.3, 0.4), ("binom", 3.0, 5.0), ("binom", 2.5, -1.0),
    ("poch", 1.3, 2.2), ("poch", -1.6, 0.3), ("poch", -3.0, 5.0),
    ("gammainc", 2.3, 1.1), ("gammainc", 0.4, 0.9), ("gammaincc", 1.7, 5.0),
    ("gammaincinv", 2.3, 0.3), ("gammainccinv", 2.3, 0.3),
    ("betainc", 1.3, 2.7, 0.4), ("betaincc", 0.6, 0.7, 0.8),
    ("betaincinv", 1.3, 2.7, 0.4), ("betainccinv", 1.3, 2.7, 0.4),
    ("erf", 0.7), ("erf", 0.3 + 0.2j), ("erfc", 0.7), ("erfc", 0.3 + 0.2j),
    ("erfi", 0.7), ("erfi", 0.3 + 0.2j), ("erfcx", -1.2), ("erfcx", 0.3 + 0.2j),
    ("dawsn", 0.7), ("dawsn", 0.3 + 0.2j), ("erfinv", 0.3), ("erfcinv", 1.3),
    ("fresnel", 0.7), ("fresnel", 0.5 + 0.4j), ("owens_t", 0.7, 1.3),
    ("ndtr", 0.7), ("ndtr", 0.3 + 0.2j), ("ndtri", 0.3), ("ndtri_exp", -0.7),
    ("log_ndtr", 0.7), ("log_ndtr", -2.0), ("log_ndtr", 0.3 + 0.2j),
    ("logit", 0.3), ("expit", 0.7), ("log_expit", 0.7),
    ("huber", 1.0, 0.4), ("huber", 1.0, -2.1), ("pseudo_huber", 0.5, -2.1),
    ("xlogy", 1.2, 0.7), ("xlogy", 0.4 + 0.3j, 1.1 + 0.2j),
    ("xlog1py", 1.2, 0.7), ("xlog1py", 0.4 + 0.3j, 1.1 + 0.2j),
    ("entr", 0.6), ("rel_entr", 0.6, 0.9), ("kl_div", 0.6, 0.9),
    ("boxcox", 1.7, 0.4), ("boxcox", 1.7, 0.0), ("boxcox", 0.3, -1.2),
    ("boxcox1p", 0.7, 0.4), ("boxcox1p", 0.7, 0.0),
    ("inv_boxcox", 0.7, 0.4), ("inv_boxcox", 0.7, 0.0),
    ("inv_boxcox1p", 0.7, 0.4), ("inv_boxcox1p", 0.7, 0.0),
    ("exprel", 0.7), ("exprel", 0.0), ("exprel", -14.0), ("powm1", 1.4, 0.8),
    ("cbrt", 0.8), ("exp2", 0.8), ("exp10", 0.8), ("expm1", 0.8), ("expm1", 0.1 + 0.3j),
    ("log1p", 0.8), ("log1p", 0.1 + 0.3j), ("cosm1", 0.8),
    ("sindg", 30.0), ("cosdg", 30.0), ("tandg", 30.0), ("cotdg", 30.0),
    ("radian", 30.0, 20.0, 10.0), ("gammasgn", -1.4), ("round", 1.2),
]  # fmt: skip
REAL = [(name, *point) for name, *point in POINTS if not any(isinstance(x, complex) for x in point)]


def ids(entry: tuple[Any, ...]) -> str:
    name, *point = entry
    return f"{name}{tuple(point)}"


@pytest.mark.thinned(12)
@pytest.mark.parametrize("entry", POINTS, ids=ids)
def test_both_modes_to_second_order_equal_differences(entry: tuple[Any, ...]) -> None:
    name, *point = entry
    check_grads(getattr(scipy_special, name), point, order=default.order)


@together
@pytest.mark.parametrize("entry", POINTS, ids=ids)
def test_values_are_those_of_scipy(entry: tuple[Any, ...]) -> None:
    name, *point = entry
    function = getattr(scipy_special, name)
    expected = np.asarray(function(*point))
    value, _ = fd.vjp(lambda *xs: np.stack(fd.pytree.flatten(function(*xs))[0]), *point)
    np.testing.assert_array_equal(value, expected.reshape(value.shape))


@together
@pytest.mark.parametrize("entry", REAL, ids=ids)
def test_single_precision_stays_single_precision(entry: tuple[Any, ...]) -> None:
    name, *point = entry
    function = getattr(scipy_special, name)
    xs = [np.float32(x) for x in point]
    slopes = fd.vjp(function, *xs)[1]
    exact = fd.vjp(function, *map(np.float64, xs))[1]
    ones = fd.pytree.map(np.ones_like, function(*xs))
    for slope, wanted in zip(slopes(ones), exact(fd.pytree.map(np.float64, ones)), strict=True):
        assert slope.dtype == np.float32
        np.testing.assert_allclose(slope, wanted, rtol=2e-4, atol=1e-5)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("entry", POINTS, ids=ids)
def test_vmap_of_the_gradient_is_a_loop(entry: tuple[Any, ...]) -> None:
    name, *point = entry
    function = getattr(scipy_special, name)
    steps = 0.001 * np.arange(3)
    rows = [x + steps for x in point]

    def slopes(*xs: Any) -> Any:
        primals = tuple(xs)
        return fd.jvp(function, primals, tuple(x * 0 + 1 for x in primals))[1]

    batched = fd.pytree.flatten(fd.vmap(slopes)(*rows))[0]
    for k in range(3):
        single = fd.pytree.flatten(slopes(*(row[k] for row in rows)))[0]
        np.testing.assert_allclose([y[k] for y in batched], single, rtol=1e-13)


# ---- digits: the references were computed with 60 of them ----------------------------------------


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


def test_a_gamma_distribution_is_fitted_through_its_distribution_function() -> None:
    shape = 2.7
    quantiles = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    points = scipy_special.gammaincinv(shape, quantiles)

    def loss(a: Any) -> Any:
        return np.sum((scipy_special.gammainc(a, points) - quantiles) ** 2)

    a = 1.5
    for _ in range(8):
        a -= fd.grad(loss)(a) / fd.grad(fd.grad(loss))(a)
    np.testing.assert_allclose(a, shape, rtol=1e-10)
