"""Writes numbers and arrays as Python expressions that evaluate to the same bits."""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.types import FLOAT, INT, ArrayType
from funcdiff.reading.text.expressions import build, call, constant, items

_LARGEST: Final = 1 << 4096
"""Integers from which on Python refuses to write or read digits."""


def dtype_of(dtype: np.dtype[Any]) -> ast.expr:
    """Return a dtype as the class of its scalars: ``np.float32``.

    Examples
    --------
    >>> ast.unparse(dtype_of(np.dtype(bool)))
    'np.bool_'
    """
    word = "bool_" if dtype.kind == "b" else dtype.type.__name__
    return build(f"np.{word}")


def number(value: Any, *, weak: bool) -> ast.expr:
    """Return a NumPy scalar as text.

    Parameters
    ----------
    value
        The scalar.
    weak
        Whether it meets an array of its dtype, so that a Python number takes that dtype.

    Examples
    --------
    >>> [ast.unparse(number(np.float32(x), weak=True)) for x in (0.1, -0.0, np.inf)]
    ['0.1', '-0.0', 'np.inf']
    >>> ast.unparse(number(np.float32(0.1), weak=False))
    'np.float32(0.1)'
    """
    value = np.asarray(value)[()]
    plain = _python_number(value)
    if plain is None:
        return _from_bits(value)
    return plain if weak else build("f(x)", f=dtype_of(value.dtype), x=plain)


def _python_number(value: Any) -> ast.expr | None:
    """Return the Python number that converts to exactly this scalar, or None."""
    if value.dtype.kind in "biu":
        return constant(value.item())
    if value.dtype.kind == "c":
        parts = _python_number(value.real), _python_number(value.imag)
        if parts[0] is None or parts[1] is None:
            return None
        return build("complex(x, y)", x=parts[0], y=parts[1])
    if np.isnan(value):
        return build("np.nan") if _is_exact(value, np.nan) else None
    if np.isinf(value):
        return build("np.inf") if value > 0 else build("-np.inf")
    shortest = float(np.format_float_scientific(value, trim="0"))
    for candidate in (shortest, float(value)):
        if _is_exact(value, candidate):
            return constant(candidate)
    return None


def _is_exact(value: Any, candidate: float) -> bool:
    """Whether a Python number converts to exactly this scalar."""
    with np.errstate(all="ignore"):
        return _bytes(value.dtype.type(candidate)) == _bytes(value)


def _from_bits(value: Any) -> ast.expr:
    """Return what no Python number converts to: digits, or bytes, of the dtype itself."""
    kind = dtype_of(value.dtype)
    if value.dtype.kind == "f" and np.isfinite(value):
        digits = constant(np.format_float_scientific(value, trim="0"))
        return build("f(digits)", f=kind, digits=digits)
    raw = constant(value.tobytes())
    return build("np.frombuffer(raw, f)[0]", raw=raw, f=kind)


def filled(literal: Literal) -> ast.expr:
    """Return a literal as an array of its own, or as a scalar.

    Examples
    --------
    >>> zero = Literal(np.float64(0.0), ArrayType((2, 3), FLOAT))
    >>> ast.unparse(filled(zero))
    'np.zeros((2, 3))'
    """
    shape, dtype = literal.type.shape, literal.type.dtype
    if not shape:
        return number(literal.value, weak=False)
    for value, function in ((0, "np.zeros"), (1, "np.ones")):
        if _bytes(literal.value) == _bytes(dtype.type(value)):
            return call(function, shape_of(shape), *([] if dtype == FLOAT else [dtype_of(dtype)]))
    return call("np.full", shape_of(shape), number(literal.value, weak=dtype == FLOAT))


def shape_of(shape: tuple[int, ...]) -> ast.expr:
    """Return a shape, of one axis as its length."""
    return constant(shape[0] if len(shape) == 1 else shape)


def repeated(literal: Literal) -> ast.expr:
    """Return a literal as the interpreter has it: one number, repeated without memory."""
    value = number(literal.value, weak=literal.type.dtype == FLOAT)
    if not literal.type.shape:
        return number(literal.value, weak=False)
    return call("np.broadcast_to", value, constant(literal.type.shape))


def _bytes(value: Any) -> bytes:
    """Return the bits of a scalar, without padding."""
    value = np.asarray(value)[()]
    return Literal(value, ArrayType((), value.dtype)).bits


def array(values: Any) -> ast.expr:
    """Return a concrete array as text, element by element.

    Examples
    --------
    >>> ast.unparse(array(np.array([1.0, -0.0])))
    'np.array([1.0, -0.0])'
    >>> ast.unparse(array(np.array([[1], [2]], np.int8)))
    'np.array([[1], [2]], np.int8)'
    """
    values = np.asarray(values)
    if not values.shape:
        return number(values[()], weak=False)
    found = regular(values)
    if found is not None:
        return found
    if values.flags.f_contiguous and not values.flags.c_contiguous:  # sums follow the layout
        return build("x.T", x=array(values.T))
    nested = _nested(values)
    plain = values.size and values.dtype in (FLOAT, np.dtype(np.int64), np.dtype(bool))
    if plain and values.dtype == np.asarray(values.tolist()).dtype:
        return call("np.array", nested)
    if not values.size:
        return call("np.empty", constant(values.shape), dtype_of(values.dtype))
    return call("np.array", nested, dtype_of(values.dtype))


def regular(values: Any) -> ast.expr | None:
    """Return how NumPy makes an array that follows a rule; None for others.

    Examples
    --------
    >>> [ast.unparse(regular(x)) for x in (np.eye(5), np.ones((2, 3)), np.arange(4.0))]
    ['np.eye(5)', 'np.ones((2, 3))', 'np.arange(4.0)']
    """
    values = np.asarray(values)
    if values.size < 2 or not values.flags.c_contiguous:
        return None
    kind = [] if values.dtype == FLOAT else [dtype_of(values.dtype)]
    same = np.full(values.shape, values.flat[0])
    if _have_same_bits(values, same):
        return filled(Literal(values.flat[0], ArrayType(values.shape, values.dtype)))
    if values.ndim == 2 and _have_same_bits(values, np.eye(*values.shape, dtype=values.dtype)):
        shape = values.shape[:1] if values.shape[0] == values.shape[1] else values.shape
        words = {"dtype": kind[0]} if kind else {}
        return call("np.eye", *map(constant, shape), **words)
    if values.ndim == 1 and values.dtype in (INT, FLOAT):
        stop = values.dtype.type(values.size).item()
        if _have_same_bits(values, np.arange(stop)):
            return call("np.arange", constant(stop))
    return None


def _have_same_bits(x: Any, y: Any) -> bool:
    """Whether arrays of numbers have the same bits; padding, which longdouble has, may differ."""
    if x.dtype.kind in "fc" and x.dtype.itemsize not in (2, 4, 8, 16):
        return False
    return bool(x.dtype == y.dtype and x.tobytes() == y.tobytes())


def _nested(values: Any) -> ast.expr:
    if not values.shape:
        return number(values[()], weak=True)
    return ast.List([_nested(row) for row in values], ast.Load())


def python_value(value: Any) -> ast.expr | None:
    """Return a value of the user's as text that gives it back; None if there is none.

    Types are exact: what a class of the user's prints is no text to be run.

    Examples
    --------
    >>> ast.unparse(python_value(("a", -1, np.float32(2.0))))
    "('a', -1, np.float32(2.0))"
    >>> python_value(object()) is None
    True
    """
    kind = type(value)
    if value is None or value is ... or kind in (bool, str, bytes):
        return ast.Constant(value)
    if kind in (float, complex):
        return number(np.asarray(value)[()], weak=True)
    if kind in (np.str_, np.bytes_):
        return call(f"np.{kind.__name__}", ast.Constant(value.item()))
    if kind is int:
        return constant(value) if abs(value) < _LARGEST else None
    if kind.__module__ == "numpy" and isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return number(value, weak=False)
    if kind in (range, slice):
        return _call_of(kind, (value.start, value.stop, value.step))
    if kind in (tuple, frozenset):
        parts = [python_value(part) for part in value]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return items(known) if kind is tuple else call("frozenset", items(known))
    return None


def _call_of(kind: type, values: tuple[Any, ...]) -> ast.expr | None:
    parts = [python_value(part) for part in values]
    return call(kind.__name__, *[p for p in parts if p is not None]) if None not in parts else None
