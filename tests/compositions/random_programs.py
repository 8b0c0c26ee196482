"""Random programs: a seed becomes the same NumPy code everywhere, for funcdiff and for JAX.

A program is a list of steps, each an operation and the numbers of earlier values.  Operations take
the namespace and the module of control flow first, whose names `scan`, `cond` and `fori_loop` are
the same in ``funcdiff`` and ``jax.lax``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np

import funcdiff as fd
from tests.rules.sample import real

COUNT: Final = 60
"""How many programs are compared with JAX."""

STEPS: Final = 9
LARGEST: Final = 12
"""Elements of a value."""

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Operation:
    """One operation of the grammar.

    Attributes
    ----------
    function
        ``function(np, control, *values)``.
    fits
        Whether it takes values of these shapes; the length is the number of values.
    """

    function: Callable[..., Any]
    fits: Callable[[Shapes], bool]
    arity: int


@dataclass(frozen=True)
class Step:
    """An operation applied to earlier values."""

    operation: str
    operands: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.operation}({', '.join(map(str, self.operands))})"


@dataclass(frozen=True)
class RandomProgram:
    """A function of a vector, a matrix and a scalar, and what it computes step by step."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.steps))

    def __call__(self, np: Any, control: Any, *arguments: Any) -> Any:
        """Run it; the result is a weighted sum of all values that no step used."""
        values = list(arguments)
        for step in self.steps:
            operation = OPERATIONS[step.operation]
            values.append(operation.function(np, control, *(values[k] for k in step.operands)))
        used = {k for step in self.steps for k in step.operands}
        return sum(
            np.sum(np.tanh(value) * constant(value.shape, k))
            for k, value in enumerate(values)
            if k not in used
        )


def constant(shape: tuple[int, ...], k: int) -> Any:
    """Return weights without symmetry."""
    return real(*shape, start=17 + 13 * k)


def arguments() -> tuple[Any, Any, Any]:
    """Return a vector, a matrix and a scalar."""
    return real(3), real(2, 3, start=7), real(start=30)


def directions() -> tuple[Any, Any, Any]:
    """Return a direction for each argument."""
    return real(3, start=41), real(2, 3, start=52), real(start=63)


def random_program(seed: int) -> RandomProgram:
    """Return the program of a seed."""
    random = Random(seed)
    values: list[Any] = list(arguments())
    steps: list[Step] = []
    while len(steps) < STEPS:
        name = _pick(random, list(OPERATIONS))
        operation = OPERATIONS[name]
        chosen = [_recent(random, len(values)) for _ in range(operation.arity)]
        operands = [values[k] for k in chosen]
        if operation.fits(tuple(np.shape(x) for x in operands)):
            value = operation.function(np, fd, *operands)
            if np.size(value) <= LARGEST:
                steps.append(Step(name, tuple(chosen)))
                values.append(value)
    return RandomProgram(tuple(steps))


def _pick(random: Random, names: list[str]) -> str:
    return names[int(random.random() * len(names))]


def _recent(random: Random, count: int) -> int:
    """Return the number of a value, a late one more often than an early one."""
    return int(count * random.random() ** 0.6)


# ---- the grammar -------------------------------------------------------------------------------


def _array(shapes: Shapes) -> bool:
    return len(shapes[0]) > 0


def _matrix(shapes: Shapes) -> bool:
    return len(shapes[0]) == 2


def _vector(shapes: Shapes) -> bool:
    return len(shapes[0]) == 1


def _like(shapes: Shapes) -> bool:
    return len(set(shapes)) == 1


def _broadcastable(shapes: Shapes) -> bool:
    return all(
        len({n for n in lengths if n != 1}) <= 1
        for lengths in zip(*((1, 1, *s)[-2:] for s in shapes), strict=True)
    )


def _inner(shapes: Shapes) -> bool:
    left, right = shapes
    return bool(left and right) and left[-1] == right[0]


def _joined(shapes: Shapes) -> bool:
    left, right = shapes
    return bool(left) and len(left) == len(right) and left[1:] == right[1:]


def _solve(np: Any, lax: Any, a: Any) -> Any:
    return np.linalg.solve(_definite(np, a), np.sin(a[:, 0]))


def _definite(np: Any, a: Any) -> Any:
    return np.tanh(a) @ np.tanh(a).T + np.eye(a.shape[0]) + np.diag(0.3 * np.arange(a.shape[0]))


def _spectrum(np: Any, lax: Any, x: Any) -> Any:
    y = np.fft.fft(x)
    return np.real(y) * np.imag(np.exp(0.2j * y)) + np.abs(y + 3.0)


def _filtered(np: Any, lax: Any, x: Any) -> Any:
    y = np.fft.rfft(x, n=4)
    return np.fft.irfft(y * (1.0 - 0.4j) * np.conj(y), n=3)


def _complex(np: Any, lax: Any, x: Any, y: Any) -> Any:
    z = np.sin(x) + 1j * y
    return np.real(z * z / (2.5 + np.conj(z) * z)) - np.imag(np.exp(-1j * z * 0.3))


def _folded(np: Any, lax: Any, x: Any, y: Any) -> Any:
    last, rows = lax.scan(lambda c, r: (np.sin(c + r) * x, np.cos(c) - r), y, np.stack([x, 2 * y]))
    return last + rows[0] * rows[1]


def _backwards(np: Any, lax: Any, x: Any) -> Any:
    _, found = lax.scan(lambda c, r: (c * 0.5 + np.sum(np.tanh(r)), c * r), 0.7, x, reverse=True)
    return found


def _chosen(np: Any, lax: Any, x: Any, y: Any) -> Any:
    return lax.cond(np.sum(x) > 0.4, lambda a: np.sin(a) * y, lambda a: a * np.tanh(a * y), x)


def _repeated(np: Any, lax: Any, x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda k, c: np.sin(c) * (x + k) + 0.3 * y, np.tanh(x))


def _nested(np: Any, lax: Any, x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        after = lax.cond(
            np.sum(carry) > 0.0, lambda c: np.cos(c) * row, lambda c: c - x * row, carry
        )
        return after, np.sum(after * x)

    last, sums = lax.scan(step, np.tanh(x), np.stack([x[::-1], np.sin(x)]))
    return last * sums[0] + sums[1]


def _unary(function: Callable[..., Any]) -> Operation:
    return Operation(lambda np, lax, x: function(np, x), lambda shapes: True, 1)


def _of(fits: Callable[[Shapes], bool], function: Callable[..., Any], arity: int = 1) -> Operation:
    return Operation(lambda np, lax, *xs: function(np, *xs), fits, arity)


def _binary(function: Callable[..., Any]) -> Operation:
    return _of(_broadcastable, function, 2)


OPERATIONS: Final[dict[str, Operation]] = {
    "sin": _unary(lambda np, x: np.sin(x)),
    "tanh": _unary(lambda np, x: np.tanh(1.3 * x)),
    "gauss": _unary(lambda np, x: np.exp(-x * x)),
    "arctan": _unary(lambda np, x: np.arctan(x)),
    "logarithm": _unary(lambda np, x: np.log1p(x * x)),
    "root": _unary(lambda np, x: np.sqrt(1.2 + np.sin(x))),
    "quotient": _unary(lambda np, x: x / (1.0 + x**2)),
    "absolute": _unary(lambda np, x: np.abs(x) ** 1.5),
    "negative": _unary(lambda np, x: 0.5 - x),
    "multiply": _binary(lambda np, x, y: x * y),
    "subtract": _binary(lambda np, x, y: x - 0.7 * y),
    "divide": _binary(lambda np, x, y: x / (2.0 + np.cos(y))),
    "power": _binary(lambda np, x, y: (1.5 + np.sin(x)) ** y),
    "arctan2": _binary(lambda np, x, y: np.arctan2(x, 2.0 + y * y)),
    "hypot": _binary(lambda np, x, y: np.hypot(x + 3.0, y)),
    "logaddexp": _binary(lambda np, x, y: np.logaddexp(x, y)),
    "where": _binary(lambda np, x, y: np.where(x > y, x * y, np.sin(y))),
    "masked": _binary(lambda np, x, y: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), y)),
    "maximum": _binary(lambda np, x, y: np.maximum(np.sin(x), y)),
    "clip": _binary(lambda np, x, y: np.clip(x, -0.8, 0.9 + y * y)),
    "sum": _of(_array, lambda np, x: np.sum(x, axis=0)),
    "mean": _of(_array, lambda np, x: np.mean(x, axis=-1, keepdims=True)),
    "max": _of(_array, lambda np, x: np.max(x, axis=-1)),
    "prod": _of(_array, lambda np, x: np.prod(np.sin(x), axis=0)),
    "var": _of(_array, lambda np, x: np.var(x, axis=-1)),
    "norm": _of(_array, lambda np, x: np.linalg.norm(x + 0.1)),
    "softmax": _of(
        _array, lambda np, x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x)), axis=0)
    ),
    "matmul": _of(_inner, lambda np, x, y: np.sin(x) @ y, 2),
    "outer": _of(lambda s: all(len(x) == 1 for x in s), lambda np, x, y: np.outer(x, y), 2),
    "einsum": _of(
        lambda s: len(s[0]) == 2 and s[0] == s[1],
        lambda np, x, y: np.einsum("ij,kj->ki", x, np.tanh(y)), 2,
    ),
    "transpose": _of(_matrix, lambda np, x: x.T),
    "ravel": _of(_array, lambda np, x: np.reshape(x, (-1,))),
    "column": _of(_vector, lambda np, x: x[:, None]),
    "reverse": _of(_array, lambda np, x: x[::-1]),
    "first": _of(_array, lambda np, x: x[..., 0]),
    "tail": _of(lambda s: bool(s[0]) and s[0][0] > 1, lambda np, x: x[1:]),
    "take": _of(_array, lambda np, x: np.take(x, np.asarray([0, -1, 0]), axis=-1)),
    "diagonal": _of(_matrix, lambda np, x: np.diagonal(x)),
    "roll": _of(_array, lambda np, x: np.roll(x, 1, axis=-1) * x),
    "concatenate": _of(_joined, lambda np, x, y: np.concatenate([y, np.cos(x)]), 2),
    "stack": _of(_like, lambda np, x, y: np.stack([x, np.sin(y)], axis=-1), 2),
    "cumsum": _of(_array, lambda np, x: np.cumsum(x, axis=-1)),
    "cumprod": _of(_array, lambda np, x: np.cumprod(np.cos(x), axis=0)),
    "diff": _of(lambda s: bool(s[0]) and s[0][-1] > 1, lambda np, x: np.diff(x)),
    "sort": _of(_array, lambda np, x: np.sort(x, axis=-1)),
    "order": _of(_vector, lambda np, x: np.cos(x)[np.argsort(x)] * x),
    "solve": Operation(_solve, _matrix, 1),
    "inverse": _of(_matrix, lambda np, x: np.linalg.inv(_definite(np, x))),
    "slogdet": _of(_matrix, lambda np, x: np.linalg.slogdet(_definite(np, x))[1]),
    "cholesky": _of(_matrix, lambda np, x: np.linalg.cholesky(_definite(np, x))),
    "spectrum": Operation(_spectrum, _vector, 1),
    "filtered": Operation(_filtered, lambda s: s[0] == (3,), 1),
    "complex": Operation(_complex, _broadcastable, 2),
    "folded": Operation(_folded, _like, 2),
    "backwards": Operation(_backwards, _vector, 1),
    "chosen": Operation(_chosen, _like, 2),
    "repeated": Operation(_repeated, _like, 2),
    "nested": Operation(_nested, _vector, 1),
}  # fmt: skip
