"""Puts blocks together that one task computes, since a task of a cluster costs a millisecond.

A batch has blocks that lie on one machine, and loads one after the other.  Each thread gets one
batch of little work, or several of some, by what blocks of these data took before.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from funcdiff.dask.blocks import Block
from funcdiff.dask.parts import Part, merge_siblings
from funcdiff.dask.shipping import Code, Given

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
