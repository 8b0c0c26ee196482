"""What sparse Jacobians and Hessians cost: to find, at first, warm and compiled, in one run.

Run ``python -m docs.benchmarks.sparsity``; with asdex and JAX installed (the ``bench``
extra) they are measured beside.  Times are of this process's CPU, the smallest of the rounds; a
first call is made after all caches were cleared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from scipy.sparse import diags_array

import funcdiff as fd

ROUNDS = 9


def seconds(call: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the smallest CPU time of a call."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def at_first(call: Callable[[], Any]) -> float:
    """Return the CPU time of a call of which nothing is known."""

    def fresh() -> None:
        fd.clear_caches()
        call()

    return seconds(fresh, 3)


def brusselator(n: int, xp: Any = np) -> Callable[[Any], Any]:
    """Return the two-dimensional reaction of two fields on n x n points, periodic."""
    alpha = 0.02 * n**2

    def laplacian(a: Any) -> Any:
        return xp.roll(a, 1, 0) + xp.roll(a, -1, 0) + xp.roll(a, 1, 1) + xp.roll(a, -1, 1) - 4 * a

    def f(y: Any) -> Any:
        u, v = xp.reshape(y, (2, n, n))
        return xp.stack(
            [
                1 + u * u * v - 4.4 * u + alpha * laplacian(u),
                3.4 * u - u * u * v + alpha * laplacian(v),
            ]
        ).reshape(-1)

    return f


def rosenbrock(x: Any) -> Any:
    """Return the chained function of Rosenbrock."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def arrowhead(x: Any) -> Any:
    """Return a function whose Jacobian has a full first row and column, and a diagonal."""
    return np.append(np.sum(x**2), x[0] * x[1:] ** 2)


def looped_arrowhead(x: Any) -> Any:
    """Return results that all depend on the first number, the first of them on all numbers."""
    first = fd.cond(x[0] > 1e9, np.sum, lambda x: np.sum(x**2), x)
    return np.append(first, fd.scan(lambda c, row: (c, c * row + row**2), x[0], x[1:])[1])


def bundle(cameras: int, points: int, observations: int) -> tuple[Callable[[Any], Any], Any]:
    """Return the residuals of pictures of points by cameras that turn and move, and a start."""
    rng = np.random.default_rng(0)
    camera = rng.integers(0, cameras, observations)
    point = rng.integers(0, points, observations)
    seen = rng.normal(size=(observations, 2))

    def f(p: Any) -> Any:
        views, places = p[: 6 * cameras].reshape(-1, 6)[camera], p[6 * cameras :].reshape(-1, 3)
        axis, place = views[:, :3], places[point]
        angle = np.sqrt(np.sum(axis**2, 1, keepdims=True) + 1e-12)
        axis = axis / angle
        along = np.sum(axis * place, 1, keepdims=True) * (1 - np.cos(angle))
        turned = place * np.cos(angle) + np.cross(axis, place) * np.sin(angle) + axis * along
        moved = turned + views[:, 3:]
        return (-moved[:, :2] / (moved[:, 2:] + 5) - seen).reshape(-1)

    return f, 0.1 * rng.normal(size=6 * cameras + 3 * points)


def row(name: str, f: Callable[..., Any], x: Any, derive: Callable[..., Any] = fd.jacobian) -> None:
    """Print how long the pattern and the matrix of a function take."""
    sparse = derive(f, sparse=True)
    compiled = fd.jit(sparse)
    found = sparse(x)
    compiled(x)
    pattern = fd.sparsity(fd.grad(f) if derive is fd.hessian else f)
    times = [
        at_first(lambda: pattern(x)),
        at_first(lambda: sparse(x)),
        seconds(lambda: sparse(x)),
        seconds(lambda: compiled(x)),
    ]
    cells = "".join(f"{1e3 * t:10.2f}" for t in times)
    print(f"{name:34}{found.shape[0]:8} x {found.shape[1]:<8}{found.nnz:9}{cells}")


def by_asdex(n: int) -> None:
    """Print what asdex takes for the same."""
    if find_spec("asdex") is None or find_spec("jax") is None:
        print("asdex is not installed here")
        return
    asdex, jax = import_module("asdex"), import_module("jax")
    jax.config.update("jax_enable_x64", True)
    f = brusselator(n, jax.numpy)
    x = jax.numpy.asarray(1 + np.random.default_rng(0).random(2 * n * n))

    start = time.process_time()
    derive = jax.jit(asdex.jacobian(f, x))
    jax.block_until_ready(derive(x).data)
    whole = time.process_time() - start
    warm = seconds(lambda: jax.block_until_ready(derive(x).data))
    print(f"asdex on the same: first {1e3 * whole:.2f}, warm {1e3 * warm:.2f}")


def stiff(n: int) -> None:
    """Print how much sooner BDF ends with a sparse Jacobian."""
    f = brusselator(n)
    x = 1 + np.random.default_rng(0).random(2 * n * n)
    jac = fd.jit(fd.jacobian(lambda t, y: f(y), 1, sparse=True, format="csc"))

    def run(**options: Any) -> Any:
        return solve_ivp(lambda t, y: f(y), (0, 1), x, "BDF", **options)

    plain, sparse = seconds(run, 3), seconds(lambda: run(jac=jac), 3)
    ends = np.abs(run().y[:, -1] - run(jac=jac).y[:, -1]).max()
    print(f"BDF, {x.size} numbers: {plain:.2f} s, with jac {sparse:.2f} s: {plain / sparse:.0f} x;")
    print(f"   the ends differ by {ends:.1e}")


def main() -> None:
    """Print the tables."""
    rng = np.random.default_rng(0)
    print("milliseconds of CPU", " " * 34, "   pattern     first      warm  compiled")
    for n in (100, 224):
        row("Brusselator", brusselator(n), 1 + rng.random(2 * n * n))
    stencil = diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(2000, 2000)).tocsr()
    row("times a sparse matrix", lambda u: stencil @ u + u**3, rng.random(2000))
    row("Rosenbrock, Hessian", rosenbrock, rng.random(100_000), fd.hessian)
    row("arrowhead", arrowhead, rng.random(10_000))
    for derive in (fd.jacobian, fd.jacfwd):
        row(f"arrowhead by a loop, {derive.__name__}", looped_arrowhead, rng.random(1000), derive)
    row("bundle, 49 cameras, 7776 points", *bundle(49, 7776, 31843))
    by_asdex(100)
    stiff(24)
    f, x = bundle(10, 200, 1500)
    start = time.process_time()
    found = least_squares(f, x, fd.jacobian(f, sparse=True), x_scale="jac", max_nfev=20)
    print(f"least_squares of {found.fun.size} residuals: {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main()
