"""Freeze derivatives in the tails of distributions, by mpmath, where differences say nothing.

Run ``python -m tests.scipy.freeze_tails`` in an environment with mpmath.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import mpmath as mp
except ModuleNotFoundError:
    mp = None

FILE = Path(__file__).parent / "tails.json"

CASES: tuple[tuple[str, tuple[float, ...], float], ...] = (
    ("norm", (), -40.0), ("norm", (), 40.0), ("gumbel_r", (), -50.0), ("gumbel_r", (), 60.0),
    ("gumbel_l", (), 50.0), ("gamma", (1.0,), 41.0), ("gamma", (150.0,), 400.0),
    ("gamma", (2.3,), 1e-20), ("chi2", (60.0,), 250.0), ("beta", (80.0, 40.0), 0.97),
    ("beta", (0.3, 0.4), 1e-30), ("f", (50.0, 80.0), 11.7), ("t", (3.4,), -1e8),
    ("t", (200.0,), 40.0), ("invgamma", (5.4,), 0.02), ("lognorm", (0.7,), 1e10),
    ("truncnorm", (3.0, 5.0), 3.001), ("truncnorm", (-9.0, -6.0), -6.001),
)  # fmt: skip
"""Distribution, shape parameters, and where."""


def _beta(a: Any, b: Any, x: Any) -> Any:
    series = mp.hyp2f1(a + b, 1, a + 1, x)
    return x**a * (1 - x) ** b / (a * mp.beta(a, b)) * series


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _student(x: Any, v: Any) -> Any:
    lower = _beta(v / 2, mp.mpf(1) / 2, v / (v + x * x)) / 2
    return lower if x < 0 else 1 - lower


def _gamma(a: Any, low: Any, high: Any) -> Any:
    return mp.gammainc(a, low, high, regularized=True)


def _mass(a: Any, b: Any) -> Any:
    return _normal(b) - _normal(a) if a < 0 else _normal(-a) - _normal(-b)


BOTH: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "norm": (_normal, lambda x: _normal(-x)),
    "gumbel_r": (lambda x: mp.exp(-mp.exp(-x)), lambda x: -mp.expm1(-mp.exp(-x))),
    "gumbel_l": (lambda x: -mp.expm1(-mp.exp(x)), lambda x: mp.exp(-mp.exp(x))),
    "gamma": (lambda x, a: _gamma(a, 0, x), lambda x, a: _gamma(a, x, mp.inf)),
    "chi2": (lambda x, k: _gamma(k / 2, 0, x / 2), lambda x, k: _gamma(k / 2, x / 2, mp.inf)),
    "invgamma": (lambda x, a: _gamma(a, 1 / x, mp.inf), lambda x, a: _gamma(a, 0, 1 / x)),
    "beta": (lambda x, a, b: _beta(a, b, x), lambda x, a, b: _beta(b, a, 1 - x)),
    "f": (
        lambda x, a, b: _beta(a / 2, b / 2, a * x / (a * x + b)),
        lambda x, a, b: _beta(b / 2, a / 2, b / (a * x + b)),
    ),
    "t": (_student, lambda x, v: _student(-x, v)),
    "lognorm": (lambda x, s: _normal(mp.log(x) / s), lambda x, s: _normal(-mp.log(x) / s)),
    "truncnorm": (
        lambda x, a, b: _mass(a, x) / _mass(a, b),
        lambda x, a, b: _mass(x, b) / _mass(a, b),
    ),
}
"""Distribution -> F and 1 - F."""


def derivatives(name: str, shapes: tuple[float, ...], x: float) -> dict[str, Any]:
    """Return gradients and Hessians of ln F and ln(1 - F) in x and the shape parameters."""
    found = {}
    at = [mp.mpf(v) for v in (x, *shapes)]
    for method, side in zip(("logcdf", "logsf"), BOTH[name], strict=True):

        def logarithm(*v: Any, side: Callable[..., Any] = side) -> Any:
            return mp.log(side(*v))

        def along(*orders: int, f: Callable[..., Any] = logarithm) -> Any:
            steps = [mp.mpf(10) ** -25 * abs(v) for v in at]
            if sum(orders) == 0:
                return f(*at)
            k = next(i for i, n in enumerate(orders) if n)
            rest = tuple(n - (i == k) for i, n in enumerate(orders))

            def moved(*v: Any, sign: int) -> Any:
                return f(*(y + sign * steps[k] * (i == k) for i, y in enumerate(v)))

            ends = [along(*rest, f=lambda *v, s=s: moved(*v, sign=s)) for s in (1, -1)]
            return (ends[0] - ends[1]) / (2 * steps[k])

        if logarithm(*at) > -(mp.mpf(10) ** -50):
            continue  # it is 1 to the last bit
        n = len(at)
        unit = [tuple(int(i == k) for i in range(n)) for k in range(n)]
        pairs = [[tuple(p + q for p, q in zip(u, v, strict=True)) for v in unit] for u in unit]
        slope = [float(along(*u)) for u in unit]
        curvature = [[float(along(*p)) for p in row] for row in pairs]
        found[method] = [slope, curvature]
    return found


def main() -> None:
    """Write the file."""
    mp.mp.dps = 150
    rows = [[name, shapes, x, derivatives(name, shapes, x)] for name, shapes, x in CASES]
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()
