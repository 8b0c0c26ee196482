"""Ties and order statistics: those that are equal share."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.scipy import special
from tests.semantics.modes import gradient, slopes

WEIGHTS = np.array([1.0, 10, 100, 1000])
BOUNDED = np.array([-1.0, 0, 0.5, 1, 2])
SAMPLE = np.array([10.0, 0, 20, 5, 40])
XP, FP = np.array([0.0, 1, 3]), np.array([0.0, 2, 3])

test_those_that_are_equal_share = slopes({
    "equal maxima": [
        (f, [1.0, 3, 3, 2], [0, 0.5, 0.5, 0])
        for f in (
            np.max,
            lambda x: x.max(),
            lambda x: np.max(x, axis=0),
            lambda x: np.max(x, axis=-1, keepdims=True)[0],
            np.maximum.reduce,
            lambda x: -np.min(-x),
            lambda x: np.sum(np.max(x.reshape(2, 2).reshape(1, 4), axis=1)),
        )
    ],
    "maxima and the initial value": (
        lambda x: np.max(x[:3], initial=x[3]), [1.0, 3, 3, 3], [0, 1 / 3, 1 / 3, 1 / 3]
    ),
    "rows and columns of every norm": [
        (lambda x, p=p: np.linalg.norm(x, p), [[2.0, 0], [0, -2]], [[0.5, 0], [0, -0.5]])
        for p in (1, -1, np.inf, -np.inf)
    ],
    "equal minima": [
        (f, [1.0, 3, 1, 1], [1 / 3, 0, 1 / 3, 1 / 3])
        for f in (np.min, lambda x: np.min(x, axis=0), np.minimum.reduce)
    ],
    "along an axis": (
        lambda x: np.sum(np.max(x, axis=1) * np.array([1.0, 6])),
        [[1.0, 3, 3], [2, 2, 2]], [[0, 0.5, 0.5], [2, 2, 2]],
    ),
    "equal operands": [
        (lambda v, f=f: f(v[0], v[1]), [1.0, 1.0], [0.5, 0.5])
        for f in (np.maximum, np.minimum, np.fmax, np.fmin)
    ],
    "x with itself": [(lambda x, f=f: f(x, x), 3.0, 1) for f in (np.maximum, np.minimum)],
    "a rectifier at zero": (lambda x: np.sum(np.maximum(x, 0)), [-1.0, 0, 2], [0, 0.5, 1]),
    "a nan gets all": [
        (lambda v: np.maximum(v[0], v[1]), [np.nan, 1.0], [1, 0]),
        (lambda v: np.minimum(v[0], v[1]), [np.nan, 1.0], [1, 0]),
        (np.max, [1, np.nan, 2.0], [0, 1, 0]),
        (np.min, [np.nan, 1.0], [1, 0]),
    ],
    "a nan is ignored": [
        (lambda v: np.fmax(v[0], v[1]), [np.nan, 1.0], [0, 1]),
        (lambda v: np.fmin(v[0], v[1]), [np.nan, 1.0], [0, 1]),
    ],
    "clip on a bound": (lambda x: np.sum(np.clip(x, 0, 1)), BOUNDED, [0, 0.5, 1, 0.5, 0]),
    "clip in its bounds": (
        lambda v: np.sum(np.clip(np.array([-3.0, 0.5, 7, 8]), v[0], v[1])), [0.0, 1.0], [1, 2]
    ),
    "sort is the stable permutation": [
        (lambda x, f=f: np.sum(f(x) * WEIGHTS), [2.0, 1, 2, 1], [100, 1, 1000, 10])
        for f in (np.sort, lambda x: np.sort(x, kind="heapsort"),
                  lambda x: x[np.argsort(x, kind="stable")])
    ],
    "partition puts the weight where the element came from": (
        lambda x: np.partition(x, 2)[2] * 7, [4.0, 1, 3, 2], [0, 0, 7, 0]
    ),
    "interp has the right slope at a knot": (
        lambda x: np.sum(np.interp(x, XP, FP)), [0.0, 0.5, 1, 2], [2, 2, 0.5, 0.5]
    ),
    "interp is constant outside": (lambda x: np.sum(np.interp(x, XP, FP)), [-1.0, 4.0], [0, 0]),
    "the deviation of constants has derivative zero": [
        (f, [3.0, 3, 3, 3], np.zeros(4))
        for f in (np.std, lambda x: np.std(x, axis=0), lambda x: x.std())
    ],
    "the deviation of one element has derivative zero": (np.std, [3.0], [0]),
    "so have its square and that without NaN": [
        (f, x, np.zeros(len(x)))
        for x in ([2.0, 2, 2], [5.0])
        for f in (np.nanstd, lambda x: np.std(x) ** 2, lambda x: np.nanstd(x) ** 2)
    ],
    "differences of order zero": (lambda x: np.sum(np.diff(x, 0) * x), [3.0], [6]),
    "an array as both bounds": [
        (lambda v: np.clip(v[0], v[1], v[2]), [x, low, high], expected)
        for x, low, high, expected in ((1.0, 1, 2, [0.5, 0.5, 0]), (2.0, 1, 2, [0.5, 0, 0.5]),
                                       (1.0, 1, 1, [0.25, 0.25, 0.5]))
    ],
})  # fmt: skip

test_to_rounding_they_share = slopes({
    "the weight of a median": [
        (f, x, expected)
        for x, expected in (
            ([5.0, 1, 3], [0, 0, 1]),
            ([4.0, 1, 3, 2], [0, 0, 0.5, 0.5]),
            ([1.0, 2, 2, 3], [0, 0.5, 0.5, 0]),
            ([2.0, 2, 2, 9, 1], [1 / 3, 1 / 3, 1 / 3, 0, 0]),
            ([7.0, 7, 7, 7], [0.25, 0.25, 0.25, 0.25]),
        )
        for f in (np.median, np.nanmedian, lambda x: np.quantile(x, 0.5),
                  lambda x: np.nanpercentile(x, 50), lambda x: np.median(x, axis=0))
    ],
    "rows and columns of the spectral norms": [
        (lambda x, p=p: np.linalg.norm(x, p), [[2.0, 0], [0, -2]], [[0.5, 0], [0, -0.5]])
        for p in (2, -2)
    ],
    "a singular value of zero": (
        lambda x: np.sum(np.linalg.svdvals(x)), [[2.0, 0], [0, 0]], [[1, 0], [0, 0]]
    ),
    "a minimum of all elements": (
        lambda x: np.sum(np.min(x, axis=(0, 1), keepdims=True)),
        np.zeros((2, 3)), np.full((2, 3), 1 / 6),
    ),
    "sums of exponentials at infinity": [
        (f, [x, x], [0.5, 0.5])
        for f in (special.logsumexp, np.logaddexp.reduce) for x in (np.inf, -np.inf)
    ],
    "interp in its values": (lambda fp: np.interp(2.5, XP, fp), FP, [0, 0.25, 0.75]),
    # y = 2 + (x - a)/(b - a): dy/da = (x - b)/(b - a)², dy/db = -(x - a)/(b - a)²
    "interp in its knots": (lambda xp: np.interp(2.0, xp, FP), XP, [0, -0.25, -0.25]),
}, rtol=1e-15)  # fmt: skip

test_a_quantile_weighs_its_neighbours = slopes({
    "in its elements": (lambda x: np.quantile(x, 0.3), SAMPLE, [0.2, 0, 0, 0.8, 0]),
    "in its order": (lambda q: np.quantile(SAMPLE, q), 0.3, 4 * 5),
    "in its percentage": (lambda q: np.percentile(SAMPLE, q), 30.0, 0.2),
}, rtol=1e-14)  # fmt: skip


def test_clip_is_a_minimum_of_a_maximum_in_x_and_its_bounds() -> None:
    def clipped(v: Any) -> Any:
        return np.sum(np.clip(v[2:], v[0], v[1]) * np.arange(1.0, 6))

    def composed(v: Any) -> Any:
        return np.sum(np.minimum(np.maximum(v[2:], v[0]), v[1]) * np.arange(1.0, 6))

    v = np.concatenate([[0.0, 1.0], BOUNDED])
    np.testing.assert_array_equal(gradient(clipped, v), gradient(composed, v))


def test_xlogy_at_the_origin_is_finite_by_its_rule() -> None:
    assert np.isfinite(gradient(lambda x: special.xlogy(x, 0.0), 0.0))
    assert np.isfinite(gradient(lambda x: special.xlogy(x, x), 0.0))
