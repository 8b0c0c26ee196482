"""Functions of singular values, U·f(s)·Vᴴ: their derivatives exist at equal values too.

As for `spectral`, the derivatives of values and vectors alone do not carry them.
`singular_function` and `singular_sum` keep the value that was computed from them, and give it the
derivative of the whole, which `dilation` has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Primitive, Types
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline
from funcdiff.ops.elementwise.complex import real_part
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.linalg.divided_differences import partial
from funcdiff.ops.linalg.functions.dilation import (
    SingularFunction,
    along,
    batched_body,
    check_types,
    derivative,
    everywhere,
    factors,
    values_type,
)
from funcdiff.ops.linalg.functions.spectral import each, single, suited
from funcdiff.ops.linalg.matrices import adjoint, matmul, scaled_columns, trace_of_product
from funcdiff.ops.linalg.singular import svd, ties
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import Maybe, align, mul, reduce_sum, sum_tangents, without, zeros
from funcdiff.transforms.jvp import push

# ---- the function --------------------------------------------------------------------------------


def _abstract(p: SingularFunction, y: ArrayType, a: ArrayType, *parameters: ArrayType) -> Types:
    check_types(p, y, a, *parameters)
    return (y,)


def _jvp(
    p: SingularFunction, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[list[Tracer], list[Maybe]]:
    """Take the derivative along the direction, and differentiate f by parameters."""
    y, a, *parameters = xs
    _, t, *moved = ts
    parts: list[Maybe] = []
    if t is not None:
        parts.append(derivative(p, a, parameters, [along(p, t, y.dtype)])[0])
    for body, factor in single(p.body, moved):
        value = _function(replace(p, body=body), a, parameters)
        parts.append(mul(everywhere(factor, value.type), value))
    if any(s is not None for s in each(p.body, moved)):
        u, s, v = factors(p, a)
        _, (slopes,) = push(p.body, [s, *parameters], [None, *each(p.body, moved)])
        if slopes is not None:
            parts.append(_product(u, slopes, v))
    return [singular_function(p, xs)], [sum_tangents(parts)]


def _product(u: Tracer, values: Tracer, v: Tracer) -> Tracer:
    u, v = convert(u, values.dtype), convert(v, values.dtype)
    return matmul(scaled_columns(u, values), adjoint(v))


def _function(p: SingularFunction, a: Tracer, parameters: Sequence[Tracer]) -> Tracer:
    """Return the function of the matrix, known to be that."""
    u, s, v = factors(p, a)
    (values,) = inline(p.body, [s, *parameters])
    return singular_function(p, [_product(u, values, v), a, *parameters])


singular_function_p: Final = Primitive(
    "singular_function",
    SingularFunction,
    abstract=_abstract,
    impl=lambda _p: lambda y, *_: y,
    jvp=_jvp,
    batch=lambda p, size, xs, batched: [
        singular_function(replace(p, body=batched_body(p.body, size)), align(size, xs, batched))
    ],
    facts=Facts(hands_on=True),
)


def singular_function(p: SingularFunction, xs: Sequence[Tracer]) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be U·f(s, …)·Vᴴ.

    U, s and V are what `svd` makes of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(singular_function_p, p, *xs)[0]


# ---- the sum -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SingularSum(Params):
    """The function, real, and the axes over which it is summed."""

    body: Program
    axes: tuple[int, ...]


def _abstract_sum(p: SingularSum, y: ArrayType, a: ArrayType, *parameters: ArrayType) -> Types:
    s = values_type(a)
    fits = p.body.input_types == (s, *parameters) and suited(p.body) and s.ndim - 1 in p.axes
    if not fits or p.body.output_types[0].with_shape(without(s.shape, p.axes)) is not y:
        raise TypeError(f"{y} is no sum of a function of singular values {s}")
    return (y,)


def _sum_jvp(
    p: SingularSum, xs: Sequence[Tracer], ts: Sequence[Maybe]
) -> tuple[list[Tracer], list[Maybe]]:
    """d(Σ f(s)) = Re tr(V·f'(s)·Uᴴ·dA), without what belongs to zero: ±s are singular values alike.

    That factor is a parameter of f', equal for equal values.
    """
    y, a, *parameters = xs
    _, t, *moved = ts
    _, s, _ = svd(a, full=False)
    parts: list[Maybe] = []
    if t is not None:
        present = select(ties(s).zero, zeros(s.type), constant(1, s.type))
        slope = SingularFunction(_slope_of_present(p.body, a.dtype), turned=True)
        product = trace_of_product(_function(slope, a, [*parameters, present]), t)
        parts.append(reduce_sum(convert(real_part(product), y.dtype), p.axes[:-1]))
    for body, factor in single(p.body, moved):
        total = reduce_sum(inline(body, [s, *parameters])[0], (s.ndim - 1,))
        value = singular_sum(SingularSum(body, (s.ndim - 1,)), [total, a, *parameters])
        parts.append(reduce_sum(mul(convert(factor, y.dtype), value), p.axes[:-1]))
    return [singular_sum(p, xs)], [sum_tangents(parts)]


def _slope_of_present(body: Program, dtype: Any) -> Program:
    """Return f', and zero where one more parameter is."""
    with Builder("slope", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        present = builder.input(xs[0].type)
        (y,) = inline(partial(body, 0), xs)
        absent = equal(present, zeros(present.type))
        return builder.program([convert(select(absent, zeros(y.type), y), dtype)])


def _sum_batch(
    p: SingularSum, size: int, xs: Sequence[Tracer], batched: Sequence[bool]
) -> Sequence[Tracer]:
    axes = tuple(axis + 1 for axis in p.axes)
    inner = SingularSum(batched_body(p.body, size), axes)
    return [singular_sum(inner, align(size, xs, batched))]


singular_sum_p: Final = Primitive(
    "singular_sum",
    SingularSum,
    abstract=_abstract_sum,
    impl=lambda _p: lambda y, *_: y,
    jvp=_sum_jvp,
    batch=_sum_batch,
    facts=Facts(hands_on=True),
)


def singular_sum(p: SingularSum, xs: Sequence[Tracer]) -> Tracer:
    """Return `y`, the first of ``y, a, *parameters``, known to be the sum of f(s, …).

    s are the singular values of `a`.  Only what comes after `y` has derivatives.
    """
    return bind(singular_sum_p, p, *xs)[0]
