"""Samples of sorting and searching, along the first and the last axis."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.axes.sorting import argpartition, argsort, partition, searchsorted, sort
from tests.rules.sample import Sample, integers, real, sample

KNOTS = np.array([-1.5, -0.2, 0.3, 1.6])

SAMPLES: dict[str, list[Sample]] = {
    "sort": [
        sample(lambda x: sort(x, 1), real(2, 5)),
        sample(lambda x: sort(x, 0), real(3, 2)),
        sample(lambda x: sort(x, 0), real(0), order=1),
        sample(lambda x: sort(x, 0), integers(4)),
    ],
    "partition": [
        sample(lambda x: partition(x, 1, (2,)), real(2, 5)),
        sample(lambda x: partition(x, 0, (0, 3)), real(5, 2)),
    ],
    "argsort": [
        sample(lambda x: argsort(x, 1), real(2, 5)),
        sample(lambda x: argsort(x, 0), integers(4, 2)),
    ],
    "argpartition": [sample(lambda x: argpartition(x, 1, (2,)), real(2, 5))],
    "searchsorted": [
        sample(lambda a, v: searchsorted(a, v, "left"), KNOTS, real(3)),
        sample(lambda a, v: searchsorted(a, v, "right"), np.array([1, 2, 2, 5]), integers(2, 3)),
    ],
}
