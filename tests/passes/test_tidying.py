"""Scales are put together and paddings undone before a program is compiled."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.passes.tidying import join, tidy


def tidied(text: str, *xs: Any) -> Program:
    """Return a tidied program, which gives the same."""
    program = fd.parse(text)
    after = tidy(program)
    for x, y in zip(fd.evaluate(program, xs), fd.evaluate(after, xs), strict=True):
        np.testing.assert_array_equal(x, y)
    return after


@pytest.mark.parametrize(
    ("outer", "inner", "together"),
    [("200.0", "2.0", True), ("4.0", "0.3", True), ("0.1", "0.3", False), ("3.0", "0.5", False)],
)
def test_scales_are_put_together_if_that_is_exact(outer: str, inner: str, together: bool) -> None:
    text = f"""program(%0: f64[3]) {{
      %1: f64[3] = mul %0, {inner}:f64[3]
      %2: f64[3] = mul {outer}:f64[3], %1
      return %2
    }}"""
    assert len(tidied(text, np.array([0.1, -3.7, 1e-5])).equations) == (1 if together else 2)


def test_signs_go_into_scales() -> None:
    text = """program(%0: f64[3]) {
      %1: f64[3] = neg %0
      %2: f64[3] = mul 3.0:f64[3], %1
      return %2
    }"""
    assert len(tidied(text, np.array([0.1, -3.7, 1e-5])).equations) == 1


def test_integers_keep_their_scales() -> None:
    text = """program(%0: i64[2]) {
      %1: i64[2] = mul %0, 2:i64[2]
      %2: i64[2] = mul 3:i64[2], %1
      return %2
    }"""
    assert len(tidied(text, np.array([2**62, 5])).equations) == 2


def test_what_was_padded_is_taken_out_again() -> None:
    box = "starts=(1,), stops=(3,), steps=(1,)"
    text = """program(%0: f64[2]) {
      %1: f64[4] = add_slice{BOX} 0.0:f64[4], %0
      %2: f64[2] = slice{BOX} %1
      %3: f64[2] = slice{starts=(0,), stops=(2,), steps=(1,)} %1
      %4: f64[4] = add_slice{BOX} 1.0:f64[4], %0
      %5: f64[2] = slice{BOX} %4
      return %2, %3, %5
    }""".replace("BOX", box)
    program = tidied(text, np.array([5.0, -2.0]))
    assert program.outputs[0] == program.inputs[0]
    assert len(program.equations) == 4


def test_sums_with_negatives_are_differences() -> None:
    text = """program(%0: f64[3], %1: f64[3]) {
      %2: f64[3] = neg %1
      %3: f64[3] = add %0, %2
      %4: f64[3] = sub %1, %2
      return %3, %4
    }"""
    program = tidied(text, np.array([0.1, -3.7, 1e-5]), np.array([1.0, 2.0, 0.0]))
    assert [eq.primitive.name for eq in program.equations] == ["sub", "add"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_pieces_that_make_up_an_array_are_joined(order: tuple[int, ...]) -> None:
    boxes = (0, 1), (1, 39), (39, 40)
    lines, total = [], "0.0:f64[40]"
    for number, k in enumerate(order, start=3):
        box = f"{{starts=({boxes[k][0]},), stops=({boxes[k][1]},), steps=(1,)}}"
        lines.append(f"%{number}: f64[40] = add_slice{box} {total}, %{k}")
        total = f"%{number}"
    body = "\n".join(lines)
    program = fd.parse(
        f"program(%0: f64[1], %1: f64[38], %2: f64[1]) {{\n{body}\nreturn {total}\n}}"
    )
    pieces = [np.full(stop - start, 1.0 + start) for start, stop in boxes]
    joined = join(program)
    assert [eq.primitive.name for eq in joined.equations] == ["concatenate"]
    assert np.array_equal(fd.evaluate(joined, pieces)[0], np.concatenate(pieces))


def test_selections_within_selections_have_one_mask() -> None:
    text = """program(%0: bool[4], %1: bool[4], %2: f64[4], %3: f64[4]) {
      %4: f64[4] = select %1, %2, 0.0:f64[4]
      %5: f64[4] = select %0, %4, 0.0:f64[4]
      %6: f64[4] = select %1, 0.0:f64[4], %2
      %7: f64[4] = select %0, 0.0:f64[4], %6
      %8: f64[4] = select %0, %4, 1.0:f64[4]
      %9: f64[4] = select %1, %3, 0.0:f64[4]
      %10: f64[4] = select %0, %9, 0.0:f64[4]
      %11: f64[4] = add %5, %10
      %12: f64[4] = select %1, -1.0:f64[4], 0.0:f64[4]
      %13: f64[4] = select %0, %12, 0.0:f64[4]
      return %5, %7, %8, %11, %13
    }"""
    masks = np.array([False, False, True, True]), np.array([False, True, False, True])
    program = tidied(text, *masks, np.array([np.nan, np.inf, -0.0, 2.0]), np.arange(4.0))
    selections = [eq for eq in program.equations if eq.primitive.name == "select"]
    assert len(selections) == 6  # one for each result, and the one whose number is another


def test_what_only_derivatives_need_is_gone() -> None:
    text = """program(%0: bool[2], %1: f64[2]) {
      %2: f64[2] = stop_gradient %1
      %3: f64[2] = select %0, %2, %1
      %4: i64[2] = convert{dtype=i64} %0
      %5: bool[2] = not_equal %4, 0:i64[2]
      %6: bool[2] = bitwise_and %5, True:bool[2]
      return %3, %6
    }"""
    program = tidied(text, np.array([True, False]), np.array([1.0, np.nan]))
    assert program.outputs == (program.inputs[1], program.inputs[0])
