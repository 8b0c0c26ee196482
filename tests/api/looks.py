"""Random programs that look at integers and booleans: as text, index, key, length, shape."""

from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

_INTEGERS = (
    "np.argmax(x)", "np.argmin(a * x)", "np.argsort(x)[{j}]", "np.count_nonzero(x > {c})",
    "np.sum(x > a * {c})", "np.searchsorted(np.array([-0.5, 0.1, 0.8]), x[{i}])",
    "int(np.floor(2 * x[{i}]))", "int(np.ceil(a))", "int(np.rint(3 * x[{i}]))",
    "int(np.trunc(2 * x[{i}] + a))", "int(x[{i}] // 0.7)", "int(np.sign(x[{i}] - {c}))",
    "round(2 * x[{i}])", "math.floor(x[{i}] + a)", "math.ceil(x[{i}])", "math.trunc(3 * a)",
    "int(np.floor(np.max(x)) + np.round(x[{j}]))", "len(x[x > {c}])", "len(np.unique(x > {c}))",
    "np.digitize(x[{i}], np.sort(x * x))", "np.argwhere(x > {c}).shape[0]",
    "np.bincount(np.argsort(x) % 2, minlength={n})[0]", "int(np.floor(x[{i}])) + 2 * {k}",
)  # fmt: skip
_FLAGS = ("x[{i}] > {c}", "np.any(x > {c})", "np.all(a * x < {c})", "{k} % 2 == 0", "np.isnan(a)")
_TEXTS = (
    "f'{{{k}}}'", "str({k})", "format({k}, '03d')", "'%d' % {k}", "'%s' % {k}", "repr({k})",
    "f'{{{k}:>4}}'", "f'{{{k}!r}}'", "''.join(map(str, [{k}, {k}]))", "str(({k}, 1))",
    "str({f})", "f'{{{f}}}'", "'{{}}'.format({k})", "str(np.argsort(x))",
    "'%i and %s' % ({k}, {f})",
    "str({{'k': {k}}})", "f'{{np.argsort(x).tolist()}}'",
)  # fmt: skip
_LOOKS = (
    "{{'1': a, 'True': 2 * a, '2': x[0]}}.get({t}, 0.3 * a)",
    "a * len({t})", "a + ord({t}[-1]) * x[0]",
    "x[{k} % len(x)] * a", "[a, x[0], 0.5][{k} % 3]", "np.sum(x[: {k} % 3 + 1] ** 2)",
    "sum((x[0] * m for m in range({k} % 4)), a)", "a * np.zeros({k} % 4 + 1).size",
    "a * len(bytes({k} % 5))", "{{0: a, 1: x[0] ** 2, 2: 0.5}}[{k} % 3]",
    "(2 * a if {k} % 4 in {{1, 2}} else x[0])", "x @ np.eye(len(x))[{k} % len(x)]",
    "np.sum(np.reshape(np.tile(x, 2), (-1, {k} % 2 + 1))[0])", "(a if {f} else 2 * x[0])",
    "np.sum(np.ones({k} % 3 + 1) * a)", "np.sum(np.roll(x, {k})[:1] * a)",
    "a * [3.0, 2.0, 5.0][np.argsort(x).tolist()[0] % 3]", "x[int({f})] * a",
    "np.sum(np.bincount(np.argsort(x), weights=x, minlength=4)[:2]) * a",
    "np.sum(x[np.unique(np.argsort(x) % 2, return_inverse=True)[1]]) * a",
    "np.sum(x[np.digitize(x, np.sort(x * x)) % len(x)])", "np.sum(x[np.argwhere(x > {c})]) + a",
    "a * {k}", "a + 0.1 * {k} ** 2", "a * (7 - {k} * 3)",
)  # fmt: skip


def program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """Return a random function of a vector of at least two numbers, and its text."""
    r = random.Random(seed)

    def filled(choices: tuple[str, ...], k: str) -> str:
        found = r.choice(choices)
        flag = r.choice(_FLAGS).format(i=r.randrange(2), c=round(r.uniform(-0.8, 0.8), 2), k=k)
        return found.format(
            i=r.randrange(2), j=r.choice((0, -1)), c=round(r.uniform(-0.8, 0.8), 2),
            n=r.randrange(2, 5), k=k, f=f"({flag})", t="t",
        )  # fmt: skip

    lines = ["def f(x):", "    a = np.tanh(x[0] * x[1]) + 0.5 * x[-1]", "    k = 1"]
    for _ in range(r.randrange(1, 4)):
        lines += [
            f"    k = {filled(_INTEGERS, 'k')}",
            f"    t = {filled(_TEXTS, 'k')}",
            f"    a = {filled(_LOOKS, 'k')}",
        ]
    text = "\n".join([*lines, "    return np.sin(a) + 0.1 * a", ""])
    name = f"<random looks {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np, "math": math}
    exec(compile(text, name, "exec"), names)
    return names["f"], text
