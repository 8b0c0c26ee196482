"""Loops that count where their own code does not show it, and end when they have counted enough."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterator
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


class Point(NamedTuple):
    x: float


class CountingPoint(Point):
    turns: int

    def counted(self) -> int:
        self.turns += 1
        return self.turns


TEMPLATE = """
def f(a):
    x = a
    {before}
    while x < 30.0:
        {each}
        if {enough}:
            break
        x = 1.02 * x
    return x * a
"""

LOOPS: dict[str, tuple[str, str, str]] = {
    "a decorated function": ("restart()", "pass", "counted() >= ENOUGH"),
    "a context manager": (
        "restart()", "with counting() as turns: enough = turns >= ENOUGH", "enough"),
    "a context manager of a helper": (
        "restart()\ndef is_enough():\n    with counting() as turns: return turns >= ENOUGH",
        "pass", "is_enough()"),
    "a named tuple": (
        "point = CountingPoint(1.02)\npoint.turns = 0", "pass", "point.counted() >= ENOUGH"),
    "a module without a file": (
        "WITHOUT_FILE.turns = 0", "pass", "WITHOUT_FILE.counted() >= ENOUGH"),
    "an attribute": (
        "WITHOUT_FILE.turns = 0", "WITHOUT_FILE.turns += 1", "WITHOUT_FILE.turns >= ENOUGH"),
    "a namespace": (
        "space = SimpleNamespace(turns=0)", "space.turns += 1", "space.turns >= ENOUGH"),
    "what a callee closes over": (
        "turns = 0\ndef is_enough():\n    nonlocal turns\n    turns += 1\n"
        "    return turns >= ENOUGH", "pass", "is_enough()"),
    "a generator": (
        "def turns():\n    k = 0\n    while True:\n        k += 1\n        yield k\n"
        "numbers = turns()", "pass", "next(numbers) >= ENOUGH"),
    "the text of an instance": (
        "class Text:\n    turns = 0\n    def __str__(self):\n        Text.turns += 1\n"
        "        return 'x' * Text.turns\ntext = Text()", "pass", "len(f'{text}') >= ENOUGH"),
}  # fmt: skip
"""Where turns are counted: what is made before the loop, done in each turn, and asked."""


def loop(where: str) -> Any:
    """Return a function with a loop that counts somewhere."""
    before, each, enough = LOOPS[where]
    indented = textwrap.indent(before, "    ").strip()
    text = TEMPLATE.format(before=indented, each=each, enough=enough)
    file = f"<loop that counts in {where}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {**globals(), "SimpleNamespace": SimpleNamespace}
    exec(compile(text, file, "exec"), names)
    return names["f"]


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


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "f", [*map(loop, LOOPS), in_a_callers_list], ids=[*LOOPS, "a caller's list"]
)
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
