"""Samples of transforms of sequences: Fourier's and cosines, convolutions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.ops.products.convolution import Convolution, convolve, sequences
from funcdiff.ops.products.fourier import Fourier, fft, ifft, irfft, rfft
from funcdiff.ops.products.masked import masked_convolve
from funcdiff.ops.structure.structural import select
from funcdiff.scipy.primitives.signal.cosine import Cosine, transform
from funcdiff.space import mul, zeros
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

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


SAMPLES |= {
    "cosine_transform": [
        sample(partial(transform, p=Cosine(name, kind, 1, norm, orthogonal)), real(2, 4))
        for name in ("dct", "dst")
        for kind, norm in ((2, "forward"), (3, "backward"), (1, "ortho"), (4, "backward"))
        for orthogonal in (False, True)
    ]
    + [
        sample(lambda x: transform(x, Cosine("dct", 1, 0, "forward", False)), real(2)),
        sample(lambda x: transform(x, Cosine("dst", 3, 0, "ortho", False)), real(1)),
        sample(
            lambda x: transform(x, Cosine("dct", 2, 0, "ortho", True)),
            real(3).astype("f4"),
            order=1,
        ),
    ]
}


def full(x: Tracer, y: Tracer) -> Tracer:
    return convolve(x, y, sequences(x.type, y.type, full=True))


def valid(x: Tracer, y: Tracer) -> Tracer:
    return convolve(x, y, sequences(x.type, y.type, full=False))


def by(labels: str, *axes: tuple[int, int, int, int, int]) -> Any:
    """Return a convolution of operands with labels like "bi,oi->bo" and (a, b, c, o, length)."""
    operands, out = labels.split("->")
    left, right = (tuple(map(ord, side)) for side in operands.split(","))
    steps = tuple(axis[:3] for axis in axes)
    offsets, lengths = tuple(axis[3] for axis in axes), tuple(axis[4] for axis in axes)
    p = Convolution(left, right, tuple(map(ord, out)), steps, offsets, lengths)
    return lambda x, y, mask=None: _convolved(x, y, mask, p)


def _convolved(x: Tracer, y: Tracer, mask: Tracer | None, p: Convolution) -> Tracer:
    """Convolve, if there is a mask, with its zeros in the first operand that it fits."""
    if mask is None:
        return convolve(x, y, p)
    if mask.shape == x.shape:
        return masked_convolve(select(mask, x, zeros(x.type)), y, mask, p, 0)
    return masked_convolve(x, select(mask, y, zeros(y.type)), mask, p, 1)


SAMPLES |= {
    "convolve": [
        sample(full, real(5), real(3, start=9)),
        sample(valid, real(5), real(2, start=9)),
        sample(valid, real(5), real(4, start=9)),
        sample(valid, real(3), real(3, start=9)),
        sample(full, complex_(2), complex_(4, start=9)),
        sample(valid, complex_(2, 4), complex_(2, 2)),
        sample(lambda x: full(x, x), real(4)),
        sample(full, real(3, 1, 2), real(3, 1, 1, start=9)),
        sample(full, real(0, 2), real(0, 2), order=1),
        sample(valid, integers(4), integers(2)),
        sample(full, flags(4), flags(3)),
        # a stride, a dilated kernel, unequal padding
        sample(by("bi,oi->bo", (1, -2, 3, -1, 3)), real(2, 3, 7), real(4, 3, 2, start=9)),
        sample(by("bi,oi->ob", (1, -1, 1, -2, 6)), complex_(2, 3, 5), complex_(2, 3, 2)),
        # the input dilated, so that strides of all three meet
        sample(by("i,oi->o", (2, -3, 1, -2, 6)), real(2, 4), real(3, 2, 2, start=9)),
        sample(by("i,oi->o", (3, -1, 2, -1, 4)), real(2, 4), real(3, 2, 3, start=9)),
        # turned around, and too far apart to meet at some places, or at all
        sample(by("b,->b", (-1, -2, 1, -5, 7)), real(3, 4), real(2, start=9)),
        sample(by(",o->o", (1, 1, 1, 4, 6)), real(5), real(2, 3, start=9)),
        sample(by("i,i->", (1, -1, 1, 30, 2)), real(2, 3), real(2, 2, start=9), order=1),
        # groups, a label that nobody shares, a kernel larger than the result
        sample(by("gbi,goi->bgo", (1, -1, 1, -1, 4)), real(2, 1, 2, 4), real(2, 3, 2, 3, start=9)),
        sample(by("bg,go->bgo", (1, -1, 1, 0, 2)), real(2, 3, 4), real(3, 1, 3, start=9)),
        # two axes and three
        sample(
            by("bi,oi->bo", (1, -1, 2, -1, 2), (1, -2, 1, 0, 3)),
            real(2, 2, 4, 5),
            real(3, 2, 3, 2, start=9),
        ),
        sample(
            by("i,oi->o", (1, -1, 1, 0, 2), (1, -1, 1, -1, 3), (1, -1, 2, 0, 1)),
            real(2, 3, 2, 2),
            real(1, 2, 2, 2, 2, start=9),
        ),
        sample(by("bi,oi->bo", (1, -1, 1, 0, 0)), real(2, 1, 2), real(3, 1, 3), order=1),
        sample(by("bi,oi->bo", (1, -1, 1, -1, 4)), real(2, 0, 3), real(3, 0, 2), order=1),
        sample(by("bi,oi->bo", (1, -1, 1, -1, 4)), integers(2, 2, 3), integers(3, 2, 2)),
        sample(by("bi,oi->bo", (1, -1, 1, -1, 4)), flags(2, 2, 3), flags(3, 2, 2)),
    ],
    "masked_convolve": [
        sample(by(",->", (1, 1, 1, 0, 7)), real(5), real(3, start=9), flags(5)),
        sample(by(",->", (1, 1, 1, 2, 3)), complex_(5), complex_(3, start=9), flags(3)),
        sample(by("bi,oi->bo", (1, -2, 3, -1, 3)), real(2, 3, 7), real(4, 3, 2), flags(2, 3, 7)),
        sample(
            by("bi,oi->ob", (1, -1, 2, -1, 2), (1, -2, 1, 0, 3)),
            real(2, 2, 4, 5),
            real(3, 2, 3, 2, start=9),
            flags(3, 2, 3, 2),
        ),
    ],
}
