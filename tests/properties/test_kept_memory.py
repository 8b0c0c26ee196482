"""Kernels that keep memory compute what equations do alone, and change no earlier result.

Every program runs eight times with other numbers; all results and operands are held on to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from threading import Thread
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.backend.blocks.schedule import Limits
from funcdiff.backend.kernels import Kernel
from funcdiff.core.running.walk import inline
from tests.properties import kept_memory
from tests.properties.laws import SLOW, examples

CALLS: Final = 8
THOROUGH: Final = settings(max_examples=600)
WRITTEN_IN_PLACE: Final = """program(%0: f64[8], %1: f64[8]) {
  %2: f64[4] = slice{starts=(0,), stops=(4,), steps=(1,)} %0
  %3: f64[8] = add_slice{starts=(1,), stops=(8,), steps=(2,)} 0.0:f64[8], %2
  %4: f64[8] = add_slice{starts=(0,), stops=(4,), steps=(1,)} %3, %2
  %5: f64[8] = add_slice{starts=(1,), stops=(8,), steps=(2,)} 0.0:f64[8], %2
  %6: f64[8] = add_slice{starts=(0,), stops=(4,), steps=(1,)} %5, %2
  %7: f64[8] = concatenate{axis=0} %2, %2
  %8: f64[8] = add %6, %7
  return %4, %8
}"""
"""What was put into zeros and added to lost its memory, once to the next array and once to the
next call."""

Sized = tuple[str, int]
Function = Callable[..., Any]


@st.composite
def programs(draw: st.DrawFn, most: int) -> Sized:
    """Draw the text of a program, and the size of its arrays."""
    shape = draw(st.sampled_from(kept_memory.SHAPES))
    seed, steps = draw(st.integers(0, 2**32 - 1)), draw(st.integers(most // 4, most))
    return kept_memory.program(shape, seed, steps), int(np.prod(shape))


def _leaves(tree: Any) -> list[Any]:
    return [z for y in tree for z in _leaves(y)] if isinstance(tree, list | tuple) else [tree]


class _Held:
    """Arrays that nobody may change, and what they were."""

    def __init__(self) -> None:
        self._arrays: list[tuple[Any, Any]] = []

    def add(self, arrays: list[Any]) -> None:
        self._arrays += [(y, np.array(y)) for y in arrays]

    def require_unchanged(self) -> None:
        for y, before in self._arrays:
            np.testing.assert_array_equal(y, before)


def _interpreted(program: fd.Program, arrays: list[Any]) -> list[Any]:
    """Return what a program computes where every equation has operands of its own."""
    values: dict[Any, Any] = dict(zip(program.inputs, arrays, strict=True))
    for eq in program.equations:
        operands = [np.array(values.get(a, getattr(a, "array", None))) for a in eq.operands]
        values[eq.results[0]] = eq.operation.function(*operands)
    return [values[atom] for atom in program.outputs]


def _require_same(found: Any, expected: Any) -> None:
    for y, z in zip(_leaves(found), _leaves(expected), strict=True):
        assert np.shape(y) == np.shape(z)
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(z), initial=0)))


@contextmanager
def _calls(shape: tuple[int, ...]) -> Iterator[Iterator[tuple[_Held, list[Any]]]]:
    """Give operands for each call, and what holds arrays: they are the same at the end."""
    random, held = np.random.default_rng(0), _Held()
    with np.errstate(all="ignore"):
        yield ((held, list(random.uniform(-1, 1, (2, *shape)))) for _ in range(CALLS))
    held.require_unchanged()


def _require_the_same(kernel: Function, program: Any, size: int) -> None:
    with _calls((size,)) as calls:
        for held, xs in calls:
            found = kernel(*xs)
            held.add([*found, *xs])
            _require_same(found, _interpreted(program, xs))


def _require_every_kernel(sized: Sized, *, native: bool = False) -> None:
    program = fd.parse(sized[0])
    limits = Limits() if native else None
    _require_the_same(Kernel(program, limits, native=native), program, sized[1])


def _require_transforms(sized: Sized) -> None:
    """Require of a compiled function, of gradients and rows what those that are not compiled do.

    Its results share no memory: not with each other, nor with those of other calls.
    """
    program, size = fd.parse(sized[0]), sized[1]

    def f(x: Any, y: Any) -> Any:
        results: list[Any] = inline(program, [x + 0.0, y + 0.0])
        return {"all": results, "first": (results[0], results[0][1:])}

    def loss(x: Any, y: Any) -> Any:
        results: list[Any] = inline(program, [x + 0.0, y + 0.0])
        return fnp.sum(fnp.tanh(fnp.stack(results)))

    slope, rows, jitted = fd.grad(loss, (0, 1)), fd.vmap(f), fd.jit(f)
    jitted_slope, jitted_rows = fd.jit(slope), fd.jit(rows)
    earlier: list[Any] = []
    with _calls((2, size)) as calls:
        for held, (xs, ys) in calls:
            x, y = xs[0], ys[0]
            found = jitted(x, y)
            arrays = [*found["all"], *found["first"]]
            expected = _interpreted(program, [x, y])
            _require_same(arrays, [*expected, expected[0], expected[0][1:]])
            earlier.append(arrays[: len(expected)])
            slopes, stacked = jitted_slope(x, y), jitted_rows(xs, ys)
            _require_same(slopes, slope(x, y))
            for k in range(2):
                _require_same([z[k] for z in stacked["all"]], _interpreted(program, [xs[k], ys[k]]))
            held.add([*arrays, *slopes, *stacked["all"], *stacked["first"], xs, ys])
    whole = [z for arrays in earlier for z in arrays]
    assert not any(
        np.may_share_memory(y, z) for k, y in enumerate(whole) for z in whole[:k] if y.size
    )


@pytest.mark.slow
@settings(max_examples=settings().max_examples * 3)
@given(programs(16))
@example((WRITTEN_IN_PLACE, 8))
def test_no_memory_that_is_kept_is_somebody_elses(sized: Sized) -> None:
    _require_every_kernel(sized)


@examples(2, 70)
@given(programs(12 if SLOW else 6))
def test_compiled_transforms_change_no_earlier_result(sized: Sized) -> None:
    _require_transforms(sized)


@pytest.mark.slow
@THOROUGH
@given(programs(24))
def test_no_memory_of_a_long_program_is_somebody_elses(sized: Sized) -> None:
    _require_every_kernel(sized)
    if sized[1] > 100:
        _require_every_kernel(sized, native=True)


def test_a_padding_of_negative_zeros_stays_one() -> None:
    program = fd.parse("""program(%0: f64[2]) {
      %1: f64[4] = add_slice{starts=(1,), stops=(3,), steps=(1,)} -0.0:f64[4], %0
      %2: f64[4] = neg %1
      return %1, %2
    }""")
    kernel = Kernel(program, None)
    for _ in range(3):
        for y, z in zip(kernel(np.ones(2)), fd.evaluate(program, [np.ones(2)]), strict=True):
            np.testing.assert_array_equal(np.signbit(y), np.signbit(z))


# ---- calls within calls --------------------------------------------------------------------------


def _pieces(x: Any) -> Any:
    y = fnp.concatenate([x[:3], fnp.sin(x[3:])])
    z = fnp.pad(y[1:-1], 1)
    stack = y.reshape(2, 2, 2) @ z.reshape(2, 2, 2)
    return stack.reshape(8)[::-1] * fnp.sin(z) + fnp.concatenate([z[4:], y[:4]])


class _Device:
    """Code of the user's that keeps what it sees, calls the function that calls it, and fails."""

    def __init__(self) -> None:
        self.held = _Held()
        self.again, self.fails = 0, False
        self.jitted: Function = lambda x: x
        self.call: Any = fd.primitive(self._measure, result=lambda x: x)

    def _measure(self, x: Any) -> Any:
        self.held.add([x])
        if self.fails:
            raise RuntimeError("no connection")
        if self.again:
            self.again -= 1
            self.jitted(0.5 * x)
        return x


@pytest.mark.parametrize("loops", [False, True])
def test_a_call_within_a_call_and_one_that_failed_leave_memory_alone(loops: bool) -> None:
    device = _Device()

    def step(carry: Any, x: Any) -> Any:
        before = fnp.concatenate([carry[4:], carry[:4]])
        return fnp.sin(before) + device.call(_pieces(carry)), fnp.tanh(before) * x

    def f(x: Any) -> Any:
        if loops:
            return fd.scan(step, x, fnp.stack([x, x]))
        y, before = _pieces(x), fnp.concatenate([x[4:], x[:4]])
        z = device.call(y)
        w = fnp.sin(z)
        return w, fnp.concatenate([w[4:], x[:4]]) * _pieces(w), fnp.sin(before), _pieces(before)

    device.jitted = fd.jit(f)
    with _calls((8,)) as calls:
        for k, (held, (x, _)) in enumerate(calls):
            device.fails = k == 4
            if device.fails:
                with pytest.raises(RuntimeError, match="no connection"):
                    device.jitted(x)
                continue
            device.again = k % 3
            found = device.jitted(x)
            _require_same(found, f(x))
            held.add([*found, x])
    device.held.require_unchanged()


@pytest.mark.parametrize("pull", [fd.vjp, fd.linearize])
def test_what_a_derivative_keeps_outlives_later_calls(pull: Any) -> None:
    jitted, t = fd.jit(_pieces), np.ones(8)
    kept = []
    with _calls((8,)) as calls:
        for held, (x, _) in calls:
            y, linear = pull(jitted, x)
            held.add([y, linear(t)])
            kept.append((linear, pull(_pieces, x)[1](t)))
    for linear, expected in kept:
        _require_same(linear(t), expected)


def test_threads_that_run_one_function_have_memory_of_their_own() -> None:
    slope = fd.jit(fd.grad(lambda x: fnp.sum(_pieces(x))))
    xs = np.random.default_rng(0).normal(size=(4, 8))
    expected = [slope(x) for x in xs]
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        found[k] = [(place % 4, slope(xs[place % 4])) for place in range(k, k + 60)]

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, y in chain(*found):
        np.testing.assert_array_equal(y, expected[place])
