"""A pendulum that is swung up, beside CasADi: equal derivatives, and the time that they take.

``python -m pytest tests/programs/in_casadi.py`` with the extra ``bench``.  ``python -m`` of it
prints how many times as long CasADi takes for what a solver asks for at a point.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import casadi
import numpy as np
import pytest

import funcdiff as fd

NODES: Final = 401
STEP: Final = 5.0 / (NODES - 1)
START: Final = {
    "angle": np.linspace(0, np.pi, NODES), "speed": np.full(NODES, 0.1),
    "torque": np.full(NODES, 0.5),
}  # fmt: skip


def effort(x: Any) -> Any:
    """Return the integral of the squared torque."""
    return STEP * np.sum(x["torque"] ** 2)


def defects(x: Any) -> Any:
    """Return what is left of the equations of motion by the trapezoidal rule, and at both ends."""
    angle, speed = x["angle"], x["speed"]
    pull = -9.81 * np.sin(angle) - 0.1 * speed + x["torque"]
    ends = [angle[0], speed[0], angle[-1] - np.pi, speed[-1]]
    return {
        "angle": np.diff(angle) - STEP / 2 * (speed[1:] + speed[:-1]),
        "speed": np.diff(speed) - STEP / 2 * (pull[1:] + pull[:-1]),
        "ends": np.stack(ends),
    }


def swing(engine: Any) -> Any:
    """Return the program."""
    free = {"angle": None, "speed": None}
    bounds = {**free, "torque": -8.0}, {**free, "torque": 8.0}
    return fd.nlp(effort, defects, START, bounds, (0.0, 0.0), engine=engine)


def in_casadi(symbol: Any) -> tuple[Any, Any]:
    """Return functions for value, gradient, constraints and Jacobian, and for the Hessian."""
    z, weights, factor = symbol("z", 3 * NODES), symbol("w", 2 * NODES + 2), symbol("s")
    angle, speed, torque = z[:NODES], z[NODES : 2 * NODES], z[2 * NODES :]
    pull = -9.81 * casadi.sin(angle) - 0.1 * speed + torque
    f = STEP * casadi.sum1(torque**2)
    c = casadi.vertcat(
        angle[1:] - angle[:-1] - STEP / 2 * (speed[1:] + speed[:-1]),
        speed[1:] - speed[:-1] - STEP / 2 * (pull[1:] + pull[:-1]),
        angle[0], speed[0], angle[-1] - np.pi, speed[-1],
    )  # fmt: skip
    first = [f, casadi.gradient(f, z), c, casadi.jacobian(c, z)]
    H = casadi.hessian(factor * f + casadi.dot(weights, c), z)[0]
    return (
        casadi.Function("first", [z], first),
        casadi.Function("second", [z, factor, weights], [casadi.tril(H)]),
    )


WEIGHTS: Final = np.random.default_rng(0).normal(size=2 * NODES + 2)


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
def test_derivatives_are_those_of_casadi(engine: Any) -> None:
    program = swing(engine)
    callbacks, z = program.problem(), program.start + 0.01 * np.sin(np.arange(3 * NODES))
    first, second = in_casadi(casadi.SX.sym)
    for _ in range(3):
        value, gradient, c, J = first(z)
        H = second(z, 0.5, WEIGHTS)
        assert np.isclose(callbacks.objective(z), float(value))
        np.testing.assert_allclose(callbacks.gradient(z), np.asarray(gradient).ravel())
        np.testing.assert_allclose(callbacks.constraints(z), np.asarray(c).ravel(), atol=1e-12)
        for matrix, name, args in ((J, "jacobian", (z,)), (H, "hessian", (z, WEIGHTS, 0.5))):
            places = getattr(callbacks, name + "structure")()
            found = np.zeros(matrix.shape)
            found[places] = getattr(callbacks, name)(*args)
            np.testing.assert_allclose(found, np.asarray(matrix), rtol=1e-9, atol=1e-12)


def of_buffers(f: Any, *args: Any) -> Callable[[Any], None]:
    """Return the call of a function of CasADi's that reads and writes arrays in place."""
    buffer, call = f.buffer()
    given: list[Any] = [np.array(x, float).reshape(-1) for x in args]
    taken: list[Any] = [np.zeros(f.nnz_out(k)) for k in range(f.n_out())]
    for k, x in enumerate(given):
        buffer.set_arg(k, memoryview(x))
    for k, x in enumerate(taken):
        buffer.set_res(k, memoryview(x))

    def run(z: Any) -> None:
        given[0][:] = z
        call()
        assert taken  # which has to live as long

    run.buffer = buffer  # type: ignore[attr-defined]
    return run


def measure() -> None:
    """Print the time of each, and how many times as long CasADi takes, as medians of rounds."""
    points = [swing(None).start + 1e-3 * np.random.default_rng(k).normal(size=1203)
              for k in range(8)]  # fmt: skip
    calls: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {}
    for engine in ("numpy", "llvm"):
        begun = time.process_time()
        q = swing(engine).problem()

        def all_first(z: Any, q: Any = q) -> None:
            q.objective(z), q.gradient(z), q.constraints(z), q.jacobian(z)

        def all_second(z: Any, q: Any = q) -> None:
            q.hessian(z, WEIGHTS, 1.0)

        calls[engine] = all_first, all_second
        all_first(points[0])
        print(f"{engine}: first derivatives after {time.process_time() - begun:.2f} s of CPU")
    first, second = in_casadi(casadi.SX.sym)
    calls["casadi F(x)"] = first, lambda z: second(z, 1.0, WEIGHTS)
    calls["casadi buffers"] = (
        of_buffers(first, points[0]), of_buffers(second, points[0], 1.0, WEIGHTS)
    )  # fmt: skip
    spent: dict[tuple[str, int], list[float]] = {}
    for _ in range(100):
        for name, pair in calls.items():
            for k, call in enumerate(pair):
                call(points[0])
                begun = time.perf_counter()
                for z in points * 4:
                    call(z)
                spent.setdefault((name, k), []).append((time.perf_counter() - begun) / 32)
    for k, what in enumerate(("all first derivatives", "Hessian of the Lagrangian")):
        for name in calls:
            us = 1e6 * np.min(spent[name, k])
            print(f"{what}, {name}: {us:.1f} µs at best")
        for engine in ("numpy", "llvm"):
            for other in ("casadi F(x)", "casadi buffers"):
                ratio = np.median(np.divide(spent[other, k], spent[engine, k]))
                best = np.min(spent[other, k]) / np.min(spent[engine, k])
                print(f"{what}, {other} / {engine}: {ratio:.2f}, at best {best:.2f}")


if __name__ == "__main__":
    measure()
