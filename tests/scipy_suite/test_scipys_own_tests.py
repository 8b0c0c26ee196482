"""Traced arrays in SciPy's own tests: each call gives SciPy's result, or a stated difference.

The tests are those installed with SciPy.  A part of them is run here; ``python -m
tests.scipy_suite.run`` runs all.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import interpolate, ndimage

from tests.numpy_suite.rewriting import rewritten
from tests.numpy_suite.run import records
from tests.scipy_suite.run import run

STATED = {
    tuple(part.strip() for part in line.split("|")[:2])
    for line in Path(__file__).with_name("differences.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
EXPECTED = {
    ("fft", "cluster", "spatial/test_distance", "spatial/test_kdtree"): 800,
    ("integrate/test_quadrature", "ndimage/test_measurements", "ndimage/test_fourier"): 300,
    ("interpolate/test_polyint", "stats/test_morestats"): 500,
}
"""Modules, and how many of their calls are right at least."""


@pytest.mark.slow
@pytest.mark.parametrize("modules", EXPECTED)
def test_scipys_tests_hold_with_traced_arrays(modules: tuple[str, ...], tmp_path: Path) -> None:
    record = tmp_path / "calls.jsonl"
    report = run(modules, record)
    assert record.exists(), report
    kinds: Counter[str] = Counter()
    unexpected = []
    for kind, name, test, detail in records(record):
        kinds[kind] += 1
        known = kind in ("right", "rounding", "digits") or kind.startswith("refused")
        if not known and (kind, name) not in STATED:
            unexpected.append(f"{kind}: {name} in {test}: {detail}")
    assert not unexpected, "\n".join(unexpected[:50])
    assert kinds["right"] >= EXPECTED[modules]


def test_a_rewritten_test_still_does_what_it_did(tmp_path: Path) -> None:
    source = """
def found(interpolate, ndimage, np):
    x = np.arange(4.0)
    spline = interpolate.CubicSpline(x, x ** 3)
    return spline(1.5), spline.derivative()(x), ndimage.convolve1d(x, [1.0, 2.0, 0.5])
"""
    path = tmp_path / "module.py"
    path.write_text(source)
    outcomes: list[Any] = []
    for text in (source, rewritten(path, "scipy.stats.tests", "tests.scipy_suite.observing")):
        scope: dict[str, Any] = {}
        exec(text, scope)
        outcomes.append(scope["found"](interpolate, ndimage, np))
    for x, y in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(x, y)
