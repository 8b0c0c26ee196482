"""Functions of singular values, U·f(s)·Vᴴ, and Σ f(s): derivatives by the Hermitian dilation.

At zero, ±s are singular values alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial as with_first
from itertools import pairwise, permutations
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive, Tracers
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.elementwise.logic import equal, isfinite
from funcdiff.ops.linalg.degeneracy import equal_pairs, reciprocal
from funcdiff.ops.linalg.divided_differences import Paths, partial
from funcdiff.ops.linalg.invariant_subspaces import (
    Kept,
    derivative_factors,
    has_last,
    pick,
    place,
    subspace,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    block_matrix,
    columns,
    diagonal,
    factorizable,
    matmul,
    matrix_transpose,
    per_column,
    per_row,
    scale_columns,
    trace_of_product,
)
from funcdiff.ops.linalg.matrices import rows as matrix_rows
from funcdiff.ops.linalg.matrix_functions import (
    Direction,
    Factors,
    MatrixFunction,
    MatrixSum,
    function_of_matrix,
    matrix_function,
    matrix_sum,
)
from funcdiff.ops.linalg.orthogonal import qr
from funcdiff.ops.linalg.singular import Ties, pairs, svd, ties, vanish_on_kernel
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, reshape, select
from funcdiff.space import Maybe, add, broadcast, instantiate, mul, neg, sum_tangents, zeros
from funcdiff.transforms.jvp import present

# ---- Derivatives of functions of singular values, by the Hermitian dilation of the matrix --------
#
# U·f(s)·Vᴴ is one block of a function of [[0, A], [Aᴴ, 0]], of the odd function that f is of s > 0;
# the other block is V·f(s)·Uᴴ. Its derivatives along [[0, X], [Y, 0]], of every order, are blocks
# in the same places. The first one is (V. Noferini, "A formula for the Fréchet derivative of a
# generalized matrix function", SIAM J. Matrix Anal. Appl. 38, 2017), with H and K the Hermitian and
# the skew part of Uᴴ·dA·V,
#
#     d(U·f(s)·Vᴴ) = U·(Φ∘H + Ψ∘K)·Vᴴ + (1 - U·Uᴴ)·dA·V·(f(s)/s)·Vᴴ,
#     Φ[i, j] = (f(s[i]) - f(s[j]))/(s[i] - s[j]),  Ψ[i, j] = (f(s[i]) + f(s[j]))/(s[i] + s[j]),
#
# where A has no fewer rows than columns.  At zero, f has to be zero, and quotients are f'(0).


Pair: TypeAlias = tuple[Tracer, Tracer]
"""The blocks X and Y of [[0, X], [Y, 0]]."""

# ---- both blocks --------------------------------------------------------------------------------


def dilation_blocks(series: Tracers, factors: Factors, directions: Sequence[Direction]) -> Tracers:
    """Return both blocks, from f, f', f''/2, … at the singular values."""
    if len(directions) == 1:
        return _along_one(series, *factors, *directions[0])
    return _along_many(series, *factors, directions)


def _along_one(series: Tracers, u: Tracer, s: Tracer, v: Tracer, x: Maybe, y: Maybe) -> Pair:
    """Return both blocks of the first derivative, by the formula above."""
    known = ties(s)
    table = Paths(series, s, known.same, 1).table()
    sums = _sums(series[0], s, table, known)
    inner, opposite = _projection(u, x, v), _projection(v, y, u)
    even, odd = _halves(inner, opposite)
    straight, crossed = mul(table, even), mul(sums, odd)
    upper = matmul(matmul(u, add(straight, crossed)), adjoint(v))
    lower = matmul(matmul(v, add(straight, neg(crossed))), adjoint(u))
    slopes = diagonal(sums)  # f(s)/s, and f'(0)
    outside, inside = _beyond(slopes, u, v, (x, y), (inner, opposite))
    below, above = _beyond(slopes, v, u, (y, x), (opposite, inner))
    uppers, lowers = sum_tangents([upper, outside, above]), sum_tangents([lower, inside, below])
    assert uppers is not None
    assert lowers is not None
    return uppers, lowers


def _projection(u: Tracer, x: Maybe, v: Tracer) -> Maybe:
    """Return Uᴴ·X·V."""
    return None if x is None else matmul(adjoint(u), matmul(x, v))


def _halves(x: Maybe, y: Maybe) -> Pair:
    """Return (X + Y)/2 and (X - Y)/2."""
    total = sum_tangents([x, y])
    assert total is not None, "a direction has a block"
    half = mul(total, constant(0.5, total.type))
    if x is None:
        return half, neg(half)
    return half, half if y is None else add(x, neg(half))


def _beyond(
    slopes: Tracer, u: Tracer, v: Tracer, direction: Direction, projected: Direction
) -> Direction:
    """Return what X and Y contribute outside the columns of U, to the blocks where they are."""
    if u.shape[-2] == u.shape[-1]:
        return None, None
    leaving, entering = _outside(u, v, direction, projected)
    if leaving is not None:
        leaving = matmul(scale_columns(leaving, slopes), adjoint(v))
    if entering is not None:
        entering = matmul(scale_columns(v, slopes), entering)
    return leaving, entering


def _outside(u: Tracer, v: Tracer, direction: Direction, projected: Direction) -> Direction:
    """Return (1 - U·Uᴴ)·X·V and Vᴴ·Y·(1 - U·Uᴴ)."""
    (x, y), (inner, opposite) = direction, projected
    leaving = entering = None
    if x is not None and inner is not None:
        leaving = add(matmul(x, v), neg(matmul(u, inner)))
    if y is not None and opposite is not None:
        entering = add(matmul(adjoint(v), y), neg(matmul(opposite, adjoint(u))))
    return leaving, entering


def _sums(values: Tracer, s: Tracer, table: Tracer, known: Ties) -> Tracer:
    """Return Ψ."""
    nulls = pairs(known.zero)
    near, far = (per_row(x, table.shape) for x in (values, s))
    here, there = (per_column(x, table.shape) for x in (values, s))
    inverse = convert(reciprocal(add(far, there), nulls), table.dtype)
    return select(nulls, table, mul(add(near, here), inverse))


def _along_many(
    series: Tracers, u: Tracer, s: Tracer, v: Tracer, directions: Sequence[Direction]
) -> Pair:
    """Return both blocks, by sums over paths between the eigenvectors of [[0, A], [Aᴴ, 0]].

    Those are (u, v)/√2 of s, (n, 0) of zero for what else the directions reach, and (u, -v)/√2 of
    -s.  With the sign of v all matrices change sign, so that the rows of -s are known.
    """
    if v.shape[-2] > v.shape[-1]:
        lower, upper = _along_many(series, v, s, u, [(y, x) for x, y in directions])
        return upper, lower
    last, count = s.ndim - 1, s.shape[-1]
    if not count:
        upper = matmul(u, adjoint(v))
        return upper, matrix_transpose(upper)
    through = len(directions) == 2 and u.shape[-2] > count  # a path has one zero at most
    further = [] if through else [matmul(z, v) for x, y in directions for z in _columns(x, y)]
    reached = _reach(u, further)
    rows = reached.shape[-1]
    zero = ties(s).zero
    w = select(zero, zeros(s.type), s)
    null = zeros(w.type.with_shape((*w.shape[:-1], rows - count)))
    points = concatenate([w, null, neg(w)], last)
    extended = [_odd(values, k, zero, rows - count) for k, values in enumerate(series)]
    paths = Paths(extended, points, equal_pairs(points), len(directions))
    inner = [
        _eigenbasis_blocks(_projection(reached, x, v), _projection(v, y, reached), rows)
        for x, y in directions
    ]
    total = sum_tangents([paths.sum(order, rows=rows) for order in permutations(inner)])
    assert total is not None
    near, beyond, far = _parts(total, last + 1, count, rows)
    upper = matmul(matmul(reached, add(near, neg(far))), adjoint(v))
    near, far = (_parts(z, last, count, rows)[0] for z in (near, far))
    beyond = _parts(beyond, last, count, rows)[0]
    crossed = concatenate([add(near, far), add(beyond, beyond)], last + 1)
    lower = matmul(v, matmul(crossed, adjoint(reached)))
    if through:
        more = _through_zero(series, u, s, v, directions)
        upper, lower = (
            x if y is None else add(x, y) for x, y in zip((upper, lower), more, strict=True)
        )
    return upper, lower


def _through_zero(
    series: Tracers, u: Tracer, s: Tracer, v: Tracer, directions: Sequence[Direction]
) -> Direction:
    """Return what paths of two steps through zero, or from or to it, contribute to both blocks.

    With g(x) = f(x)/x, which is even, f[x, 0, y] is g[x, y]: all vectors of zero have one quotient,
    so that products of what directions reach beyond U stand for sums over these.
    """
    known = ties(s)
    quotients = _quotients(series, s, known.zero)
    table = Paths(quotients, s, known.same, 1).table()
    nulls = pairs(known.zero)
    here, there = (along(quotients[0], table.shape) for along in (per_row, per_column))
    sums = add(per_row(s, table.shape), per_column(s, table.shape))
    turned = mul(add(here, neg(there)), convert(reciprocal(sums, nulls), table.dtype))
    steps, reached = [], []
    for x, y in directions:
        projected = _projection(u, x, v), _projection(v, y, u)
        even, odd = _halves(projected[1], projected[0])
        steps.append(add(mul(table, even), neg(mul(turned, odd))))
        reached.append(_outside(u, v, (x, y), projected))
    upper: list[Maybe] = []
    lower: list[Maybe] = []
    for step, (leaving, entering), (_, other) in zip(
        steps[::-1], reached, reached[::-1], strict=True
    ):
        upper.append(None if leaving is None else matmul(matmul(leaving, step), adjoint(v)))
        lower.append(None if entering is None else matmul(v, matmul(step, entering)))
        if leaving is not None and other is not None:
            middle = matmul(other, leaving)
            half = mul(middle, constant(0.5, middle.type))
            upper.append(matmul(matmul(u, mul(half, add(table, turned))), adjoint(v)))
            lower.append(matmul(matmul(v, mul(half, add(table, neg(turned)))), adjoint(u)))
    return sum_tangents(upper), sum_tangents(lower)


def _quotients(series: Tracers, s: Tracer, zero: Tracer) -> Tracers:
    """Return g, g', g''/2, … of g(x) = f(x)/x, from those of f; at zero they are the next of f."""
    inverse, quotients = convert(reciprocal(s, zero), series[0].dtype), list[Tracer]()
    for order, (values, following) in enumerate(pairwise(series)):
        before = add(values, neg(quotients[-1])) if quotients else values
        at_zero = zeros(values.type) if order % 2 else following
        quotients.append(select(zero, at_zero, mul(before, inverse)))
    return quotients


def _reach(u: Tracer, further: Tracers) -> Tracer:
    """Return U, and a basis of what columns reach beyond it, of vectors of length √½."""
    last, count = u.ndim - 1, u.shape[-1]
    if u.shape[-2] == count or not further:
        return u
    basis, _ = qr(concatenate([u, *further], last), "reduced")
    rest = slice_along(basis, last, count, basis.shape[-1])
    return concatenate([u, mul(rest, constant(np.sqrt(0.5), rest.type))], last)


def _columns(x: Maybe, y: Maybe) -> list[Tracer]:
    """Return X and Yᴴ, those that there are."""
    return present([x, None if y is None else adjoint(y)])


def _eigenbasis_blocks(down: Maybe, up: Maybe, rows: int) -> Tracer:
    """Return [[0, X], [Y, 0]] in the basis of eigenvectors, from what X and Y are in that of A."""
    first = below = second = beside = None
    if down is not None:
        first, below, _ = _parts(down, down.ndim - 2, down.shape[-1], rows)
    if up is not None:
        second, beside, _ = _parts(up, up.ndim - 1, up.shape[-2], rows)
    even, odd = _halves(second, first)
    last, count = even.ndim - 1, even.shape[-1]
    beside = instantiate(beside, even.type.with_shape((*even.shape[:-1], rows - count)))
    middle = zeros(even.type.with_shape((*even.shape[:-2], rows - count, rows + count)))
    if below is not None:
        corner = slice_along(middle, last, count, rows)
        middle = concatenate([below, corner, neg(below)], last)
    return block_matrix([even, beside, odd], [middle], [neg(odd), neg(beside), neg(even)])


def _parts(x: Tracer, axis: int, count: int, rows: int) -> tuple[Tracer, Tracer, Tracer]:
    """Return what belongs to s, to zero and to -s."""
    length = x.shape[axis]
    return (
        slice_along(x, axis, 0, count),
        slice_along(x, axis, count, rows),
        slice_along(x, axis, rows, length),
    )


def _odd(values: Tracer, order: int, zero: Tracer, count: int) -> Tracer:
    """Return a derivative of the odd function at s, at zero as many times as asked, and at -s.

    Where no s is zero, what the function is near zero does not matter.
    """
    last = values.ndim - 1
    nothing = zeros(values.type)
    if order % 2:
        lowest = select(zero, values, nothing)
        lowest = slice_along(lowest, last, values.shape[-1] - 1, values.shape[-1])
        lowest = reshape(lowest, values.shape[:-1])
        null = broadcast(lowest, (*lowest.shape, count), tuple(range(last)))
        return concatenate([values, null, values], last)
    values = select(zero, nothing, values)
    null = zeros(values.type.with_shape((*values.shape[:-1], count)))
    return concatenate([values, null, neg(values)], last)


# ---- some of the values --------------------------------------------------------------------------


def _by_subspaces(
    series: Tracers, factors: Factors, kept: Kept, directions: Sequence[Direction]
) -> Pair:
    """Return both blocks for a function of some values: (u, ±v)/√2 are the vectors of ±s."""
    u, s, v = factors
    height, width, last, known = u.shape[-2], v.shape[-2], u.ndim - 1, ties(s)
    w = select(known.zero, zeros(s.type), s)
    basis, nulls = block_matrix([u, u], [v, neg(v)]), pairs(known.zero)

    def choose(x: Tracer) -> Tracer:
        halves = (slice_along(x, x.ndim - 1, k, k + s.shape[-1]) for k in (0, s.shape[-1]))
        return concatenate([pick(half, kept) for half in halves], x.ndim - 1)

    zero = pick(known.zero, kept)
    odd = [_odd(values, k, zero, 0) for k, values in enumerate(series)]
    space = subspace(
        mul(basis, constant(np.sqrt(0.5), basis.type)),
        concatenate([w, neg(w)], last - 1),
        block_matrix([known.same, nulls], [nulls, known.same]),
        choose,
        odd,
        len(directions),
    )
    back = [tuple(z if z is None else adjoint(z) for z in pair[::-1]) for pair in directions]
    right, left = ([with_first(_image, height, d) for d in given] for given in (directions, back))
    x, y = derivative_factors(space, odd[0], right, left)
    upper = matmul(matrix_rows(x, 0, height), columns(y, height, height + width))
    return upper, matmul(matrix_rows(x, height, height + width), columns(y, 0, height))


def _image(height: int, direction: Direction, z: Tracer) -> Tracer:
    """Return [[0, X], [Y, 0]]·Z."""
    x, y = direction
    *_, size, _count = z.shape
    upper, lower = matrix_rows(z, 0, height), matrix_rows(z, height, size)
    return concatenate(
        [
            zeros(upper.type) if x is None else matmul(x, lower),
            zeros(lower.type) if y is None else matmul(y, upper),
        ],
        z.ndim - 2,
    )


# ---- the function --------------------------------------------------------------------------------


class SingularFunction(MatrixFunction):
    """A function of singular values, and whether it is V·f(s)·Uᴴ."""

    turned: bool

    def values(self, a: ArrayType) -> ArrayType:
        """Return the type of the singular values."""
        *stack, rows, columns = factorizable(a).shape
        return ArrayType((*stack, min(rows, columns)), real_dtype(a.dtype))

    def shapes(self, a: ArrayType) -> Sequence[tuple[int, ...]]:
        """Return the shapes of both blocks of the function of [[0, A], [Aᴴ, 0]]."""
        *stack, rows, columns = a.shape
        return self._in_order((*stack, rows, columns), (*stack, columns, rows))

    def _in_order(self, x: Any, y: Any) -> tuple[Any, Any]:
        return (y, x) if self.turned else (x, y)

    def factors(self, a: Tracer) -> Factors:
        """Return U, s and V, or V, s and U."""
        u, s, vh = svd(a, full=False)
        u, v = self._in_order(u, adjoint(vh))
        return u, s, v

    def same(self, w: Tracer) -> Tracer:
        """Return which singular values are equal."""
        return ties(w).same

    def direction(self, _a: Tracer, t: Tracer, dtype: Any) -> Direction:
        """Return the blocks of a change of [[0, A], [Aᴴ, 0]]."""
        return self._in_order(convert(t, dtype), convert(adjoint(t), dtype))

    def watch(self, x: Tracer, values: Tracer, w: Tracer) -> Tracer:
        """Return a block of a direction, which asks that f(0) is zero."""
        return vanish_on_kernel(x, values, pick(ties(w).zero, self.kept))

    def blocks(self, series: Tracers, factors: Factors, directions: Sequence[Direction]) -> Tracers:
        """Return both blocks of the derivative.

        Where zero is a value of [[0, A], [Aᴴ, 0]] beside the smallest, that has to be left out.
        """
        u, s, v = factors
        count = s.shape[-1]
        if self.kept and (not has_last(self.kept, count) or u.shape == v.shape):
            return _by_subspaces(series, factors, self.kept, directions)
        return dilation_blocks([place(x, self.kept, count) for x in series], factors, directions)

    def primitive(self, *, directed: bool) -> Primitive[Any]:
        """Return the primitive of one block, or of both of a derivative."""
        return singular_derivative_p if directed else singular_function_p


singular_function_p: Final = matrix_function(
    "singular_function", SingularFunction, lambda _p: lambda y, *_: y, directed=False
)

singular_derivative_p: Final = matrix_function(
    "singular_derivative",
    SingularFunction,
    lambda _p: lambda upper, lower, *_: (upper, lower),
    outputs=2,
    directed=True,
)
"""Of ``upper, lower, a, *parameters, X₁, Y₁, …``: the first two, known to be the blocks of the
derivative of the odd function along the directions [[0, X], [Y, 0]], linear in each."""


def singular_function(p: SingularFunction, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be U·f(s, …)·Vᴴ.

    U, s and V are what `svd` makes of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(singular_function_p, p, *xs)[0]


# ---- the sum -------------------------------------------------------------------------------------


class SingularSum(MatrixSum):
    """The function, real, and the axes over which it is summed."""

    def function(self, body: Program) -> SingularFunction:
        """Return a function of the same singular values."""
        return SingularFunction(body, (), turned=False)

    def change(self, a: Tracer, parameters: Tracers, t: Tracer, dtype: Any) -> Tracer:  # noqa: ARG002
        """Return tr(V·f'(s)·Uᴴ·dA), less f'(0) of what is zero: ±s are singular values alike.

        Which those are is a parameter of f', equal for equal values.
        """
        s = svd(a, full=False)[1]
        present = select(ties(s).zero, zeros(s.type), constant(1, s.type))
        slope = SingularFunction(_slope_of_present(self.body, a.dtype), (), turned=True)
        (function,) = function_of_matrix(slope, a, [*parameters, present], [])
        return trace_of_product(function, t)


def _slope_of_present(body: Program, dtype: Any) -> Program:
    """Return f', and where one more parameter is zero, f' - f'(0), if that is finite, or zero."""
    with Builder("slope", SHARED) as builder:
        w, *parameters = [builder.input(t) for t in body.input_types]
        present = builder.input(w.type)
        slope = partial(body, 0)
        (y,), (at_zero,) = (inline(slope, [x, *parameters]) for x in (w, zeros(w.type)))
        absent = equal(present, zeros(present.type))
        rest = select(isfinite(at_zero), add(y, neg(at_zero)), zeros(y.type))
        return builder.program([convert(select(absent, rest, y), dtype)])


singular_sum_p: Final = matrix_sum("singular_sum", SingularSum)


def singular_sum(p: SingularSum, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be the sum of f(s, …).

    s are the singular values of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(singular_sum_p, p, *xs)[0]
