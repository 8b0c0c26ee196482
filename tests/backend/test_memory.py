"""Where compiled programs write: never onto what is read again, nor into what was given away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

LENGTHS = [2, 40, 400]


def _repeatedly(f: Any, *args: Any) -> Any:
    """Return what the third call returns."""
    f(*args)
    f(*args)
    return f(*args)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_piece_is_added_to_what_stands_there(n: int) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) + np.sum(np.sin(x[1:]))

    x = np.linspace(0.0, 1.0, n)
    expected = 1 + np.cos(x) * (np.arange(n) > 0)
    np.testing.assert_allclose(_repeatedly(fd.jit(fd.grad(f)), x), expected, rtol=1e-14)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_result_that_is_returned_twice_is_two_arrays(n: int) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return y, y

    first, second = _repeatedly(fd.jit(f), np.ones(n))
    assert not np.shares_memory(first, second)
    first += 1
    np.testing.assert_array_equal(second, np.sin(np.ones(n)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_carry_is_read_after_the_next_one_was_written(n: int, reverse: bool) -> None:
    def body(carry: Any, x: Any) -> Any:
        a, b = carry
        return (a * x + 0.5, np.tanh(b + a)), b[::-1] - a

    def looped(f: Any, a: Any, b: Any, xs: Any) -> Any:
        rows: list[Any] = [None] * len(xs)
        for k in range(len(xs))[:: -1 if reverse else 1]:
            (a, b), rows[k] = f((a, b), xs[k])
        return (a, b), np.array(rows)

    def scanned(a: Any, b: Any, xs: Any) -> Any:
        return fd.scan(body, (a, b), xs, reverse=reverse)

    rng = np.random.default_rng(0)
    a, b, xs = rng.normal(size=n), rng.normal(size=n), rng.normal(size=5)
    (found, rows), (expected, wanted) = (
        _repeatedly(fd.jit(scanned), a, b, xs),
        looped(body, a, b, xs),
    )
    for ours, numpys in zip((*found, rows), (*expected, wanted), strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-13)


def test_code_of_the_users_that_takes_nothing_traced_runs_in_every_call() -> None:
    calls: list[float] = []

    def measured(x: Any) -> Any:
        calls.append(float(x[0]))
        return x * len(calls)

    device: Any = fd.primitive(measured, result=lambda x: x)
    fixed = np.ones(3)

    def f(x: Any) -> Any:
        return x + device(np.cos(np.zeros_like(x))) + fixed

    jitted = fd.jit(f)
    results = [jitted(np.zeros(3))[0] for _ in range(4)]
    assert np.all(np.diff(results) == 1)


@pytest.mark.parametrize("n", [1, 5, 300])
def test_carries_of_a_loop_that_take_each_others_place_are_read_before_they_are_lost(
    n: int,
) -> None:
    def three(x: Any, y: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            a, b, c = carry
            return (b, c, np.sin(a) + 0.5 * b * c), np.sum(a)

        return fd.scan(step, (x, y, x * y), None, length=7)

    x, y = np.random.default_rng(0).normal(size=(2, n))
    a, b, c = x, y, x * y
    sums = []
    for _ in range(7):
        sums.append(np.sum(a))
        a, b, c = b, c, np.sin(a) + 0.5 * b * c
    carries, found = _repeatedly(fd.jit(three), x, y)
    for got, wanted in zip(carries, (a, b, c), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)
    np.testing.assert_allclose(found, sums, rtol=1e-13)
