"""Adapted code that finds a solution by comparing warns of it; no other code does."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import LostDerivativeWarning


def bisection(a: Any) -> Any:
    low, high = 0.0, 3.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle**3 < a:
            low = middle
        else:
            high = middle
    return low


def scaled_bisection(a: Any) -> Any:
    low, high = a / 10, a
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if a <= middle**3 else (middle, high)
    return low


def golden_section(a: Any) -> Any:
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, 4.0
    while high - low > 1e-5:
        one, two = high - ratio * (high - low), low + ratio * (high - low)
        if math.cosh(one - a) > math.cosh(two - a):
            low = one
        else:
            high = two
    return low


def newton(a: Any) -> Any:
    x, step = 2.0, 1.0
    while abs(step) > 1e-12:
        step = (x**3 - a) / (3 * x**2)
        x = x - step
    return x


def series(a: Any) -> Any:
    total, term = 0.0, a
    while term > 1e-9:
        total, term = total + term, term / 3
    return total


def elements(a: Any) -> Any:
    values = np.sin(np.arange(40.0) ** 2) * a
    return sum(value if value > 0 else 0.1 * value for value in values)


def growing(a: Any) -> Any:
    return sum(x if x > 0 else 0.1 * x for x in a * (-1.5) ** np.arange(40))


def plain_solution(a: Any) -> Any:
    x = bisection(fd.stop_gradient(a))
    return x - (x**3 - a) / (3 * x**2)


MODES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: fd.grad(f)(2.5),
    "jvp": lambda f: fd.jvp(f, (2.5,), (1.0,)),
    "jacobian": lambda f: fd.jacobian(lambda x: f(x[0]))(np.array([2.5])),
    "second": lambda f: fd.derivative(f, n=2)(2.5),
    "hessian": lambda f: fd.hessian(f)(2.5),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [bisection, scaled_bisection, golden_section])
def test_a_search_is_told_with_its_line(f: Any, mode: str) -> None:
    with pytest.warns(LostDerivativeWarning, match=r"fd\.custom_root") as told:
        MODES[mode](fd.adapt(f))
    assert all(w.filename == __file__ for w in told)
    lines = range(f.__code__.co_firstlineno, f.__code__.co_firstlineno + 12)
    assert all(w.lineno in lines for w in told)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [newton, series, elements, growing, plain_solution])
def test_other_loops_are_not(f: Any, mode: str) -> None:
    MODES[mode](fd.adapt(f))


def test_a_search_by_plain_numbers_is_not() -> None:
    adapted = fd.adapt(bisection)
    assert adapted(2.5) == bisection(2.5)
    fd.grad(lambda x: x * adapted(2.5))(1.0)


def test_what_is_not_adapted_is_not_watched() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fd.grad(bisection)(2.5) == 0.0
