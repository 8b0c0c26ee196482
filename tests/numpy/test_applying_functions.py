"""Functions applied along an axis: the first result decides on the dtype, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

X = np.array([[1.0, 2.5, -3.5], [0.25, 4.75, -1.0]])
FIRST = {
    "an integer": lambda place, v: 3 if place == 0 else v[0] + v[1],
    "a number of fewer bits": lambda place, v: np.float32(0.1) if place == 0 else v[0] / 3,
    "a number of more bits": lambda place, v: v[0] / 3 if place == 0 else np.float32(0.1),
    "a complex number": lambda place, v: v[0] * 1j if place == 0 else v[0],
}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("first", FIRST.values(), ids=list(FIRST))
def test_the_first_result_along_an_axis_decides_on_the_dtype(first: Any, axis: int) -> None:
    def f(x: Any) -> Any:
        places = iter(range(9))
        return np.apply_along_axis(lambda v: first(next(places), v), axis, x)

    found, expected = fd.vjp(f, X)[0], f(X)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
