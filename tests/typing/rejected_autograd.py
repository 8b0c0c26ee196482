"""Mistakes with autograd's names that a strict type checker finds, and what it says of them."""

import numpy
from numpy.typing import NDArray

from funcdiff.autograd import grad, jacobian, make_vjp, value_and_grad

Vector = NDArray[numpy.float64]
Params = dict[str, Vector]


def loss(params: Params, x: Vector) -> float:
    return float((params["w"] * x).sum())


def tree(x: Vector) -> Params:
    return {"w": x}


def rejected(x: Vector, params: Params) -> None:
    # The function has to return a number or an array.
    grad(tree)  # E: [type-var] "DifferentiableValue" of "__call__" of "Operator" cannot be
    jacobian(tree)  # E: [type-var] "DifferentiableValue" of "__call__" of "Operator" cannot be
    grad(3.0)  # E: [call-overload] No overload variant
    grad(loss, "x")  # E: [arg-type] expected "int | Sequence[int]"

    # The derivative takes what the function takes, and returns what is like it.
    grad(loss)(x, x)  # E: [arg-type] expected "dict[str, ndarray
    grad(loss)(params)  # E: [call-arg] Too few arguments
    value_and_grad(loss, 1)(params, x, x)  # E: [call-arg] Too many arguments
    make_vjp(tree)(x)[0](x)  # E: [arg-type] expected "dict[str, ndarray
    slope: Vector = grad(loss)(params, x)  # E: [assignment] expression has type "dict[str, ndarray
    print(slope)
