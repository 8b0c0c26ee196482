"""NumPy's polynomials, with every argument traced that may be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from tests.differences import differences
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.together import together

Function = Callable[..., Any]

RANDOM = np.random.default_rng(3)
P, Q = RANDOM.normal(size=6), RANDOM.normal(size=3)
X, W = np.linspace(-1, 2, 9), RANDOM.uniform(1, 2, 9)
Y = RANDOM.normal(size=9)

ARITHMETIC: list[Any] = [np.polyadd, np.polysub, np.polymul, np.polydiv]
FITS: list[Function] = [
    lambda x, y, w: np.polyfit(x, y, 2, w=w),
    lambda x, y, w: np.polyfit(x, np.stack([y, y**2], axis=1), 3, w=w),
    lambda x, y, w: np.polyfit(x, y, 2, w=w, cov=True),
    lambda x, y, w: np.polyfit(x, np.stack([y, y**2], axis=1), 2, w=w, cov=True),
    lambda x, y, w: np.polyfit(x, y * w, 1, cov="unscaled"),
    lambda x, y, w: np.polyfit(x, y * w, 2, rcond=1e-9, full=True)[:2],
]


@pytest.mark.parametrize(("p", "q"), [([0, 0, 2], [0, 3, 1]), ([1, 0], [0, 0]), ([], [2, 1])])
def test_a_product_has_no_leading_zeros(p: Any, q: Any) -> None:
    p, q = np.array(p, float), np.array(q, float)
    expected: Any = np.polymul(p, q)
    found: Any = fd.vjp(np.polymul, p, q)[0]
    np.testing.assert_array_equal(found, expected)
    assert found.shape == expected.shape
    rows = np.stack([p, p])
    products = fd.vmap(lambda p: np.polymul(p, q))(rows)  # where they stay
    np.testing.assert_array_equal(products[0][products.shape[1] - len(expected) :], expected)


@pytest.mark.parametrize("f", ARITHMETIC)
def test_a_poly1d_stays_one(f: Function) -> None:
    def coefficients(p: Any, q: Any) -> list[Any]:
        result = f(np.poly1d(p), q)
        return [z.coeffs for z in (result if isinstance(result, tuple) else (result,))]

    assert_value(coefficients, P, Q)
    assert_derivatives(coefficients, P, Q)


@pytest.mark.parametrize("f", [
    lambda c: fnp.polyadd(np.poly1d(c), [3.0]).coeffs,
    lambda c: fnp.polymul([3.0, 1.0], np.poly1d(c)).coeffs,
    lambda c: fnp.polyval(np.poly1d(c), 2.0),
    lambda c: fnp.polyder(np.poly1d(c), m=1).coeffs,
    lambda c: fnp.polydiv(np.poly1d(c), [2.0, 1.0])[0].coeffs,
    lambda c: fnp.sort(fnp.roots(np.poly1d(c)).real),
])  # fmt: skip
def test_a_poly1d_of_traced_coefficients_is_an_argument_like_its_coefficients(f: Any) -> None:
    c = np.array([1.0, -6.0, 11.0, -6.0])
    assert_value(f, c)
    assert_derivatives(f, c)


def test_a_poly1d_of_traced_coefficients_computes() -> None:
    def f(p: Any, q: Any, x: Any) -> Any:
        polynomial: Any = np.poly1d(p)
        inner: Any = np.poly1d(q)
        product = polynomial * polynomial.deriv() + polynomial.integ(k=1.5)
        return product(x), polynomial(inner).coeffs

    assert_value(f, P, Q, X)
    assert_derivatives(f, P, Q, X)


@pytest.mark.parametrize("f", [
    np.polyval,
    lambda p, x: np.polyval(p, x.reshape(3, 3)),
    lambda p, x: np.polyder(p, 2) * x[0],
    lambda p, x: np.polyder(p, 0) * x[0],
    lambda p, x: np.polyint(p, 3, k=x[:3]),
    lambda p, x: np.polyint(p, 2, k=[x[1]]) if np.ndim(p) > 1 else np.polyint(p, 2),
    lambda p, x: np.poly(p) * x[0],
    lambda p, x: np.poly(p + 1j * p[::-1]) * x[0],
    lambda p, x: np.vander(p, 4, increasing=True) * x[0],
])  # fmt: skip
def test_values_and_antiderivatives_are_those_of_numpy(f: Function) -> None:
    assert_value(f, P, X)
    assert_derivatives(f, P, X)


def test_roots_are_those_of_numpy_with_zeros_at_the_ends() -> None:
    def f(p: Any) -> Any:
        zero = np.zeros(2)
        return np.sort_complex(np.roots(np.concatenate([zero[:1], p, zero])))

    np.testing.assert_allclose(fd.vjp(f, P)[0], f(P), rtol=1e-10)
    assert_derivatives(f, P, tolerance=1e-5)
    assert fd.vjp(lambda p: np.roots(0 * p), P)[0].shape == (0,)


def test_a_root_at_zero_and_the_others_change_with_the_coefficients_at_the_ends() -> None:
    p = np.array([0.0, 0.3, 0.2, -0.1, 0.0])
    found, slopes = np.roots(p), fd.jacobian(np.roots)(p)
    powers = found[:, None] ** np.arange(4, -1, -1)
    np.testing.assert_array_equal(fd.vjp(np.roots, p)[0], found)
    expected = -powers / np.polyval(np.polyder(p), found)[:, None]
    np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-15)
    several = fd.jacrev(np.roots)(np.array([2.0, 1.0, 0.0, 0.0]))
    assert np.all(np.isnan(several[1:, 2:].diagonal()))
    np.testing.assert_allclose(several[0], [0.25, -0.5, 1.0, -2.0])


@pytest.mark.thinned(13)
@pytest.mark.parametrize("f", FITS)
def test_fits_have_derivatives_in_points_values_and_weights(f: Function) -> None:
    found = fd.vjp(f, X, Y, W)[0]
    for y, z in zip(found, f(X, Y, W), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-9)
    assert_derivatives(f, X, Y, W, tolerance=1e-5)


def test_a_fit_of_single_precision_stays_in_it() -> None:
    x, y = X.astype("f4"), Y.astype("f4")
    gradient = fd.grad(lambda y: np.polyfit(x, y, 2).sum())(y)
    assert gradient.dtype == np.float32


def test_a_fit_without_enough_points_warns_as_numpy_does() -> None:
    with pytest.warns(np.exceptions.RankWarning):
        fd.grad(lambda y: np.polyfit(X[:2], y, 3).sum())(Y[:2])


def test_fits_are_batched() -> None:
    batch = RANDOM.normal(size=(4, 9))
    found = fd.vmap(lambda y: np.polyfit(X, y, 2))(batch)
    np.testing.assert_allclose(found, [np.polyfit(X, y, 2) for y in batch], rtol=1e-10)


@pytest.mark.parametrize("f", [
    np.polynomial.polynomial.polyval, np.polynomial.chebyshev.chebval,
    np.polynomial.legendre.legval, np.polynomial.hermite.hermval, np.polynomial.laguerre.lagval,
])  # fmt: skip
def test_series_work_in_the_point_and_refuse_traced_coefficients(f: Any) -> None:
    assert_derivatives(lambda x: f(x, Q), X)
    with pytest.raises(fd.errors.LostDerivativeError, match="NumPy cannot dispatch"):
        fd.grad(lambda c: np.sum(f(X, c)))(Q)


# ---- leading zeros -------------------------------------------------------------------------------

ZEROS = [
    np.zeros(3),
    np.array([0.0, 0.0, 2.0]),
    np.array([0.0, 1.5, -1.0]),
    np.array([0.0, 1.0, 0.0]),
]
POINT = np.array([2.0, -0.5])
OF_POLYNOMIALS: dict[str, Function] = {
    "value": lambda c: np.poly1d(c)(POINT),
    "deriv": lambda c: np.poly1d(c).deriv()(POINT),
    "deriv, twice": lambda c: np.poly1d(c).deriv(2)(POINT),
    "integ": lambda c: np.poly1d(c).integ(k=0.5)(POINT),
    "sum": lambda c: (np.poly1d(c) + np.poly1d([1.0, 2.0]))(POINT),
    "difference": lambda c: (np.poly1d([1.0, 2.0]) - np.poly1d(c))(POINT),
    "product": lambda c: (np.poly1d(c) * np.poly1d([1.0, 2.0]))(POINT),
    "square": lambda c: (np.poly1d(c) ** 2 + np.poly1d(c))(POINT),
    "polymul": lambda c: np.polyval(np.polymul(c, [3.0, 1.0, 2.0]), POINT),
    "polyadd": lambda c: np.polyval(np.polyadd(c, np.array([3.0])), POINT),
    "composition": lambda c: np.poly1d([1.0, 2.0, 0.0])(np.poly1d(c))(POINT),
    "remainder": lambda c: np.polyval(np.polydiv(np.append([1.0], c), [1.0, 1.0])[1], POINT),
}


@pytest.mark.slow
@together
@pytest.mark.parametrize("c", ZEROS)
@pytest.mark.parametrize("name", OF_POLYNOMIALS)
def test_leading_coefficients_that_are_zero_keep_their_derivatives(name: str, c: Any) -> None:
    """Differences have other numbers of coefficients."""
    f = OF_POLYNOMIALS[name]
    expected = differences(f, c)
    for derive in (fd.jacfwd, fd.jacrev):
        np.testing.assert_allclose(derive(f)(c), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(fd.vjp(f, c)[0], f(c))


def test_the_shape_of_a_poly1d_is_numpys() -> None:
    def orders(c: Any) -> Any:
        p = np.poly1d(c)
        assert p.order == 1
        assert (p * p).order == 2
        assert p.deriv().coeffs.shape == (1,)
        return p(2.0)

    np.testing.assert_allclose(fd.grad(orders)(np.array([0.0, 1.0, 2.0])), [4.0, 2.0, 1.0])


def test_a_fit_that_begins_at_zeros_moves_all_coefficients() -> None:
    x = np.linspace(-1, 1, 7)

    assert np.all(fd.grad(lambda c: np.sum((np.poly1d(c)(x) - np.exp(x)) ** 2))(np.zeros(3)) < 0)


def test_of_zeros_that_are_cut_off_nobody_knows_how_the_rest_changes() -> None:
    x = np.array([0.0, 1.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(
        fd.grad(lambda x: np.sum(np.trim_zeros(x)))(x), [np.nan, 1.0, 1.0, 1.0, np.nan]
    )
    np.testing.assert_array_equal(
        fd.grad(lambda x: np.sum(np.poly1d(x).coeffs))(x), [np.nan, 1.0, 1.0, 1.0, 1.0]
    )
    masked = fd.grad(lambda x: np.sum(np.trim_zeros(np.where(x > 1, x, 0))))(x)
    np.testing.assert_array_equal(masked, [0.0, 0.0, 0.0, 1.0, 0.0])
