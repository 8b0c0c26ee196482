"""The classical Runge-Kutta method through equations of species, and its gradient.

The equation is the generalised one of Lotka and Volterra, y' = y (r + A y).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.workload import Workload


class Path(NamedTuple):
    """A number of steps of equal length."""

    steps: int
    h: float


def rk4_step(parameters: Any, y: Any, h: float) -> Any:
    """Return y after a step of length h."""
    r, A = parameters

    def velocity(y: Any) -> Any:
        return y * (r + A @ y)

    k1 = velocity(y)
    k2 = velocity(y + 0.5 * h * k1)
    k3 = velocity(y + 0.5 * h * k2)
    k4 = velocity(y + h * k3)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def looped(np_: Any, path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the squared distance of the last state from a target; works in each library."""
    for _ in range(path.steps):
        y = rk4_step(parameters, y, path.h)
    return np_.sum((y - target) ** 2)


def scanned(np_: Any, path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the same by `fd.scan`."""
    y, _ = fd.scan(lambda y, _: (rk4_step(parameters, y, path.h), None), y, length=path.steps)
    return np_.sum((y - target) ** 2)


def scanned_in_jax(jax: Any, path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the same by ``jax.lax.scan``."""
    y, _ = jax.lax.scan(lambda y, _: (rk4_step(parameters, y, path.h), None), y, length=path.steps)
    return jax.numpy.sum((y - target) ** 2)


def gradient(path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the gradient in r and A by the discrete adjoint of the method."""
    (r, A), h = parameters, path.h
    n = len(y)
    states, rates = np.empty((2, path.steps, 4, n))  # where each velocity was taken, and its rate
    ahead = (0.5 * h, 0.5 * h, h)
    slopes = np.empty((4, n))
    shares = h / 6.0 * np.array([1.0, 2.0, 2.0, 1.0])
    for at, rate in zip(states, rates, strict=True):
        at[0] = y
        for k in range(4):
            if k > 0:
                np.multiply(slopes[k - 1], ahead[k - 1], out=at[k])
                at[k] += y
            np.matmul(A, at[k], out=rate[k])
            rate[k] += r
            np.multiply(at[k], rate[k], out=slopes[k])
        y = y + shares @ slopes
    g, weighted = 2.0 * (y - target), np.empty((path.steps, 4, n))
    for at, rate, w in zip(states[::-1], rates[::-1], weighted[::-1], strict=True):
        of_stages = shares[:, None] * g
        for k in range(3, -1, -1):
            np.multiply(of_stages[k], at[k], out=w[k])
            back = w[k] @ A
            rate[k] *= of_stages[k]
            back += rate[k]
            g += back
            if k > 0:
                back *= ahead[k - 1]
                of_stages[k - 1] += back
    rows = weighted.reshape(-1, n)
    return rows.sum(axis=0), rows.T @ states.reshape(-1, n)


def gradient_of_two(path: Path, parameters: Any, y: Any, target: Any) -> Any:
    """Return the same for two species, in Python's numbers."""
    (p, q), ((a, b), (c, d)) = (array.tolist() for array in parameters)
    h, (u, v) = path.h, y.tolist()
    half, sixth, third = 0.5 * h, h / 6.0, h / 3.0
    tape = []
    for _ in range(path.steps):
        du1, dv1 = u * (m1 := p + a * u + b * v), v * (n1 := q + c * u + d * v)
        u2, v2 = u + half * du1, v + half * dv1
        du2, dv2 = u2 * (m2 := p + a * u2 + b * v2), v2 * (n2 := q + c * u2 + d * v2)
        u3, v3 = u + half * du2, v + half * dv2
        du3, dv3 = u3 * (m3 := p + a * u3 + b * v3), v3 * (n3 := q + c * u3 + d * v3)
        u4, v4 = u + h * du3, v + h * dv3
        m4, n4 = p + a * u4 + b * v4, q + c * u4 + d * v4
        tape.append(((u, v, m1, n1), (u2, v2, m2, n2), (u3, v3, m3, n3), (u4, v4, m4, n4)))
        u += sixth * (du1 + 2.0 * (du2 + du3) + u4 * m4)
        v += sixth * (dv1 + 2.0 * (dv2 + dv3) + v4 * n4)
    gu, gv = 2.0 * (u - target[0].item()), 2.0 * (v - target[1].item())
    gp = gq = ga = gb = gc = gd = 0.0
    for stages in reversed(tape):
        su = sv = 0.0
        back_u = back_v = 0.0
        for (u, v, m, n), share, ahead in zip(
            reversed(stages), (sixth, third, third, sixth), (0.0, h, half, half), strict=True
        ):
            ku, kv = share * gu + ahead * back_u, share * gv + ahead * back_v
            wu, wv = ku * u, kv * v
            back_u, back_v = ku * m + wu * a + wv * c, kv * n + wu * b + wv * d
            su, sv = su + back_u, sv + back_v
            gp, gq = gp + wu, gq + wv
            ga, gb, gc, gd = ga + wu * u, gb + wu * v, gc + wv * u, gd + wv * v
        gu, gv = gu + su, gv + sv
    return np.array([gp, gq]), np.array([[ga, gb], [gc, gd]])


def integration(path: Path, *, scan: bool, species: int = 2) -> Workload:
    """Return the workload of a path."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        r, A = np.array([1.1, -0.4]), np.array([[0.0, -0.4], [0.1, 0.0]])
        if species > 2:
            r, A = rng.uniform(0.5, 1.0, species), -rng.uniform(0.0, 2.0 / species, (species,) * 2)
        return (r, A), rng.uniform(1.0, 2.0, species), np.ones(species)

    def by_loop(np_: Any, *rest: Any) -> Any:
        return looped(np_, path, *rest)

    def by_scan(np_: Any, *rest: Any) -> Any:
        return scanned(np_, path, *rest)

    def by_jax_scan(jax: Any, *rest: Any) -> Any:
        return scanned_in_jax(jax, path, *rest)

    many = f" of {species} species" if species > 2 else ""
    return Workload(
        name=f"Runge-Kutta{many}, {path.steps} steps, {'scan' if scan else 'loop'}",
        arguments=arguments,
        function=by_scan if scan else by_loop,
        by_hand=partial(gradient if many else gradient_of_two, path),
        in_autograd=lambda autograd, *rest: by_loop(autograd.numpy, *rest),
        in_jax=by_jax_scan,
        in_torch=by_loop,
        is_loop=True,
    )


WORKLOADS = (
    integration(Path(100, 0.01), scan=False),
    integration(Path(1000, 0.01), scan=False),
    integration(Path(1000, 0.01), scan=True),
    integration(Path(100, 0.01), scan=False, species=50),
)
TINY = (
    *(integration(Path(4, 0.01), scan=scan) for scan in (False, True)),
    integration(Path(4, 0.01), scan=False, species=3),
)
