"""Complex numbers: the pullback is the adjoint Jᴴ, and a real function's gradient ascends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from tests.claims import alike, refused

FD: Any = fd  # types refuse some of what is tried here
Z = np.array([1 + 2j, -0.5 + 0.3j, 2 - 1j])
V = np.array([0.3 - 1j, 2 + 0.5j, -1 + 0j])
A = np.arange(9).reshape(3, 3) * (1 + 0.5j) + 1j * np.eye(3)
Q, S = 1 + 2j, 0.3 - 1j


def _pulled(f: Any, z: Any, v: Any) -> Any:
    return FD.vjp(f, z)[1](v)[0]


def _square(z: Any) -> Any:
    """Return z², written in real and imaginary parts."""
    x, y = z.real, z.imag
    return (x * x - y * y) + 2j * x * y


test_a_gradient_is_that_of_a_formula = alike({
    "of the squared modulus it is twice z": [
        (lambda f=f: fd.grad(f)(Z), 2 * Z)
        for f in (lambda z: np.sum(np.abs(z) ** 2), lambda z: np.sum(z * z.conj()).real,
                  lambda z: np.vdot(z, z).real)
    ],
    "of the modulus it is the direction": (lambda: FD.grad(np.abs)(3 + 4j), 0.6 + 0.8j),
    "of real and imaginary part it is one and i": [
        (lambda: fd.grad(np.real)(3 + 4j), 1), (lambda: fd.grad(np.imag)(3 + 4j), 1j)
    ],
    "of the angle it turns": (lambda: FD.grad(np.angle)(3 + 4j), 1j * (3 + 4j) / 25),
    "the pullback is the adjoint": (lambda: _pulled(lambda z: A @ z, Z, V), A.conj().T @ V),
    "conjugation pulls back by conjugation": [
        (lambda: _pulled(np.conj, Z, V), V.conj()),
        (lambda: fd.jvp(np.conj, (Z,), (V,))[1], V.conj()),
    ],
    "backward with a gradient": [
        (lambda f=f, z=z, v=v: _pulled(f, z, v), expected)
        for f, z, v, expected in (
            (lambda z: z**2, 1 + 2j, 1 + 0j, 2 - 4j),
            (lambda z: z**2, 1 + 2j, 1j, 4 + 2j),
            (lambda z: 1j * z, 1 + 2j, 1 + 0j, -1j),
            (lambda z: z * z.conj(), 3 - 1j, 1 + 0j, 6 - 2j),
            (lambda z: z.conj(), 1 + 2j, 1 + 2j, 1 - 2j),
            (lambda z: 1 / z, 1j, 1 + 0j, 1 + 0j),
        )
    ],
    # the gradient of |z|⁴ is 4|z|²z, pushed along t: 8·Re(z̄t)·z + 4|z|²t
    "a hessian by forward over reverse": (
        lambda: fd.jvp(fd.grad(lambda z: np.abs(z) ** 4), (Q,), (S,))[1],
        8 * (Q.conjugate() * S).real * Q + 4 * abs(Q) ** 2 * S,
    ),
    "a second holomorphic derivative": (
        lambda: fd.grad(fd.grad(lambda z: z**3, holomorphic=True), holomorphic=True)(Q), 6 * Q
    ),
    "value and holomorphic derivative": (
        lambda: fd.value_and_grad(lambda z: z**2, holomorphic=True)(Q), (Q**2, 2 * Q)
    ),
    "a holomorphic function in real and imaginary parts": (
        lambda: fd.grad(_square, holomorphic=True)(1 + 2j), 2 + 4j
    ),
}, rtol=1e-14, atol=1e-15)  # fmt: skip


@pytest.mark.parametrize("f", [
    lambda z: np.sum(np.real(np.exp(z) * z)),
    lambda z: np.sum(np.abs(np.sin(z))),
    lambda z: np.real(z[0] / z[1]) + np.imag(z[2] ** 3),
    lambda z: np.sum(np.log(z).imag ** 2),
    lambda z: np.sum(np.abs(np.sqrt(z) - z.conj())),
    lambda z: np.linalg.norm(np.outer(z, z) + 1),
])  # fmt: skip
def test_the_gradient_is_the_direction_of_steepest_ascent(f: Any) -> None:
    by_real, by_imag = (
        np.array([(f(Z + s * e) - f(Z - s * e)) / 2e-6 for e in np.eye(3)]) for s in (1e-6, 1e-6j)
    )
    np.testing.assert_allclose(fd.grad(f)(Z), by_real + 1j * by_imag, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (np.exp, np.exp),
        (np.sin, np.cos),
        (lambda z: z**3 + 1j * z, lambda z: 3 * z**2 + 1j),
        (lambda z: 1 / z, lambda z: -1 / z**2),
        (np.log, lambda z: 1 / z),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z)),
        (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
        (lambda z: np.sin(z) / z, lambda z: np.cos(z) / z - np.sin(z) / z**2),
    ],
)
def test_a_holomorphic_function_has_its_complex_derivative(f: Any, derivative: Any) -> None:
    slope = derivative(Z)
    np.testing.assert_allclose(_pulled(f, Z, V), V * np.conj(slope), rtol=1e-13)
    np.testing.assert_allclose(fd.jvp(f, (Z,), (V,))[1], V * slope, rtol=1e-13)
    found = [fd.grad(f, holomorphic=True)(z) for z in Z]
    np.testing.assert_allclose(found, slope, rtol=1e-13)


def test_a_real_argument_has_a_real_gradient() -> None:
    ct = _pulled(lambda x: x * (2 + 3j), 1.5, 1j)
    assert type(ct) is np.float64
    assert ct == 3
    gradient = fd.grad(lambda x: np.abs(np.exp(1j * x) + 1) ** 2)(0.5)
    assert type(gradient) is np.float64
    np.testing.assert_allclose(gradient, -2 * np.sin(0.5), rtol=1e-14)


def test_single_precision_complex_stays_single() -> None:
    gradient = fd.grad(lambda z: np.sum(np.abs(z) ** 2))(Z.astype(np.complex64))
    assert gradient.dtype == np.complex64


def _wave(x: Any) -> Any:
    return np.exp(1j * x)


TRANSFORMS: list[Any] = [
    fd.grad, fd.value_and_grad, fd.derivative, fd.jacobian, fd.jacfwd, fd.jacrev, fd.hessian,
    fd.elementwise_grad, fd.value_and_jacobian, fd.value_grad_and_hessian,
]  # fmt: skip

test_a_complex_derivative_is_one_of_complex_results_by_complex_arguments = refused({
    "of a real argument": [
        (InputError, r"complex arguments; one is f64\[\].*Leave holomorphic",
         lambda t=t: t(_wave, holomorphic=True)(1.0))
        for t in TRANSFORMS
    ],
    "of a real result": [
        (OutputError, r"complex (result|scalar|array).*f64\[\].*complex",
         lambda t=t: t(np.abs, holomorphic=True)(1.0j))
        for t in TRANSFORMS
    ],
    "of a real leaf": (
        InputError, r"one is f64\[2\]",
        lambda: fd.grad(lambda p: np.sum(p["a"] * p["b"]), holomorphic=True)(
            {"a": 1j, "b": np.ones(2)}
        ),
    ),
    "that was not asked for, with the cures": (
        OutputError, r"real part or abs.*holomorphic=True", lambda: fd.grad(lambda z: z**2)(Q)
    ),
})  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_takes_the_complex_derivative(transform: Any) -> None:
    transform(_wave, holomorphic=True)(1.0j)
