"""Samples of the operations that move elements; permutations are 3-cycles, shapes not square."""

from __future__ import annotations

import numpy as np

from funcdiff.ops.structure.slicing import (
    Slice,
    add_slice,
    overlap_add,
    shortened,
    slice_along,
    sliding_windows,
    take_slice,
    trimmed,
    unknown,
)
from funcdiff.ops.structure.structural import (
    concatenate,
    convert,
    iota,
    permute,
    reshape,
    reverse,
    select,
    stop_gradient,
)
from funcdiff.space import broadcast, mul, zeros
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

BOX = Slice((1, 0), (3, 4), (1, 3))
LAST = Slice((2, 0), (4, 3), (1, 1))
COMPLEX, SINGLE, INTEGER = np.dtype(complex), np.dtype("f4"), np.dtype("i8")

SAMPLES: dict[str, list[Sample]] = {
    "broadcast": [
        sample(lambda x: broadcast(x, (2, 4, 3), (0, 2)), real(2, 3)),
        sample(lambda x: broadcast(x, (3, 2), ()), complex_()),
        sample(lambda x: broadcast(x, (0, 3), (1,)), real(3), order=1),
        sample(lambda x: broadcast(x, (3, 2), (1,)), flags(2)),
    ],
    "reshape": [
        sample(lambda x: reshape(x, (3, 2)), real(2, 3)),
        sample(lambda x: reshape(x, (6,)), complex_(2, 1, 3)),
        sample(lambda x: reshape(x, ()), real(1, 1)),
        sample(lambda x: reshape(x, (0, 5)), real(0, 3), order=1),
    ],
    "sliding_windows": [
        sample(lambda x: sliding_windows(x, 1, 2), real(2, 5, 3)),
        sample(lambda x: sliding_windows(x, 0, 4), complex_(5, 2)),
        sample(lambda x: sliding_windows(x, 0, 0), real(3), order=1),
        sample(lambda x: sliding_windows(x, 0, 2), integers(4)),
    ],
    "overlap_add": [
        sample(lambda x: overlap_add(x, 0), real(4, 2, 3)),
        sample(lambda x: overlap_add(x, 1), complex_(3, 2, 4)),
        sample(lambda x: overlap_add(x, 0), integers(2, 5)),
    ],
    "permute": [
        sample(lambda x: permute(x, (1, 2, 0)), real(2, 3, 4)),
        sample(lambda x: permute(x, (2, 0, 1)), complex_(2, 1, 3)),
        sample(lambda x: permute(x, (1, 0)), integers(2, 3)),
    ],
    "convert": [
        sample(lambda x: convert(x, COMPLEX), real(2, 3)),
        sample(lambda z: convert(z, np.dtype(float)), complex_(3)),
        sample(lambda x: convert(x, SINGLE), np.float32(real(3)).astype(float), order=1),
        sample(lambda x: convert(x, np.dtype(float)), real(3).astype("f4")),
        sample(lambda x: convert(x, INTEGER), real(2, 3)),
        sample(lambda m: convert(m, np.dtype(float)), flags(3)),
    ],
    "select": [
        sample(lambda m, x, y: select(m, x, y), flags(2, 3), real(2, 3), real(2, 3, start=9)),
        sample(lambda m, x, y: select(m, x, y), flags(), complex_(), complex_(start=9)),
        sample(lambda m, x, y: select(m, mul(x, x), y), flags(5), real(5), real(5, start=9)),
    ],
    "concatenate": [
        sample(lambda x, y: concatenate([x, y, x], 1), real(2, 1), real(2, 3)),
        sample(lambda x, y: concatenate([x, y], 0), complex_(2), complex_(3)),
        sample(lambda x, y: concatenate([x, y], 0), real(0, 2), real(3, 2), order=1),
    ],
    "slice": [
        sample(lambda x: take_slice(x, BOX), real(4, 5)),
        sample(lambda x: slice_along(x, 0, 1, 6, 2), complex_(7)),
        sample(lambda x: slice_along(x, 1, 2, 2), real(2, 3), order=1),
    ],
    "add_slice": [
        sample(lambda x, u: add_slice(x, u, BOX), real(4, 5), real(2, 2, start=40)),
        sample(lambda x, u: add_slice(x, u, Slice((2,), (4,), (1,))), complex_(5), complex_(2)),
        sample(
            lambda x, u: add_slice(add_slice(mul(x, x), u, BOX), mul(u, u), BOX),
            real(4, 5),
            real(2, 2, start=40),
        ),
    ],
    "reverse": [
        sample(lambda x: reverse(x, (1,)), real(2, 3)),
        sample(lambda x: reverse(x, (0, 2)), real(2, 2, 3)),
        sample(lambda x: reverse(x, (0,)), complex_(3)),
    ],
    "stop_gradient": [
        sample(stop_gradient, flags(3)),
        sample(lambda x: mul(x, stop_gradient(np.floor(x))), real(2, 3)),
    ],
    "iota": [
        sample(lambda x: mul(x, convert(iota((2, 3), 1), x.dtype)), real(2, 3)),
        sample(lambda x: mul(x, convert(iota((2, 3), 0), x.dtype)), complex_(2, 3)),
    ],
    "trimmed": [sample(lambda x: trimmed(concatenate([zeros(x.type), x], 0), LAST), real(2, 3))],
    "shortened": [sample(lambda x, y: shortened(mul(x, x), y), real(2), real(3))],
    "unknown": [sample(unknown, real(2, 3), order=1)],
}
