"""Recording: captures, hoisting, sharing, lifting, escape and threads."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.atoms import literal
from funcdiff.core.builder import Builder, bind, constant, current_builder
from funcdiff.core.check import check
from funcdiff.core.evaluate import evaluate
from funcdiff.core.policy import CLOSED, Policy
from funcdiff.core.primitive import NONE
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import inline
from funcdiff.errors import ConcreteValueError, EscapedTracerError, InternalError
from funcdiff.ops.elementwise.mathematics import cos, exp, sin
from funcdiff.space import add, add_p, mul, zeros
from tests.core.programs import recorded, type_named

F64, F64_3 = type_named("f64[]"), type_named("f64[3]")


# ---- recording -------------------------------------------------------------------------------


def test_a_recording_becomes_a_program_without_dead_equations() -> None:
    with Builder("test", CLOSED) as builder:
        x, unused = builder.input(F64), builder.input(F64_3)
        cos(x)
        sin(unused)
        program = builder.program([sin(x)])
    check(program)
    assert [eq.primitive.name for eq in program.equations] == ["sin"]
    assert program.input_types == (F64, F64_3)


def test_inputs_added_late_come_before_all_results() -> None:
    with Builder("test", CLOSED) as builder:
        y = sin(builder.input(F64))
        z = builder.input(F64)
        program = builder.program([add(y, z)])
    check(program)
    assert [v.number for v in program.inputs] == [0, 1]


def test_equal_recordings_are_equal_keys() -> None:
    def recording() -> Any:
        with Builder("test") as builder:
            x = builder.input(F64)
            return builder.recording([mul(sin(x), constant(2, F64))])

    assert recording() == recording()
    assert hash(recording()) == hash(recording())


def test_a_sharing_builder_records_an_equation_once() -> None:
    def f(x: Tracer) -> list[Tracer]:
        return [mul(sin(x), sin(x)), sin(x)]

    assert len(recorded(f, "f64[]").equations) == 4
    assert len(recorded(f, "f64[]", shares=True).equations) == 2


def test_sharing_tells_literals_apart_by_bits() -> None:
    def f(x: Tracer) -> list[Tracer]:
        return [add(x, constant(value, x.type)) for value in (0.0, -0.0, np.nan, np.nan)]

    assert len(recorded(f, "f64[]", shares=True).equations) == 3


# ---- captures --------------------------------------------------------------------------------


def test_a_captured_tracer_becomes_an_input() -> None:
    with Builder("outer") as outer:
        x = outer.input(F64)
        y = sin(x)
        with Builder("inner") as inner:
            z = inner.input(F64)
            program = inner.program([mul(mul(z, y), y)])
        assert len(inner.captures) == 1
        assert inner.captures[0].builder is outer
        assert inner.captures[0].atom == y.atom
        whole = outer.program(inline(program, [x, *inner.captures]))
    check(whole)
    assert evaluate(whole, [0.5])[0] == 0.5 * np.sin(0.5) * np.sin(0.5)


def test_a_capture_keeps_the_value_that_a_changed_handle_had() -> None:
    with Builder("outer") as outer:
        x = outer.input(F64)
        y = sin(x)
        sine = y.atom
        with Builder("inner") as inner:
            mul(inner.input(F64), y)
            y.atom = x.atom
            assert inner.captures[0].atom == sine


def test_a_tracer_is_captured_through_every_level_between() -> None:
    with Builder("outermost") as first:
        x = first.input(F64)
        with Builder("middle") as second, Builder("innermost") as third:
            z = third.input(F64)
            third.program([mul(z, x)])
            (captured,) = third.captures
            assert captured.builder is first
            second.ref(captured)
            assert len(second.captures) == 1


def test_a_literal_is_captured_by_nobody() -> None:
    with Builder("outer"):
        two = constant(2, F64)
        with Builder("inner", CLOSED) as inner:
            program = inner.program([mul(inner.input(F64), two)])
    assert len(program.inputs) == 1


def test_an_array_is_captured_once() -> None:
    array = np.arange(3.0)
    with Builder("test") as builder:
        first, second = builder.capture(array), builder.capture(array)
        assert first.atom == second.atom
        assert builder.capture(array.copy()).atom != first.atom
        assert len(builder.captures) == 2


@pytest.mark.parametrize("policy", [CLOSED, Policy(hoists=True)])
def test_a_transform_that_captures_an_array_is_a_bug(policy: Policy) -> None:
    with Builder("rule", policy) as builder, pytest.raises(InternalError, match="bug in"):
        builder.capture(np.zeros(3))


# ---- lifting ---------------------------------------------------------------------------------


def test_a_lifted_number_becomes_an_input_with_its_value() -> None:
    with Builder("test", Policy(lifts=True)) as builder:
        lifted = builder.lift(literal(0.3, F64_3))
    assert lifted.type is F64_3
    (value,) = builder.captures
    assert np.array_equal(value, [0.3, 0.3, 0.3])


def test_functions_that_differ_in_a_lifted_number_have_equal_recordings() -> None:
    def recording(step: float) -> Any:
        with Builder("test", Policy(lifts=True)) as builder:
            x: Any = builder.input(F64_3)
            return builder.recording([x * step])

    assert recording(0.3) == recording(0.29)
    assert recording(0.3) != recording(2.0)


# ---- hoisting --------------------------------------------------------------------------------


def test_an_equation_without_inner_values_is_hoisted_and_its_result_captured() -> None:
    with Builder("outer", CLOSED) as outer:
        x = outer.input(F64)
        with Builder("inner", Policy(hoists=True)) as inner:
            t = inner.input(F64)
            program = inner.program([mul(t, cos(sin(x)))])
        residuals = outer.program(inner.captures)
    assert [eq.primitive.name for eq in program.equations] == ["mul"]
    assert [eq.primitive.name for eq in residuals.equations] == ["sin", "cos"]


def test_an_equation_of_literals_alone_is_hoisted() -> None:
    with Builder("outer", CLOSED) as outer, Builder("inner", Policy(hoists=True)) as inner:
        (y,) = bind(add_p, NONE, zeros(F64), zeros(F64))
        assert y.builder is outer
        assert not inner.entries


# ---- nesting and escape ------------------------------------------------------------------------


def test_builders_nest_and_the_innermost_records() -> None:
    assert current_builder() is None
    with Builder("outer") as outer:
        x = outer.input(F64)
        with Builder("inner") as inner:
            assert inner.parent is outer
            assert sin(inner.input(F64)).builder is inner
        assert sin(x).builder is outer
    assert current_builder() is None


def test_a_closed_trace_takes_nothing_from_outside() -> None:
    with Builder("outer") as outer:
        x = outer.input(F64)
        with Builder("rule", CLOSED), pytest.raises(EscapedTracerError):
            sin(x)


# ---- concrete values ---------------------------------------------------------------------------


def test_an_eager_trace_knows_its_values() -> None:
    with Builder("test", Policy(eager=True)) as builder:
        x = builder.input(F64, np.float64(0.5))
        y = exp(sin(x))
        assert isinstance(y.atom, int)
        assert builder.value(y.atom) == np.exp(np.sin(0.5))
        assert builder.value(literal(2, F64)) == 2.0


def test_without_values_a_question_is_answered_with_the_cures() -> None:
    with Builder("body") as builder:
        y: Any = builder.input(F64)
        with pytest.raises(ConcreteValueError, match=r"body was asked .*np.where.*fd.cond"):
            bool(y > 0)


def test_an_inner_trace_asks_the_outer_one_for_values() -> None:
    def f(x: Any) -> Any:
        return fd.grad(lambda y: y * y if y > x else y)(x + 1.0)

    assert fd.grad(f)(3.0) == 2.0
