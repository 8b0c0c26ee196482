"""Powers and products where a factor is zero."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

Derivative = Callable[[Callable[..., Any], Any], Any]


# ---- constant exponents ----------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 2.0, 3, 4.0, np.float64(2), np.array(3.0)])
def test_an_integer_power_has_slope_zero_at_zero(n: Any, gradient: Derivative) -> None:
    assert gradient(lambda x: x**n, 0.0) == 0
    assert gradient(lambda x: np.power(x, n), 0.0) == 0


def test_the_first_power_has_slope_one_at_zero(gradient: Derivative, second: Derivative) -> None:
    assert gradient(lambda x: x**1, 0.0) == 1
    assert second(lambda x: x**1, 0.0) == 0


def test_the_zeroth_power_has_slope_zero_at_zero(gradient: Derivative) -> None:
    assert gradient(lambda x: x**0, 0.0) == 0
    assert gradient(lambda x: np.power(x, 0), 0.0) == 0


def test_a_cube_has_curvature_zero_at_zero(second: Derivative) -> None:
    assert second(lambda x: x**3, 0.0) == 0
    assert second(lambda x: np.power(x, 3), 0.0) == 0


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("x", [0.0, -2.0, 1.5])
def test_every_order_of_an_integer_power_is_exact(n: int, x: float) -> None:
    f: Any = lambda x: x**n
    coefficient = 1.0
    for order in range(1, n + 3):
        f = fd.grad(f)
        coefficient *= n - order + 1
        expected = coefficient * x ** (n - order) if order <= n else 0.0
        np.testing.assert_allclose(f(x), expected, rtol=1e-15, err_msg=f"order {order}")


def test_a_negative_base_has_no_trouble_with_an_integer_exponent(
    gradient: Derivative, second: Derivative
) -> None:
    assert gradient(lambda x: x**3, -2.0) == 12
    assert gradient(lambda x: x**3.0, -2.0) == 12
    assert second(lambda x: x**3.0, -2.0) == -12
    assert gradient(lambda x: x**-1, -2.0) == -0.25


# ---- both operands ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "exponent", "slopes"),
    [
        (0.0, 0.0, (0.0, 0.0)),
        (0.0, 1.0, (1.0, 0.0)),
        (0.0, 2.0, (0.0, 0.0)),
        (0.0, 0.5, (np.inf, 0.0)),
        (2.0, 0.0, (0.0, np.log(2.0))),
        (1.0, -1.0, (-1.0, 0.0)),
    ],
)
def test_both_slopes_of_a_power(
    base: float, exponent: float, slopes: tuple[float, float], gradient: Derivative
) -> None:
    both: Any = fd.grad(np.power, (0, 1))(base, exponent)
    np.testing.assert_allclose(both, slopes, rtol=1e-15)
    by_base = gradient(lambda x: np.power(x, exponent), base)
    by_exponent = gradient(lambda n: np.power(base, n), exponent)
    np.testing.assert_allclose((by_base, by_exponent), slopes, rtol=1e-15)


@pytest.mark.filterwarnings("ignore:divide by zero encountered")
def test_a_reciprocal_at_zero_falls_without_bound_in_its_exponent(gradient: Derivative) -> None:
    assert gradient(lambda n: np.power(0.0, n), -1.0) == -np.inf


def test_the_first_power_has_no_curvature_at_zero_even_as_an_argument(
    second: Derivative,
) -> None:
    assert second(lambda x: np.power(x, 1.0), 0.0) == 0
    exponent = np.array([1.0])
    assert second(lambda x: np.power(x, exponent)[0], 0.0) == 0


def test_a_negative_base_has_an_exact_slope_in_the_base() -> None:
    assert fd.grad(np.power)(-2.0, 3.0) == 12
    assert fd.jvp(lambda x: np.power(x, 3.0), (-2.0,), (1.0,))[1] == 12


def test_a_negative_base_has_no_slope_in_the_exponent_and_says_so_only_if_asked() -> None:
    base, exponent = fd.grad(np.power, argnums=(0, 1))(-2.0, 3.0)
    assert base == 12
    assert np.isnan(exponent)


def test_arrays_of_exponents_take_each_case_by_itself(gradient: Derivative) -> None:
    n = np.array([0.0, 1.0, 2.0, 3.0])
    result = gradient(lambda x: np.sum(x**n), np.zeros(4))
    np.testing.assert_array_equal(result, [0, 1, 0, 0])


# ---- products --------------------------------------------------------------------------------


PRODUCTS: list[Callable[[Any], Any]] = [
    np.prod,
    lambda x: x.prod(),
    lambda x: np.prod(x, axis=0),
    np.multiply.reduce,
    lambda x: np.cumprod(x)[-1],
]


@pytest.mark.parametrize("f", PRODUCTS)
@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0.0, 2, 3], [6, 0, 0]),
        ([2.0, 0, 3], [0, 6, 0]),
        ([0.0, 0, 3], [0, 0, 0]),
        ([2.0, 5, 3], [15, 6, 10]),
    ],
)
def test_a_product_is_differentiated_without_dividing(
    f: Any, x: list[float], expected: list[float], gradient: Derivative
) -> None:
    np.testing.assert_array_equal(gradient(f, np.array(x)), expected)


@pytest.mark.parametrize("f", PRODUCTS)
@pytest.mark.parametrize("x", [[0.0, 2, 3], [0.0, 0, 3], [0.0, 0, 0], [1.0, 2, 4]])
def test_the_hessian_of_a_product_is_exact(f: Any, x: list[float], second: Derivative) -> None:
    a, b, c = x
    expected = [[0, c, b], [c, 0, a], [b, a, 0]]
    np.testing.assert_array_equal(second(f, np.array(x)), expected)


def test_a_cumulative_product_is_exact_at_a_zero(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.cumprod(x)), np.array([2.0, 0, 3]))
    np.testing.assert_array_equal(result, [1, 8, 0])


def test_an_empty_product_has_an_empty_gradient() -> None:
    assert fd.grad(lambda x: np.prod(x))(np.zeros(0)).shape == (0,)


# ---- bits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_powers_of_numbers_have_the_bits_of_their_operator(kind: Any) -> None:
    functions: list[Callable[..., Any]] = [
        lambda x, p: x**p,
        lambda x, p: 2.5**x + 0 * p,
        lambda x, p: x**3 + 0 * p,
        lambda x, p: x**-1.7 + 0 * p,
        lambda x, p: pow(x, p),
    ]
    points = np.random.default_rng(0).uniform((0.0, -3.0), (10.0, 3.0), (60, 2))
    for f in functions:
        derive, compiled = fd.value_and_grad(f), fd.jit(f)
        for x, p in points:
            expected = f(kind(x), kind(p))
            assert derive(kind(x), kind(p))[0] == expected
            assert compiled(kind(x), kind(p)) == expected
            assert fd.jvp(f, (kind(x), kind(p)), (kind(1), kind(0)))[0] == expected


@pytest.mark.parametrize("n", [2, 0.5, -1])
def test_squares_roots_and_reciprocals_of_numbers_are_the_nearest_ones(n: float) -> None:
    for x in np.random.default_rng(0).uniform(0, 10, 40):
        nearest = {2: x * x, 0.5: np.sqrt(x), -1: 1 / x}[n]
        assert fd.value_and_grad(lambda x: x**n)(float(x))[0] == nearest
        assert abs(nearest - float(x) ** n) <= np.spacing(nearest)


def test_powers_of_arrays_have_the_bits_of_their_loop() -> None:
    x = np.random.default_rng(0).uniform(0, 10, 50)
    for p in (1.7, 3.0, -0.3):
        np.testing.assert_array_equal(fd.vjp(pow, x, p)[0], x**p)
        np.testing.assert_array_equal(fd.vjp(pow, x[:1], p)[0], x[:1] ** p)
