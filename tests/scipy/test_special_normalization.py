"""logsumexp, softmax and log_softmax: SciPy's values, stable derivatives, every keyword."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from funcdiff.scipy import special
from funcdiff.testing import check_grads
from tests.numpy.agreement import default

INF = np.inf
A = np.array([[0.3, -1.2, 0.7, 2.1], [1.4, 0.2, -0.6, 0.9], [-2.0, 0.1, 0.5, 1.4]])
B = np.array([[1.0, 2.0, -0.5, 0.25]])


def run(f: Callable[..., Any], *args: Any) -> Any:
    """Return the values of a function of traced arrays."""
    return fd.vjp(f, *args)[0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_has_the_values_of_scipy(dtype: Any, axis: Any, keepdims: bool) -> None:
    a = A.astype(dtype)
    expected = scipy_special.logsumexp(a, axis, keepdims=keepdims)
    found = run(lambda a: special.logsumexp(a, axis, keepdims=keepdims), a)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
    assert found.dtype == dtype
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("a", [A, A * (1 + 0.3j)])
@pytest.mark.parametrize("axis", [None, 1])
def test_weights_and_signs_are_those_of_scipy(a: Any, axis: Any) -> None:
    expected = scipy_special.logsumexp(a, axis, b=B, return_sign=True)
    found = run(lambda a: special.logsumexp(a, axis, b=B, return_sign=True), a)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-13)
        assert value.dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize("f", [scipy_special.softmax, scipy_special.log_softmax])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_softmax_has_the_bits_of_scipy(f: Any, axis: Any) -> None:
    ours = getattr(special, f.__name__)
    np.testing.assert_array_equal(run(lambda a: ours(a, axis), A), f(A, axis))


@pytest.mark.thinned(5)
@pytest.mark.parametrize("f", [
    special.logsumexp,
    lambda a: special.logsumexp(a, axis=0, keepdims=True),
    lambda a: special.logsumexp(a, 1, b=B, return_sign=True)[0],
    lambda a: special.logsumexp(a, 1, b=B * a * a),
    lambda a: special.logsumexp(a * (1 + 0.3j)),
    lambda a: special.logsumexp(a * (1 + 0.3j), 0, return_sign=True),
    lambda a: special.softmax(a, 0),
    lambda a: special.softmax(a),
    lambda a: special.log_softmax(a, axis=1),
    special.softplus,
])  # fmt: skip
def test_derivatives_equal_differences_to_second_order(f: Any) -> None:
    check_grads(f, (A,), order=default.order)


@pytest.mark.parametrize(("x", "value", "shares"), [
    ([INF, INF, 1.0], INF, [0.5, 0.5, 0.0]),
    ([-INF, -INF], -INF, [0.5, 0.5]),
    ([-INF, 1.0], 1.0, [0.0, 1.0]),
    ([INF, -INF], INF, [1.0, 0.0]),
    ([1000.0, 1000.0], 1000 + np.log(2), [0.5, 0.5]),
    ([-1000.0, -1000.0], -1000 + np.log(2), [0.5, 0.5]),
])  # fmt: skip
def test_extreme_entries_share_the_derivative(x: Any, value: float, shares: Any) -> None:
    x = np.array(x)
    found, slope = fd.value_and_grad(special.logsumexp)(x)
    np.testing.assert_allclose(found, value, rtol=1e-15)
    np.testing.assert_allclose(slope, shares, rtol=1e-15)
    np.testing.assert_allclose(fd.jacfwd(special.logsumexp)(x), shares, rtol=1e-15)


def test_an_entry_of_weight_zero_counts_only_in_the_derivative_by_its_weight() -> None:
    x = np.array([1.0, 2.0, 0.0])
    by_weight = fd.grad(lambda b: special.logsumexp(x, b=b))(np.array([0.0, 1.0, 1.0]))
    np.testing.assert_allclose(by_weight, np.exp(x) / np.exp(x[1:]).sum(), rtol=1e-14)
    by_entry = fd.grad(lambda x: special.logsumexp(x, b=[0.0, 1.0, 1.0]))(np.array([INF, 2.0, 0.0]))
    np.testing.assert_allclose(by_entry, [0.0, *scipy_special.softmax(x[1:])], rtol=1e-14)


def test_largest_entries_that_cancel_leave_the_others() -> None:
    x, weights = np.array([-60.0, 2.0, 2.0]), np.array([0.5, 1.0, -1.0])
    found = run(lambda x: special.logsumexp(x, b=weights), x)
    np.testing.assert_allclose(found, -60 + np.log(0.5), rtol=1e-15)
    slope = fd.grad(lambda w: special.logsumexp(np.array([1.0, 2.0, 2.0]), b=w))(weights)
    np.testing.assert_allclose(slope, np.exp([1.0, 2.0, 2.0]) / (0.5 * np.e), rtol=1e-14)


def test_the_logarithm_of_a_negative_sum_is_nan() -> None:
    assert np.isnan(run(lambda x: special.logsumexp(x, b=-1.0), np.ones(2)))


def test_the_sum_of_nothing_is_minus_infinity() -> None:
    assert run(special.logsumexp, np.zeros(0)) == -INF


def test_a_list_of_traced_numbers_is_an_array() -> None:
    assert fd.grad(lambda x: special.logsumexp([x, x]))(0.5) == 1


def test_integers_count_as_floats() -> None:
    program = fd.trace(special.logsumexp)(np.array([1, 2]))
    assert fd.evaluate(program, [np.array([1, 2])]) == [scipy_special.logsumexp([1, 2])]


def test_vmap_of_a_row_is_the_axis() -> None:
    rows = fd.vmap(special.logsumexp)(A)
    np.testing.assert_allclose(rows, scipy_special.logsumexp(A, 1), rtol=1e-15)


def test_log_softmax_keeps_what_softmax_loses() -> None:
    slope = fd.grad(lambda x: special.log_softmax(x)[1])(np.array([800.0, 0.0]))
    np.testing.assert_array_equal(slope, [-1.0, 1.0])
