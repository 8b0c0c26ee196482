"""Names and lines go with equations through transforms and passes, while a program is read."""

from __future__ import annotations

import cProfile
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import as_run
from funcdiff.core.running.walk import nested
from funcdiff.reading import provenance
from funcdiff.reading.provenance import Examined, content

X = np.array([0.3, 1.2, -0.7])


def loss(x: Any) -> Any:
    bent = np.tanh(x) + x
    scaled = bent * np.exp(bent)
    return np.sum(scaled * scaled)


def looped(x: Any) -> Any:
    def step(level: Any, dose: Any) -> Any:
        raised = level * np.sin(dose)
        return raised + dose, raised

    last, raised = fd.scan(step, x[0], x)
    chosen = fd.cond(last > 0, lambda y: y * y, np.sin, last)
    return chosen + np.sum(raised)


def solved(x: Any) -> Any:
    matrix = np.outer(x, x) + np.eye(3)
    found = np.linalg.solve(matrix, x)
    return np.sum(fd.checkpoint(lambda y: np.sin(y) * y)(found))


MODES: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "grad": fd.grad,
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (np.array([1.0, 2.0, 3.0]),)),
    "hessian": fd.hessian,
    "gradients in gradients": lambda f: fd.grad(lambda x: np.sum(fd.grad(f)(x) ** 2)),
    "batches": lambda f: lambda x: fd.vmap(fd.grad(f))(np.stack([x, 2 * x])),
    "jit": lambda f: fd.jit(fd.grad(f)),
}


def read(f: Any, *args: Any) -> Program:
    return Examined.of(f, args, {}).program


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [loss, looped, solved])
def test_what_is_read_is_what_is_traced_and_every_equation_has_its_line(f: Any, mode: str) -> None:
    g = MODES[mode](f)
    program = read(g, X)
    assert str(program) == str(as_run(fd.trace(g)(X)))
    if mode != "hessian":  # whose matrix is put together on no line of the user's
        assert without_lines(program) == []


def without_lines(program: Program) -> list[str]:
    """Return the equations of a program, and of those in it, that have no line."""
    assert program.origins is not None
    found = []
    for eq in program.equations:
        found += [str(eq) for v in eq.results if program.origins[v.number].place is None]
        for inner in nested(eq.params):
            found += without_lines(inner)
    return found


def test_an_ordinary_trace_has_no_origins_and_what_is_read_is_another_program() -> None:
    plain = fd.trace(loss)(X)
    program = read(loss, X)
    assert plain.origins is None
    assert program != plain
    assert replace(program, origins=None) == plain
    assert fd.trace(loss)(X).origins is None


def names(program: Program) -> set[str]:
    assert program.origins is not None
    return {origin.name for origin in program.origins}


def test_tangents_and_cotangents_are_called_after_their_values() -> None:
    assert names(read(loss, X)) == {"x", "bent", "scaled", ""}
    assert {"d_x", "d_bent", "d_scaled"} <= names(read(fd.grad(loss), X))
    assert {"t_x", "t_bent", "t_scaled"} <= names(read(MODES["jvp"](loss), X))


def test_names_are_found_in_the_bodies_of_loops_and_of_their_derivatives() -> None:
    loop = next(eq for eq in read(looped, X).equations if eq.primitive.name == "scan")
    (body,) = nested(loop.params)
    assert {"level", "dose", "raised"} <= names(body)
    forward, backward = (
        next(nested(eq.params))
        for eq in read(fd.grad(looped), X).equations
        if eq.primitive.name == "scan"
    )
    assert {"level", "dose"} <= names(forward)
    assert {"d_level", "d_raised"} <= names(backward)


def test_functions_with_equal_programs_keep_their_own_lines() -> None:
    def first(a: Any) -> Any:
        return np.sum(np.sin(a))

    def second(b: Any) -> Any:
        return np.sum(np.sin(b))

    text = fd.source(lambda x: fd.grad(first)(x) * fd.grad(second)(2 * x))(X)
    for g in (first, second):
        assert f"line {g.__code__.co_firstlineno + 1}: return np.sum(np.sin(" in text


def test_a_compiled_function_that_was_called_before_has_its_names() -> None:
    f = fd.jit(loss)
    f(X)
    assert {"x", "bent", "scaled"} <= names(read(f, X))
    f(X)
    assert {"x", "bent", "scaled"} <= names(read(fd.grad(f), X))


def test_what_is_assigned_last_has_its_name_without_a_profiler() -> None:
    profilers: list[Any] = []

    def inner(x: Any) -> Any:
        profilers.append(sys.getprofile())
        last = np.sin(x)
        return last, x

    def outer(x: Any) -> Any:
        result, _ = inner(x)
        return result, x

    def derivative(x: Any) -> Any:
        slope = fd.grad(lambda x: outer(x)[0] * 2.0)(x)
        return slope, x

    assert names(read(outer, 1.0)) == {"x", "result"}
    assert "slope" in names(read(derivative, 1.0))
    assert profilers == [None, None]


def test_a_tapped_value_has_the_name_of_the_tap() -> None:
    def f(x: Any) -> Any:
        both = fd.tap("hidden", (np.sin(x), np.cos(x)))
        return np.sum(fd.tap("last", np.exp(both[0] * both[1]))) + np.sum(fd.tap("no name", x))

    assert {"hidden", "hidden_1", "last"} <= names(read(f, X))
    assert {"d_hidden", "d_hidden_1"} <= names(read(fd.grad(f), X))


def test_arrays_of_modules_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []

    def noted(array: Any) -> Any:
        looked.append(array)
        return content(array)

    monkeypatch.setattr(provenance, "content", noted)

    def f(x: Any) -> Any:
        for _ in range(5):
            x = np.sin(x) * X
            x = np.cos(x)
        return x

    read(f, X + 1.0)
    assert sum(array is X for array in looked) == 1


def test_a_profiler_goes_on_after_a_look_at_the_users_lines() -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    fd.source(lambda x: np.sin(x) * 2.0)(1.0)
    np.linalg.matrix_power(np.eye(2), 3)
    profiler.disable()
    called = {entry.code.co_name for entry in profiler.getstats() if hasattr(entry.code, "co_name")}
    assert {"source", "matrix_power"} & called == {"source", "matrix_power"}
