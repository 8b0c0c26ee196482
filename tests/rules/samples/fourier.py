"""Samples of the Fourier transforms: odd and even numbers of points, cropped and padded."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.products.fourier import Fourier, fft, ifft, irfft, rfft
from funcdiff.space import mul
from tests.rules.sample import Sample, complex_, real, sample

SAMPLES: dict[str, list[Sample]] = {
    "fft": [
        sample(lambda z: fft(z, Fourier(5, 0, "backward")), complex_(5)),
        sample(lambda x: fft(x, Fourier(3, 1, "forward")), real(2, 4, 3)),
        sample(lambda z: fft(mul(z, z), Fourier(6, 0, "ortho")), complex_(4, 2)),
        sample(lambda x: fft(x, Fourier(4, 0, "ortho")), real(3).astype("f4"), order=1),
        sample(lambda x: fft(x, Fourier(3, 1, "backward")), real(2, 0), order=1),
    ],
    "ifft": [
        sample(lambda z: ifft(z, Fourier(4, 0, "backward")), complex_(4)),
        sample(lambda x: ifft(x, Fourier(5, 1, "forward")), real(2, 3)),
        sample(lambda z: ifft(mul(z, z), Fourier(3, 0, "ortho")), complex_(5, 2)),
        sample(lambda z: ifft(z, Fourier(2, 1, "ortho")), complex_(0, 2), order=1),
    ],
    "rfft": [
        sample(lambda x: rfft(x, Fourier(5, 0, "backward")), real(5)),
        sample(lambda x: rfft(x, Fourier(6, 0, "forward")), real(6)),
        sample(lambda x: rfft(x, Fourier(4, 1, "ortho")), real(2, 7, 3)),
        sample(lambda x: rfft(mul(x, x), Fourier(7, 0, "forward")), real(4, 2)),
        sample(lambda x: rfft(x, Fourier(1, 0, "backward")), real(3)),
        sample(lambda x: rfft(x, Fourier(2, 0, "ortho")), real(3)),
        sample(lambda x: rfft(x, Fourier(4, 0, "ortho")), real(3).astype("f4"), order=1),
    ],
    "irfft": [
        sample(lambda z: irfft(z, Fourier(5, 0, "backward")), complex_(3)),
        sample(lambda z: irfft(z, Fourier(6, 0, "forward")), complex_(4)),
        sample(lambda z: irfft(z, Fourier(4, 1, "ortho")), complex_(2, 5, 3)),
        sample(lambda z: irfft(mul(z, z), Fourier(7, 0, "forward")), complex_(2, 2)),
        sample(lambda x: irfft(x, Fourier(8, 0, "backward")), real(4)),
        sample(lambda z: irfft(z, Fourier(1, 0, "ortho")), complex_(2)),
        sample(lambda z: irfft(z, Fourier(2, 0, "backward")), complex_(3)),
        sample(
            lambda z: irfft(z, Fourier(4, 0, "ortho")), complex_(3).astype(np.complex64), order=1
        ),
    ],
}
