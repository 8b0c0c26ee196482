"""Generates calls for sums and contractions, by BLAS where that is faster."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from funcdiff.backend.code.formulas import product, reshape
from funcdiff.backend.code.source import Calls
from funcdiff.core.program import Equation, equation
from funcdiff.ops.products.contract import (
    Contraction,
    arrangement,
    contract_p,
    contraction,
    is_matrix_product,
)
from funcdiff.ops.products.masked import MaskedContraction
from funcdiff.space import Axes, reduce_sum_p

_SHORT: Final = 128
"""Elements up to which NumPy sums one after the other, too."""


def write_product(calls: Calls, eq: Equation, place: str) -> str:
    """Return the product of matrices or vectors, written to memory if some is given."""
    x, y = map(calls.operand, eq.operands)
    if is_product_of_rows(eq):
        return f"{calls.numpy('vecdot')}({', '.join(filter(None, [x, y, place]))})"
    made = product(eq, x, y)
    p = eq.params_as(Contraction)
    is_turned = made.sign == "*" or (place and p.out != arrangement(p).natural)
    if made.after and is_turned:
        # what is turned around is the product of the operands turned around
        turned = Contraction(p.right, p.left, p.out)
        made = product(equation(eq.primitive, turned, eq.operands[::-1], eq.results), y, x)
    if not place:
        return str(made)
    if made.shape:
        place = reshape(place, made.shape)
    times = calls.numpy("matmul" if made.sign == "@" else "multiply")
    return f"{times}({made.left}, {made.right}, {place})"


def write_masked_product(calls: Calls, eq: Equation) -> str:
    """Return a product with a mask, which is asked only where a result is not finite."""
    p, whole = eq.params_as(MaskedContraction), eq.operation.function
    plain = equation(contract_p, contraction(p.left, p.right, p.out), eq.operands[:2], eq.results)
    x, y, mask = map(calls.operand, eq.operands)

    def finite(result: Any, x: Any, y: Any, mask: Any) -> Any:
        return result if np.isfinite(result).all() else whole(x, y, mask)

    checked = calls.bind_numbered((eq.primitive, eq.params, whole), "finite_", finite)
    return f"{checked}({write_product(calls, plain, '')}, {x}, {y}, {mask})"


def sum_by_product(calls: Calls, eq: Equation, place: str) -> str | None:
    """Return a sum as a product with ones, which BLAS computes several times as fast.

    A long last axis is summed in pairs by NumPy, more exactly than here.
    """
    p = eq.params_as(Axes)
    type_ = eq.operands[0].type
    ndim, count = type_.ndim, prod(type_.shape[axis] for axis in p.axes)
    if eq.primitive is not reduce_sum_p or type_.dtype.char not in "fd" or count < 2:
        return None
    x = calls.operand(eq.operands[0])
    ones = calls.bind(("ones", type_.dtype, count), f"ones_{count}", np.ones(count, type_.dtype))
    matmul = calls.numpy("matmul")
    rest = f", {place}" if place else ""
    first, last = p.axes == tuple(range(len(p.axes))), p.axes[-1] == ndim - 1
    if last and p.axes == tuple(range(p.axes[0], ndim)) and count <= _SHORT and ndim > 1:
        if len(p.axes) > 1:
            x = f"{x}.reshape({(*type_.shape[: p.axes[0]], count)})"
        return f"{matmul}({x}, {ones}{rest})" if p.axes[0] else None
    if p.axes == (ndim - 2,):
        return f"{matmul}({ones}, {x}{rest})"
    if first and len(p.axes) == ndim - 1:
        return f"{matmul}({ones}, {x}.reshape({(count, type_.shape[-1])}){rest})"
    return None


def is_product_of_rows(eq: Equation) -> bool:
    """Whether a contraction multiplies each row of an array by that of the same place."""
    if eq.primitive is not contract_p or eq.results[0].type.dtype.char not in "fd":
        return False
    p = eq.params_as(Contraction)
    return p.left == p.right and len(p.left) > 1 and p.out == p.left[:-1]


def is_product(eq: Equation) -> bool:
    """Whether a contraction is a product that is written to memory as it comes out.

    Of matrices or vectors, an outer one of vectors, or of stacks of matrices whose axes are in
    order: in that of the operands, or of the operands turned around.
    """
    if eq.primitive is not contract_p:
        return False
    p = eq.params_as(Contraction)
    if is_product_of_rows(eq) or is_matrix_product(p):
        return True
    at = arrangement(p)
    if not at.inner:
        return len(p.left) == len(p.right) == 1 and len(p.out) == 2
    return p.out in (at.natural, (*at.stack, *at.columns, *at.rows))
