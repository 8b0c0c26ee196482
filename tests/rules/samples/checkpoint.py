"""Samples of checkpoints and taps: with values that are kept and without, linear ones too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.core.program import Program
from funcdiff.ops.control.checkpoint import Tap, checkpoint, tap
from tests.rules.sample import Sample, body, complex_, integers, real, sample

W, X, Y = real(3, 2), real(2, start=5), real(3, start=9)


def _checkpoint(program: Program, *keep: str) -> Callable[..., Any]:
    def f(*xs: Any) -> Sequence[Any]:
        return checkpoint(program, xs, keep)

    return f


def _layers(w: Any, x: Any, y: Any) -> Any:
    """Compute two results of several taps; `y` is tapped itself, and not needed for one."""
    inner: Any = tap(np.sin(w @ x), Tap("inner", 0))
    outer: Any = tap(np.exp(inner * tap(y, Tap("outer", 0))), Tap("outer", 1))
    return outer * inner, np.cumsum(x * x)


def _linear(w: Any, x: Any, y: Any) -> Any:
    return w @ x - np.sin(y)[0] * x[0], x[::-1]


def _counting(n: Any, x: Any) -> Any:
    return n + 1, np.cos(x) * x


LAYERS, LINEAR = body(_layers, W, X, Y), body(_linear, W, X, Y)

SAMPLES: dict[str, list[Sample]] = {
    "checkpoint": [
        sample(_checkpoint(LAYERS), W, X, Y),
        sample(_checkpoint(LAYERS, "outer"), W, X, Y),
        sample(_checkpoint(LAYERS, "outer", "inner"), W, X, Y),
        sample(_checkpoint(LINEAR), W, X, Y),
        sample(_checkpoint(body(_layers, W * 1j, X * 1j, Y), "inner"),
               complex_(3, 2), complex_(2, start=5), Y, order=1),
        sample(_checkpoint(body(_counting, integers(3), Y)), integers(3), Y),
    ],
    "tap": [
        sample(lambda x: tap(x, Tap("x", 0)), X),
        sample(lambda x: tap(x, Tap("x", 1)), complex_(3)),
        sample(lambda n: tap(n, Tap("n", 0)), integers(3)),
    ],
}  # fmt: skip
