"""Memoisation: results by value, the most recently used ones, bounded by their equations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import numpy as np
import pytest

from funcdiff.core import primitive as records
from funcdiff.core.primitive import NONE, Operation, operation
from funcdiff.core.program import Program
from funcdiff.core.running import memo
from funcdiff.core.running.memo import Memoised, caches, memoised
from funcdiff.core.text.parse import parse
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.mathematics import sin
from tests.core.programs import recorded, type_named


def chain(length: int) -> Program:
    """Return a program of some equations."""

    def f(x: Tracer) -> list[Tracer]:
        for _ in range(length):
            x = sin(x)
        return [x]

    return recorded(f, "f64[]")


class Counted:
    """A memoised function that knows for which lengths it was computed."""

    def __init__(self) -> None:
        self.computed: list[int] = []
        self.function: Memoised[Any, int] = memoised(self._compute)

    def __call__(self, program: Program, *args: Any, **kwargs: Any) -> int:
        return self.function(program, *args, **kwargs)

    def _compute(self, program: Program, *_args: Any, **_kwargs: Any) -> int:
        self.computed.append(len(program.equations))
        return len(program.equations)


def discard(function: Memoised[Any, Any]) -> None:
    """Take a function of a test out of the caches."""
    function.cache_clear()
    caches.remove(function)


@pytest.fixture(name="counted")
def _counted() -> Any:
    counted = Counted()
    yield counted
    discard(counted.function)


def bound(monkeypatch: pytest.MonkeyPatch, equations: int) -> None:
    """Bound the caches together, empty to begin with."""
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(memo, "_EQUATIONS_KEPT", equations)


# ---- results by value ----------------------------------------------------------------------------


def test_a_result_is_computed_once(counted: Counted) -> None:
    program = chain(3)
    assert [counted(program), counted(program)] == [3, 3]
    assert counted.computed == [3]


def test_an_equal_program_made_anew_finds_the_result(counted: Counted) -> None:
    program = chain(3)
    counted(program)
    counted(parse(str(program)))
    counted(chain(3))
    assert counted.computed == [3]


def test_literals_of_other_bits_are_other_programs(counted: Counted) -> None:
    for zero in ("0.0", "-0.0", "nan", "nan"):
        counted(parse(f"program() {{\n  return {zero}:f64[]\n}}"))
    assert counted.computed == [0, 0, 0]


def test_further_arguments_and_keywords_tell_results_apart(counted: Counted) -> None:
    program = chain(2)
    for flag in (True, False):
        for _ in range(2):
            counted(program, (flag,))
            counted(program, flag=flag)
    assert counted.computed == [2, 2, 2, 2]


# ---- the bound -----------------------------------------------------------------------------------


def test_the_oldest_results_go_when_there_are_too_many_equations(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, 20)
    for length in (5, 6, 7):  # weights 6 + 7 + 8 = 21
        counted(chain(length))
    assert counted.function.weight == 15
    counted.computed.clear()
    for length in (6, 7, 5):
        counted(chain(length))
    assert counted.computed == [5]


def test_a_result_that_was_used_again_is_not_the_oldest(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, 20)
    for length in (5, 6, 5, 7):
        counted(chain(length))
    counted.computed.clear()
    counted(chain(5))
    counted(chain(7))
    assert counted.computed == []
    counted(chain(6))
    assert counted.computed == [6]


def test_one_result_is_kept_however_long_its_program_is(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, 20)
    for length in (3, 100, 100):
        counted(chain(length))
    assert counted.computed == [3, 100]
    assert counted.function.weight == 101
    counted(chain(3))
    assert counted.function.weight == 4


def test_functions_share_the_bound_and_the_oldest_of_all_goes(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: Memoised[Any, int] = memoised(lambda program: len(program.equations))
    try:
        bound(monkeypatch, 20)
        counted(chain(5))
        other(chain(6))
        other(chain(1))
        counted(chain(3))
        assert (counted.function.weight, other.weight) == (6 + 4, 7 + 2)
        other(chain(6))
        other(chain(2))  # 22: the oldest result, of 5 equations, goes
        assert (counted.function.weight, other.weight) == (4, 7 + 2 + 3)
    finally:
        discard(other)


# ---- clearing and threads ------------------------------------------------------------------------


def test_threads_that_compute_the_same_at_once_weigh_it_once() -> None:
    together = threading.Barrier(4, timeout=600)

    def computed(program: Program) -> int:
        together.wait()  # all four are in here: none has found a result
        return len(program.equations)

    function = memoised(computed)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(function, [chain(3) for _ in range(4)])) == [3] * 4
        assert function.weight == 4
    finally:
        discard(function)


def test_memory_that_is_not_pythons_has_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    class Large:
        kept_weight = 10

    made: list[ref[Large]] = []

    def make(_: Program) -> Large:
        made.append(ref(large := Large()))
        return large

    function = memoised(make)
    bound(monkeypatch, 30)
    try:
        for length in range(1, 9):
            function(chain(length))
            assert function.weight <= 30
        assert sum(large() is not None for large in made) == len(function) > 0
        assert function.weight > 10 * len(function)
    finally:
        discard(function)


def test_threads_that_evict_each_others_results_keep_the_weight_right(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, 30)
    lengths = np.random.default_rng(0).integers(1, 12, (4, 200)).tolist()
    ready = {length: chain(length) for length in range(1, 12)}

    def work(row: list[int]) -> list[int]:
        return [counted(ready[length]) for length in row]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, lengths)) == lengths
    assert 0 < counted.function.weight <= 30
    kept = memo._store.results
    assert counted.function.weight == sum(
        entry.weight for key, entry in kept.items() if key[0] is counted.function
    )
    assert len(kept) == sum(map(len, caches))


# ---- operations are kept in a table --------------------------------------------------------------


@pytest.fixture(name="few", autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(records, "_EQUATIONS_KEPT", 4)
    records._operations.clear()
    yield
    records._operations.clear()


def sine(n: int) -> Operation:
    """Return the sine of vectors of a length."""
    return operation(sin.primitive, NONE, (ArrayType((n,), type_named("f64[]").dtype),))


def test_an_operation_is_found_again() -> None:
    assert sine(1) is sine(1)
    assert sine(1) is not sine(2)


def test_operations_in_use_stay_when_others_are_forgotten() -> None:
    used, forgotten = sine(1000), ref(sine(1001))  # of lengths that no other test has
    for n in range(1002, 1040):
        sine(n)
        assert sine(1000) is used
    assert forgotten() is None


def test_the_table_is_bounded() -> None:
    in_use = len(records._operations.alive)  # by what other tests have left
    for n in range(1000, 1100):
        sine(n)
        assert len(records._operations.recent) <= 5
        assert len(records._operations.alive) <= in_use + 5
