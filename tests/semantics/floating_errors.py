"""Random programs that compute under `np.errstate` and filters of warnings, and their outcomes."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

KINDS: Final = ("divide", "over", "under", "invalid", "all")
CAUGHT: Final = ("FloatingPointError", "ArithmeticError", "Exception", "ValueError", "Warning")
EXPRESSIONS: Final = (
    "np.log({a})", "np.sqrt({a})", "1.0 / {a}", "{a} / {b}", "{a} * {b}", "{a} - {b}",
    "np.exp({a} * {k})", "{a} ** -1.5", "{a} ** 3", "{a} ** 2", "np.power({a}, {b})", "{a} * {k}",
    "{a} + {k}", "np.log1p({a})", "np.arctanh({a})", "np.reciprocal({a})", "{a} % {b}",
    "np.logaddexp({a}, {b})", "{a} - np.mean({b})", "{a} * np.std({b})",
    "{a} / np.linalg.norm({b})", "np.where({a} > 0, {b}, 1 / {a})", "{a}[::-1]", "np.cumsum({a})",
    "{a} * np.prod({b})", "np.arctan2({a}, {b})", "{a} @ {b} * {a}", "np.sinh({a} * {k})",
    "np.hypot({a}, {b})", "{a} * k", "{a} * {b}[0]", "np.float64(1.0) / {a}[1] * {a}",
    "np.var({a}) * {b}", "np.abs({a})", "np.diff({a}, append=1.0)",
)  # fmt: skip
NUMBERS: Final = ("0.5", "2.0", "-1.0", "1e200", "1e-200", "300.0", "k[0]")
POINTS: Final = tuple(
    np.array(x)
    for x in ([0.5, 0.3, 2.0], [0.5, 0.0, 2.0], [1.0, -1.0, 2.0], [1e200, 2.0, 3.0],
              [0.1, 0.2, 0.3], [np.inf, 1.0, 2.0], [np.nan, 1.0, 2.0], [1e-300, 1e-200, 0.5],
              [0.0, 0.0, 0.0])
)  # fmt: skip


class Generated(NamedTuple):
    """A function of three numbers, its text and its file."""

    function: Callable[[Any], Any]
    text: str
    file: str


class Outcome(NamedTuple):
    """The value of a call or, if it raised, the exception's name and the line of the function."""

    value: Any
    raised: str
    line: int | None


def outcome(program: Generated, f: Callable[[Any], Any], x: Any) -> Outcome:
    """Call a function that is made of that of a program."""
    try:
        return Outcome(f(x.copy()), "", None)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == program.file]
        return Outcome(str(error), type(error).__name__, lines[-1] if lines else None)


def generated(seed: int) -> Generated:
    """Return a random program."""
    random = Random(seed)
    lines = [
        "def helper(x):", f"    with np.errstate({_state(random)}):",
        f"        return {_expression(random, ['x'])}", "def f(x):",
        "    y, z = x * 1.0, x + 1.0", *_statements(random, 4, random.choice([2, 3, 4])),
        "    return np.sum(y * 0.5 + z)",
    ]  # fmt: skip
    text, file = "\n".join(lines) + "\n", f"<floating errors {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"np": np, "warnings": warnings, "k": np.array([1.5, 0.0, -2.0])}
    exec(compile(text, file, "exec"), names)
    function: Any = names["f"]
    return Generated(function, text, file)


def _expression(random: Random, names: Sequence[str]) -> str:
    a, b, k = random.choice(names), random.choice(names), random.choice(NUMBERS)
    return random.choice(EXPRESSIONS).format(a=a, b=b, k=k)


def _state(random: Random) -> str:
    kinds = random.sample(KINDS, random.choice([1, 1, 2]))
    return ", ".join(f'{k}="{random.choice(["raise"] * 3 + ["ignore"])}"' for k in kinds)


def _statements(random: Random, indent: int, count: int) -> list[str]:
    found, space, names = [], " " * indent, ("x", "y", "z")
    for _ in range(count):
        kind, inner = random.random(), random.choice([1, 2])
        if kind > 0.5 or indent > 12:
            found.append(f"{space}{random.choice(names)} = {_expression(random, names)}")
        elif kind > 0.44:
            found += [f"{space}with warnings.catch_warnings(record=True) as w:"]
            found += [f'{space}    warnings.simplefilter("always")']
            found += [*_statements(random, indent + 4, inner), f"{space}if w:"]
            found += [f"{space}    z = x * len(w)"]
        elif kind > 0.38:
            found += [f"{space}with warnings.catch_warnings():"]
            found += [f'{space}    warnings.simplefilter("{random.choice(["error", "ignore"])}")']
            found += _statements(random, indent + 4, inner)
        elif kind > 0.34:
            found.append(f"{space}y = helper(y)")
        elif kind > 0.18:
            found += [f"{space}try:", *_statements(random, indent + 4, inner)]
            found += [f"{space}except {random.choice(CAUGHT)}:"]
            found += _statements(random, indent + 4, 1)
        else:
            found.append(f"{space}with np.errstate({_state(random)}):")
            found += _statements(random, indent + 4, inner)
    return found
