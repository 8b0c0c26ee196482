"""Traced arrays in SciPy's own tests: each call gives SciPy's result, or a stated difference.

The tests are those installed with SciPy.  A part of them is run here; ``python -m
tests.scipy_suite.run`` runs all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import interpolate, ndimage

from tests.numpy_suite.run import assert_stated, outcomes
from tests.scipy_suite.run import run

EXPECTED = {
    ("fft", "cluster", "spatial/test_distance", "spatial/test_kdtree"): 800,
    ("integrate/test_quadrature", "ndimage/test_measurements", "ndimage/test_fourier"): 300,
    ("interpolate/test_polyint", "stats/test_morestats"): 500,
}
"""Modules, and how many of their calls are right at least, if all their tests run."""

PART = 2
"""One test in so many runs, but with ``--exhaustive``."""


@pytest.mark.slow
@pytest.mark.parametrize("modules", EXPECTED)
def test_scipys_tests_hold_with_traced_arrays(
    modules: tuple[str, ...], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    part = 1 if pytestconfig.option.exhaustive else PART
    record = tmp_path / "calls.jsonl"
    report = run(modules, record, one_in=part)
    assert_stated(report, record, EXPECTED[modules] // part, "scipy_suite", exact=False)


def test_a_rewritten_test_still_does_what_it_did(tmp_path: Path) -> None:
    source = """
def found(interpolate, ndimage, np):
    x = np.arange(4.0)
    spline = interpolate.CubicSpline(x, x ** 3)
    return spline(1.5), spline.derivative()(x), ndimage.convolve1d(x, [1.0, 2.0, 0.5])
"""
    observer = "tests.scipy_suite.observing"
    given = source, tmp_path / "module.py", "scipy.stats.tests", observer
    for x, y in zip(*outcomes(*given, interpolate, ndimage, np), strict=True):
        np.testing.assert_array_equal(x, y)
