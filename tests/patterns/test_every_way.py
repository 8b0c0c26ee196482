"""All ways to the derivatives of every call pattern agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.patterns.pattern import FUNCTION, Pattern
from tests.patterns.test_patterns import every_pattern, of_floats
from tests.properties.every_way import assert_every_way_agrees, of_parts


@pytest.mark.thinned(384)
@pytest.mark.sampled(6, kind=FUNCTION)
@every_pattern
def test_all_ways_to_the_jacobian_and_some_hessians_of_a_pattern_agree(
    family: str, p: Pattern, one_in: Callable[[int], bool]
) -> None:
    order = p.order if one_in(8) else 1
    assert_every_way_agrees(*of_parts(*of_floats(p, p.values())), order=order)
