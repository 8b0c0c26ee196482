"""Derivatives of functions of some eigenvalues, by the subspaces that their eigenvectors span.

Where f is zero at all other eigenvalues, V·f(w)·Vᴴ is a product of thin matrices, near A too,

    f(A) = W·F·(L·W)⁻¹·L,   W = V + Z,   L = Vᴴ + Y,   F = f(diag(w) + B),

where the columns of W and the rows of L span what becomes of the right and the left invariant
subspace, with Vᴴ·Z = Y·V = 0.  From (A + E)·W = W·(diag(w) + B), to first order in E,

    B = Vᴴ·E·V,   Z·diag(w) - A·Z = E·V - V·B,

and likewise at higher orders (G. W. Stewart, "Error and perturbation bounds for subspaces
associated with certain eigenvalue problems", SIAM Review 15, 1973).  A derivative along several
directions is a sum over sets of them: a set is a number with one bit per direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from funcdiff.core.primitive import Tracers
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.ops.axes.reductions import reduce_any
from funcdiff.ops.elementwise.logic import equal, logical_and, logical_not
from funcdiff.ops.elementwise.mathematics import sub
from funcdiff.ops.families import DIAGONAL, is_marked, refusal, symmetric
from funcdiff.ops.linalg.degeneracy import GAUGE, Choice, reciprocal
from funcdiff.ops.linalg.divided_differences import Paths
from funcdiff.ops.linalg.matrices import (
    adjoint,
    identity,
    matmul,
    matrix_transpose,
    per_column,
    per_row,
    scale_columns,
)
from funcdiff.ops.structure.slicing import Slice, add_slice, along, take_slice
from funcdiff.ops.structure.structural import concatenate, convert, reverse
from funcdiff.space import Maybe, add, mul, neg, sum_tangents, zeros
from funcdiff.transforms.jvp import present

Kept: TypeAlias = tuple[()] | tuple[int, int, int]
"""Of which values a function is: the first, how many, and the step between them; () of all."""

Terms: TypeAlias = dict[int, Tracer]
"""The derivative of a matrix along each set of directions, as far as it is not zero."""

Image: TypeAlias = Callable[[Tracer], Tracer]
"""The product of a direction with a matrix on its right."""


# ---- some of the values --------------------------------------------------------------------------


def pick(x: Tracer, kept: Kept) -> Tracer:
    """Return those numbers along the last axis that are kept."""
    if not kept:
        return x
    box, is_turned = _box(x.shape, kept)
    return reverse(take_slice(x, box), (x.ndim - 1,) if is_turned else ())


def place(x: Tracer, kept: Kept, length: int) -> Tracer:
    """Return what is picked in its places, and zeros in the others."""
    if not kept:
        return x
    whole = zeros(x.type.with_shape((*x.shape[:-1], length)))
    box, is_turned = _box(whole.shape, kept)
    return add_slice(whole, reverse(x, (x.ndim - 1,) if is_turned else ()), box)


def _box(shape: tuple[int, ...], kept: tuple[int, int, int]) -> tuple[Slice, bool]:
    """Return the slice that has the kept numbers, and whether it has them in reverse."""
    first, count, step = kept
    last = first + step * (count - 1)
    start, stop = min(first, last), max(first, last) + 1
    return along(shape, len(shape) - 1, start, stop, abs(step)), step < 0


_UNCUT: Final = refusal(is_marked, GAUGE)
whole_ties_p: Final = symmetric("whole_ties", Choice, impl=lambda _p: _UNCUT, facts=DIAGONAL)


def whole_ties(t: Tracer, same: Tracer, kept: tuple[int, int, int]) -> Tracer:
    """Return a tangent or cotangent, which exists only if of equal values all are kept, or none."""
    *stack, length = same.shape[:-1]
    one = ArrayType((*stack, kept[1]), FLOAT)
    which = place(constant(1, one), kept, length)
    apart = logical_not(equal(per_row(which, same.shape), per_column(which, same.shape)))
    return bind(whole_ties_p, Choice(), t, logical_and(same, apart))[0]


def has_last(kept: Kept, length: int) -> bool:
    """Return whether the last value is kept."""
    first, count, step = kept or (0, length, 1)
    return max(first, first + step * (count - 1)) == length - 1


# ---- derivatives ---------------------------------------------------------------------------------


class Subspace(NamedTuple):
    """The vectors V, the function C -> Z with Z·diag(w) - A·Z = C - V·Vᴴ·C, and f's sums."""

    vectors: Tracer
    solve: Callable[[Tracer], Tracer]
    paths: Paths


def subspace(
    basis: Tracer,
    w: Tracer,
    same: Tracer,
    choose: Callable[[Tracer], Tracer],
    series: Tracers,
    count: int,
) -> Subspace:
    """Return the subspace of those columns of a basis, values and pairs of them that are chosen.

    What is beyond the basis has the eigenvalue zero.  `series` are f, f', f''/2, … at the chosen
    values, for as many directions as `count`.
    """
    points, near = choose(w), choose(same)
    chosen = per_row(reduce_any(near, (near.ndim - 1,)), near.shape)
    gaps = sub(per_column(points, near.shape), per_row(w, near.shape))
    inverse = convert(reciprocal(gaps, chosen), basis.dtype)
    null = reciprocal(points, equal(points, zeros(points.type)))

    def solve(c: Tracer) -> Tracer:
        inner = matmul(adjoint(basis), c)
        z = matmul(basis, mul(inverse, inner))
        if basis.shape[-2] == basis.shape[-1]:
            return z
        rest = add(c, neg(matmul(basis, inner)))
        return add(z, scale_columns(rest, convert(null, basis.dtype)))

    paths = Paths(series, points, choose(matrix_transpose(near)), count)
    return Subspace(choose(basis), solve, paths)


def derivative_factors(
    space: Subspace, values: Tracer, right: Sequence[Image], left: Sequence[Image]
) -> tuple[Tracer, Tracer]:
    """Return two thin matrices of which the product is the derivative along directions.

    `values` are those of f, and `left` are the images by the adjoint directions.
    """
    z, b = _changes(space, right)
    y = {s: adjoint(x) for s, x in _changes(space, left)[0].items()}
    core, overlaps = {0: scale_columns(identity(b[1].type), values)}, Terms()
    for s in b:  # F·(L·W)⁻¹
        overlap = _product(y, z, s)
        if overlap is not None:
            overlaps[s] = overlap
        less = _product(core, overlaps, s)
        terms = [space.paths.sum([b[t] for t in parts]) for parts in _partitions(s)]
        total = sum_tangents([*terms, None if less is None else neg(less)])
        assert total is not None
        core[s] = total
    whole, last = max(b), space.vectors.ndim - 1
    columns, rows = {0: space.vectors, **z}, {0: adjoint(space.vectors), **y}
    rest = [_product(core, rows, whole ^ s) for s in columns]
    return concatenate([*columns.values()], last), concatenate(present(rest), last - 1)


def _changes(space: Subspace, images: Sequence[Image]) -> tuple[Terms, Terms]:
    """Return Z and B."""
    z, b = Terms(), Terms()
    for s in range(1, 1 << len(images)):
        before = [(image, s ^ 1 << k) for k, image in enumerate(images) if s >> k & 1]
        moved = sum_tangents([image(z.get(t, space.vectors)) for image, t in before])
        assert moved is not None, "a set has a direction"
        b[s] = matmul(adjoint(space.vectors), moved)
        back = _product(z, b, s)
        z[s] = space.solve(moved if back is None else add(moved, neg(back)))
    return z, b


def _product(x: Terms, y: Terms, s: int) -> Maybe:
    """Return the derivative of X·Y along a set."""
    return sum_tangents([matmul(x[t], y[s ^ t]) for t in x if t & s == t and s ^ t in y])


def _partitions(s: int) -> Iterator[tuple[int, ...]]:
    """Return the ways to divide a set into parts, in every order."""
    if not s:
        yield ()
    for t in range(1, s + 1):
        if t & s == t:
            for others in _partitions(s ^ t):
                yield t, *others
