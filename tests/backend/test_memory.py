"""Where compiled programs write: never onto what is read again, nor into what was given away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.kernels import Kernel
from funcdiff.core.implementation import choose_into
from funcdiff.ops.user.bridged import call_bridged

LENGTHS = [2, 40, 400]


def _repeatedly(f: Any, *args: Any) -> Any:
    """Return what the third call returns."""
    f(*args)
    f(*args)
    return f(*args)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_piece_is_added_to_what_stands_there(n: int) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) + np.sum(np.sin(x[1:]))

    x = np.linspace(0.0, 1.0, n)
    expected = 1 + np.cos(x) * (np.arange(n) > 0)
    np.testing.assert_allclose(_repeatedly(fd.jit(fd.grad(f)), x), expected, rtol=1e-14)


@pytest.mark.parametrize("n", LENGTHS)
def test_a_result_that_is_returned_twice_is_two_arrays(n: int) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return y, y

    first, second = _repeatedly(fd.jit(f), np.ones(n))
    assert not np.shares_memory(first, second)
    first += 1
    np.testing.assert_array_equal(second, np.sin(np.ones(n)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_a_carry_is_read_after_the_next_one_was_written(n: int, reverse: bool) -> None:
    def body(carry: Any, x: Any) -> Any:
        a, b = carry
        return (a * x + 0.5, np.tanh(b + a)), b[::-1] - a

    def looped(f: Any, a: Any, b: Any, xs: Any) -> Any:
        rows: list[Any] = [None] * len(xs)
        for k in range(len(xs))[:: -1 if reverse else 1]:
            (a, b), rows[k] = f((a, b), xs[k])
        return (a, b), np.array(rows)

    def scanned(a: Any, b: Any, xs: Any) -> Any:
        return fd.scan(body, (a, b), xs, reverse=reverse)

    rng = np.random.default_rng(0)
    a, b, xs = rng.normal(size=n), rng.normal(size=n), rng.normal(size=5)
    (found, rows), (expected, wanted) = (
        _repeatedly(fd.jit(scanned, engine="numpy"), a, b, xs),
        looped(body, a, b, xs),
    )
    for ours, numpys in zip((*found, rows), (*expected, wanted), strict=True):
        np.testing.assert_allclose(ours, numpys, rtol=1e-13)


def test_code_of_the_users_that_takes_nothing_traced_runs_in_every_call() -> None:
    calls: list[float] = []

    def measured(x: Any) -> Any:
        calls.append(float(x[0]))
        return x * len(calls)

    device: Any = fd.primitive(measured, result=lambda x: x)
    fixed = np.ones(3)

    def f(x: Any) -> Any:
        return x + device(np.cos(np.zeros_like(x))) + fixed

    jitted = fd.jit(f)
    results = [jitted(np.zeros(3))[0] for _ in range(4)]
    assert np.all(np.diff(results) == 1)


class _Keeper:
    """An operation of another library, which looks at arrays where they are, and keeps them."""

    linear = 0
    name: Any = None

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def types(self, types: Any) -> Any:
        return types

    def run(self, *xs: Any) -> list[Any]:
        self.kept += xs
        return [2 * x for x in xs]

    pushforward = transpose = batch = types


def test_what_code_of_another_library_may_keep_is_not_written_over() -> None:
    keeper: Any = _Keeper()
    starts = [0.0, 1.0, 2.0]
    x = np.linspace(0.0, 1.0, 5000)

    def f(x: Any) -> Any:
        y: Any = np.tanh(x)
        z: Any = call_bridged(keeper, "keeper", [y])[0]
        return np.sin(z)

    kernel = Kernel(fd.trace(f)(x), None)
    for start in starts:
        kernel(x + start)
    for y, start in zip(keeper.kept, starts, strict=True):
        np.testing.assert_array_equal(y, np.tanh(x + start))


@pytest.mark.parametrize("n", [1, 5, 300])
def test_carries_of_a_loop_that_take_each_others_place_are_read_before_they_are_lost(
    n: int,
) -> None:
    def three(x: Any, y: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            a, b, c = carry
            return (b, c, np.sin(a) + 0.5 * b * c), np.sum(a)

        return fd.scan(step, (x, y, x * y), None, length=7)

    x, y = np.random.default_rng(0).normal(size=(2, n))
    a, b, c = x, y, x * y
    sums = []
    for _ in range(7):
        sums.append(np.sum(a))
        a, b, c = b, c, np.sin(a) + 0.5 * b * c
    carries, found = _repeatedly(fd.jit(three), x, y)
    for got, wanted in zip(carries, (a, b, c), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)
    np.testing.assert_allclose(found, sums, rtol=1e-13)


@pytest.mark.parametrize("out", [(0, 1, 3), (0, 3, 1)])
def test_stacks_of_products_are_written_to_kept_memory(out: tuple[int, int, int]) -> None:
    shape = ",".join(str({0: 4, 1: 3, 3: 5}[label]) for label in out)
    program = fd.parse(f"""program(%0: f64[4,3,2], %1: f64[4,2,5]) {{
      %2: f64[{shape}] = contract{{left=(0, 1, 2), right=(0, 2, 3), out={out}}} %0, %1
      %3: f64[{shape}] = exp %2
      return %3
    }}""")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 2, 5))
    found = Kernel(program, None)
    assert "@" not in found.source.text
    for _ in range(2):
        np.testing.assert_allclose(found(x, y)[0], fd.evaluate(program, [x, y])[0], rtol=1e-14)


def test_rows_of_a_stack_are_multiplied_as_one_matrix_in_kept_memory() -> None:
    program = fd.parse("""program(%0: f64[4,3,2], %1: f64[2,5]) {
      %2: f64[4,3,5] = contract{left=(0, 1, 2), right=(2, 3), out=(0, 1, 3)} %0, %1
      %3: f64[4,3,5] = exp %2
      return %3
    }""")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 3, 2)), rng.normal(size=(2, 5))
    found = Kernel(program, None)
    assert "@" not in found.source.text
    for layout in (x, x.transpose(2, 1, 0).copy().T):
        np.testing.assert_allclose(found(layout, y)[0], np.exp(layout @ y), rtol=1e-14)


def test_pieces_are_put_together_in_kept_memory() -> None:
    program = fd.parse("""program(%0: f64[5,2]) {
      %1: f64[5,2] = sin %0
      %2: f64[5,4] = concatenate{axis=1} %0, %1
      %3: f64[4,5] = permute{axes=(1, 0)} %2
      %4: f64[20] = reshape{shape=(20,)} %3
      %5: f64[20] = add_slice{starts=(1,), stops=(20,), steps=(2,)} 0.0:f64[20], 3.0:f64[10]
      %6: f64[20] = add_slice{starts=(0,), stops=(10,), steps=(1,)} %5, 1.0:f64[10]
      %7: f64[20] = mul %4, %6
      return %7, %4
    }""")
    found = Kernel(program, None)
    assert "zeros(" not in found.source.text
    x = np.random.default_rng(0).normal(size=(5, 2))
    before = [found(x), found(2.0 * x)]
    for scale, results in zip((1.0, 2.0), before, strict=True):
        for y, z in zip(results, fd.evaluate(program, [scale * x]), strict=True):
            np.testing.assert_array_equal(y, z)
    assert not any(np.shares_memory(y, z) for y, z in zip(*before, strict=True))


def test_memory_that_is_added_to_in_place_is_not_given_away() -> None:
    program = fd.parse("""program(%0: f64[4]) {
      %1: f64[12] = add_slice{starts=(0,), stops=(12,), steps=(3,)} 0.0:f64[12], %0
      %2: f64[12] = add_slice{starts=(2,), stops=(6,), steps=(1,)} %1, %0
      %3: f64[12] = add_slice{starts=(1,), stops=(12,), steps=(3,)} 0.0:f64[12], %0
      %4: f64[12] = concatenate{axis=0} %0, %0, %0
      %5: f64[12] = sin %3
      %6: f64[12] = add %4, %5
      %7: f64[12] = mul %2, %6
      return %7
    }""")
    x, found = np.arange(1.0, 5.0), Kernel(program, None)
    for _ in range(3):
        np.testing.assert_allclose(found(x)[0], fd.evaluate(program, [x])[0], rtol=1e-14)


# ---- selections that are written to memory -------------------------------------------------------

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "in order": lambda x: x,
    "turned": lambda x: np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0),
    "backwards": lambda x: x[::-1, :, ::-1],
    "every other": lambda x: np.repeat(x, 2, axis=2)[..., ::2],
    "one row": lambda x: np.broadcast_to(x[:1], x.shape),
    "one column": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "one number": lambda x: np.broadcast_to(x[0, 0, 0], x.shape),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "i8", "?", "c16"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 3), (3, 4, 5), (0, 2, 3)])
def test_a_selection_has_the_bits_of_where_however_its_operands_lie(dtype: str, shape: Any) -> None:
    random = np.random.default_rng(0)
    values = np.array([0.0, -0.0, np.nan, np.inf, 1.5, -2.0])[4 * (dtype in ("i4", "i8", "?")) :]
    x, y = (random.choice(values, shape).astype(dtype) for _ in range(2))
    for places in product(LAYOUTS.values(), repeat=3) if x.size else ():
        mask, a, b = (f(z) for f, z in zip(places, (random.random(shape) < 0.5, x, y), strict=True))
        made = choose_into(mask, a, b, np.empty(shape, dtype))
        assert made.tobytes() == np.ascontiguousarray(np.where(mask, a, b)).astype(dtype).tobytes()


def test_a_compiled_selection_of_repeated_rows_is_that_of_the_interpreter() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 40, 1, 60))
    for z in (x, np.broadcast_to(x, (40, 30, 60)), np.zeros((30, 1))):
        f = partial(lambda z, x, y: np.where(x * y > 0.1, z + y, y - x) * 2.0, z)
        g = fd.jit(f)
        for _ in range(3):
            np.testing.assert_array_equal(g(x, y), f(x, y))
