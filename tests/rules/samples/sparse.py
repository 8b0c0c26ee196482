"""Samples of sparse products and systems: an entry missing, a row empty, rows unequally long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.structure.structural import concatenate
from funcdiff.scipy.primitives.linalg.sparse_systems import (
    SparseSystem,
    Turned,
    sample_product,
    sparse_product,
    sparse_solve,
)
from tests.rules.sample import Sample, complex_, real, sample

PATTERN = (0, 2, 3, 1), (0, 3, 3, 4)
SQUARE = (0, 2, 1, 0, 1, 2), (0, 2, 3, 6)
ENTRIES = np.array([2.0, 0.5, -1.5, 0.7, -0.4, 1.8])
LOWER = (0, 1, 0, 2), (0, 1, 2, 4)
WEIGHTS = np.array([2.0, -1.5, 0.7, 1.8])


def _places(*pattern: Sequence[int]) -> tuple[Tracer, Tracer]:
    """Return index arrays that are constants of the program: no rule may change them."""
    one = ArrayType((1,), np.dtype(np.int32))
    indices, indptr = (concatenate([constant(k, one) for k in part], 0) for part in pattern)
    return indices, indptr


def _product(*, turned: bool) -> Any:
    p = Turned(4, turned)
    return lambda data, x: sparse_product(p, data, *_places(*PATTERN), x)


def _sampled(u: Any, v: Any) -> Any:
    return sample_product(u, v, *_places(*PATTERN))


def _solution(*, turned: bool, triangle: str = "") -> Any:
    p = SparseSystem(turned, "", triangle)
    places = LOWER if triangle else SQUARE
    return lambda data, b: sparse_solve(p, data, *_places(*places), b)


SAMPLES: dict[str, list[Sample]] = {
    "sparse_product": [
        sample(_product(turned=False), real(4), real(4, 2)),
        sample(_product(turned=True), real(4), real(3, 1)),
        sample(_product(turned=False), complex_(2, 4), complex_(2, 4, 1)),
    ],
    "sample_product": [
        sample(_sampled, real(3, 2), real(4, 2, start=5)),
        sample(_sampled, complex_(2, 3, 1), complex_(2, 4, 1)),
    ],
    "sparse_solve": [
        sample(_solution(turned=False), ENTRIES, real(3, 2)),
        sample(_solution(turned=True), ENTRIES, real(3, 1)),
        sample(_solution(turned=True, triangle="lower"), WEIGHTS, real(3, 1)),
        sample(_solution(turned=False, triangle="lower"), WEIGHTS + 0.2j, complex_(3, 2)),
    ],
}
