"""Samples of what runs along axes: reductions, extrema, orders, recurrences, products of all."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.axes.accumulation import accumulate, recurrence, running_extremum
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
from funcdiff.ops.axes.sorting import (
    argpartition,
    argsort,
    order_statistics,
    origins,
    partition,
    searchsorted,
    sort,
)
from funcdiff.ops.elementwise.mathematics import (
    bessel_i0,
    bessel_i1,
    fmax,
    fmin,
    maximum,
    minimum,
    normalized_sinc,
)
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.products.masked import masked_sum, sum_from
from funcdiff.scipy.primitives.signal.recursion import recursion
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
        sample(lambda x: argmax(x, 1), real(2, 4)), sample(lambda x: argmax(x, 0), integers(3, 2)),
    ],
    "argmin": [
        sample(lambda x: argmin(x, 0), real(4, 2)), sample(lambda x: argmin(x, 1), flags(2, 3)),
    ],
    "cumsum": [
        sample(lambda x: cumsum(x, 1), real(2, 3)), sample(lambda x: cumsum(x, 0), complex_(3, 2)),
        sample(lambda x: cumsum(x, 0), real(0, 2), order=1),
        sample(lambda x: cumsum(x, 0), integers(4)),
    ],
    "cumprod": [
        sample(lambda x: cumprod(x, 1), real(2, 5)), sample(lambda x: cumprod(x, 1), ZEROS),
        sample(lambda x: cumprod(x, 0), complex_(3, 1)),
        sample(lambda x: cumprod(x, 0), integers(3)),
    ],
}  # fmt: skip


X, Y = np.array([1.0, 2.0, -0.5]), np.array([1.0, -1.0, -0.5])

SAMPLES |= {op.primitive.name: [sample(op, X, Y, order=1)] for op in (maximum, minimum, fmax, fmin)}


KNOTS = np.array([-1.5, -0.2, 0.3, 1.6])

SAMPLES |= {
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


SAMPLES |= {
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


TIES_RECURRENCE = np.array([1.0, -0.5, 3.0, 2.0, 3.0, 2.5])
RUNNING = {
    "running_maximum": np.maximum, "running_minimum": np.minimum, "running_fmax": np.fmax,
    "running_fmin": np.fmin,
}  # fmt: skip

SAMPLES |= {
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
                TIES_RECURRENCE if "max" in name else -TIES_RECURRENCE,
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


SAMPLES |= {
    "recursion": [
        sample(recursion, real(2, low=-0.6, high=0.7), real(2, 5)),
        sample(recursion, real(2, 3, low=-0.6, high=0.7), real(2, 4)),
        sample(recursion, complex_(1), complex_(3)),
        sample(recursion, real(4), real(2), order=1),
        sample(recursion, real(2), real(3, 0), order=1),
        sample(recursion, real(2).astype("f4"), real(4).astype("f4"), order=1),
    ]
}
