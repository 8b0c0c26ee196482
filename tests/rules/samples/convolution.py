"""Samples of the convolution: full and valid, of equal and of different lengths."""

from __future__ import annotations

from funcdiff.ops.convolution import convolve
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

SAMPLES: dict[str, list[Sample]] = {
    "convolve": [
        sample(lambda x, y: convolve(x, y, full=True), real(5), real(3, start=9)),
        sample(lambda x, y: convolve(x, y, full=False), real(5), real(2, start=9)),
        sample(lambda x, y: convolve(x, y, full=False), real(5), real(4, start=9)),
        sample(lambda x, y: convolve(x, y, full=False), real(3), real(3, start=9)),
        sample(lambda x, y: convolve(x, y, full=True), complex_(2), complex_(4, start=9)),
        sample(lambda x, y: convolve(x, y, full=False), complex_(2, 4), complex_(2, 2)),
        sample(lambda x: convolve(x, x, full=True), real(4)),
        sample(lambda x, y: convolve(x, y, full=True), real(3, 1, 2), real(3, 1, 1, start=9)),
        sample(lambda x, y: convolve(x, y, full=True), real(0, 2), real(0, 2), order=1),
        sample(lambda x, y: convolve(x, y, full=False), integers(4), integers(2)),
        sample(lambda x, y: convolve(x, y, full=True), flags(4), flags(3)),
    ],
}
