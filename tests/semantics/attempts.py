"""Random programs that try what may raise: in loops, handlers, ``with`` blocks and helpers."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np

_HELPERS: Final = """
from contextlib import suppress
from numpy.linalg import LinAlgError

def attempt(f, g, *kinds):
    try:
        return f()
    except kinds:
        return g()

def retried(m, n):
    jitter = 0.0
    for _ in range(n):
        try:
            return np.linalg.cholesky(m + jitter * np.eye(3))
        except LinAlgError:
            jitter = max(2 * jitter, 0.3)
    raise LinAlgError("never")

def each(ms):
    for m in ms:
        try:
            yield np.trace(np.linalg.cholesky(m))
        except LinAlgError:
            yield 0.5

def checked(v, c):
    if v[0] > c:
        raise KeyError(f"{np.argmax(v)}")
    return np.sum(v * v)
"""
_RAISING: Final = (
    "np.sum(np.linalg.cholesky({m}))", "np.linalg.solve({s}, v) @ v", "np.sum(retried({m}, {n}))",
    "np.trace(np.linalg.inv({s}))", "np.sum(np.linalg.eigvalsh({e}))", "checked(v, {c})",
    "sum(each([{m}, {m}]))", "sum([np.trace(np.linalg.cholesky({m} + k)) for k in (0.0, 0.2)])",
    "np.linalg.norm({e}, 'nuc')", "v[[0, 1, 2].index(int(np.argmax(v)) + 1)] * a",
    "a * (6 // round(v[{i}]))", "a * (8 >> round(v[{i}]))", "b * round(np.log(v[{i}] - {c}))",
)  # fmt: skip
_PLAIN: Final = ("a * v[{i}]", "np.sin(a) + v[{i}]", "np.sum(v * v) - a")
_POSITIVE: Final = (
    "(np.outer(v, v) + np.diag(np.array([1.0, 0.5, 0.2])) * ({c} - v[{i}]))",
    "(np.diag(v) + {c} * (np.eye(3) - 1))",
)
_SINGULAR: Final = "np.diag(np.where(v > {c}, v + 0.3, 0.0))"
_WITH_NAN: Final = "(np.log(v[{i}] - {c}) * np.eye(3) + np.diag(v))"
_KINDS: Final = (
    "LinAlgError", "ValueError", "Exception", "(LinAlgError, KeyError)", "LookupError",
    "ArithmeticError", "",
)  # fmt: skip


def program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """Return a random function of three numbers, and its text."""
    lines = _Lines(Random(seed))
    text = "\n".join([
        _HELPERS, "def f(x):", "    a, b, v = np.tanh(x[0] * x[1]) + x[2] / 2, x[1] / 5, x",
        *_indented(lines.tried(2)), *_indented(lines.statement(2)),
        "    return np.sin(a) + b / 10 + v[0] * v[1]", "",
    ])  # fmt: skip
    name = f"<random attempts {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    return names["f"], text


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _Lines:
    """Writes statements at random."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def _expression(self) -> str:
        r = self._random
        text = r.choice(_RAISING if r.random() < 0.7 else _PLAIN)
        for name, found in (("m", r.choice(_POSITIVE)), ("s", _SINGULAR), ("e", _WITH_NAN)):
            text = text.replace(f"{{{name}}}", found)
        return text.format(c=round(r.uniform(-0.5, 1.2), 2), i=r.randrange(3), n=r.randrange(1, 4))

    def _assignment(self) -> str:
        form = self._random.choice(("a = a + 0.3 * ({})", "a = np.tanh({})", "b = {}", "{}",
                                    "v = v + 0.1 * ({})"))  # fmt: skip
        return form.format(self._expression())

    def statement(self, depth: int) -> list[str]:
        r = self._random
        kind = r.random()
        if not depth or kind < 0.35:
            return [self._assignment()]
        if kind < 0.65:
            return self.tried(depth - 1)
        if kind < 0.75:
            return [f"for _ in range({r.randrange(1, 3)}):", *_indented(self.tried(depth - 1))]
        if kind < 0.9:
            caught = (r.choice(_KINDS) or "Exception").strip("()")
            first = r.choice((f"with suppress({caught}):", "with np.errstate(all='ignore'):"))
            return [first, *_indented(self.statement(depth - 1))]
        expressions = f"lambda: {self._expression()}, lambda: {self._expression()}"
        return [f"a = attempt({expressions}, {r.choice(_KINDS) or 'Exception'})"]

    def tried(self, depth: int) -> list[str]:
        r = self._random
        found = ["try:", *_indented(self.statement(depth) + self.statement(depth))]
        for caught in sorted({r.choice(_KINDS) for _ in range(2)}, reverse=True):  # bare ones last
            handler = r.choice(([self._assignment()], self.statement(depth), ["a = v[0] / 3"],
                                ["a = a + len(str(e)) / 9"], ["raise"]))  # fmt: skip
            named = f"except {caught or 'Exception'} as e:"
            found += [named, *_indented(handler)]
        if r.random() < 0.2:
            found += ["else:", f"    {self._assignment()}"]
        if r.random() < 0.2:
            found += ["finally:", f"    {self._assignment()}"]
        return found
