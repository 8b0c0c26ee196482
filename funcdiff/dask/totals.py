"""Tree reductions over all blocks: placement of tasks and of their transfers."""

from __future__ import annotations

import hashlib
import operator
import os
import pickle
import time
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakKeyDictionary, finalize

from funcdiff.core.late import late_import
from funcdiff.core.running.progress import Progress
from funcdiff.dask.data import Callback, Data, HighLevelGraph, flatten, get_scheduler, optimize
from funcdiff.dask.shipping import Code, Given, Step, unique_name

# ---- Partitions Dask graphs by block: the nodes that load each block, and shared nodes -----------


_known: Final[dict[tuple[Any, ...], Blocks]] = {}
"""By graphs and names of arrays, as long as the graphs live."""


@dataclass(frozen=True, eq=False)
class Block:
    """What loads the data of a block."""

    number: int  # its place among the blocks
    keys: list[Any]  # of its arrays
    nodes: dict[Any, Any]  # by key: Dask's nodes that only this block needs, in order of dependence
    given: list[Any]  # keys of their further dependences; arrays with the most bytes first

    def load(self, known: Mapping[Any, Any]) -> list[Any]:
        """Return the arrays of the block, by the values of what is given."""
        values = {key: known[key] for key in self.given}
        for key, node in self.nodes.items():
            values[key] = node({before: values[before] for before in node.dependencies})
        return [values[key] for key in self.keys]


@dataclass(frozen=True, eq=False)
class Blocks:
    """What loads the data."""

    each: list[Block]
    shared: dict[Any, Any]  # by key: nodes that several blocks need
    held: dict[Any, Any]  # by key: futures of values in the memory of a cluster

    @classmethod
    def of(cls, data: Data) -> Blocks:
        """Return what loads the data, after Dask's optimizations."""
        key = tuple((id(x.dask), x.name) for x in data.arrays)
        if key not in _known:
            _known[key] = cls._find(data)
            for x in data.arrays:
                finalize(x.dask, _known.pop, key, None).atexit = False
        return _known[key]

    @classmethod
    def _find(cls, data: Data) -> Blocks:
        graph: dict[Any, Any] = {}
        for x in optimize(*data.arrays):
            graph |= dict(x.__dask_graph__())
        rows = zip(*(flatten(x.__dask_keys__()) for x in data.arrays), strict=True)
        keys = list(map(list, rows))
        largest_first = sorted(range(len(data.arrays)), key=lambda k: -data.arrays[k].nbytes)
        needs = [_dependences(graph, [row[k] for k in largest_first]) for row in keys]
        uses = Counter(key for needed in needs for key in needed)
        each = []
        for number, (row, needed) in enumerate(zip(keys, needs, strict=True)):
            nodes = {k: graph[k] for k in needed if k in graph and uses[k] == 1}
            direct = {*row, *(k for node in nodes.values() for k in node.dependencies)}
            given = [k for k in needed if k in direct and k not in nodes]
            each.append(Block(number, row, nodes, given))
        held = {
            k: next(x.dask[k] for x in data.arrays if k in x.dask) for k in uses if k not in graph
        }
        return cls(each, {k: graph[k] for k in uses if k in graph and uses[k] > 1}, held)


def _dependences(graph: Mapping[Any, Any], keys: Iterable[Any]) -> list[Any]:
    """Return keys of all that some need of a graph, each behind what it needs itself."""
    found: dict[Any, None] = {}
    waiting = [(key, False) for key in keys][::-1]
    while waiting:
        key, is_ready = waiting.pop()
        if is_ready or key not in graph:
            found[key] = None
        elif key not in found:
            waiting += [(key, True), *((before, False) for before in graph[key].dependencies)]
    return list(found)


# ---- Adds results of blocks as a binary tree that the numbers of the blocks decide ---------------
#
# The sum of n blocks is that of the first ones, as many as the largest power of two below n, and of
# the others.  So what one task adds, and what the next ones, changes no bit.


@dataclass(frozen=True, eq=False)
class Part:
    """Results of consecutive blocks."""

    start: int  # number of the first block
    size: int  # a power of two: the place in the tree, which the last part may not fill
    leaves: list[Any] | None  # results, added; None if the blocks are empty
    seconds: float = 0.0  # how long all blocks took


def merge_siblings(parts: Iterable[Part]) -> list[Part]:
    """Return parts, in their order, with neighbours added that are added first in the tree."""
    found: list[Part] = []
    for part in parts:
        found.append(part)
        while len(found) > 1 and _are_siblings(*found[-2:]):
            found[-2:] = [_add(*found[-2:])]
    return found


def sum_parts(parts: Iterable[Part]) -> Part:
    """Return the sum of all parts from the beginning of one in the tree, in their order."""
    waiting = merge_siblings(parts)
    while len(waiting) > 1:
        waiting[-2:] = [_add(*waiting[-2:])]
    return waiting[0]


def _are_siblings(left: Part, right: Part) -> bool:
    after = right.start == left.start + left.size
    return after and left.size == right.size and left.start % (2 * left.size) == 0


def _add(left: Part, right: Part) -> Part:
    if left.leaves is None or right.leaves is None:
        leaves = right.leaves if left.leaves is None else left.leaves
    else:
        leaves = list(map(operator.add, left.leaves, right.leaves))
    return Part(left.start, 2 * left.size, leaves, left.seconds + right.seconds)


# --------------------------------------------------------------------------------------------------
# Puts blocks together that one task computes, since a task of a cluster costs a millisecond.
#
# A batch has blocks that lie on one machine, and loads one after the other.  Each thread gets one
# batch of little work, or several of some, by what blocks of these data took before.


_LEAST_SECONDS: Final = 0.005
"""How much work a batch has at least."""

_SECONDS: Final = 0.05
"""How much work a batch has at least, where a thread has several."""

_MOST_SECONDS: Final = 0.2
"""How much work a batch has at most."""

_BATCHES_EACH: Final = 8
"""How many batches each thread has, so that none waits long for the others, if work allows."""

_MOST_BYTES: Final = 1 << 27
"""How large the data of a batch are at most."""

_BYTES_UNSEEN: Final = 1 << 22
"""How large the data of a batch are at most, if it is not known how long they take."""

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


def length_of(kind: Hashable, blocks: int, nbytes: float, threads: int) -> int:
    """Return how many of `blocks` of so many bytes each are put into one task, at least one.

    `kind` is that of `note_time`, `threads` is the number of those that compute.
    """
    seconds, most = _times.get(kind), _MOST_BYTES
    if seconds is None:
        wanted, most = blocks / (_BATCHES_EACH * threads), _BYTES_UNSEEN
    else:
        work = seconds * blocks / threads
        each = max(1.0, min(_BATCHES_EACH, work / _SECONDS), work / _MOST_SECONDS)
        wanted = max(blocks / (each * threads), _LEAST_SECONDS / max(seconds, 1e-9))
    return max(1, round(min(wanted, blocks, most / max(nbytes, 1.0))))


# ---- tasks -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Batch:
    """Blocks that one task computes."""

    blocks: list[Block]
    given: list[Any]  # keys of other tasks' results that this one needs
    total: int | None  # number of examples in all data, if results are weighted by them

    @classmethod
    def of(cls, blocks: list[Block], total: int | None) -> Batch:
        """Return a batch with what its blocks need."""
        return cls(blocks, list(dict.fromkeys(k for x in blocks for k in x.given)), total)

    def __dask_tokenize__(self) -> object:
        return id(self)  # Dask need not look inside: its tasks have names of their own


def run_batch(batch: Batch, code: Code, given: Given, *values: Any) -> list[Part]:
    """Return the sums of blocks of a batch."""
    started = time.perf_counter()
    known = dict(zip(batch.given, values, strict=True))

    def results() -> Iterator[Part]:
        for block in batch.blocks:
            yield Part(block.number, 1, _results(code, given, batch.total, block.load(known)))

    first, *others = merge_siblings(results())
    return [replace(first, seconds=time.perf_counter() - started), *others]


def _results(code: Code, given: Given, total: int | None, block: list[Any]) -> list[Any] | None:
    """Return the results of a block times its share of all examples; None of an empty one."""
    count = len(block[0])
    if not count:
        return None
    leaves = code(given, block)
    return leaves if total is None else [y * (count / total) for y in leaves]


# ---- which blocks --------------------------------------------------------------------------------


def make_batches(
    blocks: Sequence[Block], length: int, places: Mapping[Any, Any], *, whole: bool
) -> list[list[Block]]:
    """Return blocks in batches of about `length`, each on one machine.

    `places` says by key which machine has what is only on one; `whole` makes each batch one part of
    the tree, since results are large.
    """
    where = [next((places[k] for k in x.given if k in places), None) for x in blocks]
    if whole:
        return [list(blocks[start : start + size]) for start, size in _runs(where, length)]
    by_place: dict[Any, list[Block]] = {}
    for block, place in zip(blocks, where, strict=True):
        by_place.setdefault(place, []).append(block)
    return [piece for members in by_place.values() for piece in _cut(members, length)]


def _cut(blocks: list[Block], length: int) -> Iterator[list[Block]]:
    """Cut blocks into pieces of about one length."""
    pieces = max(1, round(len(blocks) / length))
    for k in range(pieces):
        yield blocks[len(blocks) * k // pieces : len(blocks) * (k + 1) // pieces]


def _runs(places: Sequence[Any], length: int) -> Iterator[tuple[int, int]]:
    """Cut blocks into parts of the tree that lie on one machine; give their starts and sizes."""
    start = 0
    while start < len(places):
        size = 1 << (length.bit_length() - 1)
        while start % size or len(set(places[start : start + size])) > 1:
            size //= 2
        yield start, size
        start += size


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
