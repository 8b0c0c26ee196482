"""What every operator returns of small functions, of real, complex and nested arguments."""

from typing import Any

import autograd.numpy as np
from autograd import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    tensor_jacobian_product,
    value_and_grad,
)
from autograd.extend import defjvp, defvjp, primitive
from autograd.misc import flatten
from autograd.misc.fixed_points import fixed_point
from autograd.numpy.numpy_vjps import unbroadcast_f
from autograd.scipy.signal import convolve
from autograd.tracer import getval

X = np.array([0.3, -1.2, 2.0])
Z = np.array([0.5 + 1.0j, -0.7j])


def energy(x: Any, y: Any = 2.0) -> Any:
    return np.sum(np.sin(x) * x[::-1]) + y * np.prod(x)


def nested(p: dict[str, Any]) -> Any:
    return p["w"][0] * np.sum(p["b"] ** 2) + np.sum(p["w"][1]) + getval(p["w"][0])


def _log_sum(x: Any, weight: Any) -> Any:
    return np.log(np.sum(weight * np.exp(x)))


log_sum = primitive(_log_sum)


def _by_weight(ans: Any, x: Any, weight: Any) -> Any:
    return unbroadcast_f(weight, lambda g: g * np.exp(x - ans))


defvjp(log_sum, lambda ans, x, weight: lambda g: g * weight * np.exp(x - ans), _by_weight)
defjvp(log_sum, lambda g, ans, x, weight: np.sum(g * weight * np.exp(x - ans)), argnums=[0])


def of_operators() -> dict[str, Any]:
    return {
        "grad": grad(energy, (0, 1))(X, 3.0),
        "grad_named": grad_named(energy, "y")(X, 3.0),
        "grad_of_one_element": grad(lambda x: x[:1] ** 2)(X),
        "value_and_grad": value_and_grad(lambda x: x[None, 1:2] ** 3)(X),
        "grad_and_aux": grad_and_aux(lambda x: (x**2, 5.0))(X)[0],
        "elementwise": elementwise_grad(elementwise_grad(np.tanh))(X),
        "deriv": deriv(lambda x: x**3)(X),
        "jacobian": jacobian(lambda x: np.outer(x, x**2))(X),
        "hessian": hessian(energy)(X, 3.0),
        "hessian_of_vector": hessian(lambda x: np.cumsum(x) * x**2)(X),
        "hessian_tensor": hessian_tensor_product(energy)(X, 3.0, np.arange(3.0)),
        "tensor_jacobian": tensor_jacobian_product(lambda x: np.outer(x, x**2))(X, np.ones(3)),
        "vjp": make_vjp(lambda x: x**3)(X)[0](np.array([1, 0, 2])),
        "jvp": make_jvp(lambda x: x**3)(X)(np.array([1.0, 0.0, 2.0])),
        "hvp": make_hvp(energy)(X)[0](np.arange(3.0)),
        "ggnvp": make_ggnvp(np.tanh)(X)(np.arange(3.0)),
        "checkpoint": grad(lambda x: np.sum(checkpoint(np.tanh)(x) * x))(X),
    }


def of_complex_numbers() -> dict[str, Any]:
    return {
        "grad": grad(lambda z: np.real(np.sum(z**2 * (1 + 2j))))(Z),
        "abs": elementwise_grad(np.abs)(Z),
        "holomorphic": holomorphic_grad(lambda z: np.exp(1j * z))(0.3 + 0.2j),
        "jacobian": jacobian(lambda z: np.imag(z**2))(Z),
        "vjp": make_vjp(lambda z: z**2)(Z)[0](np.array([1j, 2.0 - 1j])),
        "jvp": make_jvp(lambda z: np.conj(z) * z[::-1])(Z)(np.array([1j, 2.0 - 1j])),
        "fft": grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 3))(X),
    }


def of_the_rest() -> dict[str, Any]:
    tree = {"w": [1.5, np.array([1.0, 2.0])], "b": np.array([[3.0]])}
    vector, unflatten = flatten(tree)
    images = np.reshape(np.sin(np.arange(60.0)), (2, 5, 6))
    kernels = np.reshape(np.cos(np.arange(12.0)), (2, 2, 3))

    def convolved(a: Any, b: Any, mode: str) -> Any:
        return np.sum(convolve(a, b, ([1, 2], [1, 2]), ([0], [0]), mode=mode) ** 2)

    def root(a: Any) -> Any:
        def heron(a: Any) -> Any:
            return lambda x: (x + a / x) / 2

        return fixed_point(heron, a, 1.0, lambda x, y: np.abs(x - y), 1e-14)

    return {
        "nested": flatten(grad(nested)(tree))[0],
        "flatten": vector,
        "unflatten": flatten(unflatten(np.arange(4.0)))[0],
        "rule": grad(log_sum, (0, 1))(X, 2.0),
        "rule_twice": jacobian(grad(log_sum))(X, 2.0),
        "rule_forwards": make_jvp(log_sum)(X, 2.0)(X)[1],
        "convolve": [grad(convolved, k)(images, kernels, m) for m in ("valid", "full", "same")
                     for k in (0, 1)],
        "convolve_same": convolve(np.arange(7.0), np.array([1.0, 2.0, 0.5, 4.0]), mode="same"),
        "convolve_with_longer": convolve(np.array([1.0, 2.0]), np.arange(5.0), mode="valid"),
        "fixed_point": grad(root)(3.0),
        "array": grad(lambda x: np.array([[x[0], 2.0], [x[1] ** 2, x[2]]])[1, 0])(X),
        "where": grad(lambda x: np.sum(np.where(x > 0, x**2, -x)))(X),
    }  # fmt: skip


def run(_steps: int = 1) -> dict[str, Any]:
    parts = {"operators": of_operators(), "complex": of_complex_numbers(), "rest": of_the_rest()}
    return {f"{part}.{name}": y for part, found in parts.items() for name, y in found.items()}
