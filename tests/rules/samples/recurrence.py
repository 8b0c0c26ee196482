"""Samples of recurrences and of the cumulative functions whose derivatives they are."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.axes.accumulation import accumulate, recurrence, running_extremum
from funcdiff.ops.axes.sorting import origins
from funcdiff.ops.families import by_ufunc
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

TIES = np.array([1.0, -0.5, 3.0, 2.0, 3.0, 2.5])
RUNNING = {
    "running_maximum": np.maximum, "running_minimum": np.minimum, "running_fmax": np.fmax,
    "running_fmin": np.fmin,
}  # fmt: skip

SAMPLES: dict[str, list[Sample]] = {
    "recurrence": [
        sample(lambda a, b: recurrence(a, b, 1), real(2, 7), real(2, 7, start=20)),
        sample(lambda a, b: recurrence(a, b, 0), complex_(4, 2), complex_(4, 2, start=20)),
        sample(lambda a, b: recurrence(a, b, 0), flags(6), real(6)),
        sample(lambda a, b: recurrence(a, b, 0), real(3, 300), real(3, 300), order=1),
        sample(lambda a, b: recurrence(a, b, 0), real(0, 2), real(0, 2), order=1),
    ],
    **{
        name: [
            sample(lambda x, ufunc=ufunc: running_extremum(ufunc, x, 1), real(2, 6)),
            sample(
                lambda x, ufunc=ufunc: running_extremum(ufunc, x, 0),
                TIES if "max" in name else -TIES,
                order=1,
            ),
            sample(lambda x, ufunc=ufunc: running_extremum(ufunc, x, 0), real(0, 2), order=1),
            sample(lambda x, ufunc=ufunc: running_extremum(ufunc, x, 0), integers(4)),
        ]
        for name, ufunc in RUNNING.items()
    },
    "accumulate": [
        sample(lambda x: accumulate(by_ufunc[np.hypot], x, 1), real(2, 5)),
        sample(lambda x: accumulate(by_ufunc[np.divide], x, 0), real(6, low=0.5, high=1.5)),
        sample(lambda x: accumulate(by_ufunc[np.power], x, 0), real(4, low=0.5, high=1.5)),
        sample(lambda x: accumulate(by_ufunc[np.subtract], x, 0), complex_(4, 2)),
        sample(lambda x: accumulate(by_ufunc[np.heaviside], x, 0), real(3), order=1),
        sample(lambda x: accumulate(by_ufunc[np.logaddexp], x, 0), real(1, 2), order=1),
        sample(lambda x: accumulate(by_ufunc[np.arctan2], x, 0), real(0, 2), order=1),
        sample(lambda x: accumulate(by_ufunc[np.remainder], x, 0), integers(4)),
    ],
    "origins": [
        sample(
            lambda x, y: origins(x, y, 1), np.array([[3, 1, 1, 2.0]]), np.array([[1, 3, 2, 1.0]])
        )
    ],
}
