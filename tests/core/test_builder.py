"""Recording: captures, hoisting, sharing, lifting, escape and threads."""

from typing import Any

import numpy as np
import pytest

from funcdiff.core.policy import CLOSED, Policy
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, EscapedTracerError, InternalError
from funcdiff.ops.elementwise.mathematics import cos, sin
from funcdiff.space import add, mul
from tests.core.programs import recorded, type_named

F64, F64_3 = type_named("f64[]"), type_named("f64[3]")


# ---- recording -------------------------------------------------------------------------------


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


def test_a_capture_keeps_the_value_that_a_changed_handle_had() -> None:
    with Builder("outer") as outer:
        x = outer.input(F64)
        y = sin(x)
        sine = y.atom
        with Builder("inner") as inner:
            mul(inner.input(F64), y)
            y.atom = x.atom
            assert inner.captures[0].atom == sine


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


# ---- nesting and escape ------------------------------------------------------------------------


def test_a_closed_trace_takes_nothing_from_outside() -> None:
    with Builder("outer") as outer:
        x = outer.input(F64)
        with Builder("rule", CLOSED), pytest.raises(EscapedTracerError):
            sin(x)


# ---- concrete values ---------------------------------------------------------------------------


def test_without_values_a_question_is_answered_with_the_cures() -> None:
    with Builder("body") as builder:
        y: Any = builder.input(F64)
        with pytest.raises(ConcreteValueError, match=r"body was asked .*np.where.*fd.cond"):
            bool(y > 0)
