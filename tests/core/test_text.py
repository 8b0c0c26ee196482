"""The text of a program: golden examples, the way back, and what is said of wrong text."""

import math
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.core.atoms import Literal
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import constant
from funcdiff.core.text.parse import parse
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.errors import ParseError
from funcdiff.ops.elementwise.mathematics import sin
from funcdiff.ops.products.contract import contract
from funcdiff.ops.structure.structural import convert, iota
from funcdiff.space import mul, reduce_sum
from tests.core.programs import call, calling, programs, recorded, scalars, type_named
from tests.together import together


def text(program: str) -> str:
    """Return a text from a test's indentation to the margin."""
    return dedent(program).strip("\n")


# ---- golden texts ----------------------------------------------------------------------------


def test_a_program_is_written_one_equation_a_line() -> None:
    program = recorded(
        lambda x, y: [reduce_sum(sin(contract(y, x, (0, 1), (1,), (0,))), (0,))],
        "f64[3]",
        "f64[3,3]",
    )
    assert str(program) == text("""
        program(%0: f64[3], %1: f64[3,3]) {
          %2: f64[3] = contract{left=(0, 1), right=(1,), out=(0,)} %1, %0
          %3: f64[3] = sin %2
          %4: f64[] = reduce_sum{axes=(0,)} %3
          return %4
        }
    """)


def test_literals_carry_their_types() -> None:
    program = recorded(
        lambda x, z: [
            mul(x, constant(2, x.type)),
            mul(constant(1j, z.type), z),
            constant(7, x.type),
        ],
        "f32[3]",
        "c128[]",
    )
    assert str(program) == text("""
        program(%0: f32[3], %1: c128[]) {
          %2: f32[3] = mul %0, 2.0:f32[3]
          %3: c128[] = mul complex(0.0, 1.0):c128[], %1
          return %2, %3, 7.0:f32[3]
        }
    """)


def test_an_equation_without_operands_and_a_dtype_parameter_are_written_plainly() -> None:
    program = recorded(lambda: [convert(iota((3,), 0), np.dtype("f4"))])
    assert str(program) == text("""
        program() {
          %0: i64[3] = iota{shape=(3,), axis=0}
          %1: f32[3] = convert{dtype=f32} %0
          return %1
        }
    """)


def test_a_program_without_outputs_returns_nothing() -> None:
    assert str(recorded(lambda x: [], "f64[]")) == "program(%0: f64[]) {\n  return\n}"


def test_a_nested_program_is_written_inline_and_indented() -> None:
    with calling() as p:
        inner = recorded(lambda x: [sin(x), x], "f64[]")
        program = recorded(lambda x: [*call(p, inner, x, note=1), x], "f64[]")
        assert str(program) == text("""
            program(%0: f64[]) {
              %1: f64[], %2: f64[] = call{body=program(%0: f64[]) {
                  %1: f64[] = sin %0
                  return %1, %0
                }, note=1} %0
              return %1, %2, %0
            }
        """)


@pytest.mark.parametrize(
    ("value", "dtype", "written"),
    [
        (2, "f8", "2.0"),
        (-0.0, "f8", "-0.0"),
        (0.1, "f8", "0.1"),
        (0.1, "f4", "0.1"),
        (0.1, "f2", "0.1"),
        (1e16, "f8", "1.0e+16"),
        (123456789.5, "f8", "123456789.5"),
        (1e-5, "f8", "1.0e-05"),
        (5e-324, "f8", "5.0e-324"),
        (np.inf, "f8", "inf"),
        (-np.inf, "f4", "-inf"),
        (np.nan, "f8", "nan"),
        (-np.float64(np.nan), "f8", "nan<000000000000f8ff>"),
        (True, "?", "True"),
        (255, "u1", "255"),
        (-(2**63), "i8", "-9223372036854775808"),
        (complex(1, -2), "c16", "complex(1.0, -2.0)"),
        (complex(np.nan, -0.0), "c8", "complex(nan, -0.0)"),
        (1.5, "g", "1.5"),
    ],
)
def test_a_number_is_written_in_its_fewest_digits(value: Any, dtype: str, written: str) -> None:
    type_ = ArrayType((), np.dtype(dtype))
    assert str(Literal(np.asarray(value, dtype)[()], type_)) == f"{written}:{type_}"


# ---- the way back ----------------------------------------------------------------------------


@given(programs())
def test_random_programs_round_trip(program: Program) -> None:
    assert parse(str(program)) == program


@given(programs(), st.integers(0, 3))
def test_nested_random_programs_round_trip(program: Program, depth: int) -> None:
    with calling() as p:
        for _ in range(depth):
            inner = program
            program = recorded(
                lambda *xs, inner=inner: call(p, inner, *xs, note=(inner, "two")),
                *map(repr, inner.input_types),
            )
        assert parse(str(program)) == program


@pytest.mark.parametrize("dtype", list(DTYPE_NAMES), ids=list(DTYPE_NAMES.values()))
@given(data=st.data())
def test_literals_of_every_dtype_round_trip(dtype: np.dtype[Any], data: st.DataObject) -> None:
    type_ = ArrayType((2,), dtype)
    program = Program((), (), (Literal(data.draw(scalars(dtype)), type_),))
    (output,) = parse(str(program)).outputs
    assert output == program.outputs[0]


def test_longdoubles_keep_the_digits_that_a_double_does_not_have() -> None:
    for dtype, value in [
        (np.dtype("g"), np.longdouble(1) / 3),
        (np.dtype("g"), np.finfo(np.longdouble).tiny),
        (np.dtype("g"), -np.longdouble("nan")),
        (np.dtype("G"), np.clongdouble(1j) / 3),
    ]:
        program = Program((), (), (Literal(value, ArrayType((), dtype)),))
        assert parse(str(program)) == program


_STATIC = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(),
        st.sampled_from([*DTYPE_NAMES, type_named("f64[2,3]"), type_named("bool[]")]),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(_STATIC)
def test_parameters_of_every_kind_round_trip(note: Any) -> None:
    with calling() as p:
        inner = recorded(lambda x: [x], "f64[]")
        program = recorded(lambda x: call(p, inner, x, note=note), "f64[]")
        again = parse(str(program))
        assert again == program
        assert repr(again.equations[0].params) == repr(program.equations[0].params)


def test_an_equation_without_results_round_trips() -> None:
    with calling() as p:
        inner = recorded(lambda x: [], "f64[]")
        outer = recorded(lambda x: call(p, recorded(lambda y: [y], "f64[]"), x), "f64[]")
        (eq,) = recorded(lambda x: [sin(x)], "f64[]").equations
        assert parse(str(outer)) == outer
        source = f"program(%0: f64[]) {{\n  = call{{body={inner}, note=None}} %0\n  return %0\n}}"
        program = parse(source)
        assert program.equations[0].results == ()
        assert parse(str(program)) == program
        assert eq not in program.equations


def test_white_space_and_commas_at_the_end_are_free() -> None:
    source = """
    program( %0:f64[3,], %1: f64[3],
             %2: f64[]) {

        %3:f64[3]=add   %0 , %1
      return %3}
    """
    program = parse(source)
    assert len(program.equations) == 1
    assert parse("program(%0: f64[]) { return %0, 1:f64[] }").outputs[1] == Literal(
        np.float64(1), type_named("f64[]")
    )


# ---- errors ----------------------------------------------------------------------------------


def broken(line: str, where: str = "%0: f64[3], %1: i64[3]") -> str:
    return f"program({where}) {{\n  {line}\n  return\n}}"


@together
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "line 1: found the end of the text, expected 'program'"),
        ("def f(x):", "line 1: found 'def', expected 'program'"),
        (broken("%2: f64[3] = sinn %0"), "line 2: found 'sinn', expected a primitive; did you"),
        (broken("%2: f64[3] = sinn %0"), "'sin'"),
        (broken("%2: f46[3] = sin %0"), "found 'f46', expected a dtype; did you mean 'f64'"),
        (broken("%2: f64[-3] = sin %0"), "found '-3', expected the length of an axis"),
        (broken("%2: f64 = sin %0"), "found '=', expected '[' with the shape"),
        (broken("%3: f64[3] = sin %0"), "found '%3', expected %2: variables are numbered in order"),
        (broken("%2 = sin %0"), "found '=', expected ':' with the type of the variable"),
        (broken("%2: f64[3] = sin %2"), "found %2, expected a variable defined before (%0 to %1)"),
        (broken("%0: f64[] = neg %1", ""), "no variable is defined before"),
        (broken("%2: f64[3] = sin %0 %1"), "found '%1', expected ',' or the end of the line"),
        (broken("%2: f64[3] = sin"), "sin does not accept operands of types ()"),
        (broken("%2: f64[3] = add %0, %1"), "add does not accept operands of types (f64[3], i64"),
        (broken("%2: f64[4] = sin %0"), "found results of types (f64[4],), expected (f64[3],)"),
        (broken("%2: f64[3], %3: f64[] = sin %0"), "expected (f64[3],): that is what sin gives"),
        (broken("%2: f64[] = reduce_sum{axis=(0,)} %0"), "a parameter of reduce_sum; did you mean"),
        (broken("%2: f64[] = reduce_sum %0"), "the parameters {axes} of reduce_sum"),
        (broken("%2: f64[] = reduce_sum{axes=(0,), axes=(0,)} %0"), "every parameter once"),
        (broken("%2: f64[] = reduce_sum{axes=0} %0"), "reduce_sum does not accept operands"),
        (broken("%2: f64[] = reduce_sum{axes=(Treu,)} %0"), "a value; did you mean 'True'"),
        (broken("%2: f64[] = reduce_sum{axes=(0,} %0"), "found '}', expected"),
        (broken("%2: f64[] = reduce_sum{axes=(nan<00>,)} %0"), "a number without a payload"),
        (broken("%2: f64[3] = mul %0, 2.0"), "expected ':' with the type of the literal"),
        (broken("%2: f64[3] = mul %0, x:f64[3]"), "found 'x', expected a variable or a literal"),
        (broken("%2: f64[3] = mul %0, True:f64[3]"), "found 'True', expected a value of type f64"),
        (broken("%2: i64[3] = mul %1, 2.5:i64[3]"), "found 2.5, expected a number of dtype int64"),
        (broken("%2: i64[3] = mul %1, 9223372036854775808:i64[3]"), "expected a number of dtype"),
        (broken("%2: f64[3] = mul %0, nan<00>:f64[3]"), "float64 has 8 bytes, not 1"),
        (broken("%2: f64[3] = mul %0, nan<000000000000f03f>:f64[3]"), "these are the bits of 1.0"),
        (broken("%2: f64[3] = mul %0, complex(1, 2):f64[3]"), "found 'complex', expected a value"),
        (broken("%2: f64[3] = sin ?0"), "found '?', expected a variable or a literal"),
        ("program(%0: f64[]) {\n  return %0\n", "line 3: found the end of the text, expected '}'"),
        ("program(%0: f64[]) {\n}", "found '}', expected the definition of %1, or 'return'"),
        ("program() {\n  return\n} more", "found 'more', expected nothing after the closing brace"),
    ],
)
def test_wrong_text_is_answered_with_what_was_expected(source: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(source)
    assert message in str(caught.value)


def test_an_error_shows_the_line_and_the_place_in_it() -> None:
    with pytest.raises(ParseError) as caught:
        parse(broken("%2: f64[3] = mul %0, %7"))
    assert str(caught.value).splitlines()[1:] == [
        "    %2: f64[3] = mul %0, %7",
        "                         ^",
    ]


def test_an_error_in_a_nested_program_names_its_own_line() -> None:
    with calling() as p:
        program = recorded(lambda x: call(p, recorded(lambda y: [sin(y)], "f64[]"), x), "f64[]")
        wrong = str(program).replace("sin", "sine")
        with pytest.raises(ParseError, match="line 3: found 'sine'"):
            parse(wrong)


def test_parsed_infinities_in_parameters_are_floats() -> None:
    with calling() as p:
        inner = recorded(lambda x: [x], "f64[]")
        program = recorded(lambda x: call(p, inner, x, note=(-math.inf, 1e-05)), "f64[]")
        assert parse(str(program)) == program
