"""A spread with no degrees of freedom left is that of NumPy: infinite, or NaN, never negative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

X = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 5.0]])


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value", "ignore:divide by")
@pytest.mark.parametrize("ddof", [1, 2, 3, 7])
@pytest.mark.parametrize("f", [
    lambda x, ddof: np.var(x, ddof=ddof), lambda x, ddof: np.std(x, axis=0, ddof=ddof),
    lambda x, ddof: np.var(x, axis=1, correction=ddof),
    lambda x, ddof: np.var(x, 1, ddof=ddof, where=X < 5),
    lambda x, ddof: np.nanvar(x, axis=1, ddof=ddof), lambda x, ddof: np.cov(x, ddof=ddof),
    lambda x, ddof: np.cov(x, ddof=ddof, fweights=np.array([1, 2, 1])),
])  # fmt: skip
def test_a_spread_of_too_few_numbers_is_that_of_numpy(f: Any, ddof: int) -> None:
    expected = f(X, ddof)
    for found in (fd.vjp(lambda x: f(x, ddof), X)[0], fd.jit(lambda x: f(x, ddof))(X)):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
