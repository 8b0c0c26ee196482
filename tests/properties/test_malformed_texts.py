"""Whatever is read as a program is one, or is answered with a `ParseError` that says where."""

from __future__ import annotations

import builtins
import pickle
import re
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.core.primitive import primitives
from funcdiff.core.program import Program
from funcdiff.core.text.check import check
from funcdiff.core.text.parse import parse
from funcdiff.errors import InputError, ParseError
from tests.properties.laws import examples
from tests.rules.test_rules import samples

LONGEST = 3000

PIECES = (
    "9" * 4301, f"%{'9' * 5000}", "'\\x'", "'\\xZZ'", "'\\N{DASH}'", "'\\777'", "'\\U00110000'",
    "'", '"', "'a", "'a\\'", "\\", "\x00", "\ud800", "\u2028", "\r", "\n", " ", ",", ":", "=", "{",
    "}", "(", ")", "[", "]", "(" * 900, "program(" * 300, "[" * 900, "nan", "inf", "-inf",
    "nan<00>",
    "-1", "-9", "0", "1", "2", "7", "0.0", "-0.0", "1.5", "1e999", "1e-999", "True", "False",
    "None", "f64", "f64[]", "f64[99999999999999999999]", f"f64[{'1,' * 99}]", "f64[3]", "c128[2,2]",
    "flong",
    f"f64[{10**18},{10**18},0]", "i8[2]", "bool[3]", "%0", "%1", "%2", "sin", "scan", "'stable'",
    "complex(1.0, nan)", "complex(", "１", "é", "FIRE()", "__import__('os')", "axes=(True,)",
    "axes=(0.0,)", "{axes=(0,)}", "return", "program() {\n  return\n}", "a" * 5000, "\t",
)  # fmt: skip


@cache
def texts() -> list[str]:
    """Return the programs of samples, one for each primitive, that are not long."""
    found = []
    for name in sorted(samples()):
        sample = samples()[name][0]
        text = str(fd.trace(sample.f)(*sample.args))
        if len(text) <= LONGEST:
            found.append(text)
    return found


WORDS: dict[str, tuple[str, ...]] = {
    r"%\d+": ("%0", "%1", "%7", f"%{'9' * 5000}", "0.0:f64[]", "1:i8[2]", "True:f64[]"),
    r"\d+": ("9" * 4301, "0", "1", "3", "-1", "0.0", "1.0", "True", "nan", "1e999", str(10**18)),
    r"'[^']*'": ("'\\x'", "'\\N{DASH}'", "'\\U00110000'", "'a", "'", "''", "3", "'stable'"),
    r"[([{]": ("(" * 900, "[1,", "{", "[" * 900, "(0.0,", f"[{10**18},{10**18},"),
    r"(True|False|None)": ("0", "1", "True", "False", "None", "nan"),
    r"[a-z_]\w*": ("sin", "f64", "program(" * 300, "a" * 5000, "None", "é", "FIRE()"),
}
"""What is put in the place of a word of a text, by the kind of the word."""


@st.composite
def changed_texts(draw: st.DrawFn) -> str:
    """Draw the text of a program with words replaced, and parts left out or put elsewhere."""
    text = draw(st.sampled_from(texts()))
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from([*WORDS, ""]))
        spans = [match.span() for match in re.finditer(kind, text)] if kind else []
        if spans:
            start, stop = draw(st.sampled_from(spans))
            pieces = WORDS[kind]
        else:
            start = draw(st.integers(0, len(text)))
            stop = start + draw(st.integers(0, 8))
            other = draw(st.sampled_from(texts()))
            place = draw(st.integers(0, len(other)))
            pieces = (*PIECES, other[place : place + draw(st.integers(0, 30))], "")
        text = text[:start] + draw(st.sampled_from(pieces)) + text[stop:]
    return text


def _refuse() -> None:
    raise AssertionError("text was run")


def answer(text: str) -> Program | ParseError:
    """Return what a text is read as, or the error; nothing of it may be run."""
    builtins.FIRE = _refuse  # type: ignore[attr-defined]
    try:
        return parse(text)
    except ParseError as error:
        return error
    finally:
        del builtins.FIRE  # type: ignore[attr-defined]


def require_answer(text: str) -> None:
    """Require a program that is right, or an error with a place in the text."""
    found = answer(text)
    if isinstance(found, Program):
        check(found)
        for t in found.input_types:
            np.broadcast_to(np.zeros((), t.dtype), t.shape)  # raises if no array has this shape
        assert parse(str(found)) == found
        return
    lines = text.split("\n")
    assert 1 <= found.line <= len(lines)
    assert 1 <= found.column <= len(lines[found.line - 1]) + 1
    assert str(found).startswith(f"line {found.line}: ")
    assert len(str(found)) < 2000
    assert all(c.isprintable() or c == "\n" for c in str(found))


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORDS)
def test_every_kind_of_word_is_replaced_by_every_other(kind: str) -> None:
    for k, piece in enumerate(WORDS[kind]):
        for text in texts()[k % 8 :: 8]:
            spans = [match.span() for match in re.finditer(kind, text)]
            for start, stop in {*spans[:1], *spans[len(spans) // 2 :][:1], *spans[-1:]}:
                require_answer(text[:start] + piece + text[stop:])


@pytest.mark.slow
@examples(100, 3100)
@given(changed_texts())
def test_a_changed_text_is_read_or_answered(text: str) -> None:
    require_answer(text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join) | st.text())
@example("program(%0: f64[]) {\n  %1: f64[] = sin %0\n  return %1\n}")
def test_any_text_is_read_or_answered(text: str) -> None:
    require_answer(text)


ONE = "program(%0: f64[3]) {{\n  {}\n  return %1\n}}"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (f"program(%0: f64[{'9' * 4301}]) {{\n  return\n}}", 1, 17, "an integer of fewer digits"),
        (ONE.format(f"%1: f64[3] = sin %{'1' * 4301}"), 2, 20, "an integer of fewer digits"),
        (ONE.format(f"%1: f64[] = reduce_sum{{axes=({'1' * 4301},)}} %0"), 2, 32, "fewer digits"),
        (ONE.format(f"%1: f64[] = reduce_sum{{axes={'(' * 9999}"), 2, None, "nested deeper"),
        (ONE.format("%1: f64[] = custom{body=" + "program() { %0: f64[] = custom{body=" * 999), 2,
         None, "nested deeper"),
        (ONE.format("%1: f64[3] = tap{name='a\\x', leaf=0} %0"), 2, 27, "found \\x, which stands"),
        (ONE.format("%1: f64[3] = tap{name='\\U00110000', leaf=0} %0"), 2, 26, "found \\U00110"),
        (ONE.format("%1: f64[3] = tap{name='\\N{DASH}', leaf=0} %0"), 2, 26, "found \\N, which"),
        (ONE.format("%1: f64[3] = tap{name='a, leaf=0} %0"), 2, 25, "a string without an end"),
        (ONE.format("%1: f64[3] = tap{name=a\x00b', leaf=0} %0"), 2, 25, "found 'a', expected"),
        (ONE.format("%1: f64[3] = tap{name=3, leaf=0} %0"), 2, 16, "is the int 3, where str"),
        (ONE.format("%1: f64[] = reduce_sum{axes=(0.0,)} %0"), 2, 15, "where tuple[int, ...]"),
        (ONE.format("%1: f64[] = reduce_sum{axes=(False,)} %0"), 2, 15, "where tuple[int, ...]"),
        (ONE.format("%1: f64[3] = tap{name='a', leaf=nan} %0"), 2, 16, "floats (not nan)"),
        (f"program(%0: f64[{'1,' * 65}]) {{\n  return\n}}", 1, 16, "no array can have"),
        (f"program(%0: f64[0,{2**62},{2**62}]) {{\n  return\n}}", 1, 16, "no array can have"),
        ("program(%0: ｆ64[]) {\n  return\n}", 1, 13, "found 'ｆ', expected a dtype"),
        ("program(%0: f64[３]) {\n  return\n}", 1, 17, "found '３', expected the length"),
        ("\x00", 1, 1, "expected 'program'"),
        ("\ud800", 1, 1, "expected 'program'"),
    ],
    ids=range(20),
)  # fmt: skip
def test_absurd_texts_are_answered_with_their_place(
    text: str, line: int, column: int | None, message: str
) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert column in (None, caught.value.column)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.line, again.column) == (caught.value.line, caught.value.column)


@pytest.mark.parametrize("source", [b"program() {}", None, 3, ["program"]])
def test_what_is_no_text_is_refused(source: object) -> None:
    with pytest.raises(InputError, match="parse takes the text of a program, but a"):
        parse(source)  # type: ignore[arg-type]


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse(ONE.format("%1: f64[3] = add %0, %0" + ", %0" * 999 + ", ?" + ", %0" * 999))
    _, shown, marker = str(caught.value).split("\n")
    assert len(shown) < 200
    assert shown[marker.index("^")] == "?"


@pytest.mark.parametrize("quotes", ["'\\" * 20_000, "'" * 20_001, "\"'" * 10_000])
def test_texts_of_many_quotes_are_answered_at_once(quotes: str) -> None:
    require_answer(quotes)


def test_parameters_that_are_merely_equal_to_right_ones_get_nowhere() -> None:
    axes = "program(%0: f64[2,3,4,5,6,7]) {{\n  %1: f64[2,3,4,5,6] = reduce_sum{{axes=({},)}} %0\n"
    axes += "  return %1\n}}"
    with pytest.raises(ParseError):
        parse(axes.format("5.0"))
    found = fd.evaluate(parse(axes.format("5")), [np.ones((2, 3, 4, 5, 6, 7))])
    np.testing.assert_array_equal(found[0], np.full((2, 3, 4, 5, 6), 7.0))


def test_samples_of_most_primitives_are_changed() -> None:
    assert len(texts()) > 0.8 * len(samples())
    assert len(samples()) > 0.5 * len(primitives)
    assert sys.getrecursionlimit() <= 10_000
