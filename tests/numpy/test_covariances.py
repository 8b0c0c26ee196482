"""Covariances of two sets of variables, in rows or in columns, are those of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives

RANDOM = np.random.default_rng(0)
PAIRS = {
    "a vector with a row": (RANDOM.normal(size=4), RANDOM.normal(size=(1, 4))),
    "columns with a row": (RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(1, 4))),
    "columns with a vector": (RANDOM.normal(size=(4, 3)), RANDOM.normal(size=4)),
    "columns with columns": (RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 2))),
    "columns with a column": (RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(4, 1))),
}


@pytest.mark.parametrize("f", [np.cov, np.corrcoef])
@pytest.mark.parametrize(("m", "y"), PAIRS.values(), ids=list(PAIRS))
def test_a_second_set_of_variables_in_columns_is_taken_as_numpy_takes_it(
    m: Any, y: Any, f: Any
) -> None:
    def of_both(m: Any, y: Any) -> Any:
        return f(m, y, rowvar=False)

    np.testing.assert_allclose(fd.vjp(of_both, m, y)[0], of_both(m, y), rtol=1e-13)
    assert_derivatives(lambda y: of_both(m, y), y, order=1)


def test_correlations_of_no_variables_are_an_empty_matrix() -> None:
    with np.errstate(all="ignore"):
        assert fd.jacobian(np.corrcoef)(np.zeros((0, 2))).shape == (0, 0, 0, 2)
