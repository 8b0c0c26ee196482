"""The cases of packages can be run without the packages, and their page is made of them."""

import subprocess
import sys
import warnings
from contextlib import suppress
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from docs.packages import differences, docstrings
from docs.packages.__main__ import cause
from docs.packages.case import case
from docs.packages.cases import cases
from docs.packages.checks import CHECKS, TimeLimitError, WrongError, agree, outcomes, time_limit
from docs.packages.page import PAGE, page, summary
from funcdiff.errors import LostDerivativeWarning


@case("funcdiff.numpy", [0.3, 0.8])
def hypot(module: Any, x: Any) -> Any:
    return module.hypot(x, 2.0)


@case("funcdiff.numpy", [0.3, 0.8])
def abolished(module: Any, x: Any) -> Any:
    return module.nothing(x)


def test_every_case_of_a_package_has_a_name_of_its_own() -> None:
    titles = [c.title for c in cases()]
    assert len(titles) > 300
    assert len(set(titles)) == len(titles)


def test_the_page_shows_every_case() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [c.title for c in cases() if f"| `{c.title}` |" not in text] == [], (
        "run python -m docs.packages --write"
    )


def test_differences_are_extrapolated_and_know_their_error() -> None:
    x = np.array([0.5, 2.0])
    found, error = differences.jacobian(lambda x: np.stack([np.sin(x[0]) * x[1], x[1] ** 3]), x)
    wanted = np.array([[np.cos(0.5) * 2.0, np.sin(0.5)], [0.0, 12.0]])
    assert np.all(np.abs(found - wanted) <= 1e-10)
    assert np.all(np.abs(found - wanted) <= 8 * error + 1e-12)


def test_a_case_that_is_right_passes_every_check() -> None:
    found = outcomes(hypot, lambda name: np, hypot.function(lambda name: np))
    assert not any(found.values())


def test_a_case_that_fails_says_why() -> None:
    found = outcomes(abolished, lambda name: np, abolished.function(lambda name: np))
    assert found["reverse"].startswith("AttributeError: ")


@case("funcdiff.numpy", 0.3)
def doubled(module: Any, x: Any) -> Any:
    return x if module is np else 2.0 * x - fd.stop_gradient(x)


@case("funcdiff.numpy", 0.3)
def doubled_with_a_warning(module: Any, x: Any) -> Any:
    if module is not np:
        warnings.warn("lost", LostDerivativeWarning, stacklevel=1)
    return doubled.call(module, x)


def test_what_is_wrong_and_told_is_another_reason_than_what_is_silently_wrong() -> None:
    rows: list[dict[str, Any]] = []
    for wrong in (doubled, doubled_with_a_warning):
        found = outcomes(wrong, lambda name: fd, wrong.function(lambda name: np))
        rows.append({"title": wrong.title, "as it is": found, "adapted": found})
    assert rows[0]["adapted"]["reverse"].startswith("wrong: 2")
    assert rows[1]["adapted"]["reverse"].startswith("LostDerivativeWarning: 2")
    assert "adapted, wrong and not told: funcdiff.numpy.doubled\n" in summary(rows)
    passed: dict[str, Any] = dict.fromkeys(CHECKS, "")
    right = {"title": "x.right", "as it is": passed, "adapted": passed}
    assert summary([right]).endswith("right and warned of: none")
    passed["told"] = ["x.py:1"]
    assert summary([right]).endswith("right and warned of: x.right")


@pytest.mark.slow
def test_a_time_limit_is_kept_where_a_handler_takes_its_error() -> None:
    ended = 0
    with time_limit(1):
        while ended < 2:
            with suppress(TimeLimitError):
                while True:
                    pass
            ended += 1
    assert ended == 2


@pytest.mark.slow
def test_a_process_that_cannot_be_stopped_ends_and_says_where_it_was() -> None:
    waiting = """
        from docs.packages import checks
        checks.PATIENCE = 1
        with checks.time_limit(1):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])
            threading.Event().wait()
    """
    code = "import signal, threading\n" + dedent(waiting)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode != 0
    assert cause(ended.stderr).startswith("Timeout (0:00:01)! File ")
    assert cause("Traceback (most recent call last):\n\nValueError: no\n") == "ValueError: no"
    assert cause("") == ""


def test_a_wrong_derivative_is_no_right_one() -> None:
    with pytest.raises(WrongError, match="in place of"):
        agree(np.array([1.0, 2.1]), np.array([1.0, 2.0]), np.zeros(2), 1.0)
    with pytest.raises(WrongError, match="undecided"):
        agree(np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.full(2, 0.1), 1.0)


@pytest.mark.slow
def test_what_is_right_and_what_stands_in_the_way_is_counted() -> None:
    right: dict[str, Any] = dict.fromkeys(
        ("value", "reverse", "forward", "second", "jit", "vmap"), ""
    )
    lost = right | {"reverse": "LostDerivativeError: x = np.asarray(x)"}
    rows: list[dict[str, Any]] = [
        {"title": "pvlib.irradiance.aoi", "as it is": lost, "adapted": right},
        {"title": "pvlib.iam.physical", "died": "the process ended with -11: "},
    ]
    assert "adapted: 1 right" in summary(rows)
    text = page(rows)
    assert "| **all** | 2 | 0 | 1 | 1 | 1 |" in text
    assert (
        "| `pvlib.irradiance.aoi` | `LostDerivativeError: x = np.asarray(x)` | yes | yes | yes |"
        in text
    )
    assert "the process ended with -#" in text


def test_examples_of_docstrings_do_the_same_in_an_adapted_copy() -> None:
    total, different = docstrings.compared("numpy.polynomial.polyutils")
    assert total > 30
    assert different == []
