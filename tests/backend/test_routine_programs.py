"""Random programs of all that machine code is written for compute what the interpreter does.

A program is read off a list of numbers: each one chooses a step, or the values that it takes.
"""

from __future__ import annotations

import _thread
import ctypes
import mmap
import os
import re
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.backend import kernels
from funcdiff.backend.code.lower import lower
from funcdiff.backend.kernels import prepare
from funcdiff.backend.native.routine import Routine, routine
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable, executable
from funcdiff.errors import InputError, UnsupportedNumPyError
from funcdiff.testing.subject import disagreement, rounding

LENGTHS: Final = (3, 1, 0, 2, 8, 9, 17, 33, 64, 100, 1025)
LARGEST: Final = 3000
"""Elements of arrays, and of all that a contraction multiplies."""
_STRAIGHT: Final = (
    "formula sum compare select rearrange cut join write scatter gather reduce contract accumulate "
    "convert numpys"
)
_CONTROL: Final = "scan repeat branch stand scan repeat branch"


class Choices:
    """Numbers that choose, one after the other; 0 where there are none left."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers, self.place = numbers, 0

    def __call__(self, count: int) -> int:
        """Choose one of so many."""
        self.place += 1
        return self.numbers[self.place - 1] % count if self.place <= len(self.numbers) else 0

    def of(self, some: Sequence[Any]) -> Any:
        """Choose one of some; raises LookupError if there are none."""
        return some[self(len(some)) if some else 0]

    def again(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Return a body that chooses the same whenever it is traced."""
        first = self.place

        def traced(*args: Any) -> Any:
            self.place = first
            return body(*args)

        return traced


def size(x: Any) -> int:
    return prod(x.shape)


def is_float(x: Any) -> bool:
    return bool(x.dtype.kind == "f")


class Steps:
    """Methods that return values which are made of others, or None."""

    def __init__(self, choose: Choices) -> None:
        self.choose, self.depth = choose, 0

    def run(self, values: list[Any], *, depth: int = 0, most: int = 9) -> list[Any]:
        """Return the values after some steps."""
        for _ in range(1 + self.choose(most)):
            self.depth = depth
            straight, control = _STRAIGHT.split(), _CONTROL.split() if depth < 2 else []
            name = self.choose.of([*straight, *control])
            try:
                made = getattr(self, name)(values, *([depth + 1] if name in control else []))
            except (InputError, LookupError, UnsupportedNumPyError):
                continue  # it writes where it must not, or finds no operands
            made = made if isinstance(made, list) else [] if made is None else [made]
            values = [*values, *(y for y in made if size(y) <= LARGEST)]
        return values

    def one(self, values: Sequence[Any], test: Callable[[Any], bool] = is_float) -> Any:
        return self.choose.of([x for x in values if test(x)])

    def fitting(self, x: Any, values: Sequence[Any]) -> Any:
        """Return a value that can be broadcast to another, and has its dtype."""
        y = self.choose.of(values)
        if y.shape != x.shape and y.shape != x.shape[1:]:
            y = y[(0,) * len(y.shape)] if y.shape and size(y) else np.any(y)
        return y.astype(x.dtype)

    def formula(self, values: list[Any]) -> Any:
        x = self.one(values)
        unary = (np.sin, np.tanh, lambda x: np.sqrt(x * x + 1), np.floor, np.negative, np.exp)
        return self.choose.of(unary)(np.minimum(x, 3.0))

    def sum(self, values: list[Any]) -> Any:
        x = self.one(values, lambda x: x.dtype != bool)
        return self.choose.of((np.add, np.multiply, np.subtract, np.maximum))(
            x, self.fitting(x, values)
        )

    def compare(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        y = self.fitting(x, values)
        return (
            np.logical_xor(x, y) if x.dtype == bool else self.choose.of((np.less, np.equal))(x, y)
        )

    def select(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        return np.where(self.fitting(x > 0, values) if x.dtype != bool else x, x,
                        self.fitting(x, values))  # fmt: skip

    def convert(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        return (
            x.astype(self.choose.of((np.float64, np.float32, int, bool)))
            if not is_float(x)
            else x > 0.1
        )

    def rearrange(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        ways = (
            lambda: x.T, lambda: x.reshape(-1), lambda: x.reshape(x.shape[::-1]),
            lambda: np.flip(x), lambda: np.broadcast_to(x, (2, *x.shape)),
            lambda: np.expand_dims(x, -1),
        )  # fmt: skip
        return self.choose.of(ways)() if len(x.shape) < 4 else None

    def box(self, x: Any) -> tuple[Any, ...]:
        """Return a slice along each axis."""
        ways = (
            lambda n: slice(None), lambda n: slice(1, None), lambda n: slice(None, -1),
            lambda n: slice(None, None, -1), lambda n: slice(n // 2, None, 2),
        )  # fmt: skip
        return tuple([self.choose.of(ways)(n) for n in x.shape])

    def cut(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        return x[self.box(x)]

    def join(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        same = [y for y in values if (y.shape, y.dtype) == (x.shape, x.dtype)]
        return np.concatenate([x, self.choose.of(same)], axis=-1) if x.shape else None

    def new(self, values: list[Any]) -> Any:
        """Return an array that may be changed: nobody else's, or what a body is given."""
        x = self.choose.of([x for x in values if x.shape])
        if self.depth and self.choose(2):
            return x
        return np.logical_not(x) if x.dtype == bool else self.choose.of((x + 1, 1 * x))

    def write(self, values: list[Any]) -> Any:
        y = self.new(values)
        for _ in range(1 + self.choose(3)):
            box = self.box(y)
            part = y[box]
            u = self.choose.of((y, np.flip(part), self.fitting(part, values)))
            u = u if u.shape in (part.shape, ()) else part
            if y.dtype != bool and self.choose(2):
                y[box] += u
            else:
                y[box] = u
        return y

    def positions(self, length: int) -> Any:
        """Return some places, from the front or the end, which may repeat."""
        return np.array([self.choose(2 * length) - length for _ in range(length and length % 7)])

    def scatter(self, values: list[Any]) -> Any:
        y = self.new(values)
        length = y.shape[0]
        if self.choose(2):
            at, u = np.array([self.choose(length) for _ in range(length)], int), y
        else:
            at = self.positions(length).astype(int)
            u = y[at]
        if self.choose(2):
            y[at] = u
        else:
            np.add.at(y, at, u)
        return y

    def gather(self, values: list[Any]) -> Any:
        x = self.choose.of([x for x in values if x.shape])
        axis = self.choose(len(x.shape))
        return np.take(x, self.positions(x.shape[axis]).astype(int), axis=axis)

    def axes(self, x: Any) -> tuple[int, ...]:
        return tuple([k for k in range(len(x.shape)) if not self.choose(2)])

    def reduce(self, values: list[Any]) -> Any:
        x = self.choose.of(values)
        of_flags, of_numbers = (np.any, np.sum, np.all), (np.sum, np.max, np.min, np.prod)
        function = self.choose.of(of_flags if x.dtype == bool else of_numbers)
        return function(x, axis=self.axes(x)) if size(x) else None

    def contract(self, values: list[Any]) -> Any:
        x = self.one(values)
        y = self.one(values, lambda y: bool(y.dtype == x.dtype))
        lengths = dict(zip("abcd", x.shape, strict=False))
        labels = ""
        for k, n in enumerate(y.shape):
            same = [c for c in lengths if lengths[c] == n and c not in labels]
            labels += self.choose.of([*same, "efgh"[k]])
            lengths[labels[-1]] = n
        out = "".join(c for c in sorted(lengths, reverse=bool(self.choose(2))) if self.choose(2))
        if prod(lengths.values()) > LARGEST:
            return None
        return np.einsum(f"{'abcd'[: len(x.shape)]},{labels}->{out}", x, y)

    def accumulate(self, values: list[Any]) -> Any:
        x = self.choose.of([x for x in values if x.shape])
        if is_float(x) and size(x) and self.choose(2):
            return np.argmax(x, axis=0)
        return np.cumsum(x, axis=-1) if x.dtype != bool else None

    def numpys(self, values: list[Any]) -> Any:
        """Return what NumPy computes as a step."""
        x = self.one(values, lambda x: bool(x.shape and x.dtype != bool))
        return self.choose.of((np.sort, lambda x: np.cumprod(x % 2, axis=-1), np.argsort))(x)

    # ---- loops and branches ------------------------------------------------------------------

    def after(self, carry: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Return what a carry becomes: of the same types."""
        same = [[y for y in values if (y.shape, y.dtype) == (x.shape, x.dtype)] for x in carry]
        return [self.choose.of(ys[::-1]) for ys in same]

    def some(self, values: Sequence[Any], most: int = 3) -> list[Any]:
        return [self.choose.of(values) for _ in range(self.choose(most) + 1)]

    def scan(self, values: list[Any], depth: int) -> list[Any]:
        carry, others = self.some(values), self.some(values)
        stack = self.choose.of([x for x in values if x.shape and x.shape[0] < 20])
        reverse = bool(self.choose(2))

        def body(state: Any, row: Any) -> Any:
            made = self.run([*state, row, *others], depth=depth, most=4)
            end = self.after(state, made)
            return end, [self.choose.of([*end, *made]) for _ in range(2)]

        last, rows = fd.scan(self.choose.again(body), carry, stack, reverse=reverse)
        return [*last, *rows]

    def repeat(self, values: list[Any], depth: int) -> list[Any]:
        carry, others = self.some(values), self.some(values)
        count = self.choose.of((3, 0, 1, 9, 2))

        def body(state: Any) -> Any:
            made = self.run([*state[1:], *others], depth=depth, most=3)
            return [state[0] + 1, *self.after(state[1:], made)]

        start = [np.int64(0), *carry]
        made: list[Any] = fd.while_loop(lambda s: s[0] < count, self.choose.again(body), start)
        return made[1:]

    def branch(self, values: list[Any], depth: int) -> list[Any]:
        operands = self.some(values)
        index = np.sum(self.choose.of(values) > 0) % 5 - 1

        def way(k: int) -> Callable[..., Any]:
            def body(*xs: Any) -> Any:
                self.choose.place += k
                return self.after(xs, self.run([*xs], depth=depth, most=3))

            return self.choose.again(body)

        made = fd.switch(index, [way(k) for k in range(1 + self.choose(3))], *operands)
        return list(made)

    def stand(self, values: list[Any], depth: int) -> list[Any]:
        body = self.choose.again(lambda *xs: self.run([*xs], depth=depth, most=4)[-2:])
        return list(fd.checkpoint(body)(*self.some(values)))


def function_of(numbers: Sequence[int]) -> Callable[..., list[Any]]:
    """Return the function of arrays that numbers choose."""

    def f(*args: Any) -> list[Any]:
        choose = Choices(numbers)
        values = Steps(choose).run(list(args))
        return [*values[-6:], choose.of(values), choose.of(values)]

    return f


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: sum(
        (np.sum(np.tanh(y)) for y in f(*args) if y.dtype == float), 0.0 * np.sum(args[0])
    )


def arguments(choose: Choices) -> list[Any]:
    random, n, m = np.random.default_rng(0), choose.of(LENGTHS), choose.of(LENGTHS[:7])
    return [
        random.normal(size=n), random.normal(size=(m, n) if n * m <= LARGEST else (n,)),
        random.normal(size=n) > 0, random.integers(-3, 3, size=m), np.float64(0.7),
        random.normal(size=m).astype(np.float32),
    ]  # fmt: skip


NUMBERS = st.lists(st.integers(0, 1 << 12), min_size=15, max_size=120)


class Fenced:
    """Arrays that begin or end where memory may not be touched, if the system has such memory."""

    def __init__(self, *, at_end: bool) -> None:
        self._at_end = at_end

    def empty(self, shape: Any, dtype: Any = float) -> Any:
        """Return an array of NaNs."""
        shape = shape if isinstance(shape, tuple) else (shape,)
        count, page = prod(shape) * np.dtype(dtype).itemsize, mmap.PAGESIZE
        pages = -(-count // page)
        memory = mmap.mmap(-1, (pages + 2) * page)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for k in (0, pages + 1) if os.name == "posix" else ():
            ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin + k * page), ctypes.c_size_t(page), 0)
        first = page + (pages * page - count if self._at_end else 0)
        made: Any = np.frombuffer(memory, np.uint8, count, first)
        made[...] = 0xFF
        return made.view(dtype).reshape(shape)

    def copy(self, x: Any) -> Any:
        """Return an array with the elements of another; numbers as they are."""
        if not np.ndim(x):
            return x
        made = self.empty(x.shape, x.dtype)
        made[...] = x
        return made


def fenced(made: Routine, fence: Fenced) -> Callable[..., Any]:
    """Return a routine whose memory is fenced."""
    names = made.quick.__globals__

    def run(*arrays: Any) -> Any:
        names["idle"].clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np, "empty", fence.empty)
            names["idle"].append(names["take"]())
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(names, "empty", fence.empty)
            return made.quick(*arrays)

    return run


def assert_computes(program: Program, arrays: list[Any]) -> None:
    """Assert that calls with other data agree with the interpreter, the first one afterwards.

    Nothing outside of arrays is touched, and nothing is read that was not written before.
    """
    made = routine(lower(prepare(program)), lambda: executable(program), always=True)
    if made is None:
        return
    others = [x[::-1] if np.ndim(x) else -x for x in arrays]
    done: list[tuple[Any, Any]] = []
    for at_end, given_ in ((True, arrays), (False, others), (True, arrays)):
        fence = Fenced(at_end=at_end)
        given_ = [fence.copy(x) for x in given_]
        before = [np.copy(x) for x in given_]
        with np.errstate(all="ignore"):
            expected = Executable(program).interpret(*given_)
            done.append((fenced(made, fence)(*given_), expected))
        for x, y in zip(given_, before, strict=True):
            np.testing.assert_array_equal(x, y)
        assert not any(np.may_share_memory(y, x) for y in done[-1][0] for x in given_)
    for results, expected in done:
        for y, z in zip(results, expected, strict=True):
            assert (np.shape(y), np.asarray(y).dtype) == (np.shape(z), np.asarray(z).dtype)
            tolerance = rounding([*arrays, *expected])
            assert not disagreement(y, z, tolerance, 1.0), f"{y} instead of {z} in\n{program}"


def batched(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of one row more, of each argument that is a float."""
    return lambda *args: fd.vmap(f, in_axes=tuple([0 if is_float(x) else None for x in args]))(
        *[np.stack([x, 0.5 * x]) if is_float(x) else x for x in args]
    )


def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    found: Callable[..., Any] = fd.grad(total(f), argnums=(0, 1, 4))
    return found


def curvature(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the product of the Hessian, forward over reverse."""
    g = fd.grad(total(f))
    return lambda x, *args: fd.jvp(lambda x: g(x, *args), (x,), (x + 1.0,))


MODES: Final = (lambda f: f, gradient, batched, curvature, lambda f: batched(gradient(f)))


@pytest.mark.slow
@given(NUMBERS, st.sampled_from(range(len(MODES))))
def test_random_programs_compute_what_the_interpreter_does(numbers: Any, mode: int) -> None:
    args = arguments(Choices(numbers[::-1]))
    traced = fd.jit(MODES[mode](function_of(numbers))).trace_call(*args)
    if traced.program.equation_count < 400:
        assert_computes(traced.program, [*args, *traced.trace.captures])


# ---- what random programs do not come to ---------------------------------------------------------


def machine_code(f: Callable[..., Any], *args: Any) -> Routine:
    """Return the machine code of a function, which it must have."""
    program = fd.trace(f)(*args)
    made = routine(lower(prepare(program)), lambda: executable(program), always=True)
    assert made is not None
    return made


@pytest.fixture
def jit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return what compiles to machine code whether it is quicker or not."""
    monkeypatch.setattr(kernels, "routine", partial(routine, always=True))
    return partial(fd.jit, engine="llvm")


def test_an_array_is_scattered_into_itself_as_it_was() -> None:
    def f(x: Any, at: Any) -> Any:
        y = x + 1.0
        y[at] = y
        return y

    x, at = np.arange(5.0), np.array([4, 3, 2, 1, 0])
    assert_computes(fd.trace(f)(x, at), [x, at])


def test_extremes_of_integers_may_be_the_largest_there_are() -> None:
    ends = np.array([[np.iinfo(np.int64).max], [np.iinfo(np.int64).max - 1]])
    program = fd.trace(lambda x: (np.min(x), np.max(x), np.min(x, axis=0), np.max(x, axis=0)))(ends)
    assert_computes(program, [ends])
    assert_computes(program, [-ends - 1])


def test_sums_of_negative_zeros_are_those_of_numpy() -> None:
    x = np.full((3, 9), -0.0)

    def f(x: Any) -> Any:
        return np.sum(x), np.sum(x, axis=0), np.sum(x, axis=1), np.cumsum(x, axis=0)

    for y, z in zip(machine_code(f, x)(x), f(x), strict=True):
        np.testing.assert_array_equal(np.signbit(y), np.signbit(z))


def test_flags_are_set_whatever_bit_of_the_byte_is() -> None:
    flags = np.array([0, 1, 2, 255], np.uint8).view(bool)
    (found,) = machine_code(lambda m: np.where(m, 1.0, -1.0), flags)(flags)
    np.testing.assert_array_equal(found, [-1.0, 1.0, 1.0, 1.0])


def test_a_program_may_have_no_results() -> None:
    assert machine_code(lambda _x: (), np.ones(2)).quick(np.ones(2)) == []


def test_results_are_nobody_elses_memory_after_machine_code_has_given_up(jit: Any) -> None:
    f, x = jit(lambda x, k: (x, x[k], x.reshape(2, 2))), np.arange(4.0)
    for _ in range(10):
        with pytest.raises(IndexError):
            f(x, np.array(7))
        y, _, z = f(x, np.array(2))
        assert not np.may_share_memory(x, y)
        assert not np.may_share_memory(x, z)
        assert not np.may_share_memory(y, z)


def test_small_arrays_do_not_fill_the_stack() -> None:
    def f(x: Any) -> Any:
        for _ in range(40):
            x = np.sin(x) + x[::-1]
        return x

    text = machine_code(f, np.ones(256)).source.text
    sizes = {"double": 8, "float": 4, "i64": 8, "i8": 1, "i1": 1}
    arrays = re.findall(r"alloca \[(\d+) x (\w+)\]", text)
    assert sum(int(count) * sizes[kind] for count, kind in arrays) <= 1 << 16


def nested(x: Any, *lengths: int) -> Any:
    """Return a number after loops in loops."""
    if not lengths:
        return np.sin(x) * 1.1
    return fd.scan(lambda x, _: (nested(x, *lengths[1:]), None), x, length=lengths[0])[0]


def sorted_often(x: Any) -> Any:
    """Return the result of a loop, of hours, that NumPy computes something in."""
    return fd.scan(lambda x, _: (np.sin(np.sort(x) * 1.3), None), x, length=10**10)[0]


@pytest.mark.slow
def test_chains_of_operations_may_be_long() -> None:
    def f(x: Any) -> Any:
        for k in range(360):
            x = (np.sin, np.cos, np.abs)[k * k % 7 % 3](x) + 0.01 * k
        return x

    x = np.arange(3.0)
    np.testing.assert_allclose(machine_code(f, x)(x)[0], f(x), rtol=1e-12)


@pytest.mark.slow
def test_what_llvm_would_work_on_for_long_is_left_to_numpy() -> None:
    def f(x: Any, n: int) -> Any:
        for k in range(n):
            x = x @ x * 0.01 + k
        return x

    x = np.eye(11)
    machine_code(lambda x: f(x, 50), x)
    program = fd.trace(lambda x: f(x, 300))(x)
    assert routine(lower(program), lambda: executable(program), always=True) is None
    assert "loop_" not in kernels.Kernel(program, None, native=True).source.text
    assert "loop_" in kernels.Kernel(fd.trace(lambda x: f(x, 9))(x), None, native=True).source.text


def test_rows_of_any_dtype_are_kept_or_left_to_numpy(jit: Any) -> None:
    def turned(x: Any) -> Any:
        def step(state: Any) -> Any:
            return state[0] + 1, 0.3 * np.abs(np.exp(1j * state[1]) * state[1])

        return np.sum(fd.while_loop(lambda s: s[0] < 3, step, (0, x))[1])

    x = np.arange(1.0, 4.0)
    np.testing.assert_allclose(jit(fd.grad(turned))(x), fd.grad(turned)(x))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a clock that interrupts is POSIX's")
@pytest.mark.parametrize(
    ("f", "x"), [(lambda x: nested(x, 10**9, 4000, 4000), 0.5), (sorted_often, np.arange(5.0))]
)
def test_loops_of_short_loops_and_of_steps_can_be_interrupted(f: Any, x: Any) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    run, before = machine_code(f, x).quick, signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            run(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_go_on_while_a_loop_runs(jit: Any) -> None:
    f = jit(
        lambda x, n: fd.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 0.9), (0, x))
    )
    starts = threading.Event()

    def other() -> None:
        starts.wait()
        _thread.interrupt_main()

    f(1.0, 10)
    thread = threading.Thread(target=other)
    thread.start()

    def run() -> None:
        starts.set()
        f(1.0, 10**13)  # which takes hours if the thread has to wait

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which nohup has taken away
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
