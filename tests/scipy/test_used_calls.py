"""Of the calls that programs write most, more than nine tenths are right in both modes, twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.scipy.used_calls import CALLS, assert_right

RIGHT = {name: (call, arrays) for name, _, call, arrays in CALLS if call is not None}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_call_has_scipys_value_and_two_derivatives(name: str) -> None:
    call, arrays = RIGHT[name]
    assert_right(call, arrays)


def test_what_is_refused_is_less_than_a_tenth_of_what_is_called() -> None:
    weights: dict[Callable[..., Any] | None, float] = {}
    for _, weight, call, _ in CALLS:
        weights[call] = weights.get(call, 0.0) + weight
    assert weights[None] < 0.03 * sum(weights.values())
