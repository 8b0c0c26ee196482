"""Every call pattern of zeros of both signs, and of NaN: NumPy's values, signs and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import FuncdiffError
from tests.patterns.pattern import Pattern
from tests.patterns.tables import FAMILIES

POOLS: Final = {"zeros": [0.0, -0.0], "nan": [np.nan], "few nan": [np.nan, 1.0, -0.0, 2.0]}
_FREE: Final = (
    "fmax", "fmin", "nan", "median", "quantile", "percentile", "pad(x, ((1, 2)", "interp(period",
)  # fmt: skip
"""Of which NumPy's own result depends on the lane, or on the order in which equal numbers come."""
PATTERNS: Final = [
    pytest.param(p, id=f"{family}: {p.name}")
    for family in ("elementwise", "reductions", "shapes")
    for p in FAMILIES[family]
    if not any(word in p.name for word in _FREE) or "nanarg" in p.name
]


def planted(values: list[Any], pool: list[float]) -> list[Any]:
    """Return arguments with numbers of a pool in place of theirs."""
    random = np.random.default_rng(len(values))
    found = []
    for x in map(np.asarray, values):
        y: Any = x
        if x.dtype.kind in "fc":
            y = np.asarray(random.choice(pool, x.shape)).astype(x.dtype)
            if x.dtype.kind == "c":
                y.imag = random.choice(pool, x.shape)
        found.append(y)
    return found


def outcome(call: Callable[..., Any], xs: list[Any]) -> list[Any] | type[Exception] | None:
    """Return the arrays of a result, or the class of an exception; None where it is refused."""
    try:
        leaves = fd.pytree.flatten(call(*xs))[0]
        return [np.asarray(x) for x in leaves if fd.pytree.flatten(x)[0]]
    except FuncdiffError:
        return None
    except Exception as error:
        return type(error)


def assert_same(found: Any, expected: Any, *, signs: bool) -> None:
    if isinstance(expected, type) or isinstance(found, type):
        assert found == expected
        return
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
        for part in (np.real, np.imag):
            zero = (part(y) == 0) & signs
            assert np.array_equal(np.signbit(part(x)[zero]), np.signbit(part(y)[zero]))


@pytest.mark.thinned(16)
@pytest.mark.parametrize("p", PATTERNS)
def test_values_signs_and_errors_at_zeros_and_nan_are_numpys(p: Pattern) -> None:
    def function(*xs: Any) -> Any:
        return p.function(np, *xs)

    def of_batch(*xs: Any) -> Any:
        batches = [np.stack([x, x]) for x in xs]
        return fd.pytree.map(lambda y: np.asarray(y)[1], fd.vmap(function)(*batches))

    ways: list[Callable[..., Any]] = [fd.jit(function), of_batch]
    # Which of 0.0 and -0.0 is the larger depends on the order in memory and on the processor's
    # vectors, and ours puts `initial` beside the elements.
    signs = not re.search(r"(max|min)\(.*where=", p.name)
    for pool in POOLS.values():
        xs = planted(p.values(), pool)
        with np.errstate(all="ignore"):
            expected = outcome(function, xs)
            for way in ways[: 1 + p.batched]:
                found = outcome(way, xs)
                if found is not None:
                    assert_same(found, expected, signs=signs)
