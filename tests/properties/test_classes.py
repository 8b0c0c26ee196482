"""Random programs of NumPy: at every step, what asks for a class decides as without a trace.

Both run at once, the program on plain values and the same on traced ones; after each step Python is
asked the same questions about both results.
"""

from __future__ import annotations

import copy
import functools
import numbers
from collections import abc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from tests.properties.laws import examples

Step = tuple[str, Callable[[Any], Any]]


def _steps(source: str) -> list[Step]:
    lines = [line.strip() for line in source.splitlines() if line.strip()]
    return [(line, eval(f"lambda x: {line}", {"np": np, "copy": copy, "fd": fd})) for line in lines]


STEPS = _steps("""
    np.sin(x)
    x + 1
    2.0 * x
    -x
    x ** 2
    x ** 0
    x > 0.1
    abs(x)
    np.sum(x)
    np.sum(x, axis=0)
    np.sum(x, keepdims=True)
    np.mean(x)
    np.max(x)
    np.std(x)
    np.median(x)
    np.argmax(x)
    x.sum()
    x[0]
    x[-1]
    x[..., 0]
    x[0, ...]
    x[None]
    x[()]
    x[...]
    x[:1]
    x.flat[0]
    np.reshape(x, (-1,))
    np.reshape(x, ())
    x.reshape(1)
    x.T
    np.transpose(x)
    np.squeeze(x)
    np.atleast_1d(x)
    np.ravel(x)
    np.expand_dims(x, 0)
    np.broadcast_to(x, np.shape(x))
    np.where(x > 0.2, x, 0.5)
    np.select([x > 0.2], [x], 0.5)
    np.clip(x, 0.1, 0.9)
    np.round(x)
    np.nan_to_num(x)
    np.real(np.add(x, 0))
    np.conj(x)
    np.zeros_like(x)
    np.full_like(x, 2.0)
    np.copy(x)
    copy.copy(x)
    copy.deepcopy(x)
    x.copy()
    x.astype(np.float32)
    x.astype(float, copy=False)
    np.take(x, 0)
    np.flip(x)
    np.roll(x, 1)
    np.dot(x, 2.0)
    np.einsum("...->", x)
    np.tensordot(x, x, 0)
    np.interp(x, [0.0, 1.0], [0.0, 2.0])
    np.linalg.norm(np.atleast_1d(x))
    np.stack([x, x])
    np.add.reduce(x)
    np.isfinite(x)
    fd.stop_gradient(x)
""")
INPUTS: list[Any] = [
    0.3,
    np.float64(0.4),
    np.float32(0.4),
    np.array(0.6),
    np.array(0.6, np.float32),
    np.array([0.7]),
    np.linspace(0.1, 0.8, 3),
    np.linspace(0.1, 0.8, 6).reshape(3, 2),
    np.linspace(0.1, 0.8, 4, dtype=np.float32).reshape(1, 2, 2),
    np.zeros((2, 0)),
]
CLASSES: list[Any] = [
    np.ndarray, np.generic, np.number, np.floating, np.integer, np.float64, np.float32, np.bool_,
    np.complexfloating, float, int, complex, bool, numbers.Number, numbers.Real, numbers.Integral,
    abc.Hashable, abc.Iterable, abc.Sized, abc.Container, abc.Collection, abc.Sequence,
    abc.MutableSequence, abc.Mapping, abc.Callable, (float, np.floating), list, str,
]  # fmt: skip


@functools.singledispatch
def dispatched(x: Any) -> str:
    """Name the class that Python dispatches to."""
    return "another"


for _kind in (np.ndarray, np.generic, float, bool):
    dispatched.register(_kind)(lambda x, name=_kind.__name__: name)


def matched(x: Any) -> str:
    match x:
        case float():
            return "a float"
        case np.ndarray(shape=(n,)):
            return f"a vector of {n}"
        case np.ndarray():
            return "an array"
        case np.bool_() | bool():
            return "a boolean"
        case [_, *_]:
            return "a sequence"
        case _:
            return "another"


def answers(x: Any) -> list[Any]:
    """Ask what programs ask about the class of a value."""
    return [
        *(isinstance(x, kind) for kind in CLASSES),
        x.__class__,
        dispatched(x),
        matched(x),
        np.isscalar(x),
        np.iterable(x),
        callable(x),
        np.shape(x),
        hasattr(x, "__len__"),
        hasattr(x, "is_integer"),
        None if is_number(x) else (x.shape, x.dtype),
    ]


def is_number(x: Any) -> bool:
    """Whether a value is a Python number; a traced one has an array's attributes beside."""
    return isinstance(x, float | bool) and not isinstance(x, np.generic)


def asked(steps: list[Step], x: Any, seen: list[Any]) -> Any:
    """Run a program, asking after each step; a step that raises is left out."""
    seen.append(answers(x))
    for name, step in steps:
        if is_number(x) and name.startswith(("x.", "x[", "x >")):
            continue
        try:
            y = step(x)
        except (IndexError, ValueError, AttributeError, TypeError) as error:
            seen.append((name, isinstance(error, TypeError)))
            continue
        x = y
        seen.append((name, answers(x)))
    return x


def require_same_answers(steps: list[Step], x: Any) -> None:
    plain: list[Any] = []
    with np.errstate(all="ignore"):
        asked(steps, copy.deepcopy(x), plain)
    for transform in (
        lambda f: fd.vjp(f, x),
        lambda f: fd.jvp(f, (x,), (x,)),
        lambda f: fd.vjp(lambda y: (fd.jvp(f, (y,), (y,)), y)[1], x),
        lambda f: fd.jit(f)(x),
        lambda f: fd.checkpoint(f)(x),
    ):
        traced: list[Any] = []
        transform(lambda y, seen=traced: (asked(steps, y, seen), y * 1.0)[1])
        assert traced == plain


some_steps = st.lists(st.sampled_from(STEPS), min_size=1, max_size=4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@examples(15, 140)
@given(some_steps, st.sampled_from(INPUTS))
def test_a_traced_value_answers_as_what_it_stands_for(steps: list[Step], x: Any) -> None:
    require_same_answers(steps, x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", INPUTS[:7], ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
def test_every_step_alone_gives_the_class_that_numpys_gives(x: Any) -> None:
    for step in STEPS:
        require_same_answers([step], x)
