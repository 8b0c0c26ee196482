"""Random programs with control flow, writes in place and hidden state, written from a grammar.

A seed becomes the text of a function of one array.  Every variable is bounded after each
assignment, every index is in range, and every loop ends.
"""

from __future__ import annotations

import linecache
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

PREAMBLE: Final = """
import collections, contextlib, functools, itertools, math
from types import SimpleNamespace
LOG, SEEN, TABLE = [], {"n": 0}, [3, 1, 4, 1, 5, 9, 2, 6]
class Counter:
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
    while a < bound: a, k = 1.3 * a + 0.3 if a > -0.5 else -a, k + 1
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
    while len(seen) < 6 and a < 1.5: seen.append(a); a = 1.3 * a + 0.2
    return a + 0.1 * len(seen) + sum(seen)
def weighted(y, total=0):
    for k, q in enumerate(y):
        if q > 0.2: total += q * (k + 1)
        else: total -= 0.5 * q
    return total
def swept(y, rate):
    y = y.copy()
    for k in range(1, len(y)): y[k] = np.sin(y[k - 1]) + rate * y[k]
    return y
"""
"""What programs call: loops in helpers, and state."""

GRAMMAR: Final = r"""
a: a | b | c
u: u | w
one: 0 | 1 | 2
few: 0 | 1 | 2 | 3 | 4 | 5 | n | len({u})
many: 9 | 17 | 20
i: {one} | {j} | len({u}) | int(np.argmax({u})) | int(np.sum({u} > {k})) | round({a} * 2) | n
m: (np.outer({u}, {u}) + 7.0 * np.eye(n)) | (np.diag({u} ** 2 + 1.5) + 0.2 * {a} ** 2) | (2.5 *
  np.eye(n) + {u}[:, None] * {u} * 0.5) | (np.tanh(np.add.outer({u}, {u})) + 6.0 * np.eye(n))
p: [{j}] | [1:] | [:-1] | [::-1] | [::2] | [[0, -1]] | [...] | [{i} % n] | [np.array([0, n // 2])] |
  [perm] | [-1:] | [:, None][:, 0] | [::-1][:1] | [{i} % n:] | [{i} % n:{i} % n + 2] | [np.arange(n)
  % 2 == 0]
s: {a} * {a} | np.tanh({s}) | np.sin({s} - {s}) | 0.5 * ({s} + {a}) | np.exp(-{s} ** 2) |
  np.sum({v}) / 3 | np.cos({s} + {k}) | {s} / (1.5 + {a} ** 2) | {u}[{j}] * {u}[{j}] | x[{j}] |
  {u}[{i} % n] | {u}[{i} % n - n] | max({s}, {s}) | min({s}, {k}) | abs({s}) | sorted([{s}, {a},
  {k}])[{one}] | max({u}) * 0.5 | sum({u}) * 0.4 | min({u}[0], {a}) | sum(q * {a} for q in (0.1,
  0.2)) | {s} * (1 + {i}) / 3 | np.tanh({s} + 0.05 * {i}) | np.dot({v}, {u}) / 4 |
  np.linalg.norm({u} + 2.0) / 4 | np.linalg.det({m}) / 9 | ({s} if {c} else {s}) | np.where({a} >
  {k}, {s}, {s}) | np.maximum({s}, {a}) | np.arctan2({s}, 2.0 + {a} ** 2) | np.mean({u}) | (lambda
  z: np.sin(z) + 0.02 * {i})({a}) | np.tanh(newton(1.2 + {a} ** 2)) | np.tanh(bisected({a})) |
  grown({a}) | recursive({a}) / 3 | np.tanh(sum(yielded({a}, 1.2), 0.0)) | np.tanh(gathered({a})) |
  np.median({u}) | np.tanh(weighted({u})) | np.prod({u} * 0.7) | np.real((1 + {a} * 1j) / (2 - {a} *
  0.5j)) | np.abs({a} * 1j + 1.2) | np.linalg.eigvalsh(np.diag({u} + 3.0 * np.arange(n)) + 0.2 *
  {a})[0] / 3 | float({i}) * {a} / 5 | np.clip({s}, -0.5, 0.6 + {a} ** 2) | np.ptp({u}) / 4 | ({a} >
  {k}) * {a} | {a} % 0.7 | np.linalg.slogdet({m})[1] / 9 | functools.reduce(lambda p, q: np.tanh(p *
  q + {a}), {u}) | min({u}, key=abs) | ({u} @ {u}) / 4 | sum(map(np.sin, {u})) / 3 | math.floor({a})
  * {a} / 2 | np.polyval({u}, 0.5 * {a}) / 3 | {u}[{u} > {k}].sum() / 4
v: {u} * {s} | np.sin({v}) | {u}[::-1] | np.roll({u}, {one}) | {u} - {a} | np.cumsum({u}) * 0.4 |
  np.where({u} > {k}, {u}, {a}) | {u}[perm] | np.sort({u}) | np.linalg.solve({m}, {u}) | {m} @ {u} /
  4 | x * {a} | np.concatenate([{u}[1:], {u}[:1]]) | np.stack([{s}] * n) | np.real(({u} + 1j * {u})
  * np.exp(1j * {a})) | swept({u}, {a}) | np.maximum({u}, {v}) | np.array([0.3, 0.1, 0.7, 0.2,
  0.9])[:n] * {s} | {u}[np.argsort({u})] | np.outer({u}, {u})[:, 0] | ({u} + {m}).T[-1] / 3 |
  abs({u}) | {u}.copy() | +{u} | 0 * {u} | {u} @ {m} / 4 | np.stack([np.tanh(q + {a}) for q in {u}])
  | {u} ** 2 | np.diff(np.append({u}, {a})) | ({u} if {c} else {v}) | np.linalg.cholesky({m})[-1] /
  2 | np.interp({u}, [-1.0, 0.1, 1.0], [0.2, {k}, 0.5]) | {u}.T | np.linalg.inv({m})[0] |
  np.pad({u}, 1)[1:-1] | np.reshape({u}, (1, n))[0] | {u} * ({u} > {k}) | np.real(np.fft.fft({u})) /
  3 | np.convolve({u}, {u})[:n] / 2 | np.stack(sorted({u}, key=lambda q: -q)) | np.cumprod({u}) |
  np.triu({m})[0] / 3 | np.maximum.accumulate({u}) | np.stack([p * q for p, q in
  itertools.pairwise([*{u}, {a}])])
c: {a} > {k} | {a} < {a} | {a} < {k} | np.any({u} > {k}) | np.argmax({u}) == {j} | not {a} <= {s} |
  -0.4 < {a} < 0.5 | {i} % 2 and {a} > {k} | ({c} or {a} > 0.3) | ({a} > 0.1) ^ ({a} > 0.2) |
  any({a} > q for q in (0.5, 0.1)) | {a} | np.sum({u}) > {s} | {u}[0] > {k} | {i} > 2 | {a} > 0.05 *
  {i} | np.all({u} < {a} + 0.5) | {s} > {k} | {i} == {i} | {u}[{j}] > {u}[{j}] | np.sum({u} > {k}) >
  {one} | ({a} * {a} < 0.2 or {a} > 0.3) | sum({u} > {k}) == 1
whole: range({few}) | range({few}, 0, -1) | range(0, 9, 3) | TABLE[:{few}] | range(n, 2 * n) | [2] *
  {few} | itertools.accumulate(TABLE[:4]) | range(abs({i})) | np.nonzero({u} > {k})[0] | map(int,
  np.argsort({u}))
it: np.linspace(0, 1, {few}) | [0.3, 0.1, 0.2] | {u} | {v} | (0.1, {a}) | {whole} |
  itertools.chain([0.1], {u}[1:]) | dict(p=0.2, q={a}).values() | {u}[1:] | iter({u}) | [{a}, {s}] |
  {u}[{u} > {k}] | reversed([{a}, {k}])
leave: break | break | continue | return {s} | {a} = 0.9 * {a} | b = 0.0 | pass
stop: break | continue | return p | q = 0.5 * q
simple: {a} = np.tanh({s}) | {a} = np.tanh({s}) | {a} = np.sin({s} + {s}) | {a} = 0.5 * ({a} +
  np.sin({s})) | b = a | {u} = np.tanh({v}) | {u} = np.sin({v} + {s}) | {a}, {a} = np.tanh({s}), {a}
  | a, b = b, a | u, w = w, u | a, b = b, 0.5 * (a + b) | (a, b), c = (b, c), a | {a} += 0.1 *
  np.sin({s}) | {a} *= 0.9 | a, *_ = b, c | {u} = 0.6 * {u} + 0.2 * {u} | {a} = np.tanh(({a} :=
  np.sin({s})) + {a}) | {u} = np.tanh({u} * 0.7 + {a})
write: {F} = {v} + 0.0\n{F}{p} = np.tanh({s})\n{u} = np.tanh({F}) | {F} = {v} * 1.0\n{F}{p} +=
  np.sin({s})\n{u} = np.sin({F}) | {F} = {v} + {a}\n{F}{p} *= 0.5 * {s}\n{a} = np.tanh(np.sum({F}))
  | {F} = {u}[:2]\n{F}[:1] = np.tanh({s}) | {F} = {u}.copy()\n{G} = {F}[::-1]\n{G}[:1] = {s}\n{G} *=
  0.7\n{a} = np.tanh(np.sum({F} * {u})) | {u}[{u} > {k}] *= 0.5 | {F} = np.outer({u}, {u})\n{F}.T[0]
  = {v}\n{F}[:, -1] += {a}\n{u} = np.tanh({F}[{j}]) | {u}{p} = {s} | {u} *= 0.8 | {F} =
  np.multiply({u}[:, None], {u})\n{G} = {F}.reshape(-1)\n{G}[::2] *= 0.5\n{a} = np.tanh(np.sum({F} *
  {m}) / 4) | {F} = np.zeros_like({u})\nfor {G} in range(n): {F}[{G}] = np.tanh({s} * ({G} + 1)) +
  {F}[{G} - 1]\n{u} = np.tanh({F}) | {F} = {u} * 1.0\n{F}[1:] += {F}[:-1]\n{F}[:-1] = {F}[1:]\n{u} =
  np.tanh({F}) | np.tanh({u}, out={u}) | {u} += 0.1 * {a} | {F} = {u}\n{F} -= 0.1 * {a}\n{a} =
  np.sum({u}) * 0.2 | {u}{p} += 0.1 * {a} | {u}[{u} > {k}] = {a} | {F} = {v} + 0.0\nnp.add.at({F},
  [0, -1, 0], {a})\n{u} = np.tanh({F}) | {F} = {u}[1:]\n{F} += 0.2\n{a} = np.tanh({u}[-1]) | {F} =
  np.zeros_like({u}, shape=(n, 2))\n{F}[:, 0], {F}[:, 1] = {u}, {v}\n{F}[::-1, ::-1] *= {F}\n{a} =
  np.tanh(np.sum({F}))
container: {F} = []\nfor {G} in range({few}):\n\t{F}.append({s})\n\tif {c}: break\n{a} =
  np.tanh(sum({F})) | {F} = {}\nfor {G} in range({few}):\n\t{F}[{G}] = {s}\n\t{B}\n{a} =
  np.tanh(sum({F}.values()) / 2) | {F} = {'p': {s}, 'q': [{a}, {v}]}\n{F}['p'], {F}['q'][0] =
  {F}['q'][0], {F}['p']\n{a} = np.tanh({F}['p'] + np.sum({F}['q'][1])) | {F} = [{s}, {a}]\nfor {G}
  in range({few}): {F} = [{F}[1], np.sin({F}[0] + {s})]\n{a} = {F}[0] * {F}[1] | {F} = ({s},
  {v})\nfor {G} in range({few}):\n\t{F} = (np.tanh(np.sum({F}[1])), np.sin({F}[1] +
  {F}[0]))\n\t{B}\n{a}, {u} = {F} | {F} = 0\nfor {G} in range({few}): {F} += {s}\n{a} = np.tanh({F})
  | {F} = 0\nfor {G} in {it}: {F} = {F} + {v}\n{u} = np.tanh({F} + 0 * {u}) | {F} = None\nfor {G} in
  range({few}):\n\t{F} = {v} if {F} is None else np.sin({F} + {u})\n\t{B}\n{a} = {a} if {F} is None
  else np.tanh(np.sum({F})) | {F} = 1\nfor {G} in {it}:\n\t{F} = {F} * np.cos({s})\n\t{B}\n{a} =
  np.tanh({F}) | {F} = [{u} * 1.0] * 2\n{F}[0] *= {a}\n{u} = np.tanh({F}[1]) | {F} =
  np.float32(0.5)\nfor {G} in range({few}): {F} = np.sin({F} + {s})\n{a} = {F} * 1.0 | {F} =
  0.3\nfor {G} in range({few}): {F} = np.exp(1j * {F}) * {s}\n{a} = np.tanh(np.real({F}) +
  np.imag({F})) | {F} = {u}[:1]\nfor {G} in range({few}): {F} = np.tanh({F} + {v})\n{u} = {F} + 0 *
  {u} | {F} = np.stack([{u}, {v}])\nfor {G} in {F}: {a} = np.tanh({a} + np.sum({G}))\n{F}[0] =
  {F}[1] * {a}\n{u} = np.tanh({F}[0] - {F}[1]) | {F} = [np.tanh({s} + q) for q in {u} if q >
  {k}]\n{a} = np.tanh(sum({F}, 0.1 * {a})) | {F} = {u}\nwhile len({F}) > 1: {F} = np.tanh({F}[1:] +
  {F}[:-1] * {s})\n{a} = np.sum({F}) | {F} = [lambda z, h=q: np.sin(z * h + {a}) for q in {u}]\nfor
  {G} in {F}: {a} = {G}({a}) | {F} = [{a}, {s}, {k}]\nfor {G} in range({few}):\n\t{F} = [*{F}[1:],
  np.tanh({F}[0] + {F}[-1])]\n\tif {c}: {F}.insert(0, {F}.pop())\n{a} = np.sin(sum({F})) | {F} =
  [[{a}, {k}], [{s}, 0]]\nfor {G} in range({few}): {F}[{G} % 2][1] = np.sin({F}[{G} % 2 - 1][0] +
  {F}[0][1])\n{a} = np.tanh(sum(map(sum, {F}))) | {F} = {'p': {a}, 'q': {s}}\nfor {G} in {F}:
  {F}[{G}] = np.sin({F}[{G}] + {F}['p'])\n{a} = {F}['q']
loop: for {L} in range({few}):\n\t{B} | for {L} in range({few}):\n\t{B}\n\tif {c}: {leave}\n\t{B} |
  for {L} in range({few}):\n\t{B}\n\tif {c}: {leave}\nelse:\n\t{B} | for {L} in
  {whole}:\n\t{B}\n\tif {c}: {leave} | for {L} in range(n):\n\t{a} = np.tanh({u}[{L}] + {u}[{L} - 1]
  * {s})\n\t{B} | for {L} in range(1, n):\n\t{a} = np.sin({a} + np.sum(x[{L} - 1:{L} + 1]))\n\tif
  {c}: {leave} | for {L} in range(n - 1, -1, -1):\n\t{a} = np.tanh({u}[perm[{L}]] * {s} +
  {u}[-{L}])\n\t{B} | for {F} in {it}:\n\t{B}\n\tif {c}: {leave}\n\t{a} = np.tanh({F} * {a} + {s}) |
  for {F} in {u}:\n\t{a} = np.tanh({a} + {F} * {s})\n\tif {c}: {leave}\n\t{B} | for {F}, {G} in
  zip({u}, {v}):\n\t{a} = np.sin({a} * {F} + {G})\n\t{B} | for {F} in reversed({u}):\n\t{a} =
  np.tanh({F} + 0.5 * {a})\n\t{B} | for {L}, {F} in enumerate({u}):\n\tif {F} > {k}: {leave}\n\t{a}
  = np.tanh({a} + {F} * ({L} + 1)) | {L} = 0\nwhile ({c}) and {L} < {few}:\n\t{L} += 1\n\t{B} | {L}
  = 0\nwhile {L} < {few}:\n\t{B}\n\t{L} += 1\n\tif {c}: {leave} | {L} = 0\nwhile True:\n\t{B}\n\t{L}
  += 1\n\tif {L} >= {few} or {c}: break\n\t{B} | {L} = {few}\nwhile {L} > 0:\n\t{L} -=
  1\n\t{B}\n\tif {c}: {leave}\nelse:\n\t{B} | {F} = 1.0 + {a} ** 2\nwhile {F} > 0.4:\n\t{F} = {F} *
  0.7\n\t{B}\n{a} = np.tanh({a} + {F}) | {F} = 1.0 + np.sum({u} ** 2)\nwhile {F} > 0.3:\n\t{F} = {F}
  * (0.5 if {c} else 0.7)\n\t{B}\n\tif {c}: {leave}\n{a} = np.tanh({s} * {F}) | {F} = {v} +
  1.0\nwhile np.sum({F} ** 2) > 0.5:\n\t{F} = 0.6 * {F}[perm]\n\t{B}\n{u} = {F} * {a} | {F} = {u} +
  1.0\n{G} = {F}\nwhile np.max({F}) > 0.4:\n\t{F} *= 0.6\n\t{B}\n{a} = np.tanh(np.sum({G})) | {L} =
  0\nwhile {L} < n:\n\t{a} = np.tanh({a} + {u}[{L}])\n\t{L} += 1\n\tif {a} > {k}: continue\n\t{B} |
  {L} = np.argmax({u})\nwhile {L} > 0:\n\t{L} = {L} - 1\n\t{a} = np.sin({u}[{L}] + {s})\n\t{B} | {F}
  = False\nfor {L} in range({few}):\n\t{B}\n\tfor {G} in range(3):\n\t\t{a} = np.sin({a} +
  {s})\n\t\tif {c}: {F} = True; break\n\tif {F}: break
long: for {L} in range({many}):\n\t{S}\n\t{S} | for {L} in range({many}):\n\t{S}\n\tif {c}: {leave}
  | for {L} in range({many}):\n\t{a} = np.tanh({u}[{L} % n] + {s})\n\t{S} | {L} = 0\nwhile {L} <
  {many}:\n\t{S}\n\t{L} += 1\n\tif {c}: {leave} | for {L} in range({many}):\n\tif
  {c}:\n\t\t{S}\n\telse:\n\t\t{S} | {F} = {v} + 0.0\nfor {L} in range({many}):\n\t{F}[{L} % n] =
  np.tanh({F}[{L} % n - 1] + {s})\n{u} = {F} | {F} = np.stack([{s}] * {many})\nfor {L} in range(1,
  len({F})): {F}[{L}] = np.sin({F}[{L} - 1] + {F}[{L}])\n{a} = np.tanh(np.sum({F}[-3:])) | {F} =
  np.cos(np.arange({many}) + {s})\nfor {L} in range(1, len({F}) - 1): {F}[{L}] = np.tanh({F}[{L} -
  1] + {F}[{L} + 1])\n{a} = np.mean({F}) | {F} = []\nfor {L} in range({many}):\n\t{a} = np.sin({a} +
  {s})\n\t{F}.append({a} * {L} / 9)\n{a} = np.tanh(np.sum(np.stack({F})[::2]))
other: if {c}:\n\t{B} | if {c}:\n\t{B}\nelse:\n\t{B} | if {c}:\n\t{B}\nelif
  {c}:\n\t{B}\nelse:\n\t{B} | if ({c}) and {a} > 0.6: return {s} | try:\n\t{F} =
  np.linalg.cholesky({m} - 2 * {few} * np.eye(n))\n\t{a} = np.tanh(np.sum({F}))\nexcept
  np.linalg.LinAlgError:\n\t{B} | try:\n\t{B}\n\tif {c}: raise ValueError\n\t{B}\nexcept
  ValueError:\n\t{B}\nfinally:\n\t{S} | def {F}(p, q):\n\tfor {L} in range({few}):\n\t\tp =
  np.tanh(p + {a} * q)\n\t\tif p > {k}: {stop}\n\treturn p * q\n{a} = np.tanh({F}({s}, {a}))\n{a} =
  {F}({a}, {s}) | def {F}(p, q=0.3):\n\t{L} = 0\n\twhile p > q and {L} < {few}: p, {L} = np.sin(p) *
  0.8, {L} + 1\n\treturn p + 0.02 * {L}\n{a} = {F}({s}) * {F}(abs({a}), {k}) | {F} = lambda z, d=0:
  z if d > {few} or z > {k} else {F}(0.3 + np.sin(z) * {a}, d + 1)\n{a} = np.tanh({F}({s})) | def
  {F}(z):\n\tz = z * 1.0\n\tz[0] = np.sin(z[-1])\n\treturn z\n{u} = {F}({v}) + {F}({u})\n{u} =
  np.tanh({u}) | {F} = {s}\ndef {G}():\n\tnonlocal {F}\n\t{F} = np.sin({F} + {a})\n\treturn {F} >
  {k}\nfor {L} in range({few}):\n\tif {G}():\n\t\t{B}\n{a} = np.tanh({F}) | {F} =
  SimpleNamespace(z={s}, k=0)\nfor {L} in range({few}):\n\t{F}.z, {F}.k = np.sin({F}.z + {s}), {F}.k
  + 1\n\tif {F}.z > {k}: break\n{a} = {F}.z * {F}.k / 3
hidden: {H} = [0] & {H}[0] += 1 & {H}[0] | {H} = {'k': 0} & {H}['k'] += 1 & {H}['k'] | {H} =
  Counter() & {H}.step() & {H}.n | {H} = Counter() & {H}.n += 2 & {H}.n | {H} = Counter() & {H}() &
  {H}.n | {H} = Counter().step\n{H}n = 0 & {H}n = {H}(2) & {H}n | {H} = SimpleNamespace(k=0) & {H}.k
  += 1 & {H}.k | {H} = itertools.count()\n{H}n = 0 & {H}n = next({H}) & {H}n | {H} = iter(TABLE *
  9)\n{H}n = 0 & {H}n = next({H}, 7) & {H}n | {H} = np.zeros(2, int) & {H}[1] += 1 & int({H}[1]) |
  {H} = np.int64(0) & {H} += 1 & int({H}) | {H} = 0 & {H} += 1 & {H} | {H} = 3 & {H} -= 1 & abs({H})
  | {H} = 0.0 & {H} += 0.5 & int({H}) | {H} = '' & {H} += 'a' & len({H}) | {H} = () & {H} += (1,) &
  len({H}) | {H} = set() & {H}.add(len({H})) & len({H}) | {H} = [] & {H}.append(1) & len({H}) | {H}
  = TABLE * 9\n{H}n = 0 & {H}n = {H}.pop() if {H} else 0 & {H}n | {H} = collections.deque([1, 2, 3,
  4]) & {H}.rotate(1) & {H}[0] | {H} = False & {H} = not {H} & int({H}) | {H} = bytearray(2) &
  {H}[0] += 1 & {H}[0] | SEEN['n'] = 0 & SEEN['n'] += 1 & SEEN['n'] | {H} = {} & {H}[len({H})] = 1 &
  len({H}) | {H}k = 0\ndef {H}():\n\tnonlocal {H}k\n\t{H}k += 1\n\treturn {H}k & {H}() & {H}k | {H}l
  = [0]\ndef {H}():\n\t{H}l[0] += 1\n\treturn {H}l[0] & {H}() & {H}l[0] | {H} = [] & with held({H}):
  pass & len({H}) | def {H}(box=[0]):\n\tbox[0] += 1\n\treturn box[0]\n{H}n = 0 & {H}n = {H}() &
  {H}n | def {H}(): pass\n{H}.k = 0 & {H}.k += 1 & {H}.k | {H} = (k * k % 5 for k in
  range(999))\n{H}n = 0 & {H}n = next({H}) & {H}n | {H} = memoryview(bytearray(3)) & {H}[1] += 1 &
  {H}[1] | {H} = np.random.default_rng(3)\n{H}n = 0 & {H}n = int({H}.integers(3)) & {H}n | {H} =
  np.zeros(1) & {H}[0] += 0.5 & int({H}[0])
lasting: LOG.append({i}) | SEEN['n'] += 1 | LOG.append(len(LOG))
first: u = x.copy()\nw = 0.5 * x[::-1] | u = x\nw = np.cos(x) | u, w = x * 1.1, x.copy() | u, w =
  np.tanh(x), np.sin(x + 0.4) | x = +x\nu, w = x, x[::-1] | x = x.copy()\nu, w = x, x[::-1] | u =
  np.cos(x)\nw = u[::-1] | u = np.tanh(x)\nw = u
"""
r"""What stands for a name in braces, one of it at random.

`s` and `v` are a number and a vector of length n, `a` and `u` variables of these kinds, `m` a
matrix, `c` a condition, `i` an integer, `j` an index in range, `k` a number, `p` a place.  F, G, H
and L are new names, the same within one choice, L that of an integer.  `B` is a block of
statements, `S` a simple one.  State has a beginning, an advance, and what is read of it.
"""

_RULES: Final = {
    name: [x.replace(r"\n", "\n").replace(r"\t", "    ") for x in re.split(r" \| ", choices)]
    for rule in re.split(r"\n(?=\w+: )", GRAMMAR.strip())
    for name, choices in [re.sub(r"\s+", " ", rule).split(": ", 1)]
}
_DEEPEST: Final = 2
_LEAVES: Final = {"s": ("{a}", "{a}", "{k}", "{u}[{j}]"), "v": ("{u}", "{u}", "x")}


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        self.n = r.choice((1, 2, 3, 3, 3, 5))
        self.kind = r.choice(("pure",) * 6 + ("hidden",) * 3 + ("lasting",))
        self.dtype = r.choice(("float64",) * 8 + ("float32", "complex128"))
        self._count = 0
        self._integers: list[str] = []

    def text(self) -> str:
        """Return the program, without `PREAMBLE`."""
        r, n = self.random, self.n
        lines = ["x = np.real(x * (1 - 0.5j)) + 0.1"] if self.dtype == "complex128" else []
        lines += r.choice(_RULES["first"]).split("\n")
        lines += ["a, b, c = np.tanh(x[0]), np.sin(x[-1] + 0.3), 0.2 * np.sum(x)"]
        lines += [f"perm = np.array({r.sample(range(n), n)})"]
        for _ in range(r.choice((1, 2, 2, 3))):
            lines += self._statement(2)
        lines += [self._filled("return np.tanh({s}) + 0.3 * a - b * c + np.sum(u * {v})", 1)]
        style = r.randrange(6)
        if style == 0:
            lines = ["def made(n, rate):", "    def f(x):", "        x = x * rate", *_in(lines, 2)]
            return "\n".join([*lines, "    return f", f"f = made({n}, 1.1)", ""])
        if style == 1:
            head = ["class Model:", "    count = 0", "    def __call__(self, x):"]
            lines = [*head, *_in(["self.count += 1", *lines], 2)]
            return "\n".join([*lines, f"n, f = {n}, Model()", ""])
        return "\n".join(["def f(x):", *_in(lines, 1), f"n = {n}", ""])

    def _statement(self, depth: int) -> list[str]:
        """Return a statement, which has blocks up to a depth; loops may advance hidden state."""
        r, known = self.random, len(self._integers)
        kinds = ["simple", "simple", "simple", "write", "write", "container"]
        kinds += (["loop"] * (8 if depth == 2 else 3) + ["other"] * 2) * (depth > 0)
        kind = r.choice([*kinds, "long"] if depth == 2 else kinds)
        if kind not in ("loop", "long") or self.kind == "pure" or r.random() < 0.3:
            found = self._lines(r.choice(_RULES[kind]), depth, [])
        else:
            state = r.choice(_RULES["hidden"]).replace("{H}", self._name())
            begin, advance, read = state.split(" & ")
            self._integers.append(read)
            found = begin.split("\n") + self._lines(r.choice(_RULES[kind]), depth, [advance])
            found += [f"a = np.tanh(a + 0.03 * {read})"] * r.randrange(2)
        del self._integers[known:]
        return found

    def _lines(self, template: str, depth: int, advance: list[str]) -> list[str]:
        """Fill a template line by line; `advance` comes first in its first loop."""
        names: dict[str, str] = {}
        known, within, out = len(self._integers), "", list[str]()
        for line in template.split("\n"):
            text = line.lstrip()
            indent = line[: len(line) - len(text)]
            if len(indent) < len(within):
                del self._integers[known:]  # the loop is over: maybe it had no iteration
            if text == "{S}":
                text = "{simple}"
            is_block = text == "{B}"
            found = self._block(depth) if is_block else self._filled(text, 0, names).split("\n")
            out += [indent + x for x in found]
            if re.match("(for|while) .*:$", text):
                out += [f"{indent}    {x}" for x in advance]
                advance = []
            if "{L}" in text and names["L"] not in self._integers:
                self._integers.append(names["L"])
                within = indent + "    " * (not text.startswith("{L} ="))
        return out + advance

    def _block(self, depth: int) -> list[str]:
        count = self.random.choice((1, 1, 1, 2))
        found = [line for _ in range(count) for line in self._statement(max(depth - 1, 0))]
        lasting = self.kind == "lasting" and self.random.random() < 0.5
        return found + [self._filled("{lasting}", 1)] * lasting

    def _filled(self, text: str, depth: int, names: dict[str, str] | None = None) -> str:
        """Return a text with a choice in the place of each field."""
        names = {} if names is None else names

        def choice(match: re.Match[str]) -> str:
            field = match[1]
            if field in "FGL":
                return names.setdefault(field, self._name())
            return self._filled(self._choice(field, depth), depth + 1, names)

        return re.sub(r"\{(\w+)\}", choice, text)

    def _choice(self, field: str, depth: int) -> str:
        """Return what stands for a field, which may have fields again."""
        r, deep = self.random, depth >= _DEEPEST
        match field:
            case "j":
                return str(r.randrange(-self.n, self.n))
            case "k":
                return f"{r.uniform(-0.8, 0.8):.3f}"
            case "c" if deep:
                return "{a} > {k}"
            case "i" if self._integers and r.random() < 0.6:
                return r.choice(self._integers)
            case "i" if self.kind == "lasting":
                return r.choice(("SEEN['n'] % 4", "len(LOG) % 5"))
            case "s" | "v" if deep or r.random() < 0.3:
                return r.choice(_LEAVES[field])
        return r.choice(_RULES[field])

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"


def _in(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]


@dataclass(frozen=True)
class Program:
    """A random program: ``"pure"``, with ``"hidden"`` state of a call, or ``"lasting"`` state."""

    seed: int
    text: str
    kind: str
    n: int
    dtype: str

    def make(self) -> tuple[Callable[[Any], Any], Callable[[], Any]]:
        """Return the function, and what tells its lasting state."""
        name, text = f"<random program {self.seed}>", PREAMBLE + self.text
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        names: dict[str, Any] = {"np": np}
        exec(compile(text, name, "exec"), names)
        return names["f"], lambda: ([*names["LOG"]], {**names["SEEN"]})

    def points(self, count: int) -> list[Any]:
        """Return points, of which some go other ways."""
        rng = np.random.default_rng(self.seed)
        found = [rng.normal(size=self.n) * (2.0 if k % 4 == 3 else 1.0) for k in range(count)]
        if self.dtype == "complex128":
            return [x + 1j * rng.normal(size=self.n) for x in found]
        return [x.astype(self.dtype) for x in found]


def write(seed: int) -> Program:
    """Return the program of a seed."""
    writer = _Writer(seed)
    return Program(seed, writer.text(), writer.kind, writer.n, writer.dtype)
