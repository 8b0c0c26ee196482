"""Every call pattern that comes back is recorded as the first time, of other values too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.recording.builder import direct
from tests.patterns.pattern import Pattern
from tests.patterns.tables import FAMILIES
from tests.together import together

PATTERNS = [
    pytest.param(p, id=f"{family}: {p.name}")
    for family, patterns in FAMILIES.items()
    for p in patterns
]


def _others(values: list[Any]) -> list[Any]:
    """Return other values of the same types."""
    changes: dict[str, Any] = {"b": np.logical_not, "i": np.flip, "u": np.flip}
    return [changes.get(x.dtype.kind, lambda x: (x * 0.7).astype(x.dtype))(x) for x in values]


def _recorded(p: Pattern, values: list[Any]) -> list[str]:
    """Return the programs of a call whose arguments are traced, all of them and the first alone."""
    first, *others = values
    with np.errstate(all="ignore"):
        return [
            str(fd.trace(lambda *xs: p.function(np, *xs))(*values)),
            str(fd.trace(lambda x: p.function(np, x, *others))(first)),
        ]


@pytest.mark.slow
@together
@pytest.mark.parametrize("p", PATTERNS)
def test_a_call_that_comes_back_is_recorded_as_the_first_time(p: Pattern) -> None:
    values = p.values()
    try:
        direct.clear()
        expected = _recorded(p, values)
    except (fd.errors.ConcreteValueError, fd.errors.LostDerivativeError):  # some look at values
        return
    assert _recorded(p, values) == expected
    direct.clear()
    _recorded(p, _others(values))
    assert _recorded(p, values) == expected
