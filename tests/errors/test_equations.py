"""Equations that cannot be solved or differentiated say why, where, and what to write instead."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import errors
from tests.api.equations import MATRIX, B, by_gmres, close, newton


def _raised(error: type[Exception], mistake: Callable[[], Any], *patterns: str) -> None:
    with pytest.raises(error) as caught:
        mistake()
    message = str(caught.value)
    for pattern in patterns:
        assert re.search(pattern, message), message
    assert "test_equations.py" in message


def test_unknowns_that_are_no_floats_are_refused_with_their_path() -> None:
    _raised(
        errors.InputError,
        lambda: fd.custom_root(lambda u: u, {"n": 1}, newton),
        r"guess.*\['n'\] is 1",
        "Make it a float",
    )
    _raised(
        errors.InputError,
        lambda: fd.custom_linear_solve(lambda u: u, np.ones(2, int)),
        "dtype int64",
    )
    _raised(errors.InputError, lambda: fd.fixed_point(lambda u: u, []), "no numbers")


def test_equations_unlike_the_unknowns_are_refused_with_the_path() -> None:
    def solve(f: Any, x: Any) -> Any:
        return x

    def of(f: Callable[..., Any], start: Any = None) -> Callable[[], Any]:
        start = {"w": 1.0} if start is None else start
        return lambda: fd.grad(lambda a: fd.custom_root(lambda u: f(u, a), start, solve)["w"])(
            np.float64(1.0)  # a Python number would be weak, as in NumPy
        )

    _raised(
        errors.OutputError, of(lambda u, a: u["w"] * a), "returned one value", "one equation for"
    )
    _raised(
        errors.OutputError, of(lambda u, a: {"w": u["w"] * a * np.ones(2)}),
        r"result\['w'\].*f64\[2\]", r"unknown\['w'\].*f64\[\]",
    )  # fmt: skip
    _raised(
        errors.OutputError,
        of(lambda u, a: {"w": u["w"] * a}, {"w": np.float32(1.0)}),
        r"f64\[\].*f32\[\]",
    )


@pytest.mark.parametrize("outside", [True, False])
def test_solutions_unlike_the_unknowns_are_refused_with_the_path(outside: bool) -> None:
    def of(solve: Any) -> Callable[[], Any]:
        def f(a: Any) -> Any:
            return fd.custom_root(lambda u: {"w": a * u["w"] ** 2}, {"w": np.ones(2)}, solve)

        return (lambda: f(1.0)) if outside else lambda: fd.jvp(f, (1.0,), (1.0,))

    _raised(errors.OutputError, of(lambda f, u: (u, 0)), "expected {'w': ", "pick it out")
    _raised(errors.OutputError, of(lambda f, u: {"w": 1.0}), r"\['w'\] has shape \(\)")
    _raised(errors.OutputError, of(lambda f, u: {"w": u["w"] * 1j}), r"\['w'\] has dtype complex")


def test_a_solver_that_closes_over_a_traced_array_is_refused() -> None:
    def direct(a: Any) -> Any:
        return fd.custom_root(lambda x: x - a, 0.0, lambda f, x: x - (x - a))

    def indirect(a: Any) -> Any:
        def f(x: Any) -> Any:
            return x - a

        return fd.custom_root(f, 0.0, lambda _, x: x - f(x))

    for f in (direct, indirect):
        called = functools.partial(fd.grad(f), 1.0)
        _raised(errors.InputError, called, "closes over a traced", "is given")


def test_reverse_mode_without_a_solver_of_the_transpose_says_how_to_give_one() -> None:
    solve: Any = lambda s: fd.custom_linear_solve(lambda x: s * (MATRIX @ x), B, by_gmres)
    close(fd.jacfwd(solve)(1.0), -np.linalg.solve(MATRIX, B))
    with pytest.raises(errors.NotDifferentiableError, match=r"transpose_solve=.*symmetric=True"):
        fd.jacrev(solve)(1.0)


def test_a_map_that_is_not_linear_is_refused() -> None:
    _raised(
        errors.InputError,
        lambda: fd.custom_linear_solve(lambda x: x * x, B),
        "not linear",
        "custom_root",
    )


def test_an_iteration_that_does_not_converge_says_how_far_it_came() -> None:
    _raised(
        errors.ConvergenceError,
        lambda: fd.fixed_point(lambda x: 1 - x, 0.3, max_iterations=20),
        "in 20 iterations",
        "last change was 0.4",
        "solve=",
    )
    _raised(
        errors.ConvergenceError,
        lambda: fd.jvp(lambda a: fd.fixed_point(lambda x: a / x, 0.3), (2.0,), (1.0,)),
        "did not converge in 1000 iterations",
    )
    _raised(
        errors.ConvergenceError,
        lambda: fd.fixed_point(lambda x: np.where(x > 9, np.inf, x + 1), 0.3),
        "left the finite numbers in iteration 10",
    )
    _raised(errors.InputError, lambda: fd.fixed_point(np.cos, 0.3, tol=0.0), "must be positive")


def test_a_singular_jacobian_is_told_or_infinite() -> None:
    flat: Any = lambda a: fd.custom_root(lambda x: x * x[::-1] - a, np.zeros(2), lambda f, x: x)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        fd.jacfwd(flat)(0.0)
    assert any("custom_root(<lambda>)" in note for note in caught.value.__notes__)
    root: Any = lambda a: fd.custom_root(lambda x: x * x - a, 1.0, lambda f, x: 0.0)
    assert fd.grad(root)(0.0) == np.inf
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        fd.custom_linear_solve(lambda x: 0 * x, B)


def test_what_comes_beside_a_solution_has_to_be_known() -> None:
    def f(a: Any) -> Any:
        return fd.custom_root(
            lambda x: x - a, np.zeros(4), lambda f, x: (x - f(x), 1), has_aux=True
        )

    _raised(errors.ConcreteValueError, lambda: fd.vmap(f)(B), "Leave out has_aux")
    _raised(
        errors.OutputError,
        lambda: fd.custom_root(lambda x: x, 1.0, lambda f, x: x, has_aux=True),
        "returns a pair",
    )

    def described(a: Any) -> Any:
        return fd.custom_root(lambda x: x - a, 0.0, lambda f, x: (x - f(x), "ok"), has_aux=True)

    _raised(errors.OutputError, lambda: fd.grad(described, has_aux=True)(1.0), "'ok' at aux")
