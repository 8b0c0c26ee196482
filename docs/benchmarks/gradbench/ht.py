"""Hand tracking: distances of points from the skin of a hand of 22 bones, in its pose.

F. Srajer, Z. Kukelova, A. Fitzgibbon, arXiv:1807.10129, 2018.  The pose has 26 numbers.  In the
second kind each point lies in a triangle, in a place that is sought, too: two further columns of
the Jacobian have the derivatives of each point in its own place.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from docs.benchmarks.workloads.hands import turns
from docs.benchmarks.workloads.workload import Function, Workload

BONES: Final = 22
PARENTS: Final = (-1, *(0 if b % 4 == 1 else b - 1 for b in range(1, 21)), 0)
"""Of each bone the one before it: a wrist, four bones of each finger, and the forearm."""


def places() -> Any:
    """Return where the angles (22, 3) of the bones stand in a zero and the pose."""
    at = np.zeros((BONES, 3), dtype=np.int64)
    for finger in range(5):
        first, angle = 2 + 4 * finger, 7 + 4 * finger
        at[first, :2] = angle, angle + 1
        at[first + 1, 0], at[first + 2, 0] = angle + 2, angle + 3
    return at


ANGLES: Final = places()


def rotation(np_: Any, r: Any) -> Any:
    """Return the matrix of the rotation about an axis by its length."""
    angle = np_.sqrt(np_.sum(r * r))
    x, y, z = r[0] / angle, r[1] / angle, r[2] / angle
    s, c = np_.sin(angle), np_.cos(angle)
    rest = 1.0 - c
    rows = (
        (x * x * rest + c, x * y * rest - z * s, x * z * rest + y * s),
        (x * y * rest + z * s, y * y * rest + c, y * z * rest - x * s),
        (x * z * rest - y * s, y * z * rest + x * s, z * z * rest + c),
    )
    return np_.stack([np_.stack(row) for row in rows])


def skin(np_: Any, pose: Any, hand: Any) -> Any:
    """Return (3, n) places of the skin."""
    relatives, inverses, positions, weights = hand
    angles = np_.concatenate((np_.zeros(1), pose))[ANGLES]
    turned = turns(np_, angles[:, 1], 2) @ turns(np_, angles[:, 2], 1) @ turns(np_, angles[:, 0], 0)
    frames = np_.concatenate((relatives[:, :, :3] @ turned, relatives[:, :, 3:]), 2)
    absolutes: list[Any] = []
    for frame, parent in zip(frames, PARENTS, strict=True):
        absolutes.append(frame if parent < 0 else absolutes[parent] @ frame)
    bones = np_.stack(absolutes) @ inverses
    moved = np_.sum((bones @ positions)[:, :3] * weights[:, None], 0)
    return rotation(np_, pose[0:3]) @ moved + pose[3:6][:, None]


def simple(np_: Any, pose: Any, hand: Any, seen: Any, points: Any) -> Any:
    """Return the distances of points (n, 3) from the places of the skin that they belong to."""
    return (points - skin(np_, pose, hand)[:, seen].T).reshape(-1)


def complicated(np_: Any, x: Any, hand: Any, corners: Any, points: Any, us: Any) -> Any:
    """Return the same for places in triangles: all of them moved by x[:2], with the pose x[2:]."""
    places, us = skin(np_, x[2:], hand), us + x[:2]
    u, v = us[:, 0], us[:, 1]
    first, second, third = (places[:, corners[k]] for k in range(3))
    return (points - (u * first + v * second + (1.0 - u - v) * third).T).reshape(-1)


def complex_steps(f: Function, x: Any, *rest: Any) -> Any:
    """Return the Jacobian by imaginary steps, which lose no digits."""
    columns = [f(np, x + 1e-30j * e, *rest).imag / 1e-30 for e in np.eye(len(x))]
    return np.stack(columns, axis=1)


def model(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Return bones in the frames of their parents, inverses of those at rest, and a skin."""
    relatives, absolutes = np.tile(np.eye(4), (BONES, 1, 1)), np.empty((BONES, 4, 4))
    for b, parent in enumerate(PARENTS):
        relatives[b, :3, :3] = rotation(np, rng.normal(size=3))
        relatives[b, :3, 3] = rng.normal(size=3)
        absolutes[b] = relatives[b] if parent < 0 else absolutes[parent] @ relatives[b]
    weights = rng.uniform(size=(BONES, n)) ** 8
    positions = np.concatenate((rng.normal(size=(3, n)), np.ones((1, n))))
    return relatives, np.linalg.inv(absolutes), positions, weights / weights.sum(axis=0)


def tracking(n: int, skinned: int = 544, *, in_triangles: bool = False) -> Workload:
    """Return the workload of n points and a skin of so many places."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        pose, hand = rng.normal(size=26) * 0.5, model(rng, skinned)
        points = rng.normal(size=(n, 3))
        if not in_triangles:
            return pose, hand, rng.integers(0, skinned, n), points
        x = np.concatenate((np.zeros(2), pose))
        return x, hand, rng.integers(0, skinned, (3, n)), points, rng.uniform(size=(n, 2)) / 2.0

    f = complicated if in_triangles else simple
    return Workload(
        name=f"ht, {'complicated' if in_triangles else 'simple'}, {n} points",
        derivative="jacobian",
        arguments=arguments,
        function=f,
        by_hand=lambda *arguments: complex_steps(f, *arguments),
    )


WORKLOADS = tuple(tracking(100, in_triangles=kind) for kind in (False, True))
TINY = tuple(tracking(2, 5, in_triangles=kind) for kind in (False, True))
