"""Derivatives of functions that saturate keep their digits where the value is nearly constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from tests.properties.laws import examples

FD: Final[Any] = fd


def _tanh_derivatives(z: Any) -> tuple[Any, Any]:
    """By hand, in long doubles, of e = exp(-2|z|), which is small and has all digits.

    Near the imaginary axis, where there are poles and 1 + e would cancel, of cosh z.
    """
    z = np.clongdouble(z)
    e = np.exp(-2 * z if z.real > 0 else 2 * z)
    slope = 4 * e / (1 + e) ** 2 if abs(z.real) > 1 else 1 / np.cosh(z) ** 2
    return slope, -2 * np.tanh(z) * slope


def _tan_derivatives(z: Any) -> tuple[Any, Any]:
    slope, curvature = _tanh_derivatives(np.clongdouble(1j) * np.clongdouble(z))
    return slope, np.clongdouble(1j) * curvature


CASES: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, Any]], complex]] = {
    "tanh": (np.tanh, _tanh_derivatives, 1),
    "tan": (np.tan, _tan_derivatives, 1j),
}


class Case(NamedTuple):
    """A function by name, and a point at a height between -1 and 1."""

    name: str
    dtype: str
    height: float
    phase: float
    jitted: bool

    def check(self) -> None:
        f, derivatives, turn = CASES[self.name]
        top = 300 if self.dtype == "c16" else 40  # behind it, derivatives underflow
        z = np.array((top * self.height + 1j * self.phase) * turn).astype(self.dtype)[()]
        slope, curvature = derivatives(z)
        functions: list[tuple[Any, Any]] = [
            (fd.grad(f, holomorphic=True), slope),
            (fd.grad(fd.grad(f, holomorphic=True), holomorphic=True), curvature),
            (lambda z: fd.jvp(f, (z,), (np.ones_like(z)[()],))[1], slope),
        ]
        for function, expected in functions:
            found = (fd.jit(function) if self.jitted else function)(z)
            assert found.dtype == self.dtype
            tolerance = 64 * float(np.finfo(found.dtype).eps)
            assert abs(found - expected) <= tolerance * abs(expected)


cases = st.builds(
    Case,
    st.sampled_from(sorted(CASES)),
    st.sampled_from(["c8", "c16"]),
    st.floats(-1, 1, allow_subnormal=False),
    st.floats(-3, 3, allow_subnormal=False),
    st.booleans(),
)


@pytest.mark.slow
@examples(40, 2040)
@given(cases)
def test_complex_slopes_keep_their_digits(case: Case) -> None:
    case.check()


@pytest.mark.parametrize("z", [np.inf, -np.inf, 1e300 + 1j, complex(-np.inf, 2.0), -1e4 - 3e5j])
def test_at_infinity_the_slope_is_zero_and_nothing_warns(z: complex) -> None:
    assert fd.grad(np.tanh, holomorphic=True)(complex(z)) == 0
    assert fd.grad(np.tan, holomorphic=True)(complex(-complex(z).imag, complex(z).real)) == 0


def _slope(f: Any, x: Any) -> Any:
    return FD.jvp(f, (x,), (np.ones_like(x)[()],))[1]


class Quotient(NamedTuple):
    """Of exponentials: its logarithm has the slope `a` - `b`, and no curvature, wherever it is."""

    a: float
    b: float
    exponent: float
    dtype: str
    jitted: bool

    def check(self) -> None:
        top = 80 if self.dtype == "f4" else 600  # behind it, NumPy's values are subnormal or inf
        x = (top * self.exponent / max(abs(self.a), abs(self.b), abs(self.a - self.b), 1.0),)
        x = tuple(np.array(x, self.dtype))
        logarithms: list[tuple[Callable[[Any], Any], float]] = [
            (lambda x: np.log(np.exp(self.a * x) / np.exp(self.b * x)), self.a - self.b),
            (lambda x: np.log(1 / np.exp(self.b * x)), -self.b),
            (lambda x: np.log(np.reciprocal(np.exp(self.b * x))), -self.b),
        ]
        for f, slope in logarithms:
            functions: list[tuple[Any, float]] = [
                (FD.grad(f), slope),
                (partial(_slope, f), slope),
                (FD.grad(FD.grad(f)), 0.0),
                (FD.grad(partial(_slope, f)), 0.0),
            ]
            for function, expected in functions:
                found = (fd.jit(function) if self.jitted else function)(*x)
                size = max(abs(self.a), abs(self.b), 1.0)
                assert abs(found - expected) <= 64 * np.finfo(self.dtype).eps * size**2


quotients = st.builds(
    Quotient,
    st.floats(-3, 3, allow_subnormal=False),
    st.floats(-3, 3, allow_subnormal=False),
    st.floats(-1, 1, allow_subnormal=False),
    st.sampled_from(["f4", "f8"]),
    st.booleans(),
)


@examples(10, 2041)
@given(quotients)
def test_slopes_of_quotients_are_right_wherever_their_values_lie(case: Quotient) -> None:
    case.check()


@pytest.mark.parametrize("x", [1e160, -1e200, 1e300, np.float32(-1e20)])
def test_a_slope_is_right_where_the_square_of_the_argument_overflows(x: Any) -> None:
    np.testing.assert_allclose(FD.grad(np.arcsinh)(x), 1 / abs(x), rtol=1e-6)
    np.testing.assert_allclose(FD.jvp(np.arcsinh, (x,), (abs(x),))[1], 1, rtol=1e-6)
