"""Derivatives of solutions, beside differences of solutions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

import funcdiff as fd
from funcdiff.errors import ConvergenceError, InputError
from funcdiff.programs import sensitivity
from funcdiff.programs.sensitivity import _dense, _sparse
from funcdiff.scipy.optimize import SolutionWarning

GOODS = {"price": np.array([1.0, 2.0, 0.5]), "budget": 4.0}
CONSUMED = {"goods": np.array([1.0, 1.0, 1.0]), "rest": 0.5}


def dislike(x: Any, p: Any, share: Any) -> Any:
    """Return what a consumer minimises, with goods of decreasing use."""
    return -np.sum(share * np.log(x["goods"] + 0.1)) - 0.1 * np.sqrt(x["rest"] + 1)


def balance(x: Any, p: Any, share: Any) -> Any:
    """Return what is spent beyond the budget, and a technical limit."""
    spent = np.sum(p["price"] * x["goods"]) + x["rest"]
    return {"spent": spent - p["budget"], "mix": x["goods"][0] * x["goods"][1] - 0.6 * share[0]}


def consumer(p: Any, share: Any) -> Any:
    """Return the program for a budget: one bound and both constraints are active."""
    return fd.nlp(
        dislike, balance, CONSUMED, bounds=(0.0, None),
        cbounds=(None, {"spent": 0.0, "mix": 0.0}), args=(p, share),
    )  # fmt: skip


def test_derivatives_are_those_of_solutions_nearby() -> None:
    share = np.array([1.0, 2.0, 0.5])
    program = consumer(GOODS, share)
    solution = program.solve()
    assert solution.success
    assert np.all(numbers(solution.multipliers) > 0.01)
    assert solution.bound_multipliers["rest"] < -0.01
    by_goods, by_share = program.sensitivity(solution, (0, 1))()
    point, unravel = fd.ravel_pytree(GOODS)
    for k, step in enumerate(1e-4 * np.eye(4)):
        ends = [consumer(unravel(point + s * step), share).solve().vector for s in (1, -1)]
        expected = (ends[0] - ends[1]) / 2e-4
        columns = [by_goods[n]["price"][..., k] if k < 3 else by_goods[n]["budget"]
                   for n in ("goods", "rest")]  # fmt: skip
        np.testing.assert_allclose(np.append(*columns), expected, atol=2e-6)
    ends = [consumer(GOODS, share + s * np.eye(3)[0] * 1e-4).solve().vector for s in (1, -1)]
    np.testing.assert_allclose(
        np.append(by_share["goods"][:, 0], by_share["rest"][0]), (ends[0] - ends[1]) / 2e-4,
        atol=2e-6,
    )  # fmt: skip


def numbers(tree: Any) -> Any:
    """Return the numbers of a container."""
    return fd.ravel_pytree(tree)[0]


def test_shapes_are_those_of_a_jacobian() -> None:
    def f(x: Any, a: Any) -> Any:
        return np.sum((x - np.sum(a, axis=0)) ** 2)

    program = fd.nlp(f, None, np.zeros((2, 3)), args=(np.ones((4, 3)),))
    found = program.sensitivity(program.solve())()
    assert found.shape == (2, 3, 4, 3)
    expected = fd.jacobian(lambda a: np.sum(a, axis=0) + np.zeros((2, 3)))(np.ones((4, 3)))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_multiplier_near_zero_is_told() -> None:
    program = fd.nlp(
        lambda x, a: np.sum((x - a) ** 2), lambda x, a: {"sum": np.sum(x)}, np.array([0.5, 0.0]),
        cbounds=(1.0 - 1e-12, None), args=(np.array([1.0, 0.0]),),
    )  # fmt: skip
    with pytest.warns(SolutionWarning, match=r"multiplier of c\['sum'\].*test_sensitivity"):
        program.sensitivity(program.solve())()


def test_a_bound_that_hardly_holds_is_told() -> None:
    program = fd.nlp(
        lambda x, a: np.sum((x - a) ** 2), None, np.array([0.5, 0.5]), bounds=(0.0, None),
        args=(np.array([0.0, 1.0]),),
    )  # fmt: skip
    with pytest.warns(SolutionWarning, match=r"multiplier of x\[0\]"):
        program.sensitivity(program.solve())()


def test_dependent_constraints_are_refused() -> None:
    program = fd.nlp(
        lambda x, a: np.sum((x - a) ** 2), lambda x, a: np.stack([x[0] + x[1], 2 * (x[0] + x[1])]),
        np.zeros(2), cbounds=(0, 0), args=(np.array([2.0, 1.0]),),
    )  # fmt: skip
    solution = program.solution(np.array([0.5, -0.5]))
    with pytest.raises(ConvergenceError, match=r"singular.*Leave out constraints"):
        program.sensitivity(solution)()


def test_other_arguments_and_saddles_are_refused() -> None:
    program = fd.nlp(
        lambda x, a: np.sum((x - a) ** 2), None, np.zeros(2), args=(np.array([2.0, 1.0]),)
    )
    solution = program.solve()
    with pytest.raises(ConvergenceError, match="Solve the program with these arguments first"):
        program.sensitivity(solution)(np.array([3.0, 1.0]))
    saddle = fd.nlp(lambda x, a: x[0] ** 2 - x[1] ** 2 + a, None, np.zeros(2), args=(1.0,))
    with pytest.raises(ConvergenceError, match="no minimum"):
        saddle.sensitivity(saddle.solution(np.zeros(2)))()


def test_only_arguments_that_there_are_can_be_asked_for() -> None:
    program = fd.nlp(lambda x, a: np.sum((x - a) ** 2), None, np.zeros(2), args=(1.0,))
    with pytest.raises(InputError, match="argnums=1 for a program with 1 argument"):
        program.sensitivity(program.solve(), 1)
    fixed = fd.nlp(lambda x, a: np.sum(x**2), None, np.zeros(2), args=(np.arange(3),))
    with pytest.raises(InputError, match="int64"):
        fixed.sensitivity(fixed.solve())()


@pytest.mark.parametrize("n", [2, 120])
def test_where_everything_is_at_bounds_nothing_moves(n: int) -> None:
    program = fd.nlp(lambda x, a: a * np.sum(x), None, np.zeros(n), bounds=(-1, 1), args=(2.0,))
    assert np.array_equal(program.sensitivity(program.solve("SLSQP"))(), np.zeros(n))


@pytest.mark.parametrize("n", [2, 120])
def test_variables_without_constraints_or_all_of_them_fixed_move_as_they_must(n: int) -> None:
    for c, limits, moved in ((None, None, 1.0), (lambda x, a: x - a / 2, (0.0, 0.0), 0.5)):
        program = fd.nlp(lambda x, a: np.sum((x - a) ** 2), c, np.zeros(n), None, limits, (2.0,))
        found = program.sensitivity(program.solve("SLSQP"))()
        np.testing.assert_allclose(found, moved, atol=1e-12)


def test_matrices_of_conditions_are_judged_alike_whether_sparse_or_dense() -> None:
    rng, kinds = np.random.default_rng(0), {"minimum": 0, "saddle": 0, "singular": 0}
    for _ in range(150):
        n = int(rng.integers(1, 12))
        m = int(rng.integers(0, n + 1))
        H, J = (rng.normal(size=(k, n)) * (rng.random((k, n)) < 0.4) for k in (n, m))
        H = H @ H.T if rng.random() < 0.4 else H + H.T  # with zeros on the diagonal, too
        J *= 10.0 ** rng.integers(-3, 4)
        if m > 1 and rng.random() < 0.1:
            J[-1] = 2 * J[0]
        K = np.block([[H, J.T], [J, np.zeros((m, m))]])
        if not np.all(np.any(K, axis=0)):
            continue
        scale = np.max(np.abs(K), axis=0) ** -0.5
        dense, sparse = _dense(K, scale), _sparse(csc_array(K), scale)
        assert (dense is None) == (sparse is None)
        kinds["singular" if dense is None else "minimum" if dense[1] == m else "saddle"] += 1
        if dense is not None and sparse is not None:
            assert dense[1] == sparse[1]
            side = rng.normal(size=(n + m, 2))
            rounding = 1e-13 * np.linalg.cond(scale[:, None] * K * scale)
            x, y = dense[0](side), sparse[0](side)
            np.testing.assert_allclose(x, y, rtol=0, atol=rounding * np.max(np.abs(x)))
    assert min(kinds.values()) > 5


def test_many_variables_have_the_derivatives_of_dense_matrices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def f(x: Any, a: Any) -> Any:
        return np.sum((x[1:] - a[0] * x[:-1] ** 2) ** 2) + a[1] * np.sum(x**2) + np.sum(x)

    program = fd.nlp(
        f, lambda x, a: {"near": x[2::3] - a[0] * x[:-2:3] ** 2, "sum": np.sum(x)},
        np.full(120, 0.5), (0.1, None), ({"near": 0.0, "sum": 30.0}, {"near": 0.0, "sum": None}),
        args=(np.array([1.0, 0.1]),),
    )  # fmt: skip
    solution = program.solve("SLSQP")
    assert solution.success
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolutionWarning)
        sparse = program.sensitivity(solution)()
        monkeypatch.setattr(sensitivity, "LARGE", 1000)
        dense = program.sensitivity(solution)()
    assert np.max(np.abs(dense)) > 0.01
    np.testing.assert_allclose(sparse, dense, atol=1e-10)


@pytest.mark.thinned(18)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_solutions_of_random_convex_programs_have_right_conditions_and_derivatives(
    seed: int, method: str
) -> None:
    rng = np.random.default_rng(seed)
    root, A, q = rng.normal(size=(5, 5)), rng.normal(size=(4, 5)), rng.normal(size=5)

    def f(x: Any, q: Any) -> Any:
        return 0.5 * np.sum((root @ x) ** 2) + 0.1 * np.sum(x**4) + q @ x

    def solve(q: Any) -> Any:
        program = fd.nlp(
            f, lambda x, q: {"above": A[:2] @ x, "equal": A[2] @ x, "below": np.sum(x**2)},
            np.zeros(5), (-0.3, 0.4),
            ({"above": -0.1, "equal": 0.0, "below": None},
             {"above": None, "equal": 0.0, "below": 0.2}),
            args=(q,),
        )  # fmt: skip
        return program, program.solve(method)

    program, found = solve(q)
    assert found.success
    z, weights = found.vector, numbers(found.multipliers)
    slope = fd.grad(program.functions.lagrangian)(z, 1.0, weights, q)
    np.testing.assert_allclose(slope + found.bound_multipliers, 0.0, atol=1e-5)
    for value, (low, high), weight in (
        (z, program.bounds, found.bound_multipliers),
        (numbers(found.constraints), program.cbounds, weights),
    ):
        assert np.all(np.where(weight > 1e-5, np.abs(value - high) < 1e-5, True))
        assert np.all(np.where(weight < -1e-5, np.abs(value - low) < 1e-5, True))
    derivative = program.sensitivity(found)()
    step = rng.normal(size=5) * 1e-4
    moved = (solve(q + step)[1].vector - solve(q - step)[1].vector) / 2
    np.testing.assert_allclose(derivative @ step, moved, atol=2e-7)
