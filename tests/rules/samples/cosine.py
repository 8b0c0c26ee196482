"""Samples of the cosine and sine transforms: every type, with and without weights at the ends."""

from __future__ import annotations

from functools import partial

from funcdiff.scipy.primitives.signal.cosine import Cosine, transform
from tests.rules.sample import Sample, real, sample

SAMPLES: dict[str, list[Sample]] = {
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
