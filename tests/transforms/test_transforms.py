"""The four transforms on small programs: golden texts, and what holds of all of them."""

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from funcdiff.core.builder import bind, constant
from funcdiff.core.check import check
from funcdiff.core.evaluate import evaluate
from funcdiff.core.parse import parse
from funcdiff.core.primitive import NONE, Params, Primitive
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.mathematics import cos, exp, sin
from funcdiff.ops.products.contract import contract
from funcdiff.ops.structure.slicing import Slice, add_slice, take_slice
from funcdiff.ops.structure.structural import concatenate, permute, reverse, stop_gradient
from funcdiff.space import Axes, add, broadcast, mul, neg, reduce_sum
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


def test_values_and_derivative_agree_with_jvp() -> None:
    source = recorded(lambda x, y: [mul(sin(x), y), cos(mul(y, y))], "f64[3]", "f64[3]")
    x, y, t, s = np.random.default_rng(0).normal(size=(4, 3))
    split = linearize(source, (True, True))
    values = evaluate(split.primal, [x, y])
    tangents = evaluate(split.linear, [t, s, *values[2:]])
    expected = evaluate(jvp(source, (True, True))[0], [x, y, t, s])
    for found, wanted in zip([*values[:2], *tangents], expected, strict=True):
        assert np.array_equal(found, wanted)


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


LINEAR: dict[str, Any] = {
    "permute": (lambda t: [permute(t, (2, 0, 1))], "f64[2,3,4]"),
    "broadcast": (lambda t: [broadcast(t, (2, 5, 3), (0, 2))], "f64[2,3]"),
    "slice": (lambda t: [take_slice(t, Slice((1, 0), (4, 3), (2, 1)))], "f64[5,3]"),
    "add_slice": (lambda t, u: [add_slice(t, u, Slice((1,), (5,), (2,)))], "f64[5]", "f64[2]"),
    "concatenate": (lambda t, u: [concatenate([t, u, t], 1)], "f64[2,1]", "f64[2,3]"),
    "several outputs": (lambda t, u: [add(t, u), reverse(t, (0,)), neg(u)], "f64[3]", "f64[3]"),
    "constant matrix": (
        lambda t: [contract(t, broadcast(constant(2, t.type), (3, 4), (0,)), (0,), (0, 1), (1,))],
        "f64[3]",
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_the_transpose_is_the_adjoint_and_its_own_inverse(name: str) -> None:
    f, *types = LINEAR[name]
    program = recorded(f, *types)
    turned = transpose(program, (True,) * len(types))
    check(turned)
    back = transpose(turned, (True,) * len(turned.inputs))
    check(back)
    rng = np.random.default_rng(1)
    ts = [rng.normal(size=t.shape) for t in program.input_types]
    cts = [rng.normal(size=t.shape) for t in program.output_types]
    ys, xs = evaluate(program, ts), evaluate(turned, cts)
    left = sum(np.vdot(ct, y) for ct, y in zip(cts, ys, strict=True))
    right = sum(np.vdot(t, x) for t, x in zip(ts, xs, strict=True))
    assert left == pytest.approx(right, rel=1e-13)
    for y, again in zip(ys, evaluate(back, ts), strict=True):
        assert np.allclose(y, again, rtol=1e-14, atol=0)


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


@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
def test_vmap_is_a_loop(batched: tuple[bool, ...]) -> None:
    source = recorded(
        lambda x, y: [contract(x, sin(y), (0, 1), (1,), (0,)), permute(x, (1, 0))],
        "f64[2,3]",
        "f64[3]",
    )
    program, mask = vmap(source, 4, batched)
    rng = np.random.default_rng(2)
    arrays = [
        rng.normal(size=(4, *t.shape) if flag else t.shape)
        for t, flag in zip(source.input_types, batched, strict=True)
    ]
    found = evaluate(program, arrays)
    for k in range(4):
        one = [x[k] if flag else x for x, flag in zip(arrays, batched, strict=True)]
        for y, z, flag in zip(found, evaluate(source, one), mask, strict=True):
            assert np.allclose(y[k] if flag else y, z, rtol=1e-14, atol=0)


# ---- together --------------------------------------------------------------------------------


def test_transforms_are_memoised_by_value() -> None:
    one, other = (recorded(lambda x: [sin(x)], "f64[]") for _ in range(2))
    assert one is not other
    assert jvp(one, (True,))[0] is jvp(other, (True,))[0]
    assert linearize(one, (True,)) is linearize(other, (True,))
    assert vmap(one, 2, (True,))[0] is vmap(other, 2, (True,))[0]


def test_batching_commutes_with_forward_mode() -> None:
    source = recorded(lambda x: [mul(sin(x), x)], "f64[]")
    x, t = np.random.default_rng(3).normal(size=(2, 4))
    first = vmap(jvp(source, (True,))[0], 4, (True, True))[0]
    second = jvp(vmap(source, 4, (True,))[0], (True,))[0]
    for y, z in zip(evaluate(first, [x, t]), evaluate(second, [x, t]), strict=True):
        assert np.array_equal(y, z)
