"""Comparisons with None, texts, and objects that have a way of their own, as NumPy has them."""

from __future__ import annotations

import datetime
import enum
import fractions
import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from tests.together import together


class Color(enum.Enum):
    """An option."""

    RED = 1


class Half:
    """Decides by values."""

    def __eq__(self, other: object) -> bool:
        return bool(other == 0.5)

    def __gt__(self, other: float) -> bool:
        return bool(other < 0.5)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "None": None,
    "a text": "auto",
    "bytes": b"auto",
    "an object": object(),
    "a function": len,
    "a class": dict,
    "a dict": {},
    "a set": {0.5},
    "an enumeration": Color.RED,
    "ellipsis": ...,
    "a date": datetime.date(2020, 1, 1),
    "a list of texts": ["a", "b"],
    "a text of NumPy's": np.str_("a"),
    "an array of texts": np.array(["a", "b"]),
    "a list with None": [0.5, None],
    "an array of objects": np.array([0.5, "b"], dtype=object),
    "a timedelta": np.timedelta64(1, "s"),
    "Half": Half(),
    "anything": ANY,
    "a fraction": fractions.Fraction(1, 2),
}
BY_VALUE = (
    "a list with None", "an array of objects", "a timedelta", "Half", "anything", "a fraction",
)  # fmt: skip
POINTS: dict[str, Any] = {
    "a number": 0.5,
    "a scalar": np.float64(0.5),
    "an array without axes": np.array(0.5),
    "a vector": np.array([0.5, 2.0]),
    "a column": np.array([[0.5], [2.0]]),
    "single precision": np.array([0.5, 2.0], np.float32),
    "a complex number": 0.5 + 0j,
}
TRACES: dict[str, Callable[[Any, Any], Any]] = {
    "vjp": lambda f, x: fd.vjp(f, x),
    "jvp": lambda f, x: fd.jvp(f, (x,), (np.ones_like(x),)),
    "jit": lambda f, x: fd.jit(f)(x),
    "vmap": lambda f, x: fd.vmap(f)(np.stack([x, x])),
}


def outcome(compare: Callable[[Any, Any], Any], x: Any, other: Any) -> Any:
    try:
        found: Any = compare(x, other)
    except ConcreteValueError:
        raise
    except Exception as error:
        return type(error)
    return type(found), getattr(found, "dtype", None), np.shape(found), np.asarray(found).tolist()


@pytest.mark.slow
@together
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_comparison_with_what_is_no_number_is_numpys(
    name: str, other: str, point: str, trace: str
) -> None:
    compare, y, x = OPERATORS[name], OTHERS[other], POINTS[point]
    if isinstance(compare, np.ufunc) and (np.ndim(x) == 0 and not isinstance(x, np.ndarray)):
        return  # of a scalar a ufunc makes an array, or not, in ways of its own
    swaps = compare in (operator.eq, operator.ne) and other != "a fraction"  # it asks math.isnan
    found = []

    def f(x: Any) -> Any:
        found.append(outcome(compare, x, y))
        found.append(outcome(compare, y, x) if swaps else None)
        return x * 1.0

    is_of_lists = isinstance(y, list) and type(x) in (float, complex)  # unequal, whatever they hold
    if trace in ("jit", "vmap") and other in BY_VALUE and not (is_of_lists and trace == "jit"):
        with suppress(ConcreteValueError):  # two equal examples may have a value
            TRACES[trace](f, x)
            raise AssertionError
        return
    TRACES[trace](f, x)
    x = np.stack([x, x])[0] if trace == "vmap" else x
    assert found == [outcome(compare, x, y), outcome(compare, y, x) if swaps else None]


def test_an_option_is_looked_for_among_others() -> None:
    def f(x: Any, scale: Any) -> Any:
        if x in (None, "auto") or scale == "none" or scale is None:
            return x * 0.0
        return x * scale

    for derive in (fd.grad, lambda f: fd.jit(fd.grad(f)), lambda f: fd.grad(fd.jit(f))):
        assert [derive(f)(2.0, 3.0) for _ in range(9)] == [3.0] * 9
        assert fd.jit(f, static_argnums=1)(2.0, "none") == 0.0


def test_an_answer_that_a_value_decides_is_not_kept_for_another_value() -> None:
    gradient = fd.grad(lambda x: x * (2.0 if x == Half() else 3.0))
    points = [0.5, 0.75] * 5
    assert [gradient(x) for x in points] == [2.0, 3.0] * 5


def test_an_order_that_does_not_exist_names_the_line() -> None:
    with pytest.raises(TypeError, match="not supported between") as caught:
        fd.grad(lambda x: x < None)(1.0)
    assert any("test_comparisons.py" in note for note in caught.value.__notes__)
