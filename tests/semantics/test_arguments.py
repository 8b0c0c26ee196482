"""Containers, keywords and choices of arguments; perturbations and threads that never mix."""

import math
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.scipy import special
from tests.together import together

Derivative = Callable[[Callable[..., Any], Any], Any]
Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Layer:
    a: Any
    b: Any


# ---- containers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda a, b: [a, b],
    lambda a, b: (a, b),
    lambda a, b: {"b": b, "a": a},
    lambda a, b: OrderedDict(b=b, a=a),
    Pair,
    Layer,
    lambda a, b: {1: None, "a": [a], (2, "x"): (b, "text", True, math.sin, None)},
])  # fmt: skip
def test_a_gradient_has_the_container_of_its_argument(make: Any) -> None:
    def f(tree: Any) -> Any:
        return sum(np.sum(x**2) for x in fd.pytree.flatten(tree)[0] if hasattr(x, "dtype"))

    a, b = np.array([1.0, 2.0]), np.float64(3.0)
    result = fd.grad(f)(make(a, b))
    assert type(result) is type(make(a, b))
    found = [x for x in fd.pytree.flatten(result)[0] if hasattr(x, "dtype")]
    expected = [2 * x for x in fd.pytree.flatten(make(a, b))[0] if hasattr(x, "dtype")]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_leaves_that_are_not_numbers_pass_through_unchanged() -> None:
    tree = {"x": 2.0, "name": "text", "flag": True, "f": math.sin, "none": None}
    result: Any = fd.grad(lambda t: t["x"] ** 2 if t["flag"] else 0 * t["x"])(tree)
    assert result == {**tree, "x": 4.0}


# ---- which arguments -------------------------------------------------------------------------


def test_arguments_are_chosen_by_number_from_either_end() -> None:
    def f(x: Any, y: Any, *, power: int = 1) -> Any:
        return x * y**power

    assert fd.grad(f, argnums=1)(2.0, 3.0, power=2) == 12
    assert fd.grad(f, argnums=-2)(2.0, 3.0, power=2) == 9
    assert fd.grad(f, argnums=(1, 0))(2.0, 3.0) == (2, 3)


def test_a_number_out_of_range_says_how_many_arguments_there_were() -> None:
    with pytest.raises((ValueError, TypeError, IndexError), match="2"):
        fd.grad(lambda x, y: x * y, argnums=5)(2.0, 3.0)


# ---- nesting ---------------------------------------------------------------------------------


def _slope_forward(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.jvp(f, (x,), (1.0,))[1]


def _slope_linearized(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.linearize(f, x)[1](1.0)


def _slope_backward(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(f, x)[1](1.0)[0]


SLOPES: list[Any] = [_slope_forward, _slope_linearized, _slope_backward,
                     lambda f, x: fd.grad(f)(x), lambda f, x: fd.jacfwd(f)(x)]  # fmt: skip


@together
@pytest.mark.parametrize(("outer", "inner"), [*product(SLOPES, SLOPES)])
def test_perturbations_of_different_levels_are_never_confused(outer: Any, inner: Any) -> None:
    assert outer(lambda x: x * inner(lambda y: x + y, 1.0), 1.0) == 1


def test_threads_can_trace_at_once() -> None:
    def slope(k: int) -> Any:
        return fd.grad(lambda x: np.sum(x**2) * k)(np.full(3, float(k)))

    with ThreadPoolExecutor(4) as pool:
        for k, result in enumerate(pool.map(slope, range(32))):
            np.testing.assert_array_equal(result, np.full(3, 2.0 * k * k))


# ---- singular points that the line of the function mentions --------------------------------------


def test_xlogy_at_the_origin_is_finite_by_its_rule(gradient: Derivative) -> None:
    assert np.isfinite(gradient(lambda x: special.xlogy(x, 0.0), 0.0))
    assert np.isfinite(gradient(lambda x: special.xlogy(x, x), 0.0))


@pytest.mark.parametrize("f", [special.logsumexp, np.logaddexp.reduce])
@pytest.mark.parametrize("sign", [1, -1])
def test_logsumexp_of_equal_infinities_shares(f: Any, sign: int, gradient: Derivative) -> None:
    result = gradient(f, np.full(2, sign * np.inf))
    np.testing.assert_allclose(result, [0.5, 0.5], rtol=1e-15)


def test_an_element_dropped_by_a_mask_has_no_curvature_either(second: Derivative) -> None:
    result = second(lambda x: np.sum(np.sqrt(x)[x > 0]), np.array([0.0, 4.0]))
    np.testing.assert_allclose(result, np.diag([0, -1 / 32]), rtol=1e-14)


def test_a_minimum_gives_a_nan_all_and_fmin_ignores_it(gradient: Derivative) -> None:
    x = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(gradient(lambda v: np.minimum(v[0], v[1]), x), [1, 0])
    np.testing.assert_array_equal(gradient(lambda v: np.fmin(v[0], v[1]), x), [0, 1])
    np.testing.assert_array_equal(gradient(np.min, x), [1, 0])


def test_ties_share_along_an_axis(gradient: Derivative) -> None:
    x = np.array([[1.0, 3, 3], [2, 2, 2]])
    result = gradient(lambda x: np.sum(np.max(x, axis=1) * np.array([1.0, 6])), x)
    np.testing.assert_array_equal(result, [[0, 0.5, 0.5], [2, 2, 2]])
    result = gradient(lambda x: np.sum(np.min(x, axis=(0, 1), keepdims=True)), 0 * x)
    np.testing.assert_allclose(result, np.full((2, 3), 1 / 6), rtol=1e-15)
