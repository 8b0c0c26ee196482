"""Random programs with control flow compute the same in all modes, and what differences say.

``python -m tests.branching.comparing 0 5000`` runs thousands.
"""

from __future__ import annotations

import pytest

from tests.branching.comparing import Report, compare


def compared(first: int, last: int, extra: int) -> Report:
    """Compare the programs of some seeds; none may be wrong."""
    report = Report()
    for seed in range(first, last):
        compare(seed, report, extra)
    assert not report.wrong, "\n".join(report.wrong)
    return report


def test_random_programs_agree_in_all_modes() -> None:
    assert compared(3, 5, extra=1).counts["compared"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("first", [110, 210, 310])
def test_more_random_programs_agree_in_more_modes(first: int) -> None:
    counts = compared(first, first + 24, extra=2).counts
    assert min(counts["programs that branch"], counts["compiled, and rolled"]) > 0
