"""Random programs that branch by values: functions of a vector, with their texts."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class _Writer:
    """Writes the statements of one function; every value stays between -2 and 2, about."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = ["a", "b"]

    def text(self) -> str:
        lines = ["def f(x):", "    a = np.tanh(x[0])", "    b = np.sin(x[-1] + a)"]
        lines += [f"    {line}" for line in self._block(4, depth=2)]
        return "\n".join([*lines, f"    return {self._value()}", ""])

    def _block(self, count: int, depth: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(depth)]

    def _statement(self, depth: int) -> Iterator[str]:
        kinds: list[Callable[[int], Iterator[str]]]
        kinds = [self._assign, self._choose, self._collect, self._look_up]
        if depth:
            kinds += [self._branch, self._branch, self._loop, self._leave, self._attempt]
        yield from self._random.choice(kinds)(depth)

    def _name(self) -> str:
        return self._random.choice(self._names)

    def _value(self) -> str:
        r, name = self._random, self._name
        return r.choice([
            f"np.tanh({name()} * {name()} + {r.uniform(-1, 1):.3f})",
            f"np.sin({name()} - {name()})",
            f"0.5 * ({name()} + {name()})",
            f"{name()} * np.sum(np.cos(x) * {name()}) / len(x)",
            f"np.exp(-{name()} ** 2)",
        ])  # fmt: skip

    def _condition(self) -> str:
        r, name = self._random, self._name
        return r.choice([
            f"{name()} > {r.uniform(-0.6, 0.6):.3f}",
            f"{name()} < {name()}",
            f"np.any(x > {r.uniform(0, 1.5):.3f})",
            f"np.all(x * {name()} < {r.uniform(0, 1):.3f}) and {name()} > 0",
            f"not {name()} <= {name()}",
            f"np.argmin(x) == {r.randrange(2)}",
            f"{r.uniform(-0.9, 0.2):.3f} < {name()} < {r.uniform(0.2, 0.9):.3f}",
        ])  # fmt: skip

    def _assign(self, _depth: int) -> Iterator[str]:
        value = self._value()
        if self._random.random() < 0.3:
            self._names.append(f"v{len(self._names)}")
            yield f"{self._names[-1]} = {value}"
        else:
            yield f"{self._random.choice('ab')} = {value}"

    def _branch(self, depth: int) -> Iterator[str]:
        yield f"if {self._condition()}:"
        yield from self._nested(depth)
        if self._random.random() < 0.6:
            yield "else:"
            yield from self._nested(depth)

    def _loop(self, depth: int) -> Iterator[str]:
        limit = self._random.randrange(1, 4)
        count = f"n{depth}"  # a loop within has a count of its own: both end
        yield f"{count} = 0"
        yield f"while {self._condition()} and {count} < {limit}:"
        yield from self._nested(depth)
        yield f"    {count} += 1"

    def _leave(self, _depth: int) -> Iterator[str]:
        yield f"if {self._condition()} and {self._name()} > 0.5:"
        yield f"    return {self._value()}"

    def _attempt(self, depth: int) -> Iterator[str]:
        yield "try:"
        yield f"    if {self._condition()}:"
        yield "        raise ValueError"
        yield f"    a = {self._value()}"
        yield "except ValueError:"
        yield from self._nested(depth)

    def _choose(self, _depth: int) -> Iterator[str]:
        r, name = self._random, self._name
        yield r.choice([
            f"b = max({name()}, {name()}, x[0] * 0.5)",
            f"a = sorted([{name()}, {name()} * 0.7, 0.1])[{r.randrange(3)}]",
            f"b = np.tanh(sorted(x)[{r.choice((0, -1))}])",
            f"a = min(x) * {name()} / (1 + abs({name()}))",
        ])  # fmt: skip

    def _collect(self, _depth: int) -> Iterator[str]:
        r, name = self._random, self._name
        yield f"d = {{'u': {name()}, 'v': [{name()}]}}"
        yield f"d['v'].append(np.sum(x[x > {r.uniform(-1, 1):.3f}] ** 2) / (1 + np.sum(x ** 2)))"
        yield f"a = d['u'] * d['v'][{r.choice((0, -1))}]"

    def _look_up(self, _depth: int) -> Iterator[str]:
        r, name = self._random, self._name
        yield r.choice([
            f"b = np.cos(x[int(np.argmax(x * {name()}))])",
            "a = sum((np.tanh(x[k]) for k in range(int(np.sum(x > 0.3)))), 0.1 * a)",
            f"b = np.sum(np.where(x > {name()}, x, 0.2)) / (1 + np.sum(x ** 2))",
        ])  # fmt: skip

    def _nested(self, depth: int) -> Iterator[str]:
        known = list(self._names)
        yield from (f"    {line}" for line in self._block(self._random.randrange(1, 3), depth - 1))
        self._names = known  # what a branch defines is not known behind it


def program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """Return a random function of a vector of numbers, and its text."""
    return _compiled(f"<random program {seed}>", _Writer(seed).text())


def _compiled(name: str, text: str) -> tuple[Callable[[Any], Any], str]:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    return names["f"], text


class _LoopWriter(_Writer):
    """Writes functions with loops that end, as all that they compare to is approached."""

    _counting = 0  # how many of the kinds of loops are over ranges

    def _statement(self, depth: int) -> Iterator[str]:
        kinds: list[Callable[[int], Iterator[str]]] = [self._assign, self._exchange]
        if depth:
            kinds += [self._branch, self._shrink, self._shrink, self._search, self._written]
            kinds += [self._counted] * self._counting
        yield from self._random.choice(kinds)(depth)

    def _counted(self, depth: int) -> Iterator[str]:
        r = self._random
        variable = r.choice(["_", "_", "_", "k", f"i{depth}"])
        bounds = r.choice([
            "7", "2, 9", "1, 14, 3", "9, 1, -2", "count", "count - 1", "1, 2 * count + 1", "0", "1",
            "len(x) + 3",
        ])  # fmt: skip
        yield f"for {variable} in range({bounds}):"
        for _ in range(r.randrange(1, 4)):
            if r.random() < 0.5:
                yield from self._nested(depth)
            else:
                yield f"    {r.choice('ab')} = {self._value()}"
            if r.random() < 0.6:
                yield f"    if {self._condition()}:"
                yield "        " + r.choice([
                    "break", "break", "continue", "return a * b", "a = 0.9 * a", "b = 0.0",
                ])  # fmt: skip
            if r.random() < 0.1:
                yield f"    b = b + 0.01 * {variable}"
        if r.random() < 0.3:
            yield "else:"
            yield from self._nested(depth)

    def _exchange(self, _depth: int) -> Iterator[str]:
        yield self._random.choice(["a, b = b, a", "a, b = b, 0.5 * (a + b)", "b = a", "a = +b"])

    def _shrink(self, depth: int) -> Iterator[str]:
        r, name = self._random, f"s{self._random.randrange(1000)}"
        yield f"{name} = 1.0 + np.sum(x * x) * {r.uniform(0.5, 2):.3f}"
        yield f"while {name} > {r.uniform(0.2, 0.9):.3f}:"
        yield f"    {name} = {name} * {r.uniform(0.4, 0.8):.3f}"
        yield from self._nested(depth)
        if r.random() < 0.4:
            yield f"    if {self._condition()}:"
            yield f"        {r.choice(['break', 'continue', 'return a * b', 'a = 0.9 * a'])}"
        yield f"a = np.tanh(a + 0.1 * {name})"

    def _search(self, depth: int) -> Iterator[str]:
        r = self._random
        yield "low, high = -2.0 + 0.1 * a, 2.0 + 0.0 * b"
        yield f"while high - low > {r.uniform(0.05, 0.3):.3f}:"
        yield "    middle = 0.5 * (low + high)"
        yield f"    if middle ** 3 + middle > {self._name()}:"
        yield "        high = middle"
        yield "    else:"
        yield "        low = middle"
        if r.random() < 0.3:
            yield from self._nested(depth)
        yield r.choice(["b = low", "a = np.sin(high)", "b = low * high"])

    def _written(self, depth: int) -> Iterator[str]:
        r, name = self._random, f"y{self._random.randrange(1000)}"
        yield f"{name} = np.stack([a, b, 0.3 + a * a])"
        yield r.choice([f"z = {name}", "z = x", f"z = {name}[:2]"])
        yield f"while np.sum({name} ** 2) > {r.uniform(0.2, 0.6):.3f}:"
        yield "    " + r.choice([
            f"{name}[0] = 0.5 * {name}[1]; {name} *= 0.7",
            f"{name} = 0.6 * {name}",
            f"{name} = 0.7 * {name}[::-1]",
            f"{name} *= np.where({name} > 0.1, 0.5, 0.8)",
        ])  # fmt: skip
        yield from self._nested(depth)
        yield f"b = np.tanh(np.sum(z) + {name}[0])"


class _RangeWriter(_LoopWriter):
    """Writes functions most of whose loops are over ranges."""

    _counting = 6

    def text(self) -> str:
        lines = ["def f(x):", "    a, b = np.tanh(x[0]), np.sin(x[-1] + x[1])"]
        lines += [f"    count = {self._random.randrange(1, 6)}"]
        lines += [f"    {line}" for line in (*self._counted(2), *self._block(1, depth=2))]
        return "\n".join([*lines, f"    return {self._value()}", ""])


class _CounterWriter(_LoopWriter):
    """Writes functions most of whose loops are ``while`` loops with a counter."""

    _counting = 6

    def text(self) -> str:
        lines = ["def f(x):", "    a, b = np.tanh(x[0]), np.sin(x[-1] + x[1])"]
        lines += [f"    most = {self._random.randrange(0, 9)}"]
        lines += [f"    {line}" for line in (*self._counted(2), *self._block(1, depth=2))]
        return "\n".join([*lines, f"    return {self._value()}", ""])

    def _counted(self, depth: int) -> Iterator[str]:
        r, k = self._random, f"k{depth}"  # loops within have other counters: all end
        start, step, stay = r.choice([
            ("0", "+= 1", "{} < 7"), ("0", "+= 1", "{} < most"), ("1", "+= 1", "{} <= most + 1"),
            ("0", "+= 1", "most > {}"), ("9", "-= 1", "{} > 2"), ("8", "-= 2", "{} != 0"),
            ("1", "+= 2", "11 >= {}"), ("most", "+= 1", "{} < 2 * most"), ("3", "+= 1", "{} < 3"),
        ])  # fmt: skip
        holds, ends = stay.format(k), f"not {stay.format(k)}"
        yield f"{k} = {start}"
        heads = [
            f"while {holds}:", f"while {holds} and {self._condition()}:",
            f"while {self._condition()} and {holds}:", "while True:", "while True:",
        ]  # fmt: skip
        head = r.choice(heads[:3] if "!=" in stay else heads)  # every step is compared
        yield head
        place = r.randrange(4)
        if place == 0:
            yield f"    {k} {step}"
        for _ in range(r.randrange(1, 4)):
            if r.random() < 0.5:
                yield from self._nested(depth)
            else:
                yield f"    {r.choice('ab')} = {self._value()}"
            if r.random() < 0.6:
                yield f"    if {self._condition()}:"
                early = f"{k} {step}; continue" if place else "continue"
                yield "        " + r.choice([
                    "break", "break", "break" if head == "while True:" else early,
                    "return a * b", "a = 0.9 * a", "b = 0.0",
                ])  # fmt: skip
            if r.random() < 0.1:
                yield f"    b = b + 0.01 * {k}"
        if place == 1:
            yield f"    {k} {step}"
        yield f"    if {ends} or {self._condition()}:"
        yield "        break"
        if place > 1:
            yield f"    {k} {step}"
        if r.random() < 0.15:
            yield f"b = b + 0.01 * {k}"


def counter_program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """Return a random function with ``while`` loops that count, and its text."""
    return _compiled(f"<random counters {seed}>", _CounterWriter(seed).text())


def range_program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """Return a random function with loops over ranges, and its text."""
    return _compiled(f"<random ranges {seed}>", _RangeWriter(seed).text())


def loop_program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """Return a random function with loops, and its text."""
    return _compiled(f"<random loops {seed}>", _LoopWriter(seed).text())
