"""Evaluates a function next to a point, and measures the noise of its values there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from funcdiff.testing.differences import Function, Values, is_smooth, precision
from funcdiff.testing.layout import Layout

JITTERS: Final = 3
"""At how many points next to the given one noise is measured."""

_SPACINGS: Final = (0.75, 0.5)
"""Of points for fourth differences: powers of the precision."""


class Neighbourhood:
    """A function of leaves around a point, returning floating and complex arrays.

    `paths` are names of the results, ``output 0`` and on by default.  `rounding` is the error of
    the results that their dtypes explain, as a row; by default that of each.  `coarsest` is the
    distance of 1 to the next number in the coarsest dtype of the computation.
    """

    def __init__(
        self,
        function: Function,
        xs: Sequence[Any],
        paths: Sequence[str] | None = None,
        rounding: Any = None,
        coarsest: float | None = None,
    ) -> None:
        self._function = function
        self.xs = list(xs)
        self.ys = self.call(self.xs)
        names = [f"output {k}" for k in range(len(self.ys))] if paths is None else paths
        self.layout = Layout(names, self.ys)
        self.values = self.layout.row(self.ys)
        if rounding is None:
            with np.errstate(all="ignore"):
                sizes = [_rounding(y) for y in self.ys]
            rounding = self.layout.row(sizes)
        self._rounding = rounding
        self.precision = precision([*self.xs, *self.ys]) if coarsest is None else coarsest

    def call(self, xs: Sequence[Any]) -> Values:
        """Return the results; warnings of NumPy's are nobody's business here."""
        with np.errstate(all="ignore"):
            return self._function(xs)

    def at(self, ts: Sequence[Any], h: float) -> Any:
        """Return the results at ``x + h·t`` in a row; what has no tangent stays."""
        return self._row([_move(x, t, h) for x, t in zip(self.xs, ts, strict=True)])

    def jitter(self, k: int) -> Values:
        """Return the k-th point next to this one: the last bits are others."""
        random = np.random.default_rng(k)
        return [_jitter(x, precision([x]), random) if is_smooth(x) else x for x in self.xs]

    @cached_property
    def noise(self) -> Any:
        """How exactly the results are known, as a row.

        The last bits of the arguments count; and in equal small steps, what fourth differences
        leave over, which a smooth function does not have (Moré and Wild).
        """
        found = np.where(np.isfinite(self._rounding), self._rounding, 0.0)
        with np.errstate(all="ignore"):
            changes = [self._row(self.jitter(k)) - self.values for k in range(JITTERS)]
            for power in _SPACINGS:
                points = [self._row(self._aside(k, power)) for k in (-2, -1, 1, 2)]
                outer, inner = points[0] + points[3], points[1] + points[2]
                changes.append((outer - 4 * inner + 6 * self.values) / math.sqrt(70))
            for change in map(np.abs, changes):
                found = np.maximum(found, np.where(np.isfinite(change), change, 0.0))
        return found

    def _row(self, xs: Sequence[Any]) -> Any:
        return self.layout.row(self.call(xs))

    def _aside(self, k: int, power: float) -> Values:
        """Return the point moved by `k` steps, of a relative size of a power of the precision."""
        random = np.random.default_rng(0)
        size = k * math.pow(self.precision, power)
        return [_jitter(x, size, random) if is_smooth(x) else x for x in self.xs]

    @property
    def rounding(self) -> Any:
        """What is known of the noise before it has been measured."""
        return self.noise if "noise" in vars(self) else self._rounding


def _rounding(y: Any) -> Any:
    return precision([y]) * np.abs(y) * (1 + 1j if np.iscomplexobj(y) else 1)


def _move(x: Any, t: Any, h: float) -> Any:
    return x if t is None else (x + x.dtype.type(h) * t).astype(x.dtype)


def _jitter(x: Any, size: float, random: np.random.Generator) -> Any:
    """Return an array whose parts are a little larger or smaller, relative to themselves."""
    row = np.array(x, order="C").reshape(-1)
    parts = row.view(row.real.dtype)
    moved = parts * (1 + size * random.choice([-1.0, 1.0], parts.shape))
    return moved.astype(parts.dtype).view(row.dtype).reshape(np.shape(x))[()]
