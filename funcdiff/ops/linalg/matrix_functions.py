"""Functions of the values of a factorization, U·f(w)·Vᴴ and Σ f(w): rules of every order.

The derivatives of values and vectors alone do not carry those of the whole, which exist at equal
values too.  A primitive keeps the value that was computed from them, and has these rules: a
derivative is one more equation of the kind, with a further direction, so that they lead from each
order to the next, and none differentiates a vector.  What a factorization adds are its factors,
and the formula of the derivative along directions: `spectral` that of a Hermitian matrix, and
`singular_functions` that of [[0, A], [Aᴴ, 0]], of which the function is one of two blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial as with_first
from itertools import permutations
from typing import Any, Final, Self, TypeAlias

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import (
    Facts,
    Params,
    Primitive,
    Pushed,
    Tangents,
    Tracers,
    Types,
    shifted,
)
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.elementwise.complex import imaginary_part, real_part
from funcdiff.ops.linalg.degeneracy import agreement, equal_pairs, simple_spectrum
from funcdiff.ops.linalg.divided_differences import Paths, orders, partial, taylor
from funcdiff.ops.linalg.factorizations import eigh
from funcdiff.ops.linalg.invariant_subspaces import (
    Kept,
    derivative_factors,
    pick,
    place,
    subspace,
    whole_ties,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    in_basis,
    matmul,
    matrix_transpose,
    per_matrix,
    scale_columns,
    square,
    symmetric_tangent,
    trace_of_product,
)
from funcdiff.ops.structure.structural import convert
from funcdiff.space import Maybe, instantiate, mul, reduce_sum, splat, sum_tangents, without, zeros
from funcdiff.transforms.jvp import present, push
from funcdiff.transforms.vmap import batch_outputs

Direction: TypeAlias = Tangents
"""The blocks of a direction, None where one is a structural zero."""

Factors: TypeAlias = tuple[Tracer, Tracer, Tracer]
"""U, w and V."""


class MatrixFunction(Params, ABC):
    """The function f, elementwise in the values, and of which of them: of others, f is zero.

    Its further inputs are parameters.  Those that have one value per matrix may be differentiated
    to any order.  One of the shape of the values must not differ between equal ones.
    """

    body: Program
    kept: Kept

    def with_batch_axis(self, size: int) -> Self:
        """Return the function of a batch of values and parameters."""
        return replace(self, body=batch_outputs(self.body, size, (True,) * len(self.body.inputs)))

    @abstractmethod
    def values(self, a: ArrayType) -> ArrayType:
        """Return the type of the values of a matrix."""

    @abstractmethod
    def shapes(self, a: ArrayType) -> Sequence[tuple[int, ...]]:
        """Return the shapes of the blocks, the first of them that of the function."""

    @abstractmethod
    def factors(self, a: Tracer) -> Factors:
        """Return U, w and V."""

    @abstractmethod
    def same(self, w: Tracer) -> Tracer:
        """Return which values are equal."""

    @abstractmethod
    def direction(self, a: Tracer, t: Tracer, dtype: Any) -> Direction:
        """Return the direction that a change of the matrix is."""

    @abstractmethod
    def blocks(self, series: Tracers, factors: Factors, directions: Sequence[Direction]) -> Tracers:
        """Return the derivative along directions, from f, f', f''/2, … at the values."""

    @abstractmethod
    def primitive(self, *, directed: bool) -> Primitive[Any]:
        """Return the primitive of the function, or of its derivative along directions."""

    def among(self, w: ArrayType) -> ArrayType:
        """Return the type of those values that f is a function of."""
        return w.with_shape((*w.shape[:-1], self.kept[1])) if self.kept else w

    def evaluate(self, body: Program, w: Tracer, parameters: Tracers) -> Tracer:
        """Return the result of a program like f at the values that are kept."""
        return inline(body, [pick(w, self.kept), *parameters])[0]

    def watch(self, x: Tracer, values: Tracer, w: Tracer) -> Tracer:  # noqa: ARG002
        """Return a block of a direction, watched for values of f that have no derivative."""
        return x


# ---- the function, or its derivative along directions --------------------------------------------


def function_of_matrix(
    p: MatrixFunction, a: Tracer, parameters: Tracers, directions: Sequence[Direction]
) -> Tracers:
    """Return the function of a matrix, or its derivative along directions, known to be that."""
    u, w, v = p.factors(a)
    along = directions
    if directions:
        equal = [_agreeing(p, x, w) for x in parameters]
        series = [p.evaluate(taylor(p.body, k), w, equal) for k in orders(len(directions))]
        along = _check_last(p, directions, series[0], w)
    else:
        series = [p.evaluate(p.body, w, parameters)]
    blocks = _blocks(p, a, series, (u, w, v), along)
    flat = [instantiate(x, y.type) for d in directions for x, y in zip(d, blocks, strict=True)]
    return bind(p.primitive(directed=bool(directions)), p, *blocks, a, *parameters, *flat)


def _check_last(
    p: MatrixFunction, directions: Sequence[Direction], values: Tracer, w: Tracer
) -> Sequence[Direction]:
    *others, last = directions
    watched = [None if x is None else p.watch(x, values, w) for x in last]
    if p.kept:
        same = p.same(w)
        watched = [None if x is None else whole_ties(x, same, p.kept) for x in watched]
    return [*others, watched]


def _agreeing(p: MatrixFunction, x: Tracer, w: Tracer) -> Tracer:
    """Return a parameter, which must not differ between equal values."""
    if x.ndim < w.ndim:
        return x
    return pick(agreement(place(x, p.kept, w.shape[-1]), p.same(w)), p.kept)


def _blocks(
    p: MatrixFunction, a: Tracer, series: Tracers, factors: Factors, directions: Sequence[Direction]
) -> Tracers:
    u, w, v = factors
    u, v = convert(u, series[0].dtype), convert(v, series[0].dtype)
    if not directions:
        return [matmul(scale_columns(pick(u, p.kept), series[0]), adjoint(pick(v, p.kept)))]
    if not all(map(present, directions)):
        return [zeros(u.type.with_shape(shape)) for shape in p.shapes(a.type)]
    return p.blocks(series, (u, w, v), directions)


def _parameter_change(
    p: MatrixFunction,
    a: Tracer,
    parameters: Tracers,
    moved: Tangents,
    directions: Sequence[Direction],
) -> Tracers:
    """Return what changes of parameters that differ from value to value do.

    They have mixed derivatives where all values are different.
    """
    u, w, v = p.factors(a)
    if directions:
        for k, t in enumerate(moved, 1):
            if t is not None:
                values = p.evaluate(partial(p.body, k), w, parameters)
                directions = _check_last(p, directions, values, w)
        moved = [None if t is None else simple_spectrum(t, p.same(w)) for t in moved]
    slopes = []
    for order in range(1 + len(directions)):
        body = taylor(p.body, order) if directions else p.body
        _, (slope,) = push(body, [pick(w, p.kept), *parameters], [None, *moved])
        slopes.append(instantiate(slope, body.output_types[0]))
    return _blocks(p, a, slopes, (u, w, v), directions)


def _directions(p: MatrixFunction, a: ArrayType, xs: Tangents) -> list[Direction]:
    """Return the directions that operands are: a block that a literal fills with zero is none."""
    count = len(p.shapes(a))
    blocks = [None if x is None or splat(x) == 0 else x for x in xs]
    return [blocks[k : k + count] for k in range(0, len(blocks), count)]


# ---- rules ---------------------------------------------------------------------------------------


def matrix_function(
    name: str,
    params: type[MatrixFunction],
    impl: Callable[..., Any],
    *,
    outputs: int = 1,
    directed: bool,
) -> Primitive[Any]:
    """Declare the primitive of a function, or of its derivatives, or of both."""
    declared: Primitive[Any] = Primitive(
        name,
        params,
        abstract=with_first(_abstract, outputs),
        impl=impl,
        jvp=with_first(_jvp, outputs),
        transpose=with_first(_transpose, outputs) if directed else None,
        facts=Facts(hands_on=True, spectral=True),
    )
    return declared


def _abstract(outputs: int, p: MatrixFunction, *types: ArrayType) -> Types:
    ys, a, others = types[:outputs], types[outputs], types[outputs + 1 :]
    w, count = p.values(a), len(p.body.inputs) - 1
    y, directions = ys[0], others[count:]
    blocks = tuple(y.with_shape(shape) for shape in p.shapes(a))
    kept = p.among(w)
    fits = p.body.input_types == (kept, *others[:count]) and _is_suited(p.body)
    if not fits or p.body.output_types != (y.with_shape(kept.shape),) or ys != blocks[:outputs]:
        raise TypeError(f"{y} is no function of {a} with values {w}")
    if directions != ys * (len(directions) // len(blocks)):
        raise TypeError(f"directions like {blocks} are needed, got {directions}")
    return ys


def _jvp(outputs: int, p: MatrixFunction, xs: Tracers, ts: Tangents) -> Pushed:
    """Add a direction, replace one, or differentiate f by a parameter."""
    y, a, others = xs[0], xs[outputs], xs[outputs + 1 :]
    t, incoming = ts[outputs], ts[outputs + 1 :]
    count = len(p.body.inputs) - 1
    parameters, directions = others[:count], _directions(p, a.type, others[count:])
    moved, turned = incoming[:count], _directions(p, a.type, incoming[count:])
    parts: list[Tracers] = []
    if t is not None:
        parts.append(
            function_of_matrix(p, a, parameters, [*directions, p.direction(a, t, y.dtype)])
        )
    for k, direction in enumerate(turned):
        if present(direction):
            replaced = [*directions[:k], direction, *directions[k + 1 :]]
            parts.append(function_of_matrix(p, a, parameters, replaced))
    for body, factor in _single(p.body, moved):
        blocks = function_of_matrix(replace(p, body=body), a, parameters, directions)
        factors = [per_matrix(convert(factor, z.dtype), z.shape) for z in blocks]
        parts.append(list(map(mul, factors, blocks)))
    if present(_each(p.body, moved)):
        parts.append(_parameter_change(p, a, parameters, _each(p.body, moved), directions))
    columns = [[part[k] for part in parts] for k in range(outputs)]
    return bind(p.primitive(directed=bool(directions)), p, *xs), [*map(sum_tangents, columns)]


def _transpose(
    outputs: int, p: MatrixFunction, _types: Types, cts: Tangents, xs: Tangents
) -> Tangents:
    """Use that tr(Cᵀ·Dᵐf(A)[T₁, …, Tₘ]) is symmetric in Cᵀ and the directions.

    Blocks change places as matrices are transposed.  The value, which is linear in the direction
    as well, is not asked.
    """
    a, others, count = xs[outputs], xs[outputs + 1 :], len(p.body.inputs) - 1
    assert a is not None
    turned = [None if ct is None else matrix_transpose(ct) for ct in reversed(cts)]
    operands = list(others[count:])
    for k in range(0, len(operands), len(turned)):
        if any(x is None for x in operands[k : k + len(turned)]):
            operands[k : k + len(turned)] = turned
    blocks = function_of_matrix(p, a, present(others[:count]), _directions(p, a.type, operands))
    back = [matrix_transpose(block) for block in reversed(blocks)]
    asked = [back[k % len(back)] if x is None else None for k, x in enumerate(others[count:])]
    return [None] * (outputs + 1 + count) + asked


# ---- parameters ----------------------------------------------------------------------------------


def _is_suited(body: Program) -> bool:
    """Whether all parameters have one value per matrix, or one per value of it."""
    w, *parameters = body.input_types
    return all(t.shape in (w.shape, w.shape[:-1]) for t in parameters)


def _single(body: Program, moved: Tangents) -> list[tuple[Program, Tracer]]:
    """Return derivatives of f by parameters of one value, each with the factor that it has."""
    terms = []
    shape = body.input_types[0].shape
    for k, t in enumerate(moved, 1):
        if t is not None and t.shape != shape:
            terms.append((partial(body, k), real_part(t)))
            if t.dtype.kind == "c":
                terms.append((partial(body, k, 1j), imaginary_part(t)))
    return terms


def _each(body: Program, moved: Tangents) -> list[Maybe]:
    """Return the changes of those parameters alone that have one value per eigenvalue."""
    shape = body.input_types[0].shape
    return [t if t is not None and t.shape == shape else None for t in moved]


# ---- sums ----------------------------------------------------------------------------------------


class MatrixSum(Params, ABC):
    """The function f, elementwise in the values, and the axes over which it is summed."""

    body: Program
    axes: tuple[int, ...]

    def with_batch_axis(self, size: int) -> Self:
        """Return the sum over the same axes behind a further one."""
        body = batch_outputs(self.body, size, (True,) * len(self.body.inputs))
        return replace(self, body=body, axes=shifted(self.axes))

    @abstractmethod
    def function(self, body: Program) -> MatrixFunction:
        """Return a function of the same values."""

    @abstractmethod
    def change(self, a: Tracer, parameters: Tracers, t: Tracer, dtype: Any) -> Tracer:
        """Return how the sum for each matrix changes with it, as a complex number if `a` is."""


def matrix_sum(name: str, params: type[MatrixSum]) -> Primitive[Any]:
    """Declare the primitive of a sum."""

    def abstract(p: Any, y: ArrayType, a: ArrayType, *parameters: ArrayType) -> Types:
        w = p.function(p.body).values(a)
        fits = (
            p.body.input_types == (w, *parameters) and _is_suited(p.body) and w.ndim - 1 in p.axes
        )
        if not fits or p.body.output_types[0].with_shape(without(w.shape, p.axes)) is not y:
            raise TypeError(f"{y} is no sum of a function of values {w}")
        return (y,)

    def forward(p: Any, xs: Tracers, ts: Tangents) -> Pushed:
        y, a, *parameters = xs
        _, t, *moved = ts
        parts: list[Maybe] = []
        if t is not None:
            change = p.change(a, parameters, t, y.dtype)
            change = change if y.dtype.kind == "c" else real_part(change)
            parts.append(reduce_sum(convert(change, y.dtype), p.axes[:-1]))
        for body, factor in _single(p.body, moved):
            w = p.function(body).factors(a)[1]
            last = (w.ndim - 1,)
            total = reduce_sum(inline(body, [w, *parameters])[0], last)
            (value,) = bind(declared, replace(p, body=body, axes=last), total, a, *parameters)
            parts.append(reduce_sum(mul(convert(factor, y.dtype), value), p.axes[:-1]))
        return bind(declared, p, *xs), [sum_tangents(parts)]

    declared: Primitive[Any] = Primitive(
        name,
        params,
        abstract=abstract,
        impl=lambda _p: lambda y, *_: y,
        jvp=forward,
        facts=Facts(hands_on=True, spectral=True),
    )
    return declared


# ---- Functions of a Hermitian matrix, V·f(w)·Vᴴ, and their trace Σ f(w) --------------------------
#
# Their derivatives are (Yu. Daletskii, S. Krein, 1965; N. Higham, "Functions of Matrices", SIAM
# 2008, theorem 3.11)
#
#     d(V·f(w)·Vᴴ) = V·(Φ∘(Vᴴ·dA·V))·Vᴴ,   Φ[i, j] = (f(w[i]) - f(w[j]))/(w[i] - w[j]),
#
# with Φ[i, j] = f'(w[i]) between equal eigenvalues, and d(Σ f(w)) = tr(f'(A)·dA).


class Spectral(MatrixFunction):
    """A function of eigenvalues, and of which triangle those are."""

    lower: bool

    def values(self, a: ArrayType) -> ArrayType:
        """Return the type of the eigenvalues."""
        return square(a).with_shape(a.shape[:-1]).with_dtype(real_dtype(a.dtype))

    def shapes(self, a: ArrayType) -> Sequence[tuple[int, ...]]:
        """Return the shape of the matrix."""
        return (a.shape,)

    def factors(self, a: Tracer) -> Factors:
        """Return V, w and V."""
        w, v = eigh(a, lower=self.lower)
        return v, w, v

    def same(self, w: Tracer) -> Tracer:
        """Return which eigenvalues are equal."""
        return equal_pairs(w)

    def direction(self, a: Tracer, t: Tracer, dtype: Any) -> Direction:
        """Return the change of the Hermitian matrix of a triangle."""
        return (convert(symmetric_tangent(a, t, lower=self.lower), dtype),)

    def blocks(self, series: Tracers, factors: Factors, directions: Sequence[Direction]) -> Tracers:
        """Return the derivative, by sums over paths between the eigenvectors, or the kept ones."""
        v, w, _ = factors
        same, given = self.same(w), [t for (t,) in map(present, directions)]
        if self.kept:
            space = subspace(v, w, same, lambda x: pick(x, self.kept), series, len(given))
            images = [[with_first(matmul, z) for z in zs] for zs in (given, map(adjoint, given))]
            return [matmul(*derivative_factors(space, series[0], *images))]
        paths = Paths(series, w, same, len(given))
        inner = [in_basis(v, t) for t in given]
        total = sum_tangents([paths.sum(order) for order in permutations(inner)])
        assert total is not None
        return [matmul(matmul(v, total), adjoint(v))]

    def primitive(self, *, directed: bool) -> Primitive[Any]:  # noqa: ARG002
        """Return the same primitive in both cases."""
        return spectral_p


spectral_p: Final = matrix_function("spectral", Spectral, lambda _p: lambda y, *_: y, directed=True)


def spectral(p: Spectral, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters, *directions``, known to be V·f(w, …)·Vᴴ.

    w and V are what `eigh` makes of `a`.  With directions, it is known to be the derivative along
    them, linear in each.  Only what comes after `y` has derivatives.
    """
    return bind(spectral_p, p, *xs)[0]


class SpectralSum(MatrixSum):
    """The function, of which triangle the eigenvalues are, and over which axes it is summed."""

    lower: bool

    def function(self, body: Program) -> Spectral:
        """Return a function of the same eigenvalues."""
        return Spectral(body, (), self.lower)

    def change(self, a: Tracer, parameters: Tracers, t: Tracer, dtype: Any) -> Tracer:
        """Return tr(f'(A)·dA)."""
        wide = np.result_type(a.dtype, dtype)
        slope = self.function(_convert_result(partial(self.body, 0), wide))
        (function,) = function_of_matrix(slope, a, parameters, [])
        return trace_of_product(function, convert(symmetric_tangent(a, t, lower=self.lower), wide))


def _convert_result(body: Program, dtype: Any) -> Program:
    """Return the program with a result of another dtype."""
    with Builder("converted", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        return builder.program([convert(inline(body, xs)[0], dtype)])


spectral_sum_p: Final = matrix_sum("spectral_sum", SpectralSum)


def spectral_sum(p: SpectralSum, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be the sum of f(w, …).

    w are the eigenvalues of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(spectral_sum_p, p, *xs)[0]
