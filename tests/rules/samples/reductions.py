"""Samples of reductions: zeros in products, ties among extrema, several axes, empty arrays."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.axes.reductions import (
    argmax,
    argmin,
    cumprod,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_count,
    reduce_max,
    reduce_min,
    reduce_prod,
)
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

TIES = np.array([[1.0, 3.0, 3.0, 2.0], [0.5, -1.0, 0.2, 0.5]])
ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, -1.5, 0.0]])

SAMPLES: dict[str, list[Sample]] = {
    "reduce_prod": [
        sample(lambda x: reduce_prod(x, (1,)), real(2, 5)),
        sample(lambda x: reduce_prod(x, (0, 2)), real(2, 2, 3)),
        sample(lambda x: reduce_prod(x, (1,)), ZEROS),
        sample(lambda x: reduce_prod(x, (0,)), complex_(3)),
        sample(lambda x: reduce_prod(x, (0,)), real(0, 2), order=1),
        sample(lambda x: reduce_prod(x, (0,)), integers(3, 2)),
    ],
    "reduce_max": [
        sample(lambda x: reduce_max(x, (0,)), real(3, 2)),
        sample(lambda x: reduce_max(x, (0, 2)), real(2, 2, 3)),
        sample(lambda x: reduce_max(x, (1,)), TIES[:1], order=1),
        sample(lambda x: reduce_max(x, (0,)), integers(3, 2)),
    ],
    "reduce_min": [
        sample(lambda x: reduce_min(x, (1,)), real(2, 3)),
        sample(lambda x: reduce_min(x, (0,)), -TIES[0], order=1),
        sample(lambda x: reduce_min(x, (0, 1)), flags(2, 3)),
    ],
    "reduce_all": [sample(lambda m: reduce_all(m, (1,)), np.array([[True, True], [False, True]]))],
    "reduce_any": [
        sample(lambda m: reduce_any(m, (0,)), np.array([[False, True], [False, False]]))
    ],
    "reduce_count": [
        sample(lambda m: reduce_count(m, (0,)), flags(3, 2)),
        sample(lambda m: reduce_count(m, (0, 1)), flags(2, 3)),
        sample(lambda m: reduce_count(m, (1,)), flags(2, 0)),
    ],
    "argmax": [
        sample(lambda x: argmax(x, 1), real(2, 4)),
        sample(lambda x: argmax(x, 0), integers(3, 2)),
    ],
    "argmin": [
        sample(lambda x: argmin(x, 0), real(4, 2)),
        sample(lambda x: argmin(x, 1), flags(2, 3)),
    ],
    "cumsum": [
        sample(lambda x: cumsum(x, 1), real(2, 3)),
        sample(lambda x: cumsum(x, 0), complex_(3, 2)),
        sample(lambda x: cumsum(x, 0), real(0, 2), order=1),
        sample(lambda x: cumsum(x, 0), integers(4)),
    ],
    "cumprod": [
        sample(lambda x: cumprod(x, 1), real(2, 5)),
        sample(lambda x: cumprod(x, 1), ZEROS),
        sample(lambda x: cumprod(x, 0), complex_(3, 1)),
        sample(lambda x: cumprod(x, 0), integers(3)),
    ],
}
