"""Sparse systems by factorization and iteration, against SciPy's own and its differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse as plain
from scipy.sparse import linalg as solvers

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import sparse
from tests.scipy.agreement import assert_agrees

Call = Callable[..., Any]
GENERATOR = np.random.default_rng(0)
N = 5
PLACES = (np.array([0, 1, 2, 3, 4, 0, 1, 3, 4]), np.array([0, 1, 2, 3, 4, 3, 0, 2, 1]))
ENTRIES = np.array([4.0, 3.5, 5.0, 4.2, 3.1, 0.7, -0.6, 0.9, -1.1])
B, WIDE = GENERATOR.normal(size=N), GENERATOR.normal(size=(N, 2))
CONSTANT = plain.csc_array((ENTRIES, PLACES), shape=(N, N))


def build(s: Any, data: Any, name: str = "csr_array") -> Any:
    """Return a regular matrix."""
    return getattr(s, name)((data, PLACES), shape=(N, N))


def square(s: Any, data: Any) -> Any:
    """Return a positive definite matrix."""
    a = build(s, data)
    return a.T @ a


DIRECT: dict[str, Call] = {
    "spsolve": lambda s, d, b: s.linalg.spsolve(build(s, d), b),
    "columns": lambda s, d, b: s.linalg.spsolve(
        build(s, d, "csc_matrix"), np.stack([b, 2 * b * b], 1), permc_spec="NATURAL"
    ),
    "sparse columns": lambda s, d, b: s.linalg.spsolve(
        build(s, d, "csc_array"), s.diags_array(b, format="csc")
    ).toarray(),
    "inv": lambda s, d, b: s.linalg.inv(build(s, d, "csc_array")).toarray() @ b,
    "lower": lambda s, d, b: s.linalg.spsolve_triangular(s.tril(build(s, d), format="csr"), b),
    "upper": lambda s, d, b: s.linalg.spsolve_triangular(
        s.triu(build(s, d, "csc_array"), format="csc"), np.stack([b, b * b], 1), lower=False,
        unit_diagonal=True,
    ),
    "splu": lambda s, d, b: [s.linalg.splu(build(s, d, "csc_array")).solve(b, t) for t in "NTH"],
    "splu of a constant": lambda s, d, b: [
        s.linalg.splu(CONSTANT).solve(b, t) * d[0] for t in "NTH"
    ],
    "factorized": lambda s, d, b: s.linalg.factorized(build(s, d, "csc_array"))(b),
}  # fmt: skip


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", DIRECT)
def test_a_direct_solver_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", DIRECT[name], ENTRIES, B)


def _by(name: str) -> Call:
    matrix = square if name in ("cg", "minres") else build
    return lambda s, d, b: getattr(s.linalg, name)(matrix(s, d), b, rtol=1e-13)[0]


def _by_operator(name: str) -> Call:
    def call(s: Any, d: Any, b: Any) -> Any:
        a = square(s, d) if name in ("cg", "minres") else build(s, d)
        operator = s.linalg.LinearOperator(
            (N, N), matvec=lambda v: a @ v, rmatvec=lambda v: a.T @ v, dtype=float
        )
        return getattr(s.linalg, name)(operator, b, rtol=1e-13)

    return call


NAMES = ("cg", "minres", "bicg", "bicgstab", "cgs", "gmres", "lgmres", "gcrotmk", "qmr", "tfqmr")
LEAST: dict[str, Call] = {
    f"{name} {kind}": lambda s, d, b, name=name, kind=kind: _least(s, d, b, name, kind)
    for name in ("lsqr", "lsmr")
    for kind in ("tall", "wide", "damped", "damped by what is differentiated", "from a guess")
}


def _least(s: Any, d: Any, b: Any, name: str, kind: str) -> Any:
    solve, options = getattr(s.linalg, name), {"atol": 1e-14, "btol": 1e-14}
    if kind == "tall":
        found = solve(build(s, d)[:, :3], b, **options)
        return [found[0], found[3] if name == "lsqr" else found[7]]
    if kind == "wide":
        return solve(build(s, d)[:3], b[:3], **options)[0]
    if "by" in kind:
        return solve(build(s, d)[:3], b[:3], d[0], **options)[0]
    if kind == "damped":
        return solve(build(s, d)[:3], b[:3], damp=0.5, **options)[0]
    return solve(build(s, d)[:3], b[:3], x0=WIDE[:, 0], **options)[0]


@pytest.mark.thinned(10)
@pytest.mark.parametrize("name", NAMES)
def test_an_iterative_solver_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", _by(name), ENTRIES, B, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_iterative_solver_of_an_operator_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", _by_operator(name), ENTRIES, B, rtol=1e-10, order=1)


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", LEAST)
def test_least_squares_agree(name: str) -> None:
    assert_agrees("scipy.sparse", LEAST[name], ENTRIES, B, rtol=1e-9)


@pytest.mark.slow
def test_preconditioners_are_constants() -> None:
    def call(s: Any, d: Any, b: Any) -> Any:
        a = build(s, d)
        factors = s.linalg.spilu(CONSTANT)
        M = s.linalg.LinearOperator((N, N), factors.solve)
        return [
            s.linalg.gmres(a, b, rtol=1e-13, M=M, restart=3)[0],
            s.linalg.minres(square(s, d), b, rtol=1e-13, shift=0.3, M=plain.eye_array(N) / 9)[0],
            s.linalg.cg(square(s, d), b, 2 * b, rtol=1e-13, M=s.diags_array(1 / d[:N] ** 2))[0],
            s.linalg.bicgstab(a, b, rtol=1e-13, M=np.diag(1 / d[:N]))[0],
        ]

    assert_agrees("scipy.sparse", call, ENTRIES, B, rtol=1e-10, order=1)


@pytest.mark.parametrize("name", ["bicg", "bicgstab", "cgs", "qmr", "cg"])
def test_tolerances_of_derivatives_are_relative(name: str) -> None:
    a = CONSTANT.T @ CONSTANT
    pull = fd.vjp(lambda b: getattr(sparse.linalg, name)(a, b, atol=2.0)[0], 1e9 * B)[1]
    for seed in (np.ones(N), 1e-30 * np.ones(N)):
        np.testing.assert_allclose(pull(seed)[0], np.linalg.solve(a.toarray(), seed), rtol=1e-3)


def test_whether_a_solver_converged_is_told() -> None:
    codes: list[int] = []

    def solution(b: Any) -> Any:
        x, info = sparse.linalg.cg(square(sparse, ENTRIES), b, rtol=1e-14, maxiter=2)
        codes.append(int(info))
        return np.sum(x)

    with pytest.warns(RuntimeWarning, match="cg did not converge for a derivative"):
        fd.grad(solution)(B)
    assert codes == [solvers.cg(square(plain, ENTRIES), B, rtol=1e-14, maxiter=2)[1]] == [2]


def test_factors_made_outside_solve_for_traced_right_hand_sides() -> None:
    factors = sparse.linalg.splu(CONSTANT)
    assert_agrees("scipy.sparse", lambda s, b: factors.solve(b * b), B)
    np.testing.assert_array_equal(factors.perm_r, solvers.splu(CONSTANT).perm_r)
    incomplete = sparse.linalg.spilu(CONSTANT, 0.1)
    assert_agrees("scipy.sparse", lambda s, b: [incomplete.solve(b * b, t) for t in "NT"], B)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_other_dtypes_are_kept(dtype: str) -> None:
    data = (ENTRIES + (0.3j if dtype == "c16" else 0)).astype(dtype)
    rtol = 1e-12 if dtype == "c16" else 1e-5

    def call(s: Any, d: Any) -> Any:
        a = build(s, d)
        b = B.astype(dtype)
        return [s.linalg.spsolve(a, b), s.linalg.gmres(a, b, rtol=rtol)[0]]

    found: Any = fd.vjp(lambda d: call(sparse, d), data)[0]
    for one, two in zip(found, call(plain, data), strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_allclose(one, two, rtol=10 * rtol, atol=rtol)
    if dtype == "c16":
        assert_agrees("scipy.sparse", lambda s, d: call(s, d)[0], data)


def test_the_slope_of_a_large_system_is_found_in_its_pattern() -> None:
    n = 20_000

    def energy(main: Any) -> Any:
        a = sparse.diags_array([-np.ones(n - 1), main, -np.ones(n - 1)], offsets=[-1, 0, 1])
        x = sparse.linalg.spsolve(a.tocsc(), np.ones(n))
        return np.sum(x)

    main = np.full(n, 2.5)
    x = solvers.spsolve(
        plain.diags_array([-np.ones(n - 1), main, -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsc(),
        np.ones(n),
    )
    np.testing.assert_allclose(fd.grad(energy)(main), -(x**2), rtol=1e-12)


REFUSED: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "not square": (
        lambda d: sparse.linalg.spsolve(build(sparse, d)[:3], B), ValueError, "must be square"
    ),
    "not triangular": (
        lambda d: sparse.linalg.spsolve_triangular(build(sparse, d), B),
        np.linalg.LinAlgError, "not lower triangular",
    ),
    "factors": (
        lambda d: sparse.linalg.splu(build(sparse, d)).L, UnsupportedNumPyError, r"splu\(A\)\.L"
    ),
    "memory": (
        lambda d: sparse.linalg.lgmres(build(sparse, d), B, outer_v=[])[0],
        UnsupportedNumPyError, "Leave them out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_system_is_refused(name: str) -> None:
    function, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        fd.grad(lambda d: np.sum(function(d)))(ENTRIES)


def test_graphs_take_no_traced_arrays() -> None:
    with pytest.raises((UnsupportedNumPyError, NotDifferentiableError), match="changes in jumps"):
        fd.grad(lambda d: sparse.csgraph.shortest_path(build(sparse, d))[0, 1])(ENTRIES)


OPERATORS: dict[str, Call] = {
    "matvec": lambda s, d, x: s.linalg.aslinearoperator(build(s, d)) @ x,
    "rmatvec": lambda s, d, x: s.linalg.aslinearoperator(build(s, d)).H @ x,
    "of a constant": lambda s, d, x: s.linalg.aslinearoperator(CONSTANT).matvec(x * d[0]),
    "sum": lambda s, d, x: (
        2 * s.linalg.aslinearoperator(build(s, d)) + s.linalg.aslinearoperator(CONSTANT)
    ).dot(x),
    "product": lambda s, d, x: (
        s.linalg.aslinearoperator(build(s, d)) @ s.linalg.aslinearoperator(CONSTANT)
    ).matmat(np.stack([x, x * x], 1)),
}


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_linear_operator_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", OPERATORS[name], ENTRIES, B, order=1)


# ---- an inverse problem --------------------------------------------------------------------------

SIDE = 4
NODES = SIDE * SIDE


def _incidence() -> Any:
    """Return which edge of a grid leads from which node to which."""
    steps = np.ones(SIDE - 1)
    line = plain.diags_array([-steps, steps], offsets=[0, 1], shape=(SIDE - 1, SIDE))
    unit = plain.eye_array(SIDE)
    return plain.vstack([plain.kron(unit, line), plain.kron(line, unit)]).tocsr()


D = _incidence()
CURRENTS = np.random.default_rng(3).normal(size=(NODES, 4))
"""Four experiments, each with a current into every node."""


def potentials(logarithms: Any, *, direct: bool = False) -> Any:
    """Solve Dᵀ·k·D·u + u/10 = f: Kirchhoff's law, with a leak to the ground at every node."""
    law = D.T @ (sparse.diags_array(np.exp(logarithms)) @ D) + 0.1 * plain.eye_array(NODES)
    if direct:
        return sparse.linalg.spsolve(law.tocsc(), CURRENTS)
    columns = [sparse.linalg.cg(law, f, rtol=1e-12)[0] for f in CURRENTS.T]
    return np.stack(columns, axis=1)


def test_both_solvers_give_one_slope() -> None:
    at = np.linspace(-1.0, 1.0, D.shape[0])
    by_cg, by_factors = (
        fd.grad(lambda x, direct=direct: np.sum(potentials(x, direct=direct) ** 2))(at)
        for direct in (False, True)
    )
    np.testing.assert_allclose(by_cg, by_factors, rtol=1e-8, atol=1e-8)
