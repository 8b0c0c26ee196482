"""Derivatives of entropies that SciPy sums over the support: sums of derivatives of -p ln p.

The operation is closed under differentiation: it holds how often each shape parameter is
differentiated.  As SciPy does, it starts from the median, and goes up and down in blocks until one
adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.access import pointwise
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.evaluate import evaluate as run
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.numpy.border.promotion import fit
from funcdiff.reading.text.control import STATEMENTS, from_outside
from funcdiff.scipy.stats.leaf_programs import evaluate, no_derivative
from funcdiff.scipy.stats.leaves import scipys
from funcdiff.space import sum_tangents, zeros
from funcdiff.transforms.jvp import push

_FLOAT: Final = np.dtype(FLOAT)
_HEAVY_TAILED: Final = ("betanbinom", "yulesimon", "zipf")
"""Their sums do not end within any number of terms that is worth computing."""


_ENDS: Final = {
    "binom": ((1, 0.0, 1), (1, 1.0, -1)),
    "nbinom": ((1, 1.0, -1),),
    "poisson": ((0, 0.0, 1),),
}
"""Distribution -> which parameter, at which end, and on which side of it, leaves one outcome only.

With x for the distance from the end and some c, the entropy is there ``-c·x·ln x + O(x)``.
"""


class Slope(Params):
    """A distribution, and how often its entropy is differentiated by each shape parameter."""

    distribution: str
    orders: tuple[int, ...]

    @property
    def routine(self) -> str:
        """What texts call it."""
        return "_".join([self.distribution, "entropy_slope", *map(str, self.orders)])


def entropy_along(
    distribution: str, xs: Tracers, ts: Tangents, orders: tuple[int, ...] | None = None
) -> Any:
    """Return the derivative along tangents of an entropy, or of such a derivative of it.

    Raises
    ------
    NotDifferentiableError
        If the terms have none, or there is no end of them.
    """
    orders = orders or (0,) * len(xs)
    found = []
    for k, t in enumerate(ts):
        if t is not None:
            wanted = Slope(distribution, tuple(n + (i == k) for i, n in enumerate(orders)))
            if distribution in _HEAVY_TAILED or _terms(wanted, 1) is None:
                raise no_derivative(distribution, "_entropy", ts)
            slope: Any = bind(entropy_slope_p, wanted, *xs)[0]
            found.append(slope * t)
    return sum_tangents(found)


@lru_cache(maxsize=256)
def _terms(p: Slope, size: int) -> Program | None:
    """Return the program of so many terms, of places and shape parameters, if there is one."""
    kind = ArrayType((size,), _FLOAT)
    with Builder("entropy") as builder, np.errstate(all="ignore"):
        xs = [builder.input(kind) for _ in range(len(p.orders) + 1)]
        if not any(p.orders):
            logarithm = evaluate(p.distribution, "_logpmf", *xs)
            if logarithm is None:
                return None
            adds = logarithm > -650  # else nothing, not even a slope
            term = np.where(adds, -logarithm * np.exp(logarithm), 0.0)
            return builder.program([fit(term, kind)])
        last = max(k for k, n in enumerate(p.orders) if n)
        orders = tuple(n - (k == last) for k, n in enumerate(p.orders))
        before = _terms(Slope(p.distribution, orders), size)
        if before is None:
            return None
        along = [constant(1, kind) if k == last + 1 else None for k in range(len(xs))]
        try:
            slope = push(before, xs, along)[1][0]
        except NotDifferentiableError:
            return None
        return builder.program([zeros(kind) if slope is None else slope])


def _implementation(p: Slope) -> Callable[..., Any]:
    def one(*shapes: float) -> float:
        limit = _limit(p, shapes)
        if limit is not None:
            return limit
        plain = scipys(p.distribution)
        low, high = plain._get_support(*shapes)
        middle = np.clip(plain.ppf(0.5, *shapes), low, high)
        if not np.isfinite(middle):
            return np.nan
        size = 256 if plain.std(*shapes) < 256 else 16384
        total, weight = 0.0, 0.0
        for start, step, end in ((middle, 1, high), (middle - 1, -1, low)):
            while step * start <= step * end:
                k = start + step * np.arange(float(size))
                k = k[step * k <= step * end]
                terms = _terms_at(p, k, shapes, size)
                block = float(np.sum(np.abs(terms)))
                total, weight = total + float(np.sum(terms)), weight + block
                if not block > 1e-18 * weight:
                    break
                start += step * size
        return total

    def compute(*xs: Any) -> Any:
        return np.vectorize(one, otypes=[_FLOAT])(*xs)[()]

    return compute


def _limit(p: Slope, shapes: tuple[float, ...]) -> float | None:
    """Return the derivative where one outcome is left: the limit, which may be infinite."""
    for index, end, side in _ENDS.get(p.distribution, ()):
        if shapes[index] == end:
            order, others = p.orders[index], sum(p.orders) - p.orders[index]
            if order == 0 or (p.distribution == "binom" and shapes[0] == 0):
                return 0.0
            return np.nan if others > 1 else -np.inf * (-1) ** order if side > 0 else -np.inf
    return None


def _terms_at(p: Slope, k: Any, shapes: tuple[float, ...], size: int) -> Any:
    program = _terms(p, size)
    assert program is not None
    places = np.pad(k, (0, size - len(k)), mode="edge")
    with np.errstate(all="ignore"):
        return run(program, [places, *(np.full(size, float(x)) for x in shapes)])[0][: len(k)]


def _forward(p: Slope, xs: Tracers, ts: Tangents) -> Pushed:
    y = bind(entropy_slope_p, p, *xs)[0]
    return [y], [entropy_along(p.distribution, xs, ts, p.orders)]


def _abstract(p: Slope, *types: ArrayType) -> Types:
    if len(types) != len(p.orders) or any(t.shape != types[0].shape for t in types):
        raise TypeError(f"{len(p.orders)} operands of one shape are needed, got {types}")
    return (types[0].with_dtype(_FLOAT),)


entropy_slope_p: Final = Primitive(
    "entropy_slope", Slope, _abstract, impl=_implementation, jvp=_forward, access=pointwise
)

STATEMENTS[entropy_slope_p.name] = from_outside(
    lambda p: f"(*shapes) -> derivatives of -p*log(p), summed over the support of {p.distribution}"
)
