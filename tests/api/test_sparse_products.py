"""Sparse matrices read from few products: colourings that lose nothing, chunks that fit."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import funcdiff as fd
from funcdiff.api.derivatives import sparse_jacobians
from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.passes.sparsity.coloring import (
    Coloring,
    bidirectional_coloring,
    cheapest,
    symmetric_coloring,
)

MASKS = st.tuples(st.integers(0, 9), st.integers(0, 9)).flatmap(lambda s: arrays(bool, s))
SQUARES = st.integers(0, 9).flatmap(lambda n: arrays(bool, (n, n)))


def pattern_of(mask: Any) -> Pattern:
    rows, columns = np.nonzero(mask)
    return Pattern(rows, columns, mask.shape)


def arrowhead(n: int, hubs: int = 1) -> Any:
    mask = np.eye(n, dtype=bool)
    mask[:hubs] = mask[:, :hubs] = True
    return mask


def found_by(coloring: Coloring, matrix: Any, pattern: Pattern) -> Any:
    """Return the matrix that is read from the products of a colouring."""
    pushed = matrix @ np.equal.outer(coloring.columns, np.arange(coloring.pushes))
    pulled = np.equal.outer(np.arange(coloring.pulls), coloring.rows) @ matrix
    across = pushed.T if coloring.is_symmetric else pulled
    found = np.zeros_like(matrix)
    places = zip(pattern.rows, pattern.columns, coloring.mirrored, strict=True)
    for row, column, mirrored in places:
        found[row, column] = (
            across[coloring.rows[row], column]
            if mirrored
            else pushed[row, coloring.columns[column]]
        )
    return found


@pytest.mark.slow
@settings(max_examples=60)
@given(MASKS)
def test_a_bidirectional_colouring_tells_every_entry(mask: Any) -> None:
    pattern = pattern_of(mask)
    matrix = np.where(mask, np.arange(1.0, mask.size + 1).reshape(mask.shape), 0.0)
    for coloring in (
        bidirectional_coloring(pattern),
        *(cheapest(pattern, mode, symmetric=False) for mode in (None, "forward", "reverse")),
    ):
        np.testing.assert_array_equal(found_by(coloring, matrix, pattern), matrix)


@pytest.mark.slow
@settings(max_examples=60)
@given(SQUARES)
def test_a_star_colouring_tells_every_entry_or_its_mirror_image(mask: Any) -> None:
    mask = mask | mask.T
    pattern = pattern_of(mask)
    matrix = np.where(mask, np.arange(1.0, mask.size + 1).reshape(mask.shape), 0.0)
    matrix = matrix + matrix.T
    coloring = symmetric_coloring(pattern)
    np.testing.assert_array_equal(found_by(coloring, matrix, pattern), matrix)
    best = cheapest(pattern, "forward", symmetric=True)
    assert best.products <= cheapest(pattern, "forward", symmetric=False).products


def test_arrowheads_have_few_colours() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 50):
        assert cheapest(pattern_of(arrowhead(n)), None, symmetric=False).products == min(n, 3)
        assert cheapest(pattern_of(arrowhead(n)), "forward", symmetric=True).products == min(n, 2)
    wide = arrowhead(60, 2)[rng.permutation(60)][:, rng.permutation(60)]
    assert cheapest(pattern_of(wide), None, symmetric=False).products == 5
    band = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) < 2
    assert cheapest(pattern_of(band), None, symmetric=False).products == 3
    assert cheapest(pattern_of(band | arrowhead(60)), None, symmetric=False).products < 8


def test_a_pattern_that_is_not_symmetric_is_no_hessians() -> None:
    pattern = pattern_of(np.triu(np.ones((4, 4))))
    assert not cheapest(pattern, None, symmetric=True).is_symmetric


# ---- whole derivatives ---------------------------------------------------------------------------


def chosen(mask: Any, x: Any) -> Any:
    """Return as many numbers as `mask` has rows, through a branch that nothing is followed into."""
    numbers = np.arange(1.0, mask.size + 1).reshape(mask.shape)
    weights = np.where(mask, numbers, 0.0).astype(x.dtype)
    return fd.cond(np.sum(x.real) > 1e9, lambda x: weights @ x, lambda x: weights @ x**2, x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@settings(max_examples=12)
@given(mask=MASKS)
def test_entries_read_from_products_are_those_of_the_dense_jacobian(mask: Any, dtype: Any) -> None:
    options: Any = {"holomorphic": True} if dtype is np.complex128 else {}
    x = np.linspace(0.5, 1.5, mask.shape[1]).astype(dtype)
    for each in (mask, arrowhead(len(mask))[:, : mask.shape[1]]):
        if each.shape != mask.shape:
            continue

        def f(x: Any, each: Any = each) -> Any:
            return chosen(each, x)

        dense = fd.jacobian(f, **options)(x)
        for form in ("csr", "csc"):
            found = fd.jacobian(f, sparse=True, format=form, **options)(x)
            np.testing.assert_allclose(found.toarray(), dense, 1e-5)
            assert found.dtype == dense.dtype


def energy(p: Any) -> Any:
    x, y = p["x"], p["y"]
    return fd.cond(
        np.sum(x) > 1e9,
        lambda x, y: np.sum(x),
        lambda x, y: np.sum(x[1:] ** 2 * x[:-1] * y[0]) + np.sum(y**3) * x[0],
        x,
        y,
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_of_a_hessian_are_read_from_products(dtype: Any) -> None:
    p = {"x": np.linspace(0.5, 1.0, 6).astype(dtype), "y": np.array([2.0, 3.0, 4.0], dtype)}
    dense = fd.hessian(energy)(p)
    derive = fd.hessian(energy, sparse=True)
    for call in (derive, fd.jit(derive)):
        for _ in range(3):
            found = call(p)
            for one in "xy":
                for other in "xy":
                    np.testing.assert_allclose(
                        found[one][other].toarray(), dense[one][other], 1e-5, 1e-6
                    )


def test_an_arrowhead_through_a_loop_takes_few_products() -> None:
    def f(x: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            return c, c * row[0] + row[0] ** 2

        first = fd.cond(x[0] > 1e9, np.sum, lambda x: np.sum(x**2), x)
        return np.append(first, fd.scan(body, x[0], x[1:, None])[1])

    x = np.linspace(0.5, 1.5, 40)
    pattern = fd.sparsity(f)(x)
    assert cheapest(pattern.pattern, None, symmetric=False).products <= 4
    dense = fd.jacobian(f)(x)
    derive = fd.jacobian(f, sparse=True)
    for call in (derive, fd.jit(derive)):
        np.testing.assert_allclose(call(x).toarray(), dense)
    total = fd.grad(lambda x: np.sum(derive(x).data ** 2))(x)
    np.testing.assert_allclose(total, fd.grad(lambda x: np.sum(fd.jacobian(f)(x) ** 2))(x))


@pytest.mark.parametrize("budget", [1, 2000, 5000])
@pytest.mark.parametrize("derive", [fd.jacfwd, fd.jacrev, fd.jacobian])
def test_chunks_change_nothing(budget: int, derive: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return {"a": np.sort(x), "b": np.sort(x[:3] * x[3:])}

    x = np.array([0.5, -1.2, 2.0, 0.3, 1.7, -0.4])
    dense = fd.jacobian(f)(x)
    monkeypatch.setattr(sparse_jacobians, "BUDGET", budget)
    fd.clear_caches()
    for call in (derive(f, sparse=True), fd.jit(derive(f, sparse=True))):
        found = call(x)
        for name in "ab":
            np.testing.assert_array_equal(found[name].toarray(), dense[name])
    fd.clear_caches()


def test_products_fit_in_the_memory_that_they_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return np.sort(np.outer(x, np.linspace(1, 2, 500)), axis=0)[:, 0]

    def peak() -> int:
        fd.clear_caches()
        derive = fd.jacobian(f, sparse=True)
        derive(x)
        tracemalloc.start()
        derive(x)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    x = np.linspace(0, 1, 60)
    whole = peak()
    monkeypatch.setattr(sparse_jacobians, "BUDGET", 2_000_000)
    assert 4 * peak() < whole
    fd.clear_caches()
