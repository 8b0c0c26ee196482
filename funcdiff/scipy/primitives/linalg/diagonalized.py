"""Functions of any matrix that has a basis of eigenvectors, V·f(w)·V⁻¹.

Their derivatives are those of `spectral` with V⁻¹ in place of Vᴴ: sums over paths between the
eigenvalues, equal ones too (N. Higham, "Functions of Matrices", SIAM 2008, section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Final

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Primitive, Tracers
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, complex_dtype
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.divided_differences import Paths
from funcdiff.ops.linalg.eigen import eig, multiplicities
from funcdiff.ops.linalg.matrices import adjoint, identity, matmul, per_matrix, square
from funcdiff.ops.linalg.matrix_functions import (
    Direction,
    Factors,
    MatrixFunction,
    matrix_function,
)
from funcdiff.ops.linalg.systems import inv
from funcdiff.ops.structure.structural import convert
from funcdiff.space import sum_tangents
from funcdiff.transforms.jvp import present


class Diagonalized(MatrixFunction):
    """A function of eigenvalues, which are complex."""

    def values(self, a: ArrayType) -> ArrayType:
        """Return the type of the eigenvalues."""
        return square(a).with_shape(a.shape[:-1]).with_dtype(complex_dtype(a.dtype))

    def shapes(self, a: ArrayType) -> Sequence[tuple[int, ...]]:
        """Return the shape of the matrix."""
        return (a.shape,)

    def factors(self, a: Tracer) -> Factors:
        """Return V, w and (V⁻¹)ᴴ."""
        w, v = eig(a)
        return v, w, adjoint(inv(v))

    def same(self, w: Tracer) -> Tracer:
        """Return which eigenvalues are equal."""
        return multiplicities(w, identity(w.type.with_shape((*w.shape, w.shape[-1]))))[0]

    def direction(self, a: Tracer, t: Tracer, dtype: Any) -> Direction:  # noqa: ARG002
        """Return the change of the matrix."""
        return (convert(t, dtype),)

    def blocks(self, series: Tracers, factors: Factors, directions: Sequence[Direction]) -> Tracers:
        """Return the derivative, by sums over paths between the eigenvectors."""
        v, w, u = factors
        same, defective = multiplicities(w, v)
        paths = Paths(series, w, same, len(directions))
        back = adjoint(u)
        missing = per_matrix(defective, v.shape)
        given = [require_zero(t, missing, "functions") for (t,) in map(present, directions)]
        inner = [matmul(matmul(back, t), v) for t in given]
        total = sum_tangents([paths.sum(order) for order in permutations(inner)])
        assert total is not None
        return [matmul(matmul(v, total), back)]

    def primitive(self, *, directed: bool) -> Primitive[Any]:  # noqa: ARG002
        """Return the same primitive in both cases."""
        return diagonalized_p


diagonalized_p: Final = matrix_function(
    "diagonalized", Diagonalized, lambda _p: lambda y, *_: y, directed=True
)


def diagonalized(p: Diagonalized, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters, *directions``, known to be V·f(w, …)·V⁻¹.

    w and V are what `eig` makes of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(diagonalized_p, p, *xs)[0]
