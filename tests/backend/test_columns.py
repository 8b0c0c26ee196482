"""Kernels on columns compute what rows give, and hand out arrays whose rows are in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.code import columns
from funcdiff.backend.code.columns import turn
from funcdiff.backend.kernels import Kernel
from funcdiff.core.program import Program
from tests.backend.test_kernels import assert_computes

W = np.random.default_rng(0).normal(size=(3, 4))
STACK = np.random.default_rng(1).normal(size=(6, 3, 3))
PLACES = np.array([0, 5, 5, 2, 1, 0])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "parts of rows": lambda x: np.sin(x[:, 0:2]) * x[:, 2:3],
    "norms": lambda x: x / np.sqrt(np.sum(x * x, axis=1))[:, None],
    "softmax": lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x).sum(1)[:, None],
    "vector product": lambda x: np.cross(x, x[:, ::-1] * 2.0),
    "scaled columns": lambda x: x * np.array([1.0, 2.0, 3.0]),
    "masked": lambda x: np.where(x[:, :1] > 0.0, x, -x * x),
    "sums over rows": lambda x: np.sum(x * x[:, :1], axis=0),
    "sums over all": lambda x: np.sum(x[:, :2] * x[:, 2:]) + np.mean(x, axis=(0, 1)),
    "largest": lambda x: np.max(x, axis=1) - np.min(x, axis=0)[0],
    "largest row": lambda x: np.max(x * x[:, :1], axis=0),
    "product in front": lambda x: np.tanh(x * x[:, :1]) @ W,
    "product of rows": lambda x: (x * x[:, :1]).T @ (x @ W - 1.0),
    "product with numbers": lambda x: (x * x[:, :1]) @ W[:, 0] + np.sin(x[:, 1]),
    "stack of products": lambda x: ((x * x[:, :1])[:, None] @ STACK)[:, 0],
    "outer products": lambda x: (x[:, :, None] * x[:, None] - np.eye(3)).reshape(6, 9)[:, ::2],
    "moved axes": lambda x: np.swapaxes(x[:, :, None] * np.ones((6, 3, 2)), 1, 2),
    "joined": lambda x: np.concatenate([x[:, 1:], x[:, :1] * x, np.ones((6, 1))], axis=1),
    "joined below": lambda x: np.concatenate([x * x[:, :1], x], axis=0),
    "gathered rows": lambda x: (x * x[:, :1])[PLACES] * x[:, 1:2],
    "some rows": lambda x: (x * x[:, :1])[1:4] * x[2:5, :1],
    "turned around": lambda x: (x * x[:, :1])[::-1] - x[:, ::-1],
    "numbers": lambda x: np.cumsum(x * x[:, :1], axis=1) + np.argmax(x, axis=1)[:, None],
    "whole numbers": lambda x: (x[:, :2] > x[:, 2:]).astype(int) * np.array([1, 2]),
    "given back": lambda x: (x, x[:, :1] * x, x.T),
}


@pytest.fixture(autouse=True)
def _free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LONG", 2)
    monkeypatch.setattr(columns, "_COPY", -1.0)


def derivative(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of a sum of squares of everything that a function returns."""

    def total(x: Any) -> Any:
        return sum(np.sum(y * y * 0.5) for y in fd.pytree.flatten(f(x))[0])

    return fd.grad(total)(x)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_give_what_rows_give(name: str, dtype: type) -> None:
    f = FUNCTIONS[name]
    x: Any = np.random.default_rng(2).normal(size=(6, 3)).astype(dtype)
    for g in (f, lambda x: derivative(f, x)) if name != "whole numbers" else (f,):
        program = fd.trace(g)(x)
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            assert_computes(program, [given, *_captures(program)], limits=None)


def test_complex_numbers_lie_in_columns_too() -> None:
    x: Any = np.random.default_rng(2).normal(size=(6, 3)) * (1.0 + 0.5j)
    for name in ("parts of rows", "vector product", "product of rows", "joined", "moved axes"):
        program = fd.trace(FUNCTIONS[name])(x)
        assert_computes(program, [x, *_captures(program)], limits=None)


def _captures(program: Program) -> list[Any]:
    """Return arrays for what a function captured: any of these types."""
    types = program.input_types[1:]
    return [np.arange(t.size).reshape(t.shape).astype(t.dtype) % 5 for t in types]


def test_results_have_their_rows_in_order_and_are_nobody_elses_memory() -> None:
    x = np.random.default_rng(2).normal(size=(6, 3))
    program = fd.trace(lambda x: (x[:, :2] * x[:, 2:], x[:, :1] * x))(x)
    assert str(turn(program)) != str(program)
    kernel = Kernel(program, None)
    first, kept = kernel(x), kernel(x)
    for y, z in zip(first, kept, strict=True):
        assert y.flags.c_contiguous
        assert not np.shares_memory(y, z)
        assert not np.shares_memory(y, x)


def test_short_rows_beside_numbers_are_turned_around_and_long_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()

    def scaled(x: Any) -> Any:
        for _ in range(8):
            x = np.sin(x[:, :1]) * x
        return x

    for shape, turned in (((5000, 3), True), ((5000, 1000), False), ((20, 3), False)):
        program = fd.trace(scaled)(np.ones(shape))
        assert (str(turn(program)) != str(program)) is turned
