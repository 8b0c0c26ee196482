"""Every word of three letters among jvp, vjp, vmap, cond and scan, against plain NumPy.

A letter turns a function of a vector into another.  Its reference does the same with loops,
branches and central differences, so a word has an oracle that knows nothing of funcdiff.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest

import funcdiff as fd

Vector: TypeAlias = Any
Map: TypeAlias = Callable[[Vector], Vector]

TANGENT = np.array([0.7, -0.4, 0.9])
COTANGENT = np.array([-0.6, 0.8, 0.5])
SCALES = np.array([0.9, -0.7])
SHIFTS = np.array([[0.1, -0.2, 0.0], [0.5, 0.3, -0.1]])
MIX = np.array([0.6, -1.1])
ROWS = np.array([[0.3, -0.1, 0.2], [-0.2, 0.4, 0.1]])

POINTS = (np.array([0.4, -0.9, 0.3]), np.array([0.5, 0.2, -0.4]))
"""On either side of the predicate of `cond`, which is true for positive sums."""

WEIGHTS = np.array([0.8, -0.5])
"""What the innermost function closes over, a traced array when the word is differentiated."""


def innermost(w: Vector) -> Map:
    """Return an asymmetric map of vectors that closes over `w`."""
    return lambda x: np.sin(w[0] * x) + w[1] * x[::-1] * x[0]


# ---- the letters in funcdiff -------------------------------------------------------------------


def by_jvp(f: Map) -> Map:
    return lambda x: fd.jvp(f, (x,), (TANGENT,))[1]


def by_vjp(f: Map) -> Map:
    def pulled(x: Vector) -> Vector:
        pull: Any = fd.vjp(f, x)[1]
        return pull(COTANGENT)[0]

    return pulled


def by_vmap(f: Map) -> Map:
    def mapped(x: Vector) -> Vector:
        examples = SCALES[:, None] * x + SHIFTS
        return MIX @ fd.vmap(f)(examples)

    return mapped


def by_cond(f: Map) -> Map:
    return lambda x: fd.cond(x[0] + x[1] + x[2] > 0, f, lambda z: 0.5 * f(z[::-1]) - z, x)


def by_scan(f: Map) -> Map:
    def folded(x: Vector) -> Vector:
        def step(carry: Vector, row: Vector) -> tuple[Vector, Vector]:
            after = 0.5 * f(carry) + row * x
            return after, after * carry

        last, stacked = fd.scan(step, x, ROWS)
        return last + MIX @ stacked

    return folded


# ---- the letters in plain NumPy ----------------------------------------------------------------


def derivative(f: Callable[[Vector], Any], x: Vector, t: Vector) -> Any:
    """Return the directional derivative by central differences of order six."""
    h = 1e-2
    quotients = [(f(x + k * h * t) - f(x - k * h * t)) / (2 * k * h) for k in (1, 2, 3)]
    return 1.5 * quotients[0] - 0.6 * quotients[1] + 0.1 * quotients[2]


def plain_jvp(f: Map) -> Map:
    return lambda x: derivative(f, x, TANGENT)


def plain_vjp(f: Map) -> Map:
    return lambda x: np.array([COTANGENT @ derivative(f, x, unit) for unit in np.eye(3)])


def plain_vmap(f: Map) -> Map:
    def mapped(x: Vector) -> Vector:
        rows = [f(scale * x + shift) for scale, shift in zip(SCALES, SHIFTS, strict=True)]
        return MIX[0] * rows[0] + MIX[1] * rows[1]

    return mapped


def plain_cond(f: Map) -> Map:
    return lambda x: f(x) if x.sum() > 0 else 0.5 * f(x[::-1]) - x


def plain_scan(f: Map) -> Map:
    def folded(x: Vector) -> Vector:
        carry, total = x, np.zeros(3)
        for weight, row in zip(MIX, ROWS, strict=True):
            after = 0.5 * f(carry) + row * x
            total = total + weight * (after * carry)
            carry = after
        return carry + total

    return folded


LETTERS: dict[str, tuple[Callable[[Map], Map], Callable[[Map], Map]]] = {
    "jvp": (by_jvp, plain_jvp),
    "vjp": (by_vjp, plain_vjp),
    "vmap": (by_vmap, plain_vmap),
    "cond": (by_cond, plain_cond),
    "scan": (by_scan, plain_scan),
}
WORDS = list(product(LETTERS, repeat=3))


def spelled(word: tuple[str, ...], f: Map, side: int) -> Map:
    """Apply the letters, the last one first; `side` 0 is funcdiff, 1 plain NumPy."""
    for letter in reversed(word):
        f = LETTERS[letter][side](f)
    return f


@pytest.mark.parametrize("word", WORDS, ids="-".join)
def test_a_word_of_three_transforms_has_the_value_of_loops_and_differences(
    word: tuple[str, ...],
) -> None:
    for x in POINTS:
        got = spelled(word, innermost(WEIGHTS), 0)(x)
        expected = spelled(word, innermost(WEIGHTS), 1)(x)
        assert got.shape == x.shape
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("word", WORDS, ids="-".join)
def test_a_word_is_differentiated_in_what_its_function_closes_over(
    word: tuple[str, ...],
) -> None:
    x = POINTS[0]

    def scalar(w: Vector) -> Any:
        return np.sum(COTANGENT * spelled(word, innermost(w), 0)(x))

    gradient = fd.grad(scalar)(WEIGHTS)
    expected = [derivative(scalar, WEIGHTS, unit) for unit in np.eye(2)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_the_points_decide_the_predicate_both_ways() -> None:
    signs = [x.sum() > 0 for x in POINTS]
    examples = [s * x + t for x in POINTS for s, t in zip(SCALES, SHIFTS, strict=True)]
    assert sorted(signs) == [False, True]
    assert {bool(e.sum() > 0) for e in examples} == {False, True}


@pytest.mark.parametrize("outer", ["jvp", "vjp"])
@pytest.mark.parametrize("inner", ["jvp", "vjp"])
def test_the_derivative_of_x_times_an_inner_derivative_is_one(outer: str, inner: str) -> None:
    def slope(mode: str, f: Callable[[Any], Any], x: Any) -> Any:
        return fd.jvp(f, (x,), (1.0,))[1] if mode == "jvp" else fd.vjp(f, x)[1]()[0]

    assert slope(outer, lambda x: x * slope(inner, lambda y: x + y, 2.0), 1.0) == 1.0


@pytest.mark.parametrize("modes", list(product(["jvp", "vjp"], repeat=3)), ids="-".join)
def test_third_derivatives_are_exact_in_all_modes(modes: tuple[str, ...]) -> None:
    def f(x: Any) -> Any:
        return x**4

    def differentiated(mode: str, g: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if mode == "jvp":
            return lambda x: fd.jvp(g, (x,), (1.0,))[1]
        return lambda x: fd.vjp(g, x)[1]()[0]

    g: Callable[[Any], Any] = f
    for mode in modes:
        g = differentiated(mode, g)
    assert g(1.5) == 36.0
