"""Every call pattern: NumPy's value, both modes, two orders, batches, float32, and the peers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.testing import check_grads
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.patterns.pattern import FUNCTION, Pattern, directions, smooth, weights
from tests.patterns.tables import FAMILIES
from tests.together import together

PATTERNS = [
    pytest.param(family, p, id=f"{family}: {p.name}")
    for family, patterns in FAMILIES.items()
    for p in patterns
]
every_pattern = pytest.mark.parametrize(("family", "p"), PATTERNS)


def leaves(tree: Any) -> list[Any]:
    return fd.pytree.flatten(tree)[0]


def of_floats(p: Pattern, values: list[Any]) -> tuple[Callable[..., list[Any]], list[Any]]:
    """Return the pattern as a function of its floating arguments alone, and these."""
    places = smooth(values)

    def function(*xs: Any) -> list[Any]:
        changed = list(values)
        for k, x in zip(places, xs, strict=True):
            changed[k] = x
        results = leaves(p.function(np, *changed))
        return [y for y in results if y.dtype.kind in "fc"]

    return function, [values[k] for k in places]


def gradient(p: Pattern, values: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Return x ↦ Jᴴ·w of the floating arguments, and these."""
    function, xs = of_floats(p, values)
    cotangents = weights(function(*xs))

    def pulled(*xs: Any) -> Any:
        _, pull = fd.vjp(function, *xs)
        return pull([w.astype(y.dtype)[()] for w, y in zip(cotangents, function(*xs), strict=True)])

    return pulled, xs


@together
@pytest.mark.thinned(4)
@every_pattern
def test_the_value_is_numpys(family: str, p: Pattern) -> None:
    assert_value(partial(p.function, np), *p.values(), digits=None if p.exact else 12)


@pytest.mark.slow
@together
@every_pattern
def test_both_modes_agree(family: str, p: Pattern) -> None:
    function, xs = of_floats(p, p.values())
    assert_derivatives(function, *xs, order=1)


@pytest.mark.slow
@pytest.mark.sampled(24, kind=FUNCTION)
@every_pattern
def test_both_modes_agree_with_differences_in_every_direction(family: str, p: Pattern) -> None:
    function, xs = of_floats(p, p.values())
    check_grads(function, xs, order=p.order)


@pytest.mark.thinned(48)
@pytest.mark.sampled(12, kind=FUNCTION)
@every_pattern
def test_a_batch_is_a_loop(family: str, p: Pattern) -> None:
    if not p.batched:
        return
    pulled, xs = gradient(p, p.values())
    batch = [np.stack([x * (1 + k / 64) for k in range(3)]) for x in xs]
    found = fd.vmap(pulled)(*batch)
    expected = [pulled(*(x[k] for x in batch)) for k in range(3)]
    for k, g in enumerate(found):
        loop = np.stack([row[k] for row in expected])
        np.testing.assert_allclose(g, loop, rtol=1e-9, atol=1e-9 * max(1.0, abs(loop).max()))


@pytest.mark.thinned(48)
@pytest.mark.sampled(12, kind=FUNCTION)
@every_pattern
def test_float32_stays_float32(family: str, p: Pattern) -> None:
    values = p.values()
    double, xs = gradient(p, values)
    single, ys = gradient(p, [single_precision(x) for x in values])
    for x, found, expected in zip(ys, single(*ys), double(*xs), strict=True):
        assert found.dtype == x.dtype
        scale = math.sqrt(np.finfo(np.float32).eps) * max(1.0, abs(expected).max(initial=0.0))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=scale)


def single_precision(x: Any) -> Any:
    return x.astype({"f": np.float32, "c": np.complex64}.get(x.dtype.kind, x.dtype))


# ---- peers ---------------------------------------------------------------------------------------

FROZEN = {
    file.stem: json.loads(file.read_text())
    for file in sorted((Path(__file__).parent / "oracles").glob("*.json"))
}
COMPARED = [
    pytest.param(family, p, id=f"{family}: {p.name}")
    for family, patterns in FAMILIES.items()
    for p in patterns
    if p.name in FROZEN.get(family, {})
]


@pytest.mark.thinned(32)
@pytest.mark.sampled(2, kind=FUNCTION)
@pytest.mark.parametrize(("family", "p"), COMPARED)
def test_a_peer_agrees(family: str, p: Pattern) -> None:
    frozen = FROZEN[family][p.name]
    pulled, xs = gradient(p, p.values())
    second = fd.jvp(pulled, tuple(xs), tuple(directions(xs)))[1]
    for key, found in (("gradient", pulled(*xs)), ("curvature", second)):
        for g, numbers in zip(found, frozen.get(key, found), strict=True):
            expected = np.asarray(numbers).view(g.dtype).reshape(g.shape)
            scale = max(1.0, abs(expected).max(initial=0.0))
            np.testing.assert_allclose(g, expected, rtol=1e-8, atol=1e-9 * scale)


def test_no_frozen_value_is_of_an_unknown_pattern() -> None:
    for family, frozen in FROZEN.items():
        assert set(frozen) <= {p.name for p in FAMILIES[family]}


def test_names_are_unique_in_a_family() -> None:
    for patterns in FAMILIES.values():
        names = [p.name for p in patterns]
        assert len(set(names)) == len(names)
