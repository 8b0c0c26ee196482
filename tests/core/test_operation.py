"""Operations are interned: found again as long as they are in use, forgotten when too many."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import ref

import pytest

from funcdiff.core import primitive as records
from funcdiff.core.parse import parse
from funcdiff.core.primitive import NONE, Operation, operation
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.mathematics import sin
from tests.core.programs import type_named


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


def test_what_is_kept_is_found_again_however_many_there_are() -> None:
    kept = [sine(n) for n in range(100)]
    assert [sine(n) for n in range(100)] == kept


def test_an_operation_weighs_the_equations_of_its_programs() -> None:
    text = (
        "program(%0: f64[]) {\n  %1: f64[] = checkpoint{body=program(%0: f64[]) {\n"
        "      %1: f64[] = sin %0\n      %2: f64[] = sin %1\n      return %2\n    }} %0\n"
        "  return %1\n}"
    )
    program = parse(text)
    assert program.equation_count == 3
    assert program.equations[0].operation.equation_count == 3
    assert sine(1).equation_count == 1
