"""Smoke in a box: the velocities at the start that carry it to a given picture."""

from typing import Any

import autograd.numpy as np
from autograd import value_and_grad
from scipy.optimize import minimize


def around(x: Any) -> Any:
    return (
        np.roll(x, 1, axis=0) + np.roll(x, -1, axis=0) + np.roll(x, 1, axis=1)
        + np.roll(x, -1, axis=1)
    )  # fmt: skip


def without_divergence(vx: Any, vy: Any) -> tuple[Any, Any]:
    divergence = -0.5 * (
        np.roll(vx, -1, 0) - np.roll(vx, 1, 0) + np.roll(vy, -1, 1) - np.roll(vy, 1, 1)
    )
    pressure = np.zeros(vx.shape)
    for _ in range(6):
        pressure = (divergence + around(pressure)) / 4
    vx = vx - 0.5 * (np.roll(pressure, -1, 0) - np.roll(pressure, 1, 0))
    vy = vy - 0.5 * (np.roll(pressure, -1, 1) - np.roll(pressure, 1, 1))
    return vx, vy


def carried(x: Any, vx: Any, vy: Any) -> Any:
    rows, columns = x.shape
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    from_row, from_column = row - vx, column - vy
    r, c = np.floor(from_row), np.floor(from_column)
    dr, dc = from_row - r, from_column - c
    r, c = r.astype(int), c.astype(int)
    upper = (1 - dc) * x[r % rows, c % columns] + dc * x[r % rows, (c + 1) % columns]
    lower = (1 - dc) * x[(r + 1) % rows, c % columns] + dc * x[(r + 1) % rows, (c + 1) % columns]
    return (1 - dr) * upper + dr * lower


def run(steps: int = 1) -> dict[str, Any]:
    n = 8
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    smoke = np.exp(-((i - 3.0) ** 2 + (j - 4.0) ** 2) / 4)
    wanted = np.exp(-((i - 5.0) ** 2 + (j - 5.0) ** 2) / 5)

    def distance(flat: Any) -> Any:
        vx, vy = np.reshape(flat, (2, n, n))
        x = smoke
        for _ in range(3):
            moved = carried(vx, vx, vy), carried(vy, vx, vy)
            vx, vy = without_divergence(*moved)
            x = carried(x, vx, vy)
        return np.mean((x - wanted) ** 2)

    start = 0.3 * np.ravel(np.stack([np.sin(i + 0.5 * j), np.cos(j - 0.3 * i)]))
    both = value_and_grad(distance)
    found = minimize(both, start, jac=True, method="CG", options={"maxiter": steps})
    return {"fun": found.fun, "velocities": found.x, "gradient": both(start)[1]}
