"""Loops that count where their own code does not show it, and end when they have counted enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd

FD: Any = fd
TURNS = [0]
ENOUGH = 25
WITHOUT_FILE: Any = ModuleType("module_without_a_file")
exec(
    "turns = 0\ndef counted():\n    global turns\n    turns += 1\n    return turns",
    vars(WITHOUT_FILE),
)


@np.errstate(divide="ignore")
def restart() -> None:
    TURNS[0] = 0


@np.errstate(divide="ignore")
def counted() -> int:
    TURNS[0] += 1
    return TURNS[0]


@contextmanager
def counting() -> Iterator[int]:
    TURNS[0] += 1
    yield TURNS[0]


def in_a_decorated_function(a: Any) -> Any:
    restart()
    x = a
    while x < 30.0:
        if counted() >= ENOUGH:
            break
        x = 1.02 * x
    return x * a


def in_a_context_manager(a: Any) -> Any:
    restart()
    x = a
    while x < 30.0:
        with counting() as turns:
            enough = turns >= ENOUGH
        if enough:
            break
        x = 1.02 * x
    return x * a


def in_a_context_manager_of_a_helper(a: Any) -> Any:
    def is_enough() -> bool:
        with counting() as turns:
            return turns >= ENOUGH

    restart()
    x = a
    while x < 30.0:
        if is_enough():
            break
        x = 1.02 * x
    return x * a


class Point(NamedTuple):
    x: float


class CountingPoint(Point):
    turns: int

    def counted(self) -> int:
        self.turns += 1
        return self.turns


def in_a_named_tuple(a: Any) -> Any:
    point, x = CountingPoint(1.02), a
    point.turns = 0
    while x < 30.0:
        if point.counted() >= ENOUGH:
            break
        x = point.x * x
    return x * a


def in_a_module_without_a_file(a: Any) -> Any:
    WITHOUT_FILE.turns, x = 0, a
    while x < 30.0:
        if WITHOUT_FILE.counted() >= ENOUGH:
            break
        x = 1.02 * x
    return x * a


def in_an_attribute(a: Any) -> Any:
    WITHOUT_FILE.turns, x = 0, a
    while x < 30.0:
        WITHOUT_FILE.turns += 1
        if WITHOUT_FILE.turns >= ENOUGH:
            break
        x = 1.02 * x
    return x * a


def in_a_namespace(a: Any) -> Any:
    x, space = a, SimpleNamespace(turns=0)
    while x < 30.0:
        space.turns += 1
        if space.turns >= ENOUGH:
            break
        x = 1.02 * x
    return x * a


def in_a_callers_list(a: Any) -> Any:
    turns = [0]

    def grown(x: Any) -> Any:
        while x < 30.0:
            turns[0] += 1
            if turns[0] >= ENOUGH:
                break
            x = 1.02 * x
        return x

    return grown(a) * a


def in_what_a_callee_closes_over(a: Any) -> Any:
    turns = 0

    def is_enough() -> bool:
        nonlocal turns
        turns += 1
        return turns >= ENOUGH

    x = a
    while x < 30.0:
        if is_enough():
            break
        x = 1.02 * x
    return x * a


def in_a_generator(a: Any) -> Any:
    def turns() -> Iterator[int]:
        k = 0
        while True:
            k += 1
            yield k

    x, numbers = a, turns()
    while x < 30.0:
        if next(numbers) >= ENOUGH:
            break
        x = 1.02 * x
    return x * a


def in_the_text_of_an_instance(a: Any) -> Any:
    class Text:
        turns = 0

        def __str__(self) -> str:
            Text.turns += 1
            return "x" * Text.turns

    x, text = a, Text()
    while x < 30.0:
        if len(f"{text}") >= ENOUGH:
            break
        x = 1.02 * x
    return x * a


LOOPS: list[Callable[[Any], Any]] = [
    in_a_decorated_function, in_a_context_manager, in_a_context_manager_of_a_helper,
    in_a_named_tuple, in_a_module_without_a_file, in_an_attribute, in_a_namespace,
    in_a_callers_list, in_what_a_callee_closes_over, in_a_generator, in_the_text_of_an_instance,
]  # fmt: skip


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [lambda f: f, FD.grad], ids=["f", "grad"])
def test_what_is_counted_anywhere_ends_a_longer_loop(f: Any, transform: Any) -> None:
    """After eight ways loops are looked for, of which none has had enough turns to end so."""
    plain, compiled = transform(f), FD.jit(transform(f))
    for turns in (*range(1, 12), 100, 3, 60):
        a = 30.0 / 1.02 ** (turns - 0.5)
        np.testing.assert_allclose(compiled(a), plain(a), rtol=1e-10, err_msg=str(turns))


def test_a_loop_that_counts_nothing_is_compiled_once() -> None:
    def growth(a: Any, rates: tuple[float, float], options: dict[str, list[float]]) -> Any:
        def grown(x: Any) -> Any:
            return rates[0] * x * options["rate"][0]

        x, pair = a, [a, a]
        while x < 30.0:
            pair = [x, pair[0]]
            x = grown(x)
        return x * pair[1]

    f: Any = lambda a: growth(a, (1.02, 0.0), {"rate": [1.0]})
    compiled = FD.jit(f)
    for turns in (*range(1, 12), 100, 3, 60, 40, 30):
        a = 30.0 / 1.02 ** (turns - 0.5)
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-10)
    assert sum(compiled.cache_info().misses.values()) <= 10
