"""Arrays made like traced ones, of traced values, and between traced end points."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives, assert_value

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""

RANDOM = np.random.default_rng(8)
V = RANDOM.normal(size=4)
W = RANDOM.uniform(0.5, 2, size=4)
Z = V + 1j * RANDOM.normal(size=4)

LIKE: list[Function] = [
    np.zeros_like,
    np.ones_like,
    lambda x: np.empty_like(x) * 0,
    lambda x: np.full_like(x, 3),
    lambda x: np.full_like(x, x[1]) * x,
    lambda x: np.full_like(x, x, shape=(2, 4)),
    lambda x: np.zeros_like(x, dtype=int, shape=(2, 3)),
    lambda x: np.ones_like(x, dtype="f4", shape=5),
    lambda x: np.full_like(x, 2.7, dtype="i8", order="F", subok=False, device="cpu"),
    lambda x: np.zeros(3, like=x) + x[0],
    lambda x: np.ones((2, 2), dtype="f4", like=x),
    lambda x: np.full((2, 4), x, like=x),
    lambda x: np.full(3, 2, like=x),
    lambda x: np.eye(2, like=x) * x[0],
    lambda x: np.arange(1, 7, 2, like=x),
    lambda x: np.asarray(x, like=x) * 2,
]
SPACES: list[Function] = [
    np.linspace,
    lambda a, b: np.linspace(a, b, 7, endpoint=False),
    lambda a, b: np.linspace(a, b, 5, axis=-1),
    lambda a, b: np.linspace(a, b, 1),
    lambda a, b: np.linspace(a, b, 0),
    lambda a, b: np.linspace(a, a, 4),
    lambda a, b: np.linspace(a, b, 4, retstep=True),
    lambda a, b: np.linspace(2, b[0], 4),
    lambda a, b: np.logspace(a, b, 6),
    lambda a, b: np.logspace(a, 0.5, 5, base=2),
    lambda a, b: np.logspace(a, b, 5, base=np.array([2.0, 3, 4, 5]), axis=1),
    lambda a, b: np.logspace(a[0], b[1], 5, endpoint=False, base=a[0] ** 2 + 1),
]


@pytest.mark.parametrize("f", LIKE)
def test_arrays_like_a_traced_one_are_those_of_numpy(f: Function) -> None:
    found = fd.vjp(lambda x: (np.sum(x), f(x)), V, has_aux=True)[2]
    assert np.asarray(found).dtype == f(V).dtype
    np.testing.assert_array_equal(found, f(V))


@pytest.mark.parametrize("f", [LIKE[4], LIKE[5], LIKE[9], LIKE[11], LIKE[13], LIKE[15]])
def test_derivatives_of_filled_arrays(f: Function) -> None:
    assert_derivatives(f, V)


@pytest.mark.parametrize("f", [
    lambda x: np.array([x[0], 2, x[1] * x[2]], like=x),
    lambda x: np.array([[x, 2 * x], [x**2, np.ones(4)]], like=x),
    lambda x: np.array([x[0], 1j], like=x),
    lambda x: np.array(x[0], ndmin=2, dtype=complex, like=x),
    lambda x: np.asarray((x[0], (x[1])), like=x),
    lambda x: np.array([[1, 2], [3, 4]], like=x) * x[0],
])  # fmt: skip
def test_nested_lists_become_one_array(f: Function) -> None:
    assert_value(f, V)
    assert_derivatives(f, V)


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


@pytest.mark.parametrize("f", SPACES)
def test_spaces_have_the_values_of_numpy(f: Function) -> None:
    assert_value(f, V, W)


@pytest.mark.parametrize("f", SPACES)
def test_derivatives_of_spaces(f: Function) -> None:
    assert_derivatives(f, V, W)


@pytest.mark.thinned(6)
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


@pytest.mark.parametrize("f", [lambda x: np.linspace(x, 3, 4), lambda x: np.geomspace(x, 3, 4)])
def test_spaces_batch(f: Any) -> None:
    np.testing.assert_allclose(fd.vmap(f)(W), np.stack([f(w) for w in W]), rtol=1e-13)


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.linspace(x, 1, -1), ValueError, "Number of samples, -1, must be non-negative"),
    (lambda x: np.geomspace(x * 0, 1), ValueError, "Geometric sequence cannot include zero"),
    (lambda x: np.array([x, x[0]], like=x), ValueError, r"parts have the shapes \(\), \(4,\)"),
    (lambda x: np.zeros_like(x, dtype=object), UnsupportedNumPyError, "dtype=object"),
    (lambda x: NP.zeros_like(x, device="gpu"), UnsupportedNumPyError, r"zeros_like\(device=\)"),
])  # fmt: skip
def test_errors_say_what_is_wrong(f: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, V)
