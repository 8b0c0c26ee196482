"""Samples behind masked sums, order statistics, Bessel functions and sinc."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.axes.sorting import order_statistics
from funcdiff.ops.elementwise.mathematics import bessel_i0, bessel_i1, normalized_sinc
from funcdiff.ops.products.masked import masked_sum, sum_from
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

SAMPLES: dict[str, list[Sample]] = {
    "masked_sum": [
        sample(lambda x, m: masked_sum(x, m, (0, 2)), real(3, 2, 4), flags(3, 2, 4)),
        sample(lambda x, m: masked_sum(x, m, (0,)), complex_(5), flags(5)),
        sample(lambda x, m: masked_sum(x, m, (1,)), integers(2, 3), flags(2, 3)),
    ],
    "order_statistics": [
        sample(lambda x, k: order_statistics(x, k, 1), real(2, 5), integers(2, 3, low=0, high=5)),
        sample(lambda x, k: order_statistics(x, k, 0), real(20, 2), integers(18, 2, high=20)),
        sample(lambda x, k: order_statistics(x, k, 0), complex_(6), integers(2, high=6)),
        sample(lambda x, k: order_statistics(x, k, 0), integers(4, 2), integers(1, 2, high=4)),
    ],
    "sum_from": [
        sample(lambda s, x: sum_from(s, x, None, (0, 2)), real(start=9), real(3, 2, 4)),
        sample(lambda s, x, m: sum_from(s, x, m, (0,)), complex_(start=9), complex_(5), flags(5)),
        sample(lambda s, x: sum_from(s, x, None, (1,)), integers(start=9), integers(2, 3)),
        sample(lambda s, x: sum_from(s, x, None, ()), real(start=9), real(2, 3)),
    ],
    "bessel_i0": [sample(bessel_i0, real(4, low=0.4, high=9.0)), sample(bessel_i0, real())],
    "bessel_i1": [sample(bessel_i1, real(4, low=0.4, high=9.0)), sample(bessel_i1, real())],
    "sinc": [
        sample(normalized_sinc, np.array([0.0, 0.1, -0.15, 0.17, 1.0, -2.3])),
        sample(normalized_sinc, complex_(3)),
        sample(normalized_sinc, real()),
    ],
}
