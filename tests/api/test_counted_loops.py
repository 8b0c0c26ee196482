"""Under `jit`, ``while`` loops with a counter are one loop, however often values let them run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling import executables

FD: Any = fd
MOST = 9


def newton(a: Any, tolerance: float = 1e-10, most: int = 50) -> Any:
    x, error, k = 9.0 * a, 1.0, 0
    while error > tolerance and k < most:
        y = 0.5 * (x + a / x)
        error = abs(y - x)
        x = y
        k += 1
    return x * a


def counts_first(a: Any, most: int = 6) -> Any:
    x, k = 9.0 * a, 0
    while k < most and abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
        k = k + 1
    return x


def breaks_behind_the_step(a: Any, most: int = 7) -> Any:
    x, k = 9.0 * a, 0
    while True:
        step = (x * x - a) / (2.0 * x)
        x = x - step
        k += 1
        if abs(step) < 1e-10 or k >= most:
            break
    return x


def breaks_before_the_step(a: Any) -> Any:
    x, k = a, 0
    while k < 30:
        if x > 9.0:
            break
        x = 1.2 * x + 0.05
        k += 1
    else:
        x = -x
    return x


def counts_down(a: Any) -> Any:
    x, k = 9.0 * a, 6
    while k > 0:
        x = 0.5 * (x + a / x)
        k -= 1
        if abs(x * x - a) < 1e-3 * a:
            break
    return x


def until_it_is_equal(a: Any) -> Any:
    x, k = a, 0
    while k != 12:
        x = 1.2 * x
        if x > 5.0:
            return np.sin(x)
        k += 2
    return -x


def compares_the_bound(a: Any, n: int = 10) -> Any:
    x, k = a, 1
    while 2 * n - 1 >= k:
        x = 1.2 * x
        if x > 5.0:
            return np.sin(x)
        k += 3
    return -x


def goes_on_early(a: Any, most: int = 20) -> Any:
    x, total, k = a, 0.0 * a, 0
    while total < 6.0 and k < most:
        x = np.cos(3.0 * x) + a
        if x < a:
            k += 1
            continue
        total = total + x
        k += 1
    return total * a


def within_a_range(a: Any) -> Any:
    total = a
    for i in range(3):
        x, k = 9.0 * total, 0
        while abs(x * x - a) > 1e-7 and k < 15:
            x = 0.5 * (x + a / x)
            k += 1
        total = total + x * (1 + i)
        if total > 9.0:
            break
    return total


def around_a_search(a: Any) -> Any:
    x, k = a, 0
    while abs(x - 1.0) > 1e-3 and k < 25:
        t = 1.0 + 0.0 * a
        while t * abs(x) > 2.0:
            t = 0.5 * t
        x = x + 0.5 * t * (1.0 - x)
        k += 1
    return x * a


def two_with_one_counter(a: Any) -> Any:
    x, k = 9.0 * a, 0
    while abs(x * x - a) > 1e-3 and k < 9:
        x = 0.5 * (x + a / x)
        k += 1
    k = 0
    while x < 20.0 and k < MOST:
        x = 1.3 * x
        k += 1
    return x


def one_within_another(a: Any) -> Any:
    t, x, n = 0.0 * a, a, 0
    while t < 3.0 and n < 40:
        y, k = x, 0
        while True:
            r = y - x - 0.3 * np.sin(y)
            y = y - r / (1.0 - 0.3 * np.cos(y))
            k += 1
            if abs(r) < 1e-9 or k == 6:
                break
        x, t = y, t + 0.3
        n += 1
    return x


def as_often_as_there_are_elements(a: Any) -> Any:
    start = np.stack([a, 2.0 * a, a * a])
    x, k = start, 0
    while np.sum(x) < 20.0 and k < 2 * start.size + start.shape[0] + len(start):
        x = 1.2 * x
        k += 1
    return np.sum(x)


def raises_if_it_does_not_end(a: Any) -> Any:
    x, k = 9.0 * a, 0
    while abs(x * x - a) > 1e-9:
        x = 0.5 * (x + a / x)
        k += 1
        if k > 40:
            raise RuntimeError("no convergence")
    return x


ROLLED = [
    newton, counts_first, breaks_behind_the_step, breaks_before_the_step, counts_down,
    until_it_is_equal, compares_the_bound, goes_on_early, within_a_range, around_a_search,
    two_with_one_counter, one_within_another, raises_if_it_does_not_end,
    as_often_as_there_are_elements,
]  # fmt: skip

# ---- what looks like a counter, and is none ------------------------------------------------------


def is_read(a: Any) -> Any:
    x, k = 9.0 * a, 0
    while abs(x * x - a) > 1e-9 and k < 30:
        x = 0.5 * (x + a / x) + 1e-3 * k
        k += 1
        if k % 3 == 0:
            x = 1.01 * x
    return x


def is_returned(a: Any) -> Any:
    x, k = a, 0
    while x < 9.0 and k < 14:
        x = 1.3 * x
        k += 1
    return x * k


def decides_behind_the_loop(a: Any) -> Any:
    x, k = a, 0
    while x < 9.0 and k < 6:
        x = 1.3 * x
        k += 1
    if k == 6:
        x = -x
    return x


def is_an_index(a: Any) -> Any:
    factors = np.array([1.1, 1.2, 1.3, 1.05, 1.15, 1.2, 1.3, 1.1])
    x, k = a, 0
    while x < 9.0 and k < 8:
        x = factors[k] * x
        k += 1
    return x


def is_captured(a: Any) -> Any:
    x, k = a, 0
    while x < 9.0 and k < 12:
        x = (lambda: x * (1.1 + 0.02 * k))()
        k += 1
    return x


def has_two_steps(a: Any) -> Any:
    x, k = a, 0
    while k < 20:
        x = 1.2 * x
        k += 1
        if x > 5.0:
            k += 1
        if x > 9.0:
            break
    return x


def has_steps_of_two_sizes(a: Any) -> Any:
    x, k = a, 0
    while x < 40.0 and k < 20:
        if x > 4.0:
            x = 1.1 * x
            k += 2
            continue
        x = 1.2 * x
        k += 1
    return x


def steps_now_and_then(a: Any) -> Any:
    x, k = a, 0
    while k < 6:
        x = 1.1 * x + 0.1
        if x > 4.0:
            k += 1
        if x > 30.0:
            break
    return x


def begins_again(a: Any) -> Any:
    x, k, again = a, 0, 0
    while k < 5:
        x = 1.3 * x
        k += 1
        if x > 6.0:
            x = x - 5.5
            if again < 2:
                k = 0
            again += 1
    return x


def goes_on_in_another_loop(a: Any) -> Any:
    x, k = a, 0
    while x < 4.0 and k < 5:
        x = 1.3 * x
        k += 1
    while x < 9.0 and k < 8:
        x = 1.2 * x
        k += 1
    return x


def goes_on_in_the_next_iteration(a: Any) -> Any:
    x, k = a, 0
    for _ in range(3):
        while x < 9.0 and k < 12:
            x = 1.2 * x + 0.1
            k += 1
            if 5.0 < x < 5.5:
                break
        x = 0.6 * x
    return x


def the_bound_moves(a: Any) -> Any:
    x, k, most = a, 0, 5
    while k < most:
        x = 1.2 * x
        if x > 3.0 and most < 9:
            most += 1
        k += 1
    return x


def the_bound_is_another_where_it_is_compared(a: Any) -> Any:
    x, k, most = a, 0, 12
    while x < 9.0:
        most = 4
        if k >= most:
            break
        most = 12
        x = 1.2 * x + 0.2
        k += 1
    return x * most


def two_bounds(a: Any) -> Any:
    x, k = a, 0
    while k < 14:
        x = 1.2 * x
        if x > 9.0:
            break
        if k >= 6:
            x = x + 0.1
        k += 1
    return x


def is_compared_twice(a: Any) -> Any:
    x, k = a, 0
    while k < 9:
        x = 1.2 * x
        if x > 9.0:
            break
        if k >= 9:
            break
        k += 1
    return x


def compares_what_it_makes(a: Any) -> Any:
    x, k = a, 0
    while x < 9.0 and k + 2 < 9:
        x = 1.2 * x
        k += 1
    return x


def is_a_float(a: Any) -> Any:
    x, k = a, 0.0
    while x < 9.0 and k < 7.5:
        x = 1.2 * x
        k += 1
    return x


def begins_below_zero(a: Any) -> Any:
    x, k = a, -3
    while x < 9.0 and k < 5:
        x = 1.2 * x
        k += 1
    return x


def begins_behind_its_bound(a: Any) -> Any:
    x, k = a, 9
    while True:
        x = 1.2 * x
        k += 1
        if x > 9.0 or k >= 5:
            break
    return x


def steps_over_its_bound(a: Any) -> Any:
    x, k = a, 1
    while k != 6:
        x = 1.2 * x
        k += 2
        if x > 9.0:
            break
    return x


def handlers_may_read_it(a: Any) -> Any:
    x, k = a, 0
    while x < 9.0 and k < 9:
        try:
            x = 1.2 * x
        except ValueError:
            return x * k
        k += 1
    return x


def two_counters(a: Any) -> Any:
    x, k, n = a, 0, 0
    while x < 9.0 and k < 9 and n < 14:
        x = 1.2 * x
        k += 1
        n += 2
    return x


def steps_within_the_comparison(a: Any) -> Any:
    x, k = a, 0
    while x < 9.0 and (k := k + 1) < 9:
        x = 1.2 * x
    return x


NONE = [
    is_read, is_returned, decides_behind_the_loop, is_an_index, is_captured, has_two_steps,
    has_steps_of_two_sizes, steps_now_and_then, begins_again, goes_on_in_another_loop,
    goes_on_in_the_next_iteration, the_bound_moves, the_bound_is_another_where_it_is_compared,
    two_bounds, is_compared_twice, compares_what_it_makes, is_a_float, begins_below_zero,
    begins_behind_its_bound, steps_over_its_bound,
    handlers_may_read_it, two_counters, steps_within_the_comparison,
]  # fmt: skip

POINTS = [0.4, 1.5, 3.1, 2.4, 0.9, 2.0, 1.2, 0.5]
UNSEEN = np.linspace(0.27, 4.13, 12)


@pytest.fixture(params=["_FEW", "_LONG"])
def early(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for loops after two ways, or in the first one."""
    monkeypatch.setattr(executables, request.param, 2)


@pytest.mark.thinned(10)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", [*ROLLED, *NONE])
@pytest.mark.usefixtures("early")
def test_values_and_derivatives_are_those_of_the_function_itself(f: Any) -> None:
    compiled, slope, plain = FD.jit(f), FD.jit(FD.grad(f)), FD.grad(f)
    for a in (*POINTS, *UNSEEN):
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-9)
        np.testing.assert_allclose(slope(a), plain(a), rtol=1e-8)


@pytest.mark.parametrize("f", ROLLED)
@pytest.mark.usefixtures("early")
def test_numbers_of_iterations_that_were_never_seen_are_no_new_ways(f: Any) -> None:
    compiled = FD.jit(f)
    for a in (*POINTS, 2.3, 1.9, 0.8):
        compiled(np.float64(a))
    before = sum(compiled.cache_info().misses.values())
    for a in np.linspace(0.35, 3.15, 20):
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-8)
    assert sum(compiled.cache_info().misses.values()) - before <= 3


@pytest.mark.usefixtures("early")
def test_a_bound_that_is_given_is_part_of_what_is_kept() -> None:
    compiled = FD.jit(counts_first, static_argnames="most")
    for most in (0, 1, 2, 30):
        for a in POINTS:
            np.testing.assert_allclose(compiled(a, most=most), counts_first(a, most), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("early")
def test_second_derivatives_go_through_the_loop() -> None:
    for f in (newton, breaks_behind_the_step, goes_on_early):
        twice = FD.grad(FD.grad(f))
        compiled = FD.jit(twice)
        for a in (*POINTS, 2.3, 1.9):
            np.testing.assert_allclose(compiled(a), twice(a), rtol=1e-7, atol=1e-9)
        assert compiled.cache_info().leaves <= 6


@pytest.mark.slow
@pytest.mark.usefixtures("early")
def test_vectors_are_carried_as_numbers_are() -> None:
    matrix = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])

    def largest(b: Any) -> Any:
        x, k, old = b, 0, 0.0
        while k < 200:
            y = matrix @ x
            norm = np.sqrt(y @ y)
            x = y / norm
            if abs(norm - old) < 1e-8 * norm:
                break
            old = norm
            k += 1
        return norm * b[0]

    compiled, slope = FD.jit(largest), FD.jit(FD.grad(largest))
    rng = np.random.default_rng(3)
    for _ in range(12):
        b = rng.uniform(0.1, 1.0, 3)
        np.testing.assert_allclose(compiled(b), largest(b), rtol=1e-9)
        np.testing.assert_allclose(slope(b), FD.grad(largest)(b), rtol=1e-7, atol=1e-9)
    assert compiled.cache_info().leaves <= 4
