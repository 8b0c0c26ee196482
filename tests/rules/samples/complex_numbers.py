"""Samples of the operations on the parts of complex numbers."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.elementwise.complex import conj, imag, join, modulus
from funcdiff.ops.elementwise.complex import real as real_of
from funcdiff.space import mul
from tests.rules.sample import Sample, complex_, real, sample

SAMPLES: dict[str, list[Sample]] = {
    "real": [
        sample(real_of, complex_(2, 3)),
        sample(lambda z: real_of(mul(z, z)), complex_()),
        sample(real_of, np.complex64(complex_(2)), order=1),
    ],
    "imag": [sample(imag, complex_(2, 3)), sample(lambda z: imag(mul(z, z)), complex_())],
    "conj": [
        sample(conj, complex_(2, 3)),
        sample(lambda z: mul(conj(z), mul(z, z)), complex_(2)),
        sample(conj, complex_(0), order=1),
    ],
    "modulus": [
        sample(modulus, complex_(2, 3)),
        sample(lambda z: mul(modulus(z), modulus(mul(z, z))), complex_()),
        sample(modulus, np.complex64(complex_(2)), order=1),
    ],
    "join": [
        sample(join, real(2, 3), real(2, 3, start=9)),
        sample(lambda x: join(mul(x, x), x), real()),
        sample(join, np.float32(0.5), np.float32(-0.7), order=1),
    ],
}
