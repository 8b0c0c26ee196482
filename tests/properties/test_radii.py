"""Random functions of a radius: at 0 their derivatives are those of their power series."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import funcdiff as fd
from tests.properties.laws import SLOW, examples

transforms: Any = fd
Expression = Any
"""``"r"``, its square ``"s"``, a number, or an operation with its operands."""

ORDER: Final = 4
CONSTANTS: Final = (1.0, 2.0, -1.0, 0.5, 1.7, -0.3)

UNARY: Final[dict[str, tuple[Callable[..., Any], Callable[[float], list[float]]]]] = {
    "sin": (np.sin, lambda c: [np.sin(c + k * np.pi / 2) for k in range(ORDER + 1)]),
    "cos": (np.cos, lambda c: [np.cos(c + k * np.pi / 2) for k in range(ORDER + 1)]),
    "exp": (np.exp, lambda c: [np.exp(c)] * (ORDER + 1)),
    "square": (np.square, lambda c: [c * c, 2 * c, 2, 0, 0]),
    "cube": (lambda x: x**3, lambda c: [c**3, 3 * c**2, 6 * c, 6, 0]),
    "reciprocal": (
        lambda x: 1 / x, lambda c: [(-1) ** k * factorial(k) / c ** (k + 1) for k in range(5)]
    ),
}  # fmt: skip
"""Functions, and their derivatives at a point."""
BINARY: Final[dict[str, Callable[..., Any]]] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
}  # fmt: skip

RADII: Final[dict[str, Callable[[Any], Any]]] = {
    "norm": lambda x: np.linalg.norm(x, axis=-1),
    "vector_norm": lambda x: np.linalg.vector_norm(x, axis=-1),
    "sqrt": lambda x: np.sqrt(np.sum(x * x, axis=-1)),
    "power": lambda x: np.sum(x**2, -1) ** 0.5,
    "hypot": lambda x: np.hypot(x[..., 0], x[..., 1]),
    "abs": lambda x: np.abs(x[..., 0] + 1j * x[..., 1]),
    "mean": lambda x: np.sqrt(np.mean(2 * x**2, axis=-1)),
}
DISTANCES: Final[dict[str, Callable[[Any], Any]]] = {
    "abs": np.abs, "fabs": np.fabs, "sqrt": lambda x: np.sqrt(x * x),
    "product": lambda x: np.abs(x * 1j),
}  # fmt: skip
GUARDS: Final[dict[str, Callable[[Any], Any]]] = {
    "maximum": lambda r: np.maximum(r, 0), "scaled": lambda r: 2 * np.maximum(0.0, r / 2),
    "fmax": lambda r: np.fmax(-0.0, r), "where": lambda r: np.where(r > 0, r, 0),
    "zero": lambda r: np.where(r == 0, 0, r), "clip": lambda r: np.clip(r, 0, None),
    "modulus": lambda r: (r + np.abs(r)) / 2, "none": lambda r: r,
}  # fmt: skip
"""What leaves a radius as it is."""
SHAPES: Final = ((), (0,), (1,), (3,), (2, 1), (2, 2))


def value(e: Expression, r: Any, s: Any) -> Any:
    """Evaluate an expression by NumPy."""
    if not isinstance(e, tuple):
        return {"r": r, "s": s}.get(e, e)
    name, *operands = e
    function = UNARY[name][0] if len(operands) == 1 else BINARY[name]
    return function(*(value(x, r, s) for x in operands))


def series(e: Expression) -> Any:
    """Return the power series of an expression at 0."""
    if not isinstance(e, tuple):
        degree = {"r": 1, "s": 2}.get(e, 0)
        return (1.0 if degree else e) * np.eye(ORDER + 1)[degree]
    name, *operands = e
    xs = [series(x) for x in operands]
    if len(xs) == 2:
        product = np.convolve(*xs)[: ORDER + 1]
        return product if name == "*" else BINARY[name](*xs)
    (x,) = xs
    rest = x - x[0] * np.eye(ORDER + 1)[0]
    total, power = np.zeros(ORDER + 1), np.eye(ORDER + 1)[0]
    assume(name != "reciprocal" or abs(x[0]) > 0.1)
    for k, derivative in enumerate(UNARY[name][1](x[0])):
        total = total + derivative / factorial(k) * power
        power = np.convolve(power, rest)[: ORDER + 1]
    return total


def mirrored(e: Expression) -> Expression:
    """Return the expression of -r."""
    if not isinstance(e, tuple):
        return ("*", -1.0, "r") if e == "r" else e
    return e[0], *map(mirrored, e[1:])


@st.composite
def expressions(draw: st.DrawFn, depth: int) -> Expression:
    """Draw an expression of the radius."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from(("r", "r", "s", *CONSTANTS)))
    if draw(st.booleans()):
        return draw(st.sampled_from(sorted(UNARY))), draw(expressions(depth - 1))
    name = draw(st.sampled_from(sorted(BINARY)))
    return name, draw(expressions(depth - 1)), draw(expressions(depth - 1))


@st.composite
def flat(draw: st.DrawFn, depth: int) -> Expression:
    """Draw an expression that is even in the radius, or any."""
    e = draw(expressions(depth))
    kind = draw(st.sampled_from(("any", "sum", "product", "cosine", "of the square")))
    if kind == "sum":
        return "+", e, mirrored(e)
    if kind == "product":
        return "*", e, mirrored(e)
    if kind == "cosine":
        return "cos", ("-", e, mirrored(e))
    return ("+", e, ("*", 1.7, ("square", "r"))) if kind == "of the square" else e


def require_series(
    e: Expression, radius: str, guard: str, shape: tuple[int, ...], dtype: Any
) -> None:
    """Require the Hessian at rows of zeros, and between them that of the chain rule.

    With a complex dtype the function is computed in complex numbers.
    """
    number = np.dtype(dtype).type(1)
    dtype = number.real.dtype
    c = series(e)
    assume(np.all(np.isfinite(c)) and np.max(np.abs(c)) < 1e3)
    slope_vanishes = abs(c[1]) < 1e-12
    rng = np.random.default_rng(len(str(e)))
    x = rng.normal(size=(*shape, 2)) * rng.integers(0, 2, (*shape, 1))
    x = x.astype(dtype)

    def f(x: Any) -> Any:
        r = number * GUARDS[guard](RADII[radius](x))
        return np.sum(
            np.real(value(e, r, r * r) * (1 if number.dtype == dtype else 1 - 0.5j) + 0 * r)
        )

    eps = float(np.finfo(dtype).eps)
    rows = x.reshape(-1, 2)
    zero = np.all(rows == 0, axis=-1)
    v = rng.normal(size=x.shape).astype(dtype)
    pushed = transforms.jvp(transforms.grad(f), (x,), (v,))[1].reshape(-1, 2)
    directions = v.reshape(-1, 2)
    if slope_vanishes:
        scale = 1 + np.max(np.abs(c))
        np.testing.assert_allclose(
            pushed[zero], 2 * c[2] * directions[zero], rtol=1e4 * eps, atol=1e3 * eps * scale
        )
    np.testing.assert_array_equal(fd.grad(f)(x).reshape(-1, 2)[zero], 0 * rows[zero])
    if dtype == np.float64:
        _require_chain_rule(e, rows[~zero], directions[~zero], pushed[~zero])

        def curvature(x: Any) -> Any:
            return transforms.jvp(transforms.grad(f), (x,), (v,))[1]

        calls: list[Any] = [curvature] * 8 + [fd.jit(curvature)] * 3
        for call in calls:
            again = call(x)
            assert (again.shape, again.dtype) == (x.shape, x.dtype)
            np.testing.assert_allclose(
                again.reshape(-1, 2), pushed, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(c)))
            )
        reverse = transforms.grad(lambda x: np.sum(transforms.grad(f)(x) * v))(x)
        np.testing.assert_allclose(
            reverse.reshape(-1, 2), pushed, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(c)))
        )


def _require_chain_rule(e: Expression, x: Any, v: Any, found: Any) -> None:
    """Require g″·n·nᵀ + g′/r·(1 - n·nᵀ) where the radius is not 0."""
    for row, t, y in zip(x, v, found, strict=True):
        r = float(np.hypot(*row))
        n = row / r
        first, second = (
            fd.derivative(lambda r: value(e, r, r * r) + 0 * r, n=k)(r) for k in (1, 2)
        )
        wanted = second * n * (n @ t) + first / r * (t - n * (n @ t))
        scale = 1 + abs(first) / r + abs(second)
        assume(scale < 1e6)
        np.testing.assert_allclose(y, wanted, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.slow
@examples(5, 145)
@given(
    flat(3 if SLOW else 2),
    st.sampled_from(sorted(RADII)),
    st.sampled_from(sorted(GUARDS)),
    st.sampled_from(SHAPES),
    st.sampled_from((np.float64, np.float32, np.complex128)),
)
@example(("square", "r"), "norm", "where", (3,), np.float64)
@example(
    ("cos", ("-", ("*", ("cos", 1.0), ("+", "r", 1.0)), ("*", ("cos", 1.0), ("-", 1.0, "r")))),
    "abs", "none", (), np.float64,
)  # fmt: skip
@example(
    ("cos", ("+", ("*", "r", ("cos", 1.7)), ("*", ("cos", 1.7), "r"))),
    "abs",
    "fmax",
    (),
    np.float64,
)
@example(
    ("*", ("+", 1.0, ("*", 1.7, "r")), ("exp", ("*", -1.7, "r"))),
    "sqrt",
    "maximum",
    (3,),
    np.float64,
)
def test_a_function_of_a_norm_has_the_hessian_of_its_series(
    e: Expression, radius: str, guard: str, shape: tuple[int, ...], dtype: Any
) -> None:
    with np.errstate(all="ignore"):
        require_series(e, radius, guard, shape, dtype)


@settings(max_examples=settings().max_examples // 2)
@given(flat(2), st.sampled_from(sorted(DISTANCES)))
@example(("square", "r"), "abs")
@example(("*", "r", ("+", "r", "s")), "fabs")
@example(("+", ("cube", ("-", "r", 1.0)), ("cube", ("-", ("*", -1.0, "r"), 1.0))), "abs")
def test_a_function_of_a_distance_on_a_line_has_the_derivatives_of_its_series(
    e: Expression, distance: str
) -> None:
    c = series(e)
    assume(np.all(np.isfinite(c)) and np.max(np.abs(c)) < 1e3)

    def f(x: Any) -> Any:
        r = DISTANCES[distance](x)
        return value(e, r, r * r if distance == "product" else x * x) + 0 * x

    with np.errstate(all="ignore"):
        assert fd.grad(f)(0.0) == 0
        if abs(c[1]) < 1e-12:
            for second in (fd.derivative(f, n=2), fd.grad(fd.grad(f)), fd.jit(fd.grad(fd.grad(f)))):
                np.testing.assert_allclose(second(0.0), 2 * c[2], rtol=1e-9, atol=1e-9)
            assert fd.derivative(f, n=3)(0.0) == 0


SUMS: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda p: p[0] + p[1], lambda p: p[0], lambda p: p[1], lambda p: p[0] * p[1],
)  # fmt: skip
ROOTS: Final[tuple[Callable[[Any], Any], ...]] = (
    np.sqrt, np.abs, lambda x: np.linalg.norm(np.stack([x, x / 2])),
)  # fmt: skip
POWERS: Final[tuple[Callable[[Any], Any], ...]] = (
    lambda x: x**2, lambda x: x * x, np.square, lambda x: x**3, lambda x: x,
)  # fmt: skip


@pytest.mark.slow
@examples(1, 200)
@given(
    st.tuples(*[st.sampled_from(SUMS)] * 4),
    st.tuples(*[st.sampled_from(ROOTS)] * 3),
    st.tuples(*[st.sampled_from(POWERS)] * 2),
)
@example((SUMS[0], SUMS[2], SUMS[2], SUMS[1]), (np.sqrt, np.sqrt, np.sqrt), (POWERS[0], POWERS[4]))
def test_roots_of_roots_that_share_operands_have_right_hessians(
    sums: Any, roots: Any, powers: Any
) -> None:
    def f(p: Any) -> Any:
        inner = roots[0](sums[0](p))
        outer = roots[1](inner + sums[1](p))
        product = powers[0](outer * roots[2](sums[2](p)))
        return outer * product + powers[1](product * sums[3](p)) * inner

    derive: Any = fd.grad(f)
    x = np.array([0.42, 0.11])
    numeric = np.array([(derive(x + h) - derive(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)])
    size = 1e-6 * (1 + np.abs(numeric).max())
    np.testing.assert_allclose(fd.jacrev(derive)(x), numeric, 1e-5, size)
    np.testing.assert_allclose(fd.jacfwd(derive)(x), numeric, 1e-5, size)
