"""What a compiled function makes of nothing but the arrays that it closes over is made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling import executables
from funcdiff.core.program import Program
from funcdiff.numpy.border.promotion import array

DATA = np.linspace(0.1, 3.0, 2000)


def _traced(x: Any) -> Any:
    """Return an array as operations on it are recorded, in SciPy's code and in rules, say."""
    return array(x)


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """Return the programs of which something is computed once, without that."""
    found = []
    fold = executables.fold

    def noted(*args: Any) -> executables.Folded | None:
        made = fold(*args)
        if made is not None:
            found.append(made.program)
        return made

    monkeypatch.setattr(executables, "fold", noted)
    return found


def _names(program: Program) -> list[str]:
    return [eq.primitive.name for eq in program.equations]


def test_data_are_worked_on_once(rests: list[Program]) -> None:
    def loss(p: Any) -> Any:
        return np.sum(p[0] * np.exp(_traced(DATA)) + np.sin(DATA * p[1]))

    compiled, p = fd.jit(fd.value_and_grad(loss)), np.array([0.3, 1.2])
    expected = fd.value_and_grad(loss)(p)
    for _ in range(9):
        value, gradient = compiled(p)
        np.testing.assert_allclose(value, expected[0], rtol=1e-12)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)
    (rest,) = rests
    assert "sin" in _names(rest)
    assert "exp" not in _names(rest)
    np.testing.assert_allclose(fd.grad(lambda p: compiled(p)[0])(p), expected[1], rtol=1e-12)


def test_results_are_nobody_elses_memory(rests: list[Program]) -> None:
    def several(x: Any) -> Any:
        y = np.exp(_traced(DATA))
        return y, y.reshape(2, -1), x * np.cos(_traced(DATA))

    def view(x: Any) -> Any:
        return np.exp(_traced(DATA)).reshape(2, -1), x * np.cos(_traced(DATA))

    for f in (several, view):
        compiled = fd.jit(f)
        kept = [y.copy() for y in compiled(2.0)]
        for _ in range(3):
            for y, wanted in zip(compiled(2.0), kept, strict=True):
                np.testing.assert_array_equal(y, wanted)
                y[...] = 0
    assert len(rests) == 2


def test_views_of_data_are_made_anew(rests: list[Program]) -> None:
    compiled = fd.jit(lambda x: np.sum(x * np.exp(_traced(DATA))[::-1]))
    np.testing.assert_allclose(compiled(2.0), 2 * np.sum(np.exp(DATA)))
    (rest,) = rests
    assert "reverse" in _names(rest)
    assert "exp" not in _names(rest)


@pytest.mark.slow
def test_small_arrays_that_are_joined_are_joined_once(rests: list[Program]) -> None:
    matrix, data = np.array([[0.9, 0.1], [-0.2, 0.8]]), np.linspace(-1.0, 1.0, 300)

    def filtered(q: Any) -> Any:
        """Return a sum over a series, of which each iteration sees a number and a view."""
        x, total = q, 0.0
        for z in data:
            x = (x @ matrix.T) * 0.5 + z * q
            total = total + np.sum(np.tanh(x) * z)
        return total

    q = np.array([0.3, 0.2])
    expected, compiled = fd.grad(filtered)(q), fd.jit(fd.grad(filtered), engine="numpy")
    for _ in range(3):
        np.testing.assert_allclose(compiled(q), expected, rtol=1e-10)
    (rest,) = rests
    assert "concatenate" not in _names(rest)
    assert len(rest.equations) < 60
    assert len(rest.inputs) < 10
    both = fd.jit(lambda q: (filtered(q), matrix.T))
    for _ in range(3):
        _, result = both(q)
        np.testing.assert_array_equal(result, matrix.T)
        result[...] = 0.0


def test_neither_large_results_nor_effects_are_kept(rests: list[Program]) -> None:
    calls: list[None] = []

    def note(x: Any) -> Any:
        calls.append(None)
        return 2 * x

    opaque = fd.primitive(note, result=lambda x: np.zeros_like(x))

    def f(x: Any) -> Any:
        differences = _traced(DATA)[:, None] - DATA[:50]
        return np.sum(x * np.exp(differences)) + x * opaque(_traced(DATA))[0]

    compiled = fd.jit(f)
    expected = 0.5 * np.sum(np.exp(DATA[:, None] - DATA[:50])) + DATA[0]
    for _ in range(3):
        np.testing.assert_allclose(compiled(0.5), expected, rtol=1e-12)
    assert len(calls) == 3
    assert not rests


def test_errors_of_constants_name_the_line(rests: list[Program]) -> None:
    singular = np.zeros((40, 40))
    compiled = fd.jit(lambda x: x @ np.linalg.inv(_traced(singular)))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as error:
            compiled(np.ones(40))
        assert any("test_constants_under_jit.py" in note for note in error.value.__notes__)
    assert not rests


# ---- captured arrays keep the values of when it was traced ---------------------------------------


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a product": lambda x, c: x * c,
    "the array itself": lambda x, c: (x, c),
    "a view of it": lambda x, c: x + c[::-1],
    "a sum of it": lambda x, c: np.sum(c) * x,
    "a derivative": lambda x, c: fd.grad(lambda x: np.sum(np.sin(x) * c))(x),
}


@pytest.mark.parametrize("n", [2, 40, 150_000])
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_a_later_change_of_an_array_closed_over_is_not_seen(
    f: Callable[[Any, Any], Any], n: int
) -> None:
    c = np.arange(1.0, n + 1)
    x = np.linspace(0.0, 1.0, n)
    jitted = fd.jit(lambda x: f(x, c))
    expected = fd.pytree.map(np.copy, jitted(x))
    c[:] = -5.0
    for again in (x, x, x, x.reshape(-1)):
        fd.pytree.map(np.testing.assert_array_equal, jitted(again), expected)
    jitted.clear_cache()
    fd.pytree.map(np.testing.assert_allclose, jitted(x), f(x, c))
