"""GradBench's evaluations give the published values, and derivatives agree with the references."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from docs.benchmarks.gradbench import (
    ba,
    descent,
    det,
    gmm,
    hello,
    kmeans,
    llsq,
    lse,
    lstm,
    ode,
    particle,
    saddle,
)
from docs.benchmarks.gradbench.causes import CAUSES
from docs.benchmarks.gradbench.page import PAGE, with_figures
from docs.benchmarks.gradbench.registry import EVALUATIONS, TINY, WORKLOADS, chosen, is_slow
from docs.benchmarks.workloads.in_numpy import funcdiff_eager, funcdiff_jit, funcdiff_native
from docs.benchmarks.workloads.timing import Figures
from docs.benchmarks.workloads.workload import Workload
from funcdiff.pytree import flatten_with_paths
from tests.together import together

PLAIN = tuple(w for w in TINY if w not in (*saddle.TINY, *particle.TINY))
NESTED = (*saddle.TINY, *particle.TINY)
BY_LOOPS = (*saddle.TINY, *(w for w in particle.TINY if "while_loop" in w.name))
"""Without programs of many thousand operations."""
REFERENCES: dict[str, tuple[Workload, Callable[..., Any]]] = {
    "hello": (hello.TINY[0], hello.value),
    "lse": (lse.TINY[0], lse.value),
    "llsq": (llsq.TINY[0], lambda x: llsq.value(5, x)),
    "det": (det.TINY[0], det.value),
    "gmm": (gmm.TINY[0], gmm.value),
    "lstm": (lstm.TINY[0], lstm.value),
    "ode": (ode.TINY[0], lambda x: ode.value(3, x)),
}
"""Values of the functions, computed in another way."""


def named(workloads: tuple[Workload, ...]) -> list[Any]:
    """Return cases of a table with labels that are the same in every run."""
    return [pytest.param(w, id=w.name) for w in workloads]


def agree(found: Any, expected: Any, tolerance: float) -> None:
    """Assert that containers hold the same numbers, up to a part of the largest of each array."""
    leaves, wanted = (dict(flatten_with_paths(tree)[0]) for tree in (found, expected))
    assert leaves.keys() == wanted.keys()
    for path, x in leaves.items():
        scale = np.max(np.abs(wanted[path]))
        np.testing.assert_allclose(x, wanted[path], rtol=0.0, atol=tolerance * scale)


@pytest.mark.slow
@together
@pytest.mark.parametrize("w", named(PLAIN))
def test_a_derivative_agrees_with_its_reference(w: Workload) -> None:
    arguments = w.drawn()
    expected = w.by_hand(*arguments)
    agree(funcdiff_eager(w)(*arguments), expected, 1e-12)
    agree(funcdiff_jit(w)(*arguments), expected, 1e-12)


@together
@pytest.mark.parametrize("name", REFERENCES)
def test_a_value_agrees_with_one_computed_in_another_way(name: str) -> None:
    w, value = REFERENCES[name]
    arguments = w.drawn()
    np.testing.assert_allclose(w.function(np, *arguments), value(*arguments), rtol=1e-13)


def require_compiled_agree(w: Workload, calls: int, tolerance: float) -> None:
    """Require that calls of both engines agree with the reference."""
    arguments = w.drawn()
    expected = w.by_hand(*arguments)
    for engine in (funcdiff_jit, funcdiff_native):
        compiled = engine(w)
        for _ in range(calls):
            agree(compiled(*arguments), expected, tolerance)


@pytest.mark.slow
@together
@pytest.mark.parametrize("w", named(PLAIN))
def test_a_compiled_derivative_agrees_with_its_reference(w: Workload) -> None:
    require_compiled_agree(w, 9, 1e-12)


@pytest.mark.slow
@together
@pytest.mark.parametrize("w", named(NESTED))
def test_a_nested_descent_ends_where_differences_lead(w: Workload) -> None:
    arguments = w.drawn()
    agree(funcdiff_eager(w)(*arguments), w.by_hand(*arguments), 1e-5)


@together
@pytest.mark.thinned(4)
@pytest.mark.parametrize("w", named(BY_LOOPS))
def test_a_compiled_descent_ends_where_differences_lead(w: Workload) -> None:
    require_compiled_agree(w, 3, 1e-5)


@pytest.mark.slow
@together
@pytest.mark.parametrize("w", named((*saddle.IN_LOOPS, *particle.IN_LOOPS)))
def test_a_nested_descent_ends_where_it_is_published_to(
    w: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUNCDIFF_CHECK", "0")  # which would interpret thousands of steps
    arguments = w.drawn()
    agree(funcdiff_jit(w)(*arguments), w.by_hand(*arguments), 1e-9)


def test_a_step_towards_the_centres_of_clusters_is_the_gradient_by_the_diagonal() -> None:
    centres, points = kmeans.TINY[0].drawn()
    total, owners = kmeans.value_and_owners(centres, points)
    np.testing.assert_allclose(kmeans.cost(np, centres, points), total, rtol=1e-13)
    H = fd.hessian(lambda centres: kmeans.cost(np, centres, points))(centres)
    counts = np.repeat(2.0 * np.bincount(owners), centres.shape[1])
    agree(H.reshape(centres.size, -1), np.diag(counts), 1e-12)


def test_the_sparse_jacobian_of_bundle_adjustment_has_its_entries_where_they_are_known() -> None:
    x, seen, pixels = ba.TINY[0].drawn()
    J = fd.jacobian(lambda x: ba.errors(np, (2, 3), x, seen, pixels))(x)
    rows = ba.gathered(np, (2, 3), np.arange(x.size), seen)
    places = [J[2 * k + i, rows[k]] for k in range(5) for i in range(2)]
    of_weights = J[range(10, 15), rows[:, 14]]
    found = np.concatenate((*places, of_weights))
    agree(found, ba.reference((2, 3), ba.ALL, x, seen, pixels), 1e-12)
    assert np.count_nonzero(J) == np.count_nonzero(found)


def test_there_are_twelve_evaluations_and_each_workload_has_a_name_of_its_own() -> None:
    assert len(EVALUATIONS) == 12
    names = [w.name for w in WORKLOADS]
    assert len(set(names)) == len(names)
    assert [w.name for w in chosen(["hello", "det, 5"])] == ["hello", "det, 5 x 5"]
    with pytest.raises(SystemExit, match="no evaluation is named"):
        chosen(["nothing"])
    assert all(is_slow(w) == ("while_loop" not in w.name) for w in chosen(["saddle", "particle"]))


def test_the_page_gets_its_tables_and_causes() -> None:
    names = ("fd.jit", "fd.jit, llvm", "fd", "autograd", "jax.jit, own")
    seconds: dict[str, list[float | None]] = {name: [2.0, 2.0] for name in names}
    seconds["jax.jit, own"] = [1.0, 1.0]
    figures = [Figures(w.name, seconds, first=dict.fromkeys(names, 1.0)) for w in WORKLOADS]
    found: dict[str, Any] = {"cpu": "a processor", "bits": 512, "load": 1.0, "cpu time": True}
    found |= {"versions": {"numpy": "2"}}
    text = PAGE.read_text(encoding="utf-8")
    written = with_figures(text, found | {"workloads": [asdict(f) for f in figures]})
    assert "| hello | – | 2 | 2 | 1 | – |" in written
    assert "| hello | 2e+03 | 2e+03 | 2e+03 | 2e+03 | – | 1e+03 | – |" in written
    assert with_figures(written, found | {"workloads": [asdict(f) for f in figures]}) == written
    for start in CAUSES:
        assert any(w.name.startswith(start) for w in WORKLOADS)


def test_gradients_by_differences_are_those_of_squares() -> None:
    gradient = descent.by_differences()["f"](lambda x: np.sum(x * x))
    np.testing.assert_allclose(gradient(np.array([1.0, -3.0])), [2.0, -6.0], rtol=1e-9)
