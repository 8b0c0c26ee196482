"""Writes the helpers of spectral derivatives: equal values, and existence of the derivative.

NumPy raises where a derivative does not exist; what runs on a device cannot, and gives NaN there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Equation
from funcdiff.core.recording.builder import Builder
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.ops.linalg.divided_differences import pairs_that_fit
from funcdiff.ops.linalg.matrices import OneTriangle
from funcdiff.ops.linalg.pseudoinverse import Tolerance
from funcdiff.passes.simplify import simplify
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


# ---- what NumPy's code says, too: traced, and written as any program -----------------------------


def _write_traced(f: Callable[..., Any], b: Body, eq: Equation) -> list[ast.expr]:
    """Write the statements of a function of the operands; return its results."""
    with Builder("helper", CLOSED) as builder:
        found = f(*[builder.input(atom.type) for atom in eq.operands])
        program = builder.program(found if isinstance(found, tuple) else [found])
    return b.writer.write(simplify(program), [b.simple(atom) for atom in eq.operands])


def _unless_empty(write: Writing) -> Writing:
    """Return what writes nothing but zeros where a result is empty."""

    def write_any(b: Body, eq: Equation) -> None:
        if not any(0 in y.type.shape for y in eq.results):
            write(b, eq)
            return
        for y in eq.results:
            b.writer.assign(b.target(y), allocation("np.zeros", y.type))

    return write_any


def _by_tracing(function: Callable[..., Any] | None = None) -> Writing:
    """Return what writes a function of the operands, by default the implementation."""

    def write(b: Body, eq: Equation) -> None:
        results = _write_traced(function or eq.primitive.impl(eq.params), b, eq)
        b.assign(eq, items(results) if len(results) > 1 else results[0])

    return write


def _spoilt(b: Body, eq: Equation) -> None:
    """Assign the first operand, or NaN if anything is wrong."""
    check = eq.primitive.impl(eq.params)
    wrong = _WRONG.get(eq.primitive.name) or getattr(check, "wrong", None)
    if wrong is None or any(0 in y.type.shape for y in eq.operands):
        b.assign(eq, b.simple(eq.operands[0]))
        return
    spoil = lambda x, *rest: np.where(np.any(wrong(x, *rest)), np.nan, x)  # noqa: E731
    b.assign(eq, *_write_traced(spoil, b, eq))


_WRONG: Final = {"checked": lambda _x, answer: np.isnan(answer)}
"""What is wrong where NumPy has raised before."""


# ---- which values are equal ----------------------------------------------------------------------


def _multiplicities(b: Body, eq: Equation) -> None:
    """Find equal eigenvalues, and eigenvectors that are no basis, up to rounding errors."""
    w, v = map(b.simple, eq.operands)
    type_ = eq.operands[0].type
    n, eps = type_.shape[-1], eps_of(type_)
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


def _generic_rotation(b: Body, eq: Equation) -> None:
    """Take eigenvectors of all blocks at once: values of each are moved to a place of their own.

    Columns of the rotation stand where the values of their block do.
    """
    (same,) = map(b.simple, eq.operands)
    type_ = eq.results[0].type
    n = type_.shape[-1]
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


_CHECKS: Final = (
    "agreement checked complement_gauge constant_rank digits gauge normal_component require_zero "
    "simple_spectrum vanish_on_kernel whole_ties"
)
"""What spoils a result, by the name of the primitive."""

_WRITERS: Final[dict[str, Writing]] = {
    **dict.fromkeys(("eigen_differential", "equal_pairs", "mean_over_ties"), _by_tracing()),
    "adjugate": _adjugate,
    "generic_rotation": _generic_rotation,
    "mirrored": _mirror_triangle,
    "multiplicities": _multiplicities,
    "near_pairs": _by_tracing(pairs_that_fit),
    "triangle_shares": _triangle_shares,
}
SPECTRA: Final[dict[str, Writing]] = {
    **{word: _unless_empty(write) for word, write in _WRITERS.items()},
    **dict.fromkeys(_CHECKS.split(), _spoilt),
    "lstsq": _lstsq,
}
"""Statements about spectra."""
