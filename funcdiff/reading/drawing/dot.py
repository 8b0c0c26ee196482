"""Writes a graph as text for graphviz."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from funcdiff.reading.drawing.graph import Graph, Node
from funcdiff.reading.drawing.svg import COLOURS


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
