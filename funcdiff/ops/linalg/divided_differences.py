"""Divided differences of a function at eigenvalues, equal ones too, and their sums over paths.

The m-th derivative of a function of a Hermitian matrix is, in the basis of its eigenvectors, the
sum of paths

    f[w(i), w(k), …, w(j)]·X₁[i, k]·…·Xₘ[…, j]

in every order of the directions (Yu. Daletskii, S. Krein, 1965; N. Higham, "Functions of
Matrices", SIAM 2008, section 3.2).  A divided difference is the quotient of those without its
last and without its first point, or, where these are equal, one with the first point repeated.
Quotients do not depend on the points between, so that a sum over paths takes products of matrices
and no table larger than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, factorial
from typing import Any, Final

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import NONE, Params, Tracers
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise.logic import logical_and, logical_not
from funcdiff.ops.families import constant_op
from funcdiff.ops.linalg.degeneracy import differences, eps_of, reciprocal_gaps
from funcdiff.ops.linalg.matrices import matmul, matrix_transpose, per_column, per_row
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import add, mul, neg, zeros
from funcdiff.transforms.jvp import jvp


def partial(body: Program, k: int, direction: complex = 1) -> Program:
    """Return the derivative by one input, as a program of the same inputs."""
    pushed, mask = jvp(body, tuple(place == k for place in range(len(body.inputs))))
    with Builder("partial", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        if not mask[0]:
            return builder.program([zeros(t) for t in body.output_types])
        return builder.program(inline(pushed, [*xs, constant(direction, xs[k].type)])[1:])


def taylor(body: Program, order: int) -> Program:
    """Return f⁽ʳ⁾/r! by the first input, r the order."""
    for _ in range(order):
        body = partial(body, 0)
    with Builder("taylor", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        (y,) = inline(body, xs)
        return builder.program([mul(y, constant(1 / factorial(order), y.type))])


# ---- which points are near each other ------------------------------------------------------------


def _fits(x: Any, y: Any, here: Sequence[Any], there: Sequence[Any]) -> tuple[Any, Any]:
    """Return whether Taylor's polynomial about x, of f, f', f''/2, …, gives f at y to rounding.

    Its last terms are to be so small that what follows them is no larger than the rounding error
    of a quotient.  The second result tells where f at y is of another function, or far away: paths
    along n directions may stop n - 1 times at y, and use derivatives up to the order n - 2 there.
    """
    last, eps = len(here) - 1, eps_of(here[0])
    steps, size = y - x, np.abs(here[0]) + np.abs(there[0])
    term = total = here[0]
    sizes, fits, power = np.abs(total), True, steps
    for k in range(1, last + 1):
        term, power = here[k] * power, power * steps
        total, sizes = total + term, sizes + np.abs(term)
        if k >= last - 1:
            fits = fits & (np.abs(term) <= eps ** (k / (last + 1)) * size)
    wrong = np.abs(total - there[0])
    misses = ~(wrong <= eps**0.5 * sizes)
    for order in range(1, (last - 1) // 2 - 1):
        terms = [comb(k, order) * here[k] * steps ** (k - order) for k in range(order, last + 1)]
        apart = np.abs(sum(terms) - there[order]) * np.abs(steps) ** order
        misses = misses | ~(apart <= eps**0.5 * sizes)
    return fits & (wrong <= 4 * eps * sizes), misses


def pairs_that_fit(w: Any, same: Any, *series: Any) -> Any:
    """Return pairs of points that are equal, or of which each one's polynomial fits the other.

    Beyond the first order, what is expanded has a pole where f is another function, as next to a
    kink: that has to be far.
    """
    rows, columns = w[..., :, None], w[..., None, :]
    about, at = [z[..., :, None] for z in series], [z[..., None, :] for z in series]
    fits, misses = _fits(rows, columns, about, at)
    fits = fits & np.swapaxes(fits, -1, -2)
    if len(series) > len(orders(1)):
        steps = np.abs(columns - rows)
        pole = np.min(np.where(misses, steps, np.inf), axis=-1)
        reach = np.minimum(pole[..., :, None], pole[..., None, :])
        fits = fits & (steps <= eps_of(series[0]) ** (1 / len(series)) * reach)
    return fits | same


def _near_pairs(w: Any, same: Any, *series: Any) -> Any:
    """Return the same, at once if no neighbours are near each other."""
    with np.errstate(all="ignore"):
        order = np.argsort(w, axis=-1)
        x, *ordered = (np.take_along_axis(z, order, -1) for z in (w, *series))
        here, there = [z[..., :-1] for z in ordered], [z[..., 1:] for z in ordered]
        is_ordered = w.dtype.kind != "c"  # neighbours in the plane are none in a row
        if is_ordered and not _fits(x[..., :-1], x[..., 1:], here, there)[0].any():
            return same
        return pairs_that_fit(w, same, *series)


near_pairs_p: Final = constant_op(
    "near_pairs",
    Params,
    abstract=lambda _p, _w, same, *_series: (same,),
    impl=lambda _p: _near_pairs,
)


class Paths:
    """Sums over paths from point to point, in the basis of the eigenvectors.

    Quotients lose digits where points are near each other: there, they are Taylor's sums

        f[x, …, y] = Σ f[x, x, …, x]·(y - x)ʳ,   x once more for each r.

    `series` are the values of f, f', f''/2, … at the points `w`, of which `same` says which are
    equal: `orders` of the count of directions, or one more than these, where only equal points are
    near each other.
    """

    def __init__(self, series: Tracers, w: Tracer, same: Tracer, count: int) -> None:
        self._series = series
        near = len(series) > count + 1
        self._near = bind(near_pairs_p, NONE, w, same, *series)[0] if near else same
        self._apart = logical_and(self._near, logical_not(same))
        self._gaps = reciprocal_gaps(w, same, series[0].dtype)
        self._steps = convert(differences(w, same.shape), series[0].dtype)
        self._known: dict[Any, Tracer] = {}

    def sum(self, directions: Tracers, repeated: int = 1, *, rows: int | None = None) -> Tracer:
        """Return the sum over paths along the directions, in this order.

        The first point counts as many times as `repeated` says.  With `rows`, only that many rows
        of the matrix of sums are computed.
        """
        key = (*map(id, directions), repeated, rows)
        if key not in self._known:
            self._known[key] = self._sum(directions, repeated, rows)
        return self._known[key]

    def _sum(self, directions: Tracers, repeated: int, rows: int | None) -> Tracer:
        *others, last = directions
        if not others:
            return mul(_head(self.table(repeated), rows), _head(last, rows))
        count = len(self._series) - len(directions) - repeated + 1
        near = [matmul(self.sum(others, repeated + 1 + k, rows=rows), last) for k in range(count)]
        without_last = matmul(self.sum(others, repeated, rows=rows), last)
        if repeated > 1:
            without_first = self.sum(directions, repeated - 1, rows=rows)
        else:
            without_first = matmul(_head(directions[0], rows), self.sum(directions[1:]))
        return self._choose(self._taylor(near, rows), without_last, without_first, rows)

    def table(self, repeated: int = 1) -> Tracer:
        """Return f[w(i), …, w(i), w(j)], with the first point repeated."""
        if repeated not in self._known:
            here = self._along(repeated - 1, 0)
            there = self._along(0, 1) if repeated == 1 else self.table(repeated - 1)
            near = [self._along(k, 0) for k in range(repeated, len(self._series))]
            taylor_sum = self._taylor(near, None)
            if repeated == 1:  # as symmetric as it is
                both = add(taylor_sum, matrix_transpose(taylor_sum))
                taylor_sum = mul(both, constant(0.5, both.type))
            self._known[repeated] = self._choose(taylor_sum, here, there, None)
        return self._known[repeated]

    def _along(self, order: int, axis: int) -> Tracer:
        """Return the values of one order, the same along the other axis than `axis`."""
        return (per_column if axis else per_row)(self._series[order], self._near.shape)

    def _taylor(self, terms: Tracers, rows: int | None) -> Tracer:
        """Return Taylor's sum between points that are near each other."""
        first, *others = terms
        rest = zeros(first.type)
        for term in reversed(others):
            rest = mul(_head(self._steps, rows), add(term, rest))
        return add(first, select(_head(self._apart, rows), rest, zeros(rest.type)))

    def _choose(self, near: Tracer, x: Tracer, y: Tracer, rows: int | None) -> Tracer:
        """Return what is right near each other, and the quotient elsewhere."""
        quotient = mul(add(y, neg(x)), _head(self._gaps, rows))
        return select(_head(self._near, rows), near, quotient)


def orders(directions: int) -> range:
    """Return of which orders f is asked for along as many directions, and near equal points."""
    return range(2 * directions + 2)


def _head(x: Tracer, rows: int | None) -> Tracer:
    return x if rows is None else slice_along(x, x.ndim - 2, 0, rows)
