"""Integrals of functions: SciPy's values, and derivatives by parameters, ends and break points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate as plain

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError, OutputError, UnsupportedNumPyError
from funcdiff.scipy import integrate
from tests.scipy.agreement import Call, assert_agrees

TIGHT = {"epsabs": 1e-13, "epsrel": 1e-12}
C, B = np.float64(0.8), np.float64(1.7)
Y = np.array([[0.3, -1.2, 0.7, 2.0, 1.1], [1.0, 0.2, -0.4, 0.9, -2.0]])
X = np.array([0.0, 0.4, 1.0, 1.3, 2.1])

SAMPLED: dict[str, Call] = {
    "trapezoid": lambda s, y, x: s.trapezoid(y, x),
    "trapezoid dx": lambda s, y, _x: s.trapezoid(y, dx=0.3, axis=0),
    "simpson": lambda s, y, x: s.simpson(y, x),
    "simpson even": lambda s, y, x: s.simpson(y[:, :4], x[:4]),
    "simpson columns": lambda s, y, x: s.simpson(y.T[:4], (x[:4, None] * [1, 2]), axis=0),
    "cumulative_trapezoid": lambda s, y, x: s.cumulative_trapezoid(y, x, initial=0),
    "cumulative_simpson": lambda s, y, x: s.cumulative_simpson(y, x=x),
    "romb": lambda s, y, _x: s.romb(y, dx=0.5),
}


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.thinned(13)
def test_samples_are_integrated(name: str) -> None:
    assert_agrees("scipy.integrate", SAMPLED[name], Y, X)


def _exponential(x: Any, c: Any) -> Any:
    return np.exp(-c * x)


FUNCTIONS: dict[str, Call] = {
    "finite": lambda s, c, b: s.quad(lambda x: np.exp(-c * x), c, b, **TIGHT),
    "args": lambda s, c, b: s.quad(_exponential, 0, b, args=(c,), **TIGHT),
    "one arg": lambda s, c, b: s.quad(_exponential, b, 0, c, **TIGHT),
    "half line": lambda s, c, b: s.quad(lambda x: np.exp(-c * x), b, np.inf, **TIGHT),
    "line": lambda s, c, b: s.quad(lambda x: np.exp(-c * (x - b) ** 2), -np.inf, np.inf, **TIGHT),
    "singular": lambda s, c, b: s.quad(lambda x: np.cos(c * x) / np.sqrt(x), 0, b, **TIGHT),
    "points": lambda s, c, b: s.quad(
        lambda x: np.where(x < c, b * x, np.exp(-x)), 0, 2, points=[c, 1.5], **TIGHT
    ),
    "complex": lambda s, c, b: s.quad(
        lambda x: np.exp(1j * c * x), 0, b, complex_func=True, **TIGHT
    ),
    "cos": lambda s, c, b: s.quad(lambda x: np.exp(-c * x), c, b, weight="cos", wvar=2.3, **TIGHT),
    "sin moves": lambda s, c, b: s.quad(
        lambda x: np.exp(-c * x), c, 2, weight="sin", wvar=b, **TIGHT
    ),
    "cauchy moves": lambda s, c, b: s.quad(
        lambda x: np.exp(-x), -1, b, weight="cauchy", wvar=c, **TIGHT
    ),
    "fixed_quad": lambda s, c, b: s.fixed_quad(lambda x: np.exp(-c * x), c, b, n=4)[0],
    "quad_vec": lambda s, c, b: s.quad_vec(
        lambda x: np.stack([np.exp(-c * x), x * b * c]), c, b, epsrel=1e-12
    )[0],
    "dblquad": lambda s, c, b: s.dblquad(
        lambda y, x: np.exp(-c * x * y), 0, b, lambda x: -c * x, lambda _x: b, **TIGHT
    ),
    "tplquad": lambda s, c, b: s.tplquad(
        lambda z, y, x: x * y * z * c, 0, b, c, lambda x: 1 + x, 0, lambda x, y: x + y
    ),
    "nquad": lambda s, c, b: s.nquad(
        lambda x, y, c: np.exp(-c * x * y), [lambda y, _c: (0, b * y), (0, 1)], args=(c,),
        opts=[TIGHT, lambda _c: TIGHT],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.thinned(26)
def test_functions_are_integrated(name: str) -> None:
    call = FUNCTIONS[name]
    several = name in ("tplquad", "dblquad", "nquad")

    def value(s: Any, c: Any, b: Any) -> Any:  # the error is no function of the parameters
        found = call(s, c, b)
        return found[0] if isinstance(found, tuple) else found

    assert_agrees("scipy.integrate", value, C, B, order=1 if several else 2, compiled=not several)
    traced = fd.vjp(lambda c: call(integrate, c, B), C)[0]
    if "moves" not in name:
        for one, wanted in zip(
            np.atleast_1d(traced), np.atleast_1d(call(plain, C, B)), strict=True
        ):
            np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-13)


def test_nodes_that_scipy_keeps_are_not_traced() -> None:
    for _ in range(3):  # n that no plain call has asked for before
        slope = fd.grad(lambda c: integrate.fixed_quad(lambda x: np.exp(c * x), 0.0, 1.0, n=23)[0])
        np.testing.assert_allclose(slope(1.0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("weight", ["alg", "alg-loga", "alg-logb", "alg-log"])
@pytest.mark.slow
def test_algebraic_weights_move_with_the_ends(weight: str) -> None:
    def f(s: Any, c: Any, b: Any) -> Any:
        return s.quad(lambda x: np.exp(-c * x), c, b, weight=weight, wvar=(0.3, -0.2), **TIGHT)[0]

    assert_agrees("scipy.integrate", f, C, B, rtol=1e-11)


# ---- closed forms --------------------------------------------------------------------------------


def test_a_normal_integral_has_all_its_derivatives() -> None:
    def f(a: Any) -> Any:
        return integrate.quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf, **TIGHT)[0]

    found = [d(2.0) for d in (f, fd.grad(f), fd.grad(fd.grad(f)), fd.grad(fd.grad(fd.grad(f))))]
    root = np.sqrt(np.pi / 2)
    np.testing.assert_allclose(found, [root, -root / 4, 3 * root / 16, -15 * root / 64], rtol=1e-9)


def test_the_derivative_by_an_end_is_the_integrand_exactly() -> None:
    by_ends = fd.grad(lambda a, b: integrate.quad(np.sin, a, b)[0], argnums=(0, 1))
    assert by_ends(0.3, 1.2) == (-np.sin(0.3), np.sin(1.2))
    assert fd.grad(lambda b: integrate.quad(np.cos, 0.3, b)[0])(np.inf) == 0


def test_a_gradient_by_many_parameters_is_that_of_each() -> None:
    def f(c: Any) -> Any:
        return integrate.quad(lambda x: np.exp(c @ x ** np.arange(30.0)), 0, 1, **TIGHT)[0]

    c = np.linspace(-1, 0.5, 30)
    powers = [plain.quad(lambda x, k=k: x**k * np.exp(c @ x ** np.arange(30.0)), 0, 1, **TIGHT)[0]
              for k in range(30)]  # fmt: skip
    np.testing.assert_allclose(fd.grad(f)(c), powers, rtol=1e-12)


def test_small_cotangents_are_integrated_as_precisely_as_large_ones() -> None:
    gradient = fd.grad(lambda c: 1e-12 * integrate.quad(lambda x: np.exp(-c * x**9), 0, 3)[0])
    exact = plain.quad(lambda x: -(x**9) * np.exp(-1.3 * x**9), 0, 3, epsabs=0)[0]
    np.testing.assert_allclose(gradient(1.3), 1e-12 * exact, rtol=1e-8)


def test_a_jump_at_a_break_point_moves_with_it() -> None:
    step = fd.grad(
        lambda p: integrate.quad(lambda x: np.where(x < p, 5.0, 2.0), 0, 1, points=[p])[0]
    )
    assert step(0.25) == 3.0


def test_a_parameter_may_be_single_precision_or_complex() -> None:
    def f(c: Any) -> Any:
        return integrate.quad(lambda x: np.abs(np.exp(1j * c * x) + x) ** 2, 0.0, 1.0)[0]

    gradient = fd.grad(f)(np.float32(0.5))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, fd.grad(f)(0.5), rtol=1e-6)
    direction = 0.3 - 0.8j
    _, pushed = fd.jvp(f, (0.5 + 0.2j,), (direction,))
    step = 1e-5
    differences = (f(0.5 + 0.2j + step * direction) - f(0.5 + 0.2j - step * direction)) / 2e-5
    np.testing.assert_allclose(pushed, differences, rtol=1e-7)


def test_full_output_is_scipys() -> None:
    def f(s: Any, c: Any) -> Any:
        return s.quad(lambda x: np.exp(-c * x), 0.0, 2.0, full_output=1)

    _, _, traced = fd.vjp(lambda c: f(integrate, c), C, has_aux=False)[0]
    expected = f(plain, C)[2]
    assert traced.keys() == expected.keys()
    assert traced["neval"] == expected["neval"]
    nested = fd.vjp(
        lambda c: integrate.nquad(lambda x, y: x * y * c, [(0, 1), (0, 2)], full_output=True), C
    )[0]
    assert nested == plain.nquad(lambda x, y: x * y * C, [(0, 1), (0, 2)], full_output=True)


def test_what_is_not_traced_is_scipys_inside_of_a_trace() -> None:
    def f(x: Any) -> Any:
        assert type(integrate.quad(np.sin, 0, 1)[0]) is float
        assert integrate.quad(math.exp, 0, 1)[0] == plain.quad(math.exp, 0, 1)[0]
        assert integrate.nquad(lambda x, y: x * y, [(0, 1), (0, 1)])[0] == pytest.approx(0.25)
        return x * integrate.quad_vec(lambda x: np.array([x, 1]), 0, 1, full_output=True)[0]

    np.testing.assert_allclose(fd.jacobian(f)(2.0), [0.5, 1.0], rtol=1e-15)


def test_what_has_no_derivative_says_so() -> None:
    with pytest.raises(NotDifferentiableError, match="exponents of the weight 'alg'"):
        fd.grad(lambda a: integrate.quad(np.exp, 0, 1, weight="alg", wvar=(a, 0.1))[0])(0.5)
    with pytest.raises(UnsupportedNumPyError, match="no full_output and no workers"):
        fd.grad(lambda a: integrate.quad_vec(lambda x: a * x, 0, 1, workers=2)[0])(0.5)
    with pytest.raises(OutputError, match="quad_vec integrates arrays"):
        fd.grad(lambda a: integrate.quad(lambda x: a * x * np.ones(2), 0, 1)[0])(0.5)
