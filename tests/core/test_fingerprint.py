"""Fingerprints see changes of any kind, at any place, in arrays of any layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from funcdiff.core.recording.snapshot import full_fingerprint, memory, sparse_fingerprint
from tests.together import together

SIZES = (0, 1, 2, 3, 1023, 1024, 1 << 14, (1 << 14) + 1, 100_003)

CHANGES: dict[str, Callable[[Any], Any]] = {
    "one bit": lambda v: np.nextafter(v[len(v) // 2], np.inf, out=v[len(v) // 2 :][:1]),
    "signs": lambda v: np.negative(v, out=v),
    "a factor": lambda v: np.multiply(v, 2, out=v),
    "a rotation": lambda v: v.__setitem__(slice(None), np.roll(v, 1 << 14)),
    "a rotation by a row": lambda v: v.__setitem__(slice(None), np.roll(v, 1 << 10)),
    "a swap": lambda v: v.__setitem__([0, 1 << 10], v[[1 << 10, 0]]),
    "the last": lambda v: v.__setitem__(-1, 0.5),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_seen(change: Callable[[Any], Any]) -> None:
    for array in (np.random.default_rng(0).normal(size=100_003), np.arange(1.0, 100_004.0)):
        before = full_fingerprint(array)
        assert full_fingerprint(array.copy()) == before
        change(array)
        assert full_fingerprint(array) != before


@together
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["?", "i1", "f4", "f8", "c16", "g"])
def test_every_place_is_seen(size: int, dtype: str) -> None:
    array = np.zeros(size, dtype)
    before = full_fingerprint(array)
    for k in {0, 1, size // 3, size // 2, size - 1} & set(range(size)):
        array[k] = 1
        assert full_fingerprint(array) != before
        array[k] = 0
        assert full_fingerprint(array) == before or dtype == "g"  # whose padding may be anything


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "columns": lambda a: a[:, 1:3],
    "every other": lambda a: a[::2, ::-1],
    "transposed": lambda a: a.T,
    "flipped": lambda a: a[::-1, ::-1],
    "of length 1": lambda a: a[:, None, :1],
    "repeated": lambda a: np.broadcast_to(a[:, None], (len(a), 5, 4)),
    "a number, repeated": lambda a: np.broadcast_to(a[-1:, 1:2], (3, 2)),
    "windows": lambda a: sliding_window_view(a.reshape(-1), 7),
    "parts": lambda a: a.view(complex)[::2].imag,
}


@pytest.mark.parametrize("look", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("rows", [2, 40_001])
def test_what_a_view_shows_is_seen_and_no_more(look: Callable[[Any], Any], rows: int) -> None:
    array = np.random.default_rng(0).normal(size=(rows, 4))
    view = look(array)
    before, places = full_fingerprint(view), sparse_fingerprint(view, 3)
    assert memory(view).size <= view.size
    saved, seen = array.copy(), np.isin(array, view)
    for k in np.nonzero(seen.reshape(-1))[0][[0, -1]]:
        array.reshape(-1)[k] += 1
        assert full_fingerprint(view) != before
        array[...] = saved
    array[~seen] += 1
    assert full_fingerprint(view) == before
    assert sparse_fingerprint(view, 3) == places


def test_the_places_of_a_sparse_fingerprint_change_from_turn_to_turn() -> None:
    array = np.zeros(1 << 14)
    before = [sparse_fingerprint(array, turn) for turn in range(64)]
    array[1234] = 1
    seen = [sparse_fingerprint(array, turn) != b for turn, b in enumerate(before)]
    assert any(seen)
    assert not all(seen)
    array[:] = 1
    assert all(sparse_fingerprint(array, turn) != b for turn, b in enumerate(before))
