"""Functions of general square matrices: exp, log, roots, and powers.

The derivative along a direction is a block of the function of a larger matrix (N. Higham,
S. Relton, "Higher order Fréchet derivatives of matrix functions and the level-2 condition number",
SIAM J. Matrix Anal. Appl. 35, 2014):

    f([A E]) = [f(A)  L(A, E)]
     ([0 A])   [ 0      f(A) ],

and further ones along the diagonals of blocks of blocks.  One primitive has all of them: its rules
lead from each order to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, Final

import numpy as np

from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType, complex_dtype
from funcdiff.errors import ConcreteValueError
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.divided_differences import Paths
from funcdiff.ops.linalg.general_eigen import eig, multiplicities
from funcdiff.ops.linalg.matrices import (
    adjoint,
    identity,
    matmul,
    matrix_transpose,
    per_matrix,
    square,
)
from funcdiff.ops.linalg.matrix_functions import Direction, Factors, MatrixFunction, matrix_function
from funcdiff.ops.linalg.routines import over_stack, scipy_linalg
from funcdiff.ops.linalg.systems import inv
from funcdiff.ops.structure.structural import convert
from funcdiff.space import sum_tangents
from funcdiff.transforms.jvp import present


class General(Params):
    """The function of that name in ``scipy.linalg``, and numbers that follow the matrix.

    Of a real matrix it is a real one.  If `strict`, it is an error if that is not so.
    """

    name: str
    numbers: tuple[float, ...]
    strict: bool


def _abstract(_p: General, a: ArrayType, *directions: ArrayType) -> Types:
    if any(t is not a for t in directions):
        raise TypeError(f"directions must have the type of the matrix, {a}, got {directions}")
    return square(a), ArrayType(a.shape[:-2], BOOL)


def _along(a: Any, directions: Sequence[Any]) -> Any:
    """Return the matrix of blocks of which the function has the derivative in its last block."""
    for t in directions:
        a = np.block([[a, _repeat(t, len(a))], [np.zeros_like(a), a]])
    return a


def _repeat(t: Any, size: int) -> Any:
    return np.kron(np.eye(size // len(t), dtype=t.dtype), t)


_LARGE: Final = 24
"""Rows from which on SciPy's own derivative of the exponential is quicker."""


def _block(p: General, a: Any, directions: Sequence[Any]) -> Any:
    """Return a matrix that has the function, or its derivative, in the last block at the top."""
    if p.name == "expm" and directions and len(a) >= _LARGE:
        *others, last = directions
        inner = _along(a, others)
        options = {"compute_expm": False, "check_finite": False}
        return scipy_linalg("expm_frechet")(inner, _repeat(last, len(inner)), **options)
    return scipy_linalg(p.name)(_along(a, directions), *p.numbers)


def _impl(p: General) -> Callable[..., Any]:
    def one(a: Any, *directions: Any) -> Any:
        n = len(a)
        found = _block(p, a, directions)[:n, -n or None :]
        is_complex = found.dtype.kind == "c" and a.dtype.kind != "c"
        if is_complex and p.strict:
            raise ConcreteValueError(
                f"{p.name} of a real matrix is complex, where its dtype had to be known before "
                f"(inside vmap, cond, scan or trace): write {p.name}(a.astype(complex))"
            )
        return (found.real if is_complex else found).astype(a.dtype, copy=False), is_complex

    return over_stack(one)


def _jvp(p: General, xs: Tracers, ts: Tangents) -> Pushed:
    a, *directions = xs
    ta, *others = ts
    terms = [] if ta is None else [_value(p, a, *directions, ta)]
    for k, t in enumerate(others):
        if t is not None:
            terms.append(_value(p, a, *directions[:k], t, *directions[k + 1 :]))
    return bind(general_function_p, p, *xs), [sum_tangents(terms), None]


def _transpose(p: General, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    """Use that tr(Cᵀ·Dᵐf(A)[T₁, …, Tₘ]) is symmetric in Cᵀ and the directions."""
    turned = matrix_transpose(cts[0])
    ct = matrix_transpose(_value(p, *(turned if x is None else x for x in xs)))
    return [ct if x is None else None for x in xs]


general_function_p: Final = Primitive(
    "general_function",
    General,
    abstract=_abstract,
    impl=_impl,
    jvp=_jvp,
    transpose=_transpose,
    facts=Facts(raises=True),
)


def _value(p: General, *xs: Tracer) -> Tracer:
    """Return a derivative, which is real if the function is."""
    return bind(general_function_p, replace(p, strict=False), *xs)[0]


def general_function(
    name: str, a: Tracer, *directions: Tracer, numbers: tuple[float, ...] = (), strict: bool = False
) -> tuple[Tracer, ...]:
    """Return a function of matrices, or its derivative along as many directions as given.

    The second result says of each real matrix whether the function is a complex one, of which
    the first result is only the real part.
    """
    return bind(general_function_p, General(name, numbers, strict), a, *directions)


# ---- Functions of any matrix that has a basis of eigenvectors, V·f(w)·V⁻¹ ------------------------
#
# Their derivatives are those of `spectral` with V⁻¹ in place of Vᴴ: sums over paths between the
# eigenvalues, equal ones too (N. Higham, "Functions of Matrices", SIAM 2008, section 3.2).


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
