"""All ways to the derivatives of every sample of the rules agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from funcdiff import pytree
from funcdiff.core.primitive import primitives
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


def cases(thinned: int, order: int = 0) -> list[ParameterSet]:
    """Return the samples that have derivatives of an order.

    Elementwise operations go the same ways and differ in their rules alone, which `test_rules`
    holds against differences to second order: few of them run, and of others one of every kind.
    """

    def marks(name: str) -> list[pytest.MarkDecorator]:
        if primitives[name.rsplit("-", 1)[0]].pointwise:
            return [pytest.mark.sampled(20), pytest.mark.thinned(thinned)]
        return [pytest.mark.sampled(10, kind=PRIMITIVE), pytest.mark.thinned(thinned)]

    return [
        pytest.param(entry, id=name, marks=marks(name))
        for name, entry in NAMED.items()
        if entry.order >= order
    ]


@pytest.mark.parametrize("entry", cases(thinned=250))
def test_all_ways_to_the_jacobian_and_some_hessians_of_a_sample_agree(
    entry: Sample, one_in: Callable[[int], bool]
) -> None:
    order = entry.order if one_in(16) else 1
    assert_every_way_agrees(*of_parts(*of_floats(entry)), order=order)


@pytest.mark.parametrize("entry", cases(thinned=400, order=2))
def test_all_ways_to_products_of_the_hessian_of_a_sample_and_a_vector_agree(entry: Sample) -> None:
    assert_products_agree(*of_floats(entry))
