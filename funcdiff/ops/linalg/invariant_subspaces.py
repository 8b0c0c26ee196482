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
from typing import Any, Final, NamedTuple, TypeAlias

from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.logic import equal, logical_and, logical_not, logical_or
from funcdiff.ops.families import DIAGONAL, symmetric
from funcdiff.ops.linalg.degeneracy import GAUGE, Choice
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
from funcdiff.ops.structure.structural import concatenate, reverse
from funcdiff.space import Maybe, add, neg, sum_tangents, zeros
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


def _require_none(t: Any, cut: Any) -> Any:
    if cut.any():
        raise NotDifferentiableError(GAUGE)
    return t


whole_ties_p: Final = symmetric("whole_ties", Choice, impl=lambda _p: _require_none, facts=DIAGONAL)


def whole_ties(t: Tracer, same: Tracer, kept: tuple[int, int, int]) -> Tracer:
    """Return a tangent or cotangent, which exists only if of equal values all are kept, or none."""
    which = _is_kept(same.shape[:-1], kept)
    apart = logical_not(equal(per_row(which, same.shape), per_column(which, same.shape)))
    return bind(whole_ties_p, Choice(), t, logical_and(same, apart))[0]


def _is_kept(shape: tuple[int, ...], kept: Kept) -> Tracer:
    """Return 1 at values that are kept, and 0 at others."""
    count = kept[1] if kept else shape[-1]
    return place(constant(1, ArrayType((*shape[:-1], count), FLOAT)), kept, shape[-1])


def pick_pairs(same: Tracer, kept: Kept) -> Tracer:
    """Return the part for pairs of kept values of a symmetric matrix."""
    return pick(matrix_transpose(pick(same, kept)), kept)


def left_in(same: Tracer, kept: Kept) -> Tracer:
    """Return the mask of pairs (i, j), of a kept j, where i is kept, or has the same value."""
    equal_to = pick(same, kept)
    which = per_row(_is_kept(same.shape[:-1], kept), equal_to.shape)
    return logical_or(equal_to, equal(which, constant(1, which.type)))


def has_last(kept: Kept, length: int) -> bool:
    """Return whether the last value is kept."""
    first, count, step = kept or (0, length, 1)
    return max(first, first + step * (count - 1)) == length - 1


# ---- derivatives ---------------------------------------------------------------------------------


class Subspace(NamedTuple):
    """The vectors V, and the function C -> Z with Z·diag(w) - A·Z = C - V·Vᴴ·C."""

    vectors: Tracer
    solve: Callable[[Tracer], Tracer]


def derivative_factors(
    space: Subspace, values: Tracer, paths: Paths, right: Sequence[Image], left: Sequence[Image]
) -> tuple[Tracer, Tracer]:
    """Return two thin matrices of which the product is the derivative along directions.

    `values` are those of f, `paths` sum its divided differences, and `left` are the images by the
    adjoint directions.
    """
    z, b = _moved(space, right)
    y = {s: adjoint(x) for s, x in _moved(space, left)[0].items()}
    core, overlaps = {0: scale_columns(identity(b[1].type), values)}, Terms()
    for s in b:  # F·(L·W)⁻¹
        overlap = _product(y, z, s)
        if overlap is not None:
            overlaps[s] = overlap
        less = _product(core, overlaps, s)
        total = _function(paths, b, s)
        core[s] = total if less is None else add(total, neg(less))
    whole, last = max(b), space.vectors.ndim - 1
    columns, rows = {0: space.vectors, **z}, {0: adjoint(space.vectors), **y}
    rest = [_product(core, rows, whole ^ s) for s in columns]
    return concatenate([*columns.values()], last), concatenate(present(rest), last - 1)


def _moved(space: Subspace, images: Sequence[Image]) -> tuple[Terms, Terms]:
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


def _function(paths: Paths, b: Terms, s: int) -> Tracer:
    """Return F: along sets of directions in every order, of which B has the derivatives."""
    total = sum_tangents([paths.sum([b[t] for t in order]) for order in _ordered_parts(s)])
    assert total is not None
    return total


def _product(x: Terms, y: Terms, s: int) -> Maybe:
    """Return the derivative of X·Y along a set."""
    return sum_tangents([matmul(x[t], y[s ^ t]) for t in x if t & s == t and s ^ t in y])


def _ordered_parts(s: int) -> Iterator[tuple[int, ...]]:
    """Return the ways to divide a set into parts, in every order."""
    if not s:
        yield ()
    for t in range(1, s + 1):
        if t & s == t:
            for others in _ordered_parts(s ^ t):
                yield t, *others
