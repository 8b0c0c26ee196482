"""Sparse matrices as they are handed over: unsorted, with places twice and zeros that are stored.

SciPy sorts and sums such matrices in place where it needs to, and so do its results.  Whatever
comes first, values and derivatives are those of the same matrix in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import sparse as plain

import funcdiff as fd
from funcdiff.scipy import sparse

Call = Callable[[Any, Any], Any]
N: Final = 6
FORMATS: Final = ("csr", "csc", "coo", "bsr")
B: Final = np.linspace(-1.0, 2.0, N)
WIDE: Final = np.stack([B, B**2], axis=1)
START: Final = np.cos(np.arange(N))
OTHER: Final = plain.csr_array(np.diag(np.arange(1.0, N), 1))


class Structure:
    """Places of a symmetric matrix in disorder, by the numbers of the parameters that are there."""

    def __init__(self, seed: int) -> None:
        """Draw one, of an odd number with places twice."""
        rng = np.random.default_rng(seed)
        pairs = rng.permutation([(i, j) for i in range(N) for j in range(i)])[:7]
        halves = [*((i, i) for i in range(N)), *map(tuple, pairs)]
        halves += [halves[k] for k in rng.integers(len(halves), size=4 * (seed % 2))]
        entries = [(i, j, k) for k, (i, j) in enumerate(halves)]
        entries += [(j, i, k) for i, j, k in entries if i != j]
        self.rows, self.columns, self.numbers = np.array(rng.permutation(entries)).T
        self.parameters = rng.uniform(0.5, 1.0, len(halves))
        self.parameters[:N] += 4.0 + np.arange(N)
        self.parameters[N : N + 2] = 0.0  # stored

    def matrix(self, s: Any, parameters: Any, kind: str, suffix: str = "array") -> Any:
        """Return it with its disorder."""
        new = getattr(s, f"{kind}_{suffix}")
        data = parameters[self.numbers]
        if kind == "coo":
            return new((data, (self.rows, self.columns)), shape=(N, N))
        major, minor = self.rows, self.columns
        if kind == "csc":
            major, minor = minor, major
        order = np.argsort(major, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=N))])
        data = data[order].reshape(-1, 1, 1) if kind == "bsr" else data[order]
        return new((data, minor[order], ends), shape=(N, N))

    def in_order(self, parameters: Any, kind: str, suffix: str) -> Any:
        """Return SciPy's own, in order."""
        a = plain.coo_array((parameters[self.numbers], (self.rows, self.columns)), (N, N))
        return getattr(plain, f"{kind}_{suffix}")(a.toarray())


def dense(found: Any) -> Any:
    """Return one vector of all that is found."""
    if isinstance(found, list | tuple):
        return np.concatenate([dense(part) for part in found])
    found = found.toarray() if hasattr(found, "toarray") else found
    return np.ravel(np.asarray(found) if isinstance(found, np.matrix) else found)


def _squares(w: Any, V: Any) -> Any:
    return [w, V**2]


CALLS: Final[dict[str, Call]] = {
    "eigsh near 0": lambda s, a: s.linalg.eigsh(a, 2, sigma=0.0, v0=START)[0],
    "eigsh vectors near": lambda s, a: _squares(*s.linalg.eigsh(a, 2, sigma=3.0, v0=START)),
    "eigsh": lambda s, a: _squares(*s.linalg.eigsh(a, 2, v0=START)),
    "eigsh with mass": lambda s, a: s.linalg.eigsh(
        a, 2, plain.csc_array(np.diag(1.0 + B**2)), sigma=0.5, v0=START
    )[0],
    "eigsh values alone": lambda s, a: s.linalg.eigsh(
        a, 2, sigma=0.0, v0=START, return_eigenvectors=False
    ),
    "eigs near": lambda s, a: np.sort(s.linalg.eigs(a, 2, sigma=1.0, v0=START)[0].real),
    "lobpcg": lambda s, a: s.linalg.lobpcg(a, WIDE[:, :1], tol=1e-13, maxiter=200)[0],
    "svds": lambda s, a: s.linalg.svds(a, 2, v0=START)[1],
    "spsolve": lambda s, a: [s.linalg.spsolve(a.tocsr(), B), s.linalg.spsolve(a.tocsc().T, WIDE)],
    "spsolve of columns": lambda s, a: s.linalg.spsolve(
        a.tocsc(), plain.csc_array(np.diag(1.0 + B**2))
    ),
    "spsolve_triangular": lambda s, a: [
        s.linalg.spsolve_triangular(s.tril(a, format="csr"), B),
        s.linalg.spsolve_triangular(s.triu(a, format="csc"), B, lower=False),
    ],
    "inv": lambda s, a: s.linalg.inv(a.tocsc()),
    "splu": lambda s, a: [s.linalg.splu(a.tocsc()).solve(B, t) for t in "NT"],
    "factorized": lambda s, a: s.linalg.factorized(a.tocsc())(B),
    "iterations": lambda s, a: [
        s.linalg.cg(a, B, rtol=1e-14)[0], s.linalg.gmres(a, B, rtol=1e-14)[0],
        s.linalg.minres(a, B, rtol=1e-14)[0],
    ],
    "preconditioned": lambda s, a: s.linalg.cg(
        a, B, M=plain.csr_array(np.diag(1 / (4.5 + np.arange(N)))), rtol=1e-14
    )[0],
    "least squares": lambda s, a: s.linalg.lsqr(a, B, atol=1e-14, btol=1e-14)[0],
    "norms": lambda s, a: [s.linalg.norm(a, k) for k in ("fro", 1, -1, np.inf, 2)],
    "matrix_power": lambda s, a: s.linalg.matrix_power(a, 3),
    "expm_multiply": lambda s, a: s.linalg.expm_multiply(a * 0.1, WIDE),
    "expm": lambda s, a: s.linalg.expm(a.tocsc() * 0.1),
    "products": lambda s, a: [a @ B, a.T @ WIDE, B @ a, a @ OTHER, OTHER @ a],
    "by element": lambda s, a: [a.multiply(B), a.multiply(OTHER), a + OTHER, OTHER - a, 2.0 * a],
    "nonlinear": lambda s, a: [a.power(2), a.sin(), a.tanh(), a.conj(), a.real],
    "kinks": lambda s, a: [abs(a), a.maximum(OTHER), a.minimum(OTHER), a.sign(), a.floor()],
    "sums": lambda s, a: [a.sum(0), a.sum(1), np.reshape(a.sum(), 1), a.mean(0), a.diagonal()],
    "formats": lambda s, a: [a.tocsr(), a.tocsc(), a.tocoo(), a.tobsr(), a.todia(), a.copy()],
    "slices": lambda s, a: [a.tocsr()[1:4, ::2], a.tocsc()[[0, 3]], a.tocsr()[:, 1:2]],
    "shapes": lambda s, a: [a.reshape((4, 9)), a.T, a.todense()],
    "constructors": lambda s, a: [
        s.hstack([a, OTHER]), s.block_diag([a, a]), s.kron(a, OTHER), s.tril(a), s.triu(a, 1),
        s.block_array([[a, None], [None, OTHER]]), s.kronsum(a, OTHER),
    ],
    "sorted": lambda s, a: [a.tocsr().sorted_indices(), a.tocsc().sorted_indices()],
}  # fmt: skip


def _differences(f: Callable[[Any], Any], x: Any, directions: Any) -> Any:
    """Return slopes along some directions: any two of them tell every entry from every other."""
    steps = directions * 1e-4
    near = [(f(x + h) - f(x - h)) / 2e-4 for h in steps]
    far = [(f(x + 2 * h) - f(x - 2 * h)) / 4e-4 for h in steps]
    return (4 * np.array(near) - np.array(far)) / 3


@pytest.mark.thinned(24)
@pytest.mark.thinned(51)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", CALLS)
def test_disorder_changes_no_value_and_no_derivative(name: str, kind: str, seed: int) -> None:
    call, suffix = CALLS[name], "matrix" if seed > 1 and name != "by element" else "array"
    structure = Structure(seed)
    weights = np.random.default_rng(seed)

    def expected(d: Any) -> Any:
        found = dense(call(plain, structure.in_order(d, kind, suffix)))
        return found @ w

    def ours(d: Any) -> Any:
        return dense(call(sparse, structure.matrix(sparse, d, kind, suffix))) @ w

    d = structure.parameters
    size = dense(call(plain, structure.in_order(d, kind, suffix))).size
    w = weights.normal(size=size)
    directions = weights.choice([-1.0, 1.0], (2, d.size)) * weights.uniform(0.5, 1.0, (2, d.size))
    slopes, wanted = _differences(expected, d, directions), expected(d)
    f = fd.value_and_grad(ours)
    for function in (f, f, fd.jit(f), lambda d: (ours(d), fd.jacobian(ours, mode="forward")(d))):
        value, gradient = function(d)
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9)
        if name != "kinks":  # which a stored zero has
            assert gradient.shape == d.shape
            np.testing.assert_allclose(directions @ gradient, slopes, rtol=1e-8, atol=1e-7)


@pytest.mark.thinned(20)
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", CALLS)
def test_a_given_matrix_is_left_in_its_disorder(name: str, kind: str) -> None:
    structure = Structure(7)
    given = structure.matrix(plain, structure.parameters, kind)
    kept = given.copy()
    parts = [p for p in ("data", "indices", "indptr", "row", "col") if hasattr(given, p)]

    def f(x: Any) -> Any:
        return np.sum(dense(CALLS[name](sparse, given * x)) ** 2)

    expected = fd.value_and_grad(f)(1.5)
    for _ in range(2):
        np.testing.assert_allclose(fd.value_and_grad(f)(1.5), expected, rtol=1e-7)
        for part in parts:
            np.testing.assert_array_equal(getattr(given, part), getattr(kept, part))


def test_what_is_done_to_a_result_does_not_reach_its_derivative() -> None:
    structure = Structure(3)

    def matrix(d: Any) -> Any:
        return structure.matrix(sparse, d, "csr")

    a, _ = fd.vjp(matrix, structure.parameters)
    before, columns = a.toarray(), a.indices.copy()
    a.sum_duplicates()
    again, _ = fd.vjp(matrix, structure.parameters)
    np.testing.assert_array_equal(again.toarray(), before)
    np.testing.assert_array_equal(again.indices, columns)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sorting_a_matrix_afterwards_does_not_reach_the_derivative(kind: str) -> None:
    structure = Structure(4)
    a = structure.matrix(plain, structure.parameters, kind)

    def f(x: Any) -> Any:
        return a @ x**2 + (a * x[0]).tanh() @ x

    expected = fd.vjp(f, B)[1](B)
    _, pullback = fd.vjp(f, B)
    a.sort_indices()
    np.testing.assert_allclose(pullback(B), expected)
    np.testing.assert_allclose(fd.vjp(f, B)[1](B), expected)
