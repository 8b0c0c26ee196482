"""Complex numbers: the pullback is the adjoint Jᴴ, and a real function's gradient ascends."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

vjp: Any = fd.vjp  # types refuse some of what is tried here

Z = np.array([1 + 2j, -0.5 + 0.3j, 2 - 1j])
V = np.array([0.3 - 1j, 2 + 0.5j, -1 + 0j])


# ---- real functions of complex arguments -----------------------------------------------------


def test_the_gradient_of_the_squared_modulus_is_twice_z() -> None:
    np.testing.assert_allclose(fd.grad(lambda z: np.sum(np.abs(z) ** 2))(Z), 2 * Z, rtol=1e-15)
    np.testing.assert_allclose(fd.grad(lambda z: np.sum(z * z.conj()).real)(Z), 2 * Z, rtol=1e-15)
    np.testing.assert_allclose(fd.grad(lambda z: np.vdot(z, z).real)(Z), 2 * Z, rtol=1e-15)


def test_the_gradient_of_the_modulus_is_the_direction() -> None:
    gradient: Any = fd.grad(lambda z: np.abs(z))(3 + 4j)
    assert abs(gradient - (0.6 + 0.8j)) < 1e-15


def test_the_gradients_of_real_and_imaginary_part_are_one_and_i() -> None:
    assert fd.grad(np.real)(3 + 4j) == 1
    assert fd.grad(np.imag)(3 + 4j) == 1j


def test_the_gradient_of_the_angle_turns() -> None:
    z = 3 + 4j
    gradient: Any = fd.grad(lambda z: np.angle(z))(z)
    assert abs(gradient - 1j * z / abs(z) ** 2) < 1e-15


@pytest.mark.parametrize("f", [
    lambda z: np.sum(np.real(np.exp(z) * z)),
    lambda z: np.sum(np.abs(np.sin(z))),
    lambda z: np.real(z[0] / z[1]) + np.imag(z[2] ** 3),
    lambda z: np.sum(np.log(z).imag ** 2),
    lambda z: np.sum(np.abs(np.sqrt(z) - z.conj())),
    lambda z: np.linalg.norm(np.outer(z, z) + 1),
])  # fmt: skip
def test_the_gradient_is_the_direction_of_steepest_ascent(f: Any) -> None:
    step = 1e-6
    units = np.eye(3)
    by_real = [(f(Z + step * e) - f(Z - step * e)) / (2 * step) for e in units]
    by_imag = [(f(Z + 1j * step * e) - f(Z - 1j * step * e)) / (2 * step) for e in units]
    expected = np.array(by_real) + 1j * np.array(by_imag)
    np.testing.assert_allclose(fd.grad(f)(Z), expected, rtol=1e-8, atol=1e-9)


def test_a_gradient_step_decreases_a_real_function() -> None:
    def f(z: Any) -> Any:
        return np.sum(np.abs(z**2 - (1 + 1j)) ** 2)

    assert f(Z - 1e-3 * fd.grad(f)(Z)) < f(Z)


# ---- pullbacks -------------------------------------------------------------------------------


def test_the_pullback_is_the_adjoint() -> None:
    A = np.arange(9).reshape(3, 3) * (1 + 0.5j) + 1j * np.eye(3)
    _, f_vjp = vjp(lambda z: A @ z, Z)
    np.testing.assert_allclose(f_vjp(V)[0], A.conj().T @ V, rtol=1e-14)


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (np.exp, np.exp),
        (np.sin, np.cos),
        (lambda z: z**3, lambda z: 3 * z**2),
        (lambda z: 1 / z, lambda z: -1 / z**2),
        (np.log, lambda z: 1 / z),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z)),
        (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    ],
)
def test_a_holomorphic_function_pulls_back_by_its_conjugated_derivative(
    f: Any, derivative: Any
) -> None:
    (ct,) = vjp(f, Z)[1](V)
    np.testing.assert_allclose(ct, V * np.conj(derivative(Z)), rtol=1e-13)
    np.testing.assert_allclose(fd.jvp(f, (Z,), (V,))[1], V * derivative(Z), rtol=1e-13)


def test_conjugation_pulls_back_by_conjugation() -> None:
    np.testing.assert_array_equal(vjp(np.conj, Z)[1](V)[0], V.conj())
    np.testing.assert_array_equal(fd.jvp(np.conj, (Z,), (V,))[1], V.conj())


@pytest.mark.parametrize("f", [
    lambda z: z * z.conj() + z,
    lambda z: np.exp(z.conj()) * z.real,
    lambda z: np.abs(z) * 1j + z.imag,
])  # fmt: skip
def test_pushing_and_pulling_are_adjoint_over_the_reals(f: Any) -> None:
    t = V[::-1] * 1j
    pushed = fd.jvp(f, (Z,), (t,))[1]
    (pulled,) = vjp(f, Z)[1](V)
    assert abs(np.vdot(V, pushed).real - np.vdot(pulled, t).real) < 1e-12


def test_a_real_argument_has_a_real_gradient() -> None:
    (ct,) = vjp(lambda x: x * (2 + 3j), 1.5)[1](1j)
    assert type(ct) is np.float64
    assert ct == 3
    gradient = fd.grad(lambda x: np.abs(np.exp(1j * x) + 1) ** 2)(0.5)
    assert type(gradient) is np.float64
    np.testing.assert_allclose(gradient, -2 * np.sin(0.5), rtol=1e-14)


def test_single_precision_complex_stays_single() -> None:
    gradient = fd.grad(lambda z: np.sum(np.abs(z) ** 2))(Z.astype(np.complex64))
    assert gradient.dtype == np.complex64


# ---- numbers that torch.autograd gives, which follow from the convention ---------------------


@pytest.mark.parametrize(
    ("f", "z", "v", "expected"),
    [
        (lambda z: z**2, 1 + 2j, 1 + 0j, 2 - 4j),
        (lambda z: z**2, 1 + 2j, 1j, 4 + 2j),
        (lambda z: 1j * z, 1 + 2j, 1 + 0j, -1j),
        (lambda z: z * z.conj(), 3 - 1j, 1 + 0j, 6 - 2j),
        (lambda z: z.conj(), 1 + 2j, 1 + 2j, 1 - 2j),
        (lambda z: 1 / z, 1j, 1 + 0j, 1 + 0j),
    ],
)
def test_backward_with_a_gradient(f: Any, z: complex, v: complex, expected: complex) -> None:
    assert abs(vjp(f, z)[1](v)[0] - expected) < 1e-15


# ---- holomorphic -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (np.exp, np.exp),
        (lambda z: z**3 + 1j * z, lambda z: 3 * z**2 + 1j),
        (lambda z: np.sin(z) / z, lambda z: np.cos(z) / z - np.sin(z) / z**2),
    ],
)
def test_a_holomorphic_gradient_is_the_complex_derivative(f: Any, derivative: Any) -> None:
    for z in Z:
        np.testing.assert_allclose(fd.grad(f, holomorphic=True)(z), derivative(z), rtol=1e-13)


def test_a_second_holomorphic_derivative() -> None:
    f = fd.grad(fd.grad(lambda z: z**3, holomorphic=True), holomorphic=True)
    assert abs(f(1 + 2j) - 6 * (1 + 2j)) < 1e-14


def test_value_and_grad_of_a_holomorphic_function() -> None:
    value, slope = fd.value_and_grad(lambda z: z**2, holomorphic=True)(1 + 2j)
    assert value == (1 + 2j) ** 2
    assert slope == 2 * (1 + 2j)


def test_a_complex_output_without_holomorphic_is_an_error_with_the_cures() -> None:
    with pytest.raises(OutputError, match=r"real part or abs.*holomorphic=True"):
        fd.grad(lambda z: z**2)(1 + 2j)


def test_holomorphic_of_a_real_output_is_an_error() -> None:
    with pytest.raises(OutputError, match="complex"):
        fd.grad(np.abs, holomorphic=True)(1 + 2j)


def test_the_hessian_of_a_real_function_by_forward_over_reverse() -> None:
    def f(z: Any) -> Any:
        return np.abs(z) ** 4

    z, t = 1 + 2j, 0.3 - 1j
    # the gradient is 4|z|²z, pushed along t: 8·Re(z̄t)·z + 4|z|²t
    expected = 8 * (z.conjugate() * t).real * z + 4 * abs(z) ** 2 * t
    assert abs(fd.jvp(fd.grad(f), (z,), (t,))[1] - expected) < 1e-12


@pytest.mark.parametrize("transform", [
    fd.grad, fd.value_and_grad, fd.derivative, fd.jacobian, fd.jacfwd, fd.jacrev, fd.hessian,
    fd.elementwise_grad, fd.value_and_jacobian, fd.value_grad_and_hessian,
])  # fmt: skip
def test_a_complex_derivative_is_one_of_complex_results_by_complex_arguments(
    transform: Any,
) -> None:
    def wave(x: Any) -> Any:
        return np.exp(1j * x)

    with pytest.raises(InputError, match=r"complex arguments; one is f64\[\].*Leave holomorphic"):
        transform(wave, holomorphic=True)(1.0)
    with pytest.raises(OutputError, match=r"complex (result|scalar|array).*f64\[\].*complex"):
        transform(np.abs, holomorphic=True)(1.0j)
    transform(wave, holomorphic=True)(1.0j)


def test_every_leaf_of_a_complex_derivative_is_complex() -> None:
    with pytest.raises(InputError, match=r"one is f64\[2\]"):
        fd.grad(lambda p: np.sum(p["a"] * p["b"]), holomorphic=True)({"a": 1j, "b": np.ones(2)})


def test_a_holomorphic_function_may_be_written_in_real_and_imaginary_parts() -> None:
    def square(z: Any) -> Any:
        x, y = z.real, z.imag
        return (x * x - y * y) + 2j * x * y

    assert fd.grad(square, holomorphic=True)(1 + 2j) == 2 + 4j
