"""One test for a table runs every case, and names every one that fails."""

from typing import Any

import pytest

from tests.together import together


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


@together
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1, 2])
def test_fixtures_and_other_marks_are_kept(n: int, request: pytest.FixtureRequest) -> None:
    assert [mark.name for mark in request.node.iter_markers()] == ["filterwarnings"]
    assert n < 3
