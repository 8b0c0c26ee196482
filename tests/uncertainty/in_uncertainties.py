"""Beside the package uncertainties, which must be installed.

    python -m pytest -n 0 -s -W ignore tests/uncertainty/in_uncertainties.py

The times are printed, and nothing is asserted of them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from uncertainties import ufloat, umath, unumpy

import funcdiff as fd

SCALAR: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product": lambda m, x, y: x * y,
    "quotient": lambda m, x, y: x / y,
    "power": lambda m, x, y: x**y,
    "sine": lambda m, x, y: m.sin(x) * y - y,
    "exponential": lambda m, x, y: m.exp(-x * y) + m.log(x),
    "root": lambda m, x, y: m.sqrt(x * x + y * y),
    "angle": lambda m, x, y: m.arctan2(x, y),
    "hyperbolic": lambda m, x, y: m.tanh(x) / m.cosh(y),
}


class _Names:
    """Functions of `uncertainties` under NumPy's names."""

    arctan2 = staticmethod(umath.atan2)
    sin, exp, log, sqrt, tanh, cosh = (
        staticmethod(getattr(umath, name)) for name in ("sin", "exp", "log", "sqrt", "tanh", "cosh")
    )


def test_numbers_have_the_deviations_that_it_finds() -> None:
    rng, worst = np.random.default_rng(0), 0.0
    for f in SCALAR.values():
        for _ in range(15):
            (a, b), (u, v) = rng.uniform(0.5, 2, 2), rng.uniform(0.01, 0.2, 2)
            theirs = f(_Names, ufloat(a, u), ufloat(b, v))
            ours = fd.propagate(lambda x, y, f=f: f(np, x, y))(a, b, std=(u, v), check=False)
            worst = max(worst, abs(float(ours.std) / theirs.std_dev - 1))
    print(f"\nworst relative difference of {15 * len(SCALAR)} numbers: {worst:.1e}")
    assert worst < 1e-15


def _elementwise(m: Any, x: Any) -> Any:
    return m.sin(x) * x + m.exp(-x) / x


def test_arrays_have_the_deviations_that_it_finds() -> None:
    x, u = np.linspace(0.5, 2, 1000), np.full(1000, 0.01)

    def theirs() -> Any:
        return unumpy.std_devs(_elementwise(unumpy, unumpy.uarray(x, u)))

    def ours(check: bool) -> Any:
        return fd.propagate(lambda x: _elementwise(np, x))(x, std=u, check=check).std

    print()
    for name, call in (
        ("uncertainties", theirs),
        ("with checks", lambda: ours(True)),
        ("check=False", lambda: ours(False)),
    ):
        taken = []
        for _ in range(12):
            start = process_time()
            call()
            taken.append(1e3 * (process_time() - start))
        print(f"{name}: first {taken[0]:.1f} ms, then {np.median(taken[2:]):.2f} ms")
    # a slope of -1.3 and one of 1.3 cancel where the function has its minimum
    np.testing.assert_allclose(ours(False), theirs(), rtol=1e-15, atol=4e-16 * 0.01 * 5)
