"""A call pattern: one way to call one NumPy function, as data.

The function takes the namespace first, so that the same line runs on NumPy, on traced arrays and
on a peer's NumPy.  Arguments say how they are made and of what shape, so that a benchmark can make
larger ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from tests.rules import sample

Function = Callable[..., Any]

FUNCTION: Final = r": [\w.]*"
"""What the patterns of a function have in common: ``sum`` of ``reductions: sum(axis=0)``."""


@dataclass(frozen=True)
class Argument:
    """An argument of a pattern.

    Attributes
    ----------
    make
        ``make(*shape, start=k)``: distinct numbers in no order, others for another `start`.
    shape
        At the size of the tests.
    """

    make: Callable[..., Any]
    shape: tuple[int, ...]

    def value(self, start: int = 1) -> Any:
        """Return the array."""
        return self.make(*self.shape, start=start)

    def enlarged(self, factor: int) -> Argument:
        """Return the argument with every axis longer than one `factor` times as long."""
        return replace(self, shape=tuple(n * factor if n > 1 else n for n in self.shape))


@dataclass(frozen=True)
class Pattern:
    """One way to call one function.

    Attributes
    ----------
    name
        The call as one would write it: ``sum(axis=0, keepdims=True)``.
    function
        ``function(np, *args)``.
    arguments
        Floating and complex ones are differentiated, integers and booleans are not.
    order
        Up to which derivative it is checked.
    exact
        Whether traced values are NumPy's bit for bit; contractions are so to rounding.
    batched
        Whether it can be batched; not if the shape of its result depends on values.
    large
        Arguments of a realistic size for the benchmark of costs, if not the enlarged ones; an
        empty tuple if there is no larger form.
    torch
        The same in PyTorch, ``torch(torch, *args)``, where JAX does not have the function.
    wrong
        Peers known to be wrong here, and how: their values are not frozen.
    """

    name: str
    function: Function
    arguments: tuple[Argument, ...]
    order: int = 2
    exact: bool = True
    batched: bool = True
    large: tuple[Argument, ...] | None = None
    torch: Function | None = None
    wrong: str = ""

    def values(self) -> list[Any]:
        """Return the arguments."""
        return [a.value(start=1 + 31 * k) for k, a in enumerate(self.arguments)]

    def large_values(self, size: int) -> list[Any]:
        """Return arguments of which the largest has about `size` elements."""
        arguments = self.large
        if arguments:
            arguments = _scaled(arguments, size / SIZE)
        elif arguments is None:
            largest = max(self.arguments, key=lambda a: np.prod(a.shape, dtype=int))
            axes = max(1, sum(n > 1 for n in largest.shape))
            factor = (size / np.prod(largest.shape, dtype=int)) ** (1 / axes)
            arguments = tuple(a.enlarged(max(1, round(factor))) for a in self.arguments)
        return [a.value(start=1 + 31 * k) for k, a in enumerate(arguments)]


def _scaled(arguments: tuple[Argument, ...], scale: float) -> tuple[Argument, ...]:
    """Return arguments of which the largest has `scale` times as many elements, in long axes."""
    largest = max((a.shape for a in arguments), key=math.prod)
    factor = scale ** (1 / max(1, sum(n >= LONG for n in largest)))
    return tuple(
        replace(a, shape=tuple(round(n * factor) if n >= LONG else n for n in a.shape))
        for a in arguments
    )


def pattern(name: str, function: Function, *arguments: Argument, **options: Any) -> Pattern:
    """Return a pattern."""
    return Pattern(name, function, arguments, **options)


# ---- arguments ---------------------------------------------------------------------------------


def real(*shape: int, low: float = -2.3, high: float = 2.0) -> Argument:
    """Numbers between the bounds."""

    def make(*shape: int, start: int) -> Any:
        return sample.real(*shape, low=low, high=high, start=start)

    return Argument(make, shape)


def positive(*shape: int) -> Argument:
    """Numbers between 0.3 and 2.5."""
    return real(*shape, low=0.3, high=2.5)


def complex_(*shape: int) -> Argument:
    """Complex numbers in a square around zero."""
    return Argument(sample.complex_, shape)


def integers(*shape: int, low: int = 0, high: int = 3) -> Argument:
    """Integers, ``low <= n < high``."""

    def make(*shape: int, start: int) -> Any:
        return sample.integers(*shape, low=low, high=high, start=start)

    return Argument(make, shape)


def flags(*shape: int) -> Argument:
    """Booleans."""

    def make(*shape: int, start: int) -> Any:
        return sample.real(*shape, start=start) > 0

    return Argument(make, shape)


def ascending(*shape: int) -> Argument:
    """Numbers that increase along the last axis."""

    def make(*shape: int, start: int) -> Any:
        return np.cumsum(sample.real(*shape, low=0.2, high=1.1, start=start), axis=-1)

    return Argument(make, shape)


def matrix(*shape: int) -> Argument:
    """Matrices, well conditioned and without symmetry, in the last two axes."""

    def make(*shape: int, start: int) -> Any:
        rows, columns = shape[-2:]
        noise = sample.real(*shape, low=-1.0, high=1.0, start=start)
        return noise / np.sqrt(columns) + (1.0 + np.arange(columns) % 7) * np.eye(rows, columns)

    return Argument(make, shape)


def symmetric(*shape: int) -> Argument:
    """Symmetric positive definite matrices with distinct eigenvalues."""

    def make(*shape: int, start: int) -> Any:
        n = shape[-1]
        noise = sample.real(*shape, low=-0.3, high=0.3, start=start) / np.sqrt(n)
        return noise + np.swapaxes(noise, -1, -2) + np.diag(1.5 + np.arange(n) / max(1, n / 5))

    return Argument(make, shape)


# ---- results -------------------------------------------------------------------------------------

LONG: Final = 100
"""Elements from which on an axis grows with the size of the benchmark."""

SIZE: Final = 100_000
"""Elements of the largest argument in the benchmark of costs."""


def weights(results: Sequence[Any]) -> list[Any]:
    """Return a cotangent for every result, the same for us and for peers."""
    made = []
    for k, y in enumerate(results):
        kind = np.asarray(y).dtype.kind
        make: Callable[..., Any] = sample.complex_ if kind == "c" else sample.real
        made.append(np.asarray(make(*np.shape(y), start=101 + 13 * k)))
    return made


def directions(values: Sequence[Any]) -> list[Any]:
    """Return a tangent for every differentiated argument, the same for us and for peers."""
    return [w / 2 for w in weights(values)]


def smooth(values: Sequence[Any]) -> list[int]:
    """Return which of the arrays are floating or complex."""
    return [k for k, x in enumerate(values) if np.asarray(x).dtype.kind in "fc"]
