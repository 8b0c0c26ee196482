"""Machine code for chains of elementwise operations: its accuracy, its edges, and its arrays."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import pytest
import scipy.special
from hypothesis import given

import funcdiff as fd
from funcdiff.api.compiling import executables
from funcdiff.api.jit import Engine
from funcdiff.backend import kernels
from funcdiff.backend.blocks.schedule import Loop, group
from funcdiff.backend.kernels import Kernel
from funcdiff.backend.native import machine
from funcdiff.backend.native.machine import MachineCode
from funcdiff.backend.native.routine import routine
from funcdiff.backend.native.ufunc_loops import compile_loop, formula
from funcdiff.core.program import Program
from funcdiff.errors import InputError
from funcdiff.testing.subject import disagreement
from tests.api.test_range_loops import (
    assert_all_derivatives,
    bisection,
    ends_by_its_count,
    goes_on_early,
    newton,
)
from tests.backend.test_kernels import TINY, assert_computes
from tests.backend.test_source import LAYOUTS, OPERATIONS, random_program

ULPS: Final = 2.0
"""The accuracy that is promised."""


def loop_of(f: Callable[..., Any], *arrays: Any) -> Callable[..., Any]:
    """Return the ufunc of the single loop that computes a function of arrays."""
    program = fd.trace(f)(*arrays)
    (loop,) = loops_of(program)
    made = compile_loop(loop)

    def run(*xs: Any) -> Any:
        return made.function(*[xs[program.inputs.index(v)] for v in loop.operands])

    return run


def loops_of(program: Program) -> list[Loop]:
    steps = group(program, program.equations, lambda eq: formula(eq) is not None, bool)
    return [step for step in steps if isinstance(step, Loop)]


def spread(*parts: Any) -> Any:
    """Return numbers of both signs, with those at the edges."""
    numbers = np.concatenate([*parts, EDGES])
    return np.concatenate([numbers, -numbers])


EDGES = np.array(
    [0.0, 5e-324, 1e-310, 2.3e-308, 1e-160, 1e-17, 0.5, 1.0, 0.55, 22.0, 709.78, 1e300]
)
RANDOM = np.random.default_rng(0)
POWERS = np.exp(RANDOM.uniform(-700, 700, 20_000))
ONES = RANDOM.uniform(0, 3, 20_000)
TURNS = np.arange(20_000) * 211 * (np.pi / 2)  # next to which one of sine and cosine vanishes
DOMAINS: Final[dict[str, Any]] = {
    "exp": spread(RANDOM.uniform(0, 750, 20_000), ONES, POWERS),
    "expm1": spread(RANDOM.uniform(0, 750, 20_000), ONES, POWERS),
    "log": np.abs(spread(POWERS, ONES, 1 + ONES * 1e-3)),
    "log1p": np.maximum(spread(POWERS, ONES, ONES * 1e-3), -1 + 1e-15),
    "sinh": spread(RANDOM.uniform(0, 711, 20_000), ONES, POWERS),
    "cosh": spread(RANDOM.uniform(0, 711, 20_000), ONES, POWERS),
    "tanh": spread(ONES, POWERS, RANDOM.uniform(0.4, 0.6, 20_000)),
    "sin": spread(ONES, POWERS, TURNS, RANDOM.uniform(0, 5e6, 20_000)),
    "cos": spread(ONES, POWERS, TURNS, RANDOM.uniform(0, 5e6, 20_000)),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", DOMAINS)
def test_functions_are_off_by_two_units_in_the_last_place_at_most(name: str) -> None:
    x, f = DOMAINS[name], getattr(np, name)
    with np.errstate(all="ignore"):
        y = loop_of(lambda x: f(x), x)(x)
        exact = f(x.astype(np.longdouble))
        rounded = exact.astype(np.float64)
        own = 1.0 if np.finfo(np.longdouble).eps > 1e-18 else 0.0  # of a reference no wider
        finite = np.isfinite(rounded)
        off = np.abs(y[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite]))
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    worst = np.argmax(off)
    assert off[worst] <= ULPS + own, f"{off[worst]} at {x[finite][worst]!r}"


def test_the_error_function_is_off_by_two_units_in_the_last_place_at_most() -> None:
    x = spread(ONES, RANDOM.uniform(0, 8, 5000), POWERS[:5000])
    edges = np.array([np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        erf = loop_of(lambda x: scipy.special.erf(x), x)
        y, at_edges = erf(x), erf(edges)
    expected = np.array([math.erf(number) for number in x])  # by the C library, off by one
    assert np.max(np.abs(y - expected) / np.spacing(np.abs(expected))) <= ULPS + 1
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))
    np.testing.assert_array_equal(at_edges, np.sign(edges))


SPECIAL = np.array([
    0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, -1e-310, 1.7e308, -1.7e308,
    709.79, -745.2, -750.0, 1.0, -1.0, 1e22, 0.5,
])  # fmt: skip
UNARY = [
    np.exp, np.expm1, np.log, np.log1p, np.sin, np.cos, np.tanh, np.sinh, np.cosh,
    np.negative, np.square,
    np.reciprocal, np.absolute, np.fabs, np.sqrt, np.sign, np.isnan, np.isinf, np.isfinite,
]  # fmt: skip
BINARY = [
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.less, np.less_equal,
    np.greater, np.greater_equal, np.equal, np.not_equal, np.logaddexp, np.fmax, np.fmin,
]  # fmt: skip


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ufunc", [*UNARY, *BINARY], ids=lambda f: f.__name__)
def test_infinities_and_zeros_are_those_of_numpy(ufunc: Any, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
        xs = (x,) if ufunc.nin == 1 else tuple(map(np.ravel, np.meshgrid(x, x)))
        expected = ufunc(*xs)
        program = fd.trace(lambda *xs: np.where(ufunc(*xs) == 0, ufunc(*xs), ufunc(*xs)))(*xs)
        (y,) = Kernel(program, None, native=True)(*xs)
    assert y.dtype == expected.dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(y, expected, rtol=2 * eps, atol=0, strict=True)
    if y.dtype.kind == "f" and ufunc not in (np.maximum, np.minimum, np.fmax, np.fmin):
        number = ~np.isnan(expected)  # of an extremum of 0.0 and -0.0 NumPy returns either
        np.testing.assert_array_equal(np.signbit(y)[number], np.signbit(expected)[number])


def test_an_extremum_of_a_number_and_nan_is_that_of_numpy() -> None:
    x, y = np.array([np.nan, 1.0, np.nan, 2.0]), np.array([1.0, np.nan, np.nan, 3.0])
    ufuncs = np.maximum, np.minimum, np.fmax, np.fmin
    program = fd.trace(lambda x, y: tuple(f(x, y) + 0.5 for f in ufuncs))(x, y)
    with np.errstate(invalid="ignore"):
        found = Kernel(program, None, native=True)(x, y)
    np.testing.assert_array_equal(found, [f(x, y) + 0.5 for f in ufuncs])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_added_by_their_exponentials_as_numpy_does(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.concatenate([SPECIAL, RANDOM.normal(size=40) * 30]).astype(dtype)
        x, y = map(np.ravel, np.meshgrid(x, x))
        expected = np.logaddexp(x, y)
    run = routine(fd.trace(np.logaddexp)(x[0], y[0]), fail, always=True)
    assert run is not None
    assert not run.warns  # there are no steps of NumPy's
    z, finite = np.array([run(*pair)[0] for pair in zip(x, y, strict=True)]), np.isfinite(expected)
    np.testing.assert_array_equal(z[~finite], expected[~finite], strict=True)
    # near 0 NumPy's own has lost digits
    scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)[finite]
    assert np.max(np.abs(z[finite] - expected[finite]) / scale) <= 2 * np.finfo(dtype).eps


def fail() -> NoReturn:
    raise AssertionError("NumPy was asked")


def chain(x: Any, y: Any) -> Any:
    z = np.where(x > 0, np.tanh(x) * y, np.exp(-x * x))
    return z + np.log1p(z * z) - np.sin(y), (z > y) & (x < 1)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 64, 255, 256, 257, 1000])
def test_any_number_of_elements_is_computed(n: int) -> None:
    x, y = np.random.default_rng(n).normal(size=(2, n))
    assert_computes(fd.trace(chain)(x, y), [x, y], limits=None, native=True)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_may_lie_in_memory_as_they_like(layout: Any, dtype: Any) -> None:
    random = np.random.default_rng(3)
    shapes = ((40, 30), (40, 1), (30,), (1, 1), ())
    for first in shapes:
        for second in shapes:
            x, y = (
                layout(np.atleast_1d(random.normal(size=s)).astype(dtype)) for s in (first, second)
            )
            y.setflags(write=False)
            program = fd.trace(fd.grad(lambda x, y: np.sum(chain(x, y)[0])))(x, y)
            assert_computes(program, [x, y], limits=None, native=True)


def test_bytes_in_another_order_and_odd_addresses_are_read() -> None:
    x = np.frombuffer(bytes(1) + np.linspace(-2, 2, 50).tobytes(), np.float64, offset=1)
    swapped = np.linspace(-1, 3, 50).astype(">f8")
    found = loop_of(lambda x, y: np.tanh(x) * y, x, x)(x, swapped)
    np.testing.assert_allclose(found, np.tanh(x) * swapped, rtol=1e-15)


@pytest.mark.slow
@given(OPERATIONS)
def test_random_programs_are_computed(steps: Any) -> None:
    f = random_program(steps)
    random = np.random.default_rng(len(steps))
    for shape in ((7,), (5, 3), (5, 1)):
        args = [random.normal(size=shape) for _ in range(2)]
        total = fd.trace(fd.grad(lambda x, y: sum(np.sum(z) for z in f(x, y))))(*args)
        for limits in (None, TINY):
            assert_computes(total, args, limits=limits, native=True)


def recurrent(w: Any, x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = np.tanh(w @ h + row)
        return h, np.sum(h * h)

    return np.sum(fd.scan(step, np.zeros(x.shape[1]), x)[1])


def softmax(w: Any, x: Any) -> Any:
    scores = x @ w
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) ** 2)


def guarded(w: Any, x: Any) -> Any:
    return np.sum(np.where(x @ w > 0, np.log(np.abs(x @ w)), np.logaddexp(x @ w, 0.0)))


def hessian_times_ones(f: Any) -> Any:
    return lambda w, x: fd.hvp(lambda w: f(w, x), (w,), (np.ones_like(w),))


def of_both_halves(f: Any) -> Any:
    return lambda w, x: fd.vmap(fd.grad(f), (None, 0))(w, np.stack([x[:10], x[10:]]))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "derivative", [fd.grad, fd.value_and_grad, hessian_times_ones, of_both_halves]
)
@pytest.mark.parametrize("f", [recurrent, softmax, guarded])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_jit_computes_what_it_does_without(f: Any, derivative: Any, dtype: Any) -> None:
    random = np.random.default_rng(0)
    w, x = (random.normal(size=s).astype(dtype) for s in ((5, 5), (20, 5)))
    plain, quick = derivative(f), fd.jit(derivative(f), engine="llvm")
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for k in range(8):
        expected, found = (fd.pytree.flatten(g(w + dtype(0.1 * k), x))[0] for g in (plain, quick))
        for y, z in zip(found, expected, strict=True):
            assert y.dtype == z.dtype
            assert not disagreement(y, z, tolerance)


def test_what_no_machine_code_computes_is_left_to_numpy() -> None:
    x = np.linspace(0.1, 2.0, 20)

    def f(x: Any) -> Any:
        return np.exp(1j * x) * 2.0 + 1.0, np.arctan(x) * x + 1.0, np.arange(20) * 3 + 1

    for y, z in zip(fd.jit(f, engine="llvm")(x), f(x), strict=True):
        assert y.dtype == z.dtype
        np.testing.assert_allclose(y, z, rtol=1e-15)


def test_a_loop_never_reads_what_is_computed_behind_it() -> None:
    def f(x: Any, w: Any) -> Any:
        a = np.exp(x) * 0.5
        b = w @ a  # needs the first loop, and the second needs it
        c = np.tanh(a) + b
        d = np.sum(c)  # needs the second, and the third needs it
        return np.sin(c * d) - a

    x, w = np.linspace(-1, 1, 6), np.random.default_rng(0).normal(size=(6, 6))
    program = fd.trace(f)(x, w)
    assert len(loops_of(program)) == 3
    assert_computes(program, [x, w], limits=None, native=True)


@pytest.mark.slow
def test_a_chain_of_many_arrays_is_cut_into_several_loops() -> None:
    def f(*xs: Any) -> Any:
        total = xs[0] * 1.5
        for x in xs[1:]:
            total = np.tanh(total) * x + total
        return [total, *[np.exp(x) * total for x in xs]]

    xs = list(np.random.default_rng(0).normal(size=(40, 9)))
    program = fd.trace(f)(*xs)
    assert all(len(v.operands) + len(v.stored) <= 24 for v in loops_of(program))
    assert len(loops_of(program)) > 3
    assert_computes(program, xs, limits=None, native=True)


@pytest.mark.slow
def test_threads_call_one_function_at_a_time_of_their_own() -> None:
    f = fd.jit(fd.grad(lambda x: np.sum(np.tanh(np.sin(x) * x) ** 2)), engine="llvm")
    xs = np.random.default_rng(0).normal(size=(8, 5000))
    expected = [fd.grad(lambda x: np.sum(np.tanh(np.sin(x) * x) ** 2))(x) for x in xs]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = [f(xs[k]) for _ in range(8)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, y in enumerate(expected):
        for z in found[k]:
            np.testing.assert_allclose(z, y, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_large_arrays_run_in_blocks_of_several_threads() -> None:
    def f(x: Any) -> Any:
        for _ in range(8):
            x = np.tanh(x) * 0.9 + 0.1
        return np.sum(x)

    x = np.random.default_rng(0).normal(size=1_000_003)
    fd.set_num_threads(2)
    try:
        for _ in range(2):
            found = fd.jit(fd.grad(f), engine="llvm")(x)
    finally:
        fd.set_num_threads(None)
    np.testing.assert_allclose(found, fd.jit(fd.grad(f))(x), rtol=1e-12, atol=1e-300)


def test_machine_code_is_shared_by_shapes_and_freed() -> None:
    f = lambda x: np.tanh(x) * 0.123456789 + x
    (one,), (two,) = (loops_of(fd.trace(f)(np.ones(n))) for n in (5, 6))
    made = compile_loop(one)
    assert compile_loop(two) is made
    reference = weakref.ref(made)
    del made
    assert reference() is None


def test_machine_code_is_kept_on_disk_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "define i64 @f() {\n  ret i64 %d\n}\n"
    folder = tmp_path / "code"
    monkeypatch.setenv("FUNCDIFF_CACHE", str(folder))
    assert run_of(text % 7) == 7
    (file,) = folder.iterdir()
    kept = file.read_bytes()
    # what is in the file runs
    assert run_of(text % 8) == 8
    (other,) = set(folder.iterdir()) - {file}
    file.write_bytes(other.read_bytes())
    assert run_of(text % 7) == 8
    # but not if it was cut off
    for broken in (b"", kept[:-1], kept[:-1] + bytes([kept[-1] ^ 1])):
        file.write_bytes(broken)
        assert run_of(text % 7) == 7
        assert file.read_bytes() == kept
    # where a file cannot be put, nothing else is left behind
    file.unlink()
    file.mkdir()
    assert run_of(text % 7) == 7
    assert set(folder.iterdir()) == {file, other}


def run_of(text: str) -> int:
    code = MachineCode(text, "f")
    found: int = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address)()
    return found


def test_without_llvm_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    with pytest.raises(
        InputError, match=r"needs the package llvmlite.*pip install \"funcdiff\[llvm\]"
    ):
        fd.jit(np.sin, engine="llvm")


@pytest.mark.slow
def test_long_loops_are_machine_code_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(x: Any, number: int) -> Any:
        for _ in range(number):
            x = x + 0.01 * np.sin(x) * np.flip(x)
        return np.sum(x)

    x = np.linspace(0.0, 1.0, 4)
    ways: list[tuple[int, Engine | None, bool]] = [
        (400, None, True),
        (400, "llvm", True),
        (400, "numpy", False),
        (16, None, False),
    ]
    monkeypatch.setattr(machine, "_MOST", machine.MachineCode.alive + 12)  # of other tests, too
    monkeypatch.setattr(kernels, "is_started", lambda: False)  # as they may have left it

    def repeated(x: Any, number: int) -> Any:
        return fd.while_loop(lambda y: np.sum(y) > 1e-3, lambda y: y * steps(y, number) / 4, x)

    for number, is_native in [(60, True), (6, False)]:
        g = fd.jit(partial(repeated, number=number))
        assert ("run(" in g.lower(x).source) == is_native
        np.testing.assert_allclose(g(x), repeated(x, number), rtol=1e-12)
    for number, engine, is_native in ways:
        f = fd.jit(fd.grad(partial(steps, number=number)), engine=engine)
        assert ("run(" in f.lower(x).source) == is_native
        np.testing.assert_allclose(f(x), fd.grad(partial(steps, number=number))(x), rtol=1e-12)
    # elsewhere NumPy computes everything, and what comes after many others
    with monkeypatch.context() as patch:
        fd.clear_caches()
        patch.setattr(machine, "_MOST", machine.MachineCode.alive)
        assert "run(" not in fd.jit(fd.grad(partial(steps, number=400))).lower(x).source
    for place, absent in [(sys, "platform"), (machine, "late_import")]:
        with monkeypatch.context() as patch:
            fd.clear_caches()
            machine.is_tried_here.cache_clear()
            patch.setattr(place, absent, "win32" if place is sys else raises_import_error)
            assert "run(" not in fd.jit(fd.grad(partial(steps, number=400))).lower(x).source
    machine.is_tried_here.cache_clear()


def raises_import_error(name: str) -> Any:
    raise ImportError(name)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["_FEW", "_LONG"])
@pytest.mark.parametrize("f", [newton, bisection, goes_on_early, ends_by_its_count])
def test_loops_that_values_end_have_all_derivatives(
    f: Any, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executables, bound, 2)
    assert_all_derivatives(f, "llvm")


def test_an_engine_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="engine='cuda' is neither 'numpy' nor 'llvm'"):
        fd.jit(np.sin, engine="cuda")  # type: ignore[call-overload]


@pytest.mark.slow
def test_machine_code_that_was_not_used_for_long_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def chained(factor: int, x: Any) -> Any:
        return np.tanh(np.exp(x * factor) * x)

    def looped(factor: int, x: Any) -> Any:
        return fd.fori_loop(0, 3, lambda _, y: np.sin(y) * factor, x[0])

    fd.clear_caches()
    monkeypatch.setattr(machine, "_MOST", 4)  # so often those are looked for that nobody has
    for module in ("funcdiff.backend.native.routine", "funcdiff.backend.kernels"):
        monkeypatch.setattr(sys.modules[module], "WEIGHT", 1 << 15)
    before, alive = MachineCode.alive, []
    x = np.linspace(0.0, 1.0, 5000)
    for factor in range(30):
        for f in (chained, looped):
            fd.jit(partial(f, factor), engine="llvm")(x)
            alive.append(MachineCode.alive - before)
    assert max(alive) < 24
    assert max(alive[30:]) <= max(alive[:30]) + 4
