"""Computes several blocks in one task, where tasks would cost more than what they compute.

A batch is a run of 2^k blocks that begins at a multiple of 2^k: its sum is a part of the tree.  It
is as long as `_SECONDS` of work are, by what blocks of these data took before, longer where there
are many blocks for each thread, and never has blocks that lie on different machines.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from funcdiff.dask.library import Task, TaskRef
from funcdiff.dask.parts import Part, joined

_SECONDS: Final = 0.02
"""How much work is put into one task, if blocks are small."""

_MOST_SECONDS: Final = 0.2
"""How much work is put into one task, if there are many blocks."""

_TASKS_EACH: Final = 8
"""How many tasks each thread has at least where tasks have more work than `_SECONDS`."""

_KINDS_KNOWN: Final = 256
"""Of how many kinds of calls the times are kept."""

_times: Final[OrderedDict[Hashable, float]] = OrderedDict()
"""Seconds that a block took, by what was computed of which data; the latest use last."""


def note_time(kind: Hashable, seconds: float) -> None:
    """Keep how long a block took at best, when the machine did nothing else."""
    _times[kind] = min(seconds, _times.get(kind, seconds))
    _times.move_to_end(kind)
    while len(_times) > _KINDS_KNOWN:
        _times.popitem(last=False)


def length_of(kind: Hashable, blocks: int, threads: Callable[[], int]) -> int:
    """Return how many blocks are put into one task: a power of two.

    `threads` is asked only where the number of threads that compute may matter.
    """
    seconds = max(_times.get(kind, np.inf), 1e-9)
    wanted = _SECONDS / seconds
    if blocks > _TASKS_EACH and 2 * seconds <= _MOST_SECONDS:
        wanted = max(wanted, min(_MOST_SECONDS / seconds, blocks / (_TASKS_EACH * threads())))
    length = 1
    while 2 * length <= wanted and length < blocks:
        length *= 2
    return length


# ---- tasks -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Blocks that one task computes, each with what only it needs.

    Attributes
    ----------
    start
        The number of the first block.
    size
        Its place in the tree, as in `Part`.
    nodes
        By block, what computes it: Dask's nodes, which take values by key.
    own
        Nodes of small data that all blocks need.
    given
        Keys of what the task is given by other ones.
    """

    start: int
    size: int
    nodes: list[Any]
    own: dict[Any, Any]
    given: list[Any]


def run_batch(batch: Batch, *values: Any) -> Part:
    """Return the sum of the blocks of a batch."""
    started = time.perf_counter()
    known = dict(zip(batch.given, values, strict=True))
    known |= {key: node({}) for key, node in batch.own.items()}

    def results() -> Iterator[Part]:
        for k, node in enumerate(batch.nodes, batch.start):
            yield Part(k, 1, node({key: known[key] for key in node.dependencies}))

    whole = joined(results())
    return replace(whole, size=batch.size, seconds=time.perf_counter() - started)


# ---- graphs ------------------------------------------------------------------------------------


def batched(
    graph: Mapping[Any, Any],
    keys: Sequence[Any],
    length: int,
    name: str,
    *,
    places: Callable[[set[Any]], Mapping[Any, Any]],
    repeated: set[Any],
) -> tuple[dict[Any, Any], list[Batch]]:
    """Return a graph that computes blocks in batches.

    Parameters
    ----------
    graph
        Dask's nodes by key, which compute the blocks one by one.
    keys
        Of the blocks.
    length
        How many blocks a batch has, at most.
    name
        Of the batches, whose keys are ``(name, number)``.
    places
        From keys that are not in the graph, of what is in the memory of a cluster, to where it is.
    repeated
        Keys of small data that each batch has of its own.

    Returns
    -------
    graph
        With a task for each batch, and what several blocks need.
    batches
        In their order.
    """
    cones = [_cone(graph, key) for key in keys]
    uses = Counter(key for cone in cones for key in cone)
    nodes: list[Any] = []
    shared: dict[Any, Any] = {}
    for cone in cones:
        nodes.append(Task.fuse(*(graph[k] for k in cone if uses[k] == 1 and k not in repeated)))
        shared.update((k, graph[k]) for k in cone if uses[k] > 1 and k not in repeated)
    own = {key: graph[key] for key in repeated if key in graph}
    outside = {key for node in nodes for key in node.dependencies if key not in graph}
    where = places(outside) if length > 1 and outside else {}
    machines = [{where[key] for key in node.dependencies if key in where} for node in nodes]
    batches = []
    for start, size in _runs(machines, length):
        members = nodes[start : start + size]
        given = dict.fromkeys(k for node in members for k in node.dependencies if k not in own)
        batches.append(Batch(start, size, members, own, list(given)))
    for k, batch in enumerate(batches):
        key = name, k
        shared[key] = Task(key, run_batch, batch, *map(TaskRef, batch.given))
    return shared, batches


def _cone(graph: Mapping[Any, Any], key: Any) -> list[Any]:
    """Return what a node needs of a graph, and itself."""
    found, waiting = {key: None}, [key]
    while waiting:
        for before in graph[waiting.pop()].dependencies:
            if before in graph and before not in found:
                found[before] = None
                waiting.append(before)
    return list(found)


def _runs(places: Sequence[set[Any]], length: int) -> Iterator[tuple[int, int]]:
    """Cut blocks into runs of places of the tree, each on one machine; give start and size."""
    start = 0
    while start < len(places):
        size = length
        while start % size or (size > 1 and len(set().union(*places[start : start + size])) > 1):
            size //= 2
        yield start, size
        start += size
