"""Central difference quotients along a line, extrapolated, with an error that is measured.

Quotients ``D(h) = (f(x + h·t) - f(x - h·t)) / 2h`` of ever smaller steps are extrapolated to
``h = 0`` (Richardson); how much neighbours in the table differ is the error of truncation, what
``f`` changes by where its arguments change in their last bit, divided by ``h``, that of rounding.
Each entry takes the step at which the sum of both is least.

References
----------
C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", Advances in Engineering
Software 4 (1982).  J. J. Moré, S. M. Wild, "Estimating Derivatives of Noisy Simulations", ACM
Transactions on Mathematical Software 38 (2012).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.late import computed
from funcdiff.testing.subject import Function, Layout, Values, is_smooth, precision

# ---- Evaluates a function next to a point, and measures the noise of its values there ------------


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

    @computed
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


_SAFETY: Final = 5.0
"""How many times the measured error is allowed."""

_AIM: Final = 1e-6
"""The relative tolerance at which no better difference is looked for."""

_COLUMNS: Final = 4
"""Of the table of extrapolations."""

_UNTRUSTED: Final = 0.1
"""The relative tolerance from which differences say nothing."""


_JUMP: Final = 0.01
"""The relative change of a derivative by the last bits of the point which is no rounding error."""


class Accuracy(NamedTuple):
    """What a difference may be; None follows from the dtypes and from measured errors."""

    rtol: float | None = None  # relative to the largest entry of the derivative
    atol: float | None = None  # absolute
    eps: float | None = None  # step of the differences, in units of the size of the arguments


class Mismatch(NamedTuple):
    """Where a derivative differs from its differences."""

    path: str  # of the leaf
    text: str  # the entry, and both numbers


# ---- the table ---------------------------------------------------------------------------------


class _Table:
    """Quotients of some series of ever smaller steps, and what follows from them.

    Of each entry, `value` is the best extrapolation, `truncation` its error and `blur` that of
    rounding.
    """

    def __init__(self, near: Neighbourhood, ts: Sequence[Any], size: float) -> None:
        self._near, self._ts, self._size = near, ts, size
        self._series: list[tuple[list[float], list[Any]]] = []

    def add(self, steps: Iterable[float]) -> None:
        """Take a series of quotients, with steps in units of the size of the arguments."""
        taken = [self._size * h for h in steps]
        self._series.append((taken, [self._quotient(h) for h in taken]))
        self._conclude()

    def refine(self) -> None:
        """Take smaller steps in the last series, as long as this helps."""
        steps, quotients = self._series[-1]
        least = self._size * math.pow(self._near.precision, 2 / 3)
        while steps[-1] > 4 * least:
            h = steps[-1] / 4
            helps = self._near.noise / h < self.truncation + self.blur
            if not np.any(self.open_entries() & helps):
                return
            steps.append(h)
            quotients.append(self._quotient(h))
            self._conclude()

    def _quotient(self, h: float) -> Any:
        with np.errstate(all="ignore"):
            return (self._near.at(self._ts, h) - self._near.at(self._ts, -h)) / (2 * h)

    def slope(self, step: float) -> Any:
        """Return quotients of one side, which do not vanish at a minimum."""
        h = self._size * step
        with np.errstate(all="ignore"):
            return (self._near.at(self._ts, h) - self._near.values) / h

    def _conclude(self) -> None:
        """Choose the best extrapolations; what smaller steps then change is noise.

        What they change by much is none, but a jump or a kink.
        """
        near = self._near
        with np.errstate(all="ignore"):
            most = 10 * math.sqrt(near.precision) * near.layout.largest(near.values)
            self._choose(near.rounding)
            scatter = np.zeros(near.layout.size)
            for steps, quotients in self._series:
                for value, _, h in list(_extrapolations(steps, quotients, last=True)):
                    seen = np.where(h < self._step, np.abs(value - self.value) * h, 0.0)
                    scatter = np.maximum(scatter, np.where(seen <= most, seen, 0.0))
            if np.any(scatter > near.rounding):
                self._choose(np.maximum(scatter, near.rounding))

    def _choose(self, noise: Any) -> None:
        first = self._series[0][1][0]
        self.value, self._step = first, np.ones(first.shape)
        self.truncation, self.blur = np.full(first.shape, np.inf), np.zeros(first.shape)
        for steps, quotients in self._series:
            for value, truncation, h in _extrapolations(steps, quotients):
                better = truncation + noise / h < self.truncation + self.blur
                self.value = np.where(better, value, self.value)
                self.truncation = np.where(better, truncation, self.truncation)
                self.blur = np.where(better, noise / h, self.blur)
                self._step = np.where(better, h, self._step)

    @property
    def size(self) -> Any:
        """How large the numbers are that agree or do not: the largest of each leaf.

        Where all vanish as steps shrink, those of large steps tell; where they grow, those too.
        """
        largest = self._near.layout.largest
        firsts = [largest(quotients[0]) for _, quotients in self._series]
        return np.maximum(largest(self.value), functools.reduce(np.minimum, firsts))

    def open_entries(self) -> Any:
        """Return which entries might be known better."""
        aim = max(_AIM, 1000 * self._near.precision)
        return ~(_SAFETY * (self.truncation + self.blur) <= aim * self.size)

    def confirm(self, other: _Table) -> None:
        """Take into the errors what another table, of other steps, finds."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.value - other.value)
        for name in ("truncation", "blur"):
            mine, its = getattr(self, name), getattr(other, name)
            setattr(self, name, np.maximum(mine, np.where(np.isfinite(its), its, 0.0)))
        self.truncation += np.where(np.isfinite(apart), apart / 2, 0.0)


def _extrapolations(
    steps: list[float], quotients: list[Any], *, last: bool = False
) -> Iterator[tuple[Any, Any, float]]:
    """Yield extrapolated values, their errors, and the smallest of the steps.

    With `last`, only those of the highest order, from the third step on.
    """
    row: list[Any] = []
    for k, (h, quotient) in enumerate(zip(steps, quotients, strict=True)):
        above, row = row[:_COLUMNS], [quotient]
        for m, before in enumerate(above):
            ratio = (steps[k - 1 - m] / h) ** 2
            row.append(row[m] + (row[m] - before) / (ratio - 1))
            if not last or 1 <= m == len(above) - 1:
                change = np.maximum(np.abs(row[m + 1] - row[m]), np.abs(row[m + 1] - before))
                yield row[m + 1], change, h


# ---- the comparison ----------------------------------------------------------------------------


def mismatch(
    near: Neighbourhood,
    ts: Sequence[Any],
    got: Sequence[Any],
    again: Callable[[int], Any],
    accuracy: Accuracy,
    *,
    blur: float = 0.0,
    size: float = 1.0,
    thorough: bool = True,
) -> Mismatch | None:
    """Compare a directional derivative with differences; return where they differ, or None.

    `got` is said to be the derivative along `ts`, where None stays, with the rounding error `blur`
    as far as it is known without measuring; ``again(k)`` is the same at the point
    ``near.jitter(k)``. A move of `size` along `ts` is about as large as the arguments.  With
    `thorough`, other steps are measured, too, before differences are reported.
    """
    for k, (y, g) in enumerate(zip(near.ys, got, strict=True)):
        if np.shape(y) != np.shape(g) or np.iscomplexobj(g) > np.iscomplexobj(y):
            kinds = [f"{np.asarray(a).dtype}{np.shape(a)}" for a in (g, y)]
            return Mismatch(near.layout.path(k), " against ".join(kinds))
    if not near.layout.size:
        return None
    judge = _Judge(near, near.layout.row(got), accuracy, blur)
    table = _Table(near, ts, size)
    if accuracy.eps is not None:
        table.add([accuracy.eps, accuracy.eps / 2])
        return judge.verdict(table)
    digits = round(-0.23 * math.log2(near.precision))
    table.add([2.0**-digits, 2.0 ** (-digits - 1)])
    if not table.open_entries().any() and judge.verdict(table) is None:
        return None
    table.refine()
    if judge.verdict(table) is not None and table.open_entries().any():
        table.add(2.0**-k for k in range(1, digits + 1))
    if judge.verdict(table) is None or not thorough:
        return judge.verdict(table)
    judge.measure(again, table.slope(0.25))
    other = _Table(near, ts, size)
    other.add(0.37 * 2.0**-k for k in range(digits))
    other.refine()
    table.confirm(other)
    return judge.verdict(table)


class _Judge:
    """Decides whether a derivative, as a row, is that of a table."""

    def __init__(self, near: Neighbourhood, got: Any, accuracy: Accuracy, blur: float) -> None:
        self._near, self._got, self._accuracy = near, got, accuracy
        self._blur: Any = blur

    def measure(self, again: Callable[[int], Any], slope: Any) -> None:
        """Measure by how much the derivative changes with the last bits of the point.

        Where it changes by much, both of its own size and of a slope nearby (at a minimum, it is
        nothing but rounding error), it jumps: the point is on a kink.
        """
        near = self._near
        most = np.maximum(
            _JUMP * near.layout.largest(self._got),
            math.sqrt(near.precision) * near.layout.largest(slope),
        )
        with np.errstate(all="ignore"):
            for k in range(JITTERS):
                change = np.abs(near.layout.row(again(k)) - self._got)
                change = np.where(change < most, change, 0.0)
                self._blur = np.maximum(self._blur, _SAFETY * change)

    def verdict(self, table: _Table) -> Mismatch | None:
        got, wanted = self._got, table.value
        with np.errstate(all="ignore"):
            distance = np.abs(got - wanted)
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        distance = np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))
        wrong = np.where(distance <= self._tolerance(table), 0.0, distance)
        if wrong.any():
            k = int(np.argmax(wrong))
            return self._mismatch(k, wanted, "by differences")
        vague = ~same & self._vague(table)
        if vague.any():
            k = int(np.argmax(vague))
            return self._mismatch(
                k, wanted, "by differences that do not settle as their steps shrink"
            )
        return None

    def _tolerance(self, table: _Table) -> Any:
        layout, (rtol, atol, _) = self._near.layout, self._accuracy
        largest = np.maximum(layout.largest(self._got), layout.largest(table.value))
        relative = math.pow(self._near.precision, 0.75) if rtol is None else rtol
        if atol is not None:
            return np.maximum(relative * largest, atol)
        measured = _SAFETY * (table.truncation + table.blur) + self._blur
        measured = np.where(np.isfinite(measured), measured, 0.0)
        return np.maximum(relative * largest, measured)

    def _vague(self, table: _Table) -> Any:
        """Return where differences say nothing, though rounding does not explain it."""
        if self._accuracy.atol is not None or self._accuracy.rtol is not None:
            return np.zeros(self._near.layout.size, bool)
        size = np.maximum(table.size, self._near.layout.largest(self._got))
        coarse = _SAFETY * table.truncation > _UNTRUSTED * size
        return coarse & (table.truncation > 10 * table.blur)

    def _mismatch(self, k: int, wanted: Any, how: str) -> Mismatch:
        layout = self._near.layout
        leaf, place, _ = layout.place(k)
        where = f"entry {place}: " if place else ""
        values = f"{layout.entry(self._got, k)} against {layout.entry(wanted, k):.10g}"
        return Mismatch(layout.path(leaf), f"{where}{values} {how}")
