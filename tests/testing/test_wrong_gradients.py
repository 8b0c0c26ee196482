"""Wrong derivatives of every kind are found, and named by few evaluations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.testing import check_grads, check_vjp

Linear = Callable[[Any], Any]

COUNT = 10_000
PLACE = 6_543


def bent(wrong: Linear) -> Callable[[Any], Any]:
    """Return the identity, with a wrong derivative."""

    @fd.custom_jvp
    def same(x: Any) -> Any:
        return x

    @same.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return primals[0], wrong(tangents[0])

    return same


def wrong_first(f: Callable[..., Any], wrong: Linear) -> Callable[..., Any]:
    """Return `f` with a wrong derivative by its last argument."""
    bend = bent(wrong)
    return lambda *xs: f(*xs[:-1], bend(xs[-1]))


def wrong_second(f: Callable[..., Any], wrong: Linear) -> Callable[..., Any]:
    """Return `f` with the right first derivative, whose derivative by its last point is wrong."""
    bend = bent(wrong)

    @fd.custom_jvp
    def g(*xs: Any) -> Any:
        return f(*xs)

    @g.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return g(*primals), fd.jvp(f, (*primals[:-1], bend(primals[-1])), tangents)[1]

    return g


def at_one_place(change: float, place: int = PLACE) -> Linear:
    def wrong(t: Any) -> Any:
        factors = np.ones(t.shape, t.dtype)
        factors.reshape(-1)[place % t.size] += change
        return t * factors

    return wrong


def swapped(t: Any) -> Any:
    places = np.arange(t.size)
    places[[0, -1]] = places[[-1, 0]]
    return t[places]


MUTANTS: dict[str, Linear] = {
    "a thousandth too large": lambda t: t * (1 + t.dtype.type(0.001)),
    "of the wrong sign": lambda t: -t,
    "zero": lambda t: 0 * t,
    "wrong in one entry": at_one_place(-1.0),
    "with two entries exchanged": swapped,
}
POINTS = {
    "float64": np.linspace(-1.5, 1.8, 37),
    "float32": np.linspace(-1.5, 1.8, 37, dtype=np.float32),
    "complex128": np.linspace(-1.5, 1.8, 37) * np.exp(1j * np.arange(37)),
    "complex64": (np.linspace(-1.5, 1.8, 37) * np.exp(1j * np.arange(37))).astype("complex64"),
    "tiny": 1e-8 * np.linspace(-1.5, 1.8, 37),
    "huge": 1e8 * np.linspace(-1.5, 1.8, 37),
}
QUICK = {"float64", "float32", "complex64"}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("point", POINTS)
def test_the_right_derivative_passes(point: str, mode: str) -> None:
    x = POINTS[point]
    size = x.real.dtype.type(np.abs(x).max())
    check_grads(lambda x: np.sum(np.abs(x / size) ** 4 * np.sin(x.real / size)), (x,))


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [wrong_first, wrong_second])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    "point",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in POINTS],
)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_derivative_is_found(mutant: str, point: str, mode: str, spoil: Any) -> None:
    x = POINTS[point]
    size = float(np.abs(x).max())
    ranks = np.arange(1, x.size + 1).astype(x.real.dtype)

    def f(x: Any) -> Any:
        x = x / x.dtype.type(size)
        return np.sum(np.abs(x) ** 4 * ranks) + np.sum(np.sin(3 * x.real) * np.exp(x.imag))

    order = 1 if spoil is wrong_first else 2
    with pytest.raises(AssertionError, match="differs from central differences"):
        check_grads(spoil(f, MUTANTS[mutant]), (x,), order=order, modes=(mode,))


@pytest.mark.thinned(8)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("spoil", [wrong_first, wrong_second])
def test_a_derivative_wrong_by_one_of_several_arguments_is_found(
    spoil: Any, mode: str, dtype: Any
) -> None:
    a, b, c = (np.linspace(low, 2.0, 9, dtype=dtype) for low in (-1.0, 0.5, 0.1))
    weight = dtype(1e3 if dtype is np.float64 else 3.0)
    mutants = dict(MUTANTS)
    if dtype is np.float32:  # a thousandth of a part is less than rounding of the whole
        mutants["a thousandth too large"] = lambda t: t * t.dtype.type(1.05)

    def f(a: Any, b: Any, c: Any) -> Any:
        return np.sum(np.exp(a) * np.log(b)) * weight + np.sum(np.tanh(c) * b)

    check_grads(f, (a, b, c), modes=(mode,))
    for wrong in mutants.values():
        with pytest.raises(AssertionError, match="differs from central differences"):
            check_grads(spoil(f, wrong), (a, b, c), modes=(mode,))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_one_wrong_entry_among_ten_thousand_is_named(mode: str, dtype: Any) -> None:
    x = np.random.default_rng(3).uniform(0.5, 1.5, COUNT).astype(dtype)

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    calls = 0

    def counted(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return f(x)

    spoiled = wrong_first(counted, at_one_place(0.5))
    with pytest.raises(AssertionError) as caught:
        check_grads(spoiled, (x,), order=1, modes=(mode,))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert f"args[0][{PLACE}]" in lines[1]
    assert calls < 1500


def test_a_gradient_a_hundredth_wrong_in_one_of_ten_thousand_entries_is_found() -> None:
    x = np.random.default_rng(3).uniform(0.5, 1.5, COUNT)
    with pytest.raises(AssertionError, match=rf"gradient of args\[0\]\[{PLACE}\]"):
        check_grads(
            wrong_first(lambda x: np.sum(np.sin(x) * x), at_one_place(0.01)),
            (x,),
            order=1,
            modes=("reverse",),
        )


def test_entries_of_many_sizes_are_told_apart() -> None:
    x = np.array([1e-8, 3e-8, 2.0, 5.0, 1e8, 3e8])

    def f(x: Any) -> Any:
        return np.sum(np.log(x) + np.log1p(x))

    check_grads(f, (x,))
    for place in range(6):
        with pytest.raises(AssertionError, match=rf"args\[0\]\[{place}\]"):
            check_grads(wrong_first(f, at_one_place(0.001, place)), (x,), order=1)


@pytest.mark.slow
@pytest.mark.parametrize(("directions", "most", "named"), [(128, 1500, 5), (20, 400, 0)])
def test_the_search_is_bounded_and_says_what_it_has_left_out(
    directions: int, most: int, named: int
) -> None:
    calls = 0

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.sum(np.exp(x / 3.0))

    x = np.linspace(0.0, 1.0, 100_000)
    with pytest.raises(AssertionError) as caught:
        check_vjp(
            f, lambda x: (f(x), lambda v: (v * np.exp(x / 3.0),)), (x,), directions=directions
        )
    lines = str(caught.value).splitlines()
    assert len(lines) == 2 + named
    left = f"{100_000 - named} of 100000 entries are left, from args[0][{named}]"
    assert f"directions were tried; {left}" in lines[-1]
    assert calls < most


def test_entries_that_differ_only_together_are_named_together() -> None:
    x = np.linspace(1.0, 2.0, 64).astype(np.float32)

    def f(x: Any) -> Any:
        return np.sum(x) * np.float32(1e3)

    def pull(x: Any) -> Any:
        return f(x), lambda v: (np.full_like(x, 1000.02) * v,)

    with pytest.raises(AssertionError, match="differs from central differences"):
        check_vjp(f, pull, (x,), rtol=1e-5, atol=0.0)
