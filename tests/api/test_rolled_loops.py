"""Loops that Python decides by values run as often as they have to, also as never before."""

from __future__ import annotations

import itertools
import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.api.compiling import executables
from funcdiff.api.rolling import states
from funcdiff.errors import RecompilationWarning

FD: Any = fd


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-10 * a:
        x = 0.5 * (x + a / x)
    return x


def bisection(a: Any) -> Any:
    low, high = 0.0 * a, 0.0 * a + 4.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        if middle * middle > a:
            high = middle
        else:
            low = middle
    return low * a + high


def kept_from_before(a: Any) -> Any:
    """What was before the loop is read behind it, under a name that a loop has left alone."""
    x = 1.0 * a
    before = x
    while x < 9.0:
        x = x * 1.5 if x > 2.0 else x + 1.0
    return x * before + before


def exchanged(a: Any) -> Any:
    x, y = a, a * a
    while x + y < 40.0:
        x, y = y, x + 0.5 * y
    return x / y


def several_exits(a: Any) -> Any:
    x = a
    while True:
        x = 1.3 * x + 0.1
        if x > 20.0:
            return np.sin(x)
        y = np.cos(x) * a
        if y > 2.5:
            break
    return y * x


def nested(a: Any) -> Any:
    total, x = 0.0 * a, a
    while x > 0.2:
        y = x
        while y < 3.0:
            y = y * 1.4 + 0.05
            total = total + y
        x = 0.7 * x
    return total


def in_a_helper(a: Any) -> Any:
    def halved(z: Any) -> Any:
        while z > a:
            z = 0.5 * z
        return z

    x = 5.0 * a
    while x < 60.0:
        x = x + halved(x) + 1.0
    return halved(x) * x


def recursion(a: Any) -> Any:
    def descend(x: Any, depth: int) -> Any:
        while x > 4.0:
            x = 0.6 * x
        return x if depth == 0 else descend(x * 3.0, depth - 1) + x

    return descend(7.0 * a, 3)


def derivative_within(a: Any) -> Any:
    def potential(x: Any) -> Any:
        return 0.5 * x**2 - a * x if x > 1.0 else x**2 - a * x

    x = 2.0 * a
    while abs(fd.grad(potential)(x)) > 1e-3:
        x = x - 0.4 * fd.grad(potential)(x)
    return x


def rows(a: Any) -> Any:
    y = np.stack([a, 2.0 * a, -a])
    while np.sum(y * y) < 50.0:
        y = 1.2 * y + np.sum(y[y > 0.5])
    return np.sum(y) * y[np.argmax(y)]


def changed_in_place(a: Any) -> Any:
    y = np.stack([a, 0.5 * a])
    other = y
    while y[0] < 8.0:
        y[0] = y[0] * 1.5
        y += 0.1
    return other[0] * other[1] + np.sum(y)


def changed_by_the_callee(a: Any) -> Any:
    def grow(z: Any) -> None:
        while np.sum(z) < 12.0:
            z *= 1.25

    y = np.stack([a, a + 1.0])
    grow(y)
    return y[0] * y[1]


def views(a: Any) -> Any:
    y = np.stack([a, a * a, a])
    head = y[:2]
    while y[0] < 7.0:
        y[0] = 1.4 * y[0]
    return np.sum(head) * a


def counter(a: Any) -> Any:
    x, k = a, 0
    while x < 30.0:
        x, k = x * 1.5, k + 1
    return x * k


def bounded(a: Any) -> Any:
    x, k = a, 0
    while x < 30.0 and k < 5:
        x, k = x * 1.5, k + 1
    return x + k


def for_with_break(a: Any) -> Any:
    x = a
    for _ in range(6):
        x = 1.5 * x + 0.2
        if x > 9.0:
            break
    return x * a


def from_an_iterator(a: Any) -> Any:
    x, factors = a, iter([1.1, 1.9, 1.2, 1.3] * 10)
    while x < 30.0:
        x = x * next(factors)
    return x


def from_a_generator(a: Any) -> Any:
    x, rng = a, np.random.default_rng(0)
    while x < 30.0:
        x = x * (1.1 + rng.uniform())
    return x


def from_a_cycle(a: Any) -> Any:
    x, factors = a, itertools.cycle([1.1, 1.9])
    while x < 30.0:
        x = x * next(factors)
    return x


def nonlocal_counter(a: Any) -> Any:
    calls = 0

    def step(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * (1.0 + 1.0 / calls) + 0.2

    x = a
    while x < 30.0:
        x = step(x)
    return x


TURNS = 0


def global_counter(a: Any) -> Any:
    global TURNS  # noqa: PLW0603
    TURNS, x = 0, a
    while x < 30.0:
        x = x * (1.2 if TURNS % 2 else 1.5)
        TURNS += 1
    return x * a


def turn() -> float:
    global TURNS  # noqa: PLW0603
    TURNS += 1
    return 1.0 + 1.0 / TURNS


def counter_of_a_global_function(a: Any) -> Any:
    global TURNS
    TURNS, x = 0, a
    while x < 30.0:
        x = x * turn()
    return x


def from_a_bound_method(a: Any) -> Any:
    x, factor = a, [1.1, 1.9, 1.2, 1.3, 1.7, 1.5, 2.0] * 9
    take = factor.pop
    del factor
    while x < 30.0:
        x = x * take()
    return x


def from_the_global_generator(a: Any) -> Any:
    np.random.seed(0)  # noqa: NPY002
    x = a
    while x < 30.0:
        x = x * (1.1 + np.random.uniform())  # noqa: NPY002
    return x


def remembered(a: Any) -> Any:
    x, history = a, []
    while x < 30.0:
        history.append(x)
        x = 1.5 * x
    return sum(history) + x


def last_two(a: Any) -> Any:
    x, pair = a, (a, a)
    while x < 30.0:
        pair = (pair[1], x)
        x = 1.3 * x + 0.1 * pair[0]
    return pair[0] * pair[1]


@dataclass
class State:
    x: Any
    steps: int = 0


def attribute(a: Any) -> Any:
    state = State(a)
    while state.x < 30.0:
        state.x, state.steps = state.x * 1.5, state.steps + 1
    return state.x * state.steps


def plain_time(a: Any) -> Any:
    x, t = a, 0.0
    while x < 30.0:
        x, t = x * 1.5 + t, t + 0.25
    return x + t


def constant_buffer(a: Any) -> Any:
    x, seen = a, fnp.zeros(1)
    while x < 30.0:
        seen[0] += 1.0
        x = x * (1.5 if seen[0] < 3.0 else 1.2)
    return x


def caught(a: Any) -> Any:
    x = a
    while x < 30.0:
        try:
            if x > 5.0:
                raise ValueError
            x = 1.5 * x
        except ValueError:
            x = 1.2 * x + 1.0
    return x


def unused_before(a: Any) -> Any:
    """A name that is only now and then bound anew."""
    x, best = a, a
    while x < 30.0:
        x = 1.4 * x
        if np.sin(x) > np.sin(best):
            best = x
    return best * a + x


def untouched_by_a_callee(a: Any) -> Any:
    """A callee that does nothing returns what it was given, which is read under its old name."""

    def grow(z: Any) -> Any:
        while True:
            if z > 9.0:
                return z
            z = 1.5 * z

    x = 1.0 * a
    y = grow(x)
    return np.sin(x) + y if x > 4.0 else x * y


def left_behind_by_a_callee(a: Any) -> Any:
    """After one iteration a callee's variable is what the caller has under another name."""

    def grow(z: Any) -> Any:
        before = 0.0 * z
        while z < 9.0:
            before, z = z, 1.5 * z + 1.0
        return z + 3.0 * before

    x = 1.5 * a
    return grow(x) + 10.0 * x


def decided_unseen(a: Any) -> Any:
    """What follows from constants alone is decided when the function is traced."""
    x, c = 1.5 * a, FD.stop_gradient(fnp.zeros(3))
    while True:
        if x > 30.0:
            return x * a
        x = 1.5 * x + (3.0 if c[0] > 0.0 else 0.0)
        c = fnp.cos(c)


def becomes_a_view(a: Any) -> Any:
    """What is written changes what is read, but for the first time."""
    y = np.stack([a, 0.5 * a])
    head = y[:1].copy()
    while True:
        if y[0] > 20.0:
            return y[0] * y[1]
        y[0] = 1.4 * y[0]
        y[1] = y[1] + head[0]
        head = y[:1]


def changes_its_mode(a: Any) -> Any:
    """What is counted where nobody looks ends one loop, and another begins."""
    os.environ["TURNS"], x, mode = "", a, 0
    while x < 30.0:
        x = x * (1.2 if mode else 1.5)
        os.environ["TURNS"] += "x"
        mode = int(len(os.environ["TURNS"]) > 3)
    return x * a


ROLLED = [
    newton, bisection, kept_from_before, exchanged, several_exits, nested, in_a_helper, recursion,
    rows, changed_in_place, changed_by_the_callee, caught, last_two,
]  # fmt: skip
OTHERS = [
    derivative_within, views, counter, bounded, for_with_break, from_an_iterator, from_a_generator,
    from_a_cycle, from_a_bound_method, from_the_global_generator, nonlocal_counter, global_counter,
    counter_of_a_global_function, remembered, attribute, plain_time, constant_buffer,
    unused_before,
]  # fmt: skip
REMEMBERING = [
    from_an_iterator, from_a_generator, from_a_bound_method, from_the_global_generator,
    nonlocal_counter, global_counter, counter_of_a_global_function,
]  # fmt: skip
POINTS = [1.7, 0.9, 2.6, 0.4, 1.1, 3.3, 0.7, 2.1, 0.3, 1.4, 2.9, 0.5]


@pytest.fixture(name="early", params=["_FEW", "_LONG"])
def _early(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for loops after the first way, or in it."""
    monkeypatch.setattr(executables, request.param, 1)


def second(f: Any) -> Any:
    return FD.grad(FD.grad(f))


@pytest.mark.thinned(54)
@pytest.mark.parametrize(
    "transform",
    [
        pytest.param(lambda f: f, id="f"),
        pytest.param(FD.grad, id="grad", marks=pytest.mark.thinned(6)),
        pytest.param(second, id="second", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("f", [*ROLLED, *OTHERS], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("early")
def test_loops_give_what_python_gives(f: Any, transform: Any) -> None:
    plain, compiled = transform(f), FD.jit(transform(f))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        for a in [*POINTS, *POINTS[:4]]:
            np.testing.assert_allclose(compiled(a), plain(a), rtol=1e-8, atol=1e-10, err_msg=str(a))


@pytest.mark.parametrize("f", [newton, bisection])
def test_a_long_way_is_a_loop_from_the_first_call_on(f: Any) -> None:
    def long(a: Any) -> Any:
        while a < 1e6:
            a = a * 1.3
        return f(a)

    compiled = FD.jit(FD.grad(long))
    for a in (1e-3, 2e-3, 1e-4, 0.5):
        np.testing.assert_allclose(compiled(a), FD.grad(long)(a), rtol=1e-10)
    assert compiled.cache_info().leaves <= 2
    assert sum(compiled.cache_info().misses.values()) <= 2


def misses(f: Any, points: Any) -> int:
    """Return how many of the later calls were traced."""
    compiled = FD.jit(f)
    for a in points:
        compiled(a)
    before = sum(compiled.cache_info().misses.values())
    for a in np.linspace(0.35, 3.15, 40):
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-8)
    return int(sum(compiled.cache_info().misses.values()) - before)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "f", [newton, bisection, in_a_helper, changed_in_place, last_two], ids=lambda f: f.__name__
)
@pytest.mark.usefixtures("early")
def test_numbers_of_iterations_that_were_never_seen_are_no_new_ways(f: Any) -> None:
    assert misses(f, POINTS) <= 2


@pytest.mark.slow
@pytest.mark.usefixtures("early")
def test_what_python_remembers_outside_of_the_variables_makes_no_loop() -> None:
    for f in (*REMEMBERING, counter, attribute):
        compiled = FD.jit(f)
        for a in (15.1, *POINTS[:4]):
            np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)
        (known,) = compiled._programs.values()
        assert not known._loops


@pytest.mark.usefixtures("early")
def test_iterations_that_contradict_each_other_make_no_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is remembered where nobody looks is noticed by what the iterations do."""
    monkeypatch.setitem(os.environ, "TURNS", "")
    monkeypatch.setattr(states, "global_values", lambda *_: ())  # what the code's names lead to

    def f(a: Any) -> Any:
        os.environ["TURNS"], x = "", a
        while x < 30.0:
            x = x * (1.2 if len(os.environ["TURNS"]) % 2 else 1.5)
            os.environ["TURNS"] += "x"
        return x * a

    compiled = FD.jit(f)
    for a in POINTS:
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)


def test_a_loop_that_goes_on_otherwise_than_its_trace_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A comparison may turn on the last bit, where a loop is not computed as Python has done it."""
    monkeypatch.setattr(executables, "_LONG", 1)
    run: Any = executables.Guarded._run

    def otherwise(self: Any, trace: Any, program: Any, operands: Any) -> Any:
        monkeypatch.setattr(executables.Guarded, "_run", run)
        *outputs, last = run(self, trace, program, operands)
        return [*(2.0 * y for y in outputs), np.logical_not(last)]

    monkeypatch.setattr(executables.Guarded, "_run", otherwise)
    compiled = FD.jit(newton)
    for a in POINTS[:3]:
        np.testing.assert_allclose(compiled(a), newton(a), rtol=1e-12)
    assert executables.Guarded._run is run


@pytest.mark.parametrize(("f", "points"), [
    (untouched_by_a_callee, (1.7, 0.9, 25.0, 7.0, 4.5, 0.3)),
    (left_behind_by_a_callee, (5.0, 4.0, 2.0, 0.5, 9.0, 0.3)),
    (decided_unseen, (31.0, 18.0, 12.0, 7.0, 1.7)),
    (becomes_a_view, (31.0, 18.0, 9.0, 1.7)),
    (changes_its_mode, (1.7, 0.9, 0.3)),
    (global_counter, (31.0, 18.0, 9.0, 1.7)),
    (counter_of_a_global_function, (31.0, 13.0, 9.0, 1.7)),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
@pytest.mark.parametrize("transform", [lambda f: f, FD.grad], ids=["f", "grad"])
@pytest.mark.usefixtures("early")
def test_loops_seen_with_few_iterations_first_hold_for_more(
    f: Any, points: Any, transform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "TURNS", "")
    plain, compiled = transform(f), FD.jit(transform(f))
    for a in points:
        np.testing.assert_allclose(compiled(a), plain(a), rtol=1e-10, err_msg=str(a))


@pytest.mark.usefixtures("early")
def test_who_decides_a_loop_may_go_another_way_later() -> None:
    """A way through an iteration that was never seen is traced when it comes."""

    def f(a: Any) -> Any:
        x = a
        while x < 30.0:
            x = x * 1.5 if x < 25.0 or x > 28.0 else x * a
        return x

    compiled, points = FD.jit(f), np.linspace(1.05, 3.0, 40)
    for a in points:
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-12)
