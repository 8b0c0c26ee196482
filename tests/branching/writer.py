"""Random programs with control flow, in-place writes and hidden state, written from templates.

A seed becomes the text of a function of one array.  A name in braces stands for a random choice:
``{s}`` and ``{v}`` for an expression of a number and of a vector, ``{a}`` and ``{u}`` for a
variable of these kinds, ``{c}`` for a condition, ``{i}`` for an integer, ``{j}`` for an index that
is in range, ``{k}`` for a number, ``{m}`` for a matrix, ``{B}`` for a block of statements and
``{F}``, ``{G}``, ``{H}`` for names that are new, the same within a template.  Every variable is
bounded after each assignment, and every loop ends.
"""

from __future__ import annotations

import linecache
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

PREAMBLE: Final = '''
import collections, contextlib, functools, itertools
from types import SimpleNamespace
LOG, SEEN, TABLE = [], {"n": 0}, [3, 1, 4, 1, 5, 9, 2, 6]
class Counter:
    """Counts, by methods, attributes and calls."""
    n = 0
    def step(self, k=1): self.n += k; return self.n
    def __call__(self): return self.step()
@contextlib.contextmanager
def held(box):
    box.append(len(box))
    try: yield box
    finally: box.append(0)
def newton(a, most=9):
    y = 1.5 + 0.0 * a
    for k in range(most):
        d = (y * y - a) / (2 * y)
        y = y - d
        if abs(d) < 1e-3: return y
    return y
def bisected(a):
    low, high = -2.0 + 0.1 * a, 2.0 + 0.0 * a
    while high - low > 0.2:
        middle = 0.5 * (low + high)
        if middle ** 3 + middle > a: high = middle
        else: low = middle
    return low * high
def grown(a, bound=2.0):
    k = 0
    while a < bound:
        a = 1.3 * a + 0.3 if a > -0.5 else -a
        k += 1
    return np.tanh(a * 0.3) + 0.01 * k
def recursive(a, depth=0):
    if a > 1.0 or depth > 5: return a * (1 + 0.01 * depth)
    return recursive(1.3 * a + 0.1, depth + 1)
def yielded(a, c):
    k = 0
    while a < c and k < 9:
        yield a
        a, k = 1.3 * a + 0.1, k + 1
def gathered(a, seen=None):
    seen = [] if seen is None else seen
    while len(seen) < 6 and a < 1.5:
        seen.append(a); a = 1.3 * a + 0.2
    return a + 0.1 * len(seen) + sum(seen)
def weighted(y, total=0):
    for k, q in enumerate(y):
        if q > 0.2: total += q * (k + 1)
        else: total -= 0.5 * q
    return total
def swept(y, rate):
    y = y.copy()
    for k in range(1, len(y)):
        y[k] = np.sin(y[k - 1]) + rate * y[k]
    return y
'''
"""What the programs call: loops in helpers, some of which have state."""

SCALARS: Final = (
    "{a}", "{a}", "{a}", "{k}", "{a} * {a}", "np.tanh({s})", "np.sin({s} - {s})", "0.5 * ({s} + {a})",
    "np.exp(-{s} ** 2)", "np.sum({v}) / 3", "np.cos({s} + {k})", "{s} / (1.5 + {a} ** 2)",
    "{u}[{j}]", "{u}[{j}] * {u}[{j}]", "x[{j}]", "{u}[{i} % n]", "{u}[{i} % n - n]",
    "max({s}, {s})", "min({s}, {k})", "abs({s})", "sorted([{s}, {a}, {k}])[{one}]", "max({u}) * 0.5",
    "sum({u}) * 0.4", "min({u}[0], {a})", "sum(q * {a} for q in (0.1, 0.2))", "{s} * (1 + {i}) / 3",
    "np.tanh({s} + 0.05 * {i})", "np.dot({v}, {u}) / 4", "np.linalg.norm({u} + 2.0) / 4",
    "np.linalg.det({m}) / 9", "np.where({a} > {k}, {s}, {s})", "({s} if {c} else {s})",
    "np.maximum({s}, {a})", "np.hypot({a} + 2.0, {s})", "np.arctan2({s}, 2.0 + {a} ** 2)",
    "np.mean({u})", "np.max({u}) * {a}", "(lambda z: np.sin(z) + 0.02 * {i})({a})",
    "np.tanh(newton(1.2 + {a} ** 2))", "np.tanh(bisected({a}))", "grown({a})", "recursive({a}) / 3",
    "np.tanh(sum(yielded({a}, 1.2), 0.0))", "np.tanh(gathered({a}))", "np.tanh(weighted({u}))",
    "np.prod({u} * 0.7)", "np.real((1 + {a} * 1j) / (2 - {a} * 0.5j))", "np.abs({a} * 1j + 1.2)",
    "np.linalg.eigvalsh(np.diag({u} + 3.0 * np.arange(n)) + 0.2 * {a})[0] / 3", "np.einsum('i,i->', {u}, {v}) / 4", "float({i}) * {a} / 5",
    "np.logaddexp({a}, {k})", "np.clip({s}, -0.5, 0.6 + {a} ** 2)", "{u}.sum() / 4", "np.ptp({u}) / 4",
)  # fmt: skip

VECTORS: Final = (
    "{u}", "{u}", "{u} * {s}", "np.sin({v})", "{u}[::-1]", "np.roll({u}, {one})", "{u} - {a}",
    "np.cumsum({u}) * 0.4", "np.where({u} > {k}, {u}, {a})", "{u}[perm]", "np.sort({u})",
    "np.linalg.solve({m}, {u})", "{m} @ {u} / 4", "np.concatenate([{u}[1:], {u}[:1]])", "x * {a}",
    "np.stack([{s}] * n)", "np.real(({u} + 1j * {u}) * np.exp(1j * {a}))", "swept({u}, {a})",
    "np.maximum({u}, {v})", "np.array([0.3, 0.1, 0.7, 0.2, 0.9])[:n] * {s}", "{u}[np.argsort({u})]",
    "np.outer({u}, {u})[:, 0]", "({u} + {m}).T[-1] / 3", "abs({u})", "{u}.copy()", "+{u}",
    "np.stack([np.tanh(q + {a}) for q in {u}])", "np.minimum.accumulate({u})", "{u} ** 2",
    "np.diff(np.append({u}, {a}))", "np.linalg.cholesky({m})[-1] / 2", "0 * {u}", "{u} @ {m} / 4",
    "np.interp({u}, [-1.0, 0.1, 1.0], [0.2, {k}, 0.5])", "({u} if {c} else {v})", "{u}.T",
    "np.pad({u}, 1)[1:-1]", "np.linalg.inv({m})[0]", "np.flip({u})", "np.reshape({u}, (1, n))[0]",
)  # fmt: skip

CONDITIONS: Final = (
    "{a} > {k}", "{a} < {a}", "{a} < {k}", "np.any({u} > {k})", "np.argmax({u}) == {j}",
    "not {a} <= {s}", "-0.4 < {a} < 0.5", "{i} % 2 and {a} > {k}", "({c} or {a} > 0.3)", "{s} > {k}",
    "({a} > 0.1) ^ ({a} > 0.2)", "any({a} > q for q in (0.5, 0.1))", "{a}", "np.sign({a}) > 0",
    "np.sum({u}) > {s}", "{u}[0] > {k}", "{i} > 2", "{a} > 0.05 * {i}", "np.all({u} < {a} + 0.5)",
    "{u}[{j}] > {u}[{j}]", "np.sum({u} > {k}) > {one}", "({a} * {a} < 0.2 or {a} > 0.3)",
)  # fmt: skip

INTEGERS: Final = ("{one}", "{j}", "len({u})", "int(np.argmax({u}))", "int(np.sum({u} > {k}))")

MATRICES: Final = (
    "(np.outer({u}, {u}) + 3.0 * np.eye(n))",
    "(np.diag({u} ** 2 + 1.5) + 0.2 * {a} ** 2)",
    "(2.5 * np.eye(n) + {u}[:, None] * {u} * 0.5)",
)

PLACES: Final = (
    "[{j}]", "[1:]", "[:-1]", "[::-1]", "[::2]", "[[0, -1]]", "[{F} > {k}]", "[...]", "[{i} % n]",
    "[np.array([0, n // 2])]", "[perm]", "[-1:]", "[:, None][:, 0]", "[::-1][:1]", "[{i} % n:]",
    "[np.arange(n) % 2 == 0]",
)  # fmt: skip

SIMPLE: Final = (
    "{a} = np.tanh({s})", "{a} = np.tanh({s})", "{a} = np.sin({s} + {s})", "{a} = 0.5 * ({a} + np.sin({s}))",
    "{u} = np.tanh({v})", "{u} = np.sin({v} + {s})", "{a}, {a} = np.tanh({s}), {a}", "a, b = b, a",
    "u, w = w, u", "a, b = b, 0.5 * (a + b)", "(a, b), c = (b, c), a", "{a} += 0.1 * np.sin({s})",
    "{a} *= 0.9", "{u} = 0.6 * {u} + 0.2 * {u}", "{a} = np.tanh(({a} := np.sin({s})) + {a})",
    "{u} = np.tanh({u} * 0.7 + {a})", "{a} = {u}[{j}] * 0.5", "a, *_ = b, c", "b = a",
)  # fmt: skip
"""Statements that only compute."""

WRITES: Final = (
    "{F} = {v} + 0.0\n{F}{p} = np.tanh({s})\n{u} = np.tanh({F})",
    "{F} = {v} * 1.0\n{F}{p} += np.sin({s})\n{u} = np.sin({F})",
    "{F} = {v} + {a}\n{F}{p} *= 0.5 * {s}\n{a} = np.tanh(np.sum({F}))",
    "{F} = {u}.copy()\n{G} = {F}[::-1]\n{G}[:1] = {s}\n{G} *= 0.7\n{a} = np.tanh(np.sum({F} * {u}))",
    "{F} = np.outer({u}, {u})\n{F}.T[0] = {v}\n{F}[:, -1] += {a}\n{u} = np.tanh({F}[{j}])",
    "{F} = np.outer({u}, {u})\n{G} = {F}.reshape(-1)\n{G}[::2] *= 0.5\n{a} = np.tanh(np.sum({F} * {m}) / 4)",
    "{F} = np.zeros_like({u})\nfor {G} in range(n): {F}[{G}] = np.tanh({s} * ({G} + 1)) + {F}[{G} - 1]\n{u} = np.tanh({F})",
    "{F} = {u} * 1.0\n{F}[1:] += {F}[:-1]\n{F}[:-1] = {F}[1:]\n{u} = np.tanh({F})",
    "np.tanh({u}, out={u})", "{u}{q} = {s}", "{u} *= 0.8", "{u} += 0.1 * {a}", "{u}{q} += 0.1 * {a}",
    "{F} = {u}\n{F} -= 0.1 * {a}\n{a} = np.sum({u}) * 0.2", "{F} = {u}[:2]\n{F}[:1] = np.tanh({s})",
    "{F} = {v} + 0.0\nnp.add.at({F}, [0, -1, 0], {a})\n{u} = np.tanh({F})",
    "{F} = np.zeros_like({u}, shape=(n, 2))\n{F}[:, 0], {F}[:, 1] = {u}, {v}\n{F}[::-1, ::-1] *= {F}\n{a} = np.tanh(np.sum({F}))",
)  # fmt: skip

CONTAINERS: Final = (
    "{F} = []\nfor {G} in range({few}):\n    {F}.append({s})\n    if {c}: break\n{a} = np.tanh(sum({F}))",
    "{F} = {{}}\nfor {G} in range({few}):\n    {F}[{G}] = {s}\n    {B}\n{a} = np.tanh(sum({F}.values()) / 2)",
    "{F} = {{'p': {s}, 'q': [{a}, {v}]}}\n{F}['p'], {F}['q'][0] = {F}['q'][0], {F}['p']\n{a} = np.tanh({F}['p'] + np.sum({F}['q'][1]))",
    "{F} = [{s}, {a}]\nfor {G} in range({few}):\n    {F} = [{F}[1], np.sin({F}[0] + {s})]\n{a} = {F}[0] * {F}[1]",
    "{F} = ({s}, {v})\nfor {G} in range({few}):\n    {F} = (np.tanh(np.sum({F}[1])), np.sin({F}[1] + {F}[0]))\n    {B}\n{a}, {u} = {F}",
    "{F} = 0\nfor {G} in range({few}): {F} += {s}\n{a} = np.tanh({F})",
    "{F} = 0\nfor {G} in {it}: {F} = {F} + {v}\n{u} = np.tanh({F} + 0 * {u})",
    "{F} = None\nfor {G} in range({few}):\n    {F} = {v} if {F} is None else np.sin({F} + {u})\n    {B}\n{a} = {a} if {F} is None else np.tanh(np.sum({F}))",
    "{F} = 1\nfor {G} in {it}:\n    {F} = {F} * np.cos({s})\n    {B}\n{a} = np.tanh({F})",
    "{F} = np.float32(0.5)\nfor {G} in range({few}): {F} = np.sin({F} + {s})\n{a} = {F} * 1.0",
    "{F} = 0.3\nfor {G} in range({few}): {F} = np.exp(1j * {F}) * {s}\n{a} = np.tanh(np.real({F}) + np.imag({F}))",
    "{F} = {u}[:1]\nfor {G} in range({few}): {F} = np.tanh({F} + {v})\n{u} = {F} + 0 * {u}",
    "{F} = np.stack([{u}, {v}])\nfor {G} in {F}: {a} = np.tanh({a} + np.sum({G}))\n{F}[0] = {F}[1] * {a}\n{u} = np.tanh({F}[0] - {F}[1])",
    "{F} = [np.tanh({s} + q) for q in {u} if q > {k}]\n{a} = np.tanh(sum({F}, 0.1 * {a}))",
    "{F} = {u}\nwhile len({F}) > 1: {F} = np.tanh({F}[1:] + {F}[:-1] * {s})\n{a} = np.sum({F})",
    "{F} = list({u})\n{F}.sort()\n{F}[0], {F}[-1] = {F}[-1], {F}[0] * {a}\n{u} = np.tanh(np.stack({F}))",
)  # fmt: skip

LOOPS: Final = (
    "for {L} in range({few}):\n    {B}",
    "for {L} in range({few}):\n    {B}\n    if {c}: {leave}\n    {B}",
    "for {L} in range({few}):\n    {B}\n    if {c}: {leave}\nelse:\n    {B}",
    "for {L} in range(n):\n    {a} = np.tanh({u}[{L}] + {u}[{L} - 1] * {s})\n    {B}",
    "for {L} in range(1, n):\n    {a} = np.sin({a} + np.sum(x[{L} - 1:{L} + 1]))\n    if {c}: {leave}",
    "for {L} in range(n - 1, -1, -1):\n    {a} = np.tanh({u}[perm[{L}]] * {s} + {u}[-{L}])\n    {B}",
    "for {L} in {whole}:\n    {B}\n    if {c}: {leave}", "for {F} in {it}:\n    {B}\n    if {c}: {leave}\n    {a} = np.tanh({F} * {a} + {s})",
    "for {F} in {u}:\n    {a} = np.tanh({a} + {F} * {s})\n    if {c}: {leave}\n    {B}",
    "for {F}, {G} in zip({u}, {v}):\n    {a} = np.sin({a} * {F} + {G})\n    {B}",
    "for {L}, {F} in enumerate({u}):\n    if {F} > {k}: {leave}\n    {a} = np.tanh({a} + {F} * ({L} + 1))",
    "for {F} in reversed({u}):\n    {a} = np.tanh({F} + 0.5 * {a})\n    {B}",
    "{L} = 0\nwhile ({c}) and {L} < {few}:\n    {L} += 1\n    {B}",
    "{L} = 0\nwhile {L} < {few}:\n    {B}\n    {L} += 1\n    if {c}: {leave}",
    "{L} = 0\nwhile True:\n    {B}\n    {L} += 1\n    if {L} >= {few} or {c}: break\n    {B}",
    "{L} = {few}\nwhile {L} > 0:\n    {L} -= 1\n    {B}\n    if {c}: {leave}\nelse:\n    {B}",
    "{F} = 1.0 + {a} ** 2\nwhile {F} > 0.4:\n    {F} = {F} * 0.7\n    {B}\n{a} = np.tanh({a} + {F})",
    "{F} = 1.0 + np.sum({u} ** 2)\nwhile {F} > 0.3:\n    {F} = {F} * (0.5 if {c} else 0.7)\n    {B}\n    if {c}: {leave}\n{a} = np.tanh({s} * {F})",
    "{F} = {v} + 1.0\nwhile np.sum({F} ** 2) > 0.5:\n    {F} = 0.6 * {F}{flip}\n    {B}\n{u} = {F} * {a}",
    "{F} = {u} + 1.0\n{G} = {F}\nwhile np.max({F}) > 0.4:\n    {F} *= 0.6\n    {B}\n{a} = np.tanh(np.sum({G}))",
    "{L} = 0\nwhile {L} < n:\n    {a} = np.tanh({a} + {u}[{L}])\n    {L} += 1\n    if {a} > {k}: continue\n    {B}",
)  # fmt: skip

LONG: Final = (
    "for {L} in range({many}):\n    {S}\n    {S}",
    "for {L} in range({many}):\n    {S}\n    if {c}: {leave}",
    "for {L} in range({many}):\n    {a} = np.tanh({u}[{L} % n] + {s})\n    {S}",
    "for {L} in range({many}):\n    if {c}:\n        {S}\n    else:\n        {S}",
    "{F} = {v} + 0.0\nfor {L} in range({many}):\n    {F}[{L} % n] = np.tanh({F}[{L} % n - 1] + {s})\n{u} = {F}",
    "{F} = np.stack([{s}] * {many})\nfor {L} in range(1, len({F})): {F}[{L}] = np.sin({F}[{L} - 1] + {F}[{L}])\n{a} = np.tanh(np.sum({F}[-3:]))",
    "{F} = np.cos(np.arange({many}) + {s})\nfor {L} in range(1, len({F}) - 1): {F}[{L}] = np.tanh({F}[{L} - 1] + {F}[{L} + 1])\n{a} = np.mean({F})",
    "{L} = 0\nwhile {L} < {many}:\n    {S}\n    {L} += 1\n    if {c}: {leave}",
    "{F} = []\nfor {L} in range({many}):\n    {a} = np.sin({a} + {s})\n    {F}.append({a} * {L} / 9)\n{a} = np.tanh(np.sum(np.stack({F})[::2]))",
)  # fmt: skip
"""Loops that are found in a recording, and in a number of ways through a program."""

OTHERS: Final = (
    "if {c}:\n    {B}", "if {c}:\n    {B}\nelse:\n    {B}",
    "if {c}:\n    {B}\nelif {c}:\n    {B}\nelse:\n    {B}", "if ({c}) and {a} > 0.6: return {s}",
    "try:\n    {F} = np.linalg.cholesky({m} - {few} * np.eye(n))\n    {a} = np.tanh(np.sum({F}))\nexcept np.linalg.LinAlgError:\n    {B}",
    "try:\n    {B}\n    if {c}: raise ValueError\n    {B}\nexcept ValueError:\n    {B}\nfinally:\n    {S}",
    "def {F}(p, q):\n    for {L} in range({few}):\n        p = np.tanh(p + {a} * q)\n        if p > {k}: {stop}\n    return p * q\n{a} = np.tanh({F}({s}, {a}))\n{a} = {F}({a}, {s})",
    "def {F}(p, q=0.3):\n    {L} = 0\n    while p > q and {L} < {few}:\n        p, {L} = np.sin(p) * 0.8, {L} + 1\n    return p + 0.02 * {L}\n{a} = {F}({s}) * {F}(abs({a}), {k})",
    "{F} = lambda z, d=0: z if d > {few} or z > {k} else {F}(0.3 + np.sin(z) * {a}, d + 1)\n{a} = np.tanh({F}({s}))",
    "def {F}(z):\n    z = z * 1.0\n    z[0] = np.sin(z[-1])\n    return z\n{u} = {F}({v}) + {F}({u})\n{u} = np.tanh({u})",
    "{F} = functools.reduce(lambda p, q: np.tanh(p * q + {a}), list({u}))\n{a} = {F}",
)  # fmt: skip


class Hidden(NamedTuple):
    """State that a loop advances: how it begins, advances, and what is read of it."""

    begin: str
    advance: str
    read: str


HIDDEN: Final = tuple(Hidden(*fields) for fields in (
    ("{H} = [0]", "{H}[0] += 1", "{H}[0]"), ("{H} = {{'k': 0}}", "{H}['k'] += 1", "{H}['k']"),
    ("{H} = Counter()", "{H}.step()", "{H}.n"), ("{H} = Counter()", "{H}.n += 2", "{H}.n"),
    ("{H} = Counter()", "{H}()", "{H}.n"), ("{H} = Counter().step\n{H}n = 0", "{H}n = {H}(2)", "{H}n"),
    ("{H} = SimpleNamespace(k=0)", "{H}.k += 1", "{H}.k"),
    ("{H} = itertools.count()\n{H}n = 0", "{H}n = next({H})", "{H}n"),
    ("{H} = iter(TABLE * 9)\n{H}n = 0", "{H}n = next({H}, 7)", "{H}n"),
    ("{H} = np.zeros(2, int)", "{H}[1] += 1", "int({H}[1])"), ("{H} = np.int64(0)", "{H} += 1", "int({H})"),
    ("{H} = 0", "{H} += 1", "{H}"), ("{H} = 3", "{H} -= 1", "abs({H})"), ("{H} = 0.0", "{H} += 0.5", "int({H})"),
    ("{H} = ''", "{H} += 'a'", "len({H})"), ("{H} = ()", "{H} += (1,)", "len({H})"),
    ("{H} = set()", "{H}.add(len({H}))", "len({H})"), ("{H} = []", "{H}.append(1)", "len({H})"),
    ("{H} = TABLE * 9\n{H}n = 0", "{H}n = {H}.pop()", "{H}n"),
    ("{H} = collections.deque([1, 2, 3, 4])", "{H}.rotate(1)", "{H}[0]"),
    ("{H} = False", "{H} = not {H}", "int({H})"), ("{H} = bytearray(2)", "{H}[0] += 1", "{H}[0]"),
    ("SEEN['n'] = 0", "SEEN['n'] += 1", "SEEN['n']"), ("{H} = {{}}", "{H}[len({H})] = 1", "len({H})"),
    ("{H}k = 0\ndef {H}():\n    nonlocal {H}k\n    {H}k += 1\n    return {H}k", "{H}()", "{H}k"),
    ("{H}l = [0]\ndef {H}():\n    {H}l[0] += 1\n    return {H}l[0]", "{H}()", "{H}l[0]"),
    ("def {H}(box=[0]):\n    box[0] += 1\n    return box[0]\n{H}n = 0", "{H}n = {H}()", "{H}n"),
    ("def {H}(): pass\n{H}.k = 0", "{H}.k += 1", "{H}.k"),
    ("{H} = (k * k % 5 for k in range(999))\n{H}n = 0", "{H}n = next({H})", "{H}n"),
    ("{H} = np.random.default_rng(3)\n{H}n = 0", "{H}n = int({H}.integers(3))", "{H}n"),
    ("{H} = memoryview(bytearray(3))", "{H}[1] += 1", "{H}[1]"),
    ("{H} = []", "with held({H}): pass", "len({H})"),
))  # fmt: skip
LASTING: Final = ("LOG.append({i})", "SEEN['n'] += 1", "LOG.append(len(LOG))")


_FIELD: Final = re.compile(r"\{(\w+)\}")
_DEEPEST: Final = 2  # of expressions in expressions


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        r = self.random
        self.n = r.choice((1, 2, 3, 3, 3, 5))
        self.kind = r.choice(("pure",) * 6 + ("hidden",) * 3 + ("lasting",))
        self.dtype = r.choice(("float64",) * 8 + ("float32", "complex128"))
        self.style = r.choice(("function",) * 4 + ("closure", "method"))
        self._count = 0
        self._integers: list[str] = []

    def text(self) -> str:
        """Return the program, after `PREAMBLE`."""
        r = self.random
        first = r.choice((
            "u = x.copy()\nw = 0.5 * x[::-1]", "u = x\nw = np.cos(x)", "u, w = x * 1.1, x.copy()", "u, w = np.tanh(x), np.sin(x + 0.4)",
            "x = +x\nu, w = x, x[::-1]", "x = x.copy()\nu, w = x, x[::-1]", "u = np.cos(x)\nw = u[::-1]", "u = np.tanh(x)\nw = u",
        ))  # fmt: skip
        lines = ["x = np.real(x * (1 - 0.5j)) + 0.1"] if self.dtype == "complex128" else []
        lines += [*first.split("\n"), "a, b, c = np.tanh(x[0]), np.sin(x[-1] + 0.3), 0.2 * np.sum(x)"]
        lines += [f"perm = np.array({r.sample(range(self.n), self.n)})"]
        for _ in range(r.choice((1, 2, 2, 3))):
            lines += self._statement(2)
        lines += [self._filled("return np.tanh({s}) + 0.3 * a - b * c + np.sum(u * {v})", 1)]
        if self.style == "closure":
            head, tail = "def made(n, rate):\n    def f(x):\n        x = x * rate\n", "\n    return f"
            return head + _indented(lines, 2) + tail + f"\nf = made({self.n}, 1.1)\n"
        if self.style == "method":
            head = "class Model:\n    n = 0\n    def __call__(self, x):\n        self.n += 1\n"
            return head + _indented(lines, 2) + f"\nn, f = {self.n}, Model()\n"
        return "def f(x):\n" + _indented(lines, 1) + f"\nn = {self.n}\n"

    # ---- statements ---------------------------------------------------------------------------

    def _statement(self, depth: int) -> list[str]:
        r = self.random
        kinds = [SIMPLE] * 3 + [WRITES] * 2 + [CONTAINERS]
        if depth:
            kinds += [LOOPS] * (8 if depth == 2 else 3) + [OTHERS] * 2
        if depth == 2:
            kinds += [LONG]
        known = len(self._integers)
        chosen = r.choice(kinds)
        begin: list[str] = []
        hidden = None
        if chosen in (LOOPS, LONG) and self.kind != "pure" and r.random() < 0.7:
            name = self._name()
            hidden = Hidden(*(part.format(H=name) for part in r.choice(HIDDEN)))
            begin = hidden.begin.split("\n")
            self._integers.append(hidden.read)
        found = self._template(r.choice(chosen), depth, hidden)
        del self._integers[known:]
        if hidden is not None and r.random() < 0.5:
            found.append(f"a = np.tanh(a + 0.03 * {hidden.read})")
        return begin + found

    def _template(self, template: str, depth: int, hidden: Hidden | None) -> list[str]:
        names: dict[str, str] = {}
        out: list[str] = []
        known, within = len(self._integers), ""
        for line in template.split("\n"):
            indent = line[: len(line) - len(line.lstrip())]
            body = line.strip()
            if len(indent) < len(within):
                del self._integers[known:]  # the loop is over: maybe it had no iteration
            if body in ("{B}", "{S}"):
                inner = self._block(0 if body == "{S}" else depth - 1, body == "{S}")
            else:
                inner = self._filled(body, 0, names).split("\n")
            out += [indent + x for x in inner]
            if hidden is not None and re.match("(for|while) .*:$", body):
                out += [indent + "    " + x for x in hidden.advance.split("\n")]
                hidden = None
            if "{L}" in body and names["L"] not in self._integers:
                self._integers.append(names["L"])
                within = indent + ("" if body.startswith("{L} =") else "    ")
        if hidden is not None:  # there is no loop with a number: it advances once
            out += hidden.advance.split("\n")
        return out

    def _block(self, depth: int, simple: bool) -> list[str]:
        if simple:
            return [self._filled(self.random.choice(SIMPLE), 1)]
        out = []
        for _ in range(self.random.choice((1, 1, 1, 2))):
            out += self._statement(max(depth, 0))
        if self.kind == "lasting" and self.random.random() < 0.5:
            out.append(self._filled(self.random.choice(LASTING), 1))
        return out

    # ---- expressions --------------------------------------------------------------------------

    def _filled(self, text: str, depth: int, names: dict[str, str] | None = None) -> str:
        """Return a text with a choice in the place of each field."""
        names = {} if names is None else names

        def choice(match: re.Match[str]) -> str:
            field = match[1]
            if field in "FGHL":
                return names.setdefault(field, self._name())
            return self._filled(self._choice(field, depth), depth + 1, names)

        return _FIELD.sub(choice, text).replace("{{", "{").replace("}}", "}")

    def _choice(self, field: str, depth: int) -> str:
        """Return the text that stands for a field, which may have fields again."""
        r, n = self.random, self.n
        deep = depth >= _DEEPEST
        match field:
            case "a":
                return r.choice("abc")
            case "u":
                return r.choice("uw")
            case "s":
                simple = deep or r.random() < 0.3
                return r.choice(("{a}", "{a}", "{k}", "{u}[{j}]") if simple else SCALARS)
            case "v":
                return r.choice(("{u}", "x")) if deep else r.choice(VECTORS)
            case "c":
                return "{a} > {k}" if deep else r.choice(CONDITIONS)
            case "m":
                return r.choice(MATRICES)
            case "i":
                mine = self._integers * 3
                if self.kind == "lasting":
                    mine += ["SEEN['n'] % 4", "len(LOG) % 5"]
                return r.choice([*mine, *(() if deep else INTEGERS)] or ["1"])
            case "j":
                return str(r.randrange(-n, n))
            case "k":
                return f"{r.uniform(-0.8, 0.8):.3f}"
            case "one":
                return str(r.randrange(3))
            case "few":
                return r.choice(("0", "1", "2", "3", "4", "5", "n", "len({u})"))
            case "many":
                return str(r.choice((9, 17, 20)))
            case "p" | "q":
                return r.choice([p for p in PLACES if field == "p" or "{F}" not in p])
            case "it":
                return r.choice((
                    "np.linspace(0, 1, {few})", "[0.3, 0.1, 0.2]", "{u}", "{v}", "(0.1, {a})", "{whole}",
                    "itertools.chain([0.1], {u}[1:])", "dict(p=0.2, q={a}).values()", "{u}[1:]", "iter({u})",
                ))  # fmt: skip
            case "whole":
                return r.choice((
                    "range({few})", "range({few}, 0, -1)", "range(0, 9, 3)", "TABLE[:{few}]",
                    "itertools.accumulate(TABLE[:4])", "range(n, 2 * n)", "[2] * {few}",
                ))  # fmt: skip
            case "leave":
                return r.choice(("break", "break", "continue", "return {s}", "{a} = 0.9 * {a}", "b = 0.0", "pass"))
            case "stop":
                return r.choice(("break", "continue", "return p", "q = 0.5 * q"))
            case "flip":
                return r.choice(("", "[::-1]", "[perm]"))
        raise ValueError(field)

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"


def _indented(lines: list[str], depth: int) -> str:
    return "\n".join("    " * depth + line for line in lines)


@dataclass(frozen=True)
class Program:
    """A random program.

    Attributes
    ----------
    kind
        ``"pure"``; ``"hidden"`` if it has state that each call begins anew; or ``"lasting"`` if
        what a call computes depends on how many there were.
    """

    seed: int
    text: str
    kind: str
    n: int
    dtype: str

    def make(self) -> tuple[Callable[[Any], Any], Callable[[], Any]]:
        """Return the function, and what tells its lasting state."""
        name = f"<random program {self.seed}>"
        lines = (PREAMBLE + self.text).splitlines(keepends=True)
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
        names: dict[str, Any] = {"np": np}
        exec(compile("".join(lines), name, "exec"), names)
        return names["f"], lambda: (list(names["LOG"]), dict(names["SEEN"]))

    def points(self, count: int) -> list[Any]:
        """Return points, some of which are near others and some of which go other ways."""
        rng = np.random.default_rng(self.seed)
        found = [rng.normal(size=self.n) * (2.0 if k % 4 == 3 else 1.0) for k in range(count)]
        if self.dtype == "complex128":
            return [x + 1j * rng.normal(size=self.n) for x in found]
        return [x.astype(self.dtype) for x in found]


def write(seed: int) -> Program:
    """Return the program of a seed."""
    writer = _Writer(seed)
    return Program(seed, writer.text(), writer.kind, writer.n, writer.dtype)
