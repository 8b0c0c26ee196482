"""Drawings show forward and derivative, what is kept, the user's lines, and fold what is large."""

from __future__ import annotations

import pickle
import sys
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, MissingDependencyError
from funcdiff.reading.drawing.graph import FOLDED_ABOVE, Graph, Node
from funcdiff.reading.drawing.layout import layout_of
from funcdiff.reading.drawing.picture import Drawing

SVG = "{http://www.w3.org/2000/svg}"


def loss(w: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ w)
    return np.sum((hidden - y) ** 2)


ARGUMENTS = np.full((3, 2), 0.1), np.ones((4, 3)), np.ones((4, 2))


def recurrent(w: Any, x: Any) -> Any:
    h = x
    for _ in range(100):
        h = np.tanh(w @ h)
        h = h + 0.1 * x
    return np.sum(h**2)


def product(a: Any, b: Any) -> Any:
    return a * b


def backward(a: Any, b: Any, d: Any) -> Any:
    y, pullback = fd.vjp(product, a, b)
    d_a, d_b = pullback(d)
    return y, d_a, d_b


def of_kind(graph: Graph, kind: str) -> list[Node]:
    return [node for node in graph.nodes if node.kind == kind]


def test_the_backward_graph_of_a_product_keeps_both_factors() -> None:
    graph = fd.draw(backward)(2.0, 3.0, 1.0).graph
    assert [n.text for n in of_kind(graph, "value")] == [("y = mul",)]
    assert {n.text for n in of_kind(graph, "derivative")} == {("d_a = mul",), ("d_b = mul",)}
    kept = {
        (graph.nodes[e.source].text[0], graph.nodes[e.target].text[0])
        for e in graph.edges
        if e.kept
    }
    assert kept == {("a", "d_b = mul"), ("b", "d_a = mul")}
    assert [(group.line, group.kind) for group in graph.groups] == [
        ("return a * b", "value"),
        ("return a * b", "derivative"),
    ]


def test_lines_of_the_derivative_follow_in_reverse() -> None:
    graph = fd.draw(fd.grad(loss))(*ARGUMENTS).graph
    lines = [(g.kind, "hidden = " in g.line) for g in graph.groups]
    assert lines == [("value", True), ("value", False), ("derivative", False), ("derivative", True)]
    assert [n.text for n in of_kind(graph, "output")] == [("d_w",)]
    assert {port for n in of_kind(graph, "input") for port in n.ports} == {
        "f64[3,2]", "f64[4,3]", "f64[4,2]"
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("f", "args"), [
    (fd.grad(loss), ARGUMENTS),
    (fd.hessian(loss), ARGUMENTS),
    (fd.grad(recurrent), (np.full((3, 3), 0.1), np.ones(3))),
    (fd.jit(fd.value_and_grad(np.sum)), (np.ones(0),)),
    (fd.jacobian(np.sin), (np.ones(1, np.float32),)),
    (np.exp, (np.array([1j]),)),
    (lambda x: x, (1.0,)),
    (lambda: 1.0, ()),
])  # fmt: skip
def test_nodes_do_not_overlap_and_texts_are_well_formed(f: Any, args: Any) -> None:
    drawing = fd.draw(f)(*args)
    layout = layout_of(drawing.graph)
    for (x, y, width, height), (u, v, wide, high) in combinations(layout.boxes, 2):
        assert x + width <= u or u + wide <= x or y + height <= v or v + high <= y
    assert all(x >= 0 and x + w <= layout.width + 1e-6 for x, _, w, _ in layout.boxes)
    root = ElementTree.fromstring(drawing.svg)
    assert root.tag == f"{SVG}svg"
    assert drawing.dot.count("{") == drawing.dot.count("}")
    assert "nan" not in drawing.svg


def test_lines_are_bands_that_do_not_overlap() -> None:
    bands = layout_of(fd.draw(fd.grad(loss))(*ARGUMENTS).graph).bands
    assert all(bottom < top for (_, bottom), (top, _) in pairwise(bands))


def test_of_many_equations_each_line_is_a_node() -> None:
    args = np.full((3, 3), 0.1), np.ones(3)
    assert len(fd.trace(fd.grad(recurrent))(*args).equations) > FOLDED_ABOVE
    graph = fd.draw(fd.grad(recurrent))(*args).graph
    assert len(of_kind(graph, "value")) == 2
    assert of_kind(graph, "value")[0].text[0].endswith(": 200 equations")
    assert "f64[3] × 100" in of_kind(graph, "value")[0].ports


def test_loops_and_branches_are_one_node() -> None:
    def f(x: Any) -> Any:
        last, _ = fd.scan(lambda c, _: (np.sin(c) * x, None), x, None, length=5)
        return fd.cond(last > 0, np.sin, np.cos, last)

    texts = [n.text for n in of_kind(fd.draw(f)(1.0).graph, "value")]
    assert ("last = scan × 5", "2 equations") in texts
    assert ("cond", "2 equations") in texts


def test_sizes_are_root_mean_squares_of_derivatives() -> None:
    def f(x: Any) -> Any:
        return np.sum(fd.tap("named", np.exp(x)) ** 2)

    x = np.array([0.5, 1.5])
    graph = fd.draw(fd.tap_grads(f), sizes=True)(x).graph
    (output,) = of_kind(graph, "output")
    assert output.text[0].startswith("result['named']")
    assert output.size == pytest.approx(np.sqrt(np.mean((2 * np.exp(x)) ** 2)))
    assert all(node.size is None for node in of_kind(graph, "value"))
    infinite = fd.draw(fd.grad(lambda x: np.sum(np.sqrt(x))), sizes=True)
    with np.errstate(divide="ignore"):
        assert "rgb(255, 90, 100)" in infinite(np.zeros(2)).svg


def test_a_program_is_drawn_and_shows_in_a_notebook() -> None:
    program = fd.trace(loss)(*ARGUMENTS)
    drawing = fd.draw(program)()
    assert {n.kind for n in drawing.graph.nodes} == {"input", "value", "output"}
    assert drawing.svg in program._repr_html_()
    large = fd.trace(recurrent)(np.ones((3, 3)), np.ones(3))
    assert large._repr_html_().startswith("<pre>program(%0")


@pytest.mark.slow
def test_long_edges_of_a_large_program_are_cut() -> None:
    program = fd.trace(fd.grad(recurrent))(np.ones((3, 3)), np.ones(3))
    graph = fd.draw(program)().graph
    references = {n.text[0] for n in of_kind(graph, "reference")}
    made = {n.text[0].partition(" = ")[0] for n in of_kind(graph, "value")}
    assert references <= made | {"%0", "%1"}
    assert len(references) > 100
    assert layout_of(graph).width < 5000


def test_a_drawing_is_of_concrete_arrays() -> None:
    with pytest.raises(InputError, match="draw show a call with concrete arrays"):
        fd.trace(lambda x: fd.draw(np.sin)(x))(1.0)
    with pytest.raises(InputError, match=r"fd\.draw takes a function"):
        fd.draw(3)  # type: ignore[call-overload]


def test_a_program_with_operands_has_sizes_of_its_results() -> None:
    program = fd.trace(lambda x: 3.0 * x)(1.0)
    (output,) = of_kind(fd.draw(program, sizes=True)(np.float64(2.0)).graph, "output")
    assert output.size == 6.0


def test_texts_of_the_users_are_escaped() -> None:
    def f(x: Any) -> Any:
        return x * {"<&>": 2}["<&>"]

    drawing = fd.draw(f)(np.ones(2))
    texts = {element.text for element in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text")}
    assert 'return x * {"<&>": 2}["<&>"]' in texts
    assert r"return x * {\"<&>\": 2}[\"<&>\"]" in drawing.dot


def test_drawings_are_saved_and_pickled(tmp_path: Path) -> None:
    drawing = fd.draw(loss)(*ARGUMENTS)
    for kind in ("svg", "dot"):
        drawing.save(tmp_path / f"loss.{kind}")
        assert (tmp_path / f"loss.{kind}").read_text("utf-8") == getattr(drawing, kind)
    with pytest.raises(InputError, match=r"saved as .svg or .dot"):
        drawing.save(tmp_path / "loss.png")
    again: Drawing = pickle.loads(pickle.dumps(drawing))
    shown = drawing._repr_mimebundle_()
    assert (again.svg, repr(again)) == (shown["image/svg+xml"], shown["text/plain"])
    assert drawing.svg in shown["text/html"]


def test_without_igraph_there_is_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    drawing = fd.draw(loss)(*ARGUMENTS)
    assert drawing.dot.startswith('digraph "loss"')
    (shown,) = drawing._repr_mimebundle_().values()  # a notebook shows no tracebacks
    assert shown.startswith(f"{drawing!r}\na picture needs igraph, which is not installed")
    with pytest.raises(MissingDependencyError, match=r"funcdiff\[draw\]"):
        _ = drawing.svg
    assert fd.trace(loss)(*ARGUMENTS)._repr_html_().startswith("<pre>program(%0: f64[3,2]")
