"""Functions of a Hermitian matrix, V·f(w)·Vᴴ: their derivatives exist at equal eigenvalues too.

The derivatives of the eigenvalues and eigenvectors alone do not carry them: between equal
eigenvalues they are a choice.  `spectral` keeps the value that was computed from them, and gives
it the derivative of the whole (Yu. Daletskii, S. Krein, 1965; N. Higham, "Functions of Matrices",
SIAM 2008, theorem 3.11),

    d(V·f(w)·Vᴴ) = V·(Φ∘(Vᴴ·dA·V))·Vᴴ,   Φ[i, j] = (f(w[i]) - f(w[j]))/(w[i] - w[j]),

with Φ[i, j] = f'(w[i]) between equal eigenvalues.  That is one more `spectral`, of a direction:
its rules lead from each order to the next, and none differentiates an eigenvector.
`spectral_sum` does so for the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder, bind
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Primitive, Types
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.core.walk import inline
from funcdiff.ops.elementwise.complex import imaginary_part, real_part
from funcdiff.ops.linalg.degeneracy import distinct, shared, tied
from funcdiff.ops.linalg.divided_differences import Paths, partial, taylor
from funcdiff.ops.linalg.factorizations import eigh
from funcdiff.ops.linalg.matrices import (
    adjoint,
    hermitian,
    matmul,
    scaled_columns,
    square,
    trace_of_product,
    transposed,
)
from funcdiff.ops.structure.structural import convert
from funcdiff.space import (
    Maybe,
    align,
    broadcast,
    instantiate,
    mul,
    reduce_sum,
    sum_tangents,
    without,
)
from funcdiff.transforms.jvp import push
from funcdiff.transforms.vmap import vmap

# ---- the function --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spectral(Params):
    """The function f, elementwise in the eigenvalues, and of which triangle those are.

    Its further inputs are parameters.  Those that have one value per matrix may be differentiated
    to any order.  One of the shape of the eigenvalues must not differ between equal ones.
    """

    body: Program
    lower: bool


def _abstract_spectral(p: Spectral, y: ArrayType, a: ArrayType, *others: ArrayType) -> Types:
    w = square(a).with_shape(a.shape[:-1]).with_dtype(real_dtype(a.dtype))
    count = len(p.body.inputs) - 1
    fits = y.shape == a.shape and p.body.input_types == (w, *others[:count])
    fits = fits and suited(p.body) and all(t is y for t in others[count:])
    if not fits or p.body.output_types != (y.with_shape(w.shape),):
        raise TypeError(f"{y} is no function of {a} with eigenvalues {w}")
    return (y,)


def _spectral_jvp(
    p: Spectral, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[list[Tracer], list[Maybe]]:
    """Add a direction, replace one, or differentiate f by a parameter."""
    y, a, *others = xs
    _, t, *incoming = ts
    count = len(p.body.inputs) - 1
    parameters, directions = others[:count], others[count:]
    moved, turned = incoming[:count], incoming[count:]
    parts: list[Maybe] = []
    if t is not None:
        further = convert(hermitian(t), y.dtype)
        parts.append(_derivative(p, a, parameters, [*directions, further]))
    for k, direction in enumerate(turned):
        if direction is not None:
            replaced = [*directions[:k], direction, *directions[k + 1 :]]
            parts.append(_derivative(p, a, parameters, replaced))
    for body, factor in single(p.body, moved):
        value = _derivative(replace(p, body=body), a, parameters, directions)
        stack = tuple(range(y.ndim - 2))
        parts.append(mul(broadcast(convert(factor, y.dtype), y.shape, stack), value))
    if any(s is not None for s in each(p.body, moved)):
        parts.append(_moved(p, a, parameters, each(p.body, moved), directions))
    return [spectral(p, xs)], [sum_tangents(parts)]


def _derivative(
    p: Spectral, a: Tracer, parameters: Sequence[Tracer], directions: Sequence[Tracer]
) -> Tracer:
    """Return the derivative along the directions, known to be that."""
    w, v = eigh(a, lower=p.lower)
    known = list(parameters)
    if directions:
        for k, x in enumerate(parameters):
            if x.shape == w.shape:
                known[k] = shared(x, tied(w), strict=True)
    orders = range(1 + len(directions))
    series = [inline(taylor(p.body, order), [w, *known])[0] for order in orders]
    return spectral(p, [_along(series, w, v, directions), a, *parameters, *directions])


def _along(series: Sequence[Tracer], w: Tracer, v: Tracer, directions: Sequence[Tracer]) -> Tracer:
    """Return the derivative along the directions, from f, f', f''/2, … at the eigenvalues."""
    v = convert(v, series[0].dtype)
    if not directions:
        return matmul(scaled_columns(v, series[0]), adjoint(v))
    paths = Paths(series, w, tied(w))
    inner = [matmul(matmul(adjoint(v), t), v) for t in directions]
    total = sum_tangents([paths.sum(order) for order in permutations(inner)])
    assert total is not None
    return matmul(matmul(v, total), adjoint(v))


def _moved(
    p: Spectral,
    a: Tracer,
    parameters: Sequence[Tracer],
    moved: Sequence[Maybe],
    directions: Sequence[Tracer],
) -> Tracer:
    """Return what changes of parameters that differ from eigenvalue to eigenvalue do.

    They have mixed derivatives where all eigenvalues are different.
    """
    w, v = eigh(a, lower=p.lower)
    if directions:
        moved = [None if t is None else distinct(t, tied(w)) for t in moved]
    slopes = []
    for order in range(1 + len(directions)):
        _, (slope,) = push(taylor(p.body, order), [w, *parameters], [None, *moved])
        slopes.append(instantiate(slope, p.body.output_types[0]))
    return _along(slopes, w, v, directions)


def _spectral_transpose(
    p: Spectral, _types: Types, cts: Sequence[Any], xs: Sequence[Maybe]
) -> Sequence[Maybe]:
    """Use that tr(Cᵀ·Dᵐf(A)[T₁,…,Tₘ]) is symmetric in Cᵀ and the directions.

    The value, which is linear in the direction as well, is not asked.
    """
    _, a, *others = xs
    assert a is not None
    operands = [transposed(cts[0]) if x is None else x for x in others]
    count = len(p.body.inputs) - 1
    ct = transposed(_derivative(p, a, operands[:count], operands[count:]))
    return [None, None, *(ct if x is None else None for x in others)]


def _batched(p: Spectral, size: int) -> Program:
    body, _ = vmap(p.body, size, (True,) * len(p.body.inputs), (True,))
    return body


spectral_p: Final = Primitive(
    "spectral",
    Spectral,
    abstract=_abstract_spectral,
    impl=lambda _p: lambda y, *_: y,
    jvp=_spectral_jvp,
    transpose=_spectral_transpose,
    batch=lambda p, size, xs, batched: [
        spectral(replace(p, body=_batched(p, size)), align(size, xs, batched))
    ],
    facts=Facts(hands_on=True),
)


def spectral(p: Spectral, xs: Sequence[Tracer]) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters, *directions``, known to be V·f(w, …)·Vᴴ.

    w and V are what `eigh` makes of `a`.  With directions, it is known to be the derivative along
    them, linear in each.  Only what comes after `y` has derivatives.
    """
    return bind(spectral_p, p, *xs)[0]


# ---- parameters ----------------------------------------------------------------------------------


def suited(body: Program) -> bool:
    """Whether all parameters have one value per matrix, or one per eigenvalue."""
    w, *parameters = body.input_types
    return all(t.shape in (w.shape, w.shape[:-1]) for t in parameters)


def single(body: Program, moved: Sequence[Maybe]) -> list[tuple[Program, Tracer]]:
    """Return derivatives of f by parameters of one value, each with the factor that it has."""
    terms = []
    shape = body.input_types[0].shape
    for k, t in enumerate(moved, 1):
        if t is not None and t.shape != shape:
            terms.append((partial(body, k), real_part(t)))
            if t.dtype.kind == "c":
                terms.append((partial(body, k, 1j), imaginary_part(t)))
    return terms


def each(body: Program, moved: Sequence[Maybe]) -> list[Maybe]:
    """Return the changes of those parameters alone that have one value per eigenvalue."""
    shape = body.input_types[0].shape
    return [t if t is not None and t.shape == shape else None for t in moved]


# ---- the trace -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpectralSum(Params):
    """The function, of which triangle the eigenvalues are, and over which axes it is summed."""

    body: Program
    lower: bool
    axes: tuple[int, ...]


def _abstract_sum(p: SpectralSum, y: ArrayType, a: ArrayType, *parameters: ArrayType) -> Types:
    w = square(a).with_shape(a.shape[:-1]).with_dtype(real_dtype(a.dtype))
    fits = p.body.input_types == (w, *parameters) and suited(p.body) and w.ndim - 1 in p.axes
    if not fits or p.body.output_types[0].with_shape(without(w.shape, p.axes)) is not y:
        raise TypeError(f"{y} is no sum of a function of eigenvalues {w}")
    return (y,)


def _sum_jvp(
    p: SpectralSum, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[list[Tracer], list[Maybe]]:
    """d(tr f(A)) = tr(f'(A)·dA)."""
    y, a, *parameters = xs
    _, t, *moved = ts
    parts: list[Maybe] = []
    if t is not None:
        dtype = np.result_type(a.dtype, y.dtype)
        slope = Spectral(_converted(partial(p.body, 0), dtype), p.lower)
        product = trace_of_product(
            _derivative(slope, a, parameters, []), convert(hermitian(t), dtype)
        )
        product = product if y.dtype.kind == "c" else real_part(product)
        parts.append(reduce_sum(product, p.axes[:-1]))
    for body, factor in single(p.body, moved):
        w = eigh(a, lower=p.lower)[0]
        total = reduce_sum(inline(body, [w, *parameters])[0], (w.ndim - 1,))
        inner = SpectralSum(body, p.lower, (w.ndim - 1,))
        value = spectral_sum(inner, [total, a, *parameters])
        parts.append(reduce_sum(mul(convert(factor, y.dtype), value), p.axes[:-1]))
    return [spectral_sum(p, xs)], [sum_tangents(parts)]


def _converted(body: Program, dtype: Any) -> Program:
    """Return the program with a result of another dtype."""
    with Builder("converted", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        return builder.program([convert(inline(body, xs)[0], dtype)])


def _sum_batch(
    p: SpectralSum, size: int, xs: Sequence[Tracer], batched: Sequence[bool]
) -> Sequence[Tracer]:
    axes = tuple(axis + 1 for axis in p.axes)
    batched_body = _batched(Spectral(p.body, p.lower), size)
    return [spectral_sum(replace(p, body=batched_body, axes=axes), align(size, xs, batched))]


spectral_sum_p: Final = Primitive(
    "spectral_sum",
    SpectralSum,
    abstract=_abstract_sum,
    impl=lambda _p: lambda y, *_: y,
    jvp=_sum_jvp,
    batch=_sum_batch,
    facts=Facts(hands_on=True),
)


def spectral_sum(p: SpectralSum, xs: Sequence[Tracer]) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be the sum of f(w, …).

    w are the eigenvalues of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(spectral_sum_p, p, *xs)[0]
