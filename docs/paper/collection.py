"""Derivatives coded in a public collection of test problems that disagree with its own values.

S2MPJ translates the CUTEst problems to Python. Each element comes with its value, its gradient and
its Hessian, written by hand in the original files. Below stand the values of five elements in words
of ours, and for each the entry that was coded; `python docs/paper/collection.py` prints it beside
the entry that funcdiff computes. HIMMELBFNE has the element of HIMMELBF.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import funcdiff as fd

T = 0.7 ** np.arange(12)
"""Powers of a time, as the parameters of an element of WATSON are."""


class Entry(NamedTuple):
    """An entry of a derivative: of which element, where, and as it was coded."""

    problem: str
    derivative: Callable[..., Any]
    value: Callable[[Any], Any]
    point: Any
    place: tuple[int, ...]
    coded: Callable[[Any], Any]


def _himmelblau_b(v: Any) -> Any:
    x, y = v
    return x * y * (1 - x) * (1 - y - x * (1 - x) ** 5)


def _coded_b(v: Any) -> Any:
    """Return the entry with ``y·(1 - x)·∂r`` once, which the product rule has twice."""
    x, y = v
    r = fd.grad(lambda x: 1 - y - x * (1 - x) ** 5)
    rest, once, twice = 1 - y - x * (1 - x) ** 5, r(x), fd.grad(r)(x)
    return -2 * y * rest - 2 * x * y * once + y * (1 - x) * once + x * y * (1 - x) * twice


def _himmelblau_f(v: Any, a: float = 0.5, b: float = 2.0) -> Any:
    p, q, r, s = v
    return (p**2 + a * q**2 + a**2 * r**2) / (b * (1 + a * s**2))


def _coded_f(v: Any, a: float = 0.5, b: float = 2.0) -> Any:
    """Return the mixed entry with `a` in the place of its square."""
    *_, r, s = v
    return -4 * a * b / (b * (1 + a * s**2)) ** 2 * a * s * r


def _peak(v: Any, x: float = 0.3) -> Any:
    height, width, center = v
    return height / width * np.exp(-((x - center) ** 2) / (2 * width**2))


def _coded_peak(v: Any, x: float = 0.3) -> Any:
    """Return the last entry with half of the square of the distance."""
    _, width, center = v
    d = center - x
    return _peak(v) * (0.5 * d**2 / width**4 - 1 / width**2)


ENTRIES = (
    Entry("WATSON", fd.hessian, lambda v: -((T @ v) ** 2), np.ones(12), (1, 8),
          lambda _: -2 * T[1] * T[7]),
    Entry("HIMMELBB", fd.hessian, _himmelblau_b, np.array([-1.2, 1.0]), (0, 0), _coded_b),
    Entry("HIMMELBF, HIMMELBFNE", fd.hessian, _himmelblau_f, np.array([2.7, 9.0, 15.0, 1.0]),
          (2, 3), _coded_f),
    Entry("ECKERLE4LS", fd.hessian, _peak, np.array([1.5, 0.4, 0.5]), (2, 2), _coded_peak),
    Entry("EQC", fd.grad, lambda t: 15.0 * np.log(np.abs(t)), np.array(-0.4), (),
          lambda t: 15.0 / np.abs(t)),
)  # fmt: skip


def main() -> None:
    """Print the entries."""
    print(f"{'problem':22} {'entry':8} {'coded':>10} {'computed':>10}")
    for e in ENTRIES:
        found = e.derivative(e.value)(e.point)[e.place]
        print(f"{e.problem:22} {e.place!s:8} {e.coded(e.point):10.4f} {found:10.4f}")


if __name__ == "__main__":
    main()
