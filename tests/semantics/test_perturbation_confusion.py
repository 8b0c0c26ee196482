"""Perturbation confusion: the cases of the literature, in every mix of modes.

References
----------
J. M. Siskind, B. A. Pearlmutter, Perturbation confusion and referential transparency: correct
functional implementation of forward-mode AD, IFL (2005).
J. M. Siskind, B. A. Pearlmutter, Nesting forward-mode AD in a functional framework,
Higher-Order and Symbolic Computation 21 (2008).
O. Manzyuk, B. A. Pearlmutter, A. A. Radul, D. R. Rush, J. M. Siskind, Perturbation confusion in
forward automatic differentiation of higher-order functions, J. Functional Programming 29 (2019).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError, EscapedTracerError, OutputError
from tests.together import together

Scalar = Callable[[Any], Any]
Slope = Callable[[Scalar], Scalar]


def by_vjp(f: Scalar) -> Scalar:
    return lambda x: fd.vjp(f, x)[1]()[0]


def first(y: Any) -> Any:
    return y if callable(y) else y[0]


MODES: dict[str, Slope] = {
    "grad": fd.grad,
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (1.0,))[1],
    "vjp": by_vjp,
    "linearize": lambda f: lambda x: fd.linearize(f, x)[1](1.0),
    "jacfwd": fd.jacfwd,
    "jacrev": fd.jacrev,
    "derivative": fd.derivative,
    "jit": lambda f: fd.jit(fd.grad(f)),
    "vmap": lambda f: lambda x: fd.vmap(fd.grad(f))(np.ones(2) * x)[1],
    "grad of vmap": lambda f: fd.grad(lambda x: first(fd.vmap(f)(np.stack([x, x])))),
}
REFUSALS = (OutputError, CotangentError, EscapedTracerError)
MIXES = [
    pytest.param(MODES[a], MODES[b], id=f"{a}-{b}") for a, b in product(MODES, repeat=2)
]  # fmt: skip
every_mode = pytest.mark.parametrize("D", [pytest.param(D, id=name) for name, D in MODES.items()])
every_mix = pytest.mark.parametrize(("D", "E"), MIXES)


# ---- Siskind and Pearlmutter -------------------------------------------------------------------


Nested = Callable[[Slope, Slope], Any]
NESTED: dict[str, tuple[Nested, float]] = {
    "2005: D(λx. x·D(λy. x + y)(1))(1) = 1, not 2": (
        lambda D, E: D(lambda x: x * E(lambda y: x + y)(1.0))(1.0), 1,
    ),
    "2005: D(λx. x·D(λy. x·y)(2))(3) = D(λx. x²)(3)": (
        lambda D, E: D(lambda x: x * E(lambda y: x * y)(2.0))(3.0), 6,
    ),
    "2008, a shadowed name: D(λx. x·D(λx. x²)(x + 1))(3) = D(λx. 2x² + 2x)(3)": (
        lambda D, E: D(lambda x: x * E(lambda x: x * x)(x + 1.0))(3.0), 14,
    ),
    "2008, both roles of x count: D(λx. D(λy. x·y²)(x))(3) = D(λx. 2x²)(3)": (
        lambda D, E: D(lambda x: E(lambda y: x * y * y)(x))(3.0), 12,
    ),
    "2008, what does not move: D(λx. D(λy. x² + 0·y)(1) + x)(2) = 1": (
        lambda D, E: D(lambda x: E(lambda y: x * x + 0.0 * y)(1.0) + x)(2.0), 1,
    ),
    "2008, what has no y: D(λx. D(λy. x²)(1) + x)(2) = 1": (
        lambda D, E: D(lambda x: E(lambda y: x * x)(1.0) + x)(2.0), 1,
    ),
    "a function made outside closes over x: D(λx. D(λy. f(f(y)))(5))(3), f = λy. x·y": (
        lambda D, E: D(lambda x: E(lambda y: x * (x * y))(5.0))(3.0), 6,
    ),
}  # fmt: skip


@pytest.mark.slow
@together
@every_mix
@pytest.mark.parametrize("name", NESTED)
def test_siskind_pearlmutter_an_inner_derivative_knows_its_own_perturbation_alone(
    name: str, D: Slope, E: Slope
) -> None:
    nested, expected = NESTED[name]
    assert nested(D, E) == expected


@pytest.mark.thinned(77)
@every_mix
def test_siskind_pearlmutter_2008_min_max_within_a_derivative(D: Slope, E: Slope) -> None:
    """A game against nature: the outer slope of a value found by following the inner one."""

    def best(x: Any) -> Any:
        y: Any = 0.0
        for _ in range(60):
            y = y - 0.25 * E(lambda z: (z - x) ** 2 + x * z)(y)
        return y  # x/2

    assert D(lambda x: best(x) * x)(3.0) == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize("modes", list(product(["grad", "jvp", "vjp"], repeat=3)), ids="-".join)
def test_three_levels_keep_three_perturbations_apart(modes: tuple[str, ...]) -> None:
    """D(λx. x·D(λy. y·D(λz. x·y·z²)(y))(x))(2) = D(λx. 6x⁴)(2) = 192."""
    A, B, C = (MODES[mode] for mode in modes)
    found = A(lambda x: x * B(lambda y: y * C(lambda z: x * y * z * z)(y))(x))(2.0)
    assert found == 192.0


# ---- Manzyuk, Pearlmutter, Radul, Rush, Siskind ------------------------------------------------


def shift(x: Any) -> Callable[[Scalar], Scalar]:
    """Return s(x) = λf. λy. f(x + y)."""
    return lambda f: lambda y: f(x + y)


@every_mode
def test_manzyuk_2019_a_function_that_depends_on_the_variable_has_no_derivative(D: Slope) -> None:
    """D̂ = D(s)(0) would be the derivative operator itself; it is refused, or raises in use."""
    with pytest.raises(REFUSALS):
        D(shift)(0.0)(lambda y: y * y)(2.0)


@together
@every_mix
def test_manzyuk_2019_the_operator_applied_twice_raises(D: Slope, E: Slope) -> None:
    """D̂(D̂(h)) is h'' where it is defined, and 0 where perturbations are confused."""
    with pytest.raises(REFUSALS):
        D(shift)(0.0)(E(shift)(0.0)(lambda y: y**4))(2.0)


@pytest.mark.slow
@together
@every_mix
def test_manzyuk_2019_the_eta_expanded_operator_gives_second_derivatives(
    D: Slope, E: Slope
) -> None:
    """(D̂ f)(y) = D(λx. s(x)(f)(y))(0): D̂(D̂ h)(y) = h''(y), where the bug gives 0."""

    def hat(D: Slope) -> Callable[[Scalar], Scalar]:
        return lambda f: lambda y: D(lambda x: shift(x)(f)(y))(0.0)

    def h(y: Any) -> Any:
        return y**4 + 3.0 * y

    assert hat(D)(hat(E)(h))(1.5) == 27.0
    assert hat(D)(h)(1.5) == 16.5


@every_mode
def test_manzyuk_2019_a_function_smuggled_out_of_a_derivative_raises_when_it_is_called(
    D: Slope,
) -> None:
    """λy. f(x + y) holds the perturbation of x after its derivative was taken."""
    smuggled: list[Callable[[Scalar], Scalar]] = []

    def curried(x: Any) -> Any:
        smuggled.append(shift(x))
        return x * x

    assert D(curried)(1.0) == 2.0
    with pytest.raises(EscapedTracerError):
        smuggled[-1](lambda z: z * z)(2.0)


@together
@every_mix
def test_manzyuk_2019_a_smuggled_function_raises_within_another_derivative(
    D: Slope, E: Slope
) -> None:
    """The second use of the operator must not find its own perturbation in the first one's."""
    smuggled: list[Callable[[Scalar], Scalar]] = []

    def curried(x: Any) -> Any:
        smuggled.append(shift(x))
        return x * x

    E(curried)(1.0)
    with pytest.raises(EscapedTracerError):
        D(lambda y: smuggled[-1](lambda z: z * z)(y))(2.0)


@together
@every_mix
def test_manzyuk_2019_a_smuggled_function_raises_within_the_derivative_that_surrounds_it(
    D: Slope, E: Slope
) -> None:
    smuggled: list[Callable[[Scalar], Scalar]] = []

    def curried(x: Any) -> Any:
        smuggled.append(shift(x))
        return x * x

    def outer(y: Any) -> Any:
        slope = E(curried)(y)
        return slope * smuggled[-1](lambda z: z * z)(y)

    with pytest.raises(EscapedTracerError):
        D(outer)(2.0)


@every_mode
def test_manzyuk_2019_a_pair_as_church_encoding_has_no_derivative(D: Slope) -> None:
    """A Church pair is a function that holds the variable; a tuple is the container to use."""

    def pair(a: Any, b: Any) -> Callable[[Callable[[Any, Any], Any]], Any]:
        return lambda select: select(a, b)

    with pytest.raises(REFUSALS):
        D(lambda x: pair(x * x, x**3))(2.0)(lambda a, b: a + b)
    _, tangents = fd.jvp(lambda x: (x * x, x**3), (2.0,), (1.0,))
    assert tangents == (4.0, 12.0)


def test_manzyuk_2019_a_linear_map_that_outlives_its_linearization_keeps_no_perturbation() -> None:
    """What `linearize` and `vjp` return are functions of numbers, safe in any later derivative."""
    _, push = fd.linearize(lambda x: x**3, 2.0)
    _, pull = fd.vjp(lambda x: x**3, 2.0)
    assert fd.grad(lambda t: t * push(t))(5.0) == 120.0
    assert fd.grad(lambda t: t * pull(t)[0])(5.0) == 120.0


@pytest.mark.parametrize("D", [pytest.param(MODES[k], id=k) for k in ("grad", "jvp", "linearize")])
def test_manzyuk_2019_a_linear_map_made_within_a_derivative_raises_outside(D: Slope) -> None:
    """A linearization at the outer variable holds it: x ↦ (t ↦ 3x²·t) cannot leave."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(fd.linearize(lambda y: y**3, x)[1])
        return kept[-1](1.0)

    assert D(f)(2.0) == 12.0
    with pytest.raises(EscapedTracerError):
        kept[-1](1.0)
