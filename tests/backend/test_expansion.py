"""What stands for functions that NumPy is slow at is accurate, and the same at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.code.lower import lower
from funcdiff.backend.kernels import Kernel

ULPS = 2.0
EDGES = [
    0.0, np.inf, np.nan, 5e-324, 1e-310, 1e-160, 1e-108, 1e-40, 1.0, 1e103, 1e154, 1e160, 1e300,
]  # fmt: skip
RANDOM = np.random.default_rng(0)
SPREAD = np.concatenate(
    [EDGES, np.exp(RANDOM.uniform(-300, 300, 5000)), RANDOM.uniform(1, 2, 5000)]
)
BOTH = np.concatenate([SPREAD, -SPREAD])


def computed(f: Any, *arrays: Any) -> Any:
    program = fd.trace(f)(*arrays)
    assert lower(program) is not program
    with np.errstate(all="ignore"):
        return Kernel(program, None)(*arrays)[0]


def assert_close(y: Any, exact: Any) -> None:
    """Assert that results are as promised, and rounded as such where they are subnormal."""
    expected = exact.astype(y.dtype)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(y[~finite], expected[~finite])
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(y[number]), np.signbit(expected[number]))
    off = np.abs(y[finite] - exact[finite]) / np.spacing(np.abs(expected[finite]))
    own = 1.0 if np.finfo(np.longdouble).eps > 1e-18 else 0.0  # of a reference no wider
    assert np.max(off) <= ULPS + own


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 4, -2])
def test_powers_are_products_that_are_off_by_two_units_at_most(n: int, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = BOTH.astype(dtype)
        assert_close(computed(lambda x: x ** float(n), x), np.power(x.astype(np.longdouble), n))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_of_sums_are_off_by_two_units_at_most(dtype: Any) -> None:
    spread = [np.concatenate([RANDOM.normal(size=20_000) * 5, BOTH]) for _ in range(2)]
    with np.errstate(all="ignore"):
        x, y = spread[0].astype(dtype), RANDOM.permutation(spread[1]).astype(dtype)
    for a, b in ((x, y), (x, x), (x, np.zeros_like(x))):
        with np.errstate(all="ignore"):
            found = computed(lambda x, y: np.logaddexp(x, y), a, b)
            exact = np.logaddexp(a.astype(np.longdouble), b.astype(np.longdouble))
            cancels = np.abs(exact) < 0.5  # between a maximum and a logarithm that are larger
        assert_close(found[~cancels], exact[~cancels])
        np.testing.assert_allclose(found[cancels], exact[cancels], atol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("product", [lambda x, y: -x * y, lambda x, y: x * -y])
def test_of_a_negated_product_either_factor_may_be_the_negated_one(product: Any) -> None:
    x, y = np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, 4.0])
    found = computed(lambda x, y: fd.nn.sigmoid(product(x, y)), x, y)
    np.testing.assert_allclose(found, fd.nn.sigmoid(product(x, y)), rtol=1e-15)


@pytest.mark.parametrize("n", [2.0, 0.5, -1.0, 1.5, 5.0])
def test_other_powers_stay_with_numpy(n: float) -> None:
    program = fd.trace(lambda x: x**n)(np.ones(3))
    assert lower(program) is program


def test_numbers_and_other_dtypes_stay_with_numpy() -> None:
    for x in (2.0, np.arange(1, 4), np.ones(3, np.complex128)):
        program = fd.trace(lambda x: x**3)(x)
        assert lower(program) is program


TWICE: dict[str, Callable[[Any], Any]] = {
    "a cube": lambda x: (x**3, np.square(x) * x),
    "a fourth power": lambda x: (x**4, np.square(np.square(x))),
    "an inverse square": lambda x: (x**-2.0, np.square(np.reciprocal(x))),
    "a view of a cube": lambda x: (x**3, (np.square(x) * x)[::-1]),
}


@pytest.mark.parametrize("name", TWICE)
def test_results_that_are_computed_as_one_are_two_arrays(name: str) -> None:
    f, x = TWICE[name], np.linspace(0.5, 1.5, 20)
    g = fd.jit(f)
    for _ in range(3):
        y, z = g(x)
        assert not np.shares_memory(y, z)
    program = fd.trace(f)(x)
    memory: Any = [np.empty(20), np.empty(20)]
    Kernel(program, None, (0, 1))(x, *memory)
    np.testing.assert_allclose(memory, f(x), rtol=1e-15)


@pytest.mark.parametrize("name", TWICE)
def test_carries_that_are_computed_as_one_have_rows_of_their_own(name: str) -> None:
    def f(xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            a, b = carry
            return TWICE[name](np.tanh(a - 2 * b + x) + 2.0), (a, b)

        return fd.scan(body, (np.zeros(20), np.ones(20)), xs)

    xs = np.linspace(0.5, 1.5, 60).reshape(3, 20)
    g = fd.jit(f)
    for _ in range(2):
        for found, expected in zip(g(xs), f(xs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
