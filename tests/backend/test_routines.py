"""Whole programs as machine code: arrays of any length, loops, branches, guards, and steps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from inspect import signature
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.backend.code.lower import lower
from funcdiff.backend.kernels import prepare
from funcdiff.backend.native.flow import Flow, is_step
from funcdiff.backend.native.formulas import is_function
from funcdiff.backend.native.routine import Routine, routine
from funcdiff.backend.numbers import estimates
from funcdiff.core.primitive import is_registered, primitives
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import executable
from funcdiff.scipy import special
from funcdiff.testing.subject import disagreement
from tests.backend.test_kernels import assert_runs
from tests.backend.test_source import LAYOUTS


def made(program: Program) -> Routine | None:
    """Return the machine code of a program, if all of it has some."""
    return routine(lower(prepare(program)), lambda: executable(program), always=True)


def assert_computes(program: Program, arrays: list[Any], expected: list[Any] | None = None) -> None:
    """Assert that two calls agree with the interpreter, if the program has machine code."""
    run = made(program)
    if run is not None:
        assert_runs(run, program, arrays, expected)


def assert_agrees(f: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Assert that a function is one of machine code, and computes what it does without."""
    quick = fd.jit(f, engine="llvm")
    kept = []
    for args in [*calls, *calls]:
        found, expected = (fd.pytree.flatten(g(*args))[0] for g in (quick, f))
        for y, z in zip(found, expected, strict=True):
            assert np.asarray(y).dtype == np.asarray(z).dtype
            assert not disagreement(y, z, 1e-10, 1.0)
        kept.append((found, [np.copy(y) for y in found]))
    for found, copies in kept:  # later calls write to memory of their own
        for y, z in zip(found, copies, strict=True):
            np.testing.assert_array_equal(y, z)
    assert "run(" in quick.lower(*calls[0]).source


def test_what_is_named_as_a_primitive_writes_it() -> None:
    assert not is_registered("a primitive that there is not")  # for which all are imported
    methods = {name: getattr(Flow, name, None) for name in primitives}
    named = {name: [*signature(f).parameters] for name, f in methods.items() if f is not None}
    assert len(named) > 30
    assert {name: found for name, found in named.items() if found != ["self", "eq"]} == {}
    assert not primitives.keys() & {"code", "program", "values", "uses", "targets", "owned"}


LENGTHS: Final = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 63, 65, 130)
OF_MATRICES: Final[dict[str, Callable[..., Any]]] = {
    "products": lambda a, b, x: (a @ x, x @ a, a @ a.T, a.T @ b, b.T @ a, np.outer(x, x) - a),
    "sums": lambda a, b, x: (
        np.sum(a * a),
        np.sum(a, axis=0),
        np.sum(b, axis=1),
        np.prod(x),
        x @ x,
    ),
    "extrema": lambda a, _b, x: (np.max(a, axis=0), np.min(a, axis=1), np.argmax(x), np.max(x)),
    "functions": lambda a, b, x: (
        np.tanh(a)[::-1] * np.exp(x),
        np.where(b > 0, np.log1p(b * b), b),
    ),
    "parts": lambda a, _b, x: (np.concatenate([x[1:], x[::2]]), a[::-1, ::-1].T.reshape(-1) * 2.0),
    "running": lambda a, b, _x: (np.cumsum(a, axis=0), np.cumsum(b, axis=1)),
}


@pytest.mark.thinned(64)
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_any_length_are_computed(name: str, n: int, dtype: Any) -> None:
    random = np.random.default_rng(n)
    arrays = [random.normal(size=s).astype(dtype) for s in ((n, n), (n, 3), (n,))]
    program = fd.trace(OF_MATRICES[name])(*arrays)
    assert made(program) is not None
    assert_computes(program, arrays)


def test_a_long_chain_of_formulas_is_stored_in_between() -> None:
    def f(x: Any) -> Any:
        for k in range(150):
            x = (np.sin, np.cos, np.tanh)[k % 3 if k % 7 else 0](x * (1.0 + 0.01 * k))
        return x

    x = np.linspace(-1, 1, 5)
    assert_computes(fd.trace(f)(x), [x])


def test_long_rows_are_added_up_in_pieces() -> None:
    for n in (1023, 1024, 1025, 2049, 5000):
        x = np.full(n, 0.1, np.float32)
        run = made(fd.trace(lambda x: np.sum(x))(x))
        assert run is not None
        (total,) = run(x)
        assert abs(total - n * float(np.float32(0.1))) < 1e-6 * n


@pytest.mark.parametrize(("length", "pays"), [(1000, False), (100_000, True)])
def test_three_hundred_calls_pay_for_loops_over_large_arrays(length: int, pays: bool) -> None:
    program = fd.trace(lambda x: x[1:] * x[:-1] - np.concatenate((x[2:], x[:1])) * x[1:] + x[1:])(
        np.ones(length)
    )
    new = estimates.Machine(lambda _eq: False, lambda _eq: False, is_started=True)
    assert estimates.pays(program, estimates.CALLS, new) == pays


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_may_lie_in_memory_as_they_like(layout: Any) -> None:
    x = layout(np.random.default_rng(0).normal(size=(6, 4)))
    x.setflags(write=False)
    odd = np.frombuffer(bytes(1) + np.linspace(-2, 2, 24).tobytes(), np.float64, offset=1)
    f = fd.jit(fd.grad(lambda x: np.sum(np.sin(x @ x.T))), engine="llvm")
    for y in (x, odd.reshape(6, 4), x.astype(">f8")):
        np.testing.assert_allclose(f(y), f(np.array(y, float, order="C")), rtol=1e-14)


# ---- which engine jit takes ----------------------------------------------------------------------


def test_programs_become_machine_code_when_their_calls_make_up_for_it() -> None:
    """Which of them runs, the order of its sums tells."""
    traced = []

    def f(x: Any) -> Any:
        traced.append(x)
        return np.sum((1.0 - x[:-1]) ** 2 + 100.0 * (x[1:] - x[:-1] ** 2) ** 2)

    native, plain = (fd.jit(fd.value_and_grad(f), engine=engine) for engine in ("llvm", "numpy"))
    draws = np.random.default_rng(0).normal(size=(100, 50))
    x = next(x for x in draws if native(x)[0] != plain(x)[0])
    chosen, begun = fd.jit(fd.value_and_grad(f)), len(traced)
    for count, runs in ((1, plain), (298, plain), (20_000, native)):
        for _ in range(count):
            found = chosen(x)
        for y, z in zip(found, runs(x), strict=True):
            np.testing.assert_array_equal(y, z)
    assert chosen.cache_info().hits == 20_298
    assert len(traced) == begun + 1
    assert "run(" in chosen.lower(x).source
    assert not disagreement(chosen(x[:5])[1], plain(x[:5])[1], 1e-13, 1.0)


def test_programs_become_machine_code_while_threads_call_them() -> None:
    f = fd.jit(fd.grad(lambda x: np.sum(np.tanh(np.sin(x) * x) ** 2)))
    xs = [np.full(60, 0.1 * k) for k in range(4)]
    expected = [f(x) for x in xs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(3000):
            if disagreement(f(xs[k]), expected[k], 1e-13, 1.0):
                wrong.append(k)

    fd.jit(lambda x: np.sin(x), engine="llvm")(np.ones(7))  # so that LLVM has started
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert "run(" in f.lower(xs[0]).source


def test_numpy_stays_the_engine_where_it_was_asked_for() -> None:
    f = fd.jit(fd.grad(lambda x: np.sum(np.tanh(x) * np.exp(x))), engine="numpy")
    x = np.linspace(-1, 1, 20)
    first = f(x)
    for _ in range(1500):
        np.testing.assert_array_equal(f(x), first)
    assert "run(" not in f.lower(x).source


def test_functions_of_many_doubles_are_machine_code_at_once() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(np.exp(np.sin(x))))

    x = np.linspace(0.1, 2, 200_000)
    slope, plain = fd.jit(fd.grad(f)), fd.jit(fd.grad(f), engine="numpy")
    np.testing.assert_allclose(slope(x), plain(x), rtol=1e-13)
    assert slope.lower(x).source != plain.lower(x).source
    new = estimates.Machine(is_step, is_function, is_started=False)
    for dtype, pays in ((np.float64, True), (np.float32, False)):
        program = fd.trace(fd.grad(f))(x[:20_000].astype(dtype))
        assert estimates.pays(program, estimates.CALLS, new) == pays


# ---- loops ---------------------------------------------------------------------------------------


def root(x: Any) -> Any:
    """Return the square root by Newton's method, with Python's own loop."""
    y = x
    while abs(y * y - x) > 1e-12:
        y = (y + x / y) / 2
    return y


def shrunk(x: Any) -> Any:
    (y,) = fd.while_loop(
        lambda s: np.sum(s[0] ** 2) > 1e-3, lambda s: (s[0] * 0.7 * np.cos(s[0]),), (x,)
    )
    return np.sum(y)


def exchanged(x: Any) -> Any:
    """Return what a loop makes whose carries change places, and which keeps some of them."""

    def step(c: Any, r: Any) -> Any:
        a, b, k = c
        return (b, a + r, k * 1.1), (a * r, k, b)

    rows = np.arange(12.0).reshape(4, 3)
    (a, b, k), (ys, ks, bs) = fd.scan(step, (x, x * 2, 1.0), rows, reverse=True)
    return np.sum(a * b * bs[1]) + k + np.sum(ys) * np.sum(ks)


def filled(x: Any) -> Any:
    y = fnp.zeros(9)
    for i in range(9):
        y[i] = x[i % 3] * i + (y[i - 1] if i else 0.0)
    y[1:4] += y[:3]
    return np.sum(y**2)


def remembered(x: Any) -> Any:
    """Return what a loop makes that writes into a copy of its carry, and then reads the carry."""

    def step(y: Any, r: Any) -> Any:
        z = y.copy()
        z[1:] = y[:2] * r
        return z + y / 2, np.sum(y * z)

    end, sums = fd.scan(step, np.sin(x), np.array([0.5, 1.5, -0.7]))
    return np.sum(end * x) + np.sum(sums)


def nested(x: Any) -> Any:
    def outer(c: Any, r: Any) -> Any:
        inner, _ = fd.scan(lambda d, s: (np.tanh(d * s + r), None), c, x[:2])
        return fd.cond(np.sum(inner) > 0, lambda v: v * 1.5, lambda v: v - 1.0, inner), inner[0]

    end, firsts = fd.scan(outer, x, np.array([0.1, -0.3, 0.2]))
    return np.sum(end) * np.sum(firsts)


def plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


def pushed_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: fd.jvp(fd.grad(f), (x,), (np.ones(3),))


@pytest.mark.thinned(12)
@pytest.mark.parametrize("f", [exchanged, filled, nested, remembered, shrunk])
@pytest.mark.parametrize("derivative", [plain, fd.grad, fd.hessian, pushed_gradient])
def test_loops_have_derivatives_of_machine_code(
    derivative: Callable[..., Any], f: Callable[..., Any]
) -> None:
    assert_agrees(derivative(f), (np.array([0.3, -0.8, 1.1]),), (np.array([2.5, 0.1, -0.4]),))


@pytest.mark.slow
def test_a_loop_of_unknown_length_keeps_as_many_rows_as_it_makes() -> None:
    def f(x: Any) -> Any:
        return fd.while_loop(lambda s: s > 1.0, lambda s: s * x, 1e6)

    for order in (f, fd.grad(f), fd.grad(fd.grad(f))):
        assert_agrees(order, (0.5,), (0.99,), (1e-7,))


@pytest.mark.parametrize(("least", "fits"), [(0.995, True), (0.999, False)])
def test_a_loop_that_keeps_more_rows_than_there_is_room_for_is_left_to_numpy(
    least: float, fits: bool
) -> None:
    start = np.ones(5000)
    f = fd.grad(lambda x: np.sum(fd.while_loop(lambda s: s[0] > 0.5, lambda s: s * x, start)))
    x = np.linspace(least, 1.0, 5000)
    program, expected = fd.trace(lambda x: (x, f(x)))(x), fd.jit(f)(x)
    run = made(program)
    assert run is not None
    arrays = [x, *[start for _ in program.inputs[1:]]]
    with nullcontext() if fits else pytest.raises(ArithmeticError):
        run.quick(*arrays)
    for _ in range(10):
        same, found = run(*arrays)
        assert not np.shares_memory(same, x)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("derivative", [plain, fd.grad])
def test_guards_hand_over_what_others_go_on_with(derivative: Any) -> None:
    assert_agrees(derivative(root), (2.0,), (3.0,), (1e-3,), (2.0,), (1e8,))

    def branching(x: Any) -> Any:
        y, rows = np.sin(x), x.reshape(2, 2).T
        if y[0] > 0:
            return np.sum(y * 2.0) + rows[0, 1]
        k = np.argmax(x)
        if k > 1:
            return x[k] * np.sum(rows @ rows)
        return y[1]

    cases = ([1.0, 2, 3, 4], [-1.0, 2, 3, 1], [-1.0, 2, 1, 0], [1.0, 0, 0, 0], [-1.0, 0, 3, 2])
    assert_agrees(derivative(branching), *[(np.array(x),) for x in cases])


def test_an_array_is_not_read_after_it_is_written_over() -> None:
    def turned(x: Any) -> Any:
        y = np.sin(x)
        y[np.array([4, 3, 2, 1, 0])] = y
        y[1:4] = y[:3]
        y[::2] += y[1:4]
        return y

    assert_agrees(turned, (np.linspace(-1, 2, 5),))


# ---- positions, conditions, and what is left to NumPy --------------------------------------------


def test_positions_are_those_of_numpy() -> None:
    x, i = np.random.default_rng(0).normal(size=(5, 3)), np.array([0, -1, 4, 0, -5])
    assert_agrees(lambda x: x[i], (x,))
    assert_agrees(lambda x, i: x[i] * x[:, 1][i, None], (x, i))

    def total(x: Any, i: Any) -> Any:
        return np.sum(x[i] ** 2)

    assert_agrees(fd.grad(total), (x, i), (x, i[::-1]))
    f = fd.jit(lambda x, i: x[i], engine="llvm")
    for _ in range(10):  # as often as it likes
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
            f(x, np.array([5]))
    np.testing.assert_array_equal(f(x, np.array([-2])), x[[-2]])


def test_integers_have_extrema_too() -> None:
    largest = np.iinfo(np.int64).max
    n = np.array([[3, -2, largest], [7, largest, largest]])
    assert_agrees(lambda n: (np.min(n, axis=0), np.max(n), np.sum(n % 7, axis=1)), (n,))


@pytest.mark.slow
def test_what_has_no_machine_code_is_a_step_of_numpys() -> None:
    def filtered(x: Any) -> Any:
        def step(p: Any, r: Any) -> Any:
            gain = np.linalg.solve(p + np.eye(2), p) * r
            return p - gain @ p + 0.1 * np.eye(2), np.linalg.slogdet(p)[1]

        _, logs = fd.scan(step, np.outer(x, x) + np.eye(2), np.array([0.5, 0.1, 0.2]))
        return np.sum(logs) + np.sort(x)[0]

    xs = [(np.array([0.5, -0.2]),), (np.array([0.1, 0.7]),)]
    for derivative in (plain, fd.grad, fd.hessian):
        assert_agrees(derivative(filtered), *xs)
    f = fd.jit(lambda a: np.linalg.cholesky(a) + np.tanh(a) * a + np.exp(a) * 2.0, engine="llvm")
    with pytest.raises(np.linalg.LinAlgError):
        f(-np.eye(3))
    np.testing.assert_allclose(f(np.eye(3))[0, 0], 1 + np.tanh(1) + 2 * np.e)


def test_a_few_numbers_and_a_function_of_scipys_stay_numbers_of_python() -> None:
    def f(x: Any) -> Any:
        return x * special.ndtr(np.log(x) + 0.3) - np.exp(-x)

    texts = [fd.jit(fd.grad(f), engine=engine).lower(2.0).source for engine in ("numpy", "llvm")]
    assert texts[0] == texts[1]

    def long(x: Any) -> Any:
        for k in range(100):
            x = np.sin(x) + 0.1 * k
        return f(x)

    assert "run(" in fd.jit(long, engine="llvm").lower(2.0).source


def test_what_has_a_derivative_of_its_own_is_no_step() -> None:
    @fd.custom_jvp
    def ramp(x: Any) -> Any:
        return np.maximum(x, 0.0) * 1.5

    @ramp.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return ramp(primals[0]), tangents[0] * np.tanh(primals[0])

    def f(x: Any) -> Any:
        return fd.scan(lambda c, _: (ramp(c) - 0.1 * x, ramp(x)), x, None, length=3)

    xs = (np.linspace(-1.0, 2.0, 5),)
    for derivative in (f, lambda x: fd.jvp(f, (x,), (x + 1.0,))):
        assert_agrees(derivative, xs)
        assert "@step(ptr %t" not in fd.jit(derivative, engine="llvm").lower(*xs).source


def test_results_are_nobody_elses() -> None:
    f = fd.jit(lambda x: (x, x.T, x[0] * 1.0, 2.0, np.zeros(3), x), engine="llvm")
    x = np.random.default_rng(0).normal(size=(3, 3))
    for _ in range(3):
        results = f(x)
        arrays = [y for y in results if isinstance(y, np.ndarray)]
        for k, y in enumerate(arrays):
            assert not any(np.shares_memory(y, z) for z in [x, *arrays[:k]])


def test_numbers_come_as_python_has_them() -> None:
    f = fd.jit(lambda x, n, flag: np.where(flag, x * n, x - n), engine="llvm")
    for x in (2.5, np.float64(2.5), np.array(2.5)):
        assert f(x, 3, True) == 7.5
        assert f(x, np.int64(3), np.bool_(False)) == -0.5
    assert f(np.float32(2.5), np.float32(3), True).dtype == np.float32


def test_a_function_of_machine_code_holds_what_python_reads_of_it() -> None:
    run = made(fd.trace(lambda x: np.tanh(x))(np.ones(3)))
    assert run is not None
    code, method = run.quick.__globals__["run"].__self__
    assert method.address == code.address


FORKED = """
import os, threading
import numpy as np
import funcdiff as fd

def compiled(k):
    return fd.jit(lambda x: np.sum(np.sin(x * k) * x), engine="llvm")(np.ones(3))

def compiles():
    for k in range(1, 200):
        if not done:
            compiled(k)

compiled(0)
done = []
thread = threading.Thread(target=compiles)
thread.start()
for k in range(5):
    if (child := os.fork()) == 0:
        import signal
        signal.alarm(600)
        compiled(-k)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done.append(True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_process_is_not_forked_while_llvm_works() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=600)


def test_threads_have_memory_of_their_own() -> None:
    f = fd.jit(fd.grad(lambda x: nested(x) + shrunk(x)), engine="llvm")
    xs = np.random.default_rng(0).normal(size=(6, 3))
    expected = [f(x) for x in xs]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = [f(xs[k]) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(xs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, y in enumerate(expected):
        for z in found[k]:
            np.testing.assert_array_equal(z, y)


@contextmanager
def raised_in_a_moment(error: type[BaseException]) -> Iterator[None]:
    """Let a signal handler raise an error a tenth of a second from now, and expect it."""

    def raises(*_: Any) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, raises)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(error):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def without_end(x: Any) -> Any:
    return fd.while_loop(lambda s: s > 0.0, lambda s: s * 1.0 + x, 1.0)


def with_a_step(x: Any) -> Any:
    a = np.eye(3) + x
    return fd.while_loop(lambda s: np.linalg.det(a) * s > 0.0, lambda s: s * 1.0 + x, 1.0)


def on_a_way(x: Any) -> Any:
    return without_end(x) if x < 1.0 else x


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.thinned(4)
@pytest.mark.parametrize("f", [without_end, with_a_step, on_a_way])
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, ValueError])
def test_what_a_signal_handler_raises_ends_a_loop(f: Any, error: type[BaseException]) -> None:
    jitted = fd.jit(f, engine="llvm")
    expected = jitted(-1.0)
    for _ in range(2):
        with raised_in_a_moment(error):
            jitted(0.0)
    assert jitted(-1.0) == expected


@pytest.mark.thinned(5)
@pytest.mark.parametrize("index", [-7, -1, 0, 1, 2, 3, 9])
def test_the_branch_is_the_nearest_that_there_is(index: int) -> None:
    branches: list[Callable[[Any], Any]] = [lambda x: x * 2.0, np.sin, np.cumsum]

    def f(k: Any, x: Any) -> Any:
        return fd.switch(k, branches, x)

    def pushed(k: Any, x: Any) -> Any:
        return fd.jvp(lambda x: f(k, x), (x,), (x,))

    x = np.linspace(-1, 2, 4)
    for g in (f, pushed):
        program = fd.trace(g)(0, x)
        assert "cond" in str(program)
        assert_computes(program, [np.int64(index), x])


def test_nothing_is_read_of_an_axis_without_elements() -> None:
    program = fd.parse("program(%0: f64[3,0]) {\n  %1: i64[3] = argmax{axis=1} %0\n  return %1\n}")
    assert made(program) is None
