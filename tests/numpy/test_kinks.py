"""Gradients at kinks, ties, zeros and holes: what is shared, what is zero, and what is infinite."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays."""
NAN, INF = np.nan, np.inf
TIED, KNOTS, HEIGHTS = [7.0, 2, 1, 2, 2], np.array([0.0, 1, 2]), np.array([0.0, 1, 4])
WOUND = np.array([0.0, 3.5, 7.5, 11.0, -2.0])
SINGULAR = (1, -1, 2, -2, INF, -INF)


def _singular_values(x: Any) -> Any:
    return np.sum(np.linalg.svdvals(x))


def _power(f: Callable[[Any], Any], power: int, x: Any) -> Any:
    return f(x) ** power


def _clipped(x: Any) -> Any:
    return NP.clip(x[0], x[1], x[2])


KINKS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "maxima along an axis": (
        lambda x: np.sum(np.max(x, axis=1)), [[1, 3, 3, 2], [1] * 4], [[0, 0.5, 0.5, 0], [0.25] * 4]
    ),
    "maxima and the initial value": (
        lambda x: np.max(x[:3], initial=x[3]), [1, 3, 3, 3], [0, 1 / 3, 1 / 3, 1 / 3]
    ),
    "a maximum that is NaN": (np.max, [1, NAN, 2], [0, 1, 0]),
    "a product with a zero": (np.prod, [0, 2, 3], [6, 0, 0]),
    "a product with two zeros": (np.prod, [0, 0, 3], [0, 0, 0]),
    "a cumulative product with a zero": (lambda x: np.sum(np.cumprod(x)), [2, 0, 3], [1, 8, 0]),
    "differences of order zero": (lambda x: np.sum(np.diff(x, 0) * x), [3], [6]),
    "what a mask leaves out": (lambda x: np.sum(x, where=x < 5), [1, NAN, INF], [1, 0, 0]),
    "squares that a mask leaves out": (
        lambda x: np.sum(x * x, where=[True, False, False]), [1, 2, 3], [2, 0, 0]
    ),
    "a mask of the array itself": (lambda x: np.sum(x**2, where=x > 1), [0, 1, 2, 3], [0, 0, 4, 6]),
    "a scalar along axes": (lambda x: np.sum(x, axis=0) + np.max(x, axis=-1), 2, 2),
    "the median of an even count": (NP.median, [1, 3, 3, 1], [0.25] * 4),
    **{
        f"entries equal to {name}": (f, TIED, [0, 1 / 3, 0, 1 / 3, 1 / 3])
        for name, f in (
            ("the median", np.median), ("the median without NaN", np.nanmedian),
            ("a quantile", partial(np.quantile, q=0.5)),
            ("a percentile", partial(np.nanpercentile, q=25)),
        )
    },
    **{
        f"{f.__name__} of {x} to the power {power}": (partial(_power, f, power), x, [0] * len(x))
        for f in (np.std, np.nanstd) for x in ([2, 2, 2], [5]) for power in (1, 2)
    },
    "the points of an interpolation": (
        lambda x: np.sum(np.interp(x, KNOTS, HEIGHTS)), [-1, 0, 1, 2, 3], [0, 1, 3, 0, 0]
    ),
    "the heights of an interpolation": (lambda y: np.interp(1.0, KNOTS, y), HEIGHTS, [0, 1, 0]),
    "the knots of an interpolation": (lambda t: np.interp(1.0, t, HEIGHTS), KNOTS, [0, -3, 0]),
    "unwrapped angles": (lambda x: np.sum(np.unwrap(x) * x), WOUND, np.unwrap(WOUND) + WOUND),
    "a lower bound": (_clipped, [1, 1, 2], [0.5, 0.5, 0]),
    "an upper bound": (_clipped, [2, 1, 2], [0.5, 0, 0.5]),
    "both bounds": (_clipped, [1, 1, 1], [0.25, 0.25, 0.5]),
    **{
        f"rows and columns of norm {order}": (
            partial(np.linalg.norm, ord=order), [[2, 0], [0, -2]], [[0.5, 0], [0, -0.5]]
        )
        for order in SINGULAR
    },
    "the largest element": (partial(np.linalg.norm, ord=INF), [3, -3, 1], [0.5, -0.5, 0]),
    "equal singular values": (_singular_values, np.eye(2, 3), np.eye(2, 3)),
    "no singular values": (_singular_values, np.zeros((3, 2)), np.zeros((3, 2))),
    "a singular value of zero": (_singular_values, [[2, 0], [0, 0]], [[1, 0], [0, 0]]),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", KINKS)
def test_both_modes_share_and_leave_out_alike(name: str) -> None:
    f, point, gradient = KINKS[name]
    x = np.asarray(point, float)[()]
    for derive in (fd.grad, fd.jacfwd, lambda f: fd.jit(fd.grad(f))):
        np.testing.assert_allclose(derive(f)(x), gradient, rtol=1e-15, atol=1e-15)
