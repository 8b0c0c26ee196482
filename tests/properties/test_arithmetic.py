"""Elementwise functions of arrays of any dtypes and any shapes that broadcast."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.testing import strategies
from tests.properties.laws import COMPLEX, DTYPES, REAL, arrays, few, require_laws

ANY: Final[dict[str, Any]] = {
    "x + y": operator.add,
    "x - y": operator.sub,
    "x * y": operator.mul,
    "x / (y * y + 1.5)": lambda x, y: x / (y * y + 1.5),
    "where(x, x, y)": lambda x, y: np.where(x, x, y),
    "x ** 3": lambda x, y: x**3 + y,
}
ORDERED: Final[dict[str, Any]] = {
    "maximum": np.maximum,
    "fmin": np.fmin,
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "logaddexp": np.logaddexp,
    "clip": lambda x, y: np.clip(x, -0.5, y),
    "copysign": np.copysign,
    "heaviside": np.heaviside,
}
NUMBERS: Final = (2, -1.5, True, np.float32(0.5), np.float64(2.5), np.int8(3), np.int64(-2))


@st.composite
def pairs(draw: st.DrawFn, first: tuple[str, ...], others: tuple[str, ...]) -> Any:
    """Draw two arrays that broadcast, the first of a floating dtype."""
    left, right = draw(strategies.broadcastable_shapes(2, max_side=3))
    return arrays(draw, left, first), arrays(draw, right, others)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@few
@given(st.data())
def test_arithmetic_promotes_and_broadcasts_as_numpys(data: st.DataObject) -> None:
    f = ANY[data.draw(st.sampled_from(sorted(ANY)))]
    x, y = data.draw(pairs((*REAL, *COMPLEX), DTYPES))
    if x.dtype.kind == y.dtype.kind == "b":
        return
    require_laws(f, x, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@few
@given(st.data())
def test_ordered_functions_promote_and_broadcast_as_numpys(data: st.DataObject) -> None:
    f = ORDERED[data.draw(st.sampled_from(sorted(ORDERED)))]
    require_laws(f, *data.draw(pairs(REAL, (*REAL, "i1", "u2", "i8"))))


@few
@given(st.data())
def test_numbers_promote_as_numpys(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from(NUMBERS))
    f = data.draw(st.sampled_from((operator.add, operator.sub, operator.mul, operator.truediv)))
    x = arrays(data.draw, data.draw(strategies.shapes(max_side=3)))
    require_laws(lambda x: f(x, number), x)
    require_laws(lambda x: f(number, x + 20), x)


@few
@given(st.data())
def test_a_ufunc_with_where_and_out_writes_what_numpy_writes(data: st.DataObject) -> None:
    (shape,) = data.draw(strategies.broadcastable_shapes(1, max_side=3))
    x, y, out = (arrays(data.draw, shape, ("f4", "f8")) for _ in range(3))
    mask = data.draw(strategies.arrays(shape, np.bool_))

    def f(x: Any, y: Any, out: Any) -> Any:
        target = (out * 1)[...]
        np.multiply(x, y, out=target, where=mask, casting="same_kind")
        return target

    require_laws(f, x, y, out)
