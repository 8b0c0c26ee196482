"""Writes numbers and arrays as Python expressions that evaluate to the same bits."""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.types import BOOL, FLOAT, INT, ArrayType
from funcdiff.pytree.bits import scalar_bits
from funcdiff.reading.text.expressions import build, call, constant, items

_LARGEST: Final = 1 << 4096
"""Integers from which on Python refuses to write or read digits."""


def dtype_of(dtype: np.dtype[Any]) -> ast.expr:
    """Return a dtype as the class of its scalars: ``np.float32``.

    >>> ast.unparse(dtype_of(np.dtype(bool)))
    'np.bool_'
    """
    word = "bool_" if dtype.kind == "b" else dtype.type.__name__
    return build(f"np.{word}")


def number(value: Any, *, weak: bool) -> ast.expr:
    """Return a NumPy scalar as text; a weak one meets an array of its dtype, so a float will do.

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
        return scalar_bits(value.dtype.type(candidate)) == scalar_bits(value)


def _from_bits(value: Any) -> ast.expr:
    """Return what no Python number converts to: digits, or bytes, of the dtype itself."""
    kind = dtype_of(value.dtype)
    if value.dtype.kind == "f" and np.isfinite(value):
        digits = constant(np.format_float_scientific(value, trim="0"))
        return build("f(digits)", f=kind, digits=digits)
    raw = constant(value.tobytes())
    return build("np.frombuffer(raw, f)[0]", raw=raw, f=kind)


def full_array(literal: Literal) -> ast.expr:
    """Return a literal as an array of its own, or as a scalar.

    >>> zero = Literal(np.float64(0.0), ArrayType((2, 3), FLOAT))
    >>> ast.unparse(full_array(zero))
    'np.zeros((2, 3))'
    """
    type_ = literal.type
    if not type_.shape:
        return number(literal.value, weak=False)
    for value, function in ((0, "np.zeros"), (1, "np.ones")):
        if literal.bits == scalar_bits(type_.dtype.type(value)):
            return allocation(function, type_)
    return call("np.full", _shape(type_), number(literal.value, weak=type_.dtype == FLOAT))


def allocation(function: str, type_: ArrayType) -> ast.expr:
    """Return a call of a function of a shape and a dtype, which is that of floats by default."""
    return call(function, _shape(type_), *([] if type_.dtype == FLOAT else [dtype_of(type_.dtype)]))


def _shape(type_: ArrayType) -> ast.expr:
    return constant(type_.shape[0] if type_.ndim == 1 else type_.shape)


def broadcast_array(literal: Literal) -> ast.expr:
    """Return a literal as the interpreter has it: one number, repeated without memory."""
    value = number(literal.value, weak=literal.type.dtype == FLOAT)
    if not literal.type.shape:
        return number(literal.value, weak=False)
    return call("np.broadcast_to", value, constant(literal.type.shape))


def array(values: Any) -> ast.expr:
    """Return a concrete array as text, element by element.

    >>> ast.unparse(array(np.array([1.0, -0.0])))
    'np.array([1.0, -0.0])'
    >>> ast.unparse(array(np.array([[1], [2]], np.int8)))
    'np.array([[1], [2]], np.int8)'
    """
    values = np.asarray(values)
    if not values.shape:
        return number(values[()], weak=False)
    if not values.size:
        return allocation("np.empty", ArrayType(values.shape, values.dtype))
    found = regular(values)
    if found is not None:
        return found
    if values.flags.f_contiguous and not values.flags.c_contiguous:  # sums follow the layout
        return build("x.T", x=array(values.T))
    plain = values.dtype in (FLOAT, INT, BOOL) and values.dtype == np.array(values.tolist()).dtype
    return call("np.array", _nest(values), *([] if plain else [dtype_of(values.dtype)]))


def regular(values: Any) -> ast.expr | None:
    """Return how NumPy makes an array that follows a rule; None for others.

    >>> [ast.unparse(regular(x)) for x in (np.eye(5), np.ones((2, 3)), np.arange(4.0))]
    ['np.eye(5)', 'np.ones((2, 3))', 'np.arange(4.0)']
    """
    values = np.asarray(values)
    if values.size < 2 or not values.flags.c_contiguous:
        return None
    same = np.full(values.shape, values.flat[0])
    if _have_same_bits(values, same):
        return full_array(Literal(values.flat[0], ArrayType(values.shape, values.dtype)))
    if values.ndim == 2 and _have_same_bits(values, np.eye(*values.shape, dtype=values.dtype)):
        shape = values.shape[:1] if values.shape[0] == values.shape[1] else values.shape
        words = {} if values.dtype == FLOAT else {"dtype": dtype_of(values.dtype)}
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


def _nest(values: Any) -> ast.expr:
    if not values.shape:
        return number(values[()], weak=True)
    return ast.List([_nest(row) for row in values], ast.Load())


def python_value(value: Any) -> ast.expr | None:
    """Return the text of a Python or NumPy value that evaluates to it; None if there is none.

    Types are exact: what a class of the user's prints is no text to be run.

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
    if kind not in (range, slice, tuple, frozenset):
        return None
    inner = (value.start, value.stop, value.step) if kind in (range, slice) else value
    parts = [part for part in map(python_value, inner) if part is not None]
    if len(parts) < len(inner):
        return None
    if kind is tuple:
        return items(parts)
    return call(kind.__name__, *(parts if kind is not frozenset else [items(parts)]))
