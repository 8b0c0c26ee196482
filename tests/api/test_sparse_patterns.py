"""Patterns of sparse Jacobians: found, given, refused, and what index arrays tell of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.derivatives import sparse_jacobians
from funcdiff.errors import InputError, RecompilationWarning, SparsityWarning
from tests.api.test_sparse import POINT, rosenbrock


def test_a_pattern_says_where_and_how_many_colours() -> None:
    found = fd.sparsity(lambda x: np.diff(x))(np.zeros(5))
    assert found.rows.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.cols.tolist() == [0, 1, 1, 2, 2, 3, 3, 4]
    assert (found.shape, found.nnz, found.density) == ((4, 5), 8, 0.4)
    assert max(found.colors) == 1
    assert found.scipy().format == "csr"
    assert found == fd.sparsity(lambda x: x[1:] + x[:-1])(np.ones(5))
    assert found != fd.sparsity(lambda x: x[1:])(np.ones(5))
    assert str(found).count("\n") == 1
    assert found._repr_html_().count("h1v1") == 8
    empty = fd.sparsity(lambda x: x)(np.zeros(0))
    assert (empty.density, str(empty)) == (0.0, "<Sparsity 0 x 0, 0 places, 0.00%>")
    assert empty._repr_html_()


def test_columns_of_one_colour_share_no_row() -> None:
    rng = np.random.default_rng(3)
    for density in (0.02, 0.2):
        matrix = np.where(rng.random((40, 30)) < density, 1.0, 0.0)
        pattern = fd.sparsity(lambda x, matrix=matrix: matrix @ x)(np.zeros(30))
        assert (pattern.toarray() == matrix.astype(bool)).all()
        for color in set(pattern.colors.tolist()):
            assert matrix[:, pattern.colors == color].sum(1).max() <= 1


def test_a_pattern_may_be_given() -> None:
    band = fd.sparsity(lambda x: np.diff(x))(np.zeros(6))
    given: list[Any] = [band, band.scipy("csc"), band.toarray()]
    for pattern in given:
        found = fd.jacobian(lambda x: np.diff(x**2), sparse=True, sparsity=pattern)(POINT)
        np.testing.assert_array_equal(found.toarray(), fd.jacobian(lambda x: np.diff(x**2))(POINT))
    wide = fd.jacobian(lambda x: x**2, sparse=True, sparsity=np.ones((6, 6)), format="csc")(POINT)
    assert wide.nnz == 36
    assert wide.diagonal().tolist() == (2 * POINT).tolist()
    order = np.argsort(POINT)
    places = np.eye(6)[order]
    found = fd.jacobian(np.sort, sparse=True, sparsity=places)(POINT)
    assert found.nnz == 6
    np.testing.assert_array_equal(found.toarray(), places)
    with pytest.raises(InputError, match="lacks places in which the Jacobian is not zero"):
        fd.jacobian(np.sort, sparse=True, sparsity=places[::-1])(POINT)


def test_a_pattern_that_is_given_again_is_planned_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def fits(_program: Any, _vectors: int, entries: int) -> bool:
        asked.append(entries)
        return True

    monkeypatch.setattr(sparse_jacobians, "fits", fits)
    places = np.tri(6)
    for k in range(3):
        derive = fd.jacobian(np.cumsum, sparse=True, sparsity=places.copy())
        assert derive(k * POINT).toarray().tolist() == places.tolist()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: fd.hessian(rosenbrock, sparse=True, chunk_size=2), "takes no chunk_size"),
        (lambda: fd.jacobian(np.sin, format="csr"), "format= was given without sparse=True"),
        (lambda: fd.jacobian(np.sin, sparsity=np.eye(2)), "sparsity= was given without"),
        (lambda: fd.jacobian(np.sin, sparse=True, format="lil"), "'lil' is not known"),  # type: ignore[call-overload]
        (lambda: fd.jacobian(np.sin, sparse=True, sparsity=np.eye(4))(POINT), r"\(4, 4\)"),
        (
            lambda: fd.jacobian(lambda x: x * x[::-1], sparse=True, sparsity=np.eye(6))(POINT),
            "no place for row 0, column 5",
        ),
        (lambda: fd.jacobian(np.sin, sparse=True, sparsity="band")(POINT), "is no matrix"),
        (
            lambda: fd.jacobian(lambda x: (x, x), sparse=True, sparsity=np.eye(6))(POINT),
            "2 x 1 blocks",
        ),
    ],
)
def test_wrong_calls_are_refused(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask()


def test_full_jacobians_come_with_a_warning() -> None:
    with pytest.warns(SparsityWarning, match="test_sparse_patterns.*nearly everything depends"):
        found = fd.jacobian(np.cumsum, sparse=True)(np.zeros(150))
    assert (found.toarray() == np.tril(np.ones((150, 150)))).all()


# ---- what is known of index arrays ---------------------------------------------------------------


def test_index_arrays_and_masks_are_followed_when_they_change() -> None:
    def f(x: Any, index: Any, mask: Any) -> Any:
        return np.where(mask, x[index], 0.0)

    for index, mask in (([0, 1, 2], [1, 1, 1]), ([2, 2, 0], [1, 0, 1]), ([0, 1, 2], [0, 0, 0])):
        i, m = np.array(index), np.array(mask, bool)
        found = fd.jacobian(f, sparse=True)(POINT, i, m)
        np.testing.assert_array_equal(found.toarray(), fd.jacobian(f)(POINT, i, m))
        assert found.nnz == sum(mask)


@pytest.mark.slow
def test_index_arrays_that_are_arguments_are_followed_when_compiled() -> None:
    def f(x: Any, index: Any, mask: Any) -> Any:
        return np.where(mask, x[index] ** 2, 0.0)

    derive = fd.jit(fd.jacobian(f, sparse=True))
    indices = [np.array(i) for i in ([0, 1, 2], [2, 2, 0], [1, 3, 0], [-1, 0, 5])]
    masks = [np.array(m, bool) for m in ([1, 1, 1], [1, 0, 1], [0, 0, 0])]
    for _ in range(4):
        for index in indices:
            for mask in masks:
                found = derive(POINT, index, mask)
                dense = fd.jacobian(f)(POINT, index, mask)
                np.testing.assert_array_equal(found.toarray(), dense)
                assert found.nnz == mask.sum()
    empty = np.empty(0, int)
    assert derive(POINT, empty, empty > 0).shape == (0, 6)
    nested = fd.jit(lambda x, i: np.sum(derive(x, i, masks[0]).data ** 2))
    for index in indices:
        np.testing.assert_allclose(
            fd.grad(nested)(POINT, index), fd.grad(lambda x, i: np.sum(4 * x[i] ** 2))(POINT, index)
        )
        batch = fd.vmap(lambda x, i: fd.jacobian(f, sparse=True, format="coo")(x, i, True)[0].sum())
        assert batch(np.stack([POINT] * 2), np.stack([index] * 2)).shape == (2,)


@pytest.mark.slow
def test_each_index_array_is_compiled_once_until_there_are_too_many() -> None:
    calls = []

    def f(x: Any, index: Any) -> Any:
        calls.append(index)
        return x[index] ** 2

    derive = fd.jit(fd.jacobian(f, sparse=True))
    indices = [np.array([a, b, c]) for a in range(3) for b in range(3) for c in range(4)]
    for k in range(60):
        found = derive(POINT, indices[k % 20])
        assert found.toarray().tolist() == fd.jacobian(f)(POINT, indices[k % 20]).tolist()
    assert len(calls) == 20 + 60
    with pytest.warns(RecompilationWarning, match="no longer compiled"):
        sizes = {derive(POINT, index).nnz for index in indices}
    assert sizes == {3}


def test_numbers_that_are_not_arguments_decide_nothing_of_a_compiled_pattern() -> None:
    derive = fd.jit(lambda x, i: fd.jacobian(lambda x: x[i + 1], sparse=True)(x))
    for i in (np.array([0, 1]), np.array([3, 2])):
        assert derive(POINT, i).toarray().tolist() == np.eye(6)[i + 1].tolist()


def test_the_values_of_other_arguments_are_no_part_of_the_pattern() -> None:
    derive = fd.jacobian(lambda x, p: p * x + x[::-1], sparse=True)
    zero = np.array(0.0)
    assert derive(POINT, zero).nnz == derive(POINT, zero + 2).nnz == 12
    assert derive(POINT * 0, zero).nnz == 12
