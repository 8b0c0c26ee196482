"""Functions of a Hermitian matrix, V·f(w)·Vᴴ: their derivative exists at equal eigenvalues too.

The derivatives of the eigenvalues and eigenvectors alone do not carry it: between equal
eigenvalues they are a choice.  `spectral` keeps the value that was computed from them, and gives
it the derivative of the whole (Yu. Daletskii, S. Krein, 1965; N. Higham, "Functions of Matrices",
SIAM 2008, theorem 3.11),

    d(V·f(w)·Vᴴ) = V·(Φ∘(Vᴴ·dA·V))·Vᴴ,   Φ[i, j] = (f(w[i]) - f(w[j]))/(w[i] - w[j]),

with Φ[i, j] = f'(w[i]) between equal eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder, Tracer, bind, constant
from funcdiff.core.primitive import Params, Primitive, Types
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.core.walk import inline
from funcdiff.ops.degeneracy import shared, tied
from funcdiff.ops.elementwise import div, sub
from funcdiff.ops.factorizations import eigh
from funcdiff.ops.matrices import adjoint, hermitian, matmul, on_diagonal, square, transposed
from funcdiff.ops.structural import convert, permute, select
from funcdiff.space import Maybe, add, align, broadcast, instantiate, mul, sum_tangents, zeros
from funcdiff.transforms.jvp import jvp, push
from funcdiff.transforms.vmap import vmap

_NODES: Final = tuple(
    (float(node), float(weight) / 2)
    for node, weight in zip(*np.polynomial.legendre.leggauss(4), strict=True)
)
"""Gauss-Legendre nodes on [-1, 1], and weights of sum 1."""


@dataclass(frozen=True, slots=True)
class Spectral(Params):
    """The function f, elementwise in the eigenvalues and in parameters, and how it is meant.

    Of which triangle the eigenvalues are; whether the result is the transpose of the product; and
    which parameters may differ from eigenvalue to eigenvalue, but not between equal ones.
    """

    body: Program
    lower: bool
    flipped: bool
    several: tuple[int, ...] = ()


def _abstract_spectral(p: Spectral, y: ArrayType, a: ArrayType, *parameters: ArrayType) -> Types:
    w = square(a).with_shape(a.shape[:-1]).with_dtype(real_dtype(a.dtype))
    fits = y.shape == a.shape and p.body.input_types == (w, *parameters)
    if not fits or p.body.output_types != (y.with_shape(w.shape),):
        raise TypeError(f"{y} is no function of {a} with eigenvalues {w}")
    return (y,)


def _spectral_jvp(
    p: Spectral, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[list[Tracer], list[Maybe]]:
    """Add d(V·f·Vᴴ) for a change of the matrix and for one of the parameters of f."""
    y, a, *parameters = xs
    _, t, *incoming = ts
    w, v = eigh(a, lower=p.lower)
    for k in p.several:
        parameters[k] = shared(parameters[k], tied(w), strict=True)
    parts: list[Maybe] = [None, None]
    if t is not None:
        inner = matmul(matmul(adjoint(v), hermitian(t)), v)
        table = divided_differences(p.body, w, parameters)
        parts[0] = mul(convert(inner, y.dtype), table)
    if any(ct is not None for ct in incoming):
        _, (moved,) = push(p.body, [w, *parameters], [None, *incoming])
        *stack, column = range(w.ndim)
        if moved is not None:
            wide = broadcast(moved, y.shape, (*stack, column))
            parts[1] = select(on_diagonal(y.type), wide, zeros(y.type))
    value = spectral(p, xs)
    inside = sum_tangents(parts)
    if inside is None:
        return [value], [None]
    basis = convert(v, y.dtype)
    outside = matmul(matmul(basis, inside), adjoint(basis))
    return [value], [transposed(outside) if p.flipped else outside]


def divided_differences(body: Program, w: Tracer, parameters: Sequence[Tracer]) -> Tracer:
    """Return the table Φ of a function at the eigenvalues.

    Between equal ones it is ∫₀¹ f'(s·x + (1-s)·y) ds by Gauss quadrature: not for its value, to
    which one node would do, but for its derivatives, of which those up to the seventh are exact.
    """
    n, last = w.shape[-1], w.ndim - 1
    shape = (n, *w.shape)  # the other one of each pair is in front
    near = broadcast(w, shape, tuple(range(1, w.ndim + 1)))
    far = broadcast(permute(w, (last, *range(last))), shape, tuple(range(w.ndim)))
    same = permute(tied(w), (w.ndim, *range(w.ndim)))
    batched = (True,) + (False,) * len(parameters)
    half = constant(0.5, near.type)
    middle, reach = mul(add(near, far), half), mul(sub(near, far), half)
    slope, _ = vmap(_derivative(body), n, batched, (True,))
    terms = []
    for node, weight in _NODES:
        x = add(middle, mul(reach, constant(node, near.type)))
        (y,) = inline(slope, [select(same, x, near), *parameters])
        terms.append(mul(y, constant(weight, y.type)))
    confluent = instantiate(sum_tangents(terms), terms[0].type)
    (values,) = inline(body, [w, *parameters])
    here = broadcast(values, shape, tuple(range(1, w.ndim + 1)))
    there = broadcast(permute(values, (last, *range(last))), shape, tuple(range(w.ndim)))
    gap = select(same, constant(1, near.type), sub(near, far))
    table = select(same, confluent, div(sub(here, there), convert(gap, values.dtype)))
    return permute(table, (*range(1, w.ndim), 0, w.ndim))


def _derivative(body: Program) -> Program:
    """Return f' as a program of the same inputs."""
    pushed, mask = jvp(body, (True,) + (False,) * (len(body.inputs) - 1))
    with Builder("derivative", closed=True, shares=True) as builder:
        xs = [builder.input(t) for t in body.input_types]
        if not mask[0]:
            return builder.program([zeros(t) for t in body.output_types])
        return builder.program(inline(pushed, [*xs, constant(1, xs[0].type)])[1:])


def _spectral_batch(
    p: Spectral, size: int, xs: Sequence[Tracer], batched: Sequence[bool]
) -> Sequence[Tracer]:
    body, _ = vmap(p.body, size, (True,) * len(p.body.inputs), (True,))
    return [spectral(replace(p, body=body), align(size, xs, batched))]


def _impl(_p: Spectral) -> Callable[..., Any]:
    return lambda y, *_: y


spectral_p: Final = Primitive(
    "spectral",
    Spectral,
    abstract=_abstract_spectral,
    impl=_impl,
    jvp=_spectral_jvp,
    batch=_spectral_batch,
)


def spectral(p: Spectral, xs: Sequence[Tracer]) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be V·f(w, …)·Vᴴ.

    w and V are what `eigh` makes of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(spectral_p, p, *xs)[0]
