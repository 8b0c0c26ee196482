"""Elementwise functions, of one argument and of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.patterns.pattern import (
    Argument,
    Pattern,
    complex_,
    flags,
    integers,
    pattern,
    positive,
    real,
)


def _named(name: str, *arguments: Argument, **options: Any) -> Pattern:
    return pattern(name, lambda np, *xs: getattr(np, name)(*xs), *arguments, **options)


def _complex(name: str, *arguments: Argument, **options: Any) -> Pattern:
    wrong = "JAX: the other sign in the left half plane" if name == "arccosh" else ""
    return pattern(
        f"{name} of complex numbers",
        lambda np, *xs: getattr(np, name)(*xs),
        *arguments,
        wrong=wrong,
        **options,
    )


ANYWHERE = (
    "abs", "absolute", "fabs", "positive", "negative", "conj", "conjugate", "real", "imag", "angle",
    "sign", "exp", "exp2", "expm1", "square", "cbrt", "reciprocal", "sin", "cos", "sinh",
    "cosh", "tanh", "arcsinh", "asinh", "arctan", "atan", "sinc", "i0", "deg2rad", "rad2deg",
    "degrees", "radians", "floor", "ceil", "trunc", "rint", "round", "fix", "nan_to_num",
    "modf", "frexp", "spacing", "real_if_close",
)  # fmt: skip
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt")
UNIT = ("tan", "arcsin", "asin", "arccos", "acos", "arctanh", "atanh")
ABOVE_ONE = ("arccosh", "acosh")
OF_COMPLEX = (
    "abs", "positive", "negative", "conj", "real", "imag", "angle", "exp", "exp2", "expm1", "log",
    "log2", "log10", "log1p", "sqrt", "square", "reciprocal", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sinc", "nan_to_num",
)  # fmt: skip
PAIRS = (
    "add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "mod", "remainder",
    "fmod", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "arctan2", "atan2",
    "hypot", "copysign", "heaviside", "nextafter", "divmod",
)  # fmt: skip
POWERS = ("power", "pow", "float_power")
COMPLEX_PAIRS = ("add", "subtract", "multiply", "divide", "power")
OF_NO_DERIVATIVE = (
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and",
    "logical_or", "logical_xor",
)  # fmt: skip


def _masked(comparison: str) -> Callable[..., Any]:
    return lambda np, x, y: np.where(getattr(np, comparison)(x, y), x * y, x - y)


PATTERNS: list[Pattern] = [
    *(_named(name, real(3, 4)) for name in ANYWHERE),
    *(_named(name, positive(3, 4)) for name in POSITIVE),
    *(_named(name, real(3, 4, low=-0.8, high=0.7)) for name in UNIT),
    *(_named(name, real(3, 4, low=1.3, high=3.0)) for name in ABOVE_ONE),
    *(_complex(name, complex_(3, 2)) for name in OF_COMPLEX),
    *(_named(name, real(3, 4), positive(4)) for name in PAIRS),
    *(
        _named(name, positive(3, 1), real(2), large=(positive(300, 1), real(300)))
        for name in POWERS
    ),
    *(
        _complex(name, complex_(3, 1), complex_(2), large=(complex_(300, 1), complex_(300)))
        for name in COMPLEX_PAIRS
    ),
    *(
        pattern(f"where({name})", _masked(name), real(3, 4), real(3, 4))
        for name in OF_NO_DERIVATIVE
    ),
    pattern("angle(deg=True)", lambda np, x: np.angle(x, deg=True), complex_(5)),
    pattern("round(decimals=1)", lambda np, x: x * np.round(x, 1), real(5)),
    pattern(
        "nan_to_num(nan=, posinf=)",
        lambda np, x: np.nan_to_num(
            np.where(x > 1, np.inf, x * np.where(x < -1, np.nan, 1)), nan=1.0, posinf=2.0
        ),
        real(6),
    ),
    pattern("ldexp", lambda np, x, n: np.ldexp(x, n), real(4), integers(4)),
    pattern("clip", lambda np, x: np.clip(x, -1.0, 0.5), real(3, 4)),
    pattern(
        "clip(min, max) of arrays", lambda np, x, a, b: np.clip(x, a, b), real(3, 4),
        real(4, low=-1.0, high=-0.5), real(3, 1, low=0.5, high=1.0),
    ),
    pattern("clip(x, None, b)", lambda np, x, b: np.clip(x, None, b), real(3, 4), real(4)),
    pattern("clip(min=, max=)", lambda np, x: np.clip(x, min=-1.0, max=0.5), real(3, 4)),
    pattern("x ** 3", lambda np, x: x**3, real(5)),
    pattern("x ** -2", lambda np, x: x**-2, positive(5)),
    pattern("x ** 0.5", lambda np, x: x**0.5, positive(5)),
    pattern("2 ** x", lambda np, x: 2**x, real(5)),
    pattern("x ** n", lambda np, x, n: x**n, real(5), integers(5, low=1, high=4)),
    pattern(
        "bit operations as masks", lambda np, x, n, m: np.where((n & m) ^ (n | m) > 1, x, x * x),
        real(5), integers(5), integers(5),
    ),
    pattern(
        "isfinite, isinf, isnan, signbit as masks",
        lambda np, x: np.where(
            np.isfinite(x) & ~np.isinf(x) & ~np.isnan(x) & np.signbit(x), x * x, x
        ),
        real(5),
    ),
    pattern("where", lambda np, m, x, y: np.where(m, x, y), flags(3, 4), real(4), real(3, 1)),
    pattern(
        "multiply(dtype=float64)", lambda np, x, y: np.multiply(x, y, dtype=np.float64), real(4),
        real(4),
    ),
]  # fmt: skip
