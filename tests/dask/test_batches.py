"""Blocks that take no time are computed several in a task, with the same bits."""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import weakref
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import funcdiff as fd
from funcdiff.dask import totals
from funcdiff.dask.data import Data
from funcdiff.dask.totals import Block, Blocks, Part, make_batches, merge_siblings, sum_parts
from tests.dask.losses import PARAMS, X, Y, total
from tests.dask.test_sums import Tasks


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(totals, "_times", type(totals._times)())
    monkeypatch.setattr(totals, "_threads", lambda _: 2)
    with dask.config.set(scheduler="synchronous"):
        yield


def tree(numbers: Sequence[float]) -> float:
    """Add by the definition."""
    if len(numbers) == 1:
        return numbers[0]
    half = 1 << ((len(numbers) - 1).bit_length() - 1)
    return tree(numbers[:half]) + tree(numbers[half:])


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 13, 31])
def test_parts_are_added_as_a_tree_however_they_are_cut(count: int) -> None:
    rng = np.random.default_rng(count)
    numbers = list(rng.normal(size=count) * 10.0 ** np.arange(count))
    parts = [Part(k, 1, [x]) for k, x in enumerate(numbers)]
    for length in (1, 2, 3, 8, 32):
        pieces = [merge_siblings(parts[k : k + length]) for k in range(0, count, length)]
        assert sum_parts(part for piece in pieces for part in piece).leaves == [tree(numbers)]
    where = rng.integers(3, size=count)  # machines
    pieces = [merge_siblings(part for part in parts if where[part.start] == k) for k in range(3)]
    found = sorted((part for piece in pieces for part in piece), key=lambda part: part.start)
    assert sum_parts(found).leaves == [tree(numbers)]
    assert tree([1e16, 1.0, 1.0, 1.0]) != functools.reduce(operator.add, [1e16, 1.0, 1.0, 1.0])


def test_empty_blocks_add_nothing() -> None:
    assert sum_parts([Part(0, 1, None), Part(1, 1, [2.0]), Part(2, 1, None)]).leaves == [2.0]
    assert sum_parts([Part(0, 1, None), Part(1, 1, None)]).leaves is None


def numbers_of(places: Sequence[str], length: int, *, whole: bool) -> list[list[int]]:
    blocks = [Block(k, [], {}, [k]) for k in range(len(places))]
    known = {k: place for k, place in enumerate(places) if place != "?"}
    return [[x.number for x in some] for some in make_batches(blocks, length, known, whole=whole)]


def test_batches_lie_on_one_machine() -> None:
    assert numbers_of("abab?aab", 4, whole=False) == [[0, 2, 5, 6], [1, 3, 7], [4]]
    assert numbers_of("aaaaaaa", 3, whole=False) == [[0, 1, 2], [3, 4, 5, 6]]
    assert numbers_of("aaaaa", 4, whole=False) == [[0, 1, 2, 3, 4]]


def test_batches_with_large_results_are_parts_of_the_tree() -> None:
    assert numbers_of("aaaaaaa", 5, whole=True) == [[0, 1, 2, 3], [4, 5, 6]]
    assert numbers_of("aaabbbbb", 4, whole=True) == [[0, 1], [2], [3], [4, 5, 6, 7]]
    assert numbers_of("aba", 1, whole=True) == [[0], [1], [2]]


def names_of_tasks(f: Any, *args: Any) -> list[str]:
    with Tasks() as tasks:
        f(*args)
    names: list[str] = tasks.names
    return names


def let_pass(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let so many seconds pass between any two looks at the clock."""
    clock = itertools.count(0.0, seconds).__next__
    monkeypatch.setattr(totals, "time", SimpleNamespace(perf_counter=clock))


def test_blocks_are_joined_once_it_is_known_that_they_take_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_pass(monkeypatch, 1e-7)
    data = da.from_array(X, chunks=(2, 4)), da.from_array(Y, chunks=2)
    gradient = fd.dask.grad(total)
    first = gradient(PARAMS, *data)
    for _ in range(2):
        again = gradient(PARAMS, *data)
        assert again["weights"].tobytes() == first["weights"].tobytes()
    assert sum("blocks" in name for name in names_of_tasks(gradient, PARAMS, *data)) <= 2


def test_blocks_that_take_long_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    let_pass(monkeypatch, 0.05)
    data = da.from_array(X, chunks=(40, 4))
    gradient = fd.dask.grad(lambda w, X: np.sum(X @ w))
    for _ in range(3):
        names = names_of_tasks(gradient, np.ones(4), data)
    assert sum("blocks" in name for name in names) == 3


def test_what_several_blocks_need_is_computed_once() -> None:
    calls = []

    def counted(block: Any) -> Any:
        calls.append(len(block))
        return block

    rows = da.from_array(X, chunks=(103, 4)).map_blocks(counted, dtype=float)
    data = rows.rechunk((10, 4))
    gradient = fd.dask.grad(lambda w, X: np.sum(X @ w))
    for _ in range(3):
        calls.clear()
        np.testing.assert_allclose(gradient(np.ones(4), data), X.sum(0), rtol=1e-12)
        assert calls == [103]


def test_each_thread_has_one_batch_of_little_work_and_several_of_more() -> None:
    def lengths(seconds: float, blocks: Sequence[int] = (1, 5, 100)) -> list[int]:
        totals.note_time(seconds, seconds)
        return [totals.length_of(seconds, n, 1e3, threads=2) for n in blocks]

    assert lengths(1e-5) == [1, 5, 100]
    assert lengths(1e-3) == [1, 5, 50]
    assert lengths(5e-3, [20, 60, 200, 2000]) == [10, 10, 12, 40]
    assert lengths(1.0) == [1, 1, 1]
    assert totals.length_of(1e-5, 100, 5e7, threads=2) == 3  # in memory at once
    assert [totals.length_of("new", n, 1e3, threads=2) for n in (8, 100)] == [1, 6]
    assert totals.length_of("new", 100, 1e6, threads=2) == 4


def test_times_are_kept_for_so_many_kinds() -> None:
    for k in range(2 * totals._KINDS_KNOWN):
        totals.note_time(k, 1.0)
    assert len(totals._times) == totals._KINDS_KNOWN
    totals.note_time("a", 1e-3)
    totals.note_time("a", 1.0)
    assert totals._times["a"] == 1e-3


def test_what_loads_data_is_found_once_and_forgotten_with_them() -> None:
    data = da.from_array(X, chunks=(10, 4)), da.from_array(Y, chunks=10)
    found = Blocks.of(Data.of("f", data, {}))
    assert Blocks.of(Data.of("f", data, {})) is found
    gradient = fd.dask.grad(total)
    before = gradient(PARAMS, *data)["weights"]
    data[0][0] = 0.0  # which Dask does in place
    assert gradient(PARAMS, *data)["weights"][0] != before[0]
    kept = weakref.ref(found)
    del found
    gc.collect()
    known = len(totals._known)
    del data
    gc.collect()
    assert (len(totals._known), kept()) == (known - 1, None)
