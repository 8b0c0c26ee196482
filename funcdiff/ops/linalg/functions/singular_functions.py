"""Functions of singular values, U·f(s)·Vᴴ, and their sums Σ f(s): derivatives by `dilation`.

At zero, ±s are singular values alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive, Tracers
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.core.walk import inline
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.linalg.divided_differences import partial
from funcdiff.ops.linalg.functions.dilation import dilation_blocks
from funcdiff.ops.linalg.functions.matrix_functions import (
    Direction,
    Factors,
    MatrixFunction,
    MatrixSum,
    known,
    matrix_function,
    matrix_sum,
)
from funcdiff.ops.linalg.matrices import adjoint, factorizable, trace_of_product
from funcdiff.ops.linalg.null_space import vanish_on_kernel
from funcdiff.ops.linalg.singular import svd, ties
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import zeros

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

    def watched(self, x: Tracer, values: Tracer, w: Tracer) -> Tracer:
        """Return a block of a direction, which asks that f(0) is zero."""
        return vanish_on_kernel(x, values, ties(w).zero)

    def blocks(self, series: Tracers, factors: Factors, directions: Sequence[Direction]) -> Tracers:
        """Return both blocks of the derivative."""
        return dilation_blocks(series, factors, directions)

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
        return SingularFunction(body, turned=False)

    def change(self, a: Tracer, parameters: Tracers, t: Tracer, dtype: Any) -> Tracer:  # noqa: ARG002
        """Return tr(V·f'(s)·Uᴴ·dA), without what belongs to zero: ±s are singular values alike.

        That factor is a parameter of f', equal for equal values.
        """
        s = svd(a, full=False)[1]
        present = select(ties(s).zero, zeros(s.type), constant(1, s.type))
        slope = SingularFunction(_slope_of_present(self.body, a.dtype), turned=True)
        (function,) = known(slope, a, [*parameters, present], [])
        return trace_of_product(function, t)


def _slope_of_present(body: Program, dtype: Any) -> Program:
    """Return f', and zero where one more parameter is."""
    with Builder("slope", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        present = builder.input(xs[0].type)
        (y,) = inline(partial(body, 0), xs)
        absent = equal(present, zeros(present.type))
        return builder.program([convert(select(absent, zeros(y.type), y), dtype)])


singular_sum_p: Final = matrix_sum("singular_sum", SingularSum)


def singular_sum(p: SingularSum, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be the sum of f(s, …).

    s are the singular values of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(singular_sum_p, p, *xs)[0]
