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


def bisection_by_where(a: Any) -> Any:
    low: Any = 0.0
    high: Any = 3.0
    for _ in range(30):
        middle = (low + high) / 2
        is_below = middle**3 < a
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return low


def bisection_by_masks(a: Any) -> Any:
    low, high = np.zeros(1), np.full(1, 3.0)
    for _ in range(30):
        middle = (low + high) / 2
        too_high = cube(middle) > a
        high[too_high] = middle[too_high]
        low[~too_high] = middle[~too_high]
    return low[0]


def bisection_by_copies(a: Any) -> Any:
    low, high = np.zeros(1), np.full(1, 3.0)
    for _ in range(30):
        middle = (low + high) / 2
        too_high = cube(middle) > a
        np.copyto(high, middle, where=too_high)
        np.copyto(low, middle, where=~too_high)
    return low[0]


def bisection_by_signs(a: Any) -> Any:
    x, step = 0.0, 3.0
    while step > 1e-9:
        step *= 0.5
        if not (cube(x + step) - a > 0 or x > 5.0):
            x += step
    return x


def bisection_from_within(a: Any) -> Any:
    low: Any = 0
    high: Any = 3
    while True:
        middle = 0.5 * (low + high)
        if high - low < 1e-9:
            return middle
        if cube(middle) >= a:
            high = middle
            continue
        low = middle


def bisection_with_values(a: Any) -> Any:
    low, high = 0.0, 3.0
    at_low = low**3 - a
    while high - low > 1e-9:
        middle = (low + high) / 2
        at_middle = middle**3 - a
        if at_low * at_middle > 0:
            low, at_low = middle, at_middle
        else:
            high = middle
    return low


def golden_section_with_values(a: Any) -> Any:
    low, high, ratio = 0.0, 4.0, 0.6180339887498949
    one, two = high - ratio * (high - low), low + ratio * (high - low)
    at_one, at_two = (one - a) ** 2, (two - a) ** 2
    for _ in range(30):
        if at_one < at_two:
            high, two, at_two = two, one, at_one
            one = high - ratio * (high - low)
            at_one = (one - a) ** 2
        else:
            low, one, at_one = one, two, at_two
            two = low + ratio * (high - low)
            at_two = (two - a) ** 2
    return (low + high) / 2


def cube(x: Any) -> Any:
    return x**3


def place_in_table(a: Any) -> Any:
    table, low, high = [0.0, 1.0, 2.0, 3.0, 4.0], 0, 4
    while high - low > 1:
        middle = (low + high) // 2
        if middle * 1.0 <= a:
            low = middle
        else:
            high = middle
    return a * table[low]


def largest(a: Any) -> Any:
    values, found = np.sin(np.arange(8.0)) * a, -1.0
    for value in values:
        if value > found:
            found = value
    return found


def sorted_by_exchange(a: Any) -> Any:
    values = [a, 1.0, 3.0, a / 2]
    for end in range(3, 0, -1):
        for k in range(end):
            if values[k] > values[k + 1]:
                values[k], values[k + 1] = values[k + 1], values[k]
    return values[0] + 2.0 * values[3]


def search_by_numbers(a: Any) -> Any:
    low, high, target = 0.0, 3.0 + 0.0 * a, 8.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if middle**3 < target else (low, middle)
    return low + a


def newton(a: Any) -> Any:
    x, step = 2.0, 1.0
    while abs(step) > 1e-12:
        step = (x**3 - a) / (3 * x**2)
        x = x - step
    return x


def false_position(a: Any) -> Any:
    low, high = 0.0, 3.0
    for _ in range(60):
        at_low, at_high = low**3 - a, high**3 - a
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if middle**3 < a:
            low = middle
        else:
            high = middle
    return middle


def descent_with_a_bold_driver(a: Any) -> Any:
    x, step = 0.0, 0.7
    for _ in range(30):
        new = x - step * 2 * (x - a)
        if (new - a) ** 2 < (x - a) ** 2:
            x, step = new, 1.1 * step
        else:
            step = step / 2
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
    "vjp": lambda f: fd.vjp(f, 2.5)[1](1.0),
    "linearize": lambda f: fd.linearize(f, 2.5)[1](1.0),
    "jit of grad": lambda f: fd.jit(fd.grad(f))(2.5),
    "grad of jit": lambda f: fd.grad(fd.jit(f))(2.5),
    "vmap": lambda f: fd.vmap(lambda x: fd.grad(f)(2.5) * x)(np.ones(2)),
}

SEARCHES = [
    bisection, scaled_bisection, golden_section, bisection_by_where, bisection_by_masks,
    bisection_by_copies, bisection_by_signs, bisection_from_within, bisection_with_values,
    golden_section_with_values,
]  # fmt: skip
OTHERS = [
    newton, false_position, descent_with_a_bold_driver, series, elements, growing,
    place_in_table, largest, sorted_by_exchange, search_by_numbers,
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", SEARCHES)
def test_a_search_is_told_with_its_line(f: Any, mode: str) -> None:
    with pytest.warns(LostDerivativeWarning, match=r"fd\.custom_root") as told:
        MODES[mode](fd.adapt(f))
    assert all(w.filename == __file__ for w in told)
    lines = range(f.__code__.co_firstlineno, f.__code__.co_firstlineno + 16)
    assert all(w.lineno in lines for w in told)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [*OTHERS, plain_solution])
def test_other_loops_are_not(f: Any, mode: str) -> None:
    MODES[mode](fd.adapt(f))


@pytest.mark.parametrize("f", SEARCHES)
def test_a_search_of_which_no_derivative_is_asked_is_not(f: Any) -> None:
    adapted = fd.adapt(f)
    assert fd.jit(adapted)(2.5) == f(2.5)
    assert fd.vmap(lambda x: x + adapted(2.5))(np.ones(1))[0] == 1.0 + f(2.5)
    fd.grad(lambda x: x * adapted(fd.stop_gradient(x)))(2.5)


@pytest.mark.parametrize("f", [bisection_by_where, bisection_by_masks])
def test_searches_in_a_batch_are_told(f: Any) -> None:
    with pytest.warns(LostDerivativeWarning):
        fd.vmap(fd.grad(fd.adapt(f)))(np.array([2.5, 3.5]))


@pytest.mark.parametrize("call", range(9))
def test_a_search_has_its_value_in_every_call(call: int) -> None:
    f = fd.value_and_grad(fd.adapt(bisection_by_where))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostDerivativeWarning)
        for x in np.linspace(1.0, 8.0, call + 1):
            assert f(x)[0] == bisection_by_where(x)


def test_a_search_by_plain_numbers_is_not() -> None:
    adapted = fd.adapt(bisection)
    assert adapted(2.5) == bisection(2.5)
    fd.grad(lambda x: x * adapted(2.5))(1.0)


def test_what_is_not_adapted_is_not_watched() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fd.grad(bisection)(2.5) == 0.0
