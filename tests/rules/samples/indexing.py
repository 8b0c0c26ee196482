"""Samples of gather and scatter: repeated and negative positions, several axes, the middle one."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.indexing import gather, scatter_add, take_along
from funcdiff.space import mul
from tests.rules.sample import Sample, complex_, real, sample

REPEATED = np.array([2, 0, 2, -1])
ROWS, COLUMNS = np.array([[0, 1, 1], [1, 0, 1]]), np.array([[3, 0, 0], [-1, 2, 0]])

SAMPLES: dict[str, list[Sample]] = {
    "gather": [
        sample(lambda x, i: gather(x, [i], (0,)), real(3, 2), REPEATED),
        sample(lambda x, i: gather(x, [i], (1,)), complex_(2, 3), REPEATED),
        sample(lambda x, i, j: gather(x, [i, j], (0, 2)), real(2, 3, 4), ROWS, COLUMNS),
        sample(lambda x, i: gather(mul(x, x), [i], (0,)), real(3), np.int64(-2)),
        sample(lambda x, i: gather(x, [i], (0,)), real(3, 2), REPEATED[:0], order=1),
        sample(lambda x, i: take_along(x, i, 1), real(2, 4), COLUMNS),
    ],
    "scatter_add": [
        sample(
            lambda x, u, i: scatter_add(x, u, [i], (0,)), real(3, 2), real(4, 2, start=9), REPEATED
        ),
        sample(
            lambda x, u, i: scatter_add(x, u, [i], (1,)),
            complex_(2, 3),
            complex_(4, 2, start=9),
            REPEATED,
        ),
        sample(
            lambda x, u, i, j: scatter_add(x, u, [i, j], (0, 2)),
            real(2, 3, 4),
            real(2, 3, 3, start=30),
            ROWS,
            COLUMNS,
        ),
        sample(
            lambda x, u, i: scatter_add(scatter_add(mul(x, x), u, [i], (0,)), mul(u, u), [i], (0,)),
            real(3),
            real(4, start=9),
            REPEATED,
        ),
        sample(lambda x, u, i: scatter_add(x, u, [i], (0,)), real(3), real(), np.int64(1)),
    ],
}
