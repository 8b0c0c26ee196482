"""The error of cameras that see points: rotate, project, distort, as in bundle adjustment.

B. Triggs et al., "Bundle adjustment: a modern synthesis", 2000; rotations by Rodrigues' formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.observations import cross, dot
from docs.benchmarks.workloads.workload import Workload


def error(np_: Any, scene: Any, seen_by: Any, seen: Any, pixels: Any) -> Any:
    """Return the squared error of the pixels (n, 2) where cameras see points.

    The scene is cameras (c, 8): rotation vector, translation, focal length and distortion, and
    points (p, 3); `seen_by` and `seen` are their indices for each pixel.
    """
    cameras, points = scene[0][seen_by], scene[1][seen]
    r = cameras[:, 0:3]
    squares = np_.sum(r * r, axis=1)[:, None]
    angle = np_.sqrt(squares)
    cosine, sine = np_.cos(angle), np_.sin(angle) / angle
    bend = (1.0 - cosine) / squares
    along = np_.sum(r * points, axis=1)[:, None]
    x = cosine * points + sine * np_.cross(r, points) + bend * along * r + cameras[:, 3:6]
    flat = x[:, 0:2] / x[:, 2:3]
    radius = np_.sum(flat * flat, axis=1)[:, None]
    projected = cameras[:, 6:7] * (1.0 + cameras[:, 7:8] * radius) * flat
    return np_.sum((projected - pixels) ** 2)


def in_torch(torch: Any, scene: Any, seen_by: Any, seen: Any, pixels: Any) -> Any:
    """Return the same in PyTorch."""
    cameras, points = scene[0][seen_by], scene[1][seen]
    r = cameras[:, 0:3]
    squares = torch.sum(r * r, dim=1, keepdim=True)
    angle = torch.sqrt(squares)
    cosine, sine = torch.cos(angle), torch.sin(angle) / angle
    bend = (1.0 - cosine) / squares
    along = torch.sum(r * points, dim=1, keepdim=True)
    across = torch.linalg.cross(r, points)
    x = cosine * points + sine * across + bend * along * r + cameras[:, 3:6]
    flat = x[:, 0:2] / x[:, 2:3]
    radius = torch.sum(flat * flat, dim=1, keepdim=True)
    projected = cameras[:, 6:7] * (1.0 + cameras[:, 7:8] * radius) * flat
    return torch.sum((projected - pixels) ** 2)


def gradient(scene: Any, seen_by: Any, seen: Any, pixels: Any) -> Any:
    """Return the gradient in cameras and points, with vectors as columns."""
    cameras, points = scene[0].T[:, seen_by], scene[1].T[:, seen]
    r, focal, distortion = cameras[0:3], cameras[6], cameras[7]
    angle = np.sqrt(dot(r, r))
    cosine, sine = np.cos(angle), np.sin(angle) / angle
    bend = (1.0 - cosine) / angle**2
    along, across = dot(r, points), cross(r, points)
    x = cosine * points
    x += sine * across
    x += bend * along * r
    x += cameras[3:6]
    nearness = 1.0 / x[2]
    flat = x[:2] * nearness
    radius = dot(flat, flat)
    scale = 1.0 + distortion * radius
    g = focal * scale * flat
    g -= pixels.T
    g *= 2.0
    outwards = dot(g, flat)
    g_cameras, g_flat = np.empty_like(cameras), focal * (scale * g)
    g_flat += 2.0 * focal * distortion * outwards * flat
    g_x = g_cameras[3:6]
    np.multiply(g_flat, nearness, out=g_x[:2])
    np.multiply(-dot(g_flat, flat), nearness, out=g_x[2])
    g_along = dot(r, g_x)
    g_angle = (
        -angle * sine * dot(points, g_x)
        + (cosine - sine) / angle * dot(across, g_x)
        + (sine - 2.0 * bend) / angle * along * g_along
    )
    g_r = np.multiply(sine, cross(points, g_x), out=g_cameras[0:3])
    g_r += (bend * along) * g_x
    g_r += (bend * g_along) * points
    g_r += (g_angle / angle) * r
    np.multiply(scale, outwards, out=g_cameras[6])
    np.multiply(focal * radius, outwards, out=g_cameras[7])
    g_points = cosine * g_x
    g_points += sine * cross(g_x, r)
    g_points += (bend * g_along) * r
    return totals(g_cameras, seen_by, len(scene[0])), totals(g_points, seen, len(scene[1]))


def totals(columns: Any, owners: Any, count: int) -> Any:
    """Return the sums of the columns of each owner, as rows."""
    return np.stack([np.bincount(owners, row, count) for row in columns], axis=1)


def adjustment(cameras: int, points: int, n: int) -> Workload:
    """Return the workload of n pixels."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        poses = np.concatenate(
            [
                rng.normal(size=(cameras, 3)),
                rng.normal(size=(cameras, 3)) + np.array([0.0, 0.0, 10.0]),
                rng.uniform(1.0, 2.0, (cameras, 1)),
                rng.normal(size=(cameras, 1)) * 0.1,
            ],
            axis=1,
        )
        seen_by, seen = rng.integers(0, cameras, n), rng.integers(0, points, n)
        return (poses, rng.normal(size=(points, 3))), seen_by, seen, rng.normal(size=(n, 2))

    return Workload(
        name=f"reprojection, {n} pixels of {cameras} cameras",
        arguments=arguments,
        function=error,
        by_hand=gradient,
        in_torch=in_torch,
    )


WORKLOADS = (adjustment(50, 2000, 20_000),)
TINY = (adjustment(2, 3, 5),)
