"""The four transforms on small programs: golden texts, and what holds of all of them."""

from textwrap import dedent

import numpy as np
import pytest

from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.control.loops import scan
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.elementwise.mathematics import exp, sin
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.space import Axes, add, mul, neg, reduce_sum
from funcdiff.transforms.jvp import jvp
from funcdiff.transforms.linearize import linearize
from funcdiff.transforms.transpose import transpose
from funcdiff.transforms.vmap import vmap
from tests.core.programs import recorded, temporary


def reads(program: Program, text: str) -> bool:
    """Compare a program with a text from a test's indentation; the program has to be right."""
    check(program)
    assert parse(str(program)) == program
    assert str(program) == dedent(text).strip("\n")
    return True


# ---- jvp -------------------------------------------------------------------------------------


def test_jvp_puts_tangents_beside_values() -> None:
    program, mask = jvp(recorded(lambda x, y: [mul(sin(x), y)], "f64[]", "f64[]"), (True, False))
    assert mask == (True,)
    assert reads(
        program,
        """
        program(%0: f64[], %1: f64[], %2: f64[]) {
          %3: f64[] = sin %0
          %4: f64[] = cos %0
          %5: f64[] = mul %2, %4
          %6: f64[] = mul %5, %1
          %7: f64[] = mul %3, %1
          return %7, %6
        }
        """,
    )


def test_an_output_without_tangent_is_left_out_unless_wanted() -> None:
    source = recorded(lambda x, y: [sin(x), y, stop_gradient(x)], "f64[]", "f64[]")
    program, mask = jvp(source, (True, False))
    assert mask == (True, False, False)
    assert len(program.outputs) == 4
    program, mask = jvp(source, (True, False), (False, True, True))
    assert mask == (True, True, True)
    assert list(map(str, program.outputs[-2:])) == ["0.0:f64[]", "0.0:f64[]"]


def test_a_program_without_active_inputs_is_copied() -> None:
    source = recorded(lambda x: [sin(x)], "f64[3]")
    assert jvp(source, (False,)) == (source, (False,))


def test_a_primitive_without_a_rule_is_named() -> None:
    with temporary(Primitive("rigid", Params, lambda _p, x: (x,), lambda _p: np.positive)) as p:
        program = recorded(lambda x: bind(p, NONE, x), "f64[]")
        with pytest.raises(NotDifferentiableError, match="rigid"):
            jvp(program, (True,))
        with pytest.raises(NotDifferentiableError, match="rigid"):
            linearize(program, (True,))
        with pytest.raises(NotDifferentiableError, match="rigid"):
            transpose(program, (True,))


def test_a_primitive_without_a_batch_rule_takes_the_axis_in_front() -> None:
    with temporary(Primitive("plain", Axes, lambda _p, x: (x,), lambda _p: np.positive)) as p:
        program = recorded(lambda x: bind(p, Axes((0, 2)), x), "f64[3,1,2]")
        batched, mask = vmap(program, 4, (True,))
        assert mask == (True,)
        assert batched.equations[0].params == Axes((1, 3))
        assert batched.output_types[0].shape == (4, 3, 1, 2)


# ---- linearize -------------------------------------------------------------------------------


def test_linearize_splits_values_from_the_linear_map() -> None:
    split = linearize(recorded(lambda x: [mul(sin(x), exp(x))], "f64[]"), (True,))
    assert (split.mask, split.residuals) == ((True,), 3)
    assert reads(
        split.primal,
        """
        program(%0: f64[]) {
          %1: f64[] = sin %0
          %2: f64[] = cos %0
          %3: f64[] = exp %0
          %4: f64[] = mul %1, %3
          return %4, %2, %3, %1
        }
        """,
    )
    assert reads(
        split.linear,
        """
        program(%0: f64[], %1: f64[], %2: f64[], %3: f64[]) {
          %4: f64[] = mul %0, %1
          %5: f64[] = mul %0, %2
          %6: f64[] = mul %4, %2
          %7: f64[] = mul %3, %5
          %8: f64[] = add %6, %7
          return %8
        }
        """,
    )


def test_residuals_that_only_dead_code_needs_are_pruned() -> None:
    def f(x: Tracer) -> list[Tracer]:
        y = mul(sin(x), exp(x))  # an unused product, whose tangent needs three residuals
        return [add(x, x), y]

    program = recorded(f, "f64[3]")
    whole = linearize(program, (True,))
    assert whole.residuals == 3
    only_sum = Program(program.inputs, program.equations, program.outputs[:1])
    split = linearize(only_sum, (True,))
    assert split.residuals == 0
    assert len(split.primal.outputs) == 1
    assert len(split.linear.inputs) == 1


def test_an_unused_input_leaves_no_residual() -> None:
    split = linearize(recorded(lambda x, y: [mul(x, y)], "f64[]", "f64[]"), (True, False))
    assert split.residuals == 1
    assert split.primal.output_types == tuple(split.primal.input_types)


# ---- transpose -------------------------------------------------------------------------------


def test_transposing_turns_the_equations_around() -> None:
    source = recorded(lambda t, y: [reduce_sum(neg(mul(t, y)), (0,))], "f64[3]", "f64[3]")
    assert reads(
        transpose(source, (True, False)),
        """
        program(%0: f64[3], %1: f64[]) {
          %2: f64[3] = broadcast{shape=(3,), axes=()} %1
          %3: f64[3] = neg %2
          %4: f64[3] = mul %3, %0
          return %4
        }
        """,
    )


def test_cotangents_of_a_value_used_twice_are_added() -> None:
    source = recorded(lambda t: [neg(t), t, t], "f64[]")
    assert reads(
        transpose(source, (True,)),
        """
        program(%0: f64[], %1: f64[], %2: f64[]) {
          %3: f64[] = add %1, %2
          %4: f64[] = neg %0
          %5: f64[] = add %3, %4
          return %5
        }
        """,
    )


def test_an_absent_cotangent_and_an_unused_input_give_zeros() -> None:
    source = recorded(lambda t, s: [neg(t), s], "f64[3]", "f64[]")
    assert reads(
        transpose(source, (True, True), (True, False)),
        """
        program(%0: f64[3]) {
          %1: f64[3] = neg %0
          return %1, 0.0:f64[]
        }
        """,
    )


def test_a_program_that_is_not_linear_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match="sin has no transpose: it is not linear"):
        transpose(recorded(lambda x: [sin(x)], "f64[]"), (True,))


# ---- vmap ------------------------------------------------------------------------------------


def test_vmap_puts_the_batch_axis_in_front() -> None:
    source = recorded(
        lambda x, y: [reduce_sum(mul(x, y), (0,)), sin(y), constant(1, x.type)], "f64[3]", "f64[3]"
    )
    program, mask = vmap(source, 5, (True, False))
    assert mask == (True, False, False)
    assert reads(
        program,
        """
        program(%0: f64[5,3], %1: f64[3]) {
          %2: f64[5,3] = broadcast{shape=(5, 3), axes=(1,)} %1
          %3: f64[5,3] = mul %0, %2
          %4: f64[5] = reduce_sum{axes=(1,)} %3
          %5: f64[3] = sin %1
          return %4, %5, 1.0:f64[3]
        }
        """,
    )


def test_a_wanted_batch_axis_is_made_by_repetition() -> None:
    source = recorded(lambda x, y: [neg(x), y], "f64[]", "f64[]")
    program, mask = vmap(source, 2, (True, False), (True, True))
    assert mask == (True, True)
    assert reads(
        program,
        """
        program(%0: f64[2], %1: f64[]) {
          %2: f64[2] = neg %0
          %3: f64[2] = broadcast{shape=(2,), axes=()} %1
          return %2, %3
        }
        """,
    )


# ---- together --------------------------------------------------------------------------------


def test_transforms_are_memoised_by_value() -> None:
    one, other = (recorded(lambda x: [sin(x)], "f64[]") for _ in range(2))
    assert one is not other
    assert jvp(one, (True,))[0] is jvp(other, (True,))[0]
    assert linearize(one, (True,)) is linearize(other, (True,))
    assert vmap(one, 2, (True,))[0] is vmap(other, 2, (True,))[0]


# ---- loops -----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_transposed_around_what_it_carries_of_known_values(
    length: int, *, reverse: bool
) -> None:
    step = recorded(
        lambda n, c, x: [exp(n), add(mul(c, sin(n)), x), mul(c, n)], "f64[]", "f64[]", "f64[]"
    )
    loop = Scan(step, 0, 2, length, reverse)
    program = recorded(lambda *xs: scan(loop, xs), "f64[]", "f64[]", f"f64[{length}]")
    pulled = transpose(program, (False, True, True), (False, True, True))
    ct_c, ct_y = np.float64(1.5), np.cos(np.arange(length))

    def product(c: float, x: object) -> float:
        _, last, ys = evaluate(program, [np.float64(0.1), np.float64(c), x])
        return float(last * ct_c + ys @ ct_y)

    ct_start, ct_x = evaluate(pulled, [np.float64(0.1), ct_c, ct_y])
    np.testing.assert_allclose(ct_start, product(1.0, np.zeros(length)))
    np.testing.assert_allclose(ct_x, [product(0.0, row) for row in np.eye(length)])
