"""Sparse derivatives through SciPy's sparse matrices have the places that the matrices have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.scipy import sparse as ours
from tests.properties.every_way import assert_every_way_agrees

N: Final = 8
L: Final = sp.diags_array([1.0, -2.0, 1.5], offsets=[-1, 0, 2], shape=(N, N)).tocsr()
K: Final = sp.kron(sp.eye_array(2), sp.csr_array(np.triu(np.ones((4, 4)))), "csr")
TALL: Final = sp.csr_array(L[:, :3])
U: Final = np.linspace(0.2, 1.4, N)
X: Final = np.cos(np.arange(2.0 * N)).reshape(N, 2)

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "from the left": (lambda u: L @ u + u**3, U, L + sp.eye_array(N)),
    "from the right": (lambda u: u @ L, U, L.T),
    "transposed": (lambda u: L.T @ np.sin(u), U, L.T),
    "by its method": (lambda u: L.dot(u), U, L),
    "a matrix of SciPy's": (lambda u: sp.csr_matrix(L) * u, U, L),
    "by columns": (lambda u: L.tocsc() @ u, U, L),
    "by places": (lambda u: L.tocoo() @ u, U, L),
    "by blocks": (lambda u: K.tobsr((4, 4)) @ u, U, sp.kron(sp.eye_array(2), np.ones((4, 4)))),
    "by diagonals": (lambda u: sp.dia_array(L) @ u, U, L),
    "a row of it": (lambda u: (L @ u)[2:3] ** 2, U, L[2:3]),
    "of another height": (lambda u: TALL.T @ u, U, TALL.T),
    "a sum of products": (lambda u: L @ u - K @ (u * u), U, L + K),
    "a product of two": (lambda u: K @ np.exp(L @ u), U, K @ abs(L)),
    "of columns": (lambda x: L @ x, X, sp.kron(L, sp.eye_array(2))),
    "rows times it": (lambda x: x.T @ L, X, None),
    "with its own numbers": (lambda d: ours.csr_array((d, L.indices, L.indptr)) @ U, L.data, None),
    "in a loop": (
        lambda u: fd.scan(lambda c, _: (c + 0.1 * (L @ c), None), u, length=2)[0], U,
        abs(L) @ abs(L) + abs(L),
    ),
    "in a checkpoint": (lambda u: fd.checkpoint(lambda u: np.sin(L @ u))(u), U, L),
    "one by one": (lambda x: fd.vmap(lambda u: L @ (u * u))(x.T), X, None),
    "one by one, each its own": (
        lambda d: fd.vmap(lambda d: ours.csr_array((d, L.indices, L.indptr)) @ U)(d),
        np.stack([L.data, 2.0 * L.data]), None,
    ),
}  # fmt: skip
"""Functions, points, and matrices with the places of the Jacobian; None for its nonzero ones."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_jacobian_has_the_places_of_the_matrix(name: str) -> None:
    f, x, places = FUNCTIONS[name]
    dense = fd.jacobian(f)(x).reshape(-1, x.size)
    expected = dense if places is None else places.toarray()
    derive = fd.jacobian(f, sparse=True)
    for found in (derive(x), derive(x), fd.jit(derive)(x)):
        np.testing.assert_allclose(found.toarray(), dense, atol=1e-14)
        assert found.nnz == np.count_nonzero(expected)
    pattern = fd.sparsity(f)(x)
    np.testing.assert_array_equal(pattern.toarray(), expected != 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["from the left", "a product of two", "of columns", "in a loop"])
def test_every_way_to_derivatives_through_a_sparse_matrix_agrees(name: str) -> None:
    f, x, _ = FUNCTIONS[name]
    assert_every_way_agrees(lambda x: [np.sin(f(x))], [x], order=2)


def test_explicit_zeros_are_kept() -> None:
    zeros = L.copy()
    zeros.data[::3] = 0.0
    assert fd.jacobian(lambda u: zeros @ u, sparse=True)(U).nnz == L.nnz


def test_hessians_have_the_places_of_the_matrix() -> None:
    both = abs(L) + abs(L.T)
    quadratic = fd.hessian(lambda u: u @ (L @ u), sparse=True)(U)
    np.testing.assert_array_equal(quadratic.toarray(), (L + L.T).toarray())
    assert quadratic.nnz == both.nnz
    squares = fd.hessian(lambda u: np.sum(np.sin(L @ u) ** 2), sparse=True)(U)
    assert squares.nnz == np.count_nonzero((abs(L.T) @ abs(L)).toarray())
    np.testing.assert_allclose(
        squares.toarray(), fd.hessian(lambda u: np.sum(np.sin(L @ u) ** 2))(U), atol=1e-14
    )


def test_finite_volumes_take_as_many_entries_as_the_stencil_has() -> None:
    n = 2000
    laplace = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    found = fd.jacobian(lambda u: laplace @ u + u**3, sparse=True)(np.linspace(0.0, 1.0, n))
    assert found.nnz == 3 * n - 2


@given(st.lists(st.sampled_from("LKTs*+."), max_size=6), st.integers(0, 9))
def test_places_are_those_that_products_of_patterns_have(steps: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrices = [sp.random_array((N, N), density=0.2, rng=rng).tocsr() for _ in "LK"]
    steps_of = dict(zip("LKT", [*matrices, matrices[0].T], strict=True))

    def followed(start: Any, product: Callable[[Any, Any], Any], *ways: Any) -> Any:
        """Go through the steps, with numbers or with what they depend on."""
        sine, times, plus, rolled = ways
        values = [start]
        for step in steps:
            y, z = values[-1], values[len(values) // 2]
            if step in steps_of:
                values.append(product(steps_of[step], y))
            else:
                way = {"s": sine, "*": times, "+": plus, ".": rolled}[step]
                values.append(way(y, z))
        return values[-1]

    def f(u: Any) -> Any:
        return followed(
            u,
            lambda a, y: a @ y,
            lambda y, _: np.sin(y) + 2.0,
            lambda y, z: y * z,
            lambda y, z: y + z,
            lambda y, _: np.roll(y, 1),
        )

    def both(y: Any, z: Any) -> Any:
        return y | z

    expected = followed(
        np.eye(N, dtype=bool),
        lambda a, y: (a.toarray() != 0).astype(int) @ y > 0,
        lambda y, _: y,
        both,
        both,
        lambda y, _: np.roll(y, 1, 0),
    )
    found = fd.jacobian(f, sparse=True)(U)
    assert found.nnz == np.count_nonzero(expected)
    assert not np.any((found.toarray() != 0) & ~expected)
    np.testing.assert_allclose(found.toarray(), fd.jacobian(f)(U), rtol=1e-10, atol=1e-12)
