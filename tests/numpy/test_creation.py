"""Arrays made like traced ones, of traced values, and between traced end points."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value

RANDOM = np.random.default_rng(8)
V = RANDOM.normal(size=4)
W = RANDOM.uniform(0.5, 2, size=4)
Z = V + 1j * RANDOM.normal(size=4)


def test_an_array_of_a_traced_array_is_a_copy() -> None:
    def f(x: Any) -> Any:
        y = np.array(x, like=x)
        y *= 2
        return x * y

    np.testing.assert_array_equal(fd.vjp(f, np.array([3.0]))[0], [18])


def test_an_array_like_a_traced_one_can_be_filled() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y += x
        y *= x
        return y

    assert_value(f, V)
    assert_derivatives(f, V)


@pytest.mark.thinned(10)
@pytest.mark.parametrize("keywords", [{}, {"endpoint": False}, {"axis": 1}, {"dtype": complex}])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
def test_geometric_sequences_of_either_sign_are_those_of_numpy(num: int, keywords: Any) -> None:
    for start, stop in ((W, 3 * W), (-W, -3 * W), (Z, 2 * Z)):
        expected = np.geomspace(start, stop, num, **keywords)
        found = fd.vjp(lambda a, b: np.geomspace(a, b, num, **keywords), start, stop)[0]
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        assert_derivatives(lambda a, b: np.geomspace(a, b, num, **keywords), start, stop)


def test_a_space_of_equal_ends_has_derivatives() -> None:
    np.testing.assert_allclose(
        fd.jacobian(lambda a: np.linspace(a, 1, 3))(1.0), [1, 0.5, 0], rtol=1e-15
    )


def test_integer_spaces_have_no_derivative_but_work() -> None:
    expected = np.linspace(0.5, 9, 4, dtype=int)
    value, pull = fd.vjp(lambda b: np.linspace(0.5, b, 4, dtype=int) * 1.0, 9.0)
    np.testing.assert_array_equal(value, expected)
    assert pull(np.ones(4))[0] == 0
