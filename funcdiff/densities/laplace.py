"""Laplace's approximation: the mode by Newton's method, the covariance, the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcdiff.errors import ConvergenceError, user_location

_FLAT = 1e-12
"""A curvature that cannot be told from none, where those along the parameters are 1."""


@dataclass(frozen=True)
class Approximation:
    """The normal distribution at the mode of a density.

    Attributes
    ----------
    mode
        Container of parameters at the mode of the density of unconstrained vectors.
    vector, covariance
        Arrays of shapes ``(n,)`` and ``(n, n)``: mean and covariance of unconstrained vectors.
    log_evidence
        Approximate logarithm of the integral of the density.
    """

    mode: Any
    vector: Any
    covariance: Any
    log_evidence: float


@np.errstate(all="ignore")
def approximate(
    value_and_grad: Callable[[Any], tuple[Any, Any]], hessian: Callable[[Any], Any], z: Any
) -> tuple[Any, Any, float]:
    """Climb to the mode; where the density is not concave, along the absolute curvature.

    Return the mode, the covariance there, and the logarithm of the evidence.

    What decides has no units of parameters: relative curvatures, and the gain of the log-density
    that a quadratic function would have, the square of Newton's decrement.
    """
    value, gradient = value_and_grad(z)
    for _ in range(200):
        curvatures, axes = _curvatures(-hessian(z), gradient)
        steps = (axes.T @ gradient) / np.maximum(np.abs(curvatures), _FLAT)
        step = axes @ steps
        gain = float(gradient @ step)  # twice what a quadratic function would gain
        if not np.isfinite(gain) or not np.isfinite(value):
            break
        if gain <= 1e-10:
            return _at_mode(value_and_grad, hessian, z + step)
        rounding = 1e-14 * abs(float(value))
        length, least = 1.0, 1e-10 / max(gain, 1.0)  # without curvature, the first step is huge
        new_value, new_gradient = value_and_grad(z + step)
        while not new_value >= value + 1e-4 * length * gain - rounding and length > least:
            length /= 2
            new_value, new_gradient = value_and_grad(z + length * step)
        if length <= least:
            break
        z, value, gradient = z + length * step, new_value, new_gradient
    raise ConvergenceError(
        f"laplace found no mode, at {user_location()}: the log-density was {float(value)} and its "
        f"gradient as large as {float(np.max(np.abs(gradient)))} at the end. Start nearer to it, "
        "or see whether the density has a maximum."
    )


def _curvatures(curvature: Any, gradient: Any) -> tuple[Any, Any]:
    """Return curvatures along axes that are the columns of a matrix, and the matrix.

    The axes are orthogonal in units in which the curvatures along the parameters are 1. Where there
    is hardly any curvature, the gradient gives the unit.
    """
    if not np.all(np.isfinite(curvature)):
        return np.full(len(gradient), np.nan), np.eye(len(gradient))
    squares = np.maximum(np.abs(np.diagonal(curvature)), 1e-8 * gradient**2)
    units = 1 / np.sqrt(np.where(squares > 0, squares, 1.0))
    found, axes = np.linalg.eigh(curvature * units * units[:, None])
    return found, units[:, None] * axes


def _at_mode(
    value_and_grad: Callable[[Any], tuple[Any, Any]], hessian: Callable[[Any], Any], z: Any
) -> tuple[Any, Any, float]:
    value, gradient = value_and_grad(z)
    curvatures, axes = _curvatures(-hessian(z), gradient)
    if not np.all(curvatures > _FLAT):
        raise ConvergenceError(
            f"laplace: the density is flat, or not concave, where its gradient is 0, at "
            f"{user_location()}. Remove parameters that it does not depend on, or start elsewhere."
        )
    half = axes / np.sqrt(curvatures)
    evidence = value + len(z) / 2 * np.log(2 * np.pi) + np.linalg.slogdet(half)[1]
    return z, half @ half.T, float(evidence)
