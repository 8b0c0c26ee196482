"""Samples of recursive filters: of several orders, with coefficients for each sequence."""

from __future__ import annotations

from funcdiff.scipy.primitives.signal.recursion import recursion
from tests.rules.sample import Sample, complex_, real, sample

SAMPLES: dict[str, list[Sample]] = {
    "recursion": [
        sample(recursion, real(2, low=-0.6, high=0.7), real(2, 5)),
        sample(recursion, real(2, 3, low=-0.6, high=0.7), real(2, 4)),
        sample(recursion, complex_(1), complex_(3)),
        sample(recursion, real(4), real(2), order=1),
        sample(recursion, real(2), real(3, 0), order=1),
        sample(recursion, real(2).astype("f4"), real(4).astype("f4"), order=1),
    ]
}
