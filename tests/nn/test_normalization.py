"""Sums of exponentials: SciPy's values, PyTorch's gradients, extremes, weights, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import special

import funcdiff as fd
from funcdiff import nn
from funcdiff.testing import check_grads
from tests.nn.cases import ROWS, SCORES
from tests.nn.oracle import assert_frozen
from tests.properties.calling import every_call
from tests.rules.sample import real

NN: Any = nn
FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(nn, name) for name in ROWS}
every = pytest.mark.parametrize("name", FUNCTIONS)
matrices = arrays(np.float64, array_shapes(max_dims=3, max_side=4), elements=st.floats(-1e4, 1e4))


@every
def test_values_and_gradients_are_those_of_pytorch(name: str) -> None:
    f = FUNCTIONS[name]
    y, pull = fd.vjp(lambda x: f(x, 1), SCORES)
    assert_frozen(name, y, *pull(real(*y.shape, start=41)))


@pytest.mark.thinned(2)
@every
@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_all_modes_agree_with_differences(name: str, axis: Any) -> None:
    check_grads(lambda x: FUNCTIONS[name](x, axis), (real(2, 3),), order=2)


@every
@given(x=matrices)
def test_plain_traced_and_scipys_values_are_the_same(name: str, x: Any) -> None:
    f = FUNCTIONS[name]
    for axis in (None, 0, x.ndim - 1):
        plain = f(x, axis)
        np.testing.assert_array_equal(plain, fd.vjp(partial(f, axis=axis), x)[0])
        expected = getattr(special, name)(x, axis)
        np.testing.assert_allclose(plain, expected, rtol=1e-13, atol=1e-300)


@pytest.mark.slow
@every
@given(x=matrices)
def test_no_derivative_overflows(name: str, x: Any) -> None:
    def pulled(x: Any) -> Any:
        y, pull = fd.vjp(FUNCTIONS[name], x)
        return pull(np.ones_like(y))[0]

    assert np.isfinite(every_call(pulled, x)).all()


@given(x=matrices)
def test_shares_add_up_to_one_and_keep_under_a_shift(x: Any) -> None:
    np.testing.assert_allclose(np.sum(nn.softmax(x), axis=-1), 1, rtol=1e-13)
    np.testing.assert_allclose(nn.softmax(x + 64.0), nn.softmax(x), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(np.exp(nn.log_softmax(x)), nn.softmax(x), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(
    "row",
    [
        [-np.inf, -np.inf],
        [np.inf, 0.0],
        [np.inf, np.inf],
        [np.inf, -np.inf],
        [-np.inf, 3.0],
        [np.nan, 1.0],
        [1e4, -1e4],
    ],
)
@every
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_infinite_entries_are_as_in_scipy(name: str, row: list[float]) -> None:
    x = np.array([row, [1.0, 2.0]])
    np.testing.assert_allclose(
        FUNCTIONS[name](x, axis=1), getattr(special, name)(x, axis=1), rtol=1e-15
    )


def test_entries_that_are_minus_infinity_take_no_share_and_no_slope() -> None:
    x = np.array([-np.inf, 1.0, 1.0])
    np.testing.assert_array_equal(fd.grad(NN.logsumexp)(x), [0, 0.5, 0.5])
    np.testing.assert_array_equal(
        fd.jacobian(nn.softmax)(x), [[0, 0, 0], [0, 0.25, -0.25], [0, -0.25, 0.25]]
    )
    np.testing.assert_array_equal(fd.grad(lambda x: nn.log_softmax(x)[1])(x), [0, 0.5, -0.5])
    np.testing.assert_array_equal(fd.grad(NN.logsumexp)(np.full(4, -np.inf)), np.full(4, 0.25))


# ---- weights, axes, dtypes -----------------------------------------------------------------------


@pytest.mark.slow
def test_weights_are_scipys() -> None:
    x, b = real(3, 4), np.array([1.0, 0.0, 2.5, 1.0])
    for axis, keepdims in ((0, False), (1, True), (None, False), ((0, 1), True)):
        found = nn.logsumexp(x, axis, b=b, keepdims=keepdims)
        expected = special.logsumexp(x, axis, b, keepdims)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert np.shape(found) == np.shape(expected)
    check_grads(lambda x, b: nn.logsumexp(x, 1, b=b), (x, b), order=2)
    assert np.isnan(nn.logsumexp(np.array([1.0, 2.0]), b=[1, -1]))


def test_a_weight_of_zero_hides_whatever_is_there() -> None:
    x = np.array([np.inf, np.nan, 1e300, 2.0])
    mask = np.array([False, False, False, True])
    assert nn.logsumexp(x, b=mask) == 2
    np.testing.assert_array_equal(fd.grad(lambda x: nn.logsumexp(x, b=mask))(x), [0, 0, 0, 1])


def test_there_may_be_nothing_to_sum() -> None:
    assert nn.logsumexp(np.ones(0)) == -np.inf
    np.testing.assert_array_equal(nn.logsumexp(np.ones((2, 0)), axis=1), [-np.inf, -np.inf])
    np.testing.assert_array_equal(nn.logsumexp(np.ones((0, 2)), axis=1), np.ones(0))
    assert nn.softmax(np.ones((0, 2))).shape == (0, 2)


@every
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
def test_the_dtype_stays(name: str, dtype: str) -> None:
    x = real(2, 3).astype(dtype)
    f = FUNCTIONS[name]
    y, pull = fd.vjp(lambda x: f(x, axis=-1), x)
    assert f(x, axis=-1).dtype == y.dtype == pull(y)[0].dtype == dtype
    eps = max(np.finfo(dtype).eps, np.finfo("f8").eps)
    np.testing.assert_allclose(y, f(x.astype("f8"), axis=-1), rtol=0, atol=float(4 * eps))


@every
def test_integers_become_float64(name: str) -> None:
    f = FUNCTIONS[name]
    for numbers in ([1, 2], np.array([1, 2]), np.array([1, 2], np.int8), (1.0, 2)):
        np.testing.assert_array_equal(f(numbers), f(np.array([1.0, 2.0])))
        assert f(numbers).dtype == np.float64


def test_numbers_are_arrays_of_one_element() -> None:
    assert NN.logsumexp(2.0) == 2
    assert isinstance(nn.logsumexp(np.array([1, 2], np.float32)), np.float32)
    assert fd.grad(NN.logsumexp)(2.0) == 1


def test_complex_exponentials_have_a_sum_but_no_shares() -> None:
    x = np.array([1 + 2j, 3.0])
    np.testing.assert_allclose(nn.logsumexp(x), special.logsumexp(x), rtol=1e-14)
    check_grads(nn.logsumexp, (x,), order=2)
    for name in ("softmax", "log_softmax"):
        for call in (FUNCTIONS[name], lambda x, f=FUNCTIONS[name]: fd.vjp(f, x)):
            with pytest.raises(TypeError, match=rf"nn\.{name} is .*test_normalization"):
                call(x)


def test_lists_of_traced_numbers_are_joined() -> None:
    np.testing.assert_allclose(fd.grad(lambda x: nn.softmax([x, 1.0])[0])(1.0), 0.25, rtol=1e-15)
    assert fd.grad(lambda b: NN.logsumexp([0.0, 0.0], b=[b, 1.0]))(1.0) == 0.5
