"""Formats equations as NumPy expressions in the names of the code, and values in a few digits."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.program import Equation, Program
from funcdiff.reading.labels import origin_of
from funcdiff.reading.text.expressions import call, constant, name, public_name, text_of
from funcdiff.reading.text.literals import number
from funcdiff.reading.text.templates import TEMPLATES

_DEPTH: Final = 3
"""So many operations deep an expression goes into what has no name."""
_LONGEST: Final = 60


def phrase(program: Program, eq: Equation) -> str:
    """Return an equation as an expression: ``np.log(y + 1.0)``."""
    made = {v.number: e for e in program.equations for v in e.results}
    return _shorten(_equation(program, eq, made, _DEPTH))


def phrase_of(program: Program, atom: Atom, *, is_operand: bool = False) -> str:
    """Return a variable by its name, or as the expression that makes it.

    As an operand, the expression is in parentheses if it needs any.
    """
    made = {v.number: e for e in program.equations for v in e.results}
    expression = _atom(program, atom, made, _DEPTH)
    text = _shorten(expression)
    needs = isinstance(expression, ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp)
    return f"({text})" if is_operand and needs else text


def _shorten(expression: ast.expr) -> str:
    text = text_of(expression)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def _atom(program: Program, atom: Atom, made: dict[int, Equation], depth: int) -> ast.expr:
    if isinstance(atom, Literal):
        return number(atom.value, weak=True)
    word = origin_of(program, atom).name
    eq = made.get(atom.number)
    if word or eq is None or not depth:
        plain = word if word.isidentifier() else ""
        return name(plain or ("t" if eq else f"argument_{atom.number + 1}"))
    return _equation(program, eq, made, depth - 1)


def _equation(program: Program, eq: Equation, made: dict[int, Equation], depth: int) -> ast.expr:
    xs = [_atom(program, atom, made, depth) for atom in eq.operands]
    if eq.primitive.name in ("broadcast", "reshape"):
        return _drop_axes(xs[0], eq.operands[0].type.shape, eq.results[0].type.ndim)
    template = TEMPLATES.get(eq.primitive.name)
    found = template(eq, xs) if template is not None else None
    if found is not None:
        return found
    word = public_name(eq.operation.function) or f"np.{eq.primitive.name}"
    return call(word, *xs)


def _drop_axes(x: ast.expr, shape: Sequence[int], ndim: int) -> ast.expr:
    """Return ``x[1:2, :]``, of a shape, as ``x[1, :]`` where just such axes are dropped."""
    if not isinstance(x, ast.Subscript):
        return x
    parts = x.slice.elts if isinstance(x.slice, ast.Tuple) else [x.slice]
    plain = [_single(part) if n == 1 else None for part, n in zip(parts, shape, strict=False)]
    dropped = len(shape) - ndim
    if not dropped or sum(index is not None for index in plain) != dropped:
        return x
    chosen = [part if index is None else index for part, index in zip(parts, plain, strict=False)]
    return ast.Subscript(x.value, ast.Tuple(chosen) if len(chosen) > 1 else chosen[0])


def _single(part: ast.expr) -> ast.expr | None:
    """Return the index of a slice of one element."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    return constant(0) if part.lower is None else part.lower


def value_text(x: Any, index: tuple[int, ...] | None = None) -> str:
    """Return an element of an array, or what is to be said of all of it."""
    if index is not None:
        return f"{x[index]:.6g}" if np.ndim(x) else f"{x:.6g}"
    if not np.ndim(x):
        return f"{x:.6g}"
    shape = "x".join(map(str, np.shape(x)))
    if not x.size or x.dtype.kind == "c":
        return f"{x.dtype.name}[{shape}]"
    return f"{x.dtype.name}[{shape}] from {np.min(x):.6g} to {np.max(x):.6g}"


def first_of(flags: Any) -> tuple[int, ...]:
    """Return the index of the first element that is set."""
    shape: Sequence[int] = np.shape(flags)
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(flags)), shape)) if shape else ()
