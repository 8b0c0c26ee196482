"""Runs SciPy's own tests with traced arrays; ``python -m tests.scipy_suite.run [module ...]``.

Modules are written ``stats/test_stats``, packages ``stats``.  The variable ``NUMPY_SUITE_WAY`` says
how calls are done once more: see `tests.numpy_suite.tracing.WAYS`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import scipy

from tests.numpy_suite.run import observe, show

PACKAGES: Final = (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal",
    "sparse/linalg", "spatial", "spatial/transform", "special", "stats",
)  # fmt: skip
_ELSEWHERE: Final = """
    blas cython_blas cython_lapack cython_special cythonized_array_utils lapack hierarchy
    disjoint_set multithreading import private_access extending sf_error_state xsf_cuda pickle qhull
    fast_gen_inversion sampling qmc bws_test cython_optimize dd nan_inputs legacy_imports
    support_alternative_backends
"""
"""Modules about other languages' interfaces, or of functions without derivatives alone."""


def run(
    names: Sequence[str], record: Path, way: str = "eagerly", *, only: str = "", one_in: int = 1
) -> str:
    """Run packages and modules, noting every call that is done once more in a file.

    One test in so many runs.

    Returns
    -------
    str
        What pytest printed.  Tests of identities and counts of calls fail when they are observed;
        what counts is in the file.
    """
    tests = [
        (path, f"scipy.{package.replace('/', '.')}.tests")
        for package in PACKAGES
        for path in sorted((Path(scipy.__file__).parent / package / "tests").glob("test_*.py"))
        if path.stem.removeprefix("test_") not in _ELSEWHERE.split()
        and (not names or package in names or f"{package}/{path.stem}" in names)
    ]
    selection = ["-m", "not slow and not xslow", *(("-k", only) if only else ())]
    settings = {"NUMPY_SUITE_KINDS": "fc", "NUMPY_SUITE_ONE_IN": str(one_in)}
    return observe("scipy", tests, selection, record, way, **settings)


if __name__ == "__main__":
    show(run, Path(os.environ.get("NUMPY_SUITE_RECORD", "scipy_suite.jsonl")).resolve())
