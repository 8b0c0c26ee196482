"""Every kind of index that NumPy knows, valid and not, in every type that it may come in."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st


class Integer:
    """Something with an `__index__` that is no int."""

    def __init__(self, value: Any) -> None:
        self.value = int(value)

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Integer({self.value})"


class Series:
    """Something like a column of a table: no sequence for NumPy, but `__array__`."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.values, dtype)

    def __repr__(self) -> str:
        return f"Series({self.values!r})"


class Sequence:
    """Something with a length and elements."""

    def __init__(self, values: Any) -> None:
        self.values = list(values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> Any:
        return self.values[place]

    def __repr__(self) -> str:
        return f"Sequence({self.values})"


def nested_tuples(values: Any) -> Any:
    """Return nested lists as nested tuples."""
    return tuple(map(nested_tuples, values)) if isinstance(values, list) else values


NUMBERS: Final[tuple[Callable[[int], Any], ...]] = (int, np.int64, np.int32, np.array, Integer)
ARRAYS: Final[tuple[Callable[[Any], Any], ...]] = (
    np.asarray,
    lambda a: a.astype("i1"),
    lambda a: a % 7 if a.dtype == bool else np.asfortranarray(a),
    lambda a: a.tolist(),
    lambda a: nested_tuples(a.tolist()),
    lambda a: [np.asarray(row) for row in a],
    lambda a: deque(a.tolist()),
    Series,
    lambda a: Sequence(a.tolist()),
    lambda a: Series(a.tolist()),
)
OTHERS: Final[tuple[Any, ...]] = (
    1.0, np.float64(0.0), 1j, "0", b"0", {0}, {0: 1}, object(), [0.0], [[0], [0, 1]],
    np.zeros(1), np.array(["0"]), array("q", [0]), bytearray(b"\0"), memoryview(bytearray(b"\0")),
    slice(None, None, 0), [], (), ((),), np.array([]), np.zeros((0, 2), bool),
    np.array([0], object), [True, 0], range(0), (...,), [slice(None)],
)  # fmt: skip
"""Items of which most are no index at all: NumPy's own answer is what counts."""


@st.composite
def items(draw: st.DrawFn, n: int, length: int) -> Any:
    """Draw an item about an axis of length `n`; most arrays are of one length."""
    position = st.integers(-n, max(n - 1, 0))
    kind = draw(st.sampled_from(("number", "array", "array", "mask", "slice", "range", "new")))
    if kind == "number":
        return draw(st.sampled_from(NUMBERS))(draw(position))
    if kind == "array":
        shape = draw(st.sampled_from(((length,), (1,), (2, length), (length, 1), ())))
        size = int(np.prod(shape, dtype=int))
        values = draw(st.lists(position, min_size=size, max_size=size))
        a = np.array(values, dtype=int).reshape(shape)
        return draw(st.sampled_from(ARRAYS if shape else ARRAYS[:3]))(a)
    if kind == "mask":
        a = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
        return draw(st.sampled_from((*ARRAYS[:1], *ARRAYS[3:])))(a)
    if kind == "slice":
        part = draw(st.slices(n))
        make = draw(st.sampled_from(NUMBERS))
        return slice(*(None if p is None else make(p) for p in (part.start, part.stop, part.step)))
    if kind == "range":
        return range(min(n, length))
    return draw(st.sampled_from((None, True, False, np.True_, np.array(False))))


@st.composite
def any_index(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw an index of an array, which now and then is none, or does not fit."""
    length = draw(st.integers(0, 3))
    count = draw(st.integers(0, len(shape)))
    found = [draw(items(n, length)) for n in shape[:count]]
    if draw(st.integers(0, 5)) == 0:
        found.insert(draw(st.integers(0, len(found))), ...)
    if draw(st.integers(0, 7)) == 0:
        other = OTHERS[draw(st.integers(0, len(OTHERS) - 1))]
        found.insert(draw(st.integers(0, len(found))), other)
    if draw(st.integers(0, 15)) == 0:
        found.append(draw(items(2, length)))
    if shape and draw(st.integers(0, 7)) == 0:
        masked = shape[: draw(st.integers(1, len(shape)))]
        size = int(np.prod(masked, dtype=int))
        values = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        found = [draw(st.sampled_from(ARRAYS))(np.array(values, bool).reshape(masked))]
    return found[0] if len(found) == 1 and draw(st.booleans()) else tuple(found)
