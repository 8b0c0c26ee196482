"""Writes the helpers of Hermitian derivatives: shares of triangles, nearly equal eigenvalues."""

from __future__ import annotations

import ast
from typing import Final

import numpy as np

from funcdiff.core.program import Equation
from funcdiff.core.types import ArrayType
from funcdiff.ops.linalg.matrices import OneTriangle
from funcdiff.reading.text.expressions import build, constant
from funcdiff.reading.text.literals import allocation, dtype_of
from funcdiff.reading.text.writer import Body, Writing


def let(b: Body, wanted: str, formula: str, **parts: ast.expr) -> ast.expr:
    """Assign a formula to a new name; return the name."""
    return b.writer.simple(build(formula, **parts), wanted)


def number(x: float) -> ast.expr:
    """Return a number as an expression."""
    return ast.Constant(float(x))


def eps_of(type_: ArrayType) -> float:
    """Return the precision of a type."""
    return float(np.finfo(type_.dtype).eps)


def _triangle_shares(b: Body, eq: Equation) -> None:
    """Count both triangles alike where they mirror each other, up to rounding errors."""
    a, type_, p = b.simple(eq.operands[0]), eq.operands[0].type, eq.params_as(OneTriangle)
    if 0 in type_.shape:
        b.writer.assign(b.target(eq.results[0]), allocation("np.zeros", type_))
        return
    n = type_.shape[-1]
    apart = let(b, "apart", "np.abs(a - m)", a=a, m=_mirror(a, hermitian=p.hermitian))
    differs = let(
        b, "differs", "np.max(x, axis=k, keepdims=True) > "
        "c * np.max(np.abs(a), axis=k, keepdims=True)",
        x=apart, k=constant((-2, -1)), c=number(4 * n * eps_of(type_)), a=a,
    )  # fmt: skip
    one = _half("np.ones((n, n))", lower=p.lower, n=constant(n))
    shares = build("np.where(differs, one, 0.5).astype(d)", differs=differs, one=one,
                   d=dtype_of(type_.dtype))  # fmt: skip
    b.assign(eq, shares)


def _mirror_triangle(b: Body, eq: Equation) -> None:
    a, p = b.simple(eq.operands[0]), eq.params_as(OneTriangle)
    half = let(b, "half", "x", x=_half("a", lower=p.lower, a=a))
    b.assign(eq, build("x + y", x=half, y=_mirror(half, hermitian=p.hermitian)))


def _half(x: str, *, lower: bool, **parts: ast.expr) -> ast.expr:
    """Return one triangle, with half the diagonal."""
    triangle = f"np.tril({x}, -1)" if lower else f"np.triu({x}, 1)"
    return build(f"{triangle} + 0.5 * np.tril(np.triu({x}))", **parts)


def _mirror(x: ast.expr, *, hermitian: bool) -> ast.expr:
    return build("np.conj(np.swapaxes(x, -1, -2))" if hermitian else "np.swapaxes(x, -1, -2)", x=x)


def _near_pairs(b: Body, eq: Equation) -> None:
    """Ask which of Taylor's polynomials give the function at the other point."""
    w, same, *series = map(b.simple, eq.operands)
    type_, last = eq.operands[2].type, len(series) - 1
    if 0 in type_.shape:
        b.assign(eq, same)
        return
    eps = eps_of(type_)
    steps = let(b, "steps", "w[..., None, :] - w[..., :, None]", w=w)
    here, there = (build(f"x[..., {k}]", x=series[0]) for k in (":, None", "None, :"))
    size = let(b, "size", "np.abs(x) + np.abs(y)", x=here, y=there)
    total = term = let(b, "term", "x + 0 * d", x=here, d=steps)
    sizes = let(b, "sizes", "np.abs(x)", x=term)
    fits = let(b, "fits", "size >= 0", size=size)
    power: ast.expr = steps
    for k in range(1, last + 1):
        term = let(b, "term", "x[..., :, None] * d", x=series[k], d=power)
        power = let(b, "power", "p * d", p=power, d=steps)
        total = let(b, "total", "x + y", x=total, y=term)
        sizes = let(b, "sizes", "x + np.abs(y)", x=sizes, y=term)
        if k >= last - 1:
            limit = number(eps ** (k / (last + 1)))
            fits = let(b, "fits", "f & (np.abs(x) <= c * s)", f=fits, x=term, c=limit, s=size)
    wrong = let(b, "wrong", "np.abs(x - y)", x=total, y=there)
    fits = let(b, "fits", "f & (x <= c * s)", f=fits, x=wrong, c=number(4 * eps), s=sizes)
    fits = let(b, "fits", "f & np.swapaxes(f, -1, -2)", f=fits)
    if last > 3:
        misses = build("~(x <= c * s)", x=wrong, c=number(np.sqrt(eps)), s=sizes)
        distance = let(b, "distance", "np.abs(d)", d=steps)
        pole = let(b, "pole", "np.min(np.where(m, d, np.inf), axis=-1)", m=misses, d=distance)
        reach = build("np.minimum(p[..., :, None], p[..., None, :])", p=pole)
        fits = let(
            b, "fits", "f & (d <= c * r)", f=fits, d=distance,
            c=number(eps ** (1 / (last + 1))), r=reach,
        )  # fmt: skip
    b.assign(eq, build("f | s", f=fits, s=same))


HERMITIAN: Final[dict[str, Writing]] = {
    "mirrored": _mirror_triangle,
    "near_pairs": _near_pairs,
    "triangle_shares": _triangle_shares,
}
"""Statements about Hermitian matrices."""
