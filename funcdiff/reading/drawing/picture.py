"""The drawing of a call, as SVG and as text for graphviz, and how programs show in notebooks."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from math import isfinite, log10
from pathlib import Path
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.tracing import Trace
from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.late import computed
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import evaluate
from funcdiff.errors import InputError, MissingDependencyError, user_location
from funcdiff.reading.drawing.graph import FOLDED_ABOVE, Edge, Graph, Kind, Labelled, Node, graph_of
from funcdiff.reading.drawing.layout import CHARACTER, ROW, SMALL, Layout, layout_of, port_width
from funcdiff.reading.provenance import origin_of

# ---- Writes a graph as SVG: source lines at the left, as bands, and the graph beside them --------


COLOURS: Final[dict[Kind, tuple[str, str]]] = {
    "input": ("#ffffff", "#5b6270"),
    "value": ("#d6e6f7", "#1f5f9e"),
    "derivative": ("#fde3cf", "#b3500f"),
    "output": ("#ffffff", "#1c1e21"),
    "reference": ("#ffffff", "#b4bac4"),
}
"""Inside and border of the nodes of a kind."""

_BANDS: Final[dict[Kind, str]] = {"value": "#f3f7fc", "derivative": "#fef7f1"}
_MARGIN: Final = 14.0
_BAND: Final = 12.0
"""How far a band reaches beyond its nodes."""
_DECADES: Final = 1, 8
"""Powers of ten, at least and at most, over which the colour of derivatives fades to white."""
_FONT: Final = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def svg(graph: Graph, name: str) -> str:
    """Write the picture as an SVG file, with igraph; raise `MissingDependencyError` without it."""
    layout = layout_of(graph)
    column = max((max(len(g.heading), len(g.line)) for g in graph.groups), default=0) * CHARACTER
    left = _MARGIN + (column * 0.95 + 3 * _MARGIN if graph.groups else 0.0)
    legend = _legend(graph)
    right = max(layout.width + left, sum(len(text) * CHARACTER + 60 for _, text, _ in legend))
    width, height = right + _MARGIN, layout.height + 2 * _MARGIN + _BAND + (30 if legend else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" font-family="{_FONT}" font-size="12">',
        f"<title>{escape(name)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="6" fill="#ffffff"/>',
        f'<g transform="translate(0 {_MARGIN + _BAND / 2:.1f})">',
        *_bands(graph, layout, width),
        f'<g transform="translate({left:.1f} 0)">',
        *_routes(graph, layout),
        *_nodes(graph, layout),
        "</g></g>",
        *_legend_text(legend, height - 16),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bands(graph: Graph, layout: Layout, width: float) -> Iterator[str]:
    for group, (top, bottom) in zip(graph.groups, layout.bands, strict=True):
        high = max(bottom - top, 2 * ROW + 4)
        yield (
            f'<rect x="{_MARGIN / 2}" y="{top - _BAND / 2:.1f}" width="{width - _MARGIN:.1f}" '
            f'height="{high + _BAND:.1f}" rx="5" fill="{_BANDS[group.kind]}"/>'
        )
        colour = COLOURS[group.kind][1]
        yield (
            f'<text x="{_MARGIN}" y="{top + 12:.1f}" fill="{colour}" font-size="11">'
            f"{escape(group.heading)}</text>"
        )
        yield (
            f'<text x="{_MARGIN}" y="{top + 12 + ROW:.1f}" fill="#1c1e21">'
            f"{escape(group.line)}</text>"
        )


def _routes(graph: Graph, layout: Layout) -> Iterator[str]:
    """Draw the edges, those that are kept above the others."""
    drawn = zip(graph.edges, layout.routes, strict=True)
    for edge, route in sorted(drawn, key=lambda pair: pair[0].kept):
        style = f'stroke="{_colour(graph.nodes, edge)}" stroke-width="{3.2 if edge.kept else 1.2}"'
        yield f'<path d="{_smooth(route)}" fill="none" {style}/>'
        x, y = route[-1]
        back = -7 if y > route[0][1] else 7
        yield (
            f'<path d="M{x:.1f} {y:.1f} l-3.5 {back} h7 z" fill="{_colour(graph.nodes, edge)}"/>'
        )


def _colour(nodes: Sequence[Node], edge: Edge) -> str:
    if edge.kept:
        return COLOURS["value"][1]
    return COLOURS["derivative"][1] if nodes[edge.source].kind == "derivative" else "#7d8694"


def _smooth(route: Sequence[tuple[float, float]]) -> str:
    """Return a path that is vertical at all the points."""
    (x, y), parts = route[0], [f"M{route[0][0]:.1f} {route[0][1]:.1f}"]
    for to_x, to_y in route[1:]:
        bend = (to_y - y) / 2
        parts.append(f"C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return " ".join(parts)


def _nodes(graph: Graph, layout: Layout) -> Iterator[str]:
    sizes = [n.size for n in graph.nodes if n.size and isfinite(n.size)] or [1.0]
    for node, (x, y, width, height) in zip(graph.nodes, layout.boxes, strict=True):
        fill, border = COLOURS[node.kind]
        round_ = height / 2 if node.kind not in ("value", "derivative") else 4
        thick = 2 if node.kind == "output" else 1.2
        fill = fill if node.size is None else heat(node.size, min(sizes), max(sizes))
        yield (
            f"<g><title>{escape(node.title)}</title>"
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{round_:.1f}" fill="{fill}" stroke="{border}" stroke-width="{thick}"/>'
        )
        for k, row in enumerate(node.text):
            yield (
                f'<text x="{x + width / 2:.1f}" y="{y + 16 + ROW * k:.1f}" '
                f'text-anchor="middle" fill="#1c1e21">{escape(row)}</text>'
            )
        for k, port in enumerate(node.ports):
            at = x + width / 2 + (k - (len(node.ports) - 1) / 2) * port_width(node) + 4
            text = f'<text x="{at:.1f}" y="{y + height + 11:.1f}" font-size="9" fill="#5b6270"'
            yield f'{text} stroke="#ffffff" stroke-width="3">{escape(port)}</text>'
            yield f"{text}>{escape(port)}</text>"
        yield "</g>"


def heat(size: float, smallest: float, largest: float) -> str:
    """Return the colour of a derivative of some size: white where it is small, red if not finite.

    >>> heat(1.0, 1e-6, 1.0), heat(0.0, 1e-6, 1.0), heat(float("nan"), 1e-6, 1.0)
    ('rgb(240, 140, 60)', 'rgb(255, 255, 255)', 'rgb(255, 90, 100)')
    """
    if not isfinite(size):
        return "rgb(255, 90, 100)"
    decades = min(max(log10(largest) - log10(smallest), _DECADES[0]), _DECADES[1])
    share = 1 + (log10(size) - log10(largest)) / decades if size else 0.0
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (round(255 - share * (255 - c)) for c in (240, 140, 60))
    return f"rgb({red}, {green}, {blue})"


_Sign = tuple[str, str, str]


def _legend(graph: Graph) -> list[_Sign]:
    """Return the signs that need to be told: shape, meaning, colour."""
    kinds = {node.kind for node in graph.nodes}
    if "derivative" not in kinds:
        return []
    signs: list[_Sign] = [
        ("box", kind, COLOURS[kind][0]) for kind in ("value", "derivative") if kind in kinds
    ]
    if any(edge.kept for edge in graph.edges):
        signs.append(("line", "value that the derivative uses", COLOURS["value"][1]))
    return signs


def _legend_text(signs: Sequence[_Sign], y: float) -> Iterator[str]:
    x = _MARGIN
    for shape, text, colour in signs:
        high = 12 if shape == "box" else 3.2
        yield (
            f'<rect x="{x:.1f}" y="{y - high / 2:.1f}" width="22" height="{high}" rx="2" '
            f'fill="{colour}" stroke="#5b6270" stroke-width="{0.6 if shape == "box" else 0}"/>'
            f'<text x="{x + 28:.1f}" y="{y + 4:.1f}" font-size="11" fill="#1c1e21">{text}</text>'
        )
        x += 28 + len(text) * SMALL * 1.25 + 24


# ---- Writes a graph as text for graphviz ---------------------------------------------------------


def dot(graph: Graph, name: str) -> str:
    """Return the graph in graphviz's language, its lines as clusters."""
    head = [
        f"digraph {_quote(name)} {{",
        '  node [shape=box, style="filled,rounded", fontname=monospace, fontsize=11];',
        "  edge [fontname=monospace, fontsize=9];",
    ]
    members: defaultdict[int | None, list[str]] = defaultdict(list)
    for index, node in enumerate(graph.nodes):
        members[node.group].append(_node(index, node))
    clusters = []
    for index, group in enumerate(graph.groups):
        label = _quote(f"{group.heading}\n{group.line}")
        clusters += [
            f"  subgraph cluster_{index} {{",
            f'    label={label}; labeljust=l; style="filled,rounded"; color="#f4f4f6"; '
            'fontname=monospace; fontsize=10; fontcolor="#5b6270";',
            *(f"    {line}" for line in members[index]),
            "  }",
        ]
    alone = [f"  {line}" for line in members[None]]
    return "\n".join([*head, *clusters, *alone, *_edges(graph), "}", ""])


def _node(index: int, node: Node) -> str:
    fill, border = COLOURS[node.kind]
    shape = ", shape=ellipse" if node.kind not in ("value", "derivative") else ""
    return (
        f"n{index} [label={_quote(chr(10).join(node.text))}, tooltip={_quote(node.title)}, "
        f'fillcolor="{fill}", color="{border}"{shape}];'
    )


def _edges(graph: Graph) -> Iterator[str]:
    for edge in graph.edges:
        style = f', penwidth=3, color="{COLOURS["value"][1]}"' if edge.kept else ""
        label = _quote(graph.nodes[edge.source].ports[edge.port])
        yield f"  n{edge.source} -> n{edge.target} [label={label}{style}];"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """What `draw` returns: the graph of a call.

    Attributes
    ----------
    name
        What was called.
    graph
        Nodes, edges and lines, as data.
    """

    name: str
    graph: Graph

    @computed
    def svg(self) -> str:
        """The picture, as the text of an SVG file; it needs igraph."""
        return svg(self.graph, self.name)

    @computed
    def dot(self) -> str:
        """The graph as text for graphviz, which needs nothing."""
        return dot(self.graph, self.name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file.

        Parameters
        ----------
        path
            Name of the file, which ends in ``.svg`` or ``.dot``.
        """
        kind = Path(path).suffix
        if kind not in (".svg", ".dot"):
            raise InputError(
                f"a drawing is saved as .svg or .dot, got {os.fspath(path)!r}, at "
                f'{user_location()}: write drawing.save("program.svg").'
            )
        Path(path).write_text(self.svg if kind == ".svg" else self.dot, encoding="utf-8")

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        try:
            pictures = {"text/html": self._repr_html_(), "image/svg+xml": self.svg}
        except MissingDependencyError as error:
            return {"text/plain": f"{self!r}\n{error}"}
        return {"text/plain": repr(self)} | pictures

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto">{self.svg}</div>'

    def __repr__(self) -> str:
        nodes, groups = len(self.graph.nodes), len(self.graph.groups)
        lines = f" in {groups} lines" if groups else ""
        return f"<drawing of {self.name}: {nodes} nodes{lines}; see .svg, .dot, .save>"


def drawing_of(
    name: str,
    program: Program,
    *,
    captured: Sequence[str] = (),
    trace: Trace | None = None,
    sizes: Mapping[Atom, float] | None = None,
) -> Drawing:
    """Draw a program, whose variables have origins where these are known.

    The trace that it was made from says how the outputs are arranged; `captured` are the names of
    the last inputs, of which no origin speaks, and `sizes` those of values.
    """
    inputs = [origin_of(program, v).name for v in program.inputs]
    for k, word in enumerate(captured, len(inputs) - len(captured)):
        inputs[k] = inputs[k] or word
    inputs = [word or repr(v) for word, v in zip(inputs, program.inputs, strict=True)]
    paths = [""] * len(program.outputs)
    if trace is not None:
        leaves = zip(pytree.paths(trace.structure), trace.numeric, strict=True)
        numeric = [path for path, is_output in leaves if is_output]
        paths[: len(numeric)] = numeric
    elif len(paths) > 1:
        paths = [f"[{k}]" for k in range(len(paths))]
    known = set(program.inputs)
    outputs = [
        _output_name(program, atom, path, is_input=atom in known)
        for atom, path in zip(program.outputs, paths, strict=True)
    ]
    return Drawing(name, graph_of(Labelled(program, inputs, outputs, sizes or {})))


def _output_name(program: Program, atom: Atom, path: str, *, is_input: bool) -> str:
    name = "" if is_input or isinstance(atom, Literal) else origin_of(program, atom).name
    return name if name and not path else f"result{path}" + (f" = {name}" if name else "")


def sizes_of(program: Program, operands: Sequence[Any]) -> dict[Atom, float]:
    """Return the root mean square of every derivative in a program that is run."""
    results = tuple(v for eq in program.equations for v in eq.results)
    opened = Program(program.inputs, program.equations, results, program.origins)
    values = evaluate(opened, operands)
    return {
        v: root_mean_square(x)
        for v, x in zip(results, values, strict=True)
        if v.type.dtype.kind in "fc"
    }


def root_mean_square(value: Any) -> float:
    """Return the root mean square, scaled so that nothing overflows."""
    x = np.abs(np.asarray(value)).astype(np.float64)
    largest = float(x.max(initial=0.0))
    if not largest or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean((x / largest) ** 2)))


def program_html(program: Program) -> str:
    """Return how a program shows in a notebook: drawn if igraph is there, or else its text."""
    if program.origins is not None or len(program.equations) <= FOLDED_ABOVE:
        with suppress(MissingDependencyError):
            return drawing_of("program", program)._repr_html_()
    return f"<pre>{escape(str(program))}</pre>"
