"""Random NumPy functions of small arrays that broadcast, reduce and reshape in every way.

Axes have a length of 0 to 3, and arrays up to four of them.  A function is drawn as text, step by
step, together with what NumPy computes, which says what the next step may be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from funcdiff.testing import strategies

LARGEST: Final = 72
"""Elements of a value."""
MOST: Final = 4
"""Axes of a value."""

ELEMENTWISE: Final = (
    "np.sin({x})", "np.tanh({x})", "np.exp(-np.abs({x}))", "np.abs({x})", "-{x}", "2.0 * {x}",
    "{x} * {x}", "np.conj({x})", "np.real({x})", "1.0 / ({x} * np.conj({x}) + 1.5)",
    "np.where(np.real({x}) > 0.1, {x}, 0.5)", "np.square({x} - 1)",
    "np.real({x}).astype(np.float32)",
)  # fmt: skip
# the last bits of a product of complex vectors depend on how NumPy finds them in memory
TWOFOLD: Final = (
    "{x} + {y}", "{x} * {y}", "{x} - {y}", "np.broadcast_arrays({x}, {y})[0]",
    "np.broadcast_arrays({x}, {y})[1] * 2", "np.where(np.real({x}) > 0.1, {x}, {y})",
    "{x} / (2.0 + {y} * np.conj({y}))", "np.maximum(np.real({x}), np.real({y}))",
    "np.multiply.outer(np.real({x}), np.real({y}))", "{x} @ {y}",
    "np.concatenate([{x}, {y}])",
)  # fmt: skip
LENGTHS: Final = (1, 2, 1, 3, 1, 2, 1, 2, 1, 3, 1, 0)
FRONTS: Final = ((1,), (1,), (1, 1), (), (2,), (1, 3), (3, 1), (0,))
"""Of axes that a broadcast adds in front."""
KINDS: Final = ("be", "ber", "bec", "bt", "mer", "r", "e", "t", "m")
"""Of steps that follow one another."""
REDUCTIONS: Final = ("sum", "mean", "max", "min", "prod", "var")
RUNNING: Final = ("cumsum", "cumprod", "sort")


@dataclass(frozen=True)
class Shaping:
    """A random function; its repr is its code.

    Attributes
    ----------
    count
        How many arguments it takes: ``v0``, ``v1`` and on.
    formulas
        Of the values that follow.  It returns a list of all but those that are mere broadcasts,
        for which an array would have to be made then.
    """

    count: int
    formulas: tuple[str, ...]
    function: Callable[..., list[Any]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[str, Any] = {"np": np}
        exec(repr(self), names)
        object.__setattr__(self, "function", names["f"])

    def __call__(self, *xs: Any) -> list[Any]:
        """Return the values."""
        return self.function(*xs)

    def __repr__(self) -> str:
        """Return the function as source code."""
        numbered = list(enumerate(self.formulas, self.count))
        results = ", ".join(f"v{k}" for k, text in numbered if "broadcast" not in text)
        lines = [f"def f({', '.join(f'v{k}' for k in range(self.count))}):"]
        lines += [f"    v{k} = {text}" for k, text in numbered]
        return "\n".join([*lines, f"    return [{results}]"])


@st.composite
def shapings(draw: st.DrawFn) -> tuple[Shaping, tuple[Any, ...]]:
    """Draw a function and its arguments, of any floating or complex dtypes.

    The choices are those of one random number, as evenly spread ones find more; fewer steps are
    the beginning of more.
    """
    random = Random(draw(st.integers(0, (1 << 32) - 1)))
    count = random.choice((1, 1, 2))
    shapes = [tuple(random.choices(LENGTHS, k=random.randint(0, 2))) for _ in range(count)]
    kinds = [random.choice(("f8", "f8", "f4", "c16", "c8")) for _ in range(count)]
    xs = tuple(draw(strategies.arrays(*pair)) for pair in zip(shapes, kinds, strict=True))
    values, formulas = list(xs), list[str]()
    for kind in "".join(random.choices(KINDS, k=draw(st.integers(2, 6)))):
        text = _step(random, kind, values)
        value = _computed(text, values)
        if value is not None:
            values.append(value)
            formulas.append(text)
    return Shaping(count, (*formulas, f"v{len(values) - 1} * 1.0")), xs


def _computed(text: str, values: list[Any]) -> Any:
    """Return what NumPy computes, or None if it is nothing to go on with."""
    names = {f"v{k}": value for k, value in enumerate(values)}
    try:
        with np.errstate(all="raise"):
            y = np.asarray(eval(text, {"np": np}, names))
    except (ValueError, IndexError, ArithmeticError, TypeError):
        return None
    return y if y.size <= LARGEST and y.ndim <= MOST and np.all(np.abs(y) < 1e3) else None


def _step(random: Random, kind: str, values: list[Any]) -> str:
    """Return the formula of a value from the last one, which may not be possible."""
    x, shape = f"v{len(values) - 1}", np.shape(values[-1])
    if kind == "e":
        return random.choice(ELEMENTWISE).format(x=x)
    if kind == "t":
        pair = random.sample([x, f"v{random.randrange(len(values))}"], 2)
        return random.choice(TWOFOLD).format(x=pair[0], y=pair[1])
    if kind == "b":
        front = random.choice(FRONTS)
        lengths = [random.choice(LENGTHS) if n == 1 else n for n in shape]
        return f"np.broadcast_to({x}, {(*front, *lengths)})"
    if kind == "r":
        return _reduction(random, x, shape)
    if kind == "c":
        word = random.choice(RUNNING)
        axis = random.randrange(len(shape)) if shape else None
        return f"np.{word}({_ordered(word, x)}, axis={axis})"
    return _rearrangement(random, x, shape)


def _reduction(random: Random, x: str, shape: tuple[int, ...]) -> str:
    axes = random.sample(range(len(shape)), random.randint(min(1, len(shape)), len(shape)))
    axis = None if not axes else axes[0] if len(axes) == 1 else tuple(axes)
    word = random.choice(REDUCTIONS if 0 not in shape else ("sum", "prod"))
    return f"np.{word}({_ordered(word, x)}, axis={axis}, keepdims={random.random() < 0.4})"


def _ordered(word: str, x: str) -> str:
    """Return what a function is to be applied to: of complex numbers there is no order."""
    return f"np.real({x})" if word in ("max", "min", "sort") else x


def _rearrangement(random: Random, x: str, shape: tuple[int, ...]) -> str:
    order = tuple(random.sample(range(len(shape)), len(shape)))
    return random.choice(
        (
            f"np.transpose({x}, {order})",
            f"{x}.reshape({(*(shape[k] for k in order), 1)})",
            f"np.expand_dims({x}, {random.randint(0, len(shape))})",
            f"np.squeeze({x})",
            f"{x}[..., ::-1]",
            f"{x}[..., :1]",
            f"{x}[None]",
            f"np.atleast_2d({x})",
        )
    )
