"""Radial functions, g(r) with r = √s, as functions of the square: smooth where g is flat at 0.

A norm has a kink at 0, and a root a vertical tangent, but g(r) = h(r²) has neither if g′(0) = 0:
r², cos(r) and (1 + r)·e⁻ʳ are as smooth in s as they are flat in r.  By the chain rule alone the
derivatives of g(√s) at 0 are zeros that meet infinities.  With D = 1/(2r)·d/dr they are

    h⁽ᵏ⁾(s) = Dᵏg(r),   and   h⁽ᵏ⁾(0) = k!/(2k)!·g⁽²ᵏ⁾(0)   if g′(0) = … = g⁽²ᵏ⁻¹⁾(0) = 0

(H. Whitney, "Differentiable even functions", Duke Math. J. 10, 1943).  Where the odd derivatives
do not vanish, there is no derivative by s: at a kink its share is 0, at a vertical tangent it is
infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import factorial
from typing import Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, walk
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.elementwise.complex import modulus
from funcdiff.ops.elementwise.logic import equal, isfinite, less, less_equal, logical_and
from funcdiff.ops.elementwise.mathematics import absolute, add, div, mul, power, sqrt, square
from funcdiff.ops.families import stand_in
from funcdiff.ops.linalg.divided_differences import partial
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import Maybe, align, broadcast, same_types, splat, sum_tangents


class Radial(Params):
    """A function of a radius."""

    body: Program  # ``(r, s, *parameters) -> g``, of numbers: elementwise operations only
    order: int  # how many times g is differentiated by the square of the radius
    kink: bool  # whether the radius is a norm, rather than a root


def _abstract(p: Radial, y: ArrayType, r: ArrayType, s: ArrayType, *parameters: ArrayType) -> Types:
    fits = all(x.shape in ((), y.shape) for x in parameters)
    numbers = tuple(x.with_shape(()) for x in (r, s, *parameters))
    fits = fits and p.body.input_types == numbers and p.body.output_types == (y.with_shape(()),)
    if not fits or r is not s or r.shape != y.shape or r.dtype.kind != "f":
        raise TypeError(f"{y} is no function of a radius {r} and of {parameters}")
    return (y,)


def _jvp(p: Radial, xs: Tracers, ts: Tangents) -> Pushed:
    """Differentiate by the square, and by the parameters."""
    y, r, s, *parameters = xs
    _, _, t, *moved = ts
    parts: list[Maybe] = []
    if t is not None:
        slope = _function(replace(p, order=p.order + 1), r, s, parameters)
        parts.append(_product(convert(t, y.dtype), slope))
    for k, moving in enumerate(moved):
        if moving is not None:
            slope = _function(replace(p, body=partial(p.body, k + 2)), r, s, parameters)
            parts.append(_product(_everywhere(convert(moving, y.dtype), y.shape), slope))
    return [radial(p, xs)], [sum_tangents(parts)]


def _product(t: Tracer, slope: Tracer) -> Maybe:
    number = splat(slope)
    if number == 0:
        return None
    return t if number == 1 else mul(t, slope)


def _everywhere(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """Return a number at every place of a shape, an array of the shape as it is."""
    return x if x.shape == shape else broadcast(x, shape, ())


def _batch(p: Radial, size: int, xs: Tracers, batched: Sequence[bool]) -> list[Tracer]:
    """Give every operand the axis but those parameters that are one number for all examples."""
    shape = (size, *(xs[0].shape[1:] if batched[0] else xs[0].shape))
    operands = align(size, xs[:3], batched[:3])
    for x, flag in zip(xs[3:], batched[3:], strict=True):
        if not flag and not x.shape:
            operands.append(x)
        elif x.shape == (size,) and flag:
            operands.append(broadcast(x, shape, (0,)))
        else:
            operands += align(size, [x], [flag])
    return [radial(p, operands)]


radial_p: Final = Primitive(
    "radial",
    Radial,
    _abstract,
    impl=lambda _p: lambda y, *_: y,
    jvp=_jvp,
    batch=_batch,
    facts=Facts(hands_on=True),
)


def radial(p: Radial, xs: Tracers) -> Tracer:
    """Return `y`, the first of ``y, r, s, *parameters``, known to be h⁽ᵏ⁾(s), k the order.

    Only `s` and the parameters have derivatives.
    """
    return bind(radial_p, p, *xs)[0]


# ---- sums of functions ---------------------------------------------------------------------------


known_p: Final = stand_in(
    "known",
    Params,
    abstract=same_types,
    impl=lambda _p: lambda y, _: y,
    derivative_of=1,
    facts=Facts(hands_on=True),
)


def known(y: Tracer, z: Tracer) -> Tracer:
    """Return `y`, known to be `z` but for rounding, with the derivatives of `z`."""
    return bind(known_p, NONE, y, z)[0]


# ---- values --------------------------------------------------------------------------------------


def _function(p: Radial, r: Tracer, s: Tracer, parameters: Tracers) -> Tracer:
    """Return h⁽ᵏ⁾ as a value, known to be that."""
    known = [_everywhere(x, r.shape) for x in parameters]
    y = spread(_derivative(_of_radius(p.body), p.order), [r, *known], r.shape)
    if splat(y) is not None:
        return y
    if p.order:
        shape = r.shape if any(x.shape for x in parameters) else ()
        limit = spread(_limit(p.body, p.order, kink=p.kink), parameters, shape)
        y = select(_at_zero(r, p.order), _everywhere(limit, r.shape), y)
    return radial(p, [y, r, s, *parameters])


def _at_zero(r: Tracer, order: int) -> Tracer:
    """Return where the quotients are 0/0, or would overflow on the way to a finite one."""
    if order == 1:
        return equal(r, constant(0, r.type))
    tiny = float(np.finfo(r.dtype).tiny) ** (1 / (2 * order))
    return less(r, constant(tiny, r.type))


@memoised
def _of_radius(body: Program) -> Program:
    """Return g(r, r²) as a function of r and the parameters."""
    with Builder("radial", SHARED) as builder:
        r, *parameters = [builder.input(t) for t in (*body.input_types[:1], *body.input_types[2:])]
        return builder.program(inline(body, [r, square(r), *parameters]))


@memoised
def _derivative(body: Program, order: int) -> Program:
    """Return Dᵏg of a function of r and the parameters."""
    for _ in range(order):
        body = _quotient(body)
    return body


def _quotient(body: Program) -> Program:
    """Return Dg, of a power of the radius without a quotient."""
    n = _exponent(body)
    slope = partial(body, 0)
    with Builder("radial", SHARED) as builder:
        xs = [builder.input(t) for t in body.input_types]
        r, out = xs[0], body.output_types[0]
        if n is not None:
            return builder.program([mul(_power(r, n - 2), constant(n / 2, out))])
        (y,) = inline(slope, xs)
        return builder.program([y if splat(y) == 0 else div(y, convert(add(r, r), out.dtype))])


def _power(r: Tracer, n: int) -> Tracer:
    if n < 2:
        return r if n else constant(1, r.type)
    return square(r) if n == 2 else power(r, constant(n, r.type))


def _exponent(body: Program) -> int | None:
    """Return n of rⁿ, if the function is that power, n = 2, 3, …."""
    (first, *rest) = body.equations or (None,)
    if first is None or rest or body.outputs != first.results:
        return None
    if first.operands[0] != body.inputs[0]:
        return None
    if first.primitive is square.primitive:
        return 2
    exponent = first.operands[1] if first.primitive is power.primitive else None
    number = exponent.value if isinstance(exponent, Literal) else 0
    return int(number) if number >= 2 and number == int(number) else None


@memoised
def _limit(body: Program, order: int, *, kink: bool) -> Program:
    """Return h⁽ᵏ⁾(0) as a function of the parameters.

    Without a limit, it is the derivative of g(r, s) by s, which has no kink, beside that by r.
    """
    slopes, smooth = [_of_radius(body)], body
    for _ in range(2 * order):
        slopes.append(partial(slopes[-1], 0))
    for _ in range(order):
        smooth = partial(smooth, 1)
    with Builder("radial", SHARED) as builder:
        parameters = [builder.input(t) for t in body.input_types[2:]]
        zero = constant(0, body.input_types[0])
        values = [spread(f, [zero, *parameters], ()) for f in slopes]
        out = values[0].type
        limit = mul(values[-1], constant(factorial(order) / factorial(2 * order), out))
        known = isfinite(limit)
        for k in range(1, 2 * order, 2):
            known = logical_and(known, _vanishes(*values[k - 1 : k + 2]))
        steep = constant(0.0 if kink else np.inf if order == 1 else np.nan, out)
        beside = spread(smooth, [zero, zero, *parameters], ())
        share = mul(values[1], steep) if splat(beside) == 0 else add(mul(values[1], steep), beside)
        return builder.program([select(known, limit, share)])


def _vanishes(before: Tracer, slope: Tracer, after: Tracer) -> Tracer:
    """Return whether a derivative is 0 but for rounding, beside those of neighbouring orders.

    Their geometric mean has its unit.
    """
    real = before.type.with_dtype(real_dtype(before.dtype))
    few = constant(64 * float(np.finfo(real.dtype).eps), real)
    scale = sqrt(mul(_size(before), _size(after)))
    return less_equal(_size(slope), mul(few, scale))


def _size(x: Tracer) -> Tracer:
    number = splat(x)
    if number is not None:
        return constant(np.absolute(number), x.type.with_dtype(real_dtype(x.dtype)))
    return modulus(x) if x.dtype.kind == "c" else absolute(x)


def spread(body: Program, xs: Tracers, shape: tuple[int, ...]) -> Tracer:
    """Return a function of numbers, of elementwise operations, for arrays of one shape."""

    def rule(eq: Equation, operands: list[Tracer]) -> Tracers:
        values = [splat(x) for x in operands]
        if any(value is None for value in values):
            return bind(eq.primitive, eq.params, *(_everywhere(x, shape) for x in operands))
        (type_,) = eq.primitive.abstract(eq.params, *(x.type.with_shape(()) for x in operands))
        with np.errstate(all="ignore"):
            return [constant(eq.primitive.impl(eq.params)(*values), type_)]

    return _everywhere(walk(body, xs, rule)[0], shape)
