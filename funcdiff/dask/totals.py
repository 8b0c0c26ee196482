"""Tree reductions over all blocks: placement of tasks and of their transfers."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from funcdiff.core.late import late_import
from funcdiff.core.progress import Progress
from funcdiff.dask.batches import Batch, length_of, make_batches, note_time, run_batch
from funcdiff.dask.blocks import Blocks
from funcdiff.dask.data import Data
from funcdiff.dask.graphs import unique_name
from funcdiff.dask.library import Callback, HighLevelGraph, get_scheduler
from funcdiff.dask.parts import Part, merge_siblings, sum_parts
from funcdiff.dask.shipping import Code, Given, Step

_SUMMANDS: Final = 8
"""How many results are added in one task, if they are large: a power of two."""

_SMALL: Final = 1 << 16
"""Bytes up to which arrays that are given go with each task, and all results come back."""

_SCATTERED: Final = 1 << 20
"""Bytes from which on they go to the workers of a cluster beside the graph."""

_CODES_KEPT: Final = 64
"""How many programs stay on the workers of a cluster for later calls."""

_codes: Final[WeakKeyDictionary[Any, OrderedDict[str, Any]]] = WeakKeyDictionary()
"""By client and digest, futures of programs on its workers; the latest use last."""


def total(step: Step, data: Data, *, mean: bool, progress: str | None = None) -> list[Any]:
    """Compute the sum of the results over all blocks, or their mean weighted by examples.

    Blocks are added as a tree that their numbers decide, so that a rerun gives the same bits.
    `progress` is what to say is being done, if anything.
    """
    scheduler = get_scheduler(collections=data.arrays)
    cluster = getattr(scheduler, "__self__", None)
    blocks, small = Blocks.of(data), step.given.nbytes <= _SMALL
    programs = tuple(program.program for program in step.code.programs.values())
    kind = tuple(x.name for x in data.arrays), programs
    count = len(blocks.each)
    length = length_of(kind, count, sum(x.nbytes for x in data.arrays) / count, _threads(cluster))
    held = blocks.held
    places = _places(cluster, held) if length > 1 and held else {}
    members = make_batches(blocks.each, length, places, whole=not small)
    batches = [Batch.of(some, sum(data.counts) if mean else None) for some in members]

    name = unique_name("blocks")
    graph, given = dict(blocks.shared), _scatter(cluster, step.given)
    if not small:
        graph[f"{name}-given"] = given
        given = f"{name}-given"
    code = _code_on(cluster, step.code)
    for k, batch in enumerate(batches):
        graph[name, k] = (run_batch, batch, code, given, *(held.get(k, k) for k in batch.given))
    keys = [(name, k) for k in range(len(batches))]
    wanted = keys if small else _add_in_tasks(graph, keys, batches)
    graph = HighLevelGraph.from_collections(name, graph)
    if progress is None:
        found = scheduler(graph, wanted)
    else:
        counts = {key: len(batch.blocks) for key, batch in zip(keys, batches, strict=True)}
        found = _run_with_progress(progress, scheduler, graph, wanted, counts)
    parts = sorted((part for parts in found for part in parts), key=lambda part: part.start)
    whole = sum_parts(parts)
    note_time(kind, whole.seconds / count)
    leaves: list[Any] = whole.leaves  # type: ignore[assignment]  # some block has examples
    return leaves


def add_some(*several: list[Part]) -> list[Part]:
    """Return the sums of parts that follow on each other."""
    return merge_siblings(part for parts in several for part in parts)


def add_all(*several: list[Part]) -> list[Part]:
    """Return the sum of all parts."""
    return [sum_parts(part for parts in several for part in parts)]


def _add_in_tasks(graph: dict[Any, Any], keys: list[Any], batches: list[Batch]) -> list[Any]:
    """Add tasks that add what batches give, which grow as the tree; give the key of the sum."""
    starts = [batch.blocks[0].number for batch in batches]
    size = max(len(batch.blocks) for batch in batches)
    size = 1 << (size - 1).bit_length()
    while len(keys) > 1:
        size *= _SUMMANDS
        name = unique_name("sum")
        groups: dict[int, list[Any]] = {}
        for start, key in zip(starts, keys, strict=True):
            groups.setdefault(start // size, []).append(key)
        starts, keys = [k * size for k in groups], [(name, k) for k in range(len(groups))]
        for key, group in zip(keys, groups.values(), strict=True):
            graph[key] = (add_some if len(groups) > 1 else add_all, *group)
    return keys


def _run_with_progress(
    progress: str, scheduler: Any, graph: dict[Any, Any], wanted: list[Any], counts: dict[Any, int]
) -> Any:
    """Run a graph, and say how many blocks are done, by keys of batches."""
    with Progress(progress, wanted=True, total=sum(counts.values()), unit="blocks") as bar:

        def count_blocks(key: Any, *_: Any) -> None:
            bar.tick(counts.get(key, 0))

        if getattr(scheduler, "__self__", None) is None:
            with Callback(posttask=count_blocks):
                return scheduler(graph, wanted)
        distributed = late_import("distributed")
        batches, sums = scheduler(graph, [list(counts), wanted], sync=False)
        for future in distributed.as_completed(batches):
            count_blocks(future.key)
        return [future.result() for future in sums]


# ---- what travels --------------------------------------------------------------------------------


def _code_on(cluster: Any, code: Code) -> Any:
    """Return what tasks refer to programs by.

    On a cluster they stay where they have been used, compiled, and go to each worker once.
    """
    if cluster is None:
        return code
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


def _scatter(cluster: Any, given: Given) -> Any:
    """Return what tasks refer to arrays by: large ones are sent to each worker once a call.

    Others go with the graph, of which Dask makes them again when a worker is lost.
    """
    if cluster is None or given.nbytes < _SCATTERED:
        return given
    return cluster.scatter(given, broadcast=True, hash=False)


def _threads(cluster: Any) -> int:
    """Return how many threads compute tasks."""
    return max(1, os.cpu_count() or 1 if cluster is None else sum(cluster.nthreads().values()))


def _places(cluster: Any, held: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a worker on which each of what a cluster has lies."""
    holders = cluster.who_has(list(held.values()))
    return {key: holders[key][0] for key in held if holders.get(key)}
