"""Samples of the elementwise extrema at ties, where both operands share the derivative."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.elementwise.mathematics import fmax, fmin, maximum, minimum
from tests.rules.sample import Sample, sample

X, Y = np.array([1.0, 2.0, -0.5]), np.array([1.0, -1.0, -0.5])

SAMPLES: dict[str, list[Sample]] = {
    op.primitive.name: [sample(op, X, Y, order=1)] for op in (maximum, minimum, fmax, fmin)
}
