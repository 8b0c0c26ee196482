"""A sample: an operation at a point, with asymmetric data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.types import ArrayType

GOLDEN = (np.sqrt(5) - 1) / 2

PRIMITIVE: Final = r"\[.*(?=-\d+\]$)"
"""What the samples of a primitive have in common: ``add`` of ``add-3``."""


class Sample(NamedTuple):
    """What `check_rules` is called with."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    order: int = 2


def sample(f: Callable[..., Any], *args: Any, order: int = 2) -> Sample:
    """Return a sample: `f` at the given arrays."""
    return Sample(f, args, order)


def real(*shape: int, low: float = -2.3, high: float = 2.0, start: int = 1) -> Any:
    """Return distinct numbers in no order, spread evenly between the bounds."""
    k = start + np.arange(int(np.prod(shape, dtype=int)))
    return (low + (high - low) * (k * GOLDEN % 1.0)).reshape(shape)[()]


def complex_(*shape: int, low: float = -1.3, high: float = 1.1, start: int = 1) -> Any:
    """Return distinct complex numbers in a square."""
    return real(*shape, low=low, high=high, start=start) + 1j * real(
        *shape, low=low, high=high, start=start + 17
    )


def integers(*shape: int, low: int = 1, high: int = 7, start: int = 1) -> Any:
    """Return integers in no order, ``low <= n < high``."""
    return np.floor(real(*shape, low=low, high=high, start=start)).astype(np.int64)[()]


def flags(*shape: int) -> Any:
    """Return booleans, true and false in no order."""
    return real(*shape) > 0


def body(f: Callable[..., Any], *like: Any) -> Program:
    """Return the program of a function of arrays like the given ones, which returns a tuple."""
    with Builder("body", CLOSED) as builder:
        types = [ArrayType(np.shape(x), np.asarray(x).dtype) for x in like]
        return builder.program(f(*map(builder.input, types)))
