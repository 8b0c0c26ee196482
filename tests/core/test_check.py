"""The verifier accepts what is recorded and marks the line of what is broken."""

from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from funcdiff.core.atoms import Literal, Var
from funcdiff.core.primitive import NONE, Operation, Params, Primitive, primitives
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import bind
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.errors import VerificationError
from funcdiff.ops.elementwise.mathematics import sin
from funcdiff.space import Axes, mul, mul_p, neg_p, reduce_sum_p
from tests.core.programs import Call, call, calling, programs, recorded, temporary, type_named

F64, F64_3 = type_named("f64[]"), type_named("f64[3]")
SIN = primitives["sin"]


def program(*equations: Equation, outputs: tuple[Any, ...] = ()) -> Program:
    return Program((Var(0, F64_3),), equations, outputs)


def equation(
    primitive: Primitive[Any], params: Params, operands: tuple[Any, ...], results: tuple[Var, ...]
) -> Equation:
    """Return an equation, also one that no type rule accepts."""
    op = Operation.__new__(Operation)
    op.primitive, op.params, op.operands = primitive, params, tuple(x.type for x in operands)
    return Equation(op, operands, results)


def fault(broken: Program) -> str:
    with pytest.raises(VerificationError) as caught:
        check(broken)
    return str(caught.value)


def marked_line(message: str) -> str:
    (line,) = [line for line in message.splitlines() if line.startswith("--> ")]
    return line.removeprefix("--> ").strip()


@given(programs())
def test_recorded_programs_are_right(random: Program) -> None:
    check(random)
    with calling() as p:
        check(recorded(lambda *xs: call(p, random, *xs), *map(repr, random.input_types)))


def test_the_broken_line_is_marked_with_an_arrow() -> None:
    x, y = Var(0, F64_3), Var(1, F64_3)
    message = fault(program(equation(SIN, NONE, (y,), (Var(1, F64_3),)), outputs=(x,)))
    assert message == dedent("""\
        %1 is used before it is defined
            program(%0: f64[3]) {
        -->   %1: f64[3] = sin %1
              return %0
            }""")


X = Var(0, F64_3)


@pytest.mark.parametrize(
    ("broken", "line", "what"),
    [
        (
            Program((Var(1, F64),), (), ()),
            "program(%1: f64[]) {",
            "%1 is defined where %0 should be",
        ),
        (
            program(equation(SIN, NONE, (X,), (Var(2, F64_3),))),
            "%2: f64[3] = sin %0",
            "%2 is defined where %1 should be",
        ),
        (
            program(equation(SIN, NONE, (Var(0, F64),), (Var(1, F64),))),
            "%1: f64[] = sin %0",
            "%0 is used as f64[], but it is a f64[3]",
        ),
        (
            program(equation(SIN, NONE, (X,), (Var(1, F64),))),
            "%1: f64[] = sin %0",
            "sin gives results of types (f64[3],)",
        ),
        (
            program(equation(SIN, NONE, (X, X), (Var(1, F64_3),))),
            "%1: f64[3] = sin %0, %0",
            "sin does not accept operands of types (f64[3], f64[3])",
        ),
        (
            program(equation(SIN, NONE, (X,), (Var(1, F64_3),))._replace(operands=(Var(0, F64),))),
            "%1: f64[3] = sin %0",
            "%0 is used as f64[], but it is a f64[3]",
        ),
        (
            program(equation(SIN, NONE, (Var(0, F64),), (Var(1, F64_3),))._replace(operands=(X,))),
            "%1: f64[3] = sin %0",
            "sin is the operation on operands of types (f64[],)",
        ),
        (program(outputs=(Var(3, F64),)), "return %3", "%3 is used before it is defined"),
        (program(outputs=(Var(-1, F64),)), "return %-1", "%-1 is used before it is defined"),
        (program(outputs=("x",)), "return 'x'", "'x' is neither a variable nor a literal"),
        (
            program(outputs=(Literal(2.0, F64),)),
            "return 2.0:f64[]",
            "holds a float, where a NumPy scalar of dtype float64 should be",
        ),
        (
            program(outputs=(Literal(np.float32(2), F64),)),
            "return 2.0:f64[]",
            "holds a float32, where a NumPy scalar of dtype float64",
        ),
        (
            program(equation(neg_p, Axes((0,)), (X,), (Var(1, F64_3),))),
            "%1: f64[3] = neg{axes=(0,)} %0",
            "neg has parameters of class Params, not Axes",
        ),
        (
            program(equation(reduce_sum_p, Axes((1,)), (X,), (Var(1, F64),))),
            "%1: f64[] = reduce_sum{axes=(1,)} %0",
            "cannot reduce f64[3] over axes (1,)",
        ),
        (
            program(equation(reduce_sum_p, Axes([0]), (X,), (Var(1, F64),))),  # type: ignore[arg-type]
            "%1: f64[] = reduce_sum{axes=[0]} %0",
            "the parameter axes of reduce_sum is the list [0]",
        ),
        (
            program(equation(reduce_sum_p, Axes((np.int64(0),)), (X,), (Var(1, F64),))),  # type: ignore[arg-type]
            "%1: f64[] = reduce_sum{axes=(np.int64(0),)} %0",
            "the parameter axes of reduce_sum is the tuple (np.int64(0),)",
        ),
    ],
)
def test_a_broken_invariant_is_named(broken: Program, line: str, what: str) -> None:
    message = fault(broken)
    assert what in message
    assert marked_line(message) == line


@pytest.mark.parametrize("note", [np.zeros(2), float("nan"), {}, len, (1, [2]), np.dtype("O")])
def test_parameters_that_cannot_be_printed_and_parsed_are_refused(note: Any) -> None:
    with calling() as p:
        inner = recorded(lambda x: [x], "f64[3]")
        broken = equation(p, Call(inner, note), (X,), (Var(1, F64_3),))
        with pytest.raises(VerificationError, match="the parameter note of call is the"):
            check(program(broken))


def test_a_fault_in_a_nested_program_is_marked_there() -> None:
    with calling() as p:
        good = recorded(lambda x: [sin(x)], "f64[3]")
        bad = Program(
            good.inputs, (*good.equations, equation(SIN, NONE, (X,), (Var(2, F64),))), good.outputs
        )
        body = recorded(lambda x: call(p, good, x), "f64[3]")
        (eq,) = body.equations
        twice = equation(p, Call(good, ("first", good, bad)), (X,), (Var(2, F64_3),))
        message = fault(Program(body.inputs, (eq, twice), (X,)))
        assert marked_line(message) == "%2: f64[] = sin %0"
        assert message.count("sin %0") == 5


def test_a_primitive_outside_the_table_is_refused() -> None:
    with temporary(Primitive("lonely", Params, lambda _p, x: (x,), lambda _p: np.positive)) as p:
        orphan = recorded(lambda x: bind(p, NONE, x), "f64[]")
        check(orphan)
    assert "lonely is not in the primitive table" in fault(orphan)


def test_a_rule_that_breaks_on_wrong_parameters_is_reported_not_raised() -> None:
    class Fragile(Params):
        number: int

    def abstract(p: Fragile, *types: Any) -> Any:
        return (types[p.number],)

    with temporary(Primitive("fragile", Fragile, abstract, lambda _p: np.positive)) as p:
        broken = program(equation(p, Fragile(7), (X,), (Var(1, F64_3),)))
        assert "fragile does not accept" in fault(broken)


def test_of_a_long_program_only_the_surroundings_are_shown() -> None:
    def chain(x: Any) -> list[Any]:
        for _ in range(500):
            x = mul(x, x)
        return [x]

    right = recorded(chain, "f64[]")
    eqs = list(right.equations)
    eqs[250] = equation(mul_p, NONE, (Var(999, F64), Var(0, F64)), eqs[250].results)
    message = fault(Program(right.inputs, tuple(eqs), right.outputs))
    assert marked_line(message) == "%251: f64[] = mul %999, %0"
    assert "... 231 lines ..." in message
    assert message.count("\n") < 50


def test_check_and_parse_agree_on_a_program_with_every_kind_of_atom() -> None:
    source = "program(%0: f64[]) {\n  %1: f64[] = add %0, nan:f64[]\n  return %1, True:bool[2]\n}"
    check(parse(source))
