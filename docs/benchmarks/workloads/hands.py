"""A hand of five fingers whose skin is seen: places of its surface, and their Jacobian in the pose.

After the hand tracking of F. Srajer, Z. Kukelova, A. Fitzgibbon, arXiv:1807.10129, 2018: the pose
has 26 numbers, and each place is a weighted mean of where the bones would take it (linear blend
skinning; J. Lewis et al., "Pose space deformation", 2000).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload

FINGERS, BONES = 5, 3


def turns(np_: Any, angles: Any, axis: int) -> Any:
    """Return matrices of rotations about a coordinate axis, for angles of any shape."""
    c, s = np_.cos(angles), np_.sin(angles)
    zero, one = np_.zeros_like(c), np_.ones_like(c)
    rows = {
        0: ((one, zero, zero), (zero, c, -s), (zero, s, c)),
        1: ((c, zero, s), (zero, one, zero), (-s, zero, c)),
        2: ((c, -s, zero), (s, c, zero), (zero, zero, one)),
    }[axis]
    return np_.stack([np_.stack(row, -1) for row in rows], -2)


def skin(np_: Any, pose: Any, hand: Any, targets: Any) -> Any:
    """Return the distances of (n, 3) places from their targets, in a row.

    The pose is three angles and a translation of the hand, then for each finger its spread and
    three bends.  The hand has roots (5, 3) and directions (5, 3, 3) of fingers, lengths (5, 3) of
    bones, the part of the palm in the places (n, 3), and that of the bones (n, 60): weight times
    the place in the bone's frame, and the weight.
    """
    roots, directions, lengths, palm, surface = hand
    angles = pose[6:].reshape(FINGERS, 1 + BONES)
    frames = directions @ turns(np_, angles[:, 0], 2)
    ends = roots
    moved = []
    for k in range(BONES):
        frames = frames @ turns(np_, angles[:, 1 + k], 0)
        moved.append(np_.concatenate((np_.swapaxes(frames, 1, 2), ends[:, None]), 1))
        ends = ends + lengths[:, k, None] * frames[:, :, 1]
    bones = np_.stack(moved, 1).reshape(FINGERS * BONES * 4, 3)
    places = palm + surface @ bones
    whole = turns(np_, pose[2], 2) @ turns(np_, pose[1], 1) @ turns(np_, pose[0], 0)
    return (places @ whole.T + pose[3:6] - targets).reshape(-1)


def skew(axes: Any) -> Any:
    """Return the matrices M of M x = a × x."""
    M = np.zeros((*axes.shape, 3))
    M[..., 0, 1], M[..., 0, 2], M[..., 1, 2] = -axes[..., 2], axes[..., 1], -axes[..., 0]
    return M - np.swapaxes(M, -1, -2)


def jacobian(pose: Any, hand: Any, targets: Any) -> Any:
    """Return (3 n, 26) numbers: a joint moves all that is beyond it along axis × distance."""
    roots, directions, lengths, palm, surface = hand
    n, angles = len(palm), pose[6:].reshape(FINGERS, 1 + BONES)
    frames = directions @ turns(np, angles[:, 0], 2)
    axes = np.empty((FINGERS, 1 + BONES, 3))
    axes[:, 0] = frames[:, :, 2]
    axes[:, 1:] = frames[:, None, :, 0]
    joints = np.empty((FINGERS, 1 + BONES, 3))
    joints[:, 0] = joints[:, 1] = roots
    bones = np.empty((FINGERS, BONES, 4, 3))
    bends = turns(np, angles[:, 1:], 0)
    for k in range(BONES):
        frames = frames @ bends[:, k]
        bones[:, k, :3] = np.swapaxes(frames, 1, 2)
        bones[:, k, 3] = joints[:, 1 + k]
        if k + 1 < BONES:
            joints[:, 2 + k] = joints[:, 1 + k] + lengths[:, k, None] * frames[:, :, 1]
    three = [turns(np, pose[k], k) for k in range(3)]
    whole = three[2] @ three[1] @ three[0]
    arms = np.repeat(bones[:, None], 1 + BONES, axis=1)  # of each joint: (5, 4, 3, 4, 3)
    arms[:, :, :, 3] -= joints[:, :, None]
    arms[:, 2, 0] = arms[:, 3, :2] = 0.0  # not beyond the joint
    across = arms.reshape(FINGERS, 1 + BONES, 12, 3) @ np.swapaxes(whole @ skew(axes), -1, -2)
    J = np.zeros((n, 3, 26))
    across = across.transpose(0, 2, 3, 1).reshape(FINGERS, 12, 3 * (1 + BONES))
    moves = surface.reshape(n, FINGERS, 12).transpose(1, 0, 2) @ across
    J[:, :, 6:] = moves.reshape(FINGERS, n, 3, 4).transpose(1, 2, 0, 3).reshape(n, 3, 20)
    J[:, [0, 1, 2], [3, 4, 5]] = 1.0
    turned = (palm + surface @ bones.reshape(-1, 3)) @ whole.T
    pivots = np.array([(three[2] @ three[1])[:, 0], three[2][:, 1], [0.0, 0.0, 1.0]])
    J[:, :, :3] = (turned @ np.swapaxes(skew(pivots), -1, -2)).transpose(1, 2, 0)
    return J.reshape(3 * n, 26)


def tracking(n: int) -> Workload:
    """Return the workload of n places."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        weights = rng.uniform(size=(n, 1 + FINGERS * BONES)) ** 4
        weights /= weights.sum(axis=1, keepdims=True)
        local = np.concatenate([rng.normal(size=(n, 15, 3)), np.ones((n, 15, 1))], axis=2)
        surface = (weights[:, 1:, None] * local).reshape(n, 60)
        directions = turns(np, np.linspace(-0.5, 0.5, FINGERS), 2)
        roots, lengths = rng.normal(size=(FINGERS, 3)), rng.uniform(0.5, 1.0, (FINGERS, BONES))
        palm = weights[:, :1] * rng.normal(size=(n, 3))
        hand = roots, directions, lengths, palm, surface
        return rng.normal(size=26) * 0.5, hand, rng.normal(size=(n, 3))

    return Workload(
        name=f"hand tracking, Jacobian {3 * n} x 26",
        derivative="jacobian",
        arguments=arguments,
        function=skin,
        by_hand=jacobian,
    )


WORKLOADS = (tracking(100),)
TINY = (tracking(3),)
