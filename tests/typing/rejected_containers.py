"""Mistakes with containers and rules of users' own that a strict type checker finds."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd
from funcdiff import pytree
from funcdiff.testing import check_grads, check_jvp, check_vjp
from funcdiff.typing import Array, Pullback, Scalar

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    w: Vector
    b: float


class Point(NamedTuple):
    x: float
    y: float


def loss(layers: list[Layer], x: Vector, *, decay: float = 0.0) -> Scalar:
    return np.sum(layers[0].w * x) + decay


def output(layer: Layer, x: Vector) -> Vector:
    return layer.w * x + layer.b


def distance(p: Point) -> float:
    return p.x**2 + p.y**2


@fd.custom_vjp
def scaled(x: float, factor: float = 2.0) -> float:
    return factor * x


def rejected(layers: list[Layer], layer: Layer, point: Point, x: Vector) -> None:
    # The gradient takes and returns the class of the user.
    fd.grad(loss)(layer, x)  # E: [arg-type] expected "list[Layer]"
    fd.grad(loss)(layers, x, decya=0.1)  # E: [call-arg] did you mean "decay"
    fd.grad(loss)(layers, x).w()  # E: [attr-defined] has no attribute "w"
    fd.grad(loss)(layers, x)[0].v()  # E: [attr-defined] "Layer" has no attribute "v"
    fd.value_and_grad(loss)(layers, x)[1].w()  # E: [attr-defined] has no attribute "w"
    fd.grad(distance)((1.0, 2.0))  # E: [arg-type] expected "Point"
    fd.grad(distance)(point).z()  # E: [attr-defined] "Point" has no attribute "z"
    fd.grad(output)(layer, x)  # E: [arg-type] float | floating
    _: Point = fd.grad(loss)(layers, x)  # E: [assignment] has type "list[Layer]"

    # Products: every primal has its place.
    fd.vjp(output, x, layer)  # E: [arg-type] Argument 1
    fd.vjp(output, layer, x)[1](layer)  # E: [arg-type] Argument 1
    fd.vjp(output, layer, x)[1](x)[2]  # E: [misc] Tuple index out of range
    fd.jvp(output, (layer, x), (x, layer))  # E: [arg-type] Argument 1
    pullback: Pullback[Vector, Layer] = fd.vjp(output, layer, x)[1]  # E: [assignment] Incompatible
    pullback(layer)  # E: [arg-type] Argument 1

    # Functions with rules have the signature of the function.
    scaled("text")  # E: [arg-type] Argument 1
    scaled(1.0, fcator=3.0)  # E: [call-arg] Unexpected keyword argument "fcator"
    fd.grad(scaled)(x)  # E: [arg-type] Argument 1
    scaled.defvpj(None, None)  # E: [attr-defined] has no attribute "defvpj"

    # Functions that are kept whole keep their signatures.
    fd.jit(loss)(layers, x, decya=0.1)  # E: [call-arg] Unexpected keyword argument "decya"
    fd.jit(loss)(layer, x)  # E: [arg-type] Argument 1
    fd.checkpoint(output)(layer)  # E: [call-arg] Too few arguments
    fd.tap_grads(output)  # E: [arg-type] float | floating
    fd.while_loop(bool, distance, point)  # E: [arg-type] Argument 2
    fd.fori_loop(0, 3, distance, point)  # E: [arg-type] Argument 3
    fd.fixed_point(distance, point).z()  # E: [attr-defined] "Point" has no attribute "z"

    # Containers and vectors.
    fd.ravel_pytree(layer)[1](layer)  # E: [arg-type] Argument 1
    fd.ravel_pytree(layer)[1](x).v()  # E: [attr-defined] "Layer" has no attribute "v"
    pytree.map(abs, layer).v()  # E: [attr-defined] "Layer" has no attribute "v"
    pytree.register(layer, list, list)  # E: [arg-type] Argument 1
    _array: Array = fd.stop_gradient(layer)  # E: [arg-type] Argument 1

    # Checks.
    check_grads(loss)  # E: [call-arg] Missing positional argument "args"
    check_grads(loss, (layers, x), 2, (), 1e-3)  # E: [call-arg] Too many positional arguments
    check_grads(loss, (layers, x), tol=1e-3)  # E: [call-arg] Unexpected keyword argument "tol"
    check_vjp(output, (layer, x))  # E: [call-arg] Missing positional argument "args"
    check_jvp(distance, distance, (point,))  # E: [arg-type] Argument 2
