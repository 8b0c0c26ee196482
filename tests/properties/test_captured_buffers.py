"""Random programs that overwrite what they close over: each use counts with its value of then.

Whatever the buffer's size and layout, and whatever it is written through, the derivative is that
of plain NumPy, or, of large buffers, an error.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.errors import ChangedArrayError
from tests.properties.laws import examples

COPIED: Final = 1 << 17
"""Doubles up to which a buffer is copied, and its writes do no harm."""

SIZES: Final = (0, 1, 2, 3, 50, 2047, 2048, 2049, 5000, COPIED, COPIED + 1, COPIED + 4097)

LAYOUTS: Final[dict[str, Callable[[Any], Any]]] = {
    "itself": lambda b: b,
    "a view": lambda b: b[:],
    "reversed": lambda b: b[::-1],
    "a row": lambda b: b[None],
    "a column": lambda b: b[:, None],
    "a part": lambda b: b[: len(b) // 2 + 1],
    "every other": lambda b: b[::2],
    "as int and back": lambda b: b.view("i8").view("f8"),
    "repeated": lambda b: np.broadcast_to(b, (2, *b.shape)),
}

Write = Callable[[Any, float], Any]


def by_address(b: Any, value: float) -> None:
    if b.size:
        (ctypes.c_double * b.size).from_address(b.ctypes.data)[0] = value


def by_memoryview(b: Any, value: float) -> None:
    if b.size:
        memory: Any = memoryview(b)
        memory[b.size // 2] = value


def by_pointer(b: Any, value: float) -> None:
    if b.size:
        b.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[b.size - 1] = value


def in_a_thread(b: Any, value: float) -> None:
    failures = []

    def write() -> None:
        try:
            b[:] = value
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert not failures


WRITES: Final[dict[str, Write]] = {
    "nothing": lambda b, value: None,
    "all": lambda b, value: b.fill(value),
    "one": lambda b, value: b.__setitem__(slice(0, 1), value),
    "the last": lambda b, value: b.__setitem__(slice(-1, None), value),
    "a ufunc": lambda b, value: np.add(b, value, out=b),
    "signs": lambda b, value: np.negative(b, out=b),
    "copyto": lambda b, value: np.copyto(b, value),
    "a view's view": lambda b, value: b[::-1][: len(b) // 3].fill(value),
    "bytes": lambda b, value: b.view("u1").fill(int(value)),
    "memoryview": by_memoryview,
    "address": by_address,
    "pointer": by_pointer,
    "a thread": in_a_thread,
}


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, list[tuple[str, str, float]]]:
    """Draw the size of a buffer, and what is done with it: a write, then a use."""
    steps = st.tuples(
        st.sampled_from(sorted(WRITES)),
        st.sampled_from(sorted(LAYOUTS)),
        st.integers(0, 3).map(float),
    )
    return draw(st.sampled_from(SIZES)), draw(st.lists(steps, min_size=1, max_size=4))


def require(size: int, steps: list[tuple[str, str, float]], last: str, calls: int) -> None:
    """Compare derivatives with the function itself, which is linear."""
    buffer = np.zeros(size)
    before = buffer[:]  # a view that was there first

    def f(x: Any) -> Any:
        buffer[:] = np.arange(size)
        total = 0.0 * x
        for write, layout, value in steps:
            WRITES[write](before, value)
            used = x * LAYOUTS[layout](buffer)
            total = total + np.sum(used[..., -1:]) + np.sum(used[..., :1])
        WRITES[last](before, 9.0)
        return total

    transforms: list[Callable[[], Any]] = [
        lambda: fd.grad(f)(1.0),
        lambda: fd.jvp(f, (1.0,), (1.0,))[1],
        lambda: fd.vjp(f, 1.0)[1](1.0)[0],
        lambda: fd.grad(lambda y: fd.grad(lambda x: f(x) * x)(y))(1.0) / 2,
        lambda: fd.vmap(f)(np.ones(2))[1],
        lambda: fd.linear_transpose(f, 1.0)(1.0)[0],
    ]
    expected = f(1.0)
    for transform in transforms:
        for _ in range(calls if transform is transforms[0] else 1):
            try:
                found = transform()
            except ChangedArrayError:
                assert max(LAYOUTS[layout](buffer).size for _, layout, _ in steps) > COPIED
                continue
            np.testing.assert_allclose(found, expected, rtol=1e-14)  # sums in another order


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2)
@given(programs(), st.sampled_from(sorted(WRITES)))
@example((5000, [("nothing", "itself", 0.0), ("all", "itself", 7.0)]), "nothing")
@example((COPIED + 1, [("nothing", "itself", 0.0), ("all", "itself", 7.0)]), "all")
@example((COPIED + 1, [("nothing", "a view", 0.0)]), "address")
def test_a_random_buffer_counts_with_the_values_it_had(
    program: tuple[int, list[tuple[str, str, float]]], last: str
) -> None:
    require(*program, last, calls=1)


@examples(1, 125)
@given(programs(), st.sampled_from(sorted(WRITES)))
def test_so_it_does_in_every_further_call(
    program: tuple[int, list[tuple[str, str, float]]], last: str
) -> None:
    require(*program, last, calls=9)
