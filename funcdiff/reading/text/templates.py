"""Writes an equation as a NumPy expression, by a table of templates per primitive.

Where an operation has no entry, its implementation itself is the template: a function of one line
becomes that line, a longer one is called and comes along (`helpers`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.axes.indexing import Indexed, gather_p
from funcdiff.ops.axes.reductions import (
    argmax_p,
    argmin_p,
    cumprod_p,
    cumsum_p,
    reduce_all_p,
    reduce_any_p,
    reduce_count_p,
    reduce_max_p,
    reduce_min_p,
    reduce_prod_p,
)
from funcdiff.ops.axes.sorting import Sorting, sort_p
from funcdiff.ops.elementwise.complex import conj_p, imag_p, real_p
from funcdiff.ops.elementwise.logic import operations
from funcdiff.ops.elementwise.mathematics import absolute, div, sub
from funcdiff.ops.products.contract import contract_p
from funcdiff.ops.products.convolution import convolve_p
from funcdiff.ops.products.masked import sum_from_p
from funcdiff.ops.structure.slicing import Slice, slice_p
from funcdiff.ops.structure.structural import (
    Axis,
    Iota,
    Permutation,
    Reversal,
    concatenate_p,
    convert_p,
    iota_p,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)
from funcdiff.ops.user.linear_solve import named_solve_p
from funcdiff.reading.text.expressions import (
    attribute,
    build,
    call,
    constant,
    item,
    items,
    method,
)
from funcdiff.reading.text.literals import dtype_of
from funcdiff.reading.text.products import contraction, convolution, permute_axes
from funcdiff.space import (
    Axes,
    Broadcast,
    add_p,
    broadcast_p,
    kept_axes,
    mul_p,
    neg_p,
    reduce_sum_p,
)

Template: TypeAlias = Callable[[Equation, Sequence[ast.expr]], ast.expr | None]
"""Of an equation and its operands as expressions; None where the implementation has to do."""
Operator: TypeAlias = Callable[[Equation, Sequence[ast.expr]], ast.expr]
"""The same, where there is always one."""

# ---- operators -----------------------------------------------------------------------------------


def _operator(sign: str, function: str) -> Operator:
    """Write an operator, where it is sure to compute the bits of the ufunc.

    Of scalars NumPy has other loops, which agree but for products and quotients of complex
    numbers, and warn where integers overflow.
    """
    formula = f"{sign}x" if sign in "-~" and function != "np.subtract" else f"x {sign} y"

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        type_ = eq.operands[0].type
        plain = type_.dtype.kind != "c" or sign in "+-"
        if type_.shape or (plain and (type_.dtype.kind in "fcb" or type_.dtype.itemsize == 8)):
            return build(formula, **dict(zip("xy", xs, strict=False)))
        return call(function, *xs)

    return write


def _logical(sign: str, function: str) -> Template:
    """Write an operator for bits, which of booleans is that of logic."""
    written = _operator(sign, function)

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        booleans = all(atom.type.dtype == BOOL for atom in eq.operands)
        return written(eq, xs) if booleans else call(function, *xs)

    return write


def _not_equal(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Write a comparison; of booleans with False, it is what is compared."""
    other = eq.operands[1]
    if isinstance(other, Literal) and other.type.dtype == BOOL and not other.value:
        return xs[0]
    return _operator("!=", "np.not_equal")(eq, xs)


_OPERATORS: Final[dict[Primitive[Any], Template]] = {
    add_p: _operator("+", "np.add"),
    sub.primitive: _operator("-", "np.subtract"),
    mul_p: _operator("*", "np.multiply"),
    div.primitive: _operator("/", "np.divide"),
    neg_p: _operator("-", "np.negative"),
    **{
        operations[word].primitive: _operator(sign, f"np.{word}")
        for word, sign in (
            ("less", "<"),
            ("less_equal", "<="),
            ("greater", ">"),
            ("greater_equal", ">="),
            ("equal", "=="),
            ("bitwise_and", "&"),
            ("bitwise_or", "|"),
            ("bitwise_xor", "^"),
            ("invert", "~"),
        )
    },
    **{
        operations[word].primitive: _logical(sign, f"np.{word}")
        for word, sign in (
            ("logical_and", "&"),
            ("logical_or", "|"),
            ("logical_xor", "^"),
            ("logical_not", "~"),
        )
    },
    operations["not_equal"].primitive: _not_equal,
    absolute.primitive: lambda _eq, xs: call("np.abs", *xs),
    conj_p: lambda _eq, xs: call("np.conj", *xs),
    real_p: lambda _eq, xs: attribute(xs[0], "real"),
    imag_p: lambda _eq, xs: attribute(xs[0], "imag"),
}

# ---- structure -----------------------------------------------------------------------------------


def _reshape(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    shape = eq.results[0].type.shape
    element = None if shape else _element(xs[0], eq.operands[0].type.ndim)
    if element is not None:
        return element
    if len(shape) == 1:
        return method(xs[0], "reshape", constant(-1) if shape[0] else constant(0))
    return (
        method(xs[0], "reshape", *map(constant, shape))
        if shape
        else build("x.reshape(())", x=xs[0])
    )


def _element(x: ast.expr, ndim: int) -> ast.expr | None:
    """Return the only element of a slice that has one, by its indices; None if it is no slice."""
    if not isinstance(x, ast.Subscript):
        return None
    parts = x.slice.elts if isinstance(x.slice, ast.Tuple) else [x.slice]
    lowers = [part.lower for part in parts if isinstance(part, ast.Slice)]
    if len(lowers) != ndim:
        return None
    return item(x.value, [constant(0) if lower is None else lower for lower in lowers])


def _permute(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Permutation)
    return permute_axes(xs[0], p.axes)


def with_new_axes(eq: Equation, x: ast.expr, count: int) -> ast.expr:
    """Return the operand of a broadcast with the last axes of the result, new ones of length 1."""
    p = eq.params_as(Broadcast)
    new = [axis not in p.axes for axis in range(len(p.shape))][len(p.shape) - count :]
    if all(new) and new:  # of a number, which has no index
        return call("np.reshape", x, constant((1,) * count))
    whole = [ast.Slice(), constant(None)]
    return item(x, [whole[flag] for flag in new]) if any(new) else x


def _broadcast(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Broadcast)
    inner = len(p.shape) - p.axes[0] if p.axes else 0
    return call("np.broadcast_to", with_new_axes(eq, xs[0], inner), constant(p.shape))


def _convert(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    (x,), before, after = xs, eq.operands[0].type.dtype, eq.results[0].type.dtype
    if before.kind == "c" and after.kind not in "cb":
        x = attribute(x, "real")
    return method(x, "astype", dtype_of(after))


def index(type_: ArrayType, slices: Sequence[slice]) -> list[ast.expr]:
    """Return slices as an index, without what says nothing."""
    parts = []
    for n, part in zip(type_.shape, slices, strict=True):
        start = f"{part.start}" if part.start else ""
        stop = "" if part.stop == n else f"{part.stop}"
        step = "" if part.step in (1, None) else f":{part.step}"
        parts.append(f"{start}:{stop}{step}")
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    found = build(f"x[{', '.join(parts)},]")
    assert isinstance(found, ast.Subscript)
    assert isinstance(found.slice, ast.Tuple)
    return found.slice.elts


def _slice(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Slice)
    return item(xs[0], index(eq.operands[0].type, p.index))


def _reverse(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Reversal)
    parts = ["::-1" if k in p.axes else ":" for k in range(max(p.axes) + 1)]
    return build(f"x[{', '.join(parts)}]", x=xs[0])


def _iota(eq: Equation, _xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Iota)
    count = call("np.arange", constant(p.shape[p.axis]))
    if len(p.shape) == 1:
        return count
    parts = [":", *("None" for _ in p.shape[p.axis + 1 :])]
    count = count if len(parts) == 1 else build(f"x[{', '.join(parts)}]", x=count)
    return call("np.broadcast_to", count, constant(p.shape))


def axes_first(x: ast.expr, ndim: int, axes: tuple[int, ...]) -> ast.expr:
    """Return a view of an array with the given axes in front."""
    return permute_axes(x, axes + kept_axes(ndim, axes))


def _gather(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Indexed)
    taken = item(axes_first(xs[0], eq.operands[0].type.ndim, p.axes), xs[1:])
    is_view = not eq.operands[1].type.ndim and eq.results[0].type.ndim
    return method(taken, "copy") if is_view else taken


def _concatenate(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Axis)
    if p.axis == 0:
        return call("np.concatenate", items(xs))
    return call("np.concatenate", items(xs), axis=constant(p.axis))


# ---- reductions ----------------------------------------------------------------------------------


def _reduction(function: str, *, widens: bool = False) -> Template:
    """Write a reduction; `widens` is for one that NumPy would give another dtype for integers."""

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        p = eq.params_as(Axes)
        words = {}
        if len(p.axes) < eq.operands[0].type.ndim:
            words["axis"] = constant(p.axes[0] if len(p.axes) == 1 else p.axes)
        dtype = eq.results[0].type.dtype
        if widens and dtype.kind not in "fc" and dtype != np.int64:
            words["dtype"] = dtype_of(dtype)
        return call(function, *xs, **words)

    return write


def _sum_from(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Axes)
    words = {"initial": xs[0], **({"where": xs[2]} if len(xs) > 2 else {})}
    if len(p.axes) < eq.operands[1].type.ndim:
        words["axis"] = constant(p.axes[0] if len(p.axes) == 1 else p.axes)
    if eq.results[0].type.dtype.kind not in "fc":
        words["dtype"] = dtype_of(eq.results[0].type.dtype)
    return call("np.sum", xs[1], **words)


def _along_axis(function: str, *, typed: bool = False) -> Template:
    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        p = eq.params_as(Axis)
        words = {} if eq.operands[0].type.ndim == 1 else {"axis": constant(p.axis)}
        dtype = eq.results[0].type.dtype
        if typed and dtype.kind not in "fc" and dtype != np.int64:
            words["dtype"] = dtype_of(dtype)
        return call(function, *xs, **words)

    return write


def _sort(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Sorting)
    words = {} if p.axis == eq.operands[0].type.ndim - 1 else {"axis": constant(p.axis)}
    if p.kind != "quicksort":
        words["kind"] = constant(p.kind)
    return call("np.sort", *xs, **words)


TEMPLATES: Final[dict[Primitive[Any], Template]] = {
    **_OPERATORS,
    reshape_p: _reshape,
    permute_p: _permute,
    broadcast_p: _broadcast,
    convert_p: _convert,
    slice_p: _slice,
    reverse_p: _reverse,
    iota_p: _iota,
    gather_p: _gather,
    concatenate_p: _concatenate,
    select_p: lambda _eq, xs: call("np.where", *xs),
    reduce_sum_p: _reduction("np.sum", widens=True),
    sum_from_p: _sum_from,
    reduce_prod_p: _reduction("np.prod", widens=True),
    reduce_max_p: _reduction("np.max"),
    reduce_min_p: _reduction("np.min"),
    reduce_all_p: _reduction("np.all"),
    reduce_any_p: _reduction("np.any"),
    reduce_count_p: _reduction("np.sum"),
    argmax_p: _along_axis("np.argmax"),
    argmin_p: _along_axis("np.argmin"),
    cumsum_p: _along_axis("np.cumsum", typed=True),
    cumprod_p: _along_axis("np.cumprod", typed=True),
    sort_p: _sort,
    convolve_p: convolution,
    contract_p: contraction,
    named_solve_p: lambda _eq, xs: call("np.linalg.solve", *xs),
}
"""Templates by primitive.  Default for the others: the implementation (see `helpers`)."""
