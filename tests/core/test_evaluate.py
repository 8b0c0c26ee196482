"""The interpreter: right values, short-lived slots, in-place chains that harm nobody."""

import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.core.policy import CLOSED
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.evaluate import Executable, evaluate, executable
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, InternalError
from funcdiff.ops.axes.indexing import scatter_add
from funcdiff.ops.elementwise.mathematics import cos, sin
from funcdiff.ops.structure.slicing import Slice, add_slice
from funcdiff.ops.structure.structural import iota, reverse
from funcdiff.space import add, mul, neg
from funcdiff.transforms.jvp import jvp
from funcdiff.transforms.linearize import linearize
from tests.core.programs import programs, recorded, temporary, type_named
from tests.properties.calling import EAGER

FIRST = Slice((0,), (1,), (1,))
LAST = Slice((2,), (3,), (1,))


def test_outputs_come_in_order_inputs_and_literals_among_them() -> None:
    program = recorded(lambda x, y: [y, sin(x), constant(3, x.type), x, x], "f64[2]", "f64[]")
    x = np.array([0.1, 0.2])
    first, second, third, fourth, fifth = evaluate(program, [x, 5.0])
    assert first == 5.0
    assert np.array_equal(second, np.sin(x))
    assert np.array_equal(third, [3, 3])
    assert np.array_equal(fourth, x)
    assert not np.shares_memory(fourth, x)
    assert np.array_equal(fifth, x)
    assert not np.shares_memory(fifth, fourth)


def test_results_that_nothing_uses_do_not_disturb_others() -> None:
    primitive = Primitive(
        "twofold", Params, lambda _p, x: (x, x), lambda _p: lambda x: (x + 1, x + 2)
    )
    with temporary(primitive) as p:
        program = recorded(
            lambda x: [mul(bind(p, NONE, x)[1], bind(p, NONE, sin(x))[0]), x], "f64[]"
        )
        result, _ = evaluate(program, [0.5])
    assert result == 2.5 * (np.sin(0.5) + 1)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_arrays_is_refused(count: int) -> None:
    program = recorded(lambda x, y: [add(x, constant(1, x.type)), y], "f64[]", "f64[]")
    with pytest.raises(InternalError, match=f"{count} arrays .* 2 inputs"):
        executable(program)(*[1.0] * count)
    with pytest.raises(InputError, match=r"takes \(f64\[\], f64\[\]\)"):
        evaluate(program, [1.0] * count)


@pytest.mark.parametrize("wrong", [np.ones(3), np.float32(1), 1, "a"])
def test_an_array_of_another_type_is_refused(wrong: Any) -> None:
    program = recorded(lambda x: [neg(x)], "f64[]")
    with pytest.raises(InputError, match=r"takes \(f64\[\]\), but .* was given"):
        evaluate(program, [wrong])


def nested_value(program: Program, inputs: list[Any]) -> list[Any]:
    """Evaluate without slots: every variable keeps its value."""
    env = list(inputs)
    for eq in program.equations:
        xs = [env[a.number] if hasattr(a, "number") else a.array for a in eq.operands]
        y = eq.operation.function(*xs)
        env.extend(y if len(eq.results) > 1 else [y])
    return [env[a.number] if hasattr(a, "number") else a.array for a in program.outputs]


@given(programs(), st.integers(0, 100))
def test_reusing_slots_does_not_change_values(program: Program, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [np.asarray(rng.integers(-3, 4, t.shape)).astype(t.dtype) for t in program.input_types]
    before = [x.copy() for x in inputs]
    with np.errstate(all="ignore"):
        expected = nested_value(program, inputs)
        found = [evaluate(program, inputs) for _ in range(EAGER)][-1]
    for y, z, t in zip(found, expected, program.output_types, strict=True):
        assert np.asarray(y).tobytes() == np.asarray(z).tobytes()
        assert (np.shape(y), np.asarray(y).dtype) == (t.shape, t.dtype)
    assert all(x.tobytes() == y.tobytes() for x, y in zip(inputs, before, strict=True))


def test_values_are_freed_when_they_are_dead(collect: Callable[[], int]) -> None:
    made: list[Any] = []
    alive: list[int] = []

    def spy(x: Any) -> Any:
        results = x + 1, x + 2
        made.extend(map(weakref.ref, results))
        alive.append(sum(link() is not None for link in made))
        return results

    def chain(x: Tracer) -> list[Tracer]:
        for _ in range(50):
            x, _dead = bind(p, NONE, x)
        return [x]

    with temporary(Primitive("spy", Params, lambda _p, x: (x, x), lambda _p: spy)) as p:
        evaluate(recorded(chain, "f64[3]"), [np.zeros(3)])
    collect()
    assert len(alive) == 50
    assert max(alive) <= 5


# ---- chains in place -------------------------------------------------------------------------


def test_a_chain_of_updates_uses_one_buffer() -> None:
    def chain(x: Tracer, u: Tracer) -> list[Tracer]:
        for _ in range(10):
            x = add_slice(x, u, FIRST)
        return [x]

    program = recorded(chain, "f64[3]", "f64[1]")
    x, u = np.zeros(3), np.ones(1)
    (y,) = evaluate(program, [x, u])
    assert np.array_equal(y, [10, 0, 0])
    assert np.array_equal(x, [0, 0, 0])
    assert not np.shares_memory(x, y)


def _branching(x: Tracer, u: Tracer) -> list[Tracer]:
    first = add_slice(x, u, FIRST)
    return [add_slice(first, u, FIRST), add_slice(first, u, LAST)]


def _returned(x: Tracer, u: Tracer) -> list[Tracer]:
    first = add_slice(x, u, FIRST)
    return [first, add_slice(first, u, LAST)]


def _viewed(x: Tracer, u: Tracer) -> list[Tracer]:
    first = add_slice(x, u, FIRST)
    view = reverse(first, (0,))
    return [add_slice(view, u, FIRST), add_slice(first, u, FIRST)]


def _through_a_view(x: Tracer, u: Tracer) -> list[Tracer]:
    return [add_slice(reverse(x, (0,)), u, FIRST), x]


def _with_itself(x: Tracer, u: Tracer) -> list[Tracer]:
    first = add_slice(x, u, FIRST)
    return [scatter_add(first, first, [iota((3,), 0)], (0,))]


@pytest.mark.parametrize("f", [_branching, _returned, _viewed, _through_a_view, _with_itself])
def test_a_value_that_is_used_elsewhere_is_not_overwritten(
    f: Callable[[Tracer, Tracer], list[Tracer]],
) -> None:
    program = recorded(f, "f64[3]", "f64[1]")
    x, u = np.array([1.0, 2.0, 3.0]), np.array([10.0])
    found = evaluate(program, [x, u])
    for y, z in zip(found, nested_value(program, [x, u]), strict=True):
        assert np.array_equal(y, z)
    assert np.array_equal(x, [1, 2, 3])
    assert np.array_equal(u, [10])


# ---- long programs ---------------------------------------------------------------------------


def chain_of(length: int) -> Program:
    """Return a program of so many equations, each with its own use of what came before."""
    with Builder("chain", CLOSED) as builder:
        x = builder.input(type_named("f64[]"))
        y = x
        for k in range(length // 2):
            y = add(sin(y), x) if k % 2 else neg(cos(y))
        return builder.program([y])


def calls(f: Callable[[], object]) -> int:
    """Return how many calls, Python's and C's, a function makes."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        f()
    finally:
        sys.setprofile(before)
    return count


def _run(program: Program) -> None:
    Executable(program)(0.5)


def _round_trip(program: Program) -> None:
    parse(str(program))


@pytest.mark.slow
@pytest.mark.parametrize("work", [
    _run,
    check,
    _round_trip,
    lambda program: jvp.__wrapped__(program, (True,)),
    lambda program: linearize.__wrapped__(program, (True,)),
], ids=["run", "check", "round trip", "jvp", "linearize"])  # fmt: skip
def test_four_times_the_equations_are_four_times_the_work(
    work: Callable[[Program], object],
) -> None:
    short, long = (chain_of(length) for length in (400, 1600))
    work(short)
    assert calls(lambda: work(long)) < 4.4 * calls(lambda: work(short))


def test_building_a_program_is_linear_in_its_equations() -> None:
    chain_of(400)
    assert calls(lambda: chain_of(1600)) < 4.4 * calls(lambda: chain_of(400))
