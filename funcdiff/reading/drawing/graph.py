"""The graph of a program as it is drawn: nodes, edges, and bands for source lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import Final, Literal, NamedTuple, TypeAlias

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.atoms import Literal as Number
from funcdiff.core.origins import UNKNOWN, Place
from funcdiff.core.program import Equation, Program, atoms_in_use
from funcdiff.core.text.parse import abbreviate
from funcdiff.ops.control.rematerialization import Tap
from funcdiff.ops.control.sweeps import Scan
from funcdiff.reading.provenance import origin_of, source_of

# ---- Topological sorting of equations that keeps source lines together ---------------------------


def drawing_order(program: Program, keys: Sequence[Hashable]) -> list[int]:
    """Return the places of the equations in an order of evaluation that joins equal keys.

    List scheduling from behind: of the equations whose results nothing waits for, one with the key
    of the last is taken, or else the last one of the program.  So what only the derivative of a
    line needs stands with that derivative, and not where it was computed.
    """
    made_by: dict[Atom, int] = {
        v: index for index, eq in enumerate(program.equations) for v in eq.results
    }
    needs = [{made_by[x] for x in eq.operands if x in made_by} for eq in program.equations]
    waiting = [0] * len(needs)
    for operands in needs:
        for index in operands:
            waiting[index] += 1
    ready: defaultdict[Hashable, list[int]] = defaultdict(list)
    of_any: list[int] = []
    for index, users in enumerate(waiting):
        if not users:
            heappush(ready[keys[index]], -index)
            heappush(of_any, -index)
    order: list[int] = []
    taken: set[int] = set()
    while of_any:
        same = ready[keys[order[-1]]] if order else []
        index = -heappop(same or of_any)
        if index in taken:
            continue
        taken.add(index)
        order.append(index)
        for operand in needs[index]:
            waiting[operand] -= 1
            if not waiting[operand]:
                heappush(ready[keys[operand]], -operand)
                heappush(of_any, -operand)
    return order[::-1]


Kind: TypeAlias = Literal["input", "value", "derivative", "output", "reference"]
Key: TypeAlias = tuple[Place | None, Kind]
"""The line and the kind of an equation: those that share it stand together."""

FOLDED_ABOVE: Final = 150
"""Equations up to which each one is a node; of more, each line of the user's is."""

_FAR: Final = 40
"""Nodes between a value and its use from which on, in a large graph, its name stands for it."""
_LINE: Final = 48
"""Characters that are shown of a line."""
_OPERANDS: Final = 4
"""Operands up to which numbers among them are written into the node."""
_TITLE: Final = 600
"""Characters that are shown of an equation."""


class Node(NamedTuple):
    """A box."""

    kind: Kind
    text: tuple[str, ...]  # its rows
    title: str  # the whole equation
    slots: int = 1  # how many edges enter it side by side
    ports: tuple[str, ...] = ()  # types of the values that leave it and are used
    group: int | None = None  # index of its line
    # Of a derivative: root mean square of its elements, if it was computed.
    size: float | None = None


class Edge(NamedTuple):
    """A use of a value, from a port of a node to a slot of another; kept for a derivative or not.

    Nodes are given by their indices.
    """

    source: int
    port: int
    target: int
    slot: int
    kept: bool


class Group(NamedTuple):
    """A line of the user's, or its derivative."""

    heading: str
    line: str
    kind: Kind


class Graph(NamedTuple):
    """What is drawn, from inputs to outputs."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]


class Labelled(NamedTuple):
    """A program, what its inputs and outputs are called, and how large values in it are."""

    program: Program
    inputs: Sequence[str]
    outputs: Sequence[str]
    sizes: Mapping[Atom, float]


class _Cell(NamedTuple):
    """Equations that make one node."""

    key: Key
    equations: list[Equation]
    group: int | None


def keys_of(program: Program) -> list[Key]:
    """Return line and kind of every equation.

    What only the derivative of a line needs is noted with its variables; what has no line is a
    derivative if it uses one.
    """
    derived: set[Atom] = {v for v in program.inputs if origin_of(program, v).derived}
    keys: list[Key] = []
    for eq in program.equations:
        origin = origin_of(program, eq.results[0]) if eq.results else UNKNOWN
        place = origin.place and origin.place._replace(function="")
        if origin.derived or (place is None and not derived.isdisjoint(eq.operands)):
            derived.update(eq.results)
            keys.append((place, "derivative"))
        else:
            keys.append((place, "value"))
    return keys


def graph_of(labelled: Labelled) -> Graph:
    """Return the graph of a program: a node for each equation, or, of many, for each line."""
    program = labelled.program
    keys = keys_of(program)
    folded = len(keys) > FOLDED_ABOVE and any(place for place, _ in keys)
    cells, groups = _cells_of_lines(program, keys) if folded else _single(program, keys)
    used = atoms_in_use(program)
    inputs = [
        Node("input", (name,), f"{name}: {v.type}", ports=(str(v.type),) if v in used else ())
        for v, name in zip(program.inputs, labelled.inputs, strict=True)
    ]
    nodes = [*inputs]
    ports = {v: (index, 0) for index, v in enumerate(program.inputs)}
    for cell in cells:
        results = [v for eq in cell.equations for v in eq.results]
        leaving = _leaving(program, cell) if folded else [v for v in results if v in used]
        ports.update({v: (len(nodes), 0 if folded else k) for k, v in enumerate(leaving)})
        texts = (_summary(leaving),) if folded and leaving else tuple(str(v.type) for v in leaving)
        nodes.append((_line_node if folded else _equation_node)(labelled, cell, texts))
    edges = _edges(program, cells, ports)
    for atom, name in zip(program.outputs, labelled.outputs, strict=True):
        size = labelled.sizes.get(atom)
        if isinstance(atom, Var):
            edges.append(Edge(*ports[atom], len(nodes), 0, kept=False))
        text = (name, *_size_row(size)) if isinstance(atom, Var) else (name, str(atom.value))
        nodes.append(Node("output", text, f"{name}: {atom.type}", size=size))
    if len(cells) > FOLDED_ABOVE:
        names = {} if folded else {at: repr(v) for v, at in ports.items()}
        names.update({(k, 0): name for k, name in enumerate(labelled.inputs)})
        _refer(nodes, edges, names)
    return Graph(tuple(nodes), tuple(edges), tuple(groups))


def _refer(nodes: list[Node], edges: list[Edge], names: Mapping[tuple[int, int], str]) -> None:
    """Let long edges come from the names of their values, or lines, as nodes near the uses."""
    for index, (source, port, target, _, _) in enumerate(edges):
        if target - source > _FAR and nodes[target].kind != "output":
            name = names.get((source, port)) or nodes[source].text[0].partition(":")[0]
            type_ = nodes[source].ports[port]
            edges[index] = edges[index]._replace(source=len(nodes), port=0)
            nodes.append(Node("reference", (name,), f"{name}: {type_}", ports=(type_,)))


def _single(program: Program, keys: Sequence[Key]) -> tuple[list[_Cell], list[Group]]:
    """Return a cell for each equation, and the groups of those that follow each other."""
    cells: list[_Cell] = []
    groups: list[Group] = []
    for key, run in groupby(drawing_order(program, keys), key=keys.__getitem__):
        place, kind = key
        if place is not None:
            groups.append(Group(_heading(place, kind), _line_of(place), kind))
        group = len(groups) - 1 if place is not None else None
        cells += [_Cell(key, [program.equations[index]], group) for index in run]
    return cells, groups


def _cells_of_lines(program: Program, keys: Sequence[Key]) -> tuple[list[_Cell], list[Group]]:
    """Return a cell for each line."""
    cells: dict[Key, _Cell] = {}
    for index in drawing_order(program, keys):
        cell = cells.setdefault(keys[index], _Cell(keys[index], [], None))
        cell.equations.append(program.equations[index])
    return list(cells.values()), []


def _leaving(program: Program, cell: _Cell) -> list[Var]:
    """Return the values of a line that others use."""
    inside = {id(eq) for eq in cell.equations}
    outside = {x for eq in program.equations if id(eq) not in inside for x in eq.operands}
    outside.update(program.outputs)
    return [v for eq in cell.equations for v in eq.results if v in outside]


def _edges(
    program: Program, cells: Sequence[_Cell], ports: Mapping[Var, tuple[int, int]]
) -> list[Edge]:
    """Return the uses of values by equations; of those between two lines, one."""
    derived = {v for v in program.inputs if origin_of(program, v).derived}
    for cell in cells:
        if cell.key[1] == "derivative":
            derived.update(v for eq in cell.equations for v in eq.results)
    edges: dict[Edge, None] = {}
    for target, cell in enumerate(cells, len(program.inputs)):
        for eq in cell.equations:
            variables = [x for x in eq.operands if isinstance(x, Var)]
            for slot, x in enumerate(variables):
                source, port = ports.get(x, (target, 0))
                if source != target:
                    kept = cell.key[1] == "derivative" and x not in derived
                    slot = slot if len(cell.equations) == 1 else 0
                    edges[Edge(source, port, target, slot, kept)] = None
    return list(edges)


# ---- texts ---------------------------------------------------------------------------------------


def _equation_node(labelled: Labelled, cell: _Cell, ports: tuple[str, ...]) -> Node:
    (eq,) = cell.equations
    names = [origin_of(labelled.program, v).name for v in eq.results]
    if len(labelled.program.equations) > FOLDED_ABOVE:
        names = list(map(repr, eq.results))
    name = ", ".join(filter(None, names))
    size = _size(labelled, cell)
    rows = [f"{name} = {_operation(eq)}" if name else _operation(eq)]
    count = eq.params.equation_count
    if count:
        rows.append(f"{count} equation{'s' * (count > 1)}")
    slots = max(1, sum(isinstance(x, Var) for x in eq.operands))
    text = (*rows, *_size_row(size))
    return Node(cell.key[1], text, abbreviate(str(eq), _TITLE), slots, ports, cell.group, size)


def _line_node(labelled: Labelled, cell: _Cell, ports: tuple[str, ...]) -> Node:
    place, kind = cell.key
    size, count = _size(labelled, cell), len(cell.equations)
    counted = f"{count} equation{'s' * (count > 1)}"
    rows = [f"{_heading(place, kind)}: {counted}", _line_of(place)] if place else [counted]
    slots = 1 if count > 1 else max(1, sum(isinstance(x, Var) for x in cell.equations[0].operands))
    return Node(kind, (*rows, *_size_row(size)), source_of(place), slots, ports, None, size)


def _operation(eq: Equation) -> str:
    """Return what an equation does, with the numbers among its operands."""
    name = eq.primitive.name
    if isinstance(eq.params, Tap):
        return f"{name} {eq.params.name!r}"
    if isinstance(eq.params, Scan):
        return f"{name} × {eq.params.length}"
    numbers = any(isinstance(x, Number) for x in eq.operands)
    if not numbers or len(eq.operands) > _OPERANDS:
        return name
    told = (f"{x.value:.4g}" if isinstance(x, Number) else "·" for x in eq.operands)
    return f"{name}({', '.join(told)})"


def _summary(leaving: Sequence[Var]) -> str:
    """Return the types of several values."""
    types = {str(v.type) for v in leaving}
    if len(types) > 1:
        return f"{len(leaving)} arrays"
    return f"{types.pop()}{f' × {len(leaving)}' * (len(leaving) > 1)}"


def _heading(place: Place, kind: Kind) -> str:
    return f"derivative of line {place.line}" if kind == "derivative" else f"line {place.line}"


def _line_of(place: Place) -> str:
    return abbreviate(source_of(place), _LINE)


def _size(labelled: Labelled, cell: _Cell) -> float | None:
    """Return the size of the largest derivative that the equations make, if sizes are known."""
    found = [labelled.sizes[v] for eq in cell.equations for v in eq.results if v in labelled.sizes]
    return max(found) if found and cell.key[1] == "derivative" else None


def _size_row(size: float | None) -> tuple[str, ...]:
    return () if size is None else (f"rms {size:.2g}",)
