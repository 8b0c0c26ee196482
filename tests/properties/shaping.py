"""Random NumPy functions of small arrays that broadcast, reduce and reshape in every way.

Axes have a length of 0 to 3, and arrays up to four of them.  A function is drawn as text, step by
step, together with what NumPy computes, which says what the next step may be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
TWOFOLD: Final = (
    "{x} + {y}", "{x} * {y}", "{x} - {y}", "np.broadcast_arrays({x}, {y})[0]",
    "np.broadcast_arrays({x}, {y})[1] * 2", "np.where(np.real({x}) > 0.1, {x}, {y})",
    "{x} / (2.0 + {y} * np.conj({y}))", "np.maximum(np.real({x}), np.real({y}))",
    "np.multiply.outer({x}, {y})", "{x} @ {y}", "np.concatenate([{x}, {y}])",
)  # fmt: skip
LENGTHS: Final = st.sampled_from((1, 2, 3, 1, 2, 1, 0))
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
        Of the values that follow, the last of which is returned.
    """

    count: int
    formulas: tuple[str, ...]
    function: Callable[..., Any] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[str, Any] = {"np": np}
        exec(repr(self), names)
        object.__setattr__(self, "function", names["f"])

    def __call__(self, *xs: Any) -> Any:
        """Return the last value."""
        return self.function(*xs)

    def __repr__(self) -> str:
        """Return the function as source code."""
        lines = [f"def f({', '.join(f'v{k}' for k in range(self.count))}):"]
        lines += [f"    v{k} = {text}" for k, text in enumerate(self.formulas, self.count)]
        return "\n".join([*lines, f"    return v{self.count + len(self.formulas) - 1}"])


@st.composite
def shapings(draw: st.DrawFn, max_steps: int = 7) -> tuple[Shaping, tuple[Any, ...]]:
    """Draw a function and its arguments, of any floating or complex dtypes."""
    count = draw(st.integers(1, 2))
    shapes = st.lists(LENGTHS, max_size=3).map(tuple)
    xs = tuple(
        draw(strategies.arrays(draw(shapes), draw(strategies.dtypes()))) for _ in range(count)
    )
    values, formulas = list(xs), list[str]()
    for _ in range(draw(st.integers(1, max_steps))):
        text = draw(_step(values))
        value = _computed(text, values)
        if value is not None:
            values.append(value)
            formulas.append(text)
    return Shaping(count, tuple(formulas) or ("v0 * 1.0",)), xs


def _computed(text: str, values: list[Any]) -> Any:
    """Return what NumPy computes, or None if it is nothing to go on with."""
    names = {f"v{k}": value for k, value in enumerate(values)}
    try:
        with np.errstate(all="raise"):
            y = np.asarray(eval(text, {"np": np}, names))
    except (ValueError, IndexError, ArithmeticError, TypeError):
        return None
    return y if y.size <= LARGEST and y.ndim <= MOST and np.all(np.abs(y) < 1e3) else None


@st.composite
def _step(draw: st.DrawFn, values: list[Any]) -> str:
    """Draw the formula of a value from the last one, which may not be possible."""
    x, shape = f"v{len(values) - 1}", np.shape(values[-1])
    kind = draw(st.sampled_from("eettbbbrrrrcmm"))
    if kind == "e":
        return draw(st.sampled_from(ELEMENTWISE)).format(x=x)
    if kind == "t":
        pair = draw(st.permutations([x, f"v{draw(st.integers(0, len(values) - 1))}"]))
        return draw(st.sampled_from(TWOFOLD)).format(x=pair[0], y=pair[1])
    if kind == "b":
        front = draw(st.lists(LENGTHS, max_size=2))
        lengths = [draw(LENGTHS) if n == 1 else n for n in shape]
        return f"np.broadcast_to({x}, {(*front, *lengths)})"
    if kind == "r":
        return draw(_reduction(x, shape))
    if kind == "c":
        word = draw(st.sampled_from(RUNNING))
        axis = draw(st.integers(0, len(shape) - 1)) if shape else None
        return f"np.{word}({_ordered(word, x)}, axis={axis})"
    return draw(_rearrangement(x, shape))


@st.composite
def _reduction(draw: st.DrawFn, x: str, shape: tuple[int, ...]) -> str:
    axes = draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))]
    axis = None if not axes else axes[0] if len(axes) == 1 else tuple(axes)
    word = draw(st.sampled_from(REDUCTIONS if 0 not in shape else ("sum", "prod")))
    return f"np.{word}({_ordered(word, x)}, axis={axis}, keepdims={draw(st.booleans())})"


def _ordered(word: str, x: str) -> str:
    """Return what a function is to be applied to: of complex numbers there is no order."""
    return f"np.real({x})" if word in ("max", "min", "sort") else x


@st.composite
def _rearrangement(draw: st.DrawFn, x: str, shape: tuple[int, ...]) -> str:
    order = tuple(draw(st.permutations(range(len(shape)))))
    return draw(
        st.sampled_from(
            (
                f"np.transpose({x}, {order})",
                f"{x}.reshape({(*(shape[k] for k in order), 1)})",
                f"np.expand_dims({x}, {draw(st.integers(0, len(shape)))})",
                f"np.squeeze({x})",
                f"{x}[..., ::-1]",
                f"{x}[..., :1]",
                f"{x}[None]",
                f"np.atleast_2d({x})",
            )
        )
    )
