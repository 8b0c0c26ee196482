"""Programs with autograd's names that a strict type checker accepts, with the types they get."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, assert_type

import numpy
from numpy.typing import NDArray

import funcdiff.autograd.numpy as np
from funcdiff.autograd import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    hessian,
    hessian_vector_product,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    value_and_grad,
    vector_jacobian_product,
)
from funcdiff.autograd.extend import defvjp, primitive

Vector = NDArray[numpy.float64]
Array = NDArray[Any]
Params = dict[str, Vector]


@primitive
def cube(x: Any) -> Any:
    return x**3


defvjp(cube, lambda ans, x: lambda g: 3 * g * x**2)


def loss(params: Params, x: Vector, *, scale: float = 1.0) -> numpy.float64:
    return scale * np.sum(params["w"] * x**2)


def total(x: Vector) -> numpy.float64:
    return np.sum(x**3)


def field(x: Vector, t: float) -> Vector:
    return np.tanh(x * t)


def tree(x: Vector) -> Params:
    return {"w": x**2}


def tree_of_two(x: Vector, y: Vector) -> Params:
    return {"w": x * y}


def aux_of_two(x: Vector, y: float) -> tuple[numpy.float64, str]:
    return np.sum(x) * y, "text"


def with_aux(x: Vector) -> tuple[numpy.float64, str]:
    return np.sum(x**2), "text"


class Model:
    def loss(self, x: Vector) -> numpy.float64:
        return np.sum(x**2)


def gradients_are_like_the_argument() -> None:
    x = numpy.array([1.0, 2.0])
    params = {"w": x}
    assert_type(grad(loss)(params, x, scale=2.0), Params)
    assert_type(grad(loss, 1)(params, x), Vector)
    assert_type(grad(loss, (0, 1))(params, x), tuple[Params, Vector])
    assert_type(value_and_grad(loss)(params, x), tuple[numpy.float64, Params])
    assert_type(grad_and_aux(with_aux)(x), tuple[Vector, str])
    assert_type(elementwise_grad(elementwise_grad(field))(x, 1.0), Vector)
    assert_type(deriv(field, 1)(x, 1.0), Vector)
    assert_type(grad(Model().loss)(x), Vector)
    gradient: Callable[[Params, Vector], Params] = grad(loss)
    gradient(params, x)


def matrices_are_arrays() -> None:
    x = numpy.array([1.0, 2.0])
    assert_type(jacobian(field)(x, 1.0), Array)
    assert_type(jacobian(jacobian(field))(x, 1.0), Array)
    assert_type(hessian(total)(x), Array)
    assert_type(vector_jacobian_product(field)(x, 1.0, x), Array)


def products_are_like_the_argument_or_the_result() -> None:
    x = numpy.array([1.0, 2.0])
    vjp, y = make_vjp(tree)(x)
    assert_type(vjp(y), Vector)
    assert_type(make_jvp(field, 1)(x, 1.0)(2.0), tuple[Vector, Vector])
    hvp, slope = make_hvp(total)(x)
    assert_type(hvp(slope), Vector)
    assert_type(hessian_vector_product(total)(x, x), Vector)
    assert_type(make_ggnvp(field)(x, 1.0)(x), Any)
    both, _ = make_vjp(tree_of_two, (0, 1))(x, x)
    assert_type(both({"w": x}), tuple[Vector, Vector])
    assert_type(grad_and_aux(aux_of_two, 1)(x, 2.0), tuple[float, str])
    assert_type(elementwise_grad(field, 1)(x, 1.0), float)
    assert_type(jacobian(field, 1)(x, 1.0), Array)


def what_has_no_types_is_accepted() -> None:
    x = numpy.array([1.0, 2.0])
    vjp, _ = make_vjp(np.square)(x)
    assert_type(vjp, Any)
    value_and_grad(lambda x: np.sum(x**2))(x)
    jacobian(lambda x, y: np.outer(x, y), 1)(x, x)
    elementwise_grad(elementwise_grad(np.tanh))(x)
    hessian_vector_product(np.prod)(x, x)
    for k in range(2):
        grad(loss, k)({"w": x}, x)
    assert_type(multigrad_dict(cube)(2.0), OrderedDict[str, Any])


def functions_with_rules_are_differentiated() -> None:
    np.testing.assert_array_equal(grad(cube)(2.0) + hessian(cube)(1.0), 18)


PROGRAMS = [
    gradients_are_like_the_argument,
    matrices_are_arrays,
    products_are_like_the_argument_or_the_result,
    what_has_no_types_is_accepted,
    functions_with_rules_are_differentiated,
]
