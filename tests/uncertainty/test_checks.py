"""Warnings where linearization does not see what a function does within its uncertainty."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
import funcdiff.scipy.integrate
from funcdiff import errors
from funcdiff.uncertainty import checks
from tests.together import together


def told(f: Callable[..., Any], x: Any, **options: Any) -> list[str]:
    """Return the warnings of a propagation."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fd.propagate(f)(x, **options)
    assert all(w.category is errors.UncertaintyWarning for w in caught)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def test_a_function_that_bends_within_its_uncertainty_is_told() -> None:
    (message,) = told(np.cos, 0.0, std=0.3)
    assert "second-order term of the result is 0.045," in message  # 0.3² / 2
    assert told(lambda x: np.cos(np.sum(x)), np.zeros(40), std=0.3)  # looked at in directions
    assert told(lambda x: x[0] * x[1] - x[2] * x[3], np.zeros(4), std=0.3)  # not along the axes
    assert not told(np.cos, 1.0, std=0.01)


def test_the_second_order_term_is_exact_for_few_numbers_and_for_elementwise_functions() -> None:
    # x'Hx/2 over all signs: trace²/4 and the squares of the elements off the diagonal
    H = np.array([[3.0, 1, 0], [1, -2, 4], [0, 4, 0.5]])
    (message,) = told(lambda x: x @ H @ x / 2, np.zeros(3), std=1.0)
    assert f"is {np.sqrt(1.5**2 / 4 + 1 + 16):.3g}," in message
    x = np.linspace(1, 2, 100)
    assert not told(lambda x: x**2, x, std=0.19 * x)  # of x²: u², and 2xu
    assert "result[99] is 0.176," in told(lambda x: x**2, x, std=np.where(x < 2, 0, 0.42))[0]


@pytest.mark.thinned(7)
@pytest.mark.parametrize("part", [0.02, 0.049, 0.051, 0.099, 0.101, 3.0])
def test_terms_are_told_from_a_tenth_of_the_deviation_on(
    part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if part < 0.05:  # of what is straight, values tell that without derivatives of second order
        monkeypatch.setattr(checks, "_expansion", None)
    x = np.array([1.0, -2.0, 0.5])
    for bend in (lambda z: part * z**2, lambda z: part * (np.cosh(z) - 1) * 2):
        f: Any = lambda x, bend=bend: np.sum(x) + bend(x[1] + 2) + 5 * (x[0] - 1) ** 4
        assert bool(told(f, x, std=np.array([1e-9, 1.0, 1e-9]))) is (part > 0.1)
        assert bool(told(f, x, std=np.array([0.0, 1.0, 0.0]))) is (part > 0.1)


def test_a_function_that_is_not_defined_nearby_is_judged_by_its_derivatives() -> None:
    def only_here(x: Any) -> Any:
        if float(fd.stop_gradient(x)) != 1.0:
            raise ValueError
        return x * 1.0

    (message,) = told(only_here, 1.0, std=0.1)
    assert "where values decide" in message
    assert not told(lambda x: np.sqrt(x * 1.0) * 0 + x, 0.001, std=0.1)


def _branch(x: Any) -> Any:
    if x > 1:
        return x**2
    return x / 100


def _while(x: Any) -> Any:
    count = 0
    while x < 1:
        x, count = x * 1.5, count + 1
    return x * count


def _bisection(x: Any) -> Any:
    low, high = 0 * x, 1 + x
    while high - low > 1e-6:
        middle = (low + high) / 2
        if middle * middle < x:
            low = middle
        else:
            high = middle
    return low


def _scanned(x: Any) -> Any:
    return fd.scan(lambda c, _: (np.maximum(c * 1.5, 1.5), None), x, np.zeros(2))[0]


def _solved(x: Any) -> Any:
    return fd.custom_root(lambda y: y - np.abs(x - 1), 0.1, lambda f, y: y - f(y))


def _integrated(x: Any) -> Any:
    solution = fd.scipy.integrate.solve_ivp(lambda t, y: np.maximum(y, x) - x, (0, 1), [1.0])
    return solution.y[0, -1]


def _largest(x: Any) -> Any:
    both = np.stack([x, 2 - x])
    return (both * np.array([1.0, 3.0]))[np.argmax(both)]


def _masked(x: Any) -> Any:
    both = np.stack([x, 2 - x])
    return np.sum(both[both > 1])


@fd.custom_jvp
def _ruled(x: Any) -> Any:
    return np.abs(x - 1)


_ruled.defjvp(lambda x, t: (np.abs(x[0] - 1), np.sign(x[0] - 1) * t[0]))

KINKED: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: np.abs(x - 1),
    "maximum": lambda x: np.maximum(2 * x, 2.0),
    "where": lambda x: np.where(x > 1, x, x**2 / 100),
    "max": lambda x: np.max(np.stack([x, 2 - x])),
    "floor": lambda x: np.floor(x) + x,
    "flag": lambda x: (x > 1) * x,
    "argmax": _largest,
    "mask": _masked,
    "table": lambda x: np.interp(x, [0.0, 1.0, 3.0], [0.0, 1.0, 0.0]),
    "if": _branch,
    "while": _while,
    "min": lambda x: min(x, 2 - x),
    "compiled": fd.jit(_branch),
    "cond": lambda x: fd.cond(x > 1, lambda x: x**2, lambda x: x / 3, x),
    "scan": _scanned,
    "while_loop": lambda x: x * fd.while_loop(lambda c: c < 1, lambda c: c * 1.5, x),
    "checkpoint": lambda x: fd.checkpoint(lambda x: np.abs(x - 1) * x)(x),
    "rule": lambda x: _ruled(x) * 1.0,
    "within a derivative": lambda x: fd.grad(lambda z: np.abs(z - 1) * z)(x),
}


@together
@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", KINKED)
def test_a_kink_within_a_deviation_is_told_with_its_line(name: str) -> None:
    for x in (0.94, 1.06):
        messages = told(KINKED[name], x, std=0.072)
        kinks = [m for m in messages if "test_checks.py" in m and "has a kink" in m]
        assert kinks, messages
        assert "0.83 standard deviations" in kinks[0]
        assert not any("has a kink" in m for m in told(KINKED[name], x, std=0.048))


@given(st.lists(st.tuples(*[st.floats(0.2, 2)] * 3), min_size=1, max_size=5), st.floats(0, 2))
def test_the_distance_of_a_kink_is_that_of_a_plane_in_standard_deviations(
    rows: list[tuple[float, float, float]], away: float
) -> None:
    a, x, u = np.array(rows).T
    a[::2] *= -1
    sigma = np.sqrt(np.sum((a * u) ** 2))
    border = a @ x - away * sigma

    def tall(x: Any) -> Any:
        if a @ x > border:
            return 3 * (a @ x) - 2 * border
        return a @ x

    for f in (lambda x: np.maximum(3 * (a @ x) - 2 * border, a @ x), tall):
        messages = told(f, x, std=u)
        if away < 0.99:
            shown = float(messages[0].split(" standard deviations away")[0].split()[-1])
            assert shown == pytest.approx(away, rel=0.06, abs=0.002)
        elif away > 1.01:
            assert not messages


@together
@pytest.mark.parametrize("f", [_bisection, _solved, _integrated])
def test_where_kinks_are_hidden_the_function_is_compared(f: Callable[[Any], Any]) -> None:
    assert told(f, 1.06, std=0.072)


def test_the_kinks_of_a_loop_that_converges_do_no_harm() -> None:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    assert not told(root, 2.0, std=0.05)


def test_text_of_values_does_not_disturb_the_search_unless_it_decides() -> None:
    assert not told(lambda x: (f"{x}", x**2)[1], 1.0, std=0.18)
    (message,) = told(lambda x: x * float(fd.stop_gradient(x)), 1.0, std=0.1)
    assert "where values decide" in message


def test_kinks_of_constants_and_of_other_arguments_are_not_told() -> None:
    data = np.array([-1.0, 0.0, 1.0])
    assert not told(
        lambda p: p[0] * np.abs(data) + np.abs(p[1]), np.array([1.0, 0.0]), std=np.array([0.1, 0.0])
    )


def test_a_point_on_a_kink_is_told_though_distances_have_no_slope_there() -> None:
    assert "has a kink 0 standard deviations" in told(np.abs, 0.0, std=0.1)[0]


def test_kinks_of_elements_are_found_in_large_arrays_of_either_precision() -> None:
    x = np.linspace(1, 2, 500)
    x[77] = 0.03
    for dtype in (np.float64, np.float32):
        assert "0.3 standard" in told(lambda x: np.abs(x), x.astype(dtype), std=0.1)[0]
    assert not told(lambda x: np.abs(x), x, std=0.02)
