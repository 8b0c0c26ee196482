"""The drawing of a call, as SVG and as text for graphviz, and how programs show in notebooks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.tracing import Trace
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.computed import computed
from funcdiff.core.evaluate import evaluate
from funcdiff.core.program import Program
from funcdiff.errors import InputError, MissingDependencyError, user_location
from funcdiff.reading.drawing.dot import dot
from funcdiff.reading.drawing.graph import FOLDED_ABOVE, Graph, Labelled, graph_of
from funcdiff.reading.drawing.svg import svg
from funcdiff.reading.labels import origin_of


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

    def _repr_svg_(self) -> str:
        return self.svg

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
    return {v: root_mean_square(x) for v, x in zip(results, values, strict=True) if _is_number(v)}


def _is_number(v: Var) -> bool:
    return v.type.dtype.kind in "fc"


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
        try:
            return drawing_of("program", program)._repr_html_()
        except MissingDependencyError:
            pass
    return f"<pre>{escape(str(program))}</pre>"
