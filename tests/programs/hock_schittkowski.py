"""Problems of Hock and Schittkowski, written down from their formulas, with the known optima.

W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Springer, 1981. Where
their start is outside of the bounds, it is moved to the nearest bound; 2 starts at (2, 2), since
from the left of the valley a local optimum of 4.94 is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy import cos, exp, log, pi, sin, sqrt

import funcdiff as fd

Terms = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Problem:
    """Minimise f(x1, x2, ...) with `equal` all 0, `above` all at least 0, and x between bounds."""

    number: int
    f: Callable[..., Any]
    start: Sequence[float]
    optimum: float
    equal: Terms | None = None
    above: Terms | None = None
    low: Any = None
    high: Any = None

    def nlp(self) -> Any:
        """Return the program; constraints are a mapping with two lists."""
        names = [name for name in ("equal", "above") if getattr(self, name)]
        f: Any = self.f
        terms: dict[str, Any] = {name: getattr(self, name) for name in names}
        ends = ((self.low, -np.inf), (self.high, np.inf))
        within: Any = [
            np.full(len(self.start), default) if end is None
            else np.broadcast_to(np.array(end, float), len(self.start))
            for end, default in ends
        ]  # fmt: skip
        start = np.clip(np.array(self.start, float), *within)

        def constraints(x: Any) -> Any:
            return {name: list(term(*x)) for name, term in terms.items()}

        upper = {name: [0.0 if name == "equal" else None] * len(term(*start))
                 for name, term in terms.items()}  # fmt: skip
        return fd.nlp(
            lambda x: f(*x), constraints if names else None, start,
            bounds=within,
            cbounds=(0.0, upper) if names else None,
        )  # fmt: skip


def rosenbrock(a: Any, b: Any) -> Any:
    """Return the value of the banana."""
    return 100 * (b - a**2) ** 2 + (1 - a) ** 2


def squares(*xs: Any) -> Any:
    """Return the sum of squares."""
    return sum(x**2 for x in xs)


def product(*xs: Any) -> Any:
    """Return the product."""
    found = xs[0]
    for x in xs[1:]:
        found = found * x
    return found


def quintet(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Return the objective of several problems with five variables."""
    return (a - b) ** 2 + (c - 1) ** 2 + (d - 1) ** 4 + (e - 1) ** 6


def pair(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Return the objective of 51 and 53."""
    return (a - b) ** 2 + (b + c - 2) ** 2 + (d - 1) ** 2 + (e - 1) ** 2


def chain(a: Any, b: Any, c: Any, d: Any, e: Any) -> Sequence[Any]:
    """Return the equations of 52 and 53."""
    return a + 3 * b, c + d - 2 * e, b - e


def powell(a: Any, b: Any, c: Any, d: Any, e: Any) -> Sequence[Any]:
    """Return the equations of 78, 80 and 81."""
    return squares(a, b, c, d, e) - 10, b * c - 5 * d * e, a**3 + b**3 + 1


def _seven(a: Any, b: Any, c: Any, d: Any, e: Any, g: Any, h: Any) -> Any:
    return (
        (a - 10) ** 2 + 5 * (b - 12) ** 2 + c**4 + 3 * (d - 11) ** 2 + 10 * e**6 + 7 * g**2 + h**4
        - 4 * g * h - 10 * g - 8 * h
    )  # fmt: skip


def _ten(a: Any, b: Any, c: Any, d: Any, e: Any, g: Any, h: Any, i: Any, j: Any, k: Any) -> Any:
    return (
        a**2 + b**2 + a * b - 14 * a - 16 * b + (c - 10) ** 2 + 4 * (d - 5) ** 2 + (e - 3) ** 2
        + 2 * (g - 1) ** 2 + 5 * h**2 + 7 * (i - 11) ** 2 + 2 * (j - 10) ** 2 + (k - 7) ** 2 + 45
    )  # fmt: skip


def _wong(
    a: Any, b: Any, c: Any, d: Any, e: Any, g: Any, h: Any, i: Any, j: Any, k: Any
) -> Sequence[Any]:
    return (
        105 - 4 * a - 5 * b + 3 * h - 9 * i,
        -10 * a + 8 * b + 17 * h - 2 * i,
        8 * a - 2 * b - 5 * j + 2 * k + 12,
        -3 * (a - 2) ** 2 - 4 * (b - 3) ** 2 - 2 * c**2 + 7 * d + 120,
        -5 * a**2 - 8 * b - (c - 6) ** 2 + 2 * d + 40,
        -0.5 * (a - 8) ** 2 - 2 * (b - 4) ** 2 - 3 * e**2 + g + 30,
        -(a**2) - 2 * (b - 2) ** 2 + 2 * a * b - 14 * e + 6 * g,
        3 * a - 6 * b - 12 * (j - 8) ** 2 + 7 * k,
    )


_2: Final = sqrt(2.0)
_3: Final = sqrt(3.0)
_WELL: Final = 2 * sqrt(598 / 1200) * cos(np.arccos(1 / (400 * sqrt(598 / 1200) ** 3)) / 3)

PROBLEMS: Final = (
    Problem(1, rosenbrock, (-2, 1), 0.0, low=(-np.inf, -1.5)),
    Problem(2, rosenbrock, (2, 2), rosenbrock(_WELL, 1.5), low=(-np.inf, 1.5)),
    Problem(3, lambda a, b: b + 1e-5 * (b - a) ** 2, (10, 1), 0.0, low=(-np.inf, 0)),
    Problem(4, lambda a, b: (a + 1) ** 3 / 3 + b, (1.125, 0.125), 8 / 3, low=(1, 0)),
    Problem(
        5, lambda a, b: sin(a + b) + (a - b) ** 2 - 1.5 * a + 2.5 * b + 1, (0, 0),
        -_3 / 2 - pi / 3, low=(-1.5, -3), high=(4, 3),
    ),
    Problem(6, lambda a, b: (1 - a) ** 2, (-1.2, 1), 0.0, lambda a, b: [10 * (b - a**2)]),
    Problem(
        7, lambda a, b: log(1 + a**2) - b, (2, 2), -_3,
        lambda a, b: [(1 + a**2) ** 2 + b**2 - 4],
    ),
    Problem(
        8, lambda a, b: -1.0 + 0 * a, (2, 1), -1.0,
        lambda a, b: [a**2 + b**2 - 25, a * b - 9],
    ),
    Problem(
        9, lambda a, b: sin(pi * a / 12) * cos(pi * b / 16), (0, 0), -0.5,
        lambda a, b: [4 * a - 3 * b],
    ),
    Problem(
        10, lambda a, b: a - b, (-10, 10), -1.0,
        above=lambda a, b: [-3 * a**2 + 2 * a * b - b**2 + 1],
    ),
    Problem(
        11, lambda a, b: (a - 5) ** 2 + b**2 - 25, (4.9, 0.1), -8.498464223,
        above=lambda a, b: [b - a**2],
    ),
    Problem(
        12, lambda a, b: 0.5 * a**2 + b**2 - a * b - 7 * a - 7 * b, (0, 0), -30.0,
        above=lambda a, b: [25 - 4 * a**2 - b**2],
    ),
    Problem(
        14, lambda a, b: (a - 2) ** 2 + (b - 1) ** 2, (2, 2), 9 - 2.875 * sqrt(7),
        lambda a, b: [a - 2 * b + 1], lambda a, b: [1 - 0.25 * a**2 - b**2],
    ),
    Problem(
        15, rosenbrock, (-2, 1), 306.5, above=lambda a, b: [a * b - 1, a + b**2],
        high=(0.5, np.inf),
    ),
    Problem(
        16, rosenbrock, (-2, 1), 0.25, above=lambda a, b: [a + b**2, a**2 + b],
        low=(-0.5, -np.inf), high=(0.5, 1),
    ),
    Problem(
        18, lambda a, b: 0.01 * a**2 + b**2, (2, 2), 5.0,
        above=lambda a, b: [a * b - 25, a**2 + b**2 - 25], low=(2, 0), high=50,
    ),
    Problem(
        19, lambda a, b: (a - 10) ** 3 + (b - 20) ** 3, (20.1, 5.84), -6961.81381,
        above=lambda a, b: [
            (a - 5) ** 2 + (b - 5) ** 2 - 100, 82.81 - (b - 5) ** 2 - (a - 6) ** 2
        ],
        low=(13, 0), high=100,
    ),
    Problem(
        21, lambda a, b: 0.01 * a**2 + b**2 - 100, (-1, -1), -99.96,
        above=lambda a, b: [10 * a - b - 10], low=(2, -50), high=50,
    ),
    Problem(
        22, lambda a, b: (a - 2) ** 2 + (b - 1) ** 2, (2, 2), 1.0,
        above=lambda a, b: [2 - a - b, b - a**2],
    ),
    Problem(
        23, lambda a, b: a**2 + b**2, (3, 1), 2.0,
        above=lambda a, b: [
            a + b - 1, a**2 + b**2 - 1, 9 * a**2 + b**2 - 9, a**2 - b, b**2 - a
        ],
        low=-50, high=50,
    ),
    Problem(
        24, lambda a, b: ((a - 3) ** 2 - 9) * b**3 / (27 * _3), (1, 0.5), -1.0,
        above=lambda a, b: [a / _3 - b, a + _3 * b, 6 - a - _3 * b], low=0,
    ),
    Problem(
        26, lambda a, b, c: (a - b) ** 2 + (b - c) ** 4, (-2.6, 2, 2), 0.0,
        lambda a, b, c: [(1 + b**2) * a + c**4 - 3],
    ),
    Problem(
        27, lambda a, b, c: 0.01 * (a - 1) ** 2 + (b - a**2) ** 2, (2, 2, 2), 0.04,
        lambda a, b, c: [a + c**2 + 1],
    ),
    Problem(
        28, lambda a, b, c: (a + b) ** 2 + (b + c) ** 2, (-4, 1, 1), 0.0,
        lambda a, b, c: [a + 2 * b + 3 * c - 1],
    ),
    Problem(
        29, lambda a, b, c: -a * b * c, (1, 1, 1), -16 * _2,
        above=lambda a, b, c: [48 - a**2 - 2 * b**2 - 4 * c**2],
    ),
    Problem(
        30, squares, (1, 1, 1), 1.0, above=lambda a, b, c: [a**2 + b**2 - 1],
        low=(1, -10, -10), high=10,
    ),
    Problem(
        31, lambda a, b, c: 9 * a**2 + b**2 + 9 * c**2, (1, 1, 1), 6.0,
        above=lambda a, b, c: [a * b - 1], low=(-10, 1, -10), high=(10, 10, 1),
    ),
    Problem(
        32, lambda a, b, c: (a + 3 * b + c) ** 2 + 4 * (a - b) ** 2, (0.1, 0.7, 0.2), 1.0,
        lambda a, b, c: [1 - a - b - c], lambda a, b, c: [6 * b + 4 * c - a**3 - 3], low=0,
    ),
    Problem(
        34, lambda a, b, c: -a, (0, 1.05, 2.9), -log(log(10)),
        above=lambda a, b, c: [b - exp(a), c - exp(b)], low=0, high=(100, 100, 10),
    ),
    Problem(
        35, lambda a, b, c: 9 - 8 * a - 6 * b - 4 * c + 2 * a**2 + 2 * b**2 + c**2
        + 2 * a * b + 2 * a * c, (0.5, 0.5, 0.5), 1 / 9,
        above=lambda a, b, c: [3 - a - b - 2 * c], low=0,
    ),
    Problem(
        36, lambda a, b, c: -a * b * c, (10, 10, 10), -3300.0,
        above=lambda a, b, c: [72 - a - 2 * b - 2 * c], low=0, high=(20, 11, 42),
    ),
    Problem(
        37, lambda a, b, c: -a * b * c, (10, 10, 10), -3456.0,
        above=lambda a, b, c: [72 - a - 2 * b - 2 * c, a + 2 * b + 2 * c], low=0, high=42,
    ),
    Problem(
        38, lambda a, b, c, d: rosenbrock(a, b) + 90 * (d - c**2) ** 2 + (1 - c) ** 2
        + 10.1 * ((b - 1) ** 2 + (d - 1) ** 2) + 19.8 * (b - 1) * (d - 1),
        (-3, -1, -3, -1), 0.0, low=-10, high=10,
    ),
    Problem(
        39, lambda a, b, c, d: -a, (2, 2, 2, 2), -1.0,
        lambda a, b, c, d: [b - a**3 - c**2, a**2 - b - d**2],
    ),
    Problem(
        40, lambda a, b, c, d: -a * b * c * d, (0.8, 0.8, 0.8, 0.8), -0.25,
        lambda a, b, c, d: [a**3 + b**2 - 1, a**2 * d - c, d**2 - b],
    ),
    Problem(
        41, lambda a, b, c, d: 2 - a * b * c, (2, 2, 2, 2), 52 / 27,
        lambda a, b, c, d: [a + 2 * b + 2 * c - d], low=0, high=(1, 1, 1, 2),
    ),
    Problem(
        42, lambda *x: sum((y - k) ** 2 for k, y in enumerate(x, 1)), (1, 1, 1, 1),
        28 - 10 * _2, lambda a, b, c, d: [a - 2, c**2 + d**2 - 2],
    ),
    Problem(
        43, lambda a, b, c, d: a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d,
        (0, 0, 0, 0), -44.0,
        above=lambda a, b, c, d: [
            8 - squares(a, b, c, d) - a + b - c + d,
            10 - a**2 - 2 * b**2 - c**2 - 2 * d**2 + a + d,
            5 - 2 * a**2 - b**2 - c**2 - 2 * a + b + d,
        ],
    ),
    Problem(
        46, quintet, (_2 / 2, 1.75, 0.5, 2, 2), 0.0,
        lambda a, b, c, d, e: [a**2 * d + sin(d - e) - 1, b + c**4 * d**2 - 2],
    ),
    Problem(
        48, lambda a, b, c, d, e: (a - 1) ** 2 + (b - c) ** 2 + (d - e) ** 2,
        (3, 5, -3, 2, -2), 0.0,
        lambda a, b, c, d, e: [a + b + c + d + e - 5, c - 2 * (d + e) + 3],
    ),
    Problem(
        49, quintet, (10, 7, 2, -3, 0.8), 0.0,
        lambda a, b, c, d, e: [a + b + c + 4 * d - 7, c + 5 * e - 6],
    ),
    Problem(
        50, lambda a, b, c, d, e: (a - b) ** 2 + (b - c) ** 2 + (c - d) ** 4 + (d - e) ** 2,
        (35, -31, 11, 5, -5), 0.0,
        lambda *x: [p + 2 * q + 3 * r - 6 for (p, q), r in zip(pairwise(x), x[2:], strict=False)],
    ),
    Problem(
        51, pair, (2.5, 0.5, 2, -1, 0.5), 0.0,
        lambda a, b, c, d, e: [a + 3 * b - 4, c + d - 2 * e, b - e],
    ),
    Problem(
        52, lambda a, b, c, d, e: (4 * a - b) ** 2 + (b + c - 2) ** 2 + (d - 1) ** 2
        + (e - 1) ** 2, (2, 2, 2, 2, 2), 1859 / 349, chain,
    ),
    Problem(53, pair, (2, 2, 2, 2, 2), 176 / 43, chain, low=-10, high=10),
    Problem(
        60, lambda a, b, c: (a - 1) ** 2 + (a - b) ** 2 + (b - c) ** 4, (2, 2, 2),
        0.03256820025, lambda a, b, c: [a * (1 + b**2) + c**4 - 4 - 3 * _2], low=-10, high=10,
    ),
    Problem(
        61, lambda a, b, c: 4 * a**2 + 2 * b**2 + 2 * c**2 - 33 * a + 16 * b - 24 * c,
        (0, 0, 0), -143.6461422, lambda a, b, c: [3 * a - 2 * b**2 - 7, 4 * a - c**2 - 11],
    ),
    Problem(
        63, lambda a, b, c: 1000 - a**2 - 2 * b**2 - c**2 - a * b - a * c, (2, 2, 2),
        961.7151721, lambda a, b, c: [8 * a + 14 * b + 7 * c - 56, squares(a, b, c) - 25], low=0,
    ),
    Problem(
        64, lambda a, b, c: 5 * a + 5e4 / a + 20 * b + 7.2e4 / b + 10 * c + 1.44e5 / c,
        (1, 1, 1), 6299.842428, above=lambda a, b, c: [1 - 4 / a - 32 / b - 120 / c], low=1e-5,
    ),
    Problem(
        65, lambda a, b, c: (a - b) ** 2 + (a + b - 10) ** 2 / 9 + (c - 5) ** 2, (-5, 5, 0),
        0.9535288567, above=lambda a, b, c: [48 - squares(a, b, c)],
        low=(-4.5, -4.5, -5), high=(4.5, 4.5, 5),
    ),
    Problem(
        66, lambda a, b, c: 0.2 * c - 0.8 * a, (0, 1.05, 2.9), 0.5181632741,
        above=lambda a, b, c: [b - exp(a), c - exp(b)], low=0, high=(100, 100, 10),
    ),
    Problem(
        71, lambda a, b, c, d: a * d * (a + b + c) + c, (1, 5, 5, 1), 17.0140173,
        lambda *x: [squares(*x) - 40], lambda *x: [product(*x) - 25], low=1, high=5,
    ),
    Problem(
        72, lambda *x: 1 + sum(x), (1, 1, 1, 1), 727.67937,
        above=lambda a, b, c, d: [
            0.0401 - 4 / a - 2.25 / b - 1 / c - 0.25 / d,
            0.010085 - 0.16 / a - 0.36 / b - 0.64 / c - 0.64 / d,
        ],
        low=0.001, high=(4e5, 3e5, 2e5, 1e5),
    ),
    Problem(
        73, lambda a, b, c, d: 24.55 * a + 26.75 * b + 39 * c + 40.5 * d, (1, 1, 1, 1),
        29.894378, lambda *x: [sum(x) - 1],
        lambda a, b, c, d: [
            2.3 * a + 5.6 * b + 11.1 * c + 1.3 * d - 5,
            12 * a + 11.9 * b + 41.8 * c + 52.1 * d - 21
            - 1.645 * sqrt(0.28 * a**2 + 0.19 * b**2 + 20.5 * c**2 + 0.62 * d**2),
        ],
        low=0,
    ),
    Problem(
        76, lambda a, b, c, d: a**2 + 0.5 * b**2 + c**2 + 0.5 * d**2 - a * c + c * d - a - 3 * b
        + c - d, (0.5, 0.5, 0.5, 0.5), -4.681818181,
        above=lambda a, b, c, d: [
            5 - a - 2 * b - c - d, 4 - 3 * a - b - 2 * c + d, b + 4 * c - 1.5
        ],
        low=0,
    ),
    Problem(
        77, lambda a, b, c, d, e: (a - 1) ** 2 + quintet(a, b, c, d, e), (2, 2, 2, 2, 2),
        0.24150513,
        lambda a, b, c, d, e: [a**2 * d + sin(d - e) - 2 * _2, b + c**4 * d**2 - 8 - _2],
    ),
    Problem(78, product, (-2, 1.5, 2, -1, -1), -2.91970041, powell),
    Problem(
        79, lambda a, b, c, d, e: (a - 1) ** 2 + (a - b) ** 2 + (b - c) ** 2 + (c - d) ** 4
        + (d - e) ** 4, (2, 2, 2, 2, 2), 0.0787768209,
        lambda a, b, c, d, e: [
            a + b**2 + c**3 - 2 - 3 * _2, b - c**2 + d + 2 - 2 * _2, a * e - 2
        ],
    ),
    Problem(
        80, lambda *x: exp(product(*x)), (-2, 2, 2, -1, -1), 0.0539498478, powell,
        low=(-2.3, -2.3, -3.2, -3.2, -3.2), high=(2.3, 2.3, 3.2, 3.2, 3.2),
    ),
    Problem(
        81, lambda *x: exp(product(*x)) - 0.5 * (x[0] ** 3 + x[1] ** 3 + 1) ** 2,
        (-2, 2, 2, -1, -1), 0.0539498478, powell,
        low=(-2.3, -2.3, -3.2, -3.2, -3.2), high=(2.3, 2.3, 3.2, 3.2, 3.2),
    ),
    Problem(
        100, _seven, (1, 2, 0, 4, 0, 1, 1), 680.6300573,
        above=lambda a, b, c, d, e, g, h: [
            127 - 2 * a**2 - 3 * b**4 - c - 4 * d**2 - 5 * e,
            282 - 7 * a - 3 * b - 10 * c**2 - d + e,
            196 - 23 * a - b**2 - 6 * g**2 + 8 * h,
            -4 * a**2 - b**2 + 3 * a * b - 2 * c**2 - 5 * g + 11 * h,
        ],
    ),
    Problem(113, _ten, (2, 3, 5, 5, 1, 2, 7, 3, 6, 10), 24.3062091, above=_wong),
)  # fmt: skip
"""In the order of the book."""
