"""Mistakes of users that a strict type checker finds; each line says which error it gets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Vector = NDArray[np.float64]
Params = dict[str, Vector]


@dataclass(frozen=True)
class Model:
    w: Vector


def total(x: Vector) -> np.float64:
    return np.sum(x**2)


def square(x: float) -> float:
    return x * x


def loss(params: Params, x: Vector, *, weight: float = 1.0) -> float:
    return weight * np.sum(params["w"] * x)


def model_loss(model: Model, x: Vector) -> np.float64:
    return np.sum(model.w * x)


def with_aux(x: Vector) -> tuple[np.float64, str]:
    return np.sum(x), "text"


def field(x: Vector) -> Vector:
    return np.tanh(x)


def tree(x: Vector) -> Params:
    return {"x": x}


def name_of(x: Vector) -> str:
    return str(x.shape)


def analytic(z: complex) -> complex:
    return z * z


def step(carry: Vector, x: Vector) -> Vector:
    return carry + x


def rejected(x: Vector, params: Params, model: Model, flag: bool) -> None:
    # The function has to return a real scalar.
    fd.grad(field)  # E: [arg-type] float | floating
    fd.grad(tree)  # E: [arg-type] float | floating
    fd.grad(name_of)  # E: [arg-type] float | floating
    fd.grad(analytic)  # E: [arg-type] float | floating
    fd.grad(field, argnums=0)  # E: [type-var] "ScalarOrPair" of "__call__" of "Gradients" cannot be
    fd.grad(with_aux)  # E: [arg-type] float | floating
    fd.grad(total, has_aux=True)  # E: [call-overload] No overload variant
    fd.value_and_grad(field)  # E: [type-var] cannot be "ndarray
    fd.value_and_grad(with_aux)  # E: [type-var] cannot be "tuple
    fd.hessian(field)  # E: [type-var] "ScalarOrPair" of "__call__" of "Matrices" cannot be
    fd.hvp(field, (x,), (x,))  # E: [arg-type] float | floating
    fd.vhp(field, (x,), (x,))  # E: [arg-type] float | floating
    fd.gauss_newton_product(field, (x,), (x,), loss=field)  # E: [arg-type] float | floating
    fd.value_grad_and_hessian(tree, argnames="x")  # E: [arg-type] expected "Callable[
    fd.grad(field, argnames="x")  # E: [type-var] cannot be "ndarray
    fd.grad(3.0)  # E: [call-overload] No overload variant

    # The gradient takes what the function takes.
    fd.grad(total)()  # E: [call-arg] Too few arguments
    fd.grad(total)(x, x)  # E: [call-arg] Too many arguments
    fd.grad(total)("text")  # E: [arg-type] Argument 1
    fd.grad(square)(x)  # E: [arg-type] Argument 1
    fd.grad(loss)(params)  # E: [call-arg] Too few arguments
    fd.grad(loss)(x, params)  # E: [arg-type] Argument 1
    fd.grad(loss)(params, x, 2.0)  # E: [call-arg] Too many positional arguments
    fd.grad(loss)(params, x, weigth=2.0)  # E: [call-arg] did you mean "weight"
    fd.grad(loss)(params, x, weight="heavy")  # E: [arg-type] Argument "weight"
    fd.grad(loss, argnums=1)(params, params)  # E: [arg-type] Argument 2
    fd.grad(loss, argnums=(0, 1))(params)  # E: [call-arg] Too few arguments
    fd.value_and_grad(loss)(params)  # E: [call-arg] Too few arguments
    fd.grad(loss, argnames="x")(params)  # E: [call-arg] Missing positional argument "x"
    fd.grad(loss, argnames="x")(params, x=x, weigth=2.0)  # E: [call-arg] did you mean "weight"
    fd.jacobian(field, chunk_size=2)(x, x)  # E: [call-arg] Too many arguments
    fd.value_and_jacobian(field)(x, x)  # E: [call-arg] Too many arguments
    fd.value_grad_and_hessian(total)()  # E: [call-arg] Too few arguments
    fd.elementwise_grad(field)(params)  # E: [arg-type] Argument 1
    fd.derivative(square)(x)  # E: [arg-type] Argument 1
    fd.vmap(field, in_axes="0")  # E: [call-overload] No overload variant
    fd.vjp(total, x, argnums="x")  # E: [arg-type] expected "int | Sequence[int]"
    fd.jvp(total, (x,), (x,), argnums=0)[1].v()  # E: [attr-defined] has no attribute "v"
    fd.vmap(field)(x, x)  # E: [call-arg] Too many arguments
    fd.trace(loss)(params)  # E: [call-arg] Too few arguments
    fd.jacobian(field)()  # E: [call-arg] Too few arguments

    # The gradient is of the argument's type.
    _gradient: Params = fd.grad(model_loss)(model, x)  # E: [assignment] has type "Model"
    _pair: Vector = fd.grad(loss, (0, 1))(params, x)  # E: [assignment] has type "tuple[
    fd.grad(model_loss)(model, x).v()  # E: [attr-defined] "Model" has no attribute "v"
    fd.value_and_grad(total)(x).v()  # E: [attr-defined] has no attribute "v"

    # Arguments of the transforms themselves.
    fd.grad(total, argnums="x")  # E: [arg-type] expected "int | Sequence[int]"
    fd.grad(total, argnums=7)(x)  # E: [operator] "NoSuchArgument" not callable
    fd.value_and_grad(loss, 2)(params, x)  # E: [operator] "NoSuchArgument" not callable
    fd.grad(lambda a, b: a * b, argnums=7)(x, 2.0)  # E: [operator] "NoSuchArgument" not callable
    fd.grad(total, 0, True)  # E: [call-overload] No overload variant
    fd.grad(total, aux=True)  # E: [call-overload] Unexpected keyword argument "aux"
    fd.grad(total, argnames=0)  # E: [call-overload] No overload variant
    fd.jacobian(field, mode="backward")  # E: [call-overload] No overload variant
    fd.jacobian(field, chunk_size="2")  # E: [call-overload] No overload variant
    fd.derivative(square, n="2")  # E: [call-overload] No overload variant
    fd.value_and_grad(total, 0, False, True)  # E: [call-overload] No overload variant

    # Products: primals, tangents and cotangents fit the function.
    fd.vjp(field)  # E: [call-arg] Too few arguments
    fd.vjp(field, x, x)  # E: [call-arg] Too many arguments
    fd.vjp(field, "text")  # E: [arg-type] Argument 1
    fd.vjp(field, x)[1]()  # E: [call-arg] Too few arguments
    fd.vjp(field, x)[1](params)  # E: [arg-type] Argument 1
    fd.vjp(total, x)[1](x)  # E: [arg-type] expected "float64 | float"
    fd.vjp(tree, x)[1](x)  # E: [arg-type] Argument 1
    fd.jvp(field, (x,), (2.0,))  # E: [arg-type] Argument 1
    fd.jvp(field, (x,), (x, x))  # E: [arg-type] Argument 1
    fd.jvp(field, x, x)  # E: [call-overload] No overload variant
    fd.linearize(field, x)[1]()  # E: [call-arg] Too few arguments
    fd.linearize(field, x)[1](params)  # E: [arg-type] Argument 1
    fd.hvp(total, (x,), (x, x))  # E: [arg-type] Argument 3
    fd.directional_derivative(field, (x,), (2.0,))  # E: [arg-type] Argument 1
    fd.linear_transpose(field, x)(params)  # E: [arg-type] Argument 1

    # Control flow: branches and steps agree with their operands.
    fd.cond(flag, field, field)  # E: [arg-type] expected "Callable[[], ndarray
    fd.cond(flag, field, square, x)  # E: [arg-type] Argument 3
    fd.cond("text", field, field, x)  # E: [arg-type] Argument 1
    fd.scan(step, x, x)  # E: [arg-type] float | floating
    fd.scan(lambda carry, _: (carry, carry), x, None, "3")  # E: [call-overload] No overload variant
    fd.switch(0.5, [field], x)  # E: [arg-type] Argument 1
    fd.switch(0, [field, square], x)  # E: [arg-type] Argument 2
    fd.while_loop(lambda a: a[0] < 3, total, x)  # E: [arg-type] Argument 2
    fd.while_loop(name_of, field, x)  # E: [arg-type] Argument 1
    fd.fori_loop(0.0, 3, lambda i, a: a, x)  # E: [arg-type] Argument 1
    fd.map(field, x, 3)  # E: [call-overload] No overload variant
    fd.vmap(field, in_axis=1)  # E: [call-overload] Unexpected keyword argument "in_axis"
    fd.vmap(in_axis=1)  # E: [call-overload] did you mean "in_axes"?
    fd.jit(static_argnums="n")  # E: [arg-type] expected "int | Sequence[int]"
    fd.grad(argnum=1)  # E: [call-overload] did you mean "argnums"?

    # Not in the package.
    fd.gradient(total)  # E: [attr-defined] has no attribute "gradient"
    fd.stop_gradient(x).v()  # E: [attr-defined] has no attribute "v"
