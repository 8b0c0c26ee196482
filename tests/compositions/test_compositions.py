"""Every word of two transforms, and of three, has the value of loops, branches and differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.compositions.letters import (
    COTANGENT,
    FORMS,
    LETTERS,
    SCALES,
    SHIFTS,
    derivative,
    meant,
    spelled,
)

Word = tuple[str, ...]

POINTS = (np.array([0.4, -0.9, 0.3]), np.array([0.5, 0.2, -0.4]))
"""On either side of the predicate of `cond`, which is true for positive sums."""

WEIGHTS = np.array([0.8, -0.5])
"""What the words close over, a traced array when they are differentiated in it."""

STRUCTURAL = ("jvp", "vjp", "vmap", "cond", "scan", "while")
"""Letters whose words of three are always checked; the others only wrap a call."""


def check_value(word: Word, form: str) -> None:
    """Compare the value of a word with its meaning."""
    for x in POINTS:
        got = spelled(word, FORMS[form])(WEIGHTS, x)
        assert got.shape == x.shape
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got, meant(word, WEIGHTS)(x), rtol=1e-6, atol=1e-6)


def check_weights(word: Word, form: str) -> None:
    """Compare the derivative in what a word closes over with differences."""

    def scalar(w: Any) -> Any:
        return np.sum(COTANGENT * spelled(word, FORMS[form])(w, POINTS[0]))

    gradient = fd.grad(scalar)(WEIGHTS)
    expected = [derivative(scalar, WEIGHTS, unit) for unit in np.eye(2)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


every_form = pytest.mark.parametrize("form", FORMS)
every_pair = pytest.mark.parametrize("word", list(product(LETTERS, repeat=2)), ids="-".join)
every_structure = pytest.mark.parametrize("word", list(product(STRUCTURAL, repeat=3)), ids="-".join)
every_order = pytest.mark.parametrize("word", list(permutations(STRUCTURAL, 3)), ids="-".join)


@pytest.mark.thinned(8)
@every_form
@every_pair
def test_a_word_of_two_transforms_has_the_value_of_loops_and_differences(
    word: Word, form: str
) -> None:
    check_value(word, form)


@pytest.mark.thinned(72)
@every_form
@every_pair
def test_a_word_of_two_is_differentiated_in_what_it_closes_over(word: Word, form: str) -> None:
    check_weights(word, form)


@pytest.mark.thinned(8)
@every_structure
def test_a_word_of_three_transforms_has_the_value_of_loops_and_differences(word: Word) -> None:
    check_value(word, "vectors")


@pytest.mark.thinned(36)
@every_order
def test_a_word_of_three_is_differentiated_in_what_it_closes_over(word: Word) -> None:
    check_weights(word, "vectors")


@pytest.mark.slow
@pytest.mark.sampled(16)
@every_form
@every_pair
def test_every_word_of_three_has_its_value_and_derivative(word: Word, form: str) -> None:
    for letter in LETTERS:
        check_value((*word, letter), form)
        check_weights((*word, letter), form)


def test_the_points_decide_the_predicate_both_ways() -> None:
    signs = [x.sum() > 0 for x in POINTS]
    examples = [s * x + t for x in POINTS for s, t in zip(SCALES, SHIFTS, strict=True)]
    assert sorted(signs) == [False, True]
    assert {bool(e.sum() > 0) for e in examples} == {False, True}


@pytest.mark.parametrize("modes", list(product(["jvp", "vjp"], repeat=3)), ids="-".join)
def test_third_derivatives_are_exact_in_all_modes(modes: Word) -> None:
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
