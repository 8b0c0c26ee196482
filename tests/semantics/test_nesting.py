"""In-place changes, state and growth under differentiation."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import EscapedTracerError

Derivative = Callable[[Callable[..., Any], Any], Any]

# ---- NumPy's aliasing ------------------------------------------------------------------------


def test_an_in_place_product_is_seen_under_every_name(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = x + 0  # not the argument itself, which the caller may need
        z = y
        z *= 2
        return np.sum(z * y)

    x = np.array([1.0, 3.0])
    assert f(x) == fd.value_and_grad(f)(x)[0] == 4 * np.sum(x**2)
    np.testing.assert_array_equal(gradient(f, x), 8 * x)


def test_an_argument_changed_in_place_gives_the_value_numpy_gives() -> None:
    def f(x: Any) -> Any:
        y = x
        y *= 2
        return np.sum(y * x)

    x = np.array([1.0, 3.0])
    value, slopes = fd.value_and_grad(f)(x)
    np.testing.assert_array_equal(x, [1, 3])
    assert value == f(x.copy()) == 4 * 10
    np.testing.assert_array_equal(slopes, 8 * x)


def test_a_change_through_a_view_is_written_through(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        v = y[:2]
        v *= 2
        return np.sum(y * np.array([1.0, 10, 100]))

    np.testing.assert_array_equal(gradient(f, np.ones(3)), [2, 20, 100])


def test_a_view_sees_a_change_of_its_base(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        v = y.reshape(2, 2).T[0]
        y += np.array([0.0, 1, 2, 3])
        y *= y
        return np.sum(v * np.array([1.0, 10]))

    x = np.array([1.0, 1, 1, 1])
    expected = fd.grad(lambda x: x[0] ** 2 + 10 * (x[2] + 2) ** 2)(x)
    np.testing.assert_array_equal(gradient(f, x), expected)


def test_a_copy_does_not_see_a_change(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        kept, picked = y.copy(), y[[0, 1]]
        y *= 5
        return np.sum(kept) + np.sum(picked)

    np.testing.assert_array_equal(gradient(f, np.ones(2)), [2, 2])


@pytest.mark.parametrize("x", [3.0, np.float64(3), np.array(3.0)])
def test_a_0d_result_is_a_scalar_and_rebinds(x: Any, gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = y
        z *= 2
        return z * y

    assert f(x) == fd.value_and_grad(f)(x)[0] == 18
    assert gradient(f, x) == 12


def test_item_assignment_in_place_is_seen_in_the_whole(gradient: Derivative) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y[1:] *= 3
        return np.sum(y * y)

    x = np.array([1.0, 1, 1])
    assert fd.value_and_grad(f)(x)[0] == f(x)
    np.testing.assert_array_equal(gradient(f, x), [2, 18, 18])


# ---- state -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("k"), ZeroDivisionError()])
def test_an_exception_inside_passes_untouched(error: Exception) -> None:
    def f(x: Any) -> Any:
        raise error

    with pytest.raises(type(error)) as caught:
        fd.grad(f)(1.0)
    assert caught.value is error
    assert fd.grad(lambda x: x * x)(3.0) == 6


def test_an_exception_in_an_inner_trace_leaves_the_outer_one_working() -> None:
    def inner(y: Any) -> Any:
        raise ValueError("inner")

    def f(x: Any) -> Any:
        try:
            fd.grad(inner)(x)
        except ValueError:
            return x * x
        return x

    assert fd.grad(f)(3.0) == 6


def test_a_tracer_smuggled_out_raises_and_names_where_it_was_made() -> None:
    kept: list[Any] = []

    def smuggler(x: Any) -> Any:
        kept.append(x * 2)
        return x

    fd.grad(smuggler)(1.0)
    with pytest.raises(EscapedTracerError, match=r"smuggler|ended"):
        kept[0] + 1


def test_a_function_valued_result_that_holds_a_tracer_raises_when_used() -> None:
    def f(x: Any) -> Any:
        return x, lambda: x + 1

    _, later = fd.grad(f, has_aux=True)(1.0)
    with pytest.raises(EscapedTracerError):
        later()


# ---- growth ----------------------------------------------------------------------------------


def test_an_order_of_differentiation_at_most_about_doubles_a_program() -> None:
    f: Any = lambda x: np.sin(x) * np.exp(x)
    counts = []
    for _ in range(6):
        f = fd.grad(f)
        counts.append(len(fd.trace(f)(0.7).equations))
    assert all(after <= 2 * before for before, after in pairwise(counts))


def test_an_unused_computation_is_dropped() -> None:
    def f(x: Any) -> Any:
        np.sin(np.exp(x))
        return x * x

    assert len(fd.trace(fd.grad(f))(1.0).equations) <= 2
