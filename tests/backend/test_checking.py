"""In the tests' mode compiled code that differs from the interpreter in anything is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling import executables
from funcdiff.backend.checking import with_check
from funcdiff.core.running.evaluate import executable, promotion
from funcdiff.errors import InternalError

PROGRAM = fd.trace(lambda x: (x - x[::-1], np.sum(x)))(np.ones((1, 2)))
X = np.array([[0.5, -2.0]])
RIGHT = [X - X[::-1], np.float64(-1.5)]


@pytest.fixture(autouse=True)
def _in_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUNCDIFF_CHECK", "1")


@pytest.mark.parametrize(("results", "exact", "message"), [
    ([RIGHT[0][0], RIGHT[1]], False, r"shape \(2,\)"),
    ([RIGHT[0].astype("f4"), RIGHT[1]], False, "dtype float32"),
    ([RIGHT[0], np.float64(-1.5000001)], False, "-1.5000001 instead of -1.5"),
    ([RIGHT[0], np.nextafter(RIGHT[1], 0)], True, r"instead of -1.5 at \(\)"),
    ([-RIGHT[0], RIGHT[1]], True, r"-0.0 instead of 0.0 at \(0, 0\)"),
    ([RIGHT[0], np.float64(np.nan)], False, "nan instead of -1.5"),
], ids=["shape", "dtype", "value", "last bit", "sign of zero", "not a number"])  # fmt: skip
def test_a_difference_is_an_internal_error(results: Any, exact: bool, message: str) -> None:
    run = with_check(PROGRAM, lambda _x: results, exact=exact)
    with pytest.raises(InternalError, match=message):
        run(X)


def test_the_sign_of_what_is_not_a_number_does_not_count() -> None:
    program = fd.trace(lambda x: x)(1.0)
    run = with_check(program, lambda _x: [np.float64(np.nan)], exact=True)
    assert np.isnan(run(np.copysign(np.nan, -1.0))[0])


def test_kernels_may_differ_by_rounding_and_only_the_first_run_is_compared() -> None:
    found = [RIGHT[0], np.nextafter(RIGHT[1], 0)]
    run = with_check(PROGRAM, lambda _x: found, exact=False)
    assert run(X) is found
    found[1] = np.float64(7.0)
    assert run(X) is found


def test_without_the_switch_compiled_code_runs_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FUNCDIFF_CHECK")

    def run(x: Any) -> Any:
        return RIGHT

    assert with_check(PROGRAM, run, exact=True) is run


def test_a_difference_is_not_taken_for_code_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Any, **_: Any) -> Any:
        return lambda *xs: [np.zeros(7) for _ in program.outputs]

    monkeypatch.setattr(
        promotion, "compiler", lambda program: with_check(program, wrong(program), exact=True)
    )
    f = fd.grad(lambda x: np.sum(np.sin(x) * 1.2345))

    def repeatedly() -> None:
        for _ in range(promotion.after + 3):  # the first goes by a tape
            f(np.ones(2))

    executable.cache_clear()
    with pytest.raises(InternalError, match="compiled code and the interpreter disagree"):
        repeatedly()
    executable.cache_clear()
    monkeypatch.setattr(executables, "fastest", wrong)
    with pytest.raises(InternalError, match="compiled code and the interpreter disagree"):
        fd.jit(lambda x: np.sin(x))(np.ones(2))
