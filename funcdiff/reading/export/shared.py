"""Formulas that all libraries share, in place of longer implementations in NumPy.

Everything here is written in NumPy's names, which every library spells in its own way.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from funcdiff.core.atoms import Atom
from funcdiff.core.program import Equation, Program
from funcdiff.core.walk import nested
from funcdiff.ops.axes.sorting import Search, Sorting
from funcdiff.ops.linalg.matrices import Part
from funcdiff.ops.linalg.systems import Triangle
from funcdiff.ops.structure.slicing import Window
from funcdiff.ops.structure.structural import Axis
from funcdiff.reading.export.rewriting import Call, call_of_formula
from funcdiff.reading.text.expressions import build, call, constant, text_of
from funcdiff.reading.text.literals import allocation, dtype_of
from funcdiff.reading.text.symbols import UnwritableError
from funcdiff.reading.text.templates import Template
from funcdiff.reading.text.writer import Body, Writing

# ---- order ---------------------------------------------------------------------------------------


def _order(x: ast.expr, axis: int) -> ast.expr:
    return call("np.argsort", x, axis=constant(axis), stable=constant(True))


def _argsort(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    return _order(xs[0], eq.params_as(Sorting).axis)


def _origins(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Match elements of equal rank, which is the order of the order."""
    x, y = xs
    axis = eq.params_as(Axis).axis
    ranks = _order(_order(y, axis), axis)
    return call("np.take_along_axis", _order(x, axis), ranks, axis=constant(axis))


def _order_statistics(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    x, positions = xs
    axis = constant(eq.params_as(Axis).axis)
    return call("np.take_along_axis", call("np.sort", x, axis=axis), positions, axis=axis)


def _searchsorted(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    if eq.operands[0].type.ndim > 1:
        raise UnwritableError("it searches in several arrays at a time")
    return build(
        "np.searchsorted(a, v, side=side).astype(np.int64)",
        a=xs[0],
        v=xs[1],
        side=constant(eq.params_as(Search).side),
    )


# ---- matrices ------------------------------------------------------------------------------------


def _part(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Add up what is kept: the triangle below, a multiple of the diagonal, the triangle above."""
    p = eq.params_as(Part)
    if p.diagonal == 1 and p.below != p.above:
        return build("np.tril(x)" if p.below else "np.triu(x)", x=xs[0])
    parts = ["np.tril(x, -1)"] * p.below + ["np.triu(x, 1)"] * p.above
    if p.diagonal:
        parts.append(f"{p.diagonal} * np.tril(np.triu(x))")
    return build(" + ".join(parts) or "0 * x", x=xs[0])


def substitution(formula: str) -> dict[str, Template]:
    """Return how triangular systems are solved by ``f(a, b)``, which has ``lower`` in it."""

    def solve(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        lower = constant(eq.params_as(Triangle).lower)
        return build(formula, a=xs[0], b=xs[1], lower=lower)

    def invert(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        type_ = eq.operands[0].type
        unit = call("np.eye", constant(type_.shape[-1]), dtype=dtype_of(type_.dtype))
        whole = build(
            "np.ascontiguousarray(np.broadcast_to(x, s))", x=unit, s=constant(type_.shape)
        )
        return build(formula, a=xs[0], b=whole if type_.ndim > 2 else unit, lower=constant(True))

    return {"triangular_solve": solve, "triangular_inv": invert}


# ---- elements ------------------------------------------------------------------------------------


def _excess(_eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    return build("np.where(x == y, 0, x - y)", x=xs[0], y=xs[1])


def _reciprocal(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    if eq.operands[0].type.dtype.kind in "iu":
        raise UnwritableError("the reciprocals of integers are integers in NumPy alone")
    return call("np.reciprocal", *xs)


def _function(path: str) -> Template:
    return lambda _eq, xs: call(path, *xs)


SHARED: Final[dict[str, Template]] = {
    "argsort": _argsort,
    "bessel_i1": _function("scipy.special.i1"),
    "eig": _function("np.linalg.eig"),
    "eigvals": _function("np.linalg.eigvals"),
    "excess": _excess,
    "order_statistics": _order_statistics,
    "origins": _origins,
    "part": _part,
    "polygamma": _function("scipy.special.polygamma"),
    "reciprocal": _reciprocal,
    "searchsorted": _searchsorted,
}
"""Expressions of NumPy's that the libraries have, too."""


PARTITIONS: Final[dict[str, Call]] = {
    "np.argpartition": call_of_formula("np.argsort(x, axis=axis, stable=True)", "x", "kth", "axis"),
    "np.partition": call_of_formula("np.sort(x, axis=axis)", "x", "kth", "axis"),
}
"""Arrays in order are partitioned, too."""


# ---- windows -------------------------------------------------------------------------------------


def _sliding_windows(b: Body, eq: Equation) -> None:
    """Take the elements of windows by their positions, which are sums of two ranges."""
    p = eq.params_as(Window)
    (places, length), before = (eq.results[0].type.shape[p.axis], p.length), ":, " * p.axis
    taken = build(
        f"x[{before}np.arange(m)[:, None] + np.arange(n)]",
        x=b.simple(eq.operands[0]), m=constant(places), n=constant(length),
    )  # fmt: skip
    b.assign(eq, call("np.moveaxis", taken, constant(p.axis + 1), constant(-1)))


def _overlap_add(b: Body, eq: Equation) -> None:
    p, (result,) = eq.params_as(Window), eq.results
    windows = text_of(b.simple(eq.operands[0]))
    total, k = b.target(result), b.writer.new("k")
    b.writer.assign(total, allocation("np.zeros", result.type))
    places = eq.operands[0].type.shape[p.axis]
    with b.writer.block(f"for {k} in range({p.length}):"):
        where = ":, " * p.axis + f"{k}:{k} + {places}"
        b.writer.line(f"{total}[{where}] += {windows}[..., {k}]")


WINDOWS: Final[dict[str, Writing]] = {
    "sliding_windows": _sliding_windows,
    "overlap_add": _overlap_add,
}
"""Statements about windows that slide."""


# ---- what there is not ---------------------------------------------------------------------------


def refuse(reason: str, *names: str) -> dict[str, Writing]:
    """Return entries for primitives that cannot be written."""

    def write(_b: Body, _eq: Equation) -> None:
        raise UnwritableError(reason)

    return dict.fromkeys(names, write)


def has_double_precision(program: Program) -> bool:
    """Whether a program, or one within it, computes with float64 or complex128."""
    atoms: list[Atom] = [*program.inputs, *program.outputs]
    for eq in program.equations:
        atoms += [*eq.operands, *eq.results]
        if any(map(has_double_precision, nested(eq.params))):
            return True
    return any(atom.type.dtype.name in ("float64", "complex128") for atom in atoms)
