"""Freeze what JAX says of the random programs, as a small data file beside the tests.

Run ``python -m tests.compositions.freeze`` in an environment with the extra ``bench``.  For a
program `f` of arguments `x`, with a fixed direction `t`, it keeps the gradient ∇f(x), the product
∇²f(x)·t, the product ∇³f(x)·t·t, and ∇³f(x)·t·t·t.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.compositions.random_programs import (
    COUNT,
    RandomProgram,
    arguments,
    directions,
    random_program,
)

try:
    import jax
except ModuleNotFoundError:
    jax = None

FILE = Path(__file__).parent / "oracle.json"


def derivatives(program: RandomProgram) -> dict[str, list[float]]:
    """Return what JAX says."""
    numpy = jax.numpy
    xs, ts = (tuple(map(numpy.asarray, values)) for values in (arguments(), directions()))

    def f(*xs: Any) -> Any:
        return program(numpy, jax.lax, *xs)

    def along(g: Any) -> Any:
        return lambda *xs: jax.jvp(g, xs, ts)[1]

    gradient = jax.grad(f, argnums=(0, 1, 2))
    return {
        "value": flat([f(*xs)]),
        "gradient": flat(gradient(*xs)),
        "curvature": flat(along(gradient)(*xs)),
        "bend": flat(along(along(gradient))(*xs)),
        "third": flat([along(along(along(f)))(*xs)]),
    }


def flat(arrays: Any) -> list[float]:
    """Return the numbers of all arrays, to twelve digits."""
    return [float(f"{number:.12g}") for a in arrays for number in np.ravel(np.asarray(a))]


def freeze() -> None:
    """Write the file, one program a line."""
    lines = []
    for seed in range(COUNT):
        program = random_program(seed)
        found = derivatives(program)
        assert all(np.isfinite(row).all() for row in found.values()), program
        lines.append(json.dumps({"program": str(program), **found}))
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    freeze()
