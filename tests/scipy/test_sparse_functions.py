"""Eigenvalues, singular values, norms and exponentials of sparse matrices, against SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse as plain

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy import sparse
from tests.scipy.agreement import assert_agrees

Call = Callable[..., Any]
GENERATOR = np.random.default_rng(0)
N = 7
ROWS = np.array([0, 1, 2, 3, 4, 5, 6, 0, 2, 4, 6, 1, 5])
COLUMNS = np.array([0, 1, 2, 3, 4, 5, 6, 3, 0, 1, 2, 6, 4])
ENTRIES = np.array([1.0, 2.1, 3.3, 4.2, 5.7, 6.9, 8.3, 0.7, -0.4, 1.1, -0.9, 0.5, -0.6])
START, WIDE = GENERATOR.normal(size=N), GENERATOR.normal(size=(N, 2))
MASS = plain.diags_array(np.linspace(1.0, 2.0, N))


def build(s: Any, data: Any) -> Any:
    """Return a matrix with simple, real eigenvalues."""
    return s.csr_array((data, (ROWS, COLUMNS)), shape=(N, N))


def symmetric(s: Any, data: Any) -> Any:
    """Return a symmetric matrix with distinct eigenvalues."""
    a = build(s, data)
    return a.T + a


def _without_phase(w: Any, V: Any) -> list[Any]:
    return [w, V**2, V[:1] * V[1:2]]


EIGEN: dict[str, Call] = {
    "eigsh": lambda s, d: _without_phase(*s.linalg.eigsh(symmetric(s, d), 3, v0=START)),
    "eigsh near": lambda s, d: s.linalg.eigsh(symmetric(s, d), 2, sigma=3.0, v0=START)[0],
    "eigsh with mass": lambda s, d: _without_phase(
        *s.linalg.eigsh(symmetric(s, d), 2, MASS, v0=START)
    ),
    "values alone": lambda s, d: s.linalg.eigsh(
        symmetric(s, d), 2, which="SM", return_eigenvectors=False, v0=START
    ),
    "lobpcg": lambda s, d: _without_phase(
        *s.linalg.lobpcg(symmetric(s, d), WIDE[:, :1], tol=1e-13, maxiter=100)
    ),
    "svds": lambda s, d: (lambda u, x, v: [x, u**2, v**2, u[:, :1] @ v[:1]])(
        *s.linalg.svds(build(s, d)[:, :5], 2, v0=START[:5])
    ),
    "singular values": lambda s, d: s.linalg.svds(
        build(s, d)[:4], 2, return_singular_vectors=False, v0=START[:4]
    ),
    "eigs": lambda s, d: (lambda w, X: [np.sort(w.real), np.sum(np.abs(X) ** 4)])(
        *s.linalg.eigs(build(s, d), 3, v0=START)
    ),
}
FUNCTIONS: dict[str, Call] = {
    "norm": lambda s, d: [
        s.linalg.norm(build(s, d), kind) for kind in (None, "fro", 1, -1, np.inf, -np.inf)
    ],
    "norms of rows": lambda s, d: [
        s.linalg.norm(build(s, d), kind, axis=axis)
        for kind in (None, 2, 1, np.inf)
        for axis in (0, -1)
    ],
    "matrix_power": lambda s, d: [
        s.linalg.matrix_power(build(s, d), k).toarray() for k in (1, 2, 5)
    ],
}
EXPONENTIALS: dict[str, Call] = {
    "expm": lambda s, d: s.linalg.expm((build(s, d) * 0.3).tocsc()).toarray(),
    "expm_multiply": lambda s, d: s.linalg.expm_multiply(build(s, d) * 0.3, WIDE),
    "far": lambda s, d: s.linalg.expm_multiply(build(s, d) * -1.5, START),
    "at times": lambda s, d: s.linalg.expm_multiply(
        build(s, d) * 0.3, WIDE, start=0.1, stop=0.5, num=3, endpoint=False
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EIGEN)
def test_some_eigenvalues_agree(name: str) -> None:
    # Two calls of SciPy's own lobpcg differ in last bits, by where its buffers lie in memory.
    same_bits = name != "lobpcg"
    assert_agrees("scipy.sparse", EIGEN[name], ENTRIES, rtol=1e-9, order=1, same_bits=same_bits)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eigsh", "eigsh with mass", "svds", "eigs"])
def test_some_eigenvalues_have_second_derivatives(name: str) -> None:
    assert_agrees("scipy.sparse", EIGEN[name], ENTRIES, rtol=1e-9, compiled=False, batched=False)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_sparse_matrix_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", FUNCTIONS[name], ENTRIES, rtol=1e-11)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_an_exponential_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", EXPONENTIALS[name], ENTRIES, rtol=1e-10, order=1, batched=False)


def test_the_slope_of_an_eigenvalue_is_that_of_a_rayleigh_quotient() -> None:
    n = 400

    def lowest(main: Any) -> Any:
        side = -np.ones(n - 1)
        a = sparse.diags_array([side, main, side], offsets=[-1, 0, 1]).tocsc()
        return sparse.linalg.eigsh(a, 1, sigma=0.0, return_eigenvectors=False)[0]

    main = 2.0 + np.linspace(0.0, 1.0, n)
    side = -np.ones(n - 1)
    a = plain.diags_array([side, main, side], offsets=[-1, 0, 1]).tocsc()
    v = sparse.linalg.eigsh(a, 1, sigma=0.0)[1][:, 0]
    np.testing.assert_allclose(fd.grad(lowest)(main), v**2, atol=1e-12)


def test_the_spectral_norm_is_the_largest_singular_value() -> None:
    def spectral(d: Any) -> Any:
        return sparse.linalg.norm(build(sparse, d), 2)

    dense = fd.value_and_grad(lambda d: np.linalg.norm(build(sparse, d).toarray(), 2))(ENTRIES)
    for one, two in zip(fd.value_and_grad(spectral)(ENTRIES), dense, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-8)


def test_a_norm_of_an_empty_row_has_slope_zero() -> None:
    def lengths(d: Any) -> Any:
        return np.sum(sparse.linalg.norm(sparse.csr_array((d, ([0, 0], [0, 1])), (3, 2)), axis=1))

    np.testing.assert_allclose(fd.grad(lengths)(np.array([3.0, 4.0])), [0.6, 0.8])


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "dense": (lambda d: sparse.linalg.eigsh(np.outer(d, d), 2)[0], "use np.linalg.eigh"),
    "mass": (lambda d: sparse.linalg.eigs(build(sparse, d), 2, MASS)[0].real, "or use eigsh"),
    "traced mass": (
        lambda d: sparse.linalg.eigsh(MASS, 2, symmetric(sparse, d))[0],
        "only the matrix may be traced",
    ),
    "constraints": (
        lambda d: sparse.linalg.lobpcg(build(sparse, d), WIDE, Y=WIDE)[0], "Leave out Y"
    ),
    "estimate": (lambda d: sparse.linalg.onenormest(build(sparse, d)), r"Use norm\(A, 1\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(UnsupportedNumPyError, match=message):
        fd.grad(lambda d: np.sum(function(d)))(ENTRIES)
