"""Programs whose arrays are taken apart into floats compute what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given

import funcdiff as fd
from funcdiff.backend.code.source import Source, function
from funcdiff.backend.kernels import Kernel, kernel
from funcdiff.backend.numbers import estimates, unrolling
from funcdiff.backend.numbers.estimates import is_worth_unrolling
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.backend.numbers.unrolling import Unrolled, unroll, while_of_numbers
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable, as_run
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.testing.subject import disagreement, rounding
from tests.backend.test_kernels import kept, swapped
from tests.backend.test_source import LAYOUTS, OPERATIONS, random_program


@contextmanager
def always() -> Iterator[None]:
    """Let everything be worth taking apart that can be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "_CALL", 1e12)
        patch.setattr(estimates, "_VIEW", 1e12)
        yield


def assert_agrees(
    run: Callable[..., Any], program: Program, arrays: list[Any], expected: list[Any] | None = None
) -> None:
    before = [np.copy(x) for x in arrays]
    with np.errstate(all="ignore"):
        if expected is None:
            expected = Executable(program).interpret(*arrays)
        results = run(*arrays)
    for y, z in zip(results, expected, strict=True):
        assert np.shape(y) == np.shape(z)
        assert np.asarray(y).dtype == np.asarray(z).dtype
        assert not disagreement(y, z, rounding([*arrays, *expected]), 1.0)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)


def assert_computes(program: Program, arrays: list[Any], expected: list[Any] | None = None) -> bool:
    """Assert that the code agrees with the interpreter, if there is any."""
    with always():
        code = unroll(program)
    if code is not None:
        assert_agrees(Unrolled(code, lambda: Kernel(program, None)), program, arrays, expected)
    return code is not None


@pytest.mark.slow
@given(OPERATIONS)
def test_random_programs_are_computed(steps: Any) -> None:
    f = random_program(steps)
    random = np.random.default_rng(len(steps))
    for shape in ((3,), (3, 2), (1, 3), (2, 1, 2), (2, 2)):
        args = [random.normal(size=shape) for _ in range(2)]
        assert assert_computes(fd.trace(f)(*args), args)
        total = fd.trace(fd.grad(lambda x, y: sum(np.sum(z) for z in f(x, y))))(*args)
        assert_computes(total, args)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_may_lie_in_memory_as_they_like(layout: Any) -> None:
    x = layout(np.arange(12.0).reshape(4, 3) ** 1.5)
    program = fd.trace(lambda x: (x[1:] @ x[:3].T, x.reshape(2, 6).T, np.max(x, axis=0)))(x)
    assert assert_computes(program, [x])


def test_writes_to_elements_change_no_array_that_is_needed_as_it_was() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        first, all_ = y[0], y.copy()
        for k in range(3):
            y[k] += y[k + 1] * first
        return np.sum(y * x), y, all_, y[::-1] - first

    x = np.linspace(0.1, 1.0, 4)
    assert assert_computes(fd.trace(f)(x), [x])
    assert assert_computes(fd.trace(fd.grad(lambda x: f(x)[0]))(x), [x])


@pytest.mark.parametrize("reduce", [np.sum, np.prod, np.all, np.any])
def test_nothing_is_reduced_to_the_neutral_element(reduce: Any) -> None:
    x = np.array([2.0, 3.0])
    program = fd.trace(lambda x: x * reduce(x[:0] if reduce in (np.sum, np.prod) else x[:0] > 1))(x)
    assert assert_computes(program, [x])


def recursion(x: Any) -> Any:
    s = x[0]
    for k in range(1, len(x)):
        s = np.sin(s) * 0.5 + x[k]
    return s


def test_long_programs_are_functions_of_bounded_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrolling, "PART", 7)
    x = np.linspace(-1.0, 2.0, 30)
    for f in (
        fd.grad(recursion),
        fd.value_and_grad(recursion),
        lambda x: [x[3] * x[4], x[:2], np.stack([recursion(x), x[3], 1.0 * x[0], recursion(x)])],
    ):
        program = fd.trace(f)(x)
        code = unroll(program)
        assert code is not None
        assert "def part_1(" in code.text
        assert_agrees(code.function(), program, [x])


@pytest.mark.slow
def test_reads_of_elements_need_no_numpy_calls() -> None:
    program = fd.trace(fd.grad(recursion))(np.ones(150))
    jitted = fd.jit(fd.grad(recursion))
    source = jitted.lower(np.ones(100)).source
    assert "math.sin" in source
    assert source.count("array(") == 1
    assert is_worth_unrolling(program)
    x = np.linspace(-1.0, 1.0, 100)
    np.testing.assert_allclose(jitted(x), fd.grad(recursion)(x), rtol=1e-13)


def test_large_arrays_and_long_sums_stay_arrays() -> None:
    x = np.ones(1000)
    for f in (lambda x: np.sin(x) * x, np.sum, lambda x: x @ x, lambda x: x[0] * x):
        assert unroll(fd.trace(f)(x)) is None


def test_only_floats_and_flags_are_taken_apart() -> None:
    def f(x: Any) -> Any:
        for _ in range(9):
            x = x * x + x
        return x

    for dtype in (np.float32, np.complex128, np.int64):
        assert unroll(fd.trace(f)(np.ones(2, dtype))) is None
    assert unroll(fd.trace(f)(np.ones(2))) is not None


def projected(x: Any) -> Any:
    """A chain on short vectors, infinite where the first element is zero."""
    for _ in range(3):
        x = np.stack([x[1], x[2], np.log(x[0] * x[0])]) / x[0] + 0.5 * x
    return x


def test_what_python_refuses_is_left_to_numpy() -> None:
    jitted = fd.jit(projected)
    good, bad = np.array([0.3, -0.2, 0.9]), np.array([0.0, 1.0, 2.0])
    with np.errstate(all="ignore"):
        expected = projected(bad)
    assert not np.isfinite(expected).all()
    for _ in range(20):  # more often than it is tried
        np.testing.assert_array_equal(jitted(bad), expected)
        np.testing.assert_allclose(jitted(good), projected(good), rtol=1e-13)


def test_an_attempt_that_fails_too_often_is_given_up() -> None:
    calls: list[float] = []
    lines = ["calls.append(x)", "return [1.0 / x]"]
    quick = Source(function("program", ["x"], lines), {"calls": calls}).function()
    attempt = Attempt(quick, lambda: lambda x: [np.divide(1.0, x)])
    assert attempt(2.0) == [0.5]
    for _ in range(30):
        assert attempt(0.0) == [np.inf]
    assert attempt(4.0) == [0.25]
    assert len(calls) == 9
    with pytest.raises(TypeError):  # which is a mistake, and not a matter of numbers
        Attempt(lambda x: x + "", lambda: quick)(1.0)


# ---- loops ---------------------------------------------------------------------------------------


def orbit(state: Any, force: Any) -> Any:
    position, speed, near = state
    r = np.sqrt(1.0 + position @ position)
    speed = 0.9 * speed - 0.1 * position / r**3 + force[:2] * force[2]
    near = np.logical_or(near, r < 1.3)
    return (position + 0.1 * speed, speed, near), (r, near, np.outer(speed, position))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 7, 5000])
def test_loops_of_few_numbers_hand_on_floats(length: int, reverse: bool) -> None:
    forces = np.random.default_rng(1).normal(size=(length, 3)) * 1e-3

    def f(position: Any, speed: Any, forces: Any) -> Any:
        return fd.scan(orbit, (position, speed, position[0] > 2.0), forces, reverse=reverse)

    args = [np.array([1.0, 0.0]), np.array([0.0, 1.1]), forces]
    program = fd.trace(f)(*args)
    (loop,) = (eq for eq in program.equations if eq.primitive.name == "scan")
    body: Program = as_run(loop.params_as(Scan).body)
    assert is_worth_unrolling(body, flat=True)
    assert_agrees(kernel(program), program, args)

    def total(*args: Any) -> Any:
        (position, speed, _), (r, _, products) = f(*args)
        return position @ speed + np.sum(np.sin(r)) + np.sum(products[..., 0] * products[..., 1])

    for argnums in (0, 2):
        derived = fd.trace(fd.grad(total, argnums=argnums))(*args)
        assert_agrees(kernel(derived), derived, args)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("body", "count"), [(swapped, 3), (kept, 2)])
def test_carries_may_change_places(body: Any, count: int, reverse: bool) -> None:
    def f(xs: Any, *starts: Any) -> Any:
        return fd.scan(body, starts, xs, reverse=reverse)

    args = [np.linspace(0.5, 1.5, 12).reshape(4, 3)]
    args += [np.array([0.1, -0.3, 0.7]) * k for k in range(count)]
    program = fd.trace(f)(*args)
    with always():
        run = Kernel(program, None)
    assert_agrees(run, program, args)


def test_a_loop_that_python_refuses_is_left_to_numpy() -> None:
    def f(x: Any) -> Any:
        return fd.scan(lambda c, t: (c / t, np.log(c)), x, np.array([1.0, 0.0, 2.0]))

    jitted = fd.jit(f)
    with np.errstate(all="ignore"):
        for x in (1.0, -1.0, 0.0):
            for y, z in zip(jitted(x), f(np.float64(x)), strict=True):
                np.testing.assert_array_equal(y, z)


def test_loops_without_rows_and_in_loops() -> None:
    def inner(c: Any, _: Any) -> Any:
        return c * 0.9 + 0.1 * np.sin(c), None

    def outer(c: Any, x: Any) -> Any:
        c, _ = fd.scan(inner, c + x, length=3)
        return c, c[0] * c[1]

    args = [np.array([0.4, -1.2]), np.linspace(0.0, 1.0, 5)]
    program = fd.trace(lambda x, rows: fd.scan(outer, x, rows))(*args)
    assert_agrees(kernel(program), program, args)


@pytest.mark.parametrize("name", ["erf", "erfc", "expit"])
def test_functions_of_scipy_that_python_has_are_called_there(name: str) -> None:
    function: Any = getattr(scipy.special, name)
    jitted = fd.jit(fd.value_and_grad(function))
    for x in (0.3, -2.5, 6.0, 0.0, 1e-300, -30.0, 800.0, -800.0, np.inf, -np.inf, np.nan):
        for found, expected in zip(jitted(x), fd.value_and_grad(function)(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=5e-324)
    text = jitted.lower(0.3).source
    assert "math." in text
    assert f" {name}(" not in text


def _steps(x: Any) -> Any:
    def body(carry: Any) -> Any:
        y, t, odd = carry
        y = fd.cond(y[0] > 1.0, lambda y: y * 0.5, lambda y: y[::-1] + 1.0 / (t - 0.75), y)
        return y, t + 0.25 * x, np.logical_not(odd)

    y, t, odd = fd.while_loop(
        lambda carry: carry[1] < 3.0, body, (np.stack([x, 2.0 * x]), 0.0 * x, x > 1e9)
    )
    return np.sum(y**2) * t + np.where(odd, t, 0.0)


@pytest.mark.parametrize("transform", [lambda f: f, fd.grad, lambda f: fd.grad(fd.grad(f))])
def test_loops_and_choices_of_numbers_are_those_of_numpy(transform: Any) -> None:
    """At 1 the loop divides by zero, which only NumPy knows; at 1e3 it has one iteration."""
    compiled = fd.jit(transform(_steps), engine="numpy")
    for x in (0.3, 0.8, 1.7, 1.0, 1e3, 0.45):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(compiled(x), transform(_steps)(x), rtol=1e-12)
    source = compiled.lower(0.3).source
    assert "while_loop" in source


def test_a_loop_of_numbers_is_written_out() -> None:
    x = np.float64(0.3)
    program = fd.trace(_steps)(x)
    (loop,) = (eq for eq in program.equations if str(eq.primitive) == "while_loop")
    assert while_of_numbers(loop.params_as(While)) is not None
