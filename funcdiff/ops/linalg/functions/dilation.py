"""Derivatives of functions of singular values, by those of a Hermitian matrix.

U·f(s)·Vᴴ is one block of a function of [[0, A], [Aᴴ, 0]], of the odd function that f is of s > 0;
the other block is V·f(s)·Uᴴ.  `singular_derivative` has its derivatives along [[0, X], [Y, 0]],
of every order, which are blocks in the same places.  The first one is (V. Noferini, "A formula for
the Fréchet derivative of a generalized matrix function", SIAM J. Matrix Anal. Appl. 38, 2017), with
H and K the Hermitian and the skew part of Uᴴ·dA·V,

    d(U·f(s)·Vᴴ) = U·(Φ∘H + Ψ∘K)·Vᴴ + (1 - U·Uᴴ)·dA·V·(f(s)/s)·Vᴴ,
    Φ[i, j] = (f(s[i]) - f(s[j]))/(s[i] - s[j]),  Ψ[i, j] = (f(s[i]) + f(s[j]))/(s[i] + s[j]),

where A has no fewer rows than columns.  At zero, f has to be zero, and quotients are f'(0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import Facts, Params, Primitive, Types
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.core.walk import inline
from funcdiff.ops.linalg.degeneracy import distinct, shared, tied
from funcdiff.ops.linalg.divided_differences import Paths, taylor
from funcdiff.ops.linalg.functions.spectral import each, single, suited
from funcdiff.ops.linalg.matrices import (
    adjoint,
    diagonal,
    factorizable,
    matmul,
    scaled_columns,
    transposed,
)
from funcdiff.ops.linalg.null_space import vanishing
from funcdiff.ops.linalg.orthogonal import qr
from funcdiff.ops.linalg.singular import Ties, pairs, reciprocal, svd, ties
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import concatenate, convert, reshape, select
from funcdiff.space import (
    Maybe,
    add,
    align,
    broadcast,
    instantiate,
    mul,
    neg,
    splat,
    sum_tangents,
    zeros,
)
from funcdiff.transforms.jvp import present, push
from funcdiff.transforms.vmap import vmap

Pair: TypeAlias = tuple[Tracer, Tracer]
"""The blocks X and Y of [[0, X], [Y, 0]]."""

Direction: TypeAlias = tuple[Maybe, Maybe]
"""The same of a direction, None where a block is a structural zero."""

# ---- the function and its factors ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SingularFunction(Params):
    """The function f, elementwise in the singular values, and whether it is V·f(s)·Uᴴ.

    Its further inputs are parameters, as those of `Spectral`.
    """

    body: Program
    turned: bool


def values_type(a: ArrayType) -> ArrayType:
    """Return the type of the singular values."""
    *stack, rows, columns = factorizable(a).shape
    return ArrayType((*stack, min(rows, columns)), real_dtype(a.dtype))


def _turned_shape(a: ArrayType, *, turned: bool) -> tuple[int, ...]:
    *stack, rows, columns = a.shape
    return (*stack, columns, rows) if turned else (*stack, rows, columns)


def check_types(p: SingularFunction, y: ArrayType, a: ArrayType, *parameters: ArrayType) -> None:
    """Raise TypeError unless `y` may be the function of `a`."""
    s = values_type(a)
    fits = y.shape == _turned_shape(a, turned=p.turned) and p.body.input_types == (s, *parameters)
    if not fits or not suited(p.body) or p.body.output_types != (y.with_shape(s.shape),):
        raise TypeError(f"{y} is no function of {a} with singular values {s}")


def _ordered(p: SingularFunction, x: Tracer, y: Tracer) -> Pair:
    return (y, x) if p.turned else (x, y)


def factors(p: SingularFunction, a: Tracer) -> tuple[Tracer, Tracer, Tracer]:
    """Return U, s and V, or V, s and U."""
    u, s, vh = svd(a, full=False)
    u, v = _ordered(p, u, adjoint(vh))
    return u, s, v


def everywhere(factor: Tracer, type_: ArrayType) -> Tracer:
    """Return one number per matrix as a matrix of it."""
    return broadcast(convert(factor, type_.dtype), type_.shape, tuple(range(factor.ndim)))


def along(p: SingularFunction, t: Tracer, dtype: Any) -> Pair:
    """Return the direction that a change of the matrix is."""
    x, y = _ordered(p, t, adjoint(t))
    return convert(x, dtype), convert(y, dtype)


def batched_body(body: Program, size: int) -> Program:
    """Return the function of a batch of values and parameters."""
    return vmap(body, size, (True,) * len(body.inputs), (True,))[0]


# ---- both blocks --------------------------------------------------------------------------------


def _blocks(
    series: Sequence[Tracer], u: Tracer, s: Tracer, v: Tracer, directions: Sequence[Direction]
) -> Pair:
    """Return both blocks, from f, f', f''/2, … at the singular values."""
    u, v = convert(u, series[0].dtype), convert(v, series[0].dtype)
    if any(x is None and y is None for x, y in directions):
        return _nothing(u, v)
    if len(directions) == 1:
        return _along_one(series, u, s, v, *directions[0])
    return _along_many(series, u, s, v, directions)


def _nothing(u: Tracer, v: Tracer) -> Pair:
    shape = (*u.shape[:-1], v.shape[-2])
    upper = zeros(u.type.with_shape(shape))
    return upper, transposed(upper)


def _along_one(
    series: Sequence[Tracer], u: Tracer, s: Tracer, v: Tracer, x: Maybe, y: Maybe
) -> Pair:
    """Return both blocks of the first derivative, by the formula above."""
    known = ties(s)
    table = Paths(series, s, known.same).table()
    sums = _sums(series[0], s, table, known)
    inner, opposite = _projected(u, x, v), _projected(v, y, u)
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


def _projected(u: Tracer, x: Maybe, v: Tracer) -> Maybe:
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
    (x, y), (inner, opposite) = direction, projected
    leaving = entering = None
    if x is not None and inner is not None:
        rest = add(matmul(x, v), neg(matmul(u, inner)))
        leaving = matmul(scaled_columns(rest, slopes), adjoint(v))
    if y is not None and opposite is not None:
        rest = add(matmul(adjoint(v), y), neg(matmul(opposite, adjoint(u))))
        entering = matmul(scaled_columns(v, slopes), rest)
    return leaving, entering


def _sums(values: Tracer, s: Tracer, table: Tracer, known: Ties) -> Tracer:
    """Return Ψ."""
    nulls = pairs(known.zero)
    *stack, row, column = range(table.ndim)
    near, far = (broadcast(x, table.shape, (*stack, row)) for x in (values, s))
    here, there = (broadcast(x, table.shape, (*stack, column)) for x in (values, s))
    inverse = convert(reciprocal(add(far, there), nulls), table.dtype)
    return select(nulls, table, mul(add(near, here), inverse))


def _along_many(
    series: Sequence[Tracer], u: Tracer, s: Tracer, v: Tracer, directions: Sequence[Direction]
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
        return _nothing(u, v)
    reached = _reached(u, [matmul(z, v) for x, y in directions for z in _columns(x, y)])
    rows = reached.shape[-1]
    zero = ties(s).zero
    w = select(zero, zeros(s.type), s)
    null = zeros(w.type.with_shape((*w.shape[:-1], rows - count)))
    points = concatenate([w, null, neg(w)], last)
    extended = [_odd(values, k, zero, rows - count) for k, values in enumerate(series)]
    paths = Paths(extended, points, tied(points))
    inner = [
        _signed(_projected(reached, x, v), _projected(v, y, reached), rows) for x, y in directions
    ]
    total = sum_tangents([paths.sum(order, rows=rows) for order in permutations(inner)])
    assert total is not None
    near, beyond, far = _parted(total, last + 1, count, rows)
    upper = matmul(matmul(reached, add(near, neg(far))), adjoint(v))
    near, far = (_parted(z, last, count, rows)[0] for z in (near, far))
    beyond = _parted(beyond, last, count, rows)[0]
    crossed = concatenate([add(near, far), add(beyond, beyond)], last + 1)
    return upper, matmul(v, matmul(crossed, adjoint(reached)))


def _reached(u: Tracer, further: Sequence[Tracer]) -> Tracer:
    """Return U, and a basis of what columns reach beyond it, of vectors of length √½."""
    last, count = u.ndim - 1, u.shape[-1]
    if u.shape[-2] == count:
        return u
    basis, _ = qr(concatenate([u, *further], last), "reduced")
    rest = slice_along(basis, last, count, basis.shape[-1])
    return concatenate([u, mul(rest, constant(np.sqrt(0.5), rest.type))], last)


def _columns(x: Maybe, y: Maybe) -> list[Tracer]:
    """Return X and Yᴴ, those that there are."""
    return present([x, None if y is None else adjoint(y)])


def _signed(down: Maybe, up: Maybe, rows: int) -> Tracer:
    """Return [[0, X], [Y, 0]] in the basis of eigenvectors, from what X and Y are in that of A."""
    first = below = second = beside = None
    if down is not None:
        first, below, _ = _parted(down, down.ndim - 2, down.shape[-1], rows)
    if up is not None:
        second, beside, _ = _parted(up, up.ndim - 1, up.shape[-2], rows)
    even, odd = _halves(second, first)
    last, count = even.ndim - 1, even.shape[-1]
    beside = instantiate(beside, even.type.with_shape((*even.shape[:-1], rows - count)))
    middle = zeros(even.type.with_shape((*even.shape[:-2], rows - count, rows + count)))
    if below is not None:
        corner = slice_along(middle, last, count, rows)
        middle = concatenate([below, corner, neg(below)], last)
    above = concatenate([even, beside, odd], last)
    return concatenate(
        [above, middle, concatenate([neg(odd), neg(beside), neg(even)], last)], last - 1
    )


def _parted(x: Tracer, axis: int, count: int, rows: int) -> tuple[Tracer, Tracer, Tracer]:
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


# ---- its derivatives -----------------------------------------------------------------------------


def _abstract_derivative(
    p: SingularFunction, upper: ArrayType, lower: ArrayType, a: ArrayType, *others: ArrayType
) -> Types:
    count = len(p.body.inputs) - 1
    check_types(p, upper, a, *others[:count])
    blocks = (upper, upper.with_shape(_turned_shape(a, turned=not p.turned)))
    if lower is not blocks[1] or others[count:] != blocks * (len(others[count:]) // 2):
        raise TypeError(f"directions like {blocks} are needed, got {others[count:]}")
    return blocks


def _derivative_jvp(
    p: SingularFunction, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[Sequence[Tracer], list[Maybe]]:
    """Add a direction, replace one, or differentiate f by a parameter."""
    upper, _, a, *others = xs
    _, _, t, *incoming = ts
    count = len(p.body.inputs) - 1
    parameters, directions = others[:count], _paired(others[count:])
    moved, turned = incoming[:count], incoming[count:]
    parts: list[Sequence[Tracer]] = []
    if t is not None:
        further = along(p, t, upper.dtype)
        parts.append(derivative(p, a, parameters, [*directions, further]))
    for k in range(len(directions)):
        dx, dy = turned[2 * k : 2 * k + 2]
        if dx is not None or dy is not None:
            replaced = [*directions[:k], (dx, dy), *directions[k + 1 :]]
            parts.append(derivative(p, a, parameters, replaced))
    for body, factor in single(p.body, moved):
        blocks = derivative(replace(p, body=body), a, parameters, directions)
        parts.append([mul(everywhere(factor, z.type), z) for z in blocks])
    if any(s is not None for s in each(p.body, moved)):
        parts.append(_moved(p, a, parameters, each(p.body, moved), directions))
    columns = zip(*parts, strict=True) if parts else [(), ()]
    return singular_derivative(p, xs), [sum_tangents(column) for column in columns]


def _paired(xs: Sequence[Maybe]) -> list[Direction]:
    """Return the directions that operands are: a block that a literal fills with zero is none."""
    blocks = [None if x is None or splat(x) == 0 else x for x in xs]
    return list(zip(blocks[::2], blocks[1::2], strict=True))


def derivative(
    p: SingularFunction, a: Tracer, parameters: Sequence[Tracer], directions: Sequence[Direction]
) -> Sequence[Tracer]:
    """Return both blocks of the derivative along the directions, known to be that."""
    u, s, v = factors(p, a)
    ties_ = ties(s)
    known = [shared(x, ties_.same, strict=True) if x.shape == s.shape else x for x in parameters]
    series = [inline(taylor(p.body, k), [s, *known])[0] for k in range(1 + len(directions))]
    *others, (x, y) = directions
    safe = [None if z is None else vanishing(z, series[0], ties_.zero) for z in (x, y)]
    blocks = _blocks(series, u, s, v, [*others, (safe[0], safe[1])])
    flat = [
        instantiate(z, b.type) for pair in directions for z, b in zip(pair, blocks, strict=True)
    ]
    return singular_derivative(p, [*blocks, a, *parameters, *flat])


def _moved(
    p: SingularFunction,
    a: Tracer,
    parameters: Sequence[Tracer],
    moved: Sequence[Maybe],
    directions: Sequence[Direction],
) -> Sequence[Tracer]:
    """Return what changes of parameters that differ from value to value do."""
    u, s, v = factors(p, a)
    moved = [None if t is None else distinct(t, ties(s).same) for t in moved]
    slopes = []
    for order in range(1 + len(directions)):
        _, (slope,) = push(taylor(p.body, order), [s, *parameters], [None, *moved])
        slopes.append(instantiate(slope, p.body.output_types[0]))
    return _blocks(slopes, u, s, v, directions)


def _derivative_transpose(
    p: SingularFunction, _types: Types, cts: Sequence[Maybe], xs: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Use that tr([[0, X₀], [Y₀, 0]]·D F[…]) is symmetric in all directions."""
    _, _, a, *others = xs
    assert a is not None
    count = len(p.body.inputs) - 1
    upper, lower = (None if ct is None else transposed(ct) for ct in cts)
    operands = others[count:]
    for k in range(0, len(operands), 2):
        if operands[k] is None or operands[k + 1] is None:
            operands[k : k + 2] = [lower, upper]
    blocks = derivative(p, a, present(others[:count]), _paired(operands))
    turned = [transposed(blocks[1]), transposed(blocks[0])]
    result = [turned[(k - count) % 2] if x is None else None for k, x in enumerate(others)]
    return [None, None, None, *result]


singular_derivative_p: Final = Primitive(
    "singular_derivative",
    SingularFunction,
    abstract=_abstract_derivative,
    impl=lambda _p: lambda upper, lower, *_: (upper, lower),
    jvp=_derivative_jvp,
    transpose=_derivative_transpose,
    batch=lambda p, size, xs, batched: singular_derivative(
        replace(p, body=batched_body(p.body, size)), align(size, xs, batched)
    ),
    facts=Facts(hands_on=True),
)


def singular_derivative(p: SingularFunction, xs: Sequence[Tracer]) -> Sequence[Tracer]:
    """Return the first two of ``upper, lower, a, *parameters, X₁, Y₁, …``.

    They are known to be the blocks of the derivative of the odd function along the directions
    [[0, X], [Y, 0]], linear in each.  Only what comes after them has derivatives.
    """
    return bind(singular_derivative_p, p, *xs)
