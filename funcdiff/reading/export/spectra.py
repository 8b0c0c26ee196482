"""Writes the helpers of spectral derivatives: equal values, and existence of the derivative.

NumPy raises where a derivative does not exist; what runs on a device cannot, and gives NaN there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce
from typing import Final

import numpy as np

from funcdiff.core.program import Equation
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.linalg.degeneracy import Digits, Gauge, Sharing
from funcdiff.ops.linalg.matrices import OneTriangle
from funcdiff.ops.linalg.orthogonal import Complement
from funcdiff.ops.linalg.pseudoinverse import Tolerance
from funcdiff.reading.text.expressions import (
    UnwritableError,
    allocation,
    build,
    constant,
    dtype_of,
    items,
    name,
)
from funcdiff.reading.text.writer import Body, Writing

# --------------------------------------------------------------------------------------------------
# Writes the helpers of Hermitian derivatives: shares of triangles, nearly equal eigenvalues.


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


def _root(type_: ArrayType) -> ast.expr:
    """Return the root of a type's precision."""
    return number(np.sqrt(eps_of(type_)))


# ---- what has no derivative ----------------------------------------------------------------------


def _spoilt_if(wrong: Callable[[Body, Equation], ast.expr | None]) -> Writing:
    """Return what assigns the first operand, or NaN if anything is wrong; None: nothing can be."""

    def write(b: Body, eq: Equation) -> None:
        x = b.simple(eq.operands[0])
        found = None if any(0 in y.type.shape for y in eq.operands) else wrong(b, eq)
        if found is not None:
            spoilt = let(b, "spoilt", "np.any(wrong)", wrong=found)
            x = build("np.where(spoilt, np.nan, x)", spoilt=spoilt, x=x)
        b.assign(eq, x)

    return write


def _significant(b: Body, x: ast.expr, type_: ArrayType, axes: str) -> ast.expr:
    """Return the size from which on parts of an array are more than its rounding errors."""
    return let(
        b, "limit", f"np.maximum(root * np.max(np.abs(x), axis={axes}, keepdims=True), least)",
        x=x, root=_root(type_), least=_least(type_),
    )  # fmt: skip


def _least(type_: ArrayType) -> ast.expr:
    """Return rounding errors of numbers of size 1, as an array."""
    least = type_.shape[-1] * eps_of(type_)
    real = dtype_of(real_dtype(type_.dtype))
    return build("np.array([x], dtype=d)", x=number(least), d=real)


def _gauge(b: Body, eq: Equation) -> ast.expr | None:
    """Check a cotangent: nothing may depend on the choice of vectors that belong to one value."""
    if not eq.params_as(Gauge).checked:
        return None
    x, same = map(b.simple, eq.operands)
    limit = _significant(b, x, eq.operands[0].type, "(-2, -1)")
    skew = let(b, "skew", "np.abs(x - np.conj(np.swapaxes(x, -1, -2)))", x=x)
    return build("same & (skew > limit)", same=same, skew=skew, limit=limit)


def _normal_component(b: Body, eq: Equation) -> ast.expr | None:
    """Check a cotangent: nothing may depend on vectors of the singular value zero."""
    if not eq.params_as(Gauge).checked:
        return None
    x, zero = map(b.simple, eq.operands)
    limit = _significant(b, x, eq.operands[0].type, "(-2, -1)")
    return build("zero[..., None, :] & (np.abs(x) > limit)", zero=zero, x=x, limit=limit)


def _complement_gauge(b: Body, eq: Equation) -> ast.expr | None:
    p, x, type_ = eq.params_as(Complement), b.simple(eq.operands[0]), eq.operands[0].type
    if not p.checked or p.start >= type_.shape[-1]:
        return None
    limit = _significant(b, x, type_, "(-2, -1)")
    block = let(b, "block", "x[..., k:, k:]", x=x, k=constant(p.start))
    skew = build("np.abs(x - np.conj(np.swapaxes(x, -1, -2)))", x=block)
    return build("skew > limit", skew=skew, limit=limit)


def _require_zero(b: Body, eq: Equation) -> ast.expr:
    x, missing = map(b.simple, eq.operands)
    return build("missing & (x != 0)", missing=missing, x=x)


def _constant_rank(b: Body, eq: Equation) -> ast.expr:
    s, tolerance = map(b.simple, eq.operands[1:])
    largest = let(b, "largest", "np.max(s, axis=-1, keepdims=True)", s=s)
    return build(
        "(s <= tolerance[..., None] * largest) & (s > root * largest)",
        s=s, tolerance=tolerance, largest=largest, root=_root(eq.operands[1].type),
    )  # fmt: skip


def _vanish_on_kernel(b: Body, eq: Equation) -> ast.expr:
    values, zero = map(b.simple, eq.operands[1:])
    sizes = let(b, "sizes", "np.abs(x)", x=values)
    return build(
        "zero & (sizes > root * np.max(sizes, axis=-1, keepdims=True))",
        zero=zero, sizes=sizes, root=_root(eq.operands[1].type),
    )  # fmt: skip


def _digits(b: Body, eq: Equation) -> ast.expr | None:
    """Check a cotangent: what is skew between values that are near must not be rounding errors."""
    type_ = eq.operands[0].type
    n = type_.shape[-1]
    count = type_.shape[-2] // n
    if not eq.params_as(Digits).checked or not count:
        return None
    x, near = map(b.simple, eq.operands)
    limit = let(
        b, "limit", "root * np.max(np.abs(x), axis=(-2, -1), keepdims=True)",
        x=x, root=number(eps_of(type_) ** (1 / 4)),
    )  # fmt: skip
    found = []
    for k in range(count):
        part = let(b, "part", "x[..., i:j, :]", x=x, i=constant(k * n), j=constant(k * n + n))
        mirror = let(b, "mirror", "np.conj(np.swapaxes(x, -1, -2))", x=part)
        lost = let(
            b, "lost", "((x != 0) | (y != 0)) & (np.abs(x - y) <= limit)",
            x=part, y=mirror, limit=limit,
        )  # fmt: skip
        nearby = build("x[..., i:j, :]", x=near, i=constant(k * n), j=constant(k * n + n))
        found.append(let(b, "lost", "x & y", x=nearby, y=lost))
    return reduce(lambda x, y: build("x | y", x=x, y=y), found)


def _simple_spectrum(b: Body, eq: Equation) -> ast.expr:
    same, shape = b.simple(eq.operands[1]), eq.operands[1].type.shape
    count = int(np.prod(shape[:-1], dtype=int))
    return build("np.sum(same.astype(np.int64)) > n", same=same, n=constant(count))


# ---- which values are equal ----------------------------------------------------------------------


def _equal_pairs(b: Body, eq: Equation) -> None:
    """Group values whose neighbours in order are closer than rounding errors."""
    w, type_ = b.simple(eq.operands[0]), eq.operands[0].type
    n = type_.shape[-1]
    if n < 2 or 0 in type_.shape:
        true, shape = let(b, "true", "np.array([True])"), constant(eq.results[0].type.shape)
        b.assign(eq, build("np.broadcast_to(x, s)", x=true, s=shape))
        return
    order = let(b, "order", "np.argsort(w, axis=-1, stable=True)", w=w)
    ordered = let(b, "ordered", "np.take_along_axis(w, k, axis=-1)", w=w, k=order)
    steps = let(
        b, "steps", "x[..., 1:] - x[..., :-1] > c * np.max(np.abs(x), axis=-1, keepdims=True)",
        x=ordered, c=number(4 * n * eps_of(type_)),
    )  # fmt: skip
    numbers = let(b, "numbers", "np.cumsum(x.astype(np.int64), axis=-1)", x=steps)
    first = build("x[..., :1] * 0", x=numbers)
    groups = let(
        b, "groups", "np.take_along_axis(np.concatenate([z, x], axis=-1), k, axis=-1)", z=first,
        x=numbers, k=build("np.argsort(k, axis=-1, stable=True)", k=order),
    )  # fmt: skip
    b.assign(eq, build("g[..., :, None] == g[..., None, :]", g=groups))


def _multiplicities(b: Body, eq: Equation) -> None:
    """Find equal eigenvalues, and eigenvectors that are no basis, up to rounding errors."""
    w, v = map(b.simple, eq.operands)
    type_ = eq.operands[0].type
    n, eps = type_.shape[-1], eps_of(type_)
    if 0 in type_.shape:
        targets = [b.target(y) for y in eq.results]
        for target, y in zip(targets, eq.results, strict=True):
            b.writer.assign(target, allocation("np.zeros", y.type))
        return
    smallest = let(b, "smallest", "np.linalg.svd(v, compute_uv=False)[..., -1]", v=v)
    defective = let(b, "defective", "s < c", s=smallest, c=number(16 * np.sqrt(eps)))
    error = build("e / np.where(d, 1, s)", e=number(eps), d=defective, s=smallest)
    tolerance = let(
        b,
        "tolerance",
        "c * error * np.max(np.abs(w), axis=-1)",
        c=constant(4 * n),
        error=error,
        w=w,
    )
    same = let(
        b, "same", "(np.abs(w[..., :, None] - w[..., None, :]) <= t[..., None, None]).astype(d)",
        w=w, t=tolerance, d=dtype_of(real_dtype(type_.dtype)),
    )  # fmt: skip
    for _ in range((n - 1).bit_length()):  # a chain of neighbours is one group
        same = let(b, "same", "(x @ x > 0).astype(d)", x=same, d=dtype_of(real_dtype(type_.dtype)))
    b.assign(eq, items([build("x > 0", x=same), defective]))


# ---- what equal values share ---------------------------------------------------------------------


def _mean(b: Body, eq: Equation) -> ast.expr:
    """Return averages over what is equal."""
    x, same = map(b.simple, eq.operands[:: len(eq.operands) - 1])
    weights = let(b, "weights", "s.astype(d)", s=same, d=dtype_of(eq.operands[0].type.dtype))
    return let(b, "mean", "(w @ x[..., None])[..., 0] / np.sum(w, axis=-1)", w=weights, x=x)


def _agreement(b: Body, eq: Equation) -> ast.expr | None:
    if not eq.params_as(Sharing).checked:
        return None
    x, same = map(b.simple, eq.operands)
    # the limit counts rounding errors of one column
    limit = _significant(b, build("x[..., None]", x=x), eq.operands[0].type, "(-2, -1)")
    apart = let(b, "apart", "np.abs(x[..., :, None] - x[..., None, :])", x=x)
    return build("same & (apart > limit)", same=same, apart=apart, limit=limit)


def _mean_over_ties(b: Body, eq: Equation) -> None:
    b.assign(eq, _mean(b, eq))


def _eigen_differential(b: Body, eq: Equation) -> None:
    b.assign(eq, items([_mean(b, eq), b.simple(eq.operands[1])]))


def _generic_rotation(b: Body, eq: Equation) -> None:
    """Take eigenvectors of all blocks at once: values of each are moved to a place of their own.

    Columns of the rotation stand where the values of their block do.
    """
    (same,) = map(b.simple, eq.operands)
    type_ = eq.results[0].type
    n = type_.shape[-1]
    if 0 in type_.shape:
        b.writer.assign(b.target(eq.results[0]), allocation("np.zeros", type_))
        return
    number = let(b, "number", "np.arange(n, dtype=d) + 1", n=constant(n), d=dtype_of(type_.dtype))
    inner = let(b, "inner", "np.where(same, np.cos(k[:, None] * k), 0)", same=same, k=number)
    group = let(b, "group", "np.argmax(same.astype(np.uint8), axis=-1)", same=same)
    reach = let(b, "reach", "np.max(np.sum(np.abs(x), axis=-1), axis=-1)[..., None]", x=inner)
    shift = let(
        b, "shift", "(3 * reach * g.astype(d))", reach=reach, g=group, d=dtype_of(type_.dtype)
    )
    apart = build(
        "x + np.eye(n, dtype=d) * shift[..., None]", x=inner, n=constant(n),
        d=dtype_of(type_.dtype), shift=shift,
    )  # fmt: skip
    columns = let(b, "columns", "np.linalg.eigh(x)[1]", x=apart)
    order = build("np.argsort(np.argsort(g, axis=-1, stable=True), axis=-1, stable=True)", g=group)
    places = build("np.broadcast_to(k[..., None, :], s)", k=order, s=constant(type_.shape))
    b.assign(eq, build("np.take_along_axis(v, k, axis=-1)", v=columns, k=places))


# ---- determinants and least squares --------------------------------------------------------------


def _adjugate(b: Body, eq: Equation) -> None:
    """adj(A) = det(U)·det(Vᴴ)·V·adj(S)·Uᴴ, in which nothing is divided by."""
    if len(eq.operands) > 1:
        raise UnwritableError("it is written for the first derivative of a determinant")
    a, type_ = b.simple(eq.operands[0]), eq.operands[0].type
    n = type_.shape[-1]
    if 0 in type_.shape:
        b.assign(eq, allocation("np.zeros", type_))
        return
    u, s, vh = (name(b.writer.new(word)) for word in ("u", "s", "vh"))
    b.writer.assign(f"{u.id}, {s.id}, {vh.id}", build("np.linalg.svd(a)", a=a))
    rest = let(
        b, "rest", "np.prod(np.where(np.eye(n, dtype=d) > 0, 1, s[..., None, :]), axis=-1)",
        n=constant(n), d=dtype_of(real_dtype(type_.dtype)), s=s,
    )  # fmt: skip
    phase = build("np.linalg.det(u) * np.linalg.det(vh)", u=u, vh=vh)
    left = build("np.conj(np.swapaxes(vh, -1, -2)) * rest[..., None, :]", vh=vh, rest=rest)
    b.assign(eq, build(
        "p[..., None, None] * (left @ np.conj(np.swapaxes(u, -1, -2)))", p=phase, left=left, u=u
    ))  # fmt: skip


def _lstsq(b: Body, eq: Equation) -> None:
    """Solve by the pseudoinverse."""
    a, y = map(b.simple, eq.operands)
    type_ = eq.operands[0].type
    if 0 in type_.shape:
        raise UnwritableError("the matrix is empty")
    relative = eq.params_as(Tolerance).relative
    limit = relative if relative >= 0 else float(np.finfo(float).eps)
    s = let(b, "s", "np.linalg.svd(a, compute_uv=False)", a=a)
    x = let(b, "x", "np.linalg.pinv(a, c) @ y", a=a, y=y, c=number(limit))
    rest = build("np.sum(np.square(np.abs(y - a @ x)), axis=-2)", y=y, a=a, x=x)
    rank = build(
        "np.sum((s > c * np.max(s, axis=-1, keepdims=True)).astype(np.int32), axis=-1, dtype=d)",
        s=s, c=number(limit), d=dtype_of(np.dtype(np.int32)),
    )  # fmt: skip
    b.assign(eq, items([x, rest, rank, s]))


_CONDITIONS: Final = {
    "agreement": _agreement,
    "checked": lambda b, eq: build("np.isnan(x)", x=b.simple(eq.operands[1])),
    "complement_gauge": _complement_gauge,
    "constant_rank": _constant_rank,
    "digits": _digits,
    "gauge": _gauge,
    "normal_component": _normal_component,
    "require_zero": _require_zero,
    "simple_spectrum": _simple_spectrum,
    "vanish_on_kernel": _vanish_on_kernel,
    "whole_ties": lambda b, eq: b.simple(eq.operands[1]),
}
"""What spoils a result, by the name of the primitive."""

SPECTRA: Final[dict[str, Writing]] = {
    **HERMITIAN,
    **{word: _spoilt_if(wrong) for word, wrong in _CONDITIONS.items()},
    "adjugate": _adjugate,
    "generic_rotation": _generic_rotation,
    "eigen_differential": _eigen_differential,
    "equal_pairs": _equal_pairs,
    "lstsq": _lstsq,
    "mean_over_ties": _mean_over_ties,
    "multiplicities": _multiplicities,
}
"""Statements about spectra."""
