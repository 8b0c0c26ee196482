"""Activations: values, slopes at kinks, tails and infinities, dtypes, and life without SciPy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import funcdiff as fd
from funcdiff import nn
from funcdiff.scipy.primitives.numerics.distribution_function import normal
from funcdiff.testing import check_grads
from tests.nn.cases import POINTS, SLOPES
from tests.nn.oracle import assert_frozen

NN: Any = nn
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": NN.relu,
    "sigmoid": NN.sigmoid,
    "softplus": NN.softplus,
    "gelu": NN.gelu,
    "gelu_tanh": partial(NN.gelu, approximate="tanh"),
}
every = pytest.mark.parametrize("name", ACTIVATIONS)
finite = st.floats(-1e300, 1e300, allow_subnormal=False)


def test_every_activation_is_frozen() -> None:
    assert set(SLOPES) == set(ACTIVATIONS)


@every
def test_values_and_two_derivatives_are_those_of_pytorch(name: str) -> None:
    f = ACTIVATIONS[name]
    slope = fd.elementwise_grad(f)
    assert_frozen(name, f(POINTS), slope(POINTS), fd.elementwise_grad(slope)(POINTS))


@pytest.mark.slow
@every
def test_all_modes_agree_with_differences(name: str) -> None:
    check_grads(ACTIVATIONS[name], (np.array([-3.1, -0.4, 0.7, 2.2]),), order=3)


@every
def test_a_plain_array_gives_what_a_traced_one_gives(name: str) -> None:
    f = ACTIVATIONS[name]
    assert type(f(POINTS)) is np.ndarray
    np.testing.assert_array_equal(f(POINTS), fd.vjp(f, POINTS)[0])
    np.testing.assert_array_equal(f(POINTS), fd.jit(f)(POINTS))
    np.testing.assert_array_equal(f(POINTS), fd.vmap(f)(POINTS))


@pytest.mark.parametrize(
    ("name", "values", "slopes", "curvatures"),
    [
        ("relu", (0, np.inf), (0, 1), (0, 0)),
        ("sigmoid", (0, 1), (0, 0), (0, 0)),
        ("softplus", (0, np.inf), (0, 1), (0, 0)),
        ("gelu", (0, np.inf), (0, 1), (0, 0)),
        ("gelu_tanh", (0, np.inf), (0, 1), (0, 0)),
    ],
)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_infinite_operands_give_the_limits(
    name: str, values: Any, slopes: Any, curvatures: Any, dtype: str
) -> None:
    f = ACTIVATIONS[name]
    x = np.array([-np.inf, np.inf], dtype)
    slope = fd.elementwise_grad(f)
    for g, expected in ((f, values), (slope, slopes), (fd.elementwise_grad(slope), curvatures)):
        np.testing.assert_array_equal(g(x), np.array(expected, dtype))
        assert g(x).dtype == dtype


@every
def test_nothing_is_made_of_a_number_that_is_none(name: str) -> None:
    f = ACTIVATIONS[name]
    assert np.isnan(f(np.nan))
    assert np.isnan(f(np.array([np.nan]))).all()


@given(finite)
def test_what_is_between_bounds_stays_there(x: float) -> None:
    assert 0 <= NN.sigmoid(x) <= 1
    assert NN.relu(x) == max(x, 0)
    assert NN.softplus(x) >= NN.relu(x)
    assert min(x, 0) / 2 - 1e-300 <= NN.gelu(x) <= NN.relu(x)


@given(st.floats(-700, 700))
def test_the_logistic_function_keeps_its_small_values_and_slopes(x: float) -> None:
    np.testing.assert_allclose(NN.sigmoid(x), special.expit(x), rtol=4e-16)
    slope = np.exp(-abs(x)) / (1 + np.exp(-abs(x))) ** 2
    np.testing.assert_allclose(fd.grad(NN.sigmoid)(x), slope, rtol=2e-15)
    np.testing.assert_allclose(fd.grad(NN.softplus)(x), special.expit(x), rtol=4e-16)
    np.testing.assert_allclose(fd.grad(fd.grad(NN.softplus))(x), slope, rtol=2e-15)


def test_the_kink_of_relu_has_the_symmetric_slope() -> None:
    assert fd.grad(NN.relu)(0.0) == 0.5
    assert fd.jvp(NN.relu, (0.0,), (1.0,))[1] == 0.5
    assert fd.grad(fd.grad(NN.relu))(0.0) == 0


# ---- dtypes --------------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@every
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
def test_the_dtype_stays_and_values_are_rounded_once_or_twice(name: str, dtype: str) -> None:
    f = ACTIVATIONS[name]
    x = np.linspace(-4, 4, 33).astype(dtype)
    if name == "gelu" and dtype == "g":
        with pytest.raises(TypeError, match=r"nn.gelu: x has dtype .*approximate='tanh'"):
            f(x)
        return
    assert f(x).dtype == fd.elementwise_grad(f)(x).dtype == dtype
    error = np.abs(f(x) - f(x.astype("f8")))
    eps = max(np.finfo(dtype).eps, np.finfo("f8").eps)
    assert (error <= 8 * eps * np.maximum(1, np.abs(x))).all()


@every
def test_integers_and_numbers_become_float64(name: str) -> None:
    f = ACTIVATIONS[name]
    for numbers in ([1, -2], np.array([1, -2]), np.array([1, -2], np.int8), (1.0, -2.0)):
        assert f(numbers).dtype == np.float64
        np.testing.assert_array_equal(f(numbers), f(np.array([1.0, -2.0])))
    assert isinstance(f(1), np.float64)
    assert isinstance(f(np.float32(1)), np.float32)
    assert f(np.array([True])).dtype == np.float64


@every
def test_what_is_not_real_is_refused(name: str) -> None:
    f = ACTIVATIONS[name]
    base = name.removesuffix("_tanh")
    with pytest.raises(TypeError, match=rf"nn\.{base} is a function of real .*test_activations"):
        f(1j)
    with pytest.raises(TypeError, match=rf"nn\.{base} is a function of real"):
        fd.jvp(f, (1j,), (1j,))
    with pytest.raises(TypeError, match=rf"nn\.{base}: x has dtype <U1"):
        f(["a"])
    with pytest.raises(fd.errors.InputError, match="int64"):
        fd.elementwise_grad(f)(np.array([1, 2]))


def test_another_approximation_is_refused() -> None:
    with pytest.raises(ValueError, match="approximate must be 'none' or 'tanh', not 'sigmoid'"):
        NN.gelu(1.0, approximate="sigmoid")


@every
def test_lists_of_traced_numbers_are_joined(name: str) -> None:
    f = ACTIVATIONS[name]
    assert fd.grad(lambda x: f([x, 2 * x])[1])(0.3) == 2 * fd.grad(f)(0.6)


# ---- NumPy alone ---------------------------------------------------------------------------------


@given(st.floats(-37, 37))
def test_the_distribution_function_is_right_to_a_few_units_in_the_last_place(x: float) -> None:
    """By erfc(z) = exp(-z²)·erfcx(z), with the error of the square taken into account."""
    z = abs(x) * np.longdouble(0.5) ** 0.5
    upper = np.exp(-(np.longdouble(x) ** 2) / 2) * special.erfcx(float(z)) / 2
    expected = upper if x < 0 else 1 - upper
    np.testing.assert_allclose(normal(x), float(expected), rtol=2e-15)


def test_the_distribution_function_of_extreme_and_empty_operands() -> None:
    x = np.array([-np.inf, -1e300, -40.0, 0.0, 40.0, 1e300, np.inf, np.nan])
    np.testing.assert_array_equal(normal(x), [0, 0, 0, 0.5, 1, 1, 1, np.nan])
    assert normal(np.ones((0, 3), "f4")).shape == (0, 3)
    assert isinstance(normal(np.float32(1)), np.float32)
    np.testing.assert_allclose(normal(np.float32(1)), special.ndtr(1.0), rtol=1e-7)


ALONE = """
import sys
sys.modules["scipy"] = None
sys.modules["scipy.special"] = None
import numpy as np
import funcdiff as fd
x = np.array([-2.0, 0.5])
for f in (fd.nn.gelu, fd.nn.sigmoid, fd.nn.softplus, fd.nn.softmax, fd.nn.logsumexp):
    print(*np.ravel(f(x)), *np.ravel(fd.jit(fd.jacobian(fd.jacobian(f)))(x)))
"""


@pytest.mark.slow
def test_without_scipy_the_same_is_computed_by_numpy_alone() -> None:
    run = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    x = np.array([-2.0, 0.5])
    functions = (nn.gelu, nn.sigmoid, nn.softplus, nn.softmax, nn.logsumexp)
    for f, line in zip(functions, run.stdout.splitlines(), strict=True):
        call: Any = f
        expected = [*np.ravel(call(x)), *np.ravel(fd.jacobian(fd.jacobian(call))(x))]
        np.testing.assert_allclose([float(n) for n in line.split()], expected, rtol=1e-14)
