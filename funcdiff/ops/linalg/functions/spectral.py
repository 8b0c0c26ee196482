"""Functions of a Hermitian matrix, V·f(w)·Vᴴ, and their trace Σ f(w).

Their derivatives are (Yu. Daletskii, S. Krein, 1965; N. Higham, "Functions of Matrices", SIAM 2008,
theorem 3.11)

    d(V·f(w)·Vᴴ) = V·(Φ∘(Vᴴ·dA·V))·Vᴴ,   Φ[i, j] = (f(w[i]) - f(w[j]))/(w[i] - w[j]),

with Φ[i, j] = f'(w[i]) between equal eigenvalues, and d(Σ f(w)) = tr(f'(A)·dA).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder, bind
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive, Tracers
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.core.walk import inline
from funcdiff.ops.linalg.degeneracy import equal_pairs
from funcdiff.ops.linalg.divided_differences import Paths, partial
from funcdiff.ops.linalg.factorizations import eigh
from funcdiff.ops.linalg.functions.matrix_functions import (
    Direction,
    Factors,
    MatrixFunction,
    MatrixSum,
    known,
    matrix_function,
    matrix_sum,
)
from funcdiff.ops.linalg.matrices import (
    adjoint,
    in_basis,
    matmul,
    square,
    trace_of_product,
)
from funcdiff.ops.linalg.one_triangle import symmetric_tangent
from funcdiff.ops.structure.structural import convert
from funcdiff.space import sum_tangents
from funcdiff.transforms.jvp import present


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
        """Return the derivative, by sums over paths between the eigenvectors."""
        v, w, _ = factors
        paths = Paths(series, w, equal_pairs(w), len(directions))
        inner = [in_basis(v, t) for (t,) in map(present, directions)]
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
        return Spectral(body, self.lower)

    def change(self, a: Tracer, parameters: Tracers, t: Tracer, dtype: Any) -> Tracer:
        """Return tr(f'(A)·dA)."""
        wide = np.result_type(a.dtype, dtype)
        slope = self.function(_convert_result(partial(self.body, 0), wide))
        (function,) = known(slope, a, parameters, [])
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
