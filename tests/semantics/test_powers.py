"""Powers and products where a factor is zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.claims import alike
from tests.semantics.modes import slopes

ARRAY = np.array([1.0])

test_powers_are_exact_at_zero = slopes({
    "an integer power has slope zero": [
        (f, 0.0, 0)
        for n in (2, 2.0, 3, 4.0, np.float64(2), np.array(3.0))
        for f in (lambda x, n=n: x**n, lambda x, n=n: np.power(x, n))
    ],
    "the first power has slope one": (lambda x: x**1, 0.0, 1, 0),
    "the first power has no curvature even as an argument": [
        (lambda x: np.power(x, 1.0), 0.0, 1, 0),
        (lambda x: np.power(x, ARRAY)[0], 0.0, 1, 0),
    ],
    "the zeroth power has slope zero": [
        (lambda x: x**0, 0.0, 0), (lambda x: np.power(x, 0), 0.0, 0)
    ],
    "a cube has curvature zero": [
        (lambda x: x**3, 0.0, 0, 0), (lambda x: np.power(x, 3), 0.0, 0, 0)
    ],
    "a negative base has no trouble with an integer exponent": [
        (lambda x: x**3, -2.0, 12),
        (lambda x: x**3.0, -2.0, 12, -12),
        (lambda x: x**-1, -2.0, -0.25),
        (lambda x: np.power(x, 2.0).sum(), [0.0, -1.0], [0, -2]),
    ],
    "arrays of exponents take each case by itself": (
        lambda x: np.sum(x ** np.array([0.0, 1, 2, 3])), np.zeros(4), [0, 1, 0, 0]
    ),
})  # fmt: skip

test_a_product_is_differentiated_without_dividing = slopes({
    **{
        f"{name} of {x}": (f, x, [b * c, a * c, a * b], [[0, c, b], [c, 0, a], [b, a, 0]])
        for name, f in {
            "np.prod": np.prod,
            "the method": lambda x: x.prod(),
            "along an axis": lambda x: np.prod(x, axis=0),
            "multiply.reduce": np.multiply.reduce,
            "cumprod": lambda x: np.cumprod(x)[-1],
        }.items()
        for x in ([0.0, 2, 3], [2.0, 0, 3], [0.0, 0, 3], [0.0, 0, 0], [2.0, 5, 3])
        for a, b, c in [x]
    },
    "all of a cumulative product": (lambda x: np.sum(np.cumprod(x)), [2.0, 0, 3], [1, 8, 0]),
    "nothing": (lambda x: np.prod(x), np.zeros(0), np.zeros(0)),
})  # fmt: skip

BOTH: dict[str, tuple[float, float, float, float]] = {
    "zero to the zero": (0.0, 0.0, 0.0, 0.0),
    "zero": (0.0, 1.0, 1.0, 0.0),
    "zero squared": (0.0, 2.0, 0.0, 0.0),
    "the root of zero": (0.0, 0.5, np.inf, 0.0),
    "two to the zero": (2.0, 0.0, 0.0, np.log(2.0)),
    "one over one": (1.0, -1.0, -1.0, 0.0),
}
"""Base, exponent, and the slope in each."""

test_both_slopes_of_a_power = slopes({
    name: [
        (lambda x, n=n: np.power(x, n), x, by_base),
        (lambda n, x=x: np.power(x, n), n, by_exponent),
    ]
    for name, (x, n, by_base, by_exponent) in BOTH.items()
}, rtol=1e-15)  # fmt: skip

test_both_slopes_of_a_power_at_once = alike({
    name: (lambda x=x, n=n: fd.grad(np.power, (0, 1))(x, n), tuple(expected))
    for name, (x, n, *expected) in BOTH.items()
}, rtol=1e-15)  # fmt: skip

test_a_reciprocal_at_zero_falls_without_bound_in_its_exponent = pytest.mark.filterwarnings(
    "ignore:divide by zero encountered"
)(slopes({"in all modes": (lambda n: np.power(0.0, n), -1.0, -np.inf)}))

test_a_negative_base_has_a_slope_in_the_base_alone = alike(
    {
        "in the base": (lambda: fd.grad(np.power)(-2.0, 3.0), 12),
        "forward": (lambda: fd.jvp(lambda x: np.power(x, 3.0), (-2.0,), (1.0,))[1], 12),
        "in the exponent if asked": (lambda: fd.grad(np.power, (0, 1))(-2.0, 3.0), (12, np.nan)),
    }
)


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


@pytest.mark.parametrize("n", [-1.0, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("power", [np.power, np.float_power, lambda x, n: x**n])
def test_second_derivatives_in_base_and_exponent_are_those_of_the_formula(
    n: float, power: Callable[..., Any]
) -> None:
    x = np.array([2.0, 1e-12, 1e12])
    mixed = x ** (n - 1) * (1 + n * np.log(x))
    expected = np.array([[n * (n - 1) * x ** (n - 2), mixed], [mixed, x**n * np.log(x) ** 2]])
    derive = fd.vmap(fd.hessian(lambda z: power(z[0], z[1])))
    for f in (derive, fd.jit(derive)):
        found = f(np.stack([x, np.full(3, n)], 1))
        np.testing.assert_allclose(found, np.moveaxis(expected, -1, 0), rtol=1e-13)


@pytest.mark.parametrize("x", [0.0, 5e-324, -1e-310])
def test_the_power_zero_among_others_has_slope_zero_where_the_reciprocal_overflows(
    x: float,
) -> None:
    derive = fd.grad(lambda x, n: np.sum(x**n))
    assert derive(x, np.array([0.0, 1.0, 2.0])) == 1 + 2 * x


@pytest.mark.thinned(5)
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
