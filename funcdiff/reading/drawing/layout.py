"""Lays a graph out in layers, from top to bottom: igraph orders each layer, for few crossings.

Lines of the user's are bands of layers of their own, so that they never overlap.  The order
within layers is K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of
Hierarchical System Structures", IEEE Transactions on Systems, Man and Cybernetics 11, 1981.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, TypeAlias

from funcdiff.core.late import require
from funcdiff.reading.drawing.graph import Edge, Graph, Node

Point: TypeAlias = tuple[float, float]

CHARACTER: Final = 7.3
"""Width of a character of a node's text."""
SMALL: Final = 5.5
"""Width of a character of the types on edges."""
ROW: Final = 15.0
"""Height of a row of text."""
_PADDING: Final = 9.0
_APART: Final = 16.0
"""Between neighbours."""
_BELOW: Final = 40.0
"""Between layers."""
_THREAD: Final = 6.0
"""Width of what passes a layer."""
_STIFF: Final = 4.0
"""Weight of what passes a layer, against that of a node: long edges are straight."""
_PULL: Final = 0.08
"""Weight of the middle, so that what is long does not wander off."""
_SWEEPS: Final = 40


class Layout(NamedTuple):
    """Where everything is."""

    boxes: list[tuple[float, float, float, float]]  # of each node: left, top, width, height
    routes: list[list[Point]]  # of each edge: the points that it passes, from its port to its slot
    bands: list[tuple[float, float]]  # of each group: top and bottom
    width: float
    height: float


def layout_of(graph: Graph) -> Layout:
    """Place nodes, edges and lines, with igraph; raise `MissingDependencyError` without it."""
    layers = _layers(graph)
    threaded = _Threaded(graph, layers)
    widths = [_width(node) for node in graph.nodes]
    widths += [_THREAD] * (len(threaded.layers) - len(widths))
    xs = _across(threaded, widths)
    heights = [ROW * len(node.text) + _PADDING for node in graph.nodes]
    tops, bottoms = _down(layers, heights, graph)
    boxes = []
    for index, height in enumerate(heights):
        width = widths[index]
        boxes.append((xs[index] - width / 2, tops[layers[index]], width, height))
    routes = []
    for edge, thread in zip(graph.edges, threaded.threads, strict=True):
        passed = [
            ((xs[k], tops[threaded.layers[k]]), (xs[k], bottoms[threaded.layers[k]]))
            for k in thread
        ]
        routes.append(_route(edge, graph.nodes, boxes, passed))
    bands = [
        (
            min(box[1] for box, node in zip(boxes, graph.nodes, strict=True) if node.group == k),
            max(b[1] + b[3] for b, n in zip(boxes, graph.nodes, strict=True) if n.group == k),
        )
        for k in range(len(graph.groups))
    ]
    right = max((x + w / 2 for x, w in zip(xs, widths, strict=True)), default=0.0)
    return Layout(boxes, routes, bands, right, max(bottoms, default=0.0))


def _width(node: Node) -> float:
    text = max(map(len, node.text)) * CHARACTER + 2 * _PADDING
    return max(text, port_width(node) * len(node.ports))


def port_width(node: Node) -> float:
    """Return how far the ports of a node are apart."""
    return max((len(port) for port in node.ports), default=0) * SMALL + 10


# ---- layers --------------------------------------------------------------------------------------


def _layers(graph: Graph) -> list[int]:
    """Return the layer of each node: below its operands, and below all lines before its own."""
    nodes = graph.nodes
    into: defaultdict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:  # what a line that is repeated hands back to an earlier one goes up
        into[max(edge.source, edge.target)].append(min(edge.source, edge.target))
    layers = [0] * len(nodes)
    base, group = 1, None
    for index, node in enumerate(nodes):
        if node.kind not in ("value", "derivative"):
            continue
        if node.group != group:
            done = [layers[k] for k in range(index) if nodes[k].kind != "input"]
            group, base = node.group, max(done, default=-1) + 2  # a layer for inputs and outputs
        layers[index] = max([base, *(layers[k] + 1 for k in into[index])])
    _place_ends(graph, layers, into)
    used = {layer: place for place, layer in enumerate(sorted(set(layers)))}
    return [used[layer] for layer in layers]


def _place_ends(graph: Graph, layers: list[int], into: dict[int, list[int]]) -> None:
    """Place inputs above the line that first uses them, outputs below the one that makes them."""
    spans: dict[int | None, tuple[int, int]] = {}
    for index, node in enumerate(graph.nodes):
        if node.kind in ("value", "derivative") and node.group is not None:
            low, high = spans.get(node.group, (layers[index], layers[index]))
            spans[node.group] = min(low, layers[index]), max(high, layers[index])
    first: dict[int, int] = {}
    for edge in graph.edges:
        target = graph.nodes[edge.target]
        if target.kind != "output":
            above = spans.get(target.group, (layers[edge.target], 0))[0] - 1
            first[edge.source] = min(first.get(edge.source, above), above)
    for index, node in enumerate(graph.nodes):
        if node.kind in ("input", "reference"):
            layers[index] = max(first.get(index, 0), 0)
        elif node.kind == "output":
            ends = [spans.get(graph.nodes[k].group, (0, layers[k]))[1] + 1 for k in into[index]]
            layers[index] = max(ends, default=max(layers) + 1)


class _Threaded:
    """The graph with edges between neighbouring layers only: longer ones pass points between."""

    def __init__(self, graph: Graph, layers: Sequence[int]) -> None:
        self.layers = list(layers)  # of each node, then of each point
        self.threads: list[list[int]] = []  # the points that each edge passes
        links: dict[tuple[int, int], None] = {}
        points: dict[tuple[int, int, bool, int], int] = {}
        for edge in graph.edges:
            low, high = layers[edge.source], layers[edge.target]
            step = 1 if high >= low else -1
            passed = []
            for layer in range(low + step, high, step):
                key = edge.source, edge.port, edge.kept, layer  # uses of a value share their way
                if key not in points:
                    points[key] = len(self.layers)
                    self.layers.append(layer)
                passed.append(points[key])
            self.threads.append(passed)
            way = [edge.source, *passed, edge.target][::step]
            links.update(dict.fromkeys(pairwise(way)))
        # Pairs of nodes or points in neighbouring layers, the upper one first.
        self.links = list(links)


# ---- coordinates ---------------------------------------------------------------------------------


def _across(threaded: _Threaded, widths: Sequence[float]) -> list[float]:
    """Return the centre of each node and point: near its neighbours, in the order of igraph."""
    count = len(threaded.layers)
    if not count:
        return []
    igraph = require("igraph", "a picture needs igraph", "funcdiff[draw]", "drawing.dot does not.")
    graph = igraph.Graph(n=count, edges=threaded.links, directed=True)
    found = graph.layout_sugiyama(layers=threaded.layers, hgap=1, maxiter=200)
    coordinates = found[0] if isinstance(found, tuple) else found
    order: list[list[int]] = [[] for _ in range(max(threaded.layers) + 1)]
    for index in sorted(range(count), key=lambda k: coordinates[k][0]):
        order[threaded.layers[index]].append(index)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in threaded.links:
        above[lower].append(upper)
        below[upper].append(lower)
    xs = [0.0] * count
    for layer in order:  # as narrow as can be
        packed = _apart([0.0] * len(layer), [widths[k] for k in layer])
        for k, x in zip(layer, packed, strict=True):
            xs[k] = x
    both = [a + b for a, b in zip(above, below, strict=True)]
    for sweep in range(_SWEEPS):
        near = both if sweep > _SWEEPS / 2 else below if sweep % 2 else above
        for layer in order[:: -1 if sweep % 2 else 1]:
            wanted = [_best_place(k, xs, near, both, widths) for k in layer]
            for k, x in zip(layer, _apart(wanted, [widths[k] for k in layer]), strict=True):
                xs[k] = x
    left = min(x - width / 2 for x, width in zip(xs, widths, strict=True))
    return [x - left for x in xs]


def _best_place(
    k: int,
    xs: Sequence[float],
    near: Sequence[list[int]],
    both: Sequence[list[int]],
    widths: Sequence[float],
) -> float:
    """Return where a node stands best: amid its neighbours; a point follows the other points."""
    threads = widths[k] == _THREAD
    around = both[k] if threads else near[k]
    shares = [_STIFF if threads and widths[j] == _THREAD else 1.0 for j in around]
    pulls = [share * xs[j] for share, j in zip(shares, around, strict=True)]
    return sum(pulls) / (sum(shares) + _PULL) if around else xs[k]


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return the centres nearest to those wanted, in order and without overlap.

    The least squares under these conditions are an isotonic regression, found by pooling adjacent
    violators (R. Barlow and others, "Statistical Inference under Order Restrictions", 1972).
    """
    offsets, last = [], 0.0
    for k, width in enumerate(widths):
        gap = _THREAD if width == widths[k - 1] == _THREAD else _APART
        last += (widths[k - 1] + width) / 2 + gap if k else 0.0
        offsets.append(last)
    pools: list[tuple[float, int, float]] = []
    for target, offset, width in zip(wanted, offsets, widths, strict=True):
        mean, size, weight = target - offset, 1, _STIFF if width == _THREAD else 1.0
        while pools and pools[-1][0] > mean:
            other, count, share = pools.pop()
            mean = (mean * weight + other * share) / (weight + share)
            size, weight = size + count, weight + share
        pools.append((mean, size, weight))
    moved = [mean for mean, size, _ in pools for _ in range(size)]
    return [mean + offset for mean, offset in zip(moved, offsets, strict=True)]


def _down(
    layers: Sequence[int], heights: Sequence[float], graph: Graph
) -> tuple[list[float], list[float]]:
    """Return the top and the bottom of each layer."""
    tall = [2 * ROW] * (max(layers, default=-1) + 1)
    for layer, height, node in zip(layers, heights, graph.nodes, strict=True):
        # the text of a line takes two rows
        tall[layer] = max(tall[layer], height, 2 * ROW + 4 if node.group is not None else 0)
    bottoms = [end + _BELOW * k for k, end in enumerate(accumulate(tall))]
    return [bottom - height for bottom, height in zip(bottoms, tall, strict=True)], bottoms


def _route(
    edge: Edge,
    nodes: Sequence[Node],
    boxes: Sequence[tuple[float, float, float, float]],
    passed: Sequence[tuple[Point, Point]],
) -> list[Point]:
    node, (left, top, width, height) = nodes[edge.source], boxes[edge.source]
    middle = (len(node.ports) - 1) / 2
    start = left + width / 2 + (edge.port - middle) * port_width(node), top + height
    left, bottom, width, height = boxes[edge.target]
    if bottom < top:  # upwards, beside the other edges
        between = [point for upper, lower in passed for point in (lower, upper)]
        return [(start[0] + SMALL, top), *between, (left + 0.8 * width, bottom + height)]
    top, slots = bottom, nodes[edge.target].slots
    end = left + width * (edge.slot + 1) / (slots + 1), top
    return [start, *(point for points in passed for point in points), end]
