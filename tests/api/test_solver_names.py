"""A solver has the same name in every call, and lives as long as a program that calls it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import errors
from funcdiff.core.evaluate import evaluate
from funcdiff.core.memo import caches
from funcdiff.core.program import Program
from funcdiff.ops.user.root import Root, root
from funcdiff.ops.user.solvers import entered
from tests.api.equations import newton
from tests.rules.sample import body


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


def test_solvers_that_close_over_other_values_are_others() -> None:
    def shifted(by: Any) -> Any:
        return lambda a: fd.custom_root(lambda x: x - a, 0.0, lambda f, x: x - f(x) + by)

    values = [fd.value_and_grad(shifted(by))(1.0)[0] for by in (0.5, 0.25, np.float32(0.25))]
    assert values == [1.5, 1.25, 1.25]
    assert str(fd.value_and_grad(shifted(0.0))(-0.0)[0]) == "0.0"
    assert str(fd.value_and_grad(shifted(-0.0))(-0.0)[0]) == "0.0"


def test_a_solver_keeps_the_values_that_it_was_used_with() -> None:
    by = 0.5

    def f(a: Any) -> Any:
        return fd.custom_root(lambda x: x - a, 0.0, lambda f, x: x - f(x) + by)

    _, pull = fd.vjp(lambda a: f(a) ** 2, 1.0)
    by = 7.0
    assert pull(1.0) == (3.0,)
    assert fd.value_and_grad(f)(1.0)[0] == 8.0


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
