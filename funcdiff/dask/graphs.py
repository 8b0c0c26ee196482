"""Builds the graphs that Dask runs: a task for each block, which loads it, and a tree of sums."""

from __future__ import annotations

import functools
import operator
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from funcdiff.core.late import late_import
from funcdiff.core.progress import Progress
from funcdiff.core.types import ArrayType
from funcdiff.dask.data import Data
from funcdiff.dask.library import Callback, HighLevelGraph, da, delayed, flatten, get_scheduler
from funcdiff.dask.shipping import Step

_SUMMANDS: Final = 8
"""How many results are added in one task."""

_SCATTERED: Final = 1 << 20
"""Bytes of a step from which on it goes to the workers of a cluster beside the graph."""


@dataclass(frozen=True, eq=False)
class Part:
    """Results of one block or several: no list, which Dask would look into."""

    leaves: list[Any]


# ---- tasks -------------------------------------------------------------------------------------


def run_block(step: Step, *block: Any) -> Part:
    """Return the results of a block."""
    return Part(step(block))


def run_weighted(step: Step, total: int | None, *block: Any) -> Part | None:
    """Return the results of a block times its share of all examples; None of an empty one."""
    count = len(block[0])
    if not count:
        return None
    leaves = step(block)
    return Part(leaves if total is None else [y * (count / total) for y in leaves])


def add(parts: Sequence[Part | None]) -> Part | None:
    """Return the sum of parts, added in their order."""
    columns = zip(*[part.leaves for part in parts if part is not None], strict=True)
    leaves = [functools.reduce(operator.add, column) for column in columns]
    return Part(leaves) if leaves else None


def take(part: Any, k: int) -> Any:
    """Return one result of a block, which comes in a list for each further axis of the data."""
    while isinstance(part, list):
        (part,) = part
    return part.leaves[k]


# ---- graphs ------------------------------------------------------------------------------------


def total(step: Step, data: Data, *, mean: bool, progress: str | None = None) -> list[Any]:
    """Compute the sum of the results over all blocks, or their mean weighted by examples.

    Blocks are added as a tree that their numbers decide, so that a rerun gives the same bits.
    `progress` is what to say is being done, if anything.
    """
    count = sum(data.counts) if mean else None
    parts = _per_block(run_weighted, data, _travelling(step), count)
    if progress is None:
        return _sum(parts)
    with Progress(progress, wanted=True, total=parts.npartitions, unit="blocks") as bar:
        cluster = getattr(get_scheduler(), "__self__", None)
        if cluster is not None:
            distributed = late_import("distributed")
            parts = cluster.persist(parts)
            for _ in distributed.as_completed(distributed.futures_of(parts)):
                bar.tick()
            return _sum(parts)

        def count_block(key: Any, *_: Any) -> None:
            if isinstance(key, tuple) and key[0] == parts.name:
                bar.tick()

        with Callback(posttask=count_block):
            return _sum(parts)


def _sum(parts: Any) -> list[Any]:
    graph: dict[Any, Any] = {}
    keys: list[Any] = list(flatten(parts.__dask_keys__()))
    while len(keys) > 1 or not graph:
        groups = [keys[k : k + _SUMMANDS] for k in range(0, len(keys), _SUMMANDS)]
        name = _unique("sum")
        keys = [(name, k) for k in range(len(groups))]
        graph.update((key, (add, group)) for key, group in zip(keys, groups, strict=True))
    layers = HighLevelGraph.from_collections(name, graph, dependencies=[parts])
    found = da.Array(layers, name, ((1,),), dtype=object, meta=np.empty(0, object)).compute()
    leaves: list[Any] = found.leaves
    return leaves


def rows(step: Step, data: Data, types: Sequence[ArrayType]) -> list[Any]:
    """Return the results as Dask arrays, one block after the other along axis 0.

    `types` are those of one block.
    """
    parts = _per_block(run_block, data, _in_graph(step))
    return [
        da.blockwise(
            take, (0, *own), parts, tuple(range(parts.ndim)), k=k, align_arrays=False,
            new_axes=dict(zip(own, t.shape[1:], strict=True)), dtype=t.dtype,
            meta=np.empty((0,) * len(t.shape), t.dtype),
        )
        for k, t in enumerate(types)
        for own in [tuple(range(parts.ndim, parts.ndim + len(t.shape) - 1))]
    ]  # fmt: skip


def _per_block(task: Any, data: Data, *given: Any) -> Any:
    """Return an array with an entry for each block, which one task loads and computes.

    It has the axes of all arrays, so that none is summed over, which keeps Dask from fusing.
    """
    operands = [pair for x in given for pair in (x, None)]
    axes: tuple[int, ...] = (0,)
    for x in data.arrays:
        own = tuple(range(len(axes), len(axes) + x.ndim - 1))
        operands += [x, (0, *own)]
        axes += own
    return da.blockwise(
        task, axes, *operands, name=_unique("block"), dtype=object, align_arrays=False,
        meta=np.empty((0,) * len(axes), object),
    )  # fmt: skip


def _travelling(step: Step) -> Any:
    """Return what the tasks of one computation refer to a step by: it goes to each worker once.

    A small one goes with the graph, of which Dask makes it again when a worker is lost.
    """
    scatter = getattr(getattr(get_scheduler(), "__self__", None), "scatter", None)
    if scatter is None or step.nbytes < _SCATTERED:
        return _in_graph(step)
    return scatter(step, broadcast=True, hash=False)


def _in_graph(step: Step) -> Any:
    return delayed(step, name=_unique("step"), traverse=False)


def _unique(what: str) -> str:
    """Return a name of tasks that no other ones have, by which dashboards show them."""
    return f"funcdiff-{what}-{uuid.uuid4().hex}"
