"""Partitions Dask graphs by block: the nodes that load each block, and shared nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import finalize

from funcdiff.dask.data import Data
from funcdiff.dask.library import flatten, optimize

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
        held = {k: _future(data, k) for k in uses if k not in graph}
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


def _future(data: Data, key: Any) -> Any:
    """Return the future of a block that a cluster has."""
    return next(x.dask[key] for x in data.arrays if key in x.dask)
