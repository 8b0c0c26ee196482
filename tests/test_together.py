"""One test for a table runs every case, and names every one that fails."""

from functools import partial
from typing import Any

import pytest

from tests.together import thinning, together


def test_every_case_runs_and_those_that_fail_are_named(tmp_path: Any) -> None:
    seen = []

    @together
    @pytest.mark.parametrize(("a", "b"), [(1, 2), pytest.param(3, 4, id="large")])
    @pytest.mark.parametrize("c", [5, 6, 7], ids=["five", "six", "seven"])
    def table(a: int, b: int, c: int, tmp_path: Any) -> None:
        seen.append((a, b, c, tmp_path))
        assert (a, c) != (3, 6)
        if c == 7:
            pytest.fail("too large")

    with pytest.raises(BaseExceptionGroup, match="3 cases of the table") as raised:
        table(tmp_path=tmp_path)
    assert set(seen) == {(a, b, c, tmp_path) for a, b in ((1, 2), (3, 4)) for c in (5, 6, 7)}
    assert [failure.__notes__ for failure in raised.value.exceptions] == [
        ["in the case six-large"],
        ["in the case seven-1-2"],
        ["in the case seven-large"],
    ]


@pytest.mark.parametrize("by_default", [True, False])
def test_a_thinned_table_runs_all_cases_with_the_slow_tests_alone(
    by_default: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    @together
    @pytest.mark.thinned(4)
    @pytest.mark.parametrize("case", range(100))
    def table(case: int) -> None:
        seen.append(case)

    monkeypatch.setattr(thinning, "on", by_default)
    table()
    assert 15 < len(seen) < 35 if by_default else seen == list(range(100))
    assert table.does_less_by_default  # type: ignore[attr-defined]  # and is slow, too
    assert not table.pytestmark  # type: ignore[attr-defined]  # which would leave out the test


def test_cases_are_named_by_their_ids_or_alike_in_every_process() -> None:
    functions = [abs, lambda x: -x, partial(max, 3), object()]

    @together
    @pytest.mark.parametrize("n", [1, 2], ids=lambda n: f"n = {n}" if n > 1 else None)
    @pytest.mark.parametrize("f", functions)
    def table(f: Any, n: int) -> None:
        raise AssertionError(f, n)

    with pytest.raises(BaseExceptionGroup) as raised:
        table()
    partials = "functools.partial(<built-in function max>, 3)"
    assert [failure.__notes__[0] for failure in raised.value.exceptions] == [
        f"in the case {f}-{n}" for f in ("abs", "f1", partials, "f3") for n in ("1", "n = 2")
    ]


def test_a_table_without_a_case_left_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    @together
    @pytest.mark.thinned(10**6)
    @pytest.mark.parametrize("case", range(5))
    def table(case: int) -> None:
        raise AssertionError(case)

    monkeypatch.setattr(thinning, "on", True)
    with pytest.raises(AssertionError, match="thin the table less"):
        table()


@together
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1, 2])
def test_fixtures_and_other_marks_are_kept(n: int, request: pytest.FixtureRequest) -> None:
    assert [mark.name for mark in request.node.iter_markers()] == ["filterwarnings"]
    assert n < 3
