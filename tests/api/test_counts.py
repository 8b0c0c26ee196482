"""Sizes of derived programs: orders share their work, long loops cost in proportion."""

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import funcdiff as fd


def _count(f: Callable[..., Any], *args: Any) -> int:
    return len(fd.trace(f)(*args).equations)


def _tanh_chain(x: Any) -> Any:
    for _ in range(3):
        x = np.tanh(x)
    return x


# ---- orders ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "bounds"),
    [
        (lambda x: np.sin(x) * np.exp(x), [6, 9, 13, 21, 35, 60]),
        (lambda x: x**5, [2, 2, 3, 1, 0, 0]),
        (np.tanh, [3, 5, 9, 17, 37, 84]),
        (_tanh_chain, [11, 24, 57, 153, 397, 999]),
        (lambda x: 1 / (1 + np.exp(-x)), [6, 12, 26, 64, 154, 347]),
    ],
)
def test_the_nth_derivative_stays_small(f: Any, bounds: list[int]) -> None:
    counts = []
    for _ in bounds:
        f = fd.grad(f)
        counts.append(_count(f, 0.7))
    assert all(count <= bound for count, bound in zip(counts, bounds, strict=True)), counts


def test_the_derivatives_of_sin_return_to_it() -> None:
    f: Any = np.sin
    for _ in range(8):
        f = fd.grad(f)
        assert _count(f, 0.7) <= 2


def test_the_derivatives_of_exp_are_exp() -> None:
    f: Any = np.exp
    for _ in range(8):
        f = fd.grad(f)
        assert _count(f, 0.7) == 1


# ---- first derivatives -----------------------------------------------------------------------


def _classifier(weights: Any, x: Any, labels: Any) -> Any:
    w, v = weights
    scores = np.tanh(x @ w) @ v
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum((shifted - total) * labels, axis=1))


def _recurrent(weights: Any, xs: Any) -> Any:
    h = c = np.zeros(4)
    for x in xs:
        z = weights @ np.concatenate([x, h])
        forget, keep, write = (1 / (1 + np.exp(-part)) for part in (z[:4], z[4:8], z[8:12]))
        c = forget * c + keep * np.tanh(z[12:])
        h = write * np.tanh(c)
    return np.sum(h**2)


def _logistic(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return np.mean(np.logaddexp(0, z) - y * z) + 0.1 * np.sum(w * w)


@pytest.mark.parametrize(
    ("f", "args", "bound"),
    [
        (_classifier, [(np.ones((4, 5)), np.ones((5, 3))), np.ones((9, 4)), np.ones((9, 3))], 46),
        (_recurrent, [np.ones((16, 7)), np.ones((5, 3))], 263),
        (_logistic, [np.ones(5), np.ones((9, 5)), np.ones(9)], 22),
    ],
)
def test_a_value_and_its_gradient_share_their_work(f: Any, args: Any, bound: int) -> None:
    assert _count(fd.value_and_grad(f), *args) <= bound


# ---- sizes -----------------------------------------------------------------------------------


def _loop(steps: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(steps):
            x = x + 0.5 * np.sin(x)
        return np.sum(x)

    return f


def _elementwise_sum(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total = total + np.sin(x[k])
    return total


@pytest.mark.parametrize("derive", [fd.grad, lambda f: fd.grad(lambda x: fd.grad(f)(x))])
def test_the_gradient_of_a_loop_grows_linearly(derive: Any) -> None:
    counts = [_count(derive(_loop(n)), 0.3) for n in (10, 20, 40, 80)]
    steps = [b - a for a, b in pairwise(counts)]
    assert [2 * s for s in steps[:-1]] == steps[1:]
    assert counts[-1] <= 30 * 80


def test_the_gradient_of_a_loop_costs_a_few_times_the_loop() -> None:
    loop = _loop(100)
    assert _count(fd.grad(loop), 0.3) <= 3 * _count(loop, 0.3)


def test_a_loop_over_elements_has_a_gradient_of_linear_size() -> None:
    counts = [_count(fd.grad(_elementwise_sum), np.ones(n)) for n in (50, 100, 200)]
    assert 2 * (counts[1] - counts[0]) == counts[2] - counts[1]
    assert counts[2] <= 5 * 200


# ---- long loops ------------------------------------------------------------------------------


@pytest.fixture
def python_limit() -> Iterator[None]:
    """Python's own limit, which other libraries raise when they are imported."""
    outside = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(outside)


@pytest.mark.slow
@pytest.mark.usefixtures("python_limit")
def test_a_loop_of_fifty_thousand_equations_hits_no_recursion_limit() -> None:
    steps = 25_000

    def f(x: Any) -> Any:
        for _ in range(steps):
            x = x * 1.0001 + 1e-6
        return x

    value, slope = fd.value_and_grad(f)(0.5)
    assert value == f(0.5)
    np.testing.assert_allclose(slope, 1.0001**steps, rtol=1e-9)


def _calls(steps: int) -> int:
    """Return how many functions are called, of Python's and C's, to differentiate a loop."""

    def f(x: Any) -> Any:
        for _ in range(steps):
            x = np.sin(x)
        return x

    count = 0

    def watch(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    fd.clear_caches()
    sys.setprofile(watch)
    try:
        fd.grad(f)(0.5)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
def test_the_work_of_a_long_loop_is_not_quadratic() -> None:
    few, many = map(_calls, (3_000, 12_000))
    assert 3 * few < many < 5 * few  # four times the work; sixteen times would be quadratic
