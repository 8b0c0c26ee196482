"""The error of cameras that see points: rotate, project, distort, as in bundle adjustment.

B. Triggs et al., "Bundle adjustment: a modern synthesis", 2000; rotations by Rodrigues' formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.workloads.workload import Workload


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


def dot(x: Any, y: Any) -> Any:
    """Return the inner products of rows, as a column."""
    return np.sum(x * y, axis=1, keepdims=True)


def gradient(scene: Any, seen_by: Any, seen: Any, pixels: Any) -> Any:
    """Return the gradient in cameras and points."""
    cameras, points = scene[0][seen_by], scene[1][seen]
    r, focal, distortion = cameras[:, 0:3], cameras[:, 6:7], cameras[:, 7:8]
    angle = np.sqrt(dot(r, r))
    cosine, sine = np.cos(angle), np.sin(angle) / angle
    bend = (1.0 - cosine) / angle**2
    along, across = dot(r, points), np.cross(r, points)
    x = cosine * points + sine * across + bend * along * r + cameras[:, 3:6]
    flat = x[:, 0:2] / x[:, 2:3]
    radius = dot(flat, flat)
    scale = 1.0 + distortion * radius
    g = 2.0 * (focal * scale * flat - pixels)
    outwards = dot(g, flat)
    g_flat = focal * (scale * g + 2.0 * distortion * outwards * flat)
    g_x = np.concatenate([g_flat, -dot(g_flat, flat)], axis=1) / x[:, 2:3]
    g_along = dot(r, g_x)
    g_angle = (
        -angle * sine * dot(points, g_x)
        + (cosine - sine) / angle * dot(across, g_x)
        + (sine - 2.0 * bend) / angle * along * g_along
    )
    g_r = sine * np.cross(points, g_x) + bend * (along * g_x + g_along * points)
    g_r += g_angle / angle * r
    g_points = cosine * g_x + sine * np.cross(g_x, r) + bend * g_along * r
    g_focal, g_distortion = scale * outwards, focal * radius * outwards
    g_cameras = np.concatenate([g_r, g_x, g_focal, g_distortion], axis=1)
    totals = np.zeros_like(scene[0]), np.zeros_like(scene[1])
    np.add.at(totals[0], seen_by, g_cameras)
    np.add.at(totals[1], seen, g_points)
    return totals


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
