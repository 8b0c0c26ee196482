"""Samples behind masked sums, order statistics, Bessel functions and sinc."""

from __future__ import annotations

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.ops.attained import attained
from funcdiff.ops.bessel import bessel_i0, bessel_i1
from funcdiff.ops.masked import masked_sum
from funcdiff.ops.sinc import normalized_sinc
from funcdiff.ops.slicing import Slice, take_slice
from funcdiff.ops.sorting import sort
from funcdiff.ops.structural import reshape, stop_gradient
from tests.rules.sample import Sample, complex_, flags, integers, real, sample


def _second_smallest(x: Tracer) -> Tracer:
    """Return the second smallest entry along the last axis of a matrix."""
    ordered = sort(stop_gradient(x), 1, "quicksort")
    rows = x.shape[0]
    found = take_slice(ordered, Slice((0, 1), (rows, 2), (1, 1)))
    return attained(x, reshape(found, (rows,)), 1)


SAMPLES: dict[str, list[Sample]] = {
    "masked_sum": [
        sample(lambda x, m: masked_sum(x, m, (0, 2)), real(3, 2, 4), flags(3, 2, 4)),
        sample(lambda x, m: masked_sum(x, m, (0,)), complex_(5), flags(5)),
        sample(lambda x, m: masked_sum(x, m, (1,)), integers(2, 3), flags(2, 3)),
    ],
    "attained": [sample(_second_smallest, real(2, 5)), sample(_second_smallest, integers(3, 4))],
    "bessel_i0": [sample(bessel_i0, real(4, low=0.4, high=9.0)), sample(bessel_i0, real())],
    "bessel_i1": [sample(bessel_i1, real(4, low=0.4, high=9.0)), sample(bessel_i1, real())],
    "sinc": [
        sample(normalized_sinc, np.array([0.0, 0.1, -0.15, 0.17, 1.0, -2.3])),
        sample(normalized_sinc, complex_(3)),
        sample(normalized_sinc, real()),
    ],
}
