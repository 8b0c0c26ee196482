"""Functions of a module, from which derivatives are made that other processes take."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd

X = np.array([0.3, -0.7, 1.1])


def loss(x: Any, scale: float = 2.0) -> Any:
    """Return a number."""
    return np.sum(np.tanh(x) ** 2) * scale


def vector(x: Any) -> Any:
    return np.stack([x[0] * x[1], np.sin(x[2]), x[0]])


@fd.jit
def compiled(x: Any) -> Any:
    return np.sum(np.exp(x)) if x[0] > 0 else np.sum(x)


@fd.grad
def slope(x: Any) -> Any:
    return np.sum(x**3)


@fd.custom_vjp
def clipped(x: Any) -> Any:
    return x * x


def _forward(x: Any) -> Any:
    return clipped(x), x


def _backward(x: Any, ct: Any) -> Any:
    return (np.clip(2 * x * ct, -1, 1),)


clipped.defvjp(_forward, _backward)


@fd.custom_jvp
def doubled(x: Any) -> Any:
    return 2 * x


@doubled.defjvp
def _tangent(primals: Any, tangents: Any) -> Any:
    return 2 * primals[0], 2 * tangents[0]


def _square(x: Any) -> Any:
    return x**2


opaque = fd.primitive(_square, result=lambda x: x)
other = fd.custom_vjp(_square)
other.defvjp(_forward, _backward)


class Model:
    """Methods that are derivatives."""

    scale = 3.0

    def energy(self, x: Any) -> Any:
        return self.scale * np.sum(x**2)

    force = fd.grad(energy, argnums=1)
    quick = fd.jit(energy)


DERIVED: dict[str, Any] = {
    "grad": fd.grad(loss),
    "grad by keyword": fd.grad(loss, argnums=0, has_aux=False),
    "value_and_grad": fd.value_and_grad(loss),
    "jacobian": fd.jacobian(vector),
    "jacfwd": fd.jacfwd(vector),
    "jacrev": fd.jacrev(vector),
    "value_and_jacobian": fd.value_and_jacobian(vector),
    "hessian": fd.hessian(loss),
    "value_grad_and_hessian": fd.value_grad_and_hessian(loss),
    "elementwise_grad": fd.elementwise_grad(np.tanh),
    "derivative": fd.vmap(fd.derivative(np.tanh)),
    "vmap": fd.vmap(np.tanh),
    "vmap of grad": fd.vmap(fd.grad(np.sin), in_axes=(0,)),
    "checkpoint": fd.checkpoint(loss),
    "jit": fd.jit(loss),
    "jit of grad": fd.jit(fd.grad(loss), static_argnames="scale"),
    "grad of jit": fd.grad(fd.jit(loss)),
    "hessian of grad": fd.jacobian(fd.grad(loss)),
    "tap_values": fd.tap_values(loss),
    "decorated by jit": compiled,
    "decorated by grad": slope,
    "custom_vjp": clipped,
    "custom_vjp by another name": other,
    "grad of custom_vjp": fd.elementwise_grad(clipped),
    "custom_jvp": doubled,
    "depends_on": fd.depends_on(loss),
    "is_linear": fd.is_linear(vector),
    "a bound method": Model().force,
}
