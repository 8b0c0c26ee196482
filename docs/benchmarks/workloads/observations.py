"""The Jacobian of each observation of bundle adjustment, of which sparse solvers are fed.

The problem of F. Srajer, Z. Kukelova, A. Fitzgibbon, arXiv:1807.10129, 2018: a camera has a
rotation vector, a centre, a focal length, a principal point and two radial distortions.  By hand,
rotations are differentiated by the left Jacobian of the exponential map.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Function, Workload


def residual(np_: Any, cross: Function, x: Any, pixel: Any) -> Any:
    """Return the weighted error in a pixel (2,) for 11 numbers of a camera, a point, a weight."""
    r, centre, focal, principal = x[..., 0:3], x[..., 3:6], x[..., 6:7], x[..., 7:9]
    bend, point, weight = x[..., 9:11], x[..., 11:14], x[..., 14:15]
    angle = np_.sqrt(np_.sum(r * r, -1))[..., None]
    axis, place = r / angle, point - centre
    cosine, sine = np_.cos(angle), np_.sin(angle)
    along = np_.sum(axis * place, -1)[..., None]
    seen = cosine * place + sine * cross(axis, place) + (1.0 - cosine) * along * axis
    flat = seen[..., 0:2] / seen[..., 2:3]
    square = np_.sum(flat * flat, -1)[..., None]
    scale = 1.0 + bend[..., 0:1] * square + bend[..., 1:2] * square**2
    return weight * (focal * scale * flat + principal - pixel)


def dot(x: Any, y: Any) -> Any:
    """Return the inner products of columns."""
    return np.einsum("in,in->n", x, y)


def cross(x: Any, y: Any) -> Any:
    """Return the vector products of columns."""
    return np.array(
        [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    )


def jacobians(x: Any, pixels: Any) -> Any:
    """Return (n, 2, 15) numbers, computed column by column."""
    columns = np.ascontiguousarray(x.T)
    r, focal, bend, weight = columns[0:3], columns[6], columns[9:11], columns[14]
    place = columns[11:14] - columns[3:6]
    angle = np.sqrt(dot(r, r))
    axis = r / angle
    cosine, sine = np.cos(angle), np.sin(angle)
    rest = 1.0 - cosine
    seen = cosine * place + sine * cross(axis, place) + rest * dot(axis, place) * axis
    nearness = 1.0 / seen[2]
    flat = seen[:2] * nearness
    square = dot(flat, flat)
    scale = 1.0 + square * (bend[0] + square * bend[1])
    slope = 2.0 * bend[0] + 4.0 * bend[1] * square
    part, height = sine / angle, weight * focal
    J = np.zeros((len(x), 2, 15))
    for i in range(2):
        g = (height * slope * flat[i]) * flat
        g[i] += height * scale
        b = np.concatenate([g, -dot(g, flat)[None]])
        b *= nearness
        back = cosine * b - sine * cross(axis, b) + rest * dot(axis, b) * axis
        moment = cross(seen, b)
        turning = part * moment + (1.0 - part) * dot(moment, axis) * axis
        turning += rest / angle * cross(moment, axis)
        J[:, i, 0:3] = turning.T
        J[:, i, 3:6] = -back.T
        J[:, i, 6] = weight * scale * flat[i]
        J[:, i, 7 + i] = weight
        J[:, i, 9] = height * square * flat[i]
        J[:, i, 10] = J[:, i, 9] * square
        J[:, i, 11:14] = back.T
        J[:, i, 14] = focal * scale * flat[i] + columns[7 + i] - pixels[:, i]
    return J


def bundle(n: int) -> Workload:
    """Return the workload of n observations."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        x = rng.normal(size=(n, 15))
        x[:, 5] -= 10.0  # the centre is behind the points
        x[:, 0:3] *= 0.2
        x[:, 9:11] *= 0.1
        x[:, 14] = rng.uniform(0.5, 1.0, n)
        return x, rng.normal(size=(n, 2))

    return Workload(
        name=f"bundle adjustment, Jacobians of {n} observations",
        derivative="jacobians",
        arguments=arguments,
        function=lambda np_, *rest: residual(np_, np_.cross, *rest),
        by_hand=jacobians,
        in_torch=lambda torch, *rest: residual(torch, torch.linalg.cross, *rest),
    )


WORKLOADS = (bundle(5000),)
TINY = (bundle(4),)
