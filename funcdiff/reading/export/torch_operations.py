"""Writes operations that PyTorch has for other dtypes than NumPy, or in other ways."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from funcdiff.core.program import Equation
from funcdiff.core.types import BOOL
from funcdiff.ops.structure.structural import Axis
from funcdiff.reading.export.shared import SHARED
from funcdiff.reading.text.expressions import build, call, constant, method, name, text_of
from funcdiff.reading.text.symbols import UnwritableError
from funcdiff.reading.text.templates import TEMPLATES, Template
from funcdiff.reading.text.writer import Body, Writing


def _plain(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    template = SHARED.get(eq.primitive.name) or TEMPLATES.get(eq.primitive.name)
    return None if template is None else template(eq, xs)


def _unless_boolean(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Leave booleans as they are, which NumPy rounds to themselves."""
    return xs[0] if eq.operands[0].type.dtype == BOOL else _plain(eq, xs)


def _of_numbers(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Compare booleans as numbers."""
    if eq.operands[0].type.dtype == BOOL:
        xs = [method(xs[0], "astype", build("np.uint8"))]
    return _plain(eq, xs)


def _unless_complex(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    if eq.operands[0].type.dtype.kind == "c":
        raise UnwritableError("PyTorch does not order complex numbers")
    return _plain(eq, xs)


def _unless_float(ufunc: str) -> Template:
    """Accumulate integers, of which none is NaN."""

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
        if eq.operands[0].type.dtype.kind == "f":
            return None
        return call(f"np.{ufunc}.accumulate", *xs, axis=constant(eq.params_as(Axis).axis))

    return write


def _airy(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    if eq.operands[0].type.dtype.kind == "c":
        raise UnwritableError("PyTorch's airy_ai takes real numbers alone")
    return call("torch.special.airy_ai", *xs)


_BY_DTYPE: Final[dict[str, Template]] = {
    word: template
    for template, words in (
        (_unless_boolean, ("absolute", "ceil", "floor", "trunc")),
        (_of_numbers, ("argmax", "argmin")),
        (
            _unless_complex,
            ("argpartition", "argsort", "order_statistics", "origins", "partition", "sort"),
        ),
    )
    for word in words
}
"""Operations that PyTorch has for other dtypes than NumPy."""

OPERATIONS: Final[dict[str, Template]] = {
    **_BY_DTYPE,
    "airy_ai": _airy,
    "join": lambda _eq, xs: call("torch.complex", *xs),
    "modf_fraction": lambda _eq, xs: build(
        "np.copysign(np.where(np.isinf(x), 0, x - np.trunc(x)), x)", x=xs[0]
    ),
    "modf_integer": lambda _eq, xs: call("np.trunc", *xs),
    "running_fmax": _unless_float("maximum"),
    "running_fmin": _unless_float("minimum"),
}
"""Expressions of operations that PyTorch has in other ways than NumPy."""


def _recurrence(b: Body, eq: Equation) -> None:
    """y[k] = a[k]·y[k-1] + b[k], step by step."""
    axis, (a, terms) = eq.params_as(Axis).axis, map(b.simple, eq.operands)
    if not eq.results[0].type.shape[axis]:
        b.assign(eq, terms)
        return
    rows, k = b.writer.new("rows"), b.writer.new("k")
    before, is_choice = ":, " * axis, eq.operands[0].type.dtype == BOOL
    b.writer.line(f"{rows} = [{text_of(terms)}[{before}0]]")
    with b.writer.block(f"for {k} in range(1, {eq.results[0].type.shape[axis]}):"):
        factor, term = (f"{text_of(x)}[{before}{k}]" for x in (a, terms))
        kept = f"np.where({factor}, {rows}[-1], 0)" if is_choice else f"{factor} * {rows}[-1]"
        b.writer.line(f"{rows}.append({kept} + {term})")
    b.assign(eq, call("torch.stack", name(rows), dim=constant(axis)))


RECURRENCES: Final[dict[str, Writing]] = {"recurrence": _recurrence}
"""Statements about linear recurrences."""
