"""Programs with containers of users' own, which keep their types through every transform."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, assert_type

import attrs
import numpy as np
import xarray as xr
from numpy.typing import NDArray

import funcdiff as fd
from funcdiff.typing import Array, Pullback, Pushforward, Scalar, ScalarPullback

Vector = NDArray[np.float64]
Weights = TypeVar("Weights")


@dataclass(frozen=True)
class Layer:
    w: Vector
    b: float
    name: str = field(default="layer", metadata={"static": True})


@dataclass
class Model(Generic[Weights]):
    layers: list[Weights]
    scale: float = 1.0


@attrs.frozen
class Prior:
    mean: Vector
    width: float


class Point(NamedTuple):
    x: float
    y: float


class Batch(TypedDict):
    x: Vector
    y: Vector


Network = Model[Layer]


def output(network: Network, x: Vector) -> Vector:
    for layer in network.layers:
        x = np.tanh(layer.w * x + layer.b)
    return network.scale * x


def loss(network: Network, batch: Batch, *, decay: float = 0.0) -> Scalar:
    size = sum(np.sum(layer.w**2) for layer in network.layers)
    return np.mean((output(network, batch["x"]) - batch["y"]) ** 2) + decay * size


def loss_with_output(network: Network, batch: Batch) -> tuple[np.float64, Vector]:
    y = output(network, batch["x"])
    return np.sum((y - batch["y"]) ** 2), y


def log_density(x: Vector, prior: Prior) -> np.float64:
    return -np.sum((x - prior.mean) ** 2) / prior.width


def distance(p: Point) -> float:
    return p.x**2 + p.y**2


def ordered(p: OrderedDict[str, float]) -> float:
    return p["a"] * p["b"]


def pair(p: tuple[float, list[float]]) -> float:
    return p[0] * p[1][0]


class Experiment:
    def __init__(self, x: Vector) -> None:
        self.x = x

    def residuals(self, point: Point, scale: float = 1.0) -> Vector:
        return point.x * self.x + point.y * scale

    def __call__(self, point: Point) -> np.float64:
        return np.sum(self.residuals(point) ** 2)


x: Vector = np.ones(3)
network: Network = Model([Layer(x, 0.5), Layer(x, -0.5)])
batch: Batch = {"x": x, "y": np.zeros(3)}
prior = Prior(x, 2.0)
experiment = Experiment(x)


def gradients_are_of_the_users_class() -> None:
    assert_type(fd.grad(loss)(network, batch), Network)
    assert_type(fd.grad(loss)(network, batch=batch, decay=0.1), Network)
    assert_type(fd.grad(loss)(network, batch).layers[0].w, Vector)
    assert_type(fd.grad(log_density, argnums=1)(x, prior), Prior)
    assert_type(fd.grad(log_density, argnums=(0, 1))(x, prior), tuple[Vector, Prior])
    assert_type(fd.grad(distance)(Point(1.0, 2.0)), Point)
    assert_type(fd.grad(ordered)(OrderedDict(a=1.0, b=2.0)), OrderedDict[str, float])
    assert_type(fd.grad(pair)((1.0, [2.0])), tuple[float, list[float]])


def values_and_auxiliary_results_come_beside_them() -> None:
    assert_type(fd.value_and_grad(log_density)(x, prior), tuple[np.float64, Vector])
    assert_type(
        fd.value_and_grad(loss_with_output, has_aux=True)(network, batch),
        tuple[tuple[np.float64, Vector], Network],
    )
    assert_type(fd.grad(loss_with_output, has_aux=True)(network, batch), tuple[Network, Vector])


def products_take_and_return_the_users_class() -> None:
    y, f_vjp = fd.vjp(output, network, x)
    assert_type(y, Vector)
    assert_type(f_vjp(y), tuple[Network, Vector])
    pullback: Pullback[Vector, Network, Vector] = f_vjp
    assert_type(pullback(y), tuple[Network, Vector])
    value, scalar_vjp = fd.vjp(distance, Point(1.0, 2.0))
    scalar_pullback: ScalarPullback[float, Point] = scalar_vjp
    assert_type(value, float)
    assert_type(scalar_pullback(), tuple[Point])
    point = Point(1.0, 2.0)
    assert_type(fd.jvp(experiment.residuals, (point, 1.0), (point, 0.0)), tuple[Vector, Vector])
    _, f_jvp = fd.linearize(experiment.residuals, point, 1.0)
    pushforward: Pushforward[Point, float, Vector] = f_jvp
    assert_type(pushforward(point, 1.0), Vector)


def methods_and_callable_objects_are_functions() -> None:
    point = Point(1.0, 2.0)
    assert_type(fd.grad(experiment)(point), Point)
    assert_type(fd.value_and_grad(experiment)(point), tuple[np.float64, Point])
    shared = fd.vmap(experiment.residuals, in_axes=None, axis_size=2)
    assert_type(shared(point, 2.0), Vector)
    fd.jacobian(partial(experiment.residuals, scale=2.0))(point)


def containers_become_vectors_and_come_back() -> None:
    vector, unravel = fd.ravel_pytree(network)
    assert_type(vector, Array)
    assert_type(unravel(vector), Network)
    slope: Callable[[Array], Network] = lambda v: fd.grad(loss)(unravel(v), batch)
    assert_type(slope(vector), Network)


def trees_keep_their_types_when_mapped() -> None:
    gradient = fd.grad(loss)(network, batch)
    assert_type(fd.pytree.map(lambda p, g: p - 0.1 * g, network, gradient), Network)
    assert_type(fd.stop_gradient(prior), Prior)


def loops_carry_the_users_class() -> None:
    def step(p: Point, t: float) -> tuple[Point, float]:
        return Point(p.x + t, p.y), p.x

    def grown(p: Point) -> Point:
        return Point(2 * p.x, p.y)

    start = Point(0.0, 1.0)
    assert_type(fd.scan(step, start, x), tuple[Point, Array])
    assert_type(fd.cond(x[0] > 0, grown, lambda p: p, start), Point)


def arrays_with_labels_keep_them() -> None:
    weights = xr.DataArray([1.0, 2.0], dims="x")

    def squares(w: xr.DataArray) -> xr.DataArray:
        return (w**2).sum()

    def loss(w: xr.DataArray) -> Any:
        return squares(w)

    assert_type(fd.grad(loss)(weights), xr.DataArray)
    assert_type(fd.jit(squares)(weights), xr.DataArray)
    assert_type(fd.jvp(squares, (weights,), (weights,)), tuple[xr.DataArray, xr.DataArray])


def deviations_are_like_the_value() -> None:
    def shifted(p: Point) -> Point:
        return Point(p.x + p.y, p.y)

    found = fd.propagate(shifted)(Point(1.0, 2.0), std=Point(0.1, 0.2), check=False)
    assert_type(found.value, Point)
    assert_type(found.std, Point)


def a_minimum_is_a_container_like_its_start() -> None:
    model = Model([Layer(np.ones(3), 0.0)])
    seen: list[Model[Layer]] = []
    program = fd.nlp(lambda m: np.sum(m.layers[0].w ** 2), None, model, bounds=(-1.0, None))
    found = program.solve(callback=seen.append)
    assert_type(found.x, Model[Layer])
    assert_type(found.success, bool)
    assert_type(program.container(found.vector), Model[Layer])


PROGRAMS = [
    a_minimum_is_a_container_like_its_start,
    deviations_are_like_the_value,
    arrays_with_labels_keep_them,
    gradients_are_of_the_users_class,
    values_and_auxiliary_results_come_beside_them,
    products_take_and_return_the_users_class,
    methods_and_callable_objects_are_functions,
    containers_become_vectors_and_come_back,
    trees_keep_their_types_when_mapped,
    loops_carry_the_users_class,
]
