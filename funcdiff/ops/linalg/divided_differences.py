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

from math import factorial

from funcdiff.core.builder import Builder, constant
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Tracers
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import inline
from funcdiff.ops.linalg.degeneracy import reciprocal_gaps
from funcdiff.ops.linalg.matrices import matmul, per_column, per_row
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import select
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


class Paths:
    """Sums over paths from point to point, in the basis of the eigenvectors.

    Parameters
    ----------
    series
        The values at the points of f, f', f''/2, …: as many as directions, and one more.
    w
        The points.
    same
        Which of them are equal.
    """

    def __init__(self, series: Tracers, w: Tracer, same: Tracer) -> None:
        self._series = series
        self._same = same
        self._gaps = reciprocal_gaps(w, same, series[0].dtype)

    def sum(self, directions: Tracers, repeated: int = 1, *, rows: int | None = None) -> Tracer:
        """Return the sum over paths along the directions, in this order.

        The first point counts as many times as `repeated` says.  With `rows`, only that many rows
        of the matrix of sums are computed.
        """
        *others, last = directions
        if not others:
            return mul(_head(self.table(repeated), rows), _head(last, rows))
        equal = matmul(self.sum(others, repeated + 1, rows=rows), last)
        without_last = matmul(self.sum(others, repeated, rows=rows), last)
        if repeated > 1:
            without_first = self.sum(directions, repeated - 1, rows=rows)
        else:
            without_first = matmul(_head(directions[0], rows), self.sum(directions[1:]))
        quotient = self._quotient(without_last, without_first, _head(self._gaps, rows))
        return select(_head(self._same, rows), equal, quotient)

    def table(self, repeated: int = 1) -> Tracer:
        """Return f[w(i), …, w(i), w(j)], with the first point repeated."""
        here = self._along(repeated - 1, 0)
        there = self._along(0, 1) if repeated == 1 else self.table(repeated - 1)
        return select(self._same, self._along(repeated, 0), self._quotient(here, there, self._gaps))

    def _along(self, order: int, axis: int) -> Tracer:
        """Return the values of one order, the same along the other axis than `axis`."""
        return (per_column if axis else per_row)(self._series[order], self._same.shape)

    @staticmethod
    def _quotient(x: Tracer, y: Tracer, gaps: Tracer) -> Tracer:
        return mul(add(y, neg(x)), gaps)


def _head(x: Tracer, rows: int | None) -> Tracer:
    return x if rows is None else slice_along(x, x.ndim - 2, 0, rows)
