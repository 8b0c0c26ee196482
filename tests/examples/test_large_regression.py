"""The regression example on a small table, which is made chunk by chunk."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import dask
import large_regression as example
import numpy as np
import pytest
from scipy.optimize import minimize


def test_chunks_are_made_anew_and_give_the_fit_of_the_whole_table() -> None:
    table = example.made_up_table(1_010, 400)
    with dask.config.set(scheduler="synchronous"):
        whole = table.compute()
        np.testing.assert_array_equal(table.compute(), whole)
        found = example.fit(table)

    def penalized(w: example.Array) -> float:
        return float(example.mean_loss(w, whole) + example.PENALTY / 2 * w @ w)

    expected = minimize(penalized, np.zeros(example.FEATURES + 1), method="L-BFGS-B")
    assert table.chunks == ((400, 400, 210), (example.FEATURES + 1,))
    assert found.loss == pytest.approx(expected.fun, rel=1e-4)
    assert found.slope < 1e-2
    assert example.accuracy(found.weights, whole) > 0.8


def test_without_dask_the_example_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(SystemExit, match=r"needs Dask.*\[examples,dask\]"):
        runpy.run_path(str(Path(example.__file__)))
