"""Jacobians in which all depends on all: told at once, and computed as arrays."""

from __future__ import annotations

import inspect
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import SparsityWarning
from funcdiff.passes.sparsity import images
from tests.api.test_sparse import POINT, PROGRAMS

FULL: dict[str, Callable[..., Any]] = {
    "less its mean": lambda x: x - np.mean(x),
    "less its mean beside its square": lambda x: x - np.mean(x) + x**2,
    "of length one": lambda x: x / np.linalg.norm(x),
    "shares": lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))),
    "sorted": np.sort,
    "summed up": np.cumsum,
    "transformed": lambda x: np.fft.rfft(x).real,
    "less its mean, thrice": lambda x: repeated(lambda y: np.sin(y - np.mean(y)), x),
}


def repeated(f: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(3):
        x = f(x)
    return x


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_that_a_jacobian_is_full_is_told_without_writing_it_down(name: str) -> None:
    x = np.linspace(0.1, 1.0, 20_000)
    tracemalloc.start()
    found = fd.sparsity(FULL[name])(x)
    assert found.density == 1
    assert found.nnz == found.shape[0] * 20_000
    assert "100.00%" in str(found)
    assert found._repr_html_()
    assert (found.colors == np.arange(20_000)).all()
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FULL)
def test_the_entries_of_a_full_jacobian_are_those_of_the_array(name: str, dtype: Any) -> None:
    f = FULL[name]
    x = np.cos(np.arange(150.0)).astype(dtype)
    dense = fd.jacobian(f)(x)
    for form in ("csr", "csc"):
        derive = fd.jacobian(f, sparse=True, format=form)
        for call in (derive, fd.jit(derive)):
            with pytest.warns(SparsityWarning):
                results = [call(x) for _ in range(3)]
            for found in results:
                assert found.dtype == dtype
                np.testing.assert_allclose(found.toarray(), dense, 1e-4, 1e-6)


def test_blocks_that_are_full_and_others_are_read_from_arrays() -> None:
    def f(p: Any) -> Any:
        return {"u": np.sort(p["a"]) * p["b"][0], "v": p["b"] ** 2}

    p = {"a": np.linspace(0.5, 2.0, 120) ** 2, "b": np.ones(3)}
    dense = fd.jacobian(f)(p)
    with pytest.warns(SparsityWarning):
        found = fd.jacobian(f, sparse=True)(p)
    for k in ("u", "v"):
        for j in ("a", "b"):
            np.testing.assert_array_equal(found[k][j].toarray(), dense[k][j])
    assert found["v"]["b"].nnz == 3


def test_examples_that_do_not_meet_stay_apart_however_many() -> None:
    A = np.eye(4) + np.ones((4, 4))
    programs: list[tuple[Callable[..., Any], int]] = [
        (lambda x: np.linalg.solve(A, x), 16),
        (lambda x: np.fft.fft(x, axis=1).real, 16),
        (lambda x: np.cumsum(x, axis=1), 10),
    ]
    for f, each in programs:
        found = fd.sparsity(f)(np.ones((30_000, 4, 1)))
        assert found.nnz == each * 30_000
        assert (found.rows // 4 == found.cols // 4).all()
    assert fd.sparsity(np.cumsum)(np.ones(2)).nnz == 3
    square = fd.sparsity(lambda x: np.cumsum(x, axis=1))(np.ones((4, 4, 4)))
    assert square.nnz == 4 * 4 * 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_joined_has_the_pattern_that_it_has_pair_by_pair(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = PROGRAMS[name]
    expected = fd.sparsity(f)(POINT)
    monkeypatch.setattr(images, "_CROWDED", 1)
    monkeypatch.setattr(images, "_FEW", 0)
    fd.clear_caches()
    assert fd.sparsity(f)(POINT) == expected
    monkeypatch.setattr(images, "MOST_PROBED", 0)
    fd.clear_caches()
    assert not (expected.toarray() & ~fd.sparsity(f)(POINT).toarray()).any()
    fd.clear_caches()


# ---- the line that is named ----------------------------------------------------------------------


def by_norm(x: Any) -> Any:
    square = np.sum(x**2)  # here
    return x / np.sqrt(square)


def by_solution(x: Any) -> Any:
    A = np.eye(120) + 1.0
    y = x[::-1] ** 2
    y = np.linalg.solve(A, y)  # here
    return np.sin(y)


def by_loop(x: Any) -> Any:
    for _ in range(2):
        x = x - np.cumsum(x)  # here
    return x


@pytest.mark.slow
@pytest.mark.parametrize("f", [by_norm, by_solution, by_loop])
def test_the_warning_names_the_line_that_mixes(f: Any) -> None:
    source, first = inspect.getsourcelines(f)
    line = first + next(k for k, text in enumerate(source) if "# here" in text)
    place = re.escape(f"from {__file__!r}, line {line}, in {f.__name__} on")
    x = np.linspace(0.5, 1.5, 120)
    asked = [
        fd.jacobian(f, sparse=True),
        fd.jit(fd.jacobian(f, sparse=True)),
        fd.hessian(lambda x: np.sum(f(x) ** 2), sparse=True),
    ]
    for derive in asked:
        with pytest.warns(SparsityWarning, match=place) as caught:
            derive(x)
        assert caught[0].filename == __file__


def test_the_line_is_looked_for_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return np.cumsum(x)

    x = np.linspace(0.5, 1.5, 120)
    with pytest.warns(SparsityWarning):
        repeated(lambda _: fd.jacobian(f, sparse=True)(x), x)
    assert len(calls) == 3 + 1
