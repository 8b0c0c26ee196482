"""Roots, fixed points and solutions of linear equations, and their derivatives."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

import funcdiff as fd
from funcdiff import errors
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.running.memo import caches
from funcdiff.errors import ConvergenceError
from funcdiff.ops.user.solved_equations import Root, entered, root
from funcdiff.testing import check_grads
from tests.api.equations import (
    DEFINITE,
    MATRIX,
    WEIGHTS,
    B,
    W,
    by_cg,
    close,
    equilibrium,
    kepler,
    newton,
    solved_by_cg,
    solved_by_gmres,
    solved_densely,
    unrolled,
)
from tests.rules.sample import body


@pytest.mark.slow
def test_the_derivative_of_keplers_equation_is_that_of_the_formula() -> None:
    E = kepler(1.2, 0.3)
    assert abs(E - 0.3 * np.sin(E) - 1.2) < 1e-15
    close(fd.grad(kepler)(1.2, 0.3), 1 / (1 - 0.3 * np.cos(E)))
    close(fd.grad(kepler, argnums=1)(1.2, 0.3), np.sin(E) / (1 - 0.3 * np.cos(E)))
    check_grads(kepler, (1.2, 0.3), order=3)


def test_a_value_is_the_same_in_a_trace_and_outside() -> None:
    assert fd.value_and_grad(kepler)(1.2, 0.3)[0] == kepler(1.2, 0.3)
    assert np.array_equal(fd.vjp(equilibrium, W, B)[0], equilibrium(W, B))
    assert np.array_equal(fd.vjp(solved_by_cg, DEFINITE, B)[0], solved_by_cg(DEFINITE, B))


@pytest.mark.parametrize("solve", [solved_by_cg, solved_by_gmres, solved_densely])
def test_a_linear_solution_has_the_derivatives_of_solve(solve: Any) -> None:
    b = np.array([1.0, -2.0, 0.5])
    close(solve(DEFINITE, b), np.linalg.solve(DEFINITE, b))
    for argnums in (0, 1):
        exact = fd.jacfwd(np.linalg.solve, argnums)(DEFINITE, b)
        close(fd.jacfwd(solve, argnums)(DEFINITE, b), exact)
        close(fd.jacrev(solve, argnums)(DEFINITE, b), exact)
        value = fd.hessian(lambda *ab: np.sum(solve(*ab) ** 3), argnums)(DEFINITE, b)
        exact = fd.hessian(lambda *ab: np.sum(np.linalg.solve(*ab) ** 3), argnums)(DEFINITE, b)
        close(value, exact, rtol=1e-8)


def test_reverse_mode_solves_with_the_solver_of_the_transpose() -> None:
    inverse, transposed = np.linalg.inv(MATRIX), np.linalg.inv(MATRIX.T)

    def solve(b: Any) -> Any:
        return fd.custom_linear_solve(
            lambda x: np.asarray(MATRIX) @ x,
            b,
            lambda _, y: inverse @ y,
            lambda _, y: transposed @ y,
        )

    close(fd.jacfwd(solve)(B), inverse)
    close(fd.jacrev(solve)(B), inverse)


def test_complex_roots_and_maps_that_conjugate_are_differentiated() -> None:
    def square_root(a: Any) -> Any:
        def solve(f: Any, z: Any) -> Any:
            for _ in range(60):
                z = z - f(z) / fd.grad(f, holomorphic=True)(z)
            return z

        return fd.custom_root(lambda z: z * z - a, 1.0 + 1.0j, solve)

    close(fd.grad(square_root, holomorphic=True)(2.0j), 0.5 / np.sqrt(2.0j))

    A = MATRIX[:2, :2] + 1j * np.array([[0.2, -0.4], [0.1, 0.6]])
    b = np.array([1.0 + 1.0j, 2.0 - 0.5j])

    def mixed(c: Any, b: Any) -> Any:
        return fd.custom_linear_solve(lambda z: A @ z + c * np.conj(z), b)

    z = mixed(0.4 + 0.1j, b)
    close(A @ z + (0.4 + 0.1j) * np.conj(z), b)
    check_grads(mixed, (0.4 + 0.1j, b), order=2)


@pytest.mark.slow
def test_the_unknowns_may_be_any_container() -> None:
    @dataclass(frozen=True)
    class State:
        x: Any
        y: Any

    def system(p: Any) -> Any:
        def f(u: State) -> State:
            return State(u.x**3 + p["a"] * u.y[0] - 1, [u.y[0] * np.exp(u.x) - p["b"][0]])

        def solve(f: Any, start: State) -> State:
            vector, unravel = fd.ravel_pytree(start)
            flat = lambda v: fd.ravel_pytree(f(unravel(v)))[0]
            found = optimize.root(flat, vector, jac=fd.jacobian(flat), tol=1e-14)
            assert found.success
            return unravel(found.x)

        u = fd.custom_root(f, State(0.5, [0.5]), solve)
        assert isinstance(u, State)
        return u.x, u.y

    check_grads(system, (OrderedDict(a=0.7, b=(0.3,)),), order=2)


def test_float32_stays_float32() -> None:
    b = B.astype(np.float32)
    shift: Any = lambda b: fd.fixed_point(lambda x: 0.3 * np.tanh(x) + b, np.zeros(3, np.float32))
    assert shift(b).dtype == np.float32
    assert fd.grad(lambda b: np.sum(shift(b)))(b).dtype == np.float32
    assert fd.jacfwd(shift)(b).dtype == np.float32


def test_a_solver_of_tangents_is_used_in_both_modes() -> None:
    calls = []

    def tangent_solve(g: Any, y: Any) -> Any:
        calls.append(y)
        return np.linalg.solve(fd.jacobian(g)(y), y)

    def state(b: Any) -> Any:
        return fd.fixed_point(lambda x: np.tanh(W @ x + b), np.zeros(3), linear_solve=tangent_solve)

    expected = fd.jacfwd(lambda b: unrolled(W, b))(B)
    close(fd.jacfwd(state)(B), expected)
    close(fd.jacrev(state)(B), expected)
    assert len(calls) == 6
    check_grads(state, (B,), order=2)


def test_the_guess_has_no_derivative() -> None:
    assert fd.grad(lambda x: fd.fixed_point(lambda y: np.cos(y), x))(1.0) == 0.0
    assert fd.jvp(lambda x: fd.fixed_point(lambda y: np.cos(y), x), (1.0,), (1.0,))[1] == 0.0


def test_what_comes_beside_the_solution_is_returned() -> None:
    def solve(f: Any, x: Any) -> Any:
        steps = 0
        while abs(f(x)) > 1e-14:
            x, steps = x - f(x) / fd.grad(f)(x), steps + 1
        return x, {"steps": steps, "converged": True}

    def anomaly(mean: Any) -> Any:
        return fd.custom_root(lambda E: E - 0.3 * np.sin(E) - mean, mean, solve, has_aux=True)

    E, info = anomaly(1.2)
    assert info["steps"] > 1
    (value, traced_info), slope = fd.value_and_grad(anomaly, has_aux=True)(1.2)
    assert value == E
    assert traced_info == info
    close(slope, fd.grad(kepler)(1.2, 0.3))

    def by_matrix(A: Any, b: Any) -> Any:
        return np.linalg.solve(MATRIX, b), np.int64(7)

    x, count = fd.custom_linear_solve(lambda x: MATRIX @ x, B, by_matrix, has_aux=True)
    assert count == 7
    pushed = fd.jvp(
        lambda b: fd.custom_linear_solve(lambda x: MATRIX @ x, b, by_matrix, has_aux=True),
        (B,), (WEIGHTS,),
    )  # fmt: skip
    close(pushed[0][0], x)
    close(pushed[1][0], np.linalg.solve(MATRIX, WEIGHTS))


def test_a_map_with_a_constant_term_is_solved_with_it() -> None:
    shifted: Any = lambda c: lambda x: 2.0 * x + c
    dense: Any = lambda c: fd.custom_linear_solve(shifted(c), B)
    close(dense(WEIGHTS), (B - WEIGHTS) / 2)
    close(fd.jacrev(dense)(WEIGHTS), -np.eye(3) / 2)
    krylov: Any = lambda c: fd.custom_linear_solve(shifted(c), B, by_cg, symmetric=True)
    close(fd.jvp(krylov, (WEIGHTS,), (B,))[0], (B - WEIGHTS) / 2)
    close(fd.jacrev(krylov)(WEIGHTS), -np.eye(3) / 2)


# ---- compositions ------------------------------------------------------------------------------


@pytest.mark.slow
def test_equations_stand_in_loops_and_branches() -> None:
    def orbit(mean: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            E = kepler(carry, 0.2)
            return 0.9 * E, E * x

        last, rows = fd.scan(step, mean, np.arange(3.0))
        return last + np.sum(rows)

    def written_out(mean: Any) -> Any:
        total = 0.0
        for x in np.arange(3.0):
            E = kepler(mean, 0.2)
            mean, total = 0.9 * E, total + E * x
        return mean + total

    close(orbit(1.2), written_out(1.2))
    close(fd.grad(fd.grad(orbit))(1.2), fd.grad(fd.grad(written_out))(1.2))
    branch: Any = lambda m: fd.cond(m > 0, lambda: kepler(m, 0.3), lambda: m)
    check_grads(branch, (1.2,), order=2)
    close(fd.vmap(fd.grad(branch))(np.array([1.2, -0.5])), [fd.grad(kepler)(1.2, 0.3), 1.0])


def test_the_function_may_have_a_rule_of_its_own() -> None:
    @fd.custom_jvp
    def sine(x: Any) -> Any:
        return np.sin(x)

    @sine.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return sine(x), np.cos(x) * t

    def anomaly(mean: Any) -> Any:
        return fd.custom_root(lambda E: E - 0.3 * sine(E) - mean, mean, newton)

    close(fd.grad(fd.grad(anomaly))(1.2), fd.grad(fd.grad(kepler))(1.2, 0.3))


def test_the_value_may_decide_a_branch() -> None:
    def f(mean: Any) -> Any:
        E = kepler(mean, 0.3)
        return 2 * E if E > 1 else E

    close(fd.grad(f)(1.2), 2 * fd.grad(kepler)(1.2, 0.3))
    close(fd.grad(f)(0.2), fd.grad(kepler)(0.2, 0.3))


def test_the_solution_has_the_type_of_the_unknown() -> None:
    start: NDArray[np.float64] = np.zeros(3)
    Vector = NDArray[np.float64]
    root = fd.custom_root(lambda x: x - B, start, lambda f, x: x - f(x))
    assert_type(root, NDArray[np.float64])
    with_count = fd.custom_root(lambda x: x - B, start, lambda f, x: (x - f(x), 1), has_aux=True)
    assert_type(with_count, tuple[Vector, int])
    assert_type(fd.fixed_point(lambda x, b: x / 2 + b, start, B), Vector)
    assert_type(fd.fixed_point(lambda x: {"a": x["a"] / 2}, {"a": 1.0}), dict[str, float])
    assert_type(fd.custom_linear_solve(lambda x: 2 * x, start), Vector)
    close(root, B)
    assert with_count[1] == 1


# ---- when iterations end -------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e8, -1e12])
def test_the_tolerance_of_a_fixed_point_is_relative_to_it(scale: float) -> None:
    def solution(a: float) -> float:
        return fd.fixed_point(lambda x, a: (x + a) / 2, 0.0 * scale, a, tol=1e-6, max_iterations=25)

    assert solution(scale) == pytest.approx(scale, rel=2e-6)
    assert fd.grad(solution)(scale) == pytest.approx(1.0)


def test_an_iteration_that_is_cut_off_says_so() -> None:
    with pytest.raises(ConvergenceError, match="did not converge in 5 iterations"):
        fd.fixed_point(lambda x: np.cos(x), 1.0, tol=1e-6, max_iterations=5)


# ---- a solver has one name, and lives as long as a program that calls it -------------------------


def _entries() -> int:
    return sum(map(len, caches))


@pytest.mark.parametrize("kind", ["function", "lambda", "partial", "local", "iteration"])
def test_a_warm_call_finds_everything_in_the_caches(kind: str) -> None:
    def once(mean: float) -> Any:
        count = 50

        def local(f: Any, x: Any) -> Any:
            for _ in range(count):
                x = x - f(x) / fd.grad(f)(x)
            return x

        if kind == "iteration":
            return fd.grad(lambda a: fd.fixed_point(lambda x: np.cos(x) * a, 0.5))(mean)
        choices: dict[str, Callable[..., Any]] = {
            "function": newton,
            "lambda": lambda f, x: local(f, x),
            "partial": functools.partial(local),
            "local": local,
        }
        chosen = choices[kind]
        return fd.grad(lambda m: fd.custom_root(lambda E: E - np.sin(E) / 3 - m, m, chosen))(mean)

    once(0.5)
    before = _entries()
    once(0.6)
    assert _entries() == before


BIT = 2.0**-12
"""By so much of 1 a solver may miss."""


def test_solvers_that_close_over_other_values_are_others() -> None:
    def shifted(by: Any) -> Any:
        return lambda a: fd.custom_root(lambda x: x - a, 0.0, lambda f, x: x - f(x) + by)

    values = [fd.value_and_grad(shifted(by))(1.0)[0] for by in (2 * BIT, BIT, np.float32(BIT))]
    assert values == [1 + 2 * BIT, 1 + BIT, 1 + BIT]
    assert str(fd.value_and_grad(shifted(0.0))(-0.0)[0]) == "0.0"
    assert str(fd.value_and_grad(shifted(-0.0))(-0.0)[0]) == "0.0"


def test_a_solver_keeps_the_values_that_it_was_used_with() -> None:
    by = BIT

    def f(a: Any) -> Any:
        return fd.custom_root(lambda x: x - a, 0.0, lambda f, x: x - f(x) + by)

    _, pull = fd.vjp(lambda a: f(a) ** 2, 1.0)
    by = 2 * BIT
    assert pull(1.0) == (2 + 2 * BIT,)
    assert fd.value_and_grad(f)(1.0)[0] == 1 + 2 * BIT


def test_a_solver_is_forgotten_with_the_programs_that_call_it() -> None:
    def solve(_n: str, program: Program, given: Sequence[Any], start: Sequence[Any]) -> list[Any]:
        return [start[0] - evaluate(program, [*given, *start])[0]]

    equation = body(lambda a, x: (x - a,), 0.0, 0.0)

    def calling(name: str) -> Program:
        p = Root("f", equation, 1, name, (), (), False, "")
        return body(lambda a, x: root(p, [a, x]), 0.0, 0.0)

    solver = entered.enter("shift", solve)
    named = str(solver)
    kept = calling(solver)
    assert fd.parse(str(kept)) == kept
    del solver
    assert evaluate(calling(named), [3.0, 1.0]) == [3.0]
    unknown = calling(str(entered.enter("shift", solve)))
    with pytest.raises(errors.ProgramError, match=r"solver 'shift.*', which is not known"):
        evaluate(unknown, [3.0, 1.0])
    assert kept == calling(named)


@pytest.mark.parametrize("nested", [False, True])
def test_what_a_solver_binds_anew_outside_of_it_stays_bound(nested: bool) -> None:
    calls = 0

    def plain(f: Any, x: Any) -> Any:
        nonlocal calls
        calls += 1
        return newton(f, x)

    def around(f: Any, x: Any) -> Any:
        def count() -> None:
            nonlocal calls
            calls += 1

        count()
        return newton(f, x)

    solve = around if nested else plain
    slope = fd.grad(lambda a: fd.custom_root(lambda x: x * x - a, 1.0, solve))
    for k in range(1, 9):
        np.testing.assert_allclose(slope(2.0), 0.5 / np.sqrt(2), rtol=1e-12)
        assert calls == k


# ---- a result that is no solution ----------------------------------------------------------------


def _in_both(solved: Callable[[Any], Any], a: Any) -> list[Callable[[], Any]]:
    return [lambda: solved(a), lambda: fd.grad(solved)(a), lambda: fd.jit(solved)(a)]


WRONG: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "the guess": (lambda a: fd.custom_root(lambda x: x**2 - a, 1.0, lambda f, x: x), 2.0),
    "a few iterations": (
        lambda a: fd.custom_root(lambda x: x**2 - 1e6 * a, 1.0, lambda f, x: 1950.0), 4.0),
    "the root of another equation": (
        lambda a: np.sum(fd.custom_root(lambda x: x**3 - a, np.ones(3), lambda f, x: 2 * x)),
        np.array([8.0, 8.0, 27.0])),
    "where it is flat": (
        lambda a: fd.custom_root(lambda x: np.tanh(x) - a, 9.0, lambda f, x: x), 0.5),
    "no fixed point": (
        lambda a: fd.fixed_point(lambda x, a: np.cos(x) * a, 0.5, a, solve=lambda g, x: g(x)), 1.0),
    "no solution": (
        lambda a: fd.custom_linear_solve(
            lambda x: a * x, np.float64(1e-9), lambda f, b: b, symmetric=True), 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_solution_is_refused_with_and_without_a_derivative(name: str) -> None:
    for call in _in_both(*WRONG[name]):
        with pytest.raises(ConvergenceError, match=r"no solution, at .*test_impl.* the residual"):
            call()


def test_a_tangent_solver_has_to_solve_too() -> None:
    def root(a: Any) -> Any:
        return fd.custom_root(lambda x: x**2 - a, 2.0, lambda f, x: np.sqrt(2.0), lambda g, y: y)

    with pytest.raises(ConvergenceError, match=r"no solution"):
        fd.grad(root)(2.0)


RIGHT: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a guess that is exact": (
        lambda a: fd.custom_root(lambda x: 1e20 * np.sin(x) * a, np.pi, lambda f, x: x), 1.0),
    "zero": (lambda a: fd.custom_root(lambda x: x**3 + x * a, 0.5, lambda f, x: 1e-12), 1.0),
    "roughly": (
        lambda a: fd.custom_root(lambda x: x**2 - a, 1.0, lambda f, x: np.sqrt(2) + 1e-4), 2.0),
    "a double root": (
        lambda a: fd.custom_root(lambda x: (x - a) ** 2, 1.0, lambda f, x: 1.0 + 1e-5), 1.0),
    "cancellation": (
        lambda a: np.sum(fd.custom_root(
            lambda x: 1e14 * (x - np.roll(x, 1)) * a + np.sum(x) - 3.0,
            np.array([1 + 2.0**-52, 1.0, 1.0]), lambda f, x: x)), 1.0),
    "nan": (lambda a: fd.custom_root(lambda x: x**2 + a, 1.0, lambda f, x: np.nan), 1.0),
    "nothing on the right": (
        lambda a: fd.custom_linear_solve(lambda x: a * x, np.float64(0.0), lambda f, b: 0 * b),
        2.0),
    "small numbers": (
        lambda a: fd.custom_linear_solve(lambda x: a * x, np.float64(1e-30), lambda f, b: b / 2),
        2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_nearly_a_solution_is_one(name: str) -> None:
    f, a = RIGHT[name]
    assert np.isfinite(f(a)) or name == "nan"
    assert np.ndim(fd.jvp(f, (a,), (1.0,))[0]) == 0 if name != "a double root" else True


def test_the_linear_solver_of_a_fixed_point_has_to_solve_too() -> None:
    def root(a: Any) -> Any:
        return fd.fixed_point(lambda x, a: np.cos(x) * a, 0.5, a, linear_solve=lambda g, y: y)

    with pytest.raises(ConvergenceError, match=r"no solution"):
        fd.grad(root)(1.0)


def test_a_solver_may_close_over_what_is_defined_after_the_trace() -> None:
    def solve(_matvec: Any, b: Any) -> Any:
        return halve(b)

    program = fd.trace(lambda b: fd.custom_linear_solve(lambda x: 2.0 * x, b, solve))(np.ones(2))

    def halve(b: Any) -> Any:
        return b / 2.0

    np.testing.assert_array_equal(evaluate(program, [np.ones(2)]), [[0.5, 0.5]])
