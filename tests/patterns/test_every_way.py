"""All ways to the derivatives of every call pattern agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.patterns.pattern import FUNCTION, Pattern
from tests.patterns.tables import FAMILIES
from tests.patterns.test_patterns import of_floats
from tests.properties.every_way import assert_every_way_agrees, of_parts

ELEMENTWISE: Final = ("elementwise", "special")
"""Families whose functions go the same ways and differ in their rules alone: few of them run."""
FEW, OF_EVERY_KIND = pytest.mark.sampled(40), pytest.mark.sampled(24, kind=FUNCTION)
PATTERNS: Final = [
    pytest.param(family, p, id=f"{family}: {p.name}", marks=mark)
    for family, patterns in FAMILIES.items()
    for mark in [FEW if family in ELEMENTWISE else OF_EVERY_KIND]
    for p in patterns
]


@pytest.mark.thinned(384)
@pytest.mark.parametrize(("family", "p"), PATTERNS)
def test_all_ways_to_the_jacobian_and_some_hessians_of_a_pattern_agree(
    family: str, p: Pattern, one_in: Callable[[int], bool]
) -> None:
    order = p.order if one_in(16) else 1
    assert_every_way_agrees(*of_parts(*of_floats(p, p.values())), order=order)
