"""Compiled programs compute the interpreter's bits, whatever they do and are given."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.backend.code.source import LONGEST, compile_source, source
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable, executable, promotion
from tests.properties.calling import every_call


def assert_same_bits(
    program: Program, arrays: list[Any], expected: list[Any] | None = None
) -> None:
    """Assert that two calls compute the interpreter's bits, which may be given."""
    before = [np.copy(x) for x in arrays]
    run = source(program).function()
    with np.errstate(all="ignore"):
        if expected is None:
            expected = Executable(program).interpret(*arrays)
        found, again = run(*arrays), run(*arrays)
    for results in (found, again):
        for y, z in zip(results, expected, strict=True):
            assert np.shape(y) == np.shape(z)
            assert np.asarray(y).dtype == np.asarray(z).dtype
            np.testing.assert_array_equal(y, z)
            assert np.array_equal(np.signbit(np.real(y)), np.signbit(np.real(z)))
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)


LAYOUTS = [
    pytest.param(np.ascontiguousarray, id="C"),
    pytest.param(np.asfortranarray, id="F"),
    pytest.param(lambda x: np.repeat(x, 2, axis=-1)[..., ::2], id="strided"),
    pytest.param(lambda x: x[::-1], id="reversed"),
]


def network(x: Any, w: Any, b: Any) -> Any:
    y = np.tanh(x @ w + b)
    return np.sum(y * y - np.sin(y), axis=0) / np.max(y) + b


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_arguments_keeps_the_bits(layout: Any) -> None:
    random = np.random.default_rng(3)
    x, w, b = (layout(random.normal(size=shape)) for shape in ((40, 30), (30, 20), (20,)))
    for f in (
        lambda x: np.sum(np.sin(x) * x + np.cos(x.T).T, axis=0),
        lambda x: np.sum(np.exp(-x) * x.T.copy().T, axis=1) + np.sum(x),
        lambda x: fd.grad(lambda x: np.sum(np.tanh(x) ** 2 * np.sum(x, axis=0)))(x),
    ):
        assert_same_bits(fd.trace(f)(x), [x])
    captured = fd.trace(lambda x, w, b: fd.grad(lambda w: np.sum(network(x, w, b)))(w))
    assert_same_bits(captured(x, w, b), [x, w, b])


OPERATIONS = st.lists(
    st.tuples(st.sampled_from("+-*stecrTmb"), st.integers(0, 9), st.integers(0, 9)), max_size=25
)


def random_program(steps: Any) -> Any:
    """Return a function of two arrays of one shape that does these steps."""

    def f(x: Any, y: Any) -> Any:
        values = [x, y, 0.5 * x]
        for name, j, k in steps:
            a, b = values[j % len(values)], values[k % len(values)]
            steps_by_name: dict[str, Any] = {
                "+": lambda a, b: a + b,
                "-": lambda a, b: a - b,
                "*": lambda a, b: a * b,
                "s": lambda a, b: np.sin(a),
                "t": lambda a, b: np.tanh(b),
                "e": lambda a, b: np.exp(-np.abs(a)),
                "c": lambda a, b: np.where(a > b, a, 0.25),
                "r": lambda a, b: b[::-1] if np.ndim(b) else b,
                "T": lambda a, b: a.T if np.ndim(a) < 2 or a.shape[0] == a.shape[1] else a,
                "m": lambda a, b: np.sum(a) * b,
                "b": lambda a, b: a.reshape(-1).reshape(a.shape) + b,
            }
            values.append(steps_by_name[name](a, b))
        return values[-1], values[len(values) // 2], np.sum(values[-1], axis=0)

    return f


@pytest.mark.slow
@given(OPERATIONS, st.sampled_from([(1,), (3,), (2, 3), (1, 3), (3, 3), (0, 2)]))
def test_random_programs_compute_the_same_bits(steps: Any, shape: tuple[int, ...]) -> None:
    f = random_program(steps)
    random = np.random.default_rng(len(steps))
    args = [random.normal(size=shape) for _ in range(2)]
    assert_same_bits(fd.trace(f)(*args), args)
    total = fd.grad(lambda x, y: sum(np.sum(z) for z in f(x, y)))
    assert_same_bits(fd.trace(total)(*args), args)
    every_call(total, *args)


def test_large_arrays_that_nobody_needs_are_let_go() -> None:
    program = fd.trace(lambda x: np.sin(np.cos(np.tanh(x))) * 2.0)(np.ones(10**5))
    assert source(program).text == (
        "def program(x0):\n"
        "    v1 = tanh(x0)\n"
        "    v2 = cos(v1)\n"
        "    del v1\n"
        "    v3 = sin(v2)\n"
        "    del v2\n"
        "    v4 = multiply(v3, c3)\n"
        "    del v3\n"
        "    return [v4]\n"
    )


def test_a_broadcast_that_only_ufuncs_use_is_not_made() -> None:
    program = fd.trace(lambda x, y: x * y + np.sin(y)[:, None])(np.ones((3, 3)), np.ones(3))
    text = source(program).text
    assert "broadcast" not in text
    assert "v4[:, None]" in text


def test_what_looks_into_an_array_stays_when_that_is_let_go() -> None:
    program = fd.trace(lambda x: (np.sin(x).reshape(200, 500), np.cos(np.sin(x))))(np.ones(10**5))
    assert_same_bits(program, [np.arange(1e5)])
    assert "del v1" in source(program).text


def test_programs_that_come_back_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    f = fd.grad(lambda x: np.sum(np.sin(x) * np.cos(3.25 * x)))
    program = fd.trace(f)(np.ones(7))
    run = executable(program)
    for _ in range(promotion.after + 2):
        run(np.ones(7))
    assert run._compiled is not None
    monkeypatch.setenv("FUNCDIFF_INTERPRET", "1")
    assert compile_source(program) is None


def test_long_programs_stay_interpreted() -> None:
    def f(x: Any) -> Any:
        for _ in range(LONGEST + 1):
            x = np.sin(x)
        return x

    assert compile_source(fd.trace(f)(np.ones(2))) is None
    assert os.environ.get("FUNCDIFF_INTERPRET") != "1"


def test_a_failure_in_compiled_code_names_the_equation() -> None:
    g = fd.jit(lambda a: np.linalg.inv(a) * 2.0)
    g(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError) as raised:
        g(np.zeros((2, 2)))
    assert any("inv" in note for note in raised.value.__notes__)
