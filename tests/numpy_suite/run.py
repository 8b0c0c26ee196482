"""Runs NumPy's own tests with traced arrays; ``python -m tests.numpy_suite.run [module ...]``.

The variable ``NUMPY_SUITE_WAY`` says how calls are done once more: see `tracing.WAYS`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.numpy_suite.rewriting import rewritten

_ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("_core", "lib", "linalg", "fft")
_ELSEWHERE: Final = """
    array_coercion array_interface arrayprint casting_unittests cpu_dispatcher cpu_features
    custom_dtypes cython datetime defchararray dlpack dtype extint128 finfo hashtable limited_api
    mem_policy memmap multiprocessing multithreading nditer overrides print records scalarprint
    simd simd_module stringdtype strings unicode longdouble half abc api machar umath_accuracy
    _datasource _iotools _version format io loadtxt mixins recfunctions utils argparse
    conversion_utils protocols deprecations
"""
"""Modules about text, dates, files, memory and the interface of C."""
_LONG: Final = """
    test_round_trip test_sort_degraded test_internal_overlap test_structarray_title test_leak
    test_float_modulus_exact test_sort_int test_sort_float test_argsort_int test_argsort_float
    test_partition_int test_partition_fp test_integer_comparison test_ufunc_at_inner_loops
    TestPickling TestAlignment TestIO
    TestCTypes
"""
"""Tests of such things elsewhere, and tables of thousands of cases that call the same."""


def run(
    names: Sequence[str],
    record: Path,
    packages: Sequence[str] = PACKAGES,
    way: str = "eagerly",
    *,
    one_in: int = 1,
) -> str:
    """Run modules (``umath``; all if none is named), noting every observed call in a file.

    The calls are done once more in one of `tracing.WAYS`.  One test in so many runs.

    Returns
    -------
    str
        What pytest printed.  Tests of reference counts and the like fail when they are observed;
        what counts is in the file.
    """
    tests = [
        (path, f"numpy.{package}.tests")
        for package in packages
        for path in sorted((Path(np.__file__).parent / package / "tests").glob("test_*.py"))
        if (subject := path.stem.removeprefix("test_")) not in _ELSEWHERE.split()
        and (not names or subject in names)
    ]
    selection = ["-m", "not slow", "-k", f"not ({' or '.join(_LONG.split())})"]
    # tests that need more memory are skipped by NumPy itself
    sizes = {"NPY_AVAILABLE_MEM": "500MB", "NUMPY_SUITE_ONE_IN": str(one_in)}
    return observe("numpy", tests, selection, record, way, **sizes)


def observe(
    package: str,
    tests: Sequence[tuple[Path, str]],
    selection: Sequence[str],
    record: Path,
    way: str,
    **environment: str,
) -> str:
    """Run the selected tests of rewritten modules, and return what pytest printed."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for path, place in tests:
            copy = Path(folder) / f"{path.stem}_of_{place.replace('.', '_')}.py"
            observer = f"tests.{package}_suite.observing"
            copy.write_text(rewritten(path, place, observer), encoding="utf-8")
            files.append(str(copy))
        command = [
            sys.executable, "-m", "pytest", "-q", "--maxfail=100000", "--import-mode=importlib",
            "-c", "/dev/null", "--rootdir", folder, "-p", "no:cacheprovider",
            "-p", f"{package}.conftest", "-p", "tests.numpy_suite.sampling", "-W", "ignore",
            "--tb=line", *selection, *files,
        ]  # fmt: skip
        environment = {
            **os.environ, "NUMPY_SUITE_RECORD": str(record), "NUMPY_SUITE_WAY": way,
            "PYTHONPATH": str(_ROOT), "OPENBLAS_NUM_THREADS": "1", **environment,
        }  # fmt: skip
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # some of NumPy's tests touch the terminal, which stops a job
        )  # fmt: skip
    return done.stdout + done.stderr


def assert_stated(
    report: str, record: Path, least: int, suite: str = "numpy_suite", *, exact: bool = True
) -> None:
    """Assert that what was noted are results of the package, refusals, and stated differences.

    Unless they are to be exact, rounding and digits are none.
    """
    assert record.exists(), report
    assert "Fatal Python error" not in report, report
    stated = {
        tuple(part.strip() for part in line.split("|")[:2])
        for line in (_ROOT / "tests" / suite / "differences.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    expected = ("right",) if exact else ("right", "rounding", "digits")
    kinds: Counter[str] = Counter()
    unexpected = []
    for kind, name, test, detail in records(record):
        kinds[kind] += 1
        known = kind in expected or kind.startswith("refused")
        if not known and (kind, name) not in stated:
            unexpected.append(f"{kind}: {name} in {test}: {detail}")
    assert not unexpected, "\n".join(unexpected[:50])
    assert kinds["right"] >= least


def outcomes(source: str, path: Path, place: str, observer: str, *args: Any) -> list[Any]:
    """Return what a function `found` of a text gives, and what its rewritten text gives."""
    path.write_text(source)
    found = []
    for text in (source, rewritten(path, place, observer)):
        scope: dict[str, Any] = {}
        exec(text, scope)
        found.append(scope["found"](*args))
    return found


def records(path: Path) -> Iterable[tuple[str, str, str, str]]:
    """Return kind, function, test and details of every call."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            kind, name, test, detail = json.loads(line)
            yield kind, name, test, detail


def show(run: Callable[..., str], record: Path) -> None:
    """Run the modules of the command line and print how many calls of each kind there were."""
    record.unlink(missing_ok=True)
    print(run(sys.argv[1:], record, way=os.environ.get("NUMPY_SUITE_WAY", "eagerly"))[-1500:])
    for kind, count in Counter(kind for kind, *_ in records(record)).most_common():
        print(f"{count:8d} {kind}")
    for kind, name, test, detail in records(record):
        if kind != "right" and not kind.startswith("refused"):
            print(f"{kind} | {name} | {test}\n    {detail}")


if __name__ == "__main__":
    show(run, Path("numpy_suite.jsonl").resolve())
