"""All ways to the derivatives of every sample of the rules agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcdiff import pytree
from funcdiff.numpy.border.promotion import array
from tests.properties.every_way import assert_every_way_agrees, assert_products_agree, of_parts
from tests.rules.sample import PRIMITIVE, Sample
from tests.rules.test_rules import NAMED


def of_floats(entry: Sample) -> tuple[Callable[..., list[Any]], list[Any]]:
    """Return a sample as a function of its floating and complex arguments alone, and these."""
    places = [k for k, x in enumerate(entry.args) if np.asarray(x).dtype.kind in "fc"]

    def function(*xs: Any) -> list[Any]:
        args = [*entry.args]
        for k, x in zip(places, xs, strict=True):
            args[k] = x
        return [array(y) for y in pytree.flatten(entry.f(*map(array, args)))[0]]

    return function, [entry.args[k] for k in places]


@pytest.mark.thinned(320)
@pytest.mark.sampled(5, kind=PRIMITIVE)
@pytest.mark.parametrize("entry", NAMED.values(), ids=NAMED)
def test_all_ways_to_the_jacobian_and_some_hessians_of_a_sample_agree(
    entry: Sample, one_in: Callable[[int], bool]
) -> None:
    order = entry.order if one_in(8) else 1
    assert_every_way_agrees(*of_parts(*of_floats(entry)), order=order)


SMOOTH = {name: entry for name, entry in NAMED.items() if entry.order > 1}


@pytest.mark.thinned(160)
@pytest.mark.sampled(5, kind=PRIMITIVE)
@pytest.mark.parametrize("entry", SMOOTH.values(), ids=SMOOTH)
def test_all_ways_to_products_of_the_hessian_of_a_sample_and_a_vector_agree(entry: Sample) -> None:
    assert_products_agree(*of_floats(entry))
