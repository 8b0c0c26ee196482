"""One operation on neighbouring slices of an array is one on all of them."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.passes.neighbours import merge_neighbours


def names(program: Program) -> list[str]:
    """Return the names of the primitives, but for slices."""
    return [eq.primitive.name for eq in program.equations if eq.primitive.name != "slice"]


def merged(f: Any, *xs: Any) -> Program:
    """Return the merged program of a function, which gives the same."""
    program = fd.trace(f)(*xs)
    after = merge_neighbours(program)
    for x, y in zip(fd.evaluate(program, xs), fd.evaluate(after, xs), strict=True):
        assert np.array_equal(x, y)
    return after


def gates(z: Any) -> Any:
    """Return what a gated unit makes of four neighbouring slices."""
    n = z.shape[-1] // 4
    i, f, o = (1.0 / (1.0 + np.exp(-z[..., k * n : (k + 1) * n])) for k in range(3))
    return i * np.tanh(z[..., 3 * n :]) + f, o


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, complex])
def test_gates_are_computed_together(shape: tuple[int, ...], dtype: type) -> None:
    z: Any = np.random.default_rng(0).normal(size=shape).astype(dtype)
    assert names(merged(gates, z)) == ["neg", "exp", "add", "div", "tanh", "mul", "add"]


def test_operands_move_together() -> None:
    def f(x: Any, y: Any) -> Any:
        return x[:2] * y[1:3], x[2:4] * y[3:5], x[4:5] * y[4:5]

    assert names(merged(f, np.arange(5.0), np.arange(6.0))) == ["mul", "mul"]


def test_the_order_of_neighbours_is_that_of_places() -> None:
    def f(x: Any) -> Any:
        last = np.sin(x[3:])
        return np.cos(np.sin(x[:3])) * 2.0, np.cos(last) * 2.0

    assert names(merged(f, np.arange(6.0))) == ["sin", "cos", "mul"]


def test_what_is_not_alike_is_left_alone() -> None:
    def numbers(x: Any) -> Any:
        return x[:2] * 2.0, x[2:] * 3.0

    def gaps(x: Any) -> Any:
        return np.sin(x[:2]), np.sin(x[3:])

    def strides(x: Any) -> Any:
        return np.sin(x[:3:2]), np.sin(x[3:])

    def overlaps(x: Any) -> Any:
        return np.sin(x[:3]), np.sin(x[2:])

    def axes(x: Any) -> Any:
        B = np.outer(x, x)
        return np.sin(B[:2]), np.sin(B[:, 2:])

    for f in (numbers, gaps, strides, overlaps, axes):
        x = np.arange(5.0)
        assert names(merged(f, x)) == names(fd.trace(f)(x))


def test_a_slice_that_needs_its_neighbour_comes_after_it() -> None:
    def f(x: Any) -> Any:
        a = np.sin(x[:3])
        return a, np.sin(x[3:] + a)

    assert names(merged(f, np.arange(6.0))) == ["sin", "add", "sin"]


def test_bodies_are_merged_too() -> None:
    def f(x: Any) -> Any:
        def body(s: Any, _: Any) -> Any:
            return np.concatenate([np.sin(s[2:]), np.sin(s[:2])]) + s * 0.1, None

        return fd.scan(body, x, length=3)[0]

    program = merged(f, np.arange(4.0))
    assert str(program).count("sin") == 1


def test_a_row_apart_is_a_neighbour_of_the_others() -> None:
    def f(x: Any, y: Any) -> Any:
        first, last = np.sin(x[0] * y[0]), np.sin(x[4] * y[4])
        others = np.sin(x[1:4] * y[1:4])
        return np.concatenate([others, last[None]]), first

    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    for pair in (x, x[..., 0]):  # rows, and single numbers
        found = names(merged(f, *pair))
        assert [n for n in found if n != "reshape"] == ["mul", "sin"]


def test_few_numbers_are_not_made_an_array() -> None:
    x = np.arange(9.0)
    assert names(merged(lambda x: (np.sin(x[0]), np.sin(x[1])), x)).count("sin") == 2
    assert names(merged(lambda x: [np.sin(x[k]) for k in range(9)], x)).count("sin") == 1


def test_what_belongs_to_what_is_merged_later_waits_for_it() -> None:
    def f(x: Any) -> Any:
        a, b = np.sin(x[:1]), np.sin(x[1:])
        c = b * 3.0
        return a * 3.0 + 1.0, c[:2] + 1.0, c[2:] + 1.0

    assert names(merged(f, np.arange(5.0))) == ["sin", "mul", "add"]


@pytest.mark.parametrize("n", [2, 3, 20, 40])
def test_the_ends_of_a_loop_are_computed_with_the_rest(n: int) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 1):
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return total

    x = np.random.default_rng(n).normal(size=n)
    gradient = fd.jit(fd.grad(f))
    for _ in range(3):
        np.testing.assert_allclose(gradient(x), fd.grad(f)(x), rtol=1e-13, atol=1e-12)
    text = gradient.lower(x).source
    assert n < 40 or (text.count("square(") == 1 and len(text) < 1500)
