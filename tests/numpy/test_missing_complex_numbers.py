"""Reductions that leave NaN out, of complex numbers: NaN in either part is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives

Z = np.array([[1 + 2j, -0.5 + 0.25j, 3 - 1j], [0.5j, 2.0 - 2j, -1 + 1j]])
MISSING = np.array([[0, np.nan, 0], [complex(0, np.nan), 0, 0]])


@pytest.mark.parametrize("words", [{}, {"axis": 0}, {"axis": 1, "keepdims": True}])
@pytest.mark.parametrize("f", [np.nanvar, np.nanstd, np.nanmean, np.nansum])
def test_moments_of_complex_numbers_leave_nan_out(f: Any, words: Any) -> None:
    found = fd.vjp(lambda z: f(z + MISSING, **words), Z)[0]
    expected = f(Z + MISSING, **words)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found.dtype == expected.dtype
    assert_derivatives(lambda z: f(z + MISSING, **words), Z, order=1)
