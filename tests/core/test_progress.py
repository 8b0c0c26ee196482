"""Long work says how far it is, and computes the same."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import funcdiff as fd
from funcdiff.core.running import progress
from funcdiff.core.running.progress import Progress

X = np.linspace(0.5, 1.5, 70)


def f(x: Any) -> Any:
    return np.cumsum(np.sin(x)) * x[0]


def loss(x: Any) -> Any:
    return np.sum(np.sin(x)) ** 2


@pytest.fixture(params=["tqdm", "lines"])
def said(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> Callable[[], str]:
    """Return what was written to stderr, with tqdm or, if it is not installed, without."""
    if request.param == "lines":
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    return lambda: str(capsys.readouterr().err)


@pytest.mark.parametrize("transform", [fd.jacobian, fd.jacfwd, fd.jacrev])
@pytest.mark.parametrize("chunk_size", [None, 9, 1])
def test_a_jacobian_says_how_far_it_is(
    transform: Any, chunk_size: int | None, said: Callable[[], str]
) -> None:
    shown = transform(f, chunk_size=chunk_size, progress=True)(X)
    assert_array_equal(shown, transform(f, chunk_size=chunk_size or 3)(X))
    text = said()
    assert f"{transform.__name__} of f" in text
    assert "70" in text


def test_hessians_and_those_with_values_say_it(said: Callable[[], str]) -> None:
    assert_array_equal(fd.hessian(loss, progress=True)(X), fd.hessian(loss, chunk_size=3)(X))
    assert "hessian of loss" in said()
    fd.value_grad_and_hessian(loss, progress=True)(X)
    assert "value_grad_and_hessian of loss" in said()
    fd.value_and_jacobian(f, progress=True)(X)
    assert "value_and_jacobian of f" in said()


@pytest.mark.parametrize("count", [2, 3, 31, 32, 33, 100])
@pytest.mark.parametrize("batch_size", [None, 1, 4])
def test_map_says_how_far_it_is(
    count: int, batch_size: int | None, said: Callable[[], str]
) -> None:
    rows = {"x": np.arange(3.0 * count).reshape(count, 3), "kind": "rows"}

    def of_row(row: Any) -> Any:
        return np.sum(row["x"]) ** 2, row["kind"]

    shown = fd.map(of_row, rows, batch_size=batch_size, progress=True)
    expected = fd.map(of_row, rows, batch_size=batch_size)
    assert_array_equal(shown[0], expected[0])
    assert shown[1] == expected[1] == "rows"
    text = said()
    assert "map of" in text
    assert f"{count}/{count}" in text or f"{count} of {count} rows" in text


@pytest.mark.parametrize("count", [0, 1])
def test_no_rows_and_one_say_nothing(count: int, said: Callable[[], str]) -> None:
    assert fd.map(np.sin, np.ones(count), progress=True).shape == (count,)
    assert fd.jacobian(np.sin, progress=True)(np.ones(count)).shape == (count, count)
    assert said() == ""


def test_nothing_is_said_while_a_call_is_traced_or_by_default(said: Callable[[], str]) -> None:
    def of_all(x: Any) -> Any:
        return np.sum(fd.map(np.sin, x, progress=True)) + np.sum(fd.jacobian(f, progress=True)(x))

    assert fd.grad(of_all)(X).shape == X.shape
    assert np.isfinite(fd.jit(of_all)(X))
    fd.jacobian(f, chunk_size=2)(X)
    fd.map(np.sin, X)
    assert said() == ""


def test_repeated_calls_compute_the_same(said: Callable[[], str]) -> None:
    J = fd.jacobian(f, progress=True)
    first = J(X)
    for _ in range(8):
        assert_array_equal(J(X), first)
    assert said().count("jacobian of f") >= 9


def test_an_error_inside_ends_the_bar(said: Callable[[], str]) -> None:
    def fails(x: Any) -> Any:
        raise ArithmeticError("stop")

    with pytest.raises(ArithmeticError, match="stop"):
        fd.map(fails, X, progress=True)
    assert said().count("\n") <= 1


def test_lines_come_at_first_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with Progress("work", wanted=True, total=1000) as bar:
        for _ in range(1000):
            bar.tick()
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["work: 1 of 1000 steps in 0 s", "work: 1000 of 1000 steps in 0 s"]


def test_a_check_of_rules_says_how_many_programs_it_has_seen(said: Callable[[], str]) -> None:
    fd.testing.check_rules(f, X[:3], progress=True)
    text = said()
    assert "check_rules of f" in text
    assert "programs" in text
    fd.testing.check_rules(f, X[:3], progress=False)
    assert not said()
