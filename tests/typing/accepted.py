"""Programs of users that a strict type checker accepts, with the types they get."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Vector = NDArray[np.float64]
Params = dict[str, Vector]
Blocks = tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]
Coordinates = tuple[NDArray[Any], tuple[NDArray[Any], NDArray[Any]]]


@dataclass(frozen=True)
class Model:
    w: Vector
    b: float


def square(x: float) -> float:
    return x * x


def total(x: Vector) -> np.float64:
    return np.sum(x**2)


def average(x: Vector) -> np.floating[Any]:
    return np.mean(x)


def untyped_result(x: Vector) -> Any:
    return np.dot(x, x)


def loss(params: Params, x: Vector, *, weight: float = 1.0) -> float:
    return weight * np.sum(params["w"] * x)


def model_loss(model: Model, x: Vector) -> np.float64:
    return np.sum(model.w * x) + model.b


def of_layers(layers: list[Vector], scale: float) -> np.float64:
    return scale * sum((np.sum(w**2) for w in layers), np.float64(0))


def of_many(*xs: float) -> float:
    return xs[0] * xs[1]


def three(x: Vector, y: float, z: Params, scale: float = 1.0) -> np.float64:
    return np.sum(x * z["w"]) * y * scale


def of_pair(pair: tuple[Vector, float]) -> np.float64:
    return np.sum(pair[0] ** 2) * pair[1]


def with_aux(x: Vector, y: float) -> tuple[np.float64, Params]:
    return np.sum(x) * y, {"x": x}


def with_aux_of_three(x: Vector, y: float, z: Vector) -> tuple[float, str]:
    return np.sum(x * z) * y, "text"


def field(x: Vector) -> Vector:
    return np.tanh(x)


def field_of_two(x: Vector, y: float) -> Vector:
    return x * y


def field_of_one(x: Vector) -> Vector:
    return 2 * x


def field_with_aux(x: Vector) -> tuple[Vector, str]:
    return np.tanh(x), "text"


def curve(t: float) -> Vector:
    return np.stack([np.cos(t), np.sin(t)])


def curve_with_aux(t: float) -> tuple[Vector, str]:
    return curve(t), "text"


def tree(x: Vector) -> Params:
    return {"x": x}


def analytic(z: complex) -> complex:
    return z * z


def weighted(x: Vector, z: complex) -> complex:
    return np.sum(x) * z**2


def step(carry: Vector, x: Vector) -> tuple[Vector, np.float64]:
    return carry + x, np.sum(carry)


def double(carry: Vector, _: None) -> tuple[Vector, Vector]:
    return 2 * carry, carry


def step_without_output(carry: Model, x: float) -> tuple[Model, None]:
    return Model(carry.w * x, carry.b), None


def step_with_a_tree(carry: float, x: float) -> tuple[float, Params]:
    return carry * x, {"x": np.ones(2)}


x: Vector = np.ones(3)
params: Params = {"w": x}
model = Model(x, 1.0)
flag: bool = bool(x[0] > 0)
number: int = len(x) - 2


def gradients_have_the_type_of_the_argument() -> None:
    assert_type(fd.grad(square)(2.0), float)
    assert_type(fd.grad(fd.grad(square))(2.0), float)
    assert_type(fd.grad(total)(x), Vector)
    assert_type(fd.grad(average)(x), Vector)
    assert_type(fd.grad(untyped_result)(x), Vector)
    assert_type(fd.grad(loss)(params, x), Params)
    assert_type(fd.grad(loss)(params, x, weight=2.0), Params)
    assert_type(fd.grad(loss)(params, x=x), Params)
    assert_type(fd.grad(model_loss)(model, x), Model)
    assert_type(fd.grad(three)(x, 1.0, params), Vector)
    assert_type(fd.grad(three)(x, y=1.0, z=params, scale=3.0), Vector)


def argnums_chooses_the_arguments() -> None:
    assert_type(fd.grad(three, 0)(x, 1.0, params), Vector)
    assert_type(fd.grad(three, argnums=1)(x, 1.0, params), float)
    assert_type(fd.grad(three, argnums=2)(x, 1.0, params, scale=2.0), Params)
    assert_type(fd.grad(three, argnums=(0, 1))(x, 1.0, z=params), tuple[Vector, float])
    assert_type(fd.grad(three, argnums=(0, 1, 2))(x, 1.0, params), tuple[Vector, float, Params])
    assert_type(fd.grad(three, argnums=-1)(x, 1.0, params), Any)
    assert_type(fd.grad(three, argnums=(0, 2))(x, 1.0, params), Any)
    assert_type(fd.grad(three, argnums=number)(x, 1.0, params), Any)
    assert_type(fd.grad(three, argnums=3)(x, 1.0, params, 2.0), Any)
    assert_type(fd.grad(of_many, argnums=3)(1.0, 2.0, 3.0, 4.0), Any)
    for k in range(2):
        fd.grad(square, k // 2)(2.0)


def auxiliary_results_keep_their_types() -> None:
    assert_type(fd.grad(with_aux, has_aux=True)(x, 2.0), tuple[Vector, Params])
    assert_type(fd.grad(with_aux, argnums=1, has_aux=True)(x, 2.0), tuple[float, Params])
    assert_type(
        fd.grad(with_aux, argnums=(0, 1), has_aux=True)(x, 2.0), tuple[tuple[Vector, float], Params]
    )
    assert_type(fd.grad(with_aux_of_three, argnums=2, has_aux=True)(x, 2.0, x), tuple[Vector, str])
    assert_type(
        fd.grad(with_aux_of_three, argnums=(0, 1, 2), has_aux=True)(x, 2.0, x),
        tuple[tuple[Vector, float, Vector], str],
    )
    assert_type(fd.grad(with_aux, argnums=number, has_aux=True)(x, 2.0), Any)


def value_and_grad_adds_the_value() -> None:
    assert_type(fd.value_and_grad(square)(2.0), tuple[float, float])
    assert_type(fd.value_and_grad(total)(x), tuple[np.float64, Vector])
    assert_type(fd.value_and_grad(average)(x), tuple[np.floating[Any], Vector])
    assert_type(fd.value_and_grad(loss)(params, x, weight=2.0), tuple[float, Params])
    assert_type(fd.value_and_grad(three, argnums=1)(x, 1.0, params), tuple[np.float64, float])
    assert_type(fd.value_and_grad(three, argnums=2)(x, 1.0, params), tuple[np.float64, Params])
    assert_type(
        fd.value_and_grad(three, argnums=(0, 1))(x, 1.0, params),
        tuple[np.float64, tuple[Vector, float]],
    )
    assert_type(
        fd.value_and_grad(with_aux, has_aux=True)(x, 2.0), tuple[tuple[np.float64, Params], Vector]
    )
    assert_type(fd.value_and_grad(three, argnums=number)(x, 1.0, params), Any)


def names_of_parameters_keep_the_whole_signature() -> None:
    by_name = fd.grad(three, argnames="y")
    assert_type(by_name(x, y=1.0, z=params, scale=2.0), Any)
    fd.grad(square, argnames="x")(x=2.0)
    fd.grad(loss, 0, argnames=("weight",))(params, x=x, weight=2.0)
    assert_type(fd.grad(with_aux, argnames="y", has_aux=True)(x, y=2.0), tuple[Any, Params])
    assert_type(fd.value_and_grad(three, argnames="z")(x, 1.0, z=params), tuple[np.float64, Any])
    assert_type(
        fd.value_and_grad(with_aux, argnames="x", has_aux=True)(x, y=2.0),
        tuple[tuple[np.float64, Params], Any],
    )
    fd.jacobian(field_of_two, argnames=("x", "y"))(x, y=2.0)
    fd.hessian(loss, argnames="params")(params=params, x=x, weight=2.0)
    fd.derivative(three, argnames="y", n=2)(x, y=2.0, z=params)
    fd.vjp(field_of_two, x, y=2.0, argnames=("x", "y"))
    value, pullback = fd.vjp(field_of_two, x, 2.0, argnums=0)
    assert_type(value, Vector)
    assert_type(pullback(value), tuple[Vector])
    assert_type(fd.vjp(field_of_two, x, 2.0, argnums=1)[1](value), tuple[float])
    assert_type(fd.vjp(field_of_two, x, 2.0, argnums=(0, 1))[1](value), tuple[Vector, float])
    assert_type(fd.vjp(three, x, 2.0, params, argnums=(0, 1))[1](), tuple[Vector, float])
    assert_type(fd.vjp(three, x, 2.0, params, argnums=(0, 2))[1](), tuple[Any, ...])
    fd.vjp(lambda a, b: a * b, x, 2.0, argnums=1)[1](x)
    assert_type(fd.linearize(field_of_two, x, 2.0, argnums=0), Any)
    fd.hvp(loss, (params, x), (params,), argnames="params", weight=2.0)


def complex_derivatives_are_asked_for() -> None:
    assert_type(fd.grad(analytic, holomorphic=True)(1j), complex)
    assert_type(fd.value_and_grad(analytic, holomorphic=True)(1j), tuple[complex, complex])
    assert_type(fd.derivative(analytic, n=2, holomorphic=True)(1j), complex)
    assert_type(fd.elementwise_grad(analytic, holomorphic=True)(1j), complex)


def lambdas_need_no_annotations() -> None:
    assert_type(fd.grad(lambda a: np.sum(a**2))(x), Any)
    assert_type(fd.grad(lambda a, b: np.sum(a**2) * b)(x, 2.0), Any)
    assert_type(fd.grad(lambda a, b: np.sum(a**2) * b, argnums=1)(x, 2.0), Any)
    fd.grad(lambda a, b: np.sum(a**2) * b, argnums=(0, 1))(x, 2.0)
    assert_type(fd.grad(fd.grad(lambda a: a**3))(2.0), Any)
    fd.grad(lambda a: (np.sum(a**2), a), has_aux=True)(x)
    fd.value_and_grad(lambda a: np.sum(a**2))(x)
    fd.value_and_grad(lambda a, b: np.sum(a**2) * b, argnums=1)(x, 2.0)
    fd.jacobian(lambda a: a**2)(x)
    fd.hessian(lambda a: np.sum(a**2))(x)
    fd.jacobian(lambda a: a**2, mode="forward", chunk_size=2)(x)
    fd.jacobian(lambda a: (a**2, a), has_aux=True)(x)
    fd.jacobian(lambda a, b: a * b, argnums=(0, 1))(x, 2.0)
    fd.value_and_jacobian(lambda a: a**2)(x)
    fd.hessian(lambda a, b: np.sum(a * b), argnums=(0, 1))(x, x)
    fd.value_grad_and_hessian(lambda a: np.sum(a**2))(x)
    fd.value_grad_and_hessian(lambda a: (np.sum(a**2), a), has_aux=True)(x)
    fd.derivative(lambda a: a**2, n=2)(2.0)
    fd.elementwise_grad(lambda a: a**2)(x)
    fd.grad(lambda a, b: np.sum(a**2) * b, argnames="b")(x, b=2.0)
    fd.hvp(lambda a: np.sum(a**2), (x,), (x,))
    fd.vhp(lambda a: np.sum(a**2), (x,), (x,))
    fd.gauss_newton_product(lambda a: a**2, (x,), (x,), loss=lambda y: np.sum(y**2))
    fd.directional_derivative(lambda a: a**2, (x,), (x,))
    fd.linearize(lambda a: a**2, x)[1](x)
    fd.linear_transpose(lambda a: 2 * a, x)(x)
    fd.vmap(lambda a: a**2)(x)
    fd.trace(lambda a: a**2)(x)


def the_cotangent_of_a_scalar_may_be_left_out() -> None:
    value, total_vjp = fd.vjp(total, x)
    assert_type(value, np.float64)
    assert_type(total_vjp(), tuple[Vector])
    assert_type(total_vjp(2.0), tuple[Vector])
    output, field_vjp = fd.vjp(field, x)
    assert_type(output, Vector)
    assert_type(field_vjp(np.ones(3)), tuple[Vector])
    assert_type(fd.vjp(field_of_two, x, 2.0)[1](x), tuple[Vector, float])
    assert_type(fd.vjp(three, x, 2.0, params)[1](), tuple[Vector, float, Params])
    assert_type(fd.vjp(tree, x)[1]({"x": x}), tuple[Vector])
    _, scalar_vjp_with_aux, extra = fd.vjp(with_aux, x, 2.0, has_aux=True)
    assert_type(scalar_vjp_with_aux(), tuple[Vector, float])
    assert_type(extra, Params)
    _, vjp_with_aux, _ = fd.vjp(field_with_aux, x, has_aux=True)
    assert_type(vjp_with_aux(x), tuple[Vector])
    image, lambda_vjp = fd.vjp(lambda a: 2 * a, x)
    lambda_vjp(image)


def forward_products_keep_both_types() -> None:
    assert_type(fd.jvp(square, (2.0,), (1.0,)), tuple[float, float])
    assert_type(fd.jvp(field, (x,), (np.ones(3),)), tuple[Vector, Vector])
    assert_type(fd.jvp(field_of_two, (x, 2.0), (x, 1.0)), tuple[Vector, Vector])
    assert_type(fd.jvp(tree, (x,), (x,)), tuple[Params, Params])
    fd.jvp(lambda a: 2 * a, (x,), (x,))
    assert_type(fd.jvp(with_aux, (x, 2.0), (x, 1.0), has_aux=True),
                tuple[np.float64, np.float64, Params])  # fmt: skip
    assert_type(fd.jvp(field_of_two, (x, 2.0), (1.0,), argnums=1), tuple[Vector, Vector])
    assert_type(fd.directional_derivative(field_of_two, (x, 2.0), (x, 1.0)), Vector)
    assert_type(
        fd.directional_derivative(with_aux, (x, 2.0), (x, 1.0), has_aux=True),
        tuple[np.float64, Params],
    )
    assert_type(fd.linearize(field, x), tuple[Vector, Callable[[Vector], Vector]])
    assert_type(
        fd.linearize(field_with_aux, x, has_aux=True),
        tuple[Vector, Callable[[Vector], Vector], str],
    )
    assert_type(fd.linearize(field_of_two, x, 2.0)[1](x, 1.0), Vector)
    assert_type(fd.hvp(total, (x,), (np.ones(3),)), Vector)
    assert_type(fd.hvp(square, (2.0,), (1.0,)), float)
    assert_type(fd.hvp(model_loss, (model, x), (model, x)), tuple[Model, Vector])
    assert_type(fd.vhp(total, (x,), (np.ones(3),)), Vector)
    assert_type(fd.vhp(model_loss, (model, x), (model, x)), tuple[Model, Vector])
    assert_type(fd.gauss_newton_product(field, (x,), (x,)), Vector)
    assert_type(fd.hvp(with_aux, (x, 2.0), (x, 1.0), has_aux=True), tuple[Any, Params])
    fd.hvp(lambda a: (np.sum(a**2), a), (x,), (x,), has_aux=True)
    assert_type(fd.gauss_newton_product(field, (x,), (x,), loss=total), Vector)
    assert_type(fd.gauss_newton_product(field_of_two, (x, 2.0), (x, 1.0)), tuple[Vector, float])


def linear_functions_are_transposed() -> None:
    assert_type(fd.linear_transpose(field_of_one, x), Callable[[Vector], tuple[Vector]])
    assert_type(
        fd.linear_transpose(field_of_two, x, 2.0, argnums=0), Callable[[Vector], tuple[Any, ...]]
    )


def derivatives_of_numbers_are_like_the_result() -> None:
    assert_type(fd.derivative(square)(2.0), float)
    assert_type(fd.derivative(square, n=3)(2.0), float)
    assert_type(fd.derivative(curve, n=2)(0.5), Vector)
    assert_type(fd.derivative(field_of_two, argnums=1)(x, 2.0), Vector)
    assert_type(fd.derivative(curve_with_aux, has_aux=True)(0.5), tuple[Vector, str])
    assert_type(fd.elementwise_grad(field)(x), Vector)
    assert_type(fd.elementwise_grad(field_of_two)(x, y=2.0), Vector)
    assert_type(fd.elementwise_grad(field_of_two, argnums=1)(x, 2.0), float)
    assert_type(fd.elementwise_grad(field_with_aux, has_aux=True)(x), tuple[Vector, str])


def jacobians_of_arrays_are_arrays() -> None:
    assert_type(fd.jacobian(field)(x), NDArray[Any])
    assert_type(fd.jacfwd(field)(x), NDArray[Any])
    assert_type(fd.jacrev(field)(x), NDArray[Any])
    assert_type(fd.jacobian(field, mode="reverse", chunk_size=2)(x), NDArray[Any])
    assert_type(fd.jacobian(field_with_aux, has_aux=True)(x), tuple[NDArray[Any], str])
    assert_type(fd.value_and_jacobian(field)(x), tuple[Vector, NDArray[Any]])
    assert_type(
        fd.value_and_jacobian(field_with_aux, has_aux=True)(x),
        tuple[tuple[Vector, str], NDArray[Any]],
    )
    assert_type(fd.hessian(total)(x), NDArray[Any])
    assert_type(fd.hessian(with_aux, has_aux=True)(x, 2.0), tuple[NDArray[Any], Params])
    assert_type(fd.value_grad_and_hessian(total)(x), tuple[np.float64, Vector, NDArray[Any]])
    assert_type(
        fd.value_grad_and_hessian(with_aux, has_aux=True)(x, 2.0),
        tuple[tuple[np.float64, Params], Vector, NDArray[Any]],
    )
    assert_type(fd.jacobian(field_of_two)(x, y=2.0), NDArray[Any])
    assert_type(fd.jacobian(field_of_two, argnums=1)(x, 2.0), NDArray[Any])
    both = fd.jacobian(field_of_two, argnums=(0, 1))(x, 2.0)
    assert_type(both, tuple[NDArray[Any], NDArray[Any]])
    assert_type(fd.value_and_jacobian(field_of_two, argnums=1)(x, 2.0), tuple[Vector, NDArray[Any]])
    assert_type(fd.jacobian(three, argnums=2)(x, 2.0, params), Any)
    assert_type(fd.jacobian(tree)(x), Any)
    assert_type(fd.hessian(loss)(params, x), dict[str, dict[str, NDArray[Any]]])
    assert_type(fd.hessian(of_layers)([x, x], 2.0), list[list[NDArray[Any]]])
    assert_type(
        fd.value_grad_and_hessian(of_layers)([x, x], 2.0),
        tuple[np.float64, list[Vector], list[list[NDArray[Any]]]],
    )
    assert_type(fd.hessian(model_loss)(model, x), Any)
    assert_type(fd.hessian(three, argnums=1)(x, 2.0, params), NDArray[Any])
    assert_type(fd.hessian(three, argnums=(0, 1))(x, 2.0, params), Blocks)
    assert_type(fd.hessian(of_pair)((x, 2.0)), Blocks)
    assert_type(
        fd.value_grad_and_hessian(of_pair)((x, 2.0)),
        tuple[np.float64, tuple[Vector, float], Blocks],
    )
    fd.hessian(lambda a, b: np.sum(a * b), argnums=1)(x, x)
    fd.jacobian(lambda a, b: a * b, argnums=(0, 1))(x, x)


def sparse_jacobians_have_the_type_of_their_format() -> None:
    assert_type(fd.jacobian(field, sparse=True, format="coo")(x), Coordinates)
    assert_type(fd.jacfwd(field, sparse=True, format="coo")(x), Coordinates)
    assert_type(fd.jacobian(field, mode="reverse", sparse=True, format="coo")(x), Coordinates)
    assert_type(
        fd.value_and_jacobian(field_with_aux, has_aux=True, sparse=True, format="coo")(x),
        tuple[tuple[Vector, str], Coordinates],
    )
    assert_type(fd.hessian(total, sparse=True, format="coo")(x), Coordinates)
    assert_type(
        fd.value_grad_and_hessian(total, sparse=True, format="coo")(x),
        tuple[np.float64, Vector, Coordinates],
    )
    fd.jacobian(field, sparse=True)(x).toarray()
    fd.hessian(total, sparse=True, format="csc")(x).indptr.sum()
    fd.jacobian(tree, sparse=True)(x)
    chosen: bool = len(x) > 3
    fd.jacobian(field, sparse=chosen)(x)
    fd.vmap(field_of_two, in_axes=[0, None])(x, 2.0)


def the_other_transforms_keep_signatures() -> None:
    assert_type(fd.vmap(field_of_two, in_axes=(0, None))(x, 2.0), Vector)
    assert_type(fd.vmap(fd.grad(total))(x), Vector)
    assert_type(fd.stop_gradient(model), Model)
    assert_type(fd.trace(loss)(params, x, weight=2.0), fd.Program)
    assert_type(fd.trace(fd.grad(loss))(params, x), fd.Program)
    fd.cond(flag, field, np.negative, x)
    assert_type(fd.cond(x[0] > 0, field, fd.grad(total), x), Vector)
    assert_type(fd.cond(flag, field_of_two, lambda a, b: a - b, x, 2.0), Vector)
    assert_type(fd.cond(flag, lambda: x, lambda: 2 * x), Vector)
    assert_type(fd.scan(step, x, np.ones((5, 3))), tuple[Vector, NDArray[Any]])
    assert_type(fd.scan(double, x, None, length=5, reverse=True), tuple[Vector, NDArray[Any]])
    assert_type(fd.scan(step_without_output, model, x), tuple[Model, None])
    assert_type(fd.scan(step_with_a_tree, 1.0, x), tuple[float, Params])
    assert_type(fd.scan(step, x, x, checkpoint=True), tuple[Vector, NDArray[Any]])
    assert_type(fd.scan(step_with_a_tree, 1.0, x, checkpoint=8), tuple[float, Params])


def branches_and_loops_keep_the_types_of_their_values() -> None:
    assert_type(fd.switch(1, [field, fd.grad(total)], x), Vector)
    assert_type(fd.switch(np.argmax(x), (tree, lambda a: {"x": a}), x), Params)
    assert_type(fd.while_loop(lambda a: a[0] > 0.5, field, x), Vector)
    assert_type(fd.while_loop(lambda m: np.any(m.w > 1e9), lambda m: m, model), Model)
    assert_type(fd.fori_loop(0, 2, lambda i, p: {"w": p["w"] * i}, params), Params)
    assert_type(fd.map(field, x), NDArray[Any])
    assert_type(fd.map(tree, x, batch_size=4), Params)
    assert_type(fd.associative_scan(lambda a, b: a * b, x, reverse=True), Vector)
    assert_type(fd.associative_scan(lambda a, b: b, params, axis=-1), Params)
    assert_type(fd.vmap(field_of_two, (0, None), -1)(x, 2.0), Vector)


def descend(params: Params, x: Vector) -> Params:
    gradient = fd.grad(loss)(params, x)
    return fd.pytree.map(lambda p, g: p - 0.1 * g, params, gradient)


def derivative_of(f: Callable[[float], float]) -> Callable[[float], float]:
    return fd.grad(f)


def transforms_fit_into_annotated_functions() -> None:
    assert_type(descend(params, x), Params)
    assert_type(derivative_of(square)(2.0), float)


def grad_is_a_decorator() -> None:
    @fd.grad
    def slope(x: float, power: int = 2) -> float:
        return x**power

    assert_type(slope(2.0, power=3), float)


class Machine:
    rate = 0.5

    @fd.jit
    def step(self, x: Vector, count: int = 1) -> Vector:
        return x * self.rate * count

    @fd.jit
    def pair(self, x: float) -> tuple[float, float]:
        return x, self.rate


class Pendulum:
    def energy(self, angle: float, momentum: float) -> float:
        return momentum**2 / 2 - angle

    force = fd.grad(energy, argnums=1)
    both = fd.value_and_grad(energy, argnums=2)


def derivatives_of_methods_are_methods() -> None:
    assert_type(Pendulum().force(0.5, momentum=1.0), float)
    assert_type(Pendulum().both(0.5, 1.0), tuple[float, float])


def derivatives_by_other_arguments_are_functions_to_pass_on() -> None:
    slope = fd.grad(three, argnums=1)
    assert_type(fd.jit(slope)(x, 1.0, params), float)
    assert_type(fd.jit(fd.jacobian(field))(x), NDArray[Any])
    assert_type(fd.grad(weighted, argnums=1, holomorphic=True)(x, 2j), complex)
    annotated: Callable[[Vector, float, Params], float] = slope
    assert_type(annotated(x, 1.0, params), float)
    assert slope.__name__


def a_jitted_method_keeps_its_types() -> None:
    assert_type(Machine().step(x, count=2), Vector)
    assert_type(Machine().pair(2.0), tuple[float, float])
    assert_type(Machine.step(Machine(), x), Vector)
    assert_type(fd.grad(Machine().pair, has_aux=True)(2.0), tuple[float, float])


PROGRAMS = [
    gradients_have_the_type_of_the_argument,
    argnums_chooses_the_arguments,
    auxiliary_results_keep_their_types,
    value_and_grad_adds_the_value,
    names_of_parameters_keep_the_whole_signature,
    complex_derivatives_are_asked_for,
    lambdas_need_no_annotations,
    the_cotangent_of_a_scalar_may_be_left_out,
    forward_products_keep_both_types,
    linear_functions_are_transposed,
    derivatives_of_numbers_are_like_the_result,
    jacobians_of_arrays_are_arrays,
    sparse_jacobians_have_the_type_of_their_format,
    the_other_transforms_keep_signatures,
    branches_and_loops_keep_the_types_of_their_values,
    transforms_fit_into_annotated_functions,
    grad_is_a_decorator,
    derivatives_of_methods_are_methods,
    derivatives_by_other_arguments_are_functions_to_pass_on,
    a_jitted_method_keeps_its_types,
]
