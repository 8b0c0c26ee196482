"""Explanations name the line of what is not finite, and kinks, and raise no false alarm."""

from __future__ import annotations

import itertools
import re
import sys
from dataclasses import FrozenInstanceError
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, LostDerivativeError, OutputError
from funcdiff.reading.explanation.report import Report
from tests.patterns.pattern import Pattern, weights
from tests.patterns.test_patterns import PATTERNS, of_floats
from tests.reading.planted import PLANTED, Planted, X

# ---- faults --------------------------------------------------------------------------------------


@pytest.mark.thinned(2)
@pytest.mark.parametrize("case", PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found_in_its_line(case: Planted) -> None:
    report = fd.explain(fd.grad(case.f))(*case.args)
    if case.finding == "masked":
        assert not report.faults
        found: Any = report.masked[0]
    elif case.finding == "advice":
        assert not report.faults
        (found,) = report.advice
    else:
        found = report.faults[0]
        assert found.kind == case.finding
    assert found.place.file == __file__.replace("test_explain", "planted")
    assert found.place.line == case.line


@pytest.mark.parametrize("transform", [
    fd.value_and_grad,
    fd.jacobian,
    fd.hessian,
    fd.jit,
    lambda f: fd.jit(fd.grad(f)),
    lambda f: fd.grad(fd.jit(f)),
    lambda f: lambda x: fd.vjp(f, x)[1](1.0),
    lambda f: lambda x: fd.jvp(f, (x,), (np.ones_like(x),)),
    lambda f: f,
])  # fmt: skip
def test_a_fault_of_the_value_is_found_through_every_transform(transform: Any) -> None:
    case = PLANTED["logarithm_of_zero"]
    fault = fd.explain(transform(case.f))(*case.args).faults[0]
    assert (fault.kind, fault.place and fault.place.line) == ("value", case.line)
    assert (fault.expression, fault.found, fault.index) == ("np.log(y)", "-inf", (1,))
    assert fault.operands == (("y", "0"),)


def test_faults_of_the_value_come_first_and_those_of_the_derivative_from_behind() -> None:
    def f(x: Any) -> Any:
        first = np.sqrt(x)
        second = np.cbrt(x)
        return np.sum(first + second)

    first, second = fd.explain(fd.grad(f))(np.array([0.0, 1.0])).faults
    assert first.place is not None
    assert second.place is not None
    assert first.place.line == second.place.line + 1

    def g(x: Any) -> Any:
        return np.sum(np.sqrt(x) + np.log(x))

    kinds = [fault.kind for fault in fd.explain(fd.grad(g))(np.array([0.0, 1.0])).faults]
    assert kinds == ["value", "derivative", "derivative"]


def test_a_fault_in_a_late_iteration_of_a_long_loop_is_found() -> None:
    def f(x: Any) -> Any:
        def step(level: Any, _: Any) -> Any:
            lower = level - 1.0
            return lower, np.sqrt(lower)

        return np.sum(fd.scan(step, x, np.arange(200.0))[1])

    for function in (f, fd.grad(f)):
        fault = fd.explain(function)(150.5).faults[0]
        assert (fault.kind, fault.expression) == ("value", "np.sqrt(lower)")
        assert fault.operands == (("lower", "-0.5"),)


def test_what_was_given_is_named() -> None:
    table = np.array([1.0, np.inf])
    (fault,) = fd.explain(lambda x, y: np.sum(x * y))(np.array([1.0, np.nan]), np.ones(2)).faults
    assert (fault.kind, fault.expression, fault.found, fault.index) == (
        "argument",
        "x",
        "nan",
        (1,),
    )
    (fault,) = fd.explain(lambda x: np.sum(x * table))(np.ones(2)).faults
    assert (fault.kind, fault.expression, fault.found) == ("argument", "table", "inf")


def test_what_is_not_finite_but_does_not_reach_the_result_is_no_fault() -> None:
    def attention(scores: Any) -> Any:
        masked = np.where(np.arange(4) < 3, scores, -np.inf)
        shifted = np.exp(masked - np.max(masked))
        return np.sum(shifted / np.sum(shifted) * np.arange(4.0))

    def dropped(x: Any) -> Any:
        return np.sum(np.sqrt(x)[x >= 0][2:])

    for f in (attention, dropped, fd.grad(attention), fd.grad(dropped)):
        assert not fd.explain(f)(X).faults


@pytest.mark.parametrize("chosen", [
    lambda root: np.where(np.arange(3) > 0, root, 0.0),
    lambda root: root[1:],
    lambda root: root[[1, 2, 2]],
    lambda root: root[:, None].T[:, 1:],
    lambda root: np.broadcast_to(root, (2, 3))[:, ::2][:, 1],
    lambda root: np.sum(np.stack([root, root]), axis=0)[1:],
])  # fmt: skip
def test_the_element_is_one_that_reaches_the_result(chosen: Any) -> None:
    def f(x: Any) -> Any:
        root = np.sqrt(x)
        return np.sum(chosen(root))

    x = np.array([-1.0, 1.0, -3.0])
    (fault,) = fd.explain(f)(x).faults
    assert (fault.index, fault.count, fault.operands) == ((2,), 1, (("x", "-3"),))
    assert {fault.index for fault in fd.explain(fd.grad(f))(x).faults} == {(2,)}


def test_an_opaque_function_is_called_as_often_as_by_the_call() -> None:
    calls: list[float] = []

    def slow(x: Any) -> Any:
        calls.append(float(x))
        return np.sin(x)

    opaque = fd.primitive(slow, result=lambda x: x)
    assert not fd.explain(fd.grad(lambda x, y: opaque(y) * x))(0.5, 2.0).faults
    assert calls == [2.0]


# ---- clean calls ---------------------------------------------------------------------------------


@pytest.mark.thinned(40)
@pytest.mark.parametrize(("family", "p"), PATTERNS[::3])
def test_a_clean_call_has_no_fault_and_needs_no_advice(family: str, p: Pattern) -> None:
    function, xs = of_floats(p, p.values())
    cotangents = weights(function(*xs))

    def weighted(*xs: Any) -> Any:
        pairs = zip(cotangents, function(*xs), strict=True)
        return sum(np.sum(np.real(w * y)) for w, y in pairs)

    places = tuple(range(len(xs)))
    report = fd.explain(fd.grad(weighted, argnums=places))(*xs)
    assert not report.faults
    assert str(report)
    assert all(advice.about.startswith("the argument") for advice in report.advice)
    if report.advice:  # what is overwritten, say
        gradients = fd.grad(weighted, argnums=places)(*xs)
        assert len(report.advice) == sum(not np.any(g) for g in gradients)


# ---- kinks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("f", "x", "operation", "met", "near", "index"), [
    (np.abs, X, "absolute", 1, 0, (1,)),
    (np.abs, X.astype(np.float32), "absolute", 1, 0, (1,)),
    (np.abs, 0.0, "absolute", 1, 0, ()),
    (np.abs, np.array([1e-14, 2.0, 0.0]), "absolute", 1, 1, (2,)),
    (np.abs, np.array([1.0, 1e-14]), "absolute", 0, 1, (1,)),
    (np.abs, np.array([0.0]), "absolute", 1, 0, (0,)),
    (fd.nn.relu, X, "maximum", 1, 0, (1,)),
    (lambda x: np.clip(x, -1, 3), X, "maximum", 1, 0, (3,)),
    (lambda x: np.maximum(x, x[::-1] * 2), np.array([1.0, 5.0, 0.5]), "maximum", 1, 0, (0,)),
    (np.max, np.array([3.0, 1.0, 3.0]), "reduce_max", 1, 0, ()),
    (lambda x: np.min(x, axis=0), np.array([[1.0, 2], [1, 3]]), "reduce_min", 1, 0, (0,)),
    (np.sort, np.array([2.0, 1.0, 2.0]), "sort", 1, 0, (1,)),
    (np.median, np.array([2.0, 1.0, 2.0, 0.0]), "order_statistics", 1, 0, (1,)),
    (np.linalg.norm, np.zeros(3), "root_of_squares", 1, 0, ()),
    (np.std, np.ones(3), "root_of_squares", 1, 0, ()),
    (np.floor, np.array([0.5, 2.0]), "floor", 1, 0, (1,)),
    (np.round, np.array([0.5, 2.0]), "rint", 1, 0, (0,)),
    (np.trunc, np.array([0.0, 2.5, 3.0]), "trunc", 1, 0, (2,)),
    (lambda x: x % 2, np.array([1.5, 4.0]), "remainder", 1, 0, (1,)),
    (np.maximum.accumulate, np.array([1.0, 3.0, 3.0]), "running_maximum", 1, 0, (1,)),
    (lambda x: np.where(x > 0, x, 0.1 * x), X, "greater", 1, 0, (1,)),
    (lambda x: fd.cond(True, np.abs, np.sin, x), X, "absolute", 1, 0, (1,)),
    (lambda x: fd.cond(x[1] > 0, np.exp, np.sin, x), X, "greater", 1, 0, ()),
    (lambda x: (x > 0) * x, X, "greater", 1, 0, (1,)),
    (lambda x: (x * 2)[np.argmax(x)], np.array([1.0, 3.0, 3.0]), "argmax", 1, 0, ()),
    (lambda x: (x * 2)[np.argmin(x)], np.array([1.0, 3.0, 1.0]), "argmin", 1, 0, ()),
    (lambda x: np.arange(3.0)[np.argsort(x)] * x, np.array([2.0, 1.0, 2.0]), "argsort", 1, 0, (1,)),
    (lambda x: np.interp(x, [0.0, 1, 2], [0.0, 1, 0]), np.array([0.5, 1.0]), "searchsorted",
     1, 0, (1,)),
])  # fmt: skip
def test_a_kink_is_counted(
    f: Any, x: Any, operation: str, met: int, near: int, index: tuple[int, ...]
) -> None:
    (kink,) = fd.explain(fd.grad(lambda x: np.sum(f(x) * 2.0)))(x).kinks
    assert (kink.operation, kink.met, kink.near, kink.index) == (operation, met, near, index)
    assert kink.convention


def test_only_kinks_that_the_derivative_goes_through_count() -> None:
    data = np.array([0.0, 1.0])

    def f(x: Any, y: Any) -> Any:
        scale = np.sum(np.abs(y)) + np.sum(np.maximum(data, 0.0)) + np.abs(np.floor(x[0] / 3))
        return np.sum(np.sin(x) * scale + np.abs(fd.stop_gradient(x - 1))) + np.sum(
            np.maximum(x, x)
        )

    assert not fd.explain(fd.grad(f))(np.array([1.0, 2.0]), data).kinks
    assert len(fd.explain(fd.grad(f, argnums=1))(np.array([1.0, 2.0]), data).kinks) == 1


@pytest.mark.parametrize("x", [np.zeros(0), np.ones((2, 0)), np.asfortranarray(np.ones((2, 3)))])
def test_any_size_and_layout_is_explained(x: Any) -> None:
    def f(x: Any) -> Any:
        bent = np.maximum(x[..., ::-1], 0.5) + np.sort(x.T, axis=0).T * np.cumsum(x, axis=-1)
        return np.sum(np.where(bent > 3, bent, np.floor(x)))

    assert not fd.explain(fd.grad(f))(x).faults


# ---- advice --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("f", "x"), [
    (lambda x: np.log(1 + x), np.array([0.0, 1e-3])),
    (lambda x: np.exp(x) - 1, np.array([0.0, -1e-3])),
    (lambda x: np.log1p(x) + np.expm1(x), np.array([1e-12])),
    (lambda x: np.mean(x**2) - np.mean(x) ** 2, X),
    (lambda x: np.linalg.inv(np.outer(x, x) + np.eye(4)) @ x, X),
    (lambda x: np.linalg.inv(np.diag(x) + np.eye(40)), np.ones(40)),
    (lambda x: np.sum(x), np.full(200_000, 0.1, np.float32)),
    (lambda x: np.sum(x, axis=0), np.full((200_000, 2), 0.1)),
])  # fmt: skip
def test_a_formula_that_does_no_harm_is_left_alone(f: Any, x: Any) -> None:
    assert not fd.explain(fd.grad(lambda x: np.sum(f(x))))(x).advice


def test_an_argument_without_influence_is_named() -> None:
    def f(params: Any, y: Any) -> Any:
        return np.sum(params["w"] * y)

    params = {"w": np.ones(2), "b": np.ones(2)}
    (advice,) = fd.explain(fd.grad(f))(params, np.ones(2)).advice
    assert (advice.about, advice.place) == ("the argument b", None)


# ---- the report ----------------------------------------------------------------------------------


def noted(x: Any) -> Any:
    text = "<script>&amp;"
    y = np.abs(x) if text > "<b>" else x
    return np.sum(np.sqrt(y))


def test_costs_are_those_of_cost_by_line() -> None:
    first = noted.__code__.co_firstlineno
    for x in (X, np.abs(X) + 1.0):
        report = fd.explain(fd.grad(noted))(x)
        value = fd.cost(noted)(x)  # which is looked at, too
        assert sum(line.flops[0] for line in report.lines) == value.flops
        assert sum(line.bytes[0] for line in report.lines) == value.bytes
        sums = {line.place.line: line.flops for line in report.lines if line.place}
        assert sums.keys() == {first + 2, first + 3}
        assert sums[first + 2] == (len(X), 2 * len(X))
        assert sums[first + 3][0] == 5 * len(X)  # roots and their sum
        assert sums[first + 3][1] >= 4 * len(X)
        assert all(second >= 0 for line in report.lines for second in line.seconds)


def test_expressions_in_advice_mean_what_is_written() -> None:
    def f(x: Any, a: Any) -> Any:
        spread = np.mean((x + 1e8) ** 2) - np.mean(x + 1e8) ** 2
        solved = np.linalg.inv(a) @ (x[:2] + 1.0)
        row = a[1:2, :].sum() * x[2]
        return spread + np.sum(solved) + np.log(1 + 1e-12 * x[1]) + row

    report = fd.explain(fd.grad(f))(np.array([1.0, 2.0, 3.0]), np.diag([1.0, 1e-12]))
    assert [(advice.about, advice.instead) for advice in report.advice] == [
        ("np.mean((x + 100000000.0)**2) - np.mean(x + 100000000.0)**2", "np.var(x + 100000000.0)"),
        ("np.linalg.inv(a) @ (x[:2] + 1.0)", "np.linalg.solve(a, x[:2] + 1.0)"),
        ("np.log(1 + 1e-12 * x[1])", "np.log1p(1e-12 * x[1])"),
    ]
    assert report.advice[2].reason.startswith("it is as small as")


@pytest.mark.parametrize(("part", "text"), [
    (lambda x: x[2], "x[2]"),
    (lambda x: x[-1, 1], "x[2, 1]"),
    (lambda x: x[:, 0], "x[:, 0]"),
    (lambda x: x[1:], "x[1:]"),
    (lambda x: x[2:], "x[2:]"),
    (lambda x: x[1:2, ::2], "x[1:2, ::2]"),
])  # fmt: skip
def test_a_part_of_an_array_is_written_as_it_was_taken(part: Any, text: str) -> None:
    (fault,) = fd.explain(fd.grad(lambda x: np.sum(np.sqrt(part(x)))))(np.zeros((3, 4))).faults
    assert fault.expression == f"0.5 / np.sqrt({text})"


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass between any two looks at the clock."""
    clock = itertools.count().__next__
    monkeypatch.setattr("funcdiff.reading.explanation.sweep.perf_counter", clock)


@pytest.mark.usefixtures("ticking")
def test_the_time_of_a_loop_is_that_of_its_lines() -> None:
    def f(x: Any) -> Any:
        def step(level: Any, row: Any) -> Any:
            level = np.sin(level) + row
            return level, level

        return np.sum(fd.scan(step, np.zeros(2000), x)[1])

    lines = fd.explain(fd.grad(f))(np.ones((40, 2000))).lines
    assert lines[0].place is not None
    assert lines[0].place.line == f.__code__.co_firstlineno + 2
    assert min(lines[0].seconds) > 0


class _Page(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {"src", "href"}.intersection(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_one_file_that_needs_nothing_and_runs_nothing(tmp_path: Path) -> None:
    report = fd.explain(fd.grad(noted))(X)
    report.save(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert "script" not in page.tags
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'text = "<script>&amp;"' in page.text
    for line in ("y = np.abs(x)", "the derivative 0.5 / ", "np.abs(x): 1 on the kink"):
        assert line in page.text
    assert report._repr_html_() in text


def test_a_page_is_made_of_lines_that_are_not_in_a_file() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return np.sum(np.log(x))", names)
    f: Any = names["f"]
    report = fd.explain(f)(X)
    assert report.faults
    assert "np.log(x)" in report._repr_html_()


def test_a_report_is_immutable_and_says_so_if_all_is_well() -> None:
    report = fd.explain(noted)(np.ones(2))
    assert isinstance(report, Report)
    assert str(report).startswith("noted: all is well")
    assert repr(report) == str(report)
    with pytest.raises(FrozenInstanceError):
        report.name = ""  # type: ignore[misc]


def test_explain_is_refused_inside_a_trace() -> None:
    with pytest.raises(InputError, match="while something is traced"):
        fd.grad(lambda x: len(fd.explain(np.sin)(x).faults) * x)(1.0)


# ---- of a gradient, and of a call that takes one ------------------------------------------------


def relu_with_waste(x: Any, y: Any) -> Any:
    first = np.log(1 + 1e-12 * np.abs(x))
    second = np.log(1 + 1e-12 * np.abs(x)) + np.expm1(x)  # computed twice, and not needed
    third = np.exp(1e-12 * x) - 1
    del second, third
    kept = np.sqrt(y) ** 2
    return np.sum(fd.nn.relu(x) * kept + first)


def of_norms(x: Any, y: Any) -> Any:
    return np.log(1 + 1e-12 * np.linalg.norm(x) * np.linalg.norm(y)) + np.abs(x[0])


def of_eigenvectors(x: Any, y: Any) -> Any:
    values, vectors = np.linalg.eigh(np.outer(x, x) + np.diag(y + 1.0))
    return np.sum(np.abs(vectors @ (y - 2.0))) + values[0]


def of_determinant(x: Any, y: Any) -> Any:
    return np.abs(np.linalg.slogdet(np.diag(x - x + 1.0))[1]) + np.sum(x * y)


def of_chosen(x: Any, _y: Any) -> Any:
    return np.sum(np.where(x > 0, x, -np.inf))


@pytest.mark.parametrize("x", [[0.0, 1.0], [0.0, np.nan], [1.0, 1e9]])
@pytest.mark.parametrize(
    "f", [relu_with_waste, of_norms, of_eigenvectors, of_determinant, of_chosen]
)
def test_a_gradient_and_a_call_that_takes_it_have_the_same_report(f: Any, x: Any) -> None:
    args = np.array(x), np.array([0.0, 2.0])
    reported = fd.explain(fd.grad(f))(*args)
    nested = fd.explain(lambda x, y: fd.grad(f)(x, y))(*args)
    assert reported.kinks == nested.kinks
    assert {*reported.advice} == {*nested.advice}
    assert (reported.faults, reported.masked) == (nested.faults, nested.masked)


def test_what_is_computed_twice_is_told_once_when_caches_were_cleared() -> None:
    for _ in range(3):
        report = fd.explain(fd.grad(relu_with_waste))(np.ones(2), np.ones(2))
        assert [advice.instead for advice in report.advice] == [
            "np.log1p(1e-12 * np.abs(x))", "np.expm1(1e-12 * x)",
        ]  # fmt: skip
        fd.clear_caches()


def test_arguments_that_must_be_plain_numbers_are_left_alone() -> None:
    def f(x: Any, scale: Any, n: Any) -> Any:
        return np.sum(x**n) * float(scale)

    for function in (fd.grad(f), fd.jit(fd.grad(f), static_argnums=2)):
        assert str(fd.explain(function)(X, 2.0, 3)).startswith("grad(f): all is well")
    with pytest.raises(LostDerivativeError, match="float"):
        fd.explain(fd.grad(f, argnums=1))(X, 2.0, 3)


# ---- in notebooks --------------------------------------------------------------------------------


def test_every_rule_of_a_report_outweighs_those_that_notebooks_set_by_classes() -> None:
    style = fd.explain(noted)(X)._repr_html_().partition("<style>")[2].partition("</style>")[0]
    rules = re.findall(r"([^{}]+)\{", style.replace("\n", " "))
    selectors = [rule.strip() for rule in rules if not rule.strip().startswith("@media")]
    assert len(selectors) > 15
    for selector in selectors:
        for part in re.sub(r":is\([^)]*\)", "", selector).split(","):
            assert ".fd-report:not(#_)" in part
    reset = style.index("* { all: revert; }")
    assert reset < style.index("white-space: pre-wrap") < style.index(".note")
    for theme in ('[data-jp-theme-light="false"]', '[data-theme="dark"]', ".vscode-dark"):
        assert theme in style[:reset]


def test_long_lines_wrap_so_that_their_costs_are_seen() -> None:
    page = fd.explain(noted)(X)._repr_html_()
    styles = re.findall(r'class="source" style="([^"]*)"', page)
    assert styles
    for style in styles:  # which outweighs that of the page, and is all that some notebooks keep
        assert "white-space: pre-wrap; overflow-wrap: anywhere" in style


def test_a_line_of_a_notebook_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"np": np}
    file = "/tmp/ipykernel_12/34.py"
    exec(compile("def f(x):\n    return np.sum(np.log(x)) * float(x[0])", file, "exec"), names)
    known = {file: ("Cell", "In[7]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=known.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with pytest.raises(LostDerivativeError, match=r"at In \[7\], line 2, in f"):
        fd.grad(names["f"])(X)
    exec(compile("def h(x):\n    return 2 * x", file, "exec"), names)
    with pytest.raises(OutputError, match=r"h \(In \[7\]:1\) returned"):
        fd.grad(names["h"])(X)
    exec(compile("def g(x):\n    return np.sum(np.log(x))", file, "exec"), names)
    report = fd.explain(names["g"])(X)
    assert "In [7]:2" in str(report)
    assert "<h3>In [7]</h3>" in report._repr_html_()
    monkeypatch.setattr(shell, "compile", None)
    assert "34.py:2" in str(report)


def test_sources_are_code_in_notebooks() -> None:
    text = fd.source(fd.grad(noted))(X)
    shown: Any = text
    assert shown._repr_markdown_() == f"```python\n{text.rstrip()}\n```"
    lowered = fd.jit(noted).lower(X)
    assert lowered._repr_markdown_() == f"```python\n{lowered.source.rstrip()}\n```"
