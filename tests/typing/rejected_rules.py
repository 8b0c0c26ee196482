"""Mistakes in derivative rules that a strict type checker finds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Vector = NDArray[np.float64]


@fd.custom_vjp
def scaled(x: Vector, k: float) -> Vector:
    return x * k


@fd.custom_jvp
def square(x: Vector) -> Vector:
    return x * x


def forward(x: Vector, k: float) -> tuple[Vector, tuple[Vector, float]]:
    return scaled(x, k), (x, k)


def backward(kept: tuple[Vector, float], ct: Vector) -> tuple[Vector, np.float64]:
    x, k = kept
    return ct * k, np.sum(ct * x)


def without_residuals(x: Vector, k: float) -> Vector:
    return x * k


def of_another_result(x: Vector, k: float) -> tuple[str, tuple[Vector, float]]:
    return "text", (x, k)


def of_other_residuals(kept: str, ct: Vector) -> tuple[Vector, None]:
    return ct * len(kept), None


def without_tuple(kept: tuple[Vector, float], ct: Vector) -> Vector:
    return ct * kept[1]


def of_residuals_only(kept: tuple[Vector, float]) -> tuple[Vector, None]:
    return kept[0], None


def rejected() -> None:
    scaled.defvjp(forward, backward)
    scaled.defvjp(without_residuals, backward)  # E: [arg-type] defvjp
    scaled.defvjp(of_another_result, backward)  # E: [arg-type] defvjp
    scaled.defvjp(forward, of_other_residuals)  # E: [misc] Cannot infer value
    scaled.defvjp(forward, without_tuple)  # E: [arg-type] defvjp
    scaled.defvjp(forward, of_residuals_only)  # E: [arg-type] defvjp

    # A rule of forward mode returns the result and its tangent.
    @square.defjvp  # E: [arg-type] expected
    def tangent_alone(primals: tuple[Vector], tangents: tuple[Vector]) -> Vector:
        return 2 * primals[0] * tangents[0]

    @square.defjvp  # E: [arg-type] expected
    def other_tangent(primals: Any, tangents: Any) -> tuple[Vector, str]:
        return primals[0] * primals[0], "text"
