"""Dtypes of results: those of NumPy for every dtype and Python number, of traced operands too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.numpy.border.dispatch import functions, ufuncs
from funcdiff.ops.families import by_ufunc
from tests.properties.laws import examples

DTYPES: Final = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
NUMBERS: Final = (0.5, 2, 1 - 1j)
SHAPES: Final[tuple[tuple[int, ...], ...]] = ((), (0,), (1,), (3,))

_VALUES_DECIDE: Final = {
    "arange", "argwhere", "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray",
    "bincount", "common_type", "copyto", "eig", "eigvals", "empty", "eye", "flatnonzero",
    "fill_diagonal", "full", "identity", "ix_", "lexsort", "matrix_rank", "nonzero", "ones", "poly",
    "place", "put", "putmask", "real_if_close", "require", "roots", "save", "savez", "tri",
    "trim_zeros", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "where", "zeros",
}  # fmt: skip
"""Functions of which the shape, the number of results or the dtype depends on values."""

UFUNCS: Final = sorted(
    {u for u in (*by_ufunc, *ufuncs) if u.signature is None}, key=lambda u: u.__name__
)
UNARY: Final = sorted(
    (f for f in functions() if f.__name__ not in _VALUES_DECIDE),
    key=lambda f: (str(f.__module__), f.__name__),
)


@st.composite
def operands(draw: st.DrawFn) -> Any:
    """Draw an array of any dtype, a NumPy scalar, or a Python number."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(NUMBERS))
    x = np.ones(draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES)))
    return x[()]


def eagerly(f: Callable[..., Any], *args: Any) -> Any:
    """Call a function on traced numbers and arrays that have values."""
    g: Any = lambda one: (one, fd.checkpoint(lambda *xs: f(*xs))(*args))
    return fd.vjp(g, 1.0, has_aux=True)[2]


def types(result: Any) -> list[Any]:
    """Return shapes and dtypes of what a function returns."""
    leaves = result if isinstance(result, tuple | list) else [result]
    return [(np.shape(y), np.asarray(y).dtype) for y in leaves]


def require_dtypes(f: Callable[..., Any], *xs: Any) -> None:
    """Require NumPy's shapes and dtypes of traced operands, and its refusals."""
    name = getattr(f, "__name__", "")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        calls = (eagerly, lambda f, *xs: fd.jit(lambda *xs: f(*xs))(*xs))
        try:
            expected = types(f(*xs))
        except Exception:
            return
        for call in calls:
            assert types(call(f, *xs)) == expected, (name, xs)


@examples(20, 500)
@given(st.sampled_from([u for u in UFUNCS if u.nin == 1]), operands())
@example(np.conjugate, np.bool_(True))
def test_a_ufunc_of_one_operand_returns_numpys_dtype(ufunc: np.ufunc, x: Any) -> None:
    require_dtypes(ufunc, x)


@examples(30, 750)
@given(st.sampled_from([u for u in UFUNCS if u.nin == 2]), operands(), operands())
@example(np.ldexp, 1, np.ones(3, np.int64))
def test_a_ufunc_of_two_operands_returns_numpys_dtype(ufunc: np.ufunc, x: Any, y: Any) -> None:
    require_dtypes(ufunc, x, y)


@examples(30, 1150)
@given(st.sampled_from(UNARY), operands())
@example(np.angle, np.ones(3, np.bool_))
def test_a_function_of_an_array_returns_numpys_dtype(f: Callable[..., Any], x: Any) -> None:
    require_dtypes(f, x)
