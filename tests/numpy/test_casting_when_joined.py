"""What is joined is converted by the rule that was asked for, or refused, as by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError

X = np.array([1.5, -2.5, 3.0])
JOINS = {
    "concatenate": np.concatenate, "stack": np.stack, "vstack": np.vstack, "hstack": np.hstack,
    "stack behind": lambda xs, **words: np.stack(xs, -1, **words),
}  # fmt: skip


@pytest.mark.parametrize("join", JOINS.values(), ids=list(JOINS))
@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_a_joined_array_is_cast_as_numpy_casts_it(join: Any, casting: Any, dtype: Any) -> None:
    def f(x: Any) -> Any:
        return join([x, 2 * x], dtype=dtype, casting=casting)

    try:
        expected = f(X)
    except TypeError:
        with pytest.raises(TypeError, match="Cannot cast"):
            fd.vjp(f, X)
        return
    found = fd.vjp(f, X)[0]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("dtype", ["O", "U3", ">f8", "m8[s]"])
def test_a_dtype_that_no_program_has_is_refused(dtype: str) -> None:
    with pytest.raises(UnsupportedNumPyError, match="dtype="):
        fd.vjp(lambda x: x.astype(dtype), X)
