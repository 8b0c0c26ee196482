"""Traced arrays in NumPy's own tests: every call gives NumPy's result, or a stated difference.

The tests are those installed with NumPy.  Its calls are counted, so that a change of the rewriting
which would observe nothing does not pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy_suite import observing
from tests.numpy_suite.run import PACKAGES, assert_stated, outcomes, run
from tests.numpy_suite.tracing import DerivativeError, differentiated

EXPECTED = {"_core": 15_000, "lib": 8_000, "linalg": 3_000, "fft": 500}
"""Observed calls that there are at least, by package, if all its tests run."""

PART = 3
"""One test in so many runs, but with ``--exhaustive``."""


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_numpys_tests_hold_with_traced_arrays(
    package: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    part = 1 if pytestconfig.option.exhaustive else PART
    record = tmp_path / "calls.jsonl"
    report = run((), record, packages=(package,), one_in=part)
    assert_stated(report, record, EXPECTED[package] // part)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "modules", "least"), [
    ("with scalars", ("index_tricks", "twodim_base", "scalarmath"), 1_500),
    ("batched", ("twodim_base", "arraypad", "shape_base", "helper"), 1_500),
    ("compiled", ("twodim_base",), 250),
])  # fmt: skip
def test_numpys_tests_hold_in_other_ways(
    way: str, modules: tuple[str, ...], least: int, tmp_path: Path
) -> None:
    record = tmp_path / "calls.jsonl"
    assert_stated(run(modules, record, way=way), record, least)


@pytest.mark.slow
@pytest.mark.parametrize(("package", "least"), [("fft", 1_200), ("polynomial", 1_600)])
def test_calls_of_numpys_tests_have_the_derivatives_that_differences_show(
    package: str, least: int, tmp_path: Path
) -> None:
    record = tmp_path / "calls.jsonl"
    assert_stated(run((), record, packages=(package,), way="differentiated"), record, least)


def test_a_rewritten_test_still_does_what_it_did(tmp_path: Path) -> None:
    source = """
def found(np, x):
    y = x.reshape(2, 3).T[::-1, 1]
    y[1:] += -x[0] ** 2
    x[..., 2] = np.add.reduce(x) if 1 < 2 < 3 else 0
    a, b = x[:2]
    return y, x, super, [i * a - b for i in range(2)], f"{x[0]}"
"""
    observer = "tests.numpy_suite.observing"
    found = outcomes(source, tmp_path / "m.py", "numpy.lib.tests", observer, np, np.arange(6.0))
    for x, y in zip(*found, strict=True):
        np.testing.assert_array_equal(x, y)


def test_what_differs_is_noted_as_what_it_is() -> None:
    compared = observing.compared
    ones = np.ones(2)
    assert compared(ones, ones)[0] == "right"
    assert compared(ones, ones + 1e-15)[0] == "rounding"
    assert compared(ones, ones + 1e-3)[0] == "value"
    assert compared(ones, ones.astype("f4"))[0] == "dtype"
    assert compared(ones, np.ones(3))[0] == "shape"
    assert compared(0 * ones, -0.0 * ones)[0] == "sign of zero"
    assert compared([ones, ones], [ones, 2 * ones])[0] == "value"
    assert compared([ones], [ones, ones])[0] == "structure"
    assert compared(ones * np.nan, ones * np.nan)[0] == "right"
    for expected, found, kind in (
        (ValueError(), ValueError(), "right"),
        (ValueError(), TypeError(), "other error"),
        (ones, TypeError(), "error"),
        (ValueError(), ones, "accepted"),
    ):
        assert observing.classified(expected, found)[0] == kind


def test_a_wrong_derivative_is_noted() -> None:
    @fd.custom_jvp
    def shifted(x: Any) -> Any:
        return x**2

    shifted.defjvp(lambda xs, ts: (xs[0] ** 2, 3.0 * xs[0] * ts[0]))
    x = np.array([0.5, 2.0])
    differentiated(np.multiply, [[x, x + 1.0], {}])
    with pytest.raises(DerivativeError):
        differentiated(shifted, [[x], {}])
    # at ties there is no derivative to compare with
    differentiated(np.median, [[np.ones(3)], {}])
    differentiated(np.maximum, [[np.ones(3), 1.0], {}])
