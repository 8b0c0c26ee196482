"""`derivative`, `directional_derivative` and `elementwise_grad`."""

import math
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

X = np.array([0.3, -1.2, 2.0])


# ---- derivative ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(9))
def test_the_nth_derivative_of_a_power_is_the_falling_factorial(n: int) -> None:
    expected = math.perm(6, n) * 1.5 ** (6 - n) if n <= 6 else 0.0
    result = fd.derivative(lambda x: x**6, n=n)(1.5)
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    assert type(result) is np.float64


@pytest.mark.parametrize("n", range(1, 7))
def test_the_nth_derivative_is_the_gradient_taken_n_times(n: int) -> None:
    def f(x: Any) -> Any:
        return np.exp(np.sin(x)) * np.log(1 + x**2)

    nested: Any = f
    for _ in range(n):
        nested = fd.grad(nested)
    np.testing.assert_allclose(fd.derivative(f, n=n)(0.7), nested(0.7), rtol=1e-12)


def test_derivatives_of_a_curve_are_its_velocity_and_acceleration() -> None:
    def curve(t: Any) -> Any:
        return {"place": np.stack([np.cos(t), np.sin(t)]), "time": t**2}

    first, second = fd.derivative(curve)(0.5), fd.derivative(curve, n=2)(0.5)
    np.testing.assert_allclose(first["place"], [-np.sin(0.5), np.cos(0.5)], rtol=1e-15)
    np.testing.assert_allclose(second["place"], [-np.cos(0.5), -np.sin(0.5)], rtol=1e-15)
    assert (first["time"], second["time"]) == (1.0, 2.0)


def test_several_arguments_get_a_derivative_each() -> None:
    def f(x: Any, y: Any, *, z: Any) -> Any:
        return x**3 * y**2 * z

    assert fd.derivative(f, n=2)(2.0, 3.0, z=5.0) == 6 * 2 * 9 * 5
    assert fd.derivative(f, 1, n=2)(2.0, y=3.0, z=5.0) == 8 * 2 * 5
    assert fd.derivative(f, (1, 0), n=2)(2.0, 3.0, z=5.0) == (8 * 2 * 5, 6 * 2 * 9 * 5)
    assert fd.derivative(f, argnames="z")(2.0, 3.0, z=5.0) == 8 * 9


def test_an_auxiliary_result_of_a_derivative_is_the_value() -> None:
    result, aux = fd.derivative(lambda x: (x**3, ("cube", x, 7)), n=2, has_aux=True)(2.0)
    assert result == 12
    assert aux == ("cube", 2.0, 7)


def test_the_complex_derivative_is_asked_for() -> None:
    z = 0.3 + 1.1j
    result = fd.derivative(lambda z: np.exp(2 * z), n=3, holomorphic=True)(z)
    np.testing.assert_allclose(result, 8 * np.exp(2 * z), rtol=1e-14)
    with pytest.raises(InputError, match="holomorphic=True"):
        fd.derivative(np.exp)(z)
    curve = fd.derivative(lambda t: np.exp(1j * t), n=2)(0.5)  # real to complex needs no flag
    np.testing.assert_allclose(curve, -np.exp(0.5j), rtol=1e-15)


def test_derivatives_nest_with_every_transform() -> None:
    def f(x: Any) -> Any:
        return np.sin(2 * x)

    np.testing.assert_allclose(fd.vmap(fd.derivative(f, n=2))(X), -4 * np.sin(2 * X), rtol=1e-14)
    np.testing.assert_allclose(fd.grad(fd.derivative(f, n=2))(0.5), -8 * np.cos(1.0), rtol=1e-14)
    pushed = fd.jvp(fd.derivative(f), (0.5,), (3.0,))[1]
    np.testing.assert_allclose(pushed, -12 * np.sin(1.0), rtol=1e-14)
    inner = fd.derivative(lambda y: y * fd.derivative(lambda x: x * y**2)(3.0), n=2)
    np.testing.assert_allclose(inner(2.0), 12.0)
    fd.testing.check_grads(fd.derivative(f, n=2), (0.7,))


def test_single_precision_stays_single() -> None:
    assert fd.derivative(np.sin, n=3)(np.float32(0.5)).dtype == np.float32
    assert fd.elementwise_grad(np.sin)(X.astype(np.float32)).dtype == np.float32


def test_a_derivative_branches_and_loops_like_its_function() -> None:
    def f(x: Any) -> Any:
        while x < 10:
            x = x * x
        return x

    np.testing.assert_allclose(fd.derivative(f, n=2)(2.0), 12 * 2.0**2)


@pytest.mark.parametrize("n", [-1, 1.0, True, "2", None])
def test_the_order_is_a_natural_number(n: Any) -> None:
    with pytest.raises(InputError, match=r"n=.*fd\.derivative\(f, n=2\)"):
        fd.derivative(np.sin, n=n)


def test_a_derivative_is_by_one_number() -> None:
    with pytest.raises(InputError, match=r"f64\[3\].*elementwise_grad.*vmap"):
        fd.derivative(np.sin)(X)
    with pytest.raises(InputError, match=r"fd\.jacobian"):
        fd.derivative(lambda p: p["x"])({"x": 1.0})
    with pytest.raises(InputError, match="is the integer 2"):
        fd.derivative(lambda x: x**2)(2)
    with pytest.raises(OutputError, match="floating or complex"):
        fd.derivative(lambda x: (x, x > 0))(1.0)


# ---- how large the programs are ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "bounds"),
    [
        (lambda x: np.sin(x) * np.exp(x), [6, 10, 15, 19, 23, 27]),
        (lambda x: x**5, [3, 3, 4, 4, 0, 0]),
        (np.tanh, [3, 7, 14, 25, 41, 63]),
        (lambda x: np.tanh(np.tanh(np.tanh(x))), [11, 29, 62, 115, 193, 301]),
        (lambda x: 1 / (1 + np.exp(-x)), [8, 18, 39, 78, 144, 248]),
        (lambda x: np.exp(np.sin(x)), [4, 8, 15, 25, 39, 57]),
    ],
)
def test_the_program_of_the_nth_derivative_grows_like_a_polynomial(
    f: Any, bounds: list[int]
) -> None:
    counts = [len(fd.trace(fd.derivative(f, n=n))(0.7).equations) for n in range(1, 7)]
    assert all(count <= bound for count, bound in zip(counts, bounds, strict=True)), counts


# ---- directional_derivative -------------------------------------------------------------------


def test_the_directional_derivative_is_the_slope_along_a_line() -> None:
    def f(x: Any, p: Any) -> Any:
        return np.sum(x**2) * p["a"]

    t, u = np.array([1.0, 0.0, -1.0]), {"a": 3.0}
    result = fd.directional_derivative(f, (X, {"a": 2.0}), (t, u))
    np.testing.assert_allclose(result, 2 * 2 * X @ t + 3 * X @ X, rtol=1e-15)
    slope, aux = fd.directional_derivative(lambda x: (x**2, "aux"), (3.0,), (2.0,), has_aux=True)
    assert (slope, aux) == (12, "aux")


# ---- elementwise_grad -------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (1, 1)])
def test_the_elementwise_derivative_has_the_shape_of_the_argument(shape: tuple[int, ...]) -> None:
    x = np.linspace(0.1, 1.0, int(np.prod(shape))).reshape(shape)
    result = fd.elementwise_grad(lambda x: np.sin(x) * x)(x)
    np.testing.assert_allclose(result, np.cos(x) * x + np.sin(x), rtol=1e-15)
    assert np.shape(result) == shape


def test_elementwise_derivatives_nest() -> None:
    second = fd.elementwise_grad(fd.elementwise_grad(np.tanh))
    y = np.tanh(X)
    np.testing.assert_allclose(second(X), -2 * y * (1 - y**2), rtol=1e-14)
    summed = fd.grad(lambda x: np.sum(fd.elementwise_grad(np.sin)(x)))(X)
    np.testing.assert_allclose(summed, -np.sin(X), rtol=1e-15)


def test_an_argument_that_is_broadcast_gets_the_sum_over_what_it_meets() -> None:
    b = np.array([[2.0], [3.0]])
    by_x, by_b = fd.elementwise_grad(lambda x, b: x * b, argnums=(0, 1))(X, b)
    np.testing.assert_allclose(by_x, [5, 5, 5])
    np.testing.assert_allclose(by_b, np.full((2, 1), X.sum()))


def test_the_elementwise_derivative_of_a_holomorphic_function_is_complex() -> None:
    z = X + 1j
    np.testing.assert_allclose(fd.elementwise_grad(np.exp, holomorphic=True)(z), np.exp(z))
    np.testing.assert_allclose(fd.elementwise_grad(lambda z: np.abs(z) ** 2)(z), 2 * z)


def test_the_elementwise_derivative_needs_one_real_array() -> None:
    with pytest.raises(OutputError, match=r"elementwise_grad needs.*real array.*holomorphic"):
        fd.elementwise_grad(np.exp)(X + 1j)
    with pytest.raises(OutputError, match=r"elementwise_grad needs.*has_aux"):
        fd.elementwise_grad(lambda x: (x, x))(X)
    with pytest.raises(OutputError, match="integer or boolean"):
        fd.elementwise_grad(lambda x: x > 0)(X)
