"""Expressions of Python numbers and arrays: traced, they have NumPy's values and dtypes."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import funcdiff as fd
from tests.properties.laws import SLOW, examples

Expression = Any
"""A name, a constant, or an operation with its operands: ``("+", "a", ("abs", "b"))``."""

ARRAYS: Final[dict[str, Any]] = {
    "float32": np.array([0.5, -1.5], np.float32),
    "float16": np.array([0.25], np.float16),
    "complex64": np.array([0.5 + 1j, -2j], np.complex64),
    "int8": np.array([1, -3], np.int8),
    "uint16": np.array([1, 3], np.uint16),
    "bool": np.array([True, False]),
    "np.float32": np.float32(1.5),
    "np.float64": np.float64(-0.75),
    "np.int64": np.int64(2),
    "np.bool": np.bool_(True),
}
NUMBERS: Final[dict[str, Any]] = {"a": 0.75, "b": 3, "c": 1.5 - 0.5j}
CONSTANTS: Final = (0, 1, 2, -3, 7, 0.5, -1.25, 2.0, 1j, True, False)

COMPARISONS: Final[dict[str, Callable[..., Any]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
ARITHMETIC: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "divmod": lambda x, y: sum(divmod(x, y)),
}  # fmt: skip
BITS: Final[dict[str, Callable[..., Any]]] = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
POWERS: Final[dict[str, Callable[..., Any]]] = {"**": operator.pow}
BINARY: Final = {**COMPARISONS, **ARITHMETIC, **BITS, **POWERS}


def _conjugate(x: Any) -> Any:
    return x.conjugate()


UNARY: Final[dict[str, Callable[..., Any]]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "~": operator.invert,
    "real": lambda x: x.real, "imag": lambda x: x.imag, "conjugate": _conjugate, "round": round,
}  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, depth: int) -> Expression:
    """Draw an expression, mostly of numbers."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([*NUMBERS, *NUMBERS, *CONSTANTS, *ARRAYS]))
    if draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(sorted(UNARY))), draw(expressions(depth - 1))
    tables = (COMPARISONS, ARITHMETIC, ARITHMETIC, BITS, POWERS)
    name = draw(st.sampled_from(sorted(draw(st.sampled_from(tables)))))
    return name, draw(expressions(depth - 1)), draw(expressions(depth - 1))


class UndefinedError(Exception):
    """Python raises, or leaves the real numbers, where NumPy has a value."""


def computed(expression: Expression, numbers: dict[str, Any], *, checked: bool = False) -> Any:
    """Evaluate an expression; if `checked`, raise where Python and NumPy differ by design."""
    if not isinstance(expression, tuple):
        named = {**ARRAYS, **numbers}
        return named[expression] if isinstance(expression, str) else expression
    name, *operands = expression
    values = [computed(x, numbers, checked=checked) for x in operands]
    if checked:
        _check(name, *values)
    return (BINARY[name] if len(values) == 2 else UNARY[name])(*values)


def _check(name: str, x: Any, y: Any = 1) -> None:
    scalar = isinstance(x, int | float | complex) and isinstance(y, int | float | complex)
    if name in ("/", "//", "%", "divmod") and np.any(np.asarray(y) == 0):
        raise UndefinedError
    if name in ("<<", ">>") and not np.all((np.real(y) >= 0) & (np.real(y) < 7)):
        raise UndefinedError
    if name == "**":
        whole = np.asarray(y).dtype.kind in "biu"
        if np.any(np.real(x) <= 0) and not (whole and np.all(np.real(y) > 0)):
            raise UndefinedError
        if not np.all(np.abs(y) < 8):
            raise UndefinedError
    if scalar and max(abs(x), abs(y)) > 1e8:
        raise UndefinedError


def eagerly(f: Callable[..., Any], *args: Any) -> Any:
    """Call a function on traced numbers that have values."""
    g: Any = lambda one: (one, fd.checkpoint(f)(*args))
    return fd.vjp(g, 1.0, has_aux=True)[2]


def _scanned(f: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a body on numbers of the function around it."""
    ys = fd.scan(lambda c, _: (c, f(*args)), 0.0, np.arange(2.0))[1]
    return ys if isinstance(ys, bool) else ys[1]


CALLS: Final[dict[str, Callable[..., Any]]] = {
    "eagerly": eagerly,
    "jit": lambda f, *args: fd.jit(f)(*args),
    "jvp": lambda f, a, *others: fd.jvp(lambda a: f(a, *others), (a,), (1.0,))[0],
    "jvp of jvp": lambda f, a, *others: fd.jvp(
        lambda a: fd.jvp(lambda a: f(a, *others), (a,), (1.0,))[0], (a,), (1.0,)
    )[0],
    "vmap": lambda f, *args: fd.vmap(
        lambda _, *xs: f(*xs), in_axes=(0, None, None, None), out_axes=None
    )(np.ones(2), *args),
    "scan": lambda f, *args: fd.jit(lambda *xs: _scanned(f, *xs))(*args),
}


def require_python(expression: Expression) -> None:
    """Require of traced numbers what Python and NumPy make of plain ones."""

    def f(a: Any, b: Any, c: Any) -> Any:
        return computed(expression, {"a": a, "b": b, "c": c})

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = computed(expression, NUMBERS, checked=True)
        except (UndefinedError, OverflowError, ZeroDivisionError):
            return
        except (TypeError, ValueError):
            for call in CALLS.values():
                with pytest.raises((TypeError, ValueError)):
                    call(f, *NUMBERS.values())
            return
        for name, call in CALLS.items():
            if name in ("jit", "scan") and _has_traced_power(expression):
                continue
            if name.startswith("jvp") and type(expected) is bool and not _has("a", expression):
                continue  # what is no number has no derivative
            found = call(f, *NUMBERS.values())
            wanted = np.asarray(expected)
            assert np.asarray(found).dtype == wanted.dtype, (name, expression)
            assert np.shape(found) == wanted.shape
            eps = np.finfo(wanted.dtype).eps if wanted.dtype.kind in "fc" else 0
            np.testing.assert_allclose(found, wanted, rtol=64 * eps, atol=64 * eps)


def _has(name: str, expression: Expression) -> bool:
    """Whether a number is in an expression."""
    if isinstance(expression, tuple):
        return any(_has(name, operand) for operand in expression[1:])
    return bool(expression == name)


def _has_traced_power(expression: Expression) -> bool:
    """Whether the type of a power depends on the value of an exponent."""
    if not isinstance(expression, tuple):
        return False
    name, *operands = expression
    return (name == "**" and operands[1] not in CONSTANTS) or any(map(_has_traced_power, operands))


@pytest.mark.slow
@examples(20, 220)
@given(expressions(3 if SLOW else 2))
@example(("*", ("*", (">", "a", 0), "a"), "float32"))
@example(("*", "a", ("-", (">", "a", 0), ("<", "a", 0))))
@example(("*", ("neg", (">", "a", 0)), "int8"))
def test_expressions_of_numbers_and_arrays_have_numpys_values_and_dtypes(
    expression: Expression,
) -> None:
    require_python(expression)
