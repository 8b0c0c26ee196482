"""Computes sums over all blocks: what travels to where, and in which tasks it is added."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from funcdiff.core.late import late_import
from funcdiff.core.progress import Progress
from funcdiff.dask.batches import Batch, batched, length_of, note_time
from funcdiff.dask.data import Data
from funcdiff.dask.graphs import in_graph, per_block, unique_name
from funcdiff.dask.library import (
    Callback,
    HighLevelGraph,
    Task,
    TaskRef,
    da,
    flatten,
    get_scheduler,
    optimize,
)
from funcdiff.dask.parts import Part, joined
from funcdiff.dask.shipping import Code, Given, Step

_SUMMANDS: Final = 8
"""How many results are added in one task, if they are large: a power of two."""

_SMALL: Final = 1 << 16
"""Bytes up to which arrays that are given go with each task, and all results are added in one."""

_SCATTERED: Final = 1 << 20
"""Bytes from which on they go to the workers of a cluster beside the graph."""

_CODES_KEPT: Final = 64
"""How many programs stay on the workers of a cluster for later calls."""

_codes: Final[WeakKeyDictionary[Any, OrderedDict[str, Any]]] = WeakKeyDictionary()
"""By client and digest, futures of programs on its workers; the latest use last."""


def run_weighted(code: Code, given: Given, total: int | None, *block: Any) -> list[Any] | None:
    """Return the results of a block times its share of all examples; None of an empty one."""
    count = len(block[0])
    if not count:
        return None
    leaves = code(given, block)
    return leaves if total is None else [y * (count / total) for y in leaves]


def add(*parts: Part) -> Part:
    """Return the sum of parts that follow on each other."""
    return joined(parts)


def total(step: Step, data: Data, *, mean: bool, progress: str | None = None) -> list[Any]:
    """Compute the sum of the results over all blocks, or their mean weighted by examples.

    Blocks are added as a tree that their numbers decide, so that a rerun gives the same bits.
    `progress` is what to say is being done, if anything.
    """
    cluster = getattr(get_scheduler(), "__self__", None)
    code, given = _code_on(cluster, step.code), _given_on(cluster, step.given)
    parts = per_block(run_weighted, data, code, given, sum(data.counts) if mean else None)
    (single,) = optimize(parts)
    graph, keys = dict(single.__dask_graph__()), list(flatten(single.__dask_keys__()))
    kind = (
        tuple(x.name for x in data.arrays),
        tuple(program.program for program in step.code.programs.values()),
    )
    name, small = unique_name("blocks"), step.given.nbytes <= _SMALL
    repeated = {code.key, given.key} if small else {code.key}
    tasks, batches = batched(
        graph, keys, length_of(kind, len(keys), lambda: _threads(cluster)), name,
        places=lambda keys: _places(cluster, keys), repeated=repeated,
    )  # fmt: skip
    layers = HighLevelGraph.from_collections(name, tasks)
    work = da.Array(layers, name, ((1,) * len(batches),), dtype=object, meta=np.empty(0, object))
    if progress is None:
        found = _sum(work, batches, small=small)
    else:
        with _shown(progress, work, batches, cluster) as work:
            found = _sum(work, batches, small=small)
    note_time(kind, found.seconds / len(keys))
    leaves: list[Any] = found.leaves  # type: ignore[assignment]  # some block has examples
    return leaves


def _sum(work: Any, batches: list[Batch], *, small: bool) -> Part:
    """Add the batches: small ones at once, large ones as parts of the tree that grow."""
    starts = [batch.start for batch in batches]
    keys = [(work.name, k) for k in range(len(batches))]
    size = max(batch.size for batch in batches)
    graph: dict[Any, Any] = {}
    while len(keys) > 1 or not graph:
        size = starts[-1] + 1 if small else _SUMMANDS * size
        name = unique_name("sum")
        groups: dict[int, list[Any]] = {}
        for start, key in zip(starts, keys, strict=True):
            groups.setdefault(start // size, []).append(key)
        starts, keys = [k * size for k in groups], [(name, k) for k in range(len(groups))]
        for key, group in zip(keys, groups.values(), strict=True):
            graph[key] = Task(key, add, *map(TaskRef, group))
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[work])
    found: Part = da.Array(layers, name, ((1,),), dtype=object, meta=np.empty(0, object)).compute()
    return found


@contextmanager
def _shown(progress: str, work: Any, batches: list[Batch], cluster: Any) -> Iterator[Any]:
    """Say how many blocks are done while they are computed; give what is being computed."""
    counts = [len(batch.nodes) for batch in batches]
    with Progress(progress, wanted=True, total=sum(counts), unit="blocks") as bar:
        if cluster is not None:
            distributed = late_import("distributed")
            work = cluster.persist(work)
            for future in distributed.as_completed(distributed.futures_of(work)):
                bar.tick(counts[future.key[1]])
            yield work
            return

        left = dict(enumerate(counts))

        def count_blocks(key: Any, *_: Any) -> None:
            if isinstance(key, tuple) and key[0] == work.name:
                bar.tick(left.pop(key[1]))

        with Callback(posttask=count_blocks):
            yield work
        bar.tick(sum(left.values()))  # of a task that Dask has joined with the last one


# ---- what travels --------------------------------------------------------------------------------


def _code_on(cluster: Any, code: Code) -> Any:
    """Return what tasks refer to programs by.

    On a cluster they stay where they have been used, compiled, and go to each worker once.
    """
    if cluster is None:
        return in_graph(code)
    text = pickle.dumps(code)
    key = f"funcdiff-code-{hashlib.sha256(text).hexdigest()}"
    kept = _codes.setdefault(cluster, OrderedDict())
    future = kept.get(key)
    if future is None or future.status not in ("pending", "finished"):
        future = kept[key] = cluster.submit(pickle.loads, text, key=key)
    kept.move_to_end(key)
    while len(kept) > _CODES_KEPT:
        kept.popitem(last=False)
    return future


def _given_on(cluster: Any, given: Given) -> Any:
    """Return what tasks refer to arrays by: large ones are sent to each worker once a call.

    Others go with the graph, of which Dask makes them again when a worker is lost.
    """
    if cluster is None or given.nbytes < _SCATTERED:
        return in_graph(given)
    return cluster.scatter(given, broadcast=True, hash=False)


def _threads(cluster: Any) -> int:
    """Return how many threads compute tasks."""
    return max(1, os.cpu_count() or 1 if cluster is None else sum(cluster.nthreads().values()))


def _places(cluster: Any, keys: set[Any]) -> Mapping[Any, Any]:
    """Return on which worker what is only on one lies."""
    holders = cluster.who_has()
    found = {key: holders.get(key, ()) for key in keys}
    return {key: where[0] for key, where in found.items() if len(where) == 1}
