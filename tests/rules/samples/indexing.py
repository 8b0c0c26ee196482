"""Samples of gather, scatter and replaced slices: repeated and negative positions, any axis."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.axes.indexing import gather, last_writes, places, scatter, scatter_add, take_along
from funcdiff.ops.structure.slicing import Slice, replace_slice
from funcdiff.space import mul
from tests.rules.sample import Sample, complex_, real, sample

REPEATED = np.array([2, 0, 2, -1])
MASK = np.array([[True, False, True], [False, True, False]])
ROWS, COLUMNS = np.array([[0, 1, 1], [1, 0, 1]]), np.array([[3, 0, 0], [-1, 2, 0]])

SAMPLES: dict[str, list[Sample]] = {
    "places": [
        sample(lambda x, m: gather(x, places(m, 3), (0, 1)), real(2, 3), MASK),
        sample(lambda x, m: gather(x, places(m, 0), (0,)), real(3), MASK[0] & MASK[1], order=1),
    ],
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
            lambda x, u, i: scatter_add(x, u, [i], (1,)), complex_(2, 3), complex_(4, 2, start=9),
            REPEATED,
        ),
        sample(
            lambda x, u, i, j: scatter_add(x, u, [i, j], (0, 2)), real(2, 3, 4),
            real(2, 3, 3, start=30), ROWS, COLUMNS,
        ),
        sample(
            lambda x, u, i: scatter_add(scatter_add(mul(x, x), u, [i], (0,)), mul(u, u), [i], (0,)),
            real(3), real(4, start=9), REPEATED,
        ),
        sample(lambda x, u, i: scatter_add(x, u, [i], (0,)), real(3), real(), np.int64(1)),
    ],
    "scatter": [
        sample(
            lambda x, v, i: scatter(x, v, [i], (0,), distinct=False),
            real(3, 2), real(4, 2, start=9), REPEATED,
        ),
        sample(
            lambda x, v, i: scatter(x, v, [i], (1,), distinct=True),
            complex_(2, 4), complex_(3, 2, start=9), np.array([2, 0, -1]),
        ),
        sample(
            lambda x, v, i, j: scatter(x, v, [i, j], (0, 2), distinct=False),
            real(2, 3, 4), real(2, 3, 3, start=30), ROWS, COLUMNS,
        ),
        sample(
            lambda x, v, i: scatter(mul(x, x), mul(v, v), [i], (0,), distinct=False),
            real(3), real(4, start=9), REPEATED,
        ),
        sample(
            lambda x, v, i: scatter(x, v, [i], (0,), distinct=True), real(3), real(), np.int64(1)
        ),
    ],
    "last_writes": [
        sample(lambda i: last_writes([i], (3,)), REPEATED, order=1),
        sample(lambda i, j: last_writes([i, j], (2, 4)), ROWS, COLUMNS, order=1),
    ],
    "replace_slice": [
        sample(
            lambda x, v: replace_slice(x, v, Slice((1, 0), (4, 3), (2, 1))),
            real(5, 4), real(2, 3, start=30),
        ),
        sample(lambda x, v: replace_slice(x, v, Slice((1,), (2,), (1,))), complex_(3), complex_(1)),
        sample(
            lambda x, v: replace_slice(mul(x, x), mul(v, v), Slice((0, 2), (2, 3), (1, 1))),
            real(2, 3), real(2, 1, start=9),
        ),
    ],
}  # fmt: skip
