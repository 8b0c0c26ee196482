"""Blocks that take no time are computed several in a task, with the same bits."""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Iterator, Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import funcdiff as fd
from funcdiff.dask import batches
from funcdiff.dask.parts import Part, joined
from tests.dask.losses import PARAMS, X, Y, total
from tests.dask.test_sums import Tasks


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(batches, "_times", type(batches._times)())
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
    numbers = list(np.random.default_rng(count).normal(size=count) * 10.0 ** np.arange(count))
    parts = [Part(k, 1, [x]) for k, x in enumerate(numbers)]
    for length in (1, 2, 4, 8, 32):
        joins = [joined(parts[k : k + length]) for k in range(0, count, length)]
        whole = joined([Part(p.start, length, p.leaves) for p in joins])
        assert whole.leaves == [tree(numbers)]
    assert tree([1e16, 1.0, 1.0, 1.0]) != functools.reduce(operator.add, [1e16, 1.0, 1.0, 1.0])


def test_empty_blocks_add_nothing() -> None:
    assert joined([Part(0, 1, None), Part(1, 1, [2.0]), Part(2, 1, None)]).leaves == [2.0]
    assert joined([Part(0, 1, None), Part(1, 1, None)]).leaves is None


def test_runs_stay_on_one_machine_and_begin_at_multiples_of_their_length() -> None:
    a, b, none = {"a"}, {"b"}, set[Any]()
    assert list(batches._runs([a] * 6, 4)) == [(0, 4), (4, 4)]
    assert list(batches._runs([a, a, a, b, b, none, b, b], 4)) == [
        (0, 2), (2, 1), (3, 1), (4, 4)
    ]  # fmt: skip
    assert list(batches._runs([a, b, a], 1)) == [(0, 1), (1, 1), (2, 1)]


def names_of_tasks(f: Any, *args: Any) -> list[str]:
    with Tasks() as tasks:
        f(*args)
    names: list[str] = tasks.names
    return names


def test_blocks_are_joined_once_it_is_known_that_they_take_no_time() -> None:
    data = da.from_array(X, chunks=(2, 4)), da.from_array(Y, chunks=2)
    gradient = fd.dask.grad(total)
    first = gradient(PARAMS, *data)
    for _ in range(2):
        again = gradient(PARAMS, *data)
        assert again["weights"].tobytes() == first["weights"].tobytes()
    assert sum("blocks" in name for name in names_of_tasks(gradient, PARAMS, *data)) < 20


def test_blocks_that_take_long_are_not_joined() -> None:
    def slowly(block: Any) -> Any:
        time.sleep(0.015)
        return block

    data = da.from_array(X, chunks=(40, 4)).map_blocks(slowly, dtype=float)
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


def test_times_are_kept_for_so_many_kinds() -> None:
    for k in range(2 * batches._KINDS_KNOWN):
        batches.note_time(k, 1.0)
    assert len(batches._times) == batches._KINDS_KNOWN
    batches.note_time("a", 1e-3)
    batches.note_time("a", 1.0)
    assert [batches.length_of("a", n, lambda: 2) for n in (1, 5, 100)] == [1, 8, 16]
    assert batches.length_of("never seen", 100, lambda: 2) == 1


def test_blocks_of_some_work_share_tasks_where_there_are_many_for_each_thread() -> None:
    batches.note_time("some", 0.02)
    lengths = [batches.length_of("some", n, lambda: 2) for n in (8, 31, 32, 100, 1000)]
    assert lengths == [1, 1, 2, 4, 8]
    batches.note_time("much", 0.2)
    assert batches.length_of("much", 1000, lambda: 2) == 1
