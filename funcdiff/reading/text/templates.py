"""Writes an equation as a NumPy expression: the formulas of compiled code, or more readable ones.

Where an operation has no entry, its implementation itself is the template: a function of one line
becomes that line, a longer one is called and comes along (`helpers`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.code.formulas import FORMULAS, OPERATORS, Formula
from funcdiff.core.atoms import Literal
from funcdiff.core.program import Equation
from funcdiff.core.types import BOOL
from funcdiff.ops.axes.sorting import Sorting
from funcdiff.ops.elementwise.logic import (
    exact_absolute,
    exact_add,
    exact_decimals,
    exact_divide,
    exact_float_power,
    exact_floor_divide,
    exact_integer,
    exact_left_shift,
    exact_multiply,
    exact_narrowings,
    exact_negative,
    exact_power,
    exact_remainder,
    exact_right_shift,
    exact_round,
    exact_subtract,
)
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.products.convolution import Convolution
from funcdiff.ops.structure.structural import Axis
from funcdiff.reading.text.expressions import attribute, build, call, constant, dtype_of, method
from funcdiff.space import Axes

Template: TypeAlias = Callable[[Equation, Sequence[ast.expr]], ast.expr | None]
"""Of an equation and its operands as expressions; None where the implementation has to do."""

# ---- operators -----------------------------------------------------------------------------------

_BITS: Final[dict[Any, str]] = {
    np.bitwise_and: "{} & {}",
    np.bitwise_or: "{} | {}",
    np.bitwise_xor: "{} ^ {}",
    np.invert: "~{}",
}
_LOGIC: Final[dict[Any, str]] = {
    np.logical_and: "{} & {}",
    np.logical_or: "{} | {}",
    np.logical_xor: "{} ^ {}",
    np.logical_not: "~{}",
}
"""Operators for bits, which of booleans are those of logic."""

SIGNS: Final = {**OPERATORS, **_BITS, **_LOGIC}
"""Ufuncs that are operators of Python."""


def _operator(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Write an operator, where it is sure to compute the bits of the ufunc.

    Of scalars NumPy has other loops, which agree but for products and quotients of complex
    numbers, and warn where integers overflow.
    """
    function, type_, other = eq.operation.function, eq.operands[0].type, eq.operands[-1]
    false = isinstance(other, Literal) and other.type.dtype == BOOL and not other.value
    if function is np.not_equal and false:
        return xs[0]
    plain = type_.dtype.kind != "c" or function not in (np.multiply, np.divide)
    plain = plain and (type_.dtype.kind in "fcb" or type_.dtype.itemsize == 8)
    booleans = all(atom.type.dtype == BOOL for atom in eq.operands)
    if (function in _LOGIC and not booleans) or not (type_.shape or plain):
        return call(f"np.{function.__name__}", *xs)
    return _substitute(SIGNS[function].format, xs)


def _substitute(text: Callable[..., str], xs: Sequence[ast.expr]) -> ast.expr:
    """Return the expression of a text of names, with expressions in place of them."""
    words = [f"x{k}" for k in range(len(xs))]
    return build(text(*words), **dict(zip(words, xs, strict=True)))


def _share(formula: Formula) -> Template:
    return lambda eq, xs: _substitute(partial(formula, eq), xs)


def _format(text: str, _eq: Equation, *xs: str) -> str:
    return text.format(*xs)


# ---- others --------------------------------------------------------------------------------------


def _convert(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    (x,), before, after = xs, eq.operands[0].type.dtype, eq.results[0].type.dtype
    if before.kind == "c" and after.kind not in "cb":
        x = attribute(x, "real")
    return method(x, "astype", dtype_of(after))


def _convolution(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Write a convolution of two sequences that needs no zeros around them; None for others."""
    p = eq.params_as(Convolution)
    (n, *others), (m, *_) = (atom.type.shape for atom in eq.operands)
    if p.left or p.right or others or not (n and m) or set(map(abs, p.steps[0])) != {1}:
        return None
    (a, b, _), (offset,), (length,) = p.steps[0], p.offsets, p.lengths
    x, y = (build("x[::-1]", x=x) if s < 0 else x for x, s in zip(xs, (a, b), strict=True))
    offset += (n - 1) * (a < 0) + (m - 1) * (b < 0)
    if (offset, length) == (0, n + m - 1):
        return call("np.convolve", x, y)
    if (offset, length) == (min(n, m) - 1, abs(n - m) + 1):
        return call("np.convolve", x, y, constant("valid"))
    return None


# ---- reductions ----------------------------------------------------------------------------------


def _along_axes(function: str, eq: Equation, xs: Sequence[ast.expr], **words: ast.expr) -> ast.expr:
    """Write a function along axes, which are named where they are not all."""
    p, dtype = eq.params, eq.results[0].type.dtype
    axes = p.axes if isinstance(p, Axes) else (eq.params_as(Axis).axis,)
    if len(axes) < max(atom.type.ndim for atom in eq.operands):
        words["axis"] = constant(axes[0] if len(axes) == 1 else axes)
    widens = function in ("np.sum", "np.prod", "np.cumsum", "np.cumprod")
    if widens and dtype.kind not in "fc" and dtype != np.int64:
        words["dtype"] = dtype_of(dtype)
    return call(function, *xs, **words)


def _sum_from(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    where = {"where": xs[2]} if len(xs) > 2 else {}
    return _along_axes("np.sum", eq, xs[1:2], initial=xs[0], **where)


def _sort(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p = eq.params_as(Sorting)
    words = {} if p.axis == eq.operands[0].type.ndim - 1 else {"axis": constant(p.axis)}
    if p.kind != "quicksort":
        words["kind"] = constant(p.kind)
    return call("np.sort", *xs, **words)


_ALONG_AXES: Final[dict[str, str]] = {
    "reduce_sum": "np.sum",
    "reduce_count": "np.sum",
    "reduce_prod": "np.prod",
    "reduce_max": "np.max",
    "reduce_min": "np.min",
    "reduce_all": "np.all",
    "reduce_any": "np.any",
    "argmax": "np.argmax",
    "argmin": "np.argmin",
    "cumsum": "np.cumsum",
    "cumprod": "np.cumprod",
}

_OF_INTEGERS: Final = {
    exact_add: "{} + {}",
    exact_subtract: "{} - {}",
    exact_multiply: "{} * {}",
    exact_power: "{} ** {}",
    exact_negative: "-{}",
    exact_absolute: "abs({})",
    exact_divide: "{} / {}",
    exact_floor_divide: "{} // {}",
    exact_remainder: "{} % {}",
    exact_left_shift: "{} << {}",
    exact_right_shift: "{} >> {}",
    exact_float_power: "np.float_power({}, {})",
    exact_round: "np.int64(np.frompyfunc(round, 2, 1)({}, {}))",
    exact_decimals: "np.float64(np.frompyfunc(round, 2, 1)({}, {}))",
}
"""Operators of Python's integers, which in the text have no bounds."""

TEMPLATES: Final[dict[str, Template]] = {
    **{by_ufunc[function].primitive.name: _operator for function in SIGNS},
    **{op.primitive.name: _share(partial(_format, text)) for op, text in _OF_INTEGERS.items()},
    **{primitive.name: _share(formula) for primitive, formula in FORMULAS.items()},
    **{name: partial(_along_axes, word) for name, word in _ALONG_AXES.items()},
    "absolute": lambda _eq, xs: call("np.abs", *xs),
    "conj": lambda _eq, xs: call("np.conj", *xs),
    "real": lambda _eq, xs: attribute(xs[0], "real"),
    "imag": lambda _eq, xs: attribute(xs[0], "imag"),
    "convert": _convert,
    **{op.primitive.name: _convert for op in (exact_integer, *exact_narrowings.values())},
    "select": lambda _eq, xs: call("np.where", *xs),
    "sum_from": _sum_from,
    "sort": _sort,
    "convolve": _convolution,
    "named_solve": lambda _eq, xs: call("np.linalg.solve", *xs),
}
"""Templates by the name of the primitive.  Default: the implementation (see `helpers`)."""
