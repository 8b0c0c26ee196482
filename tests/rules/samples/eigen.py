"""Samples of general eigenproblems: real with complex eigenvalues, complex, stacks, equal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.ops.elementwise.logic import greater
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.eigen import eig, eigvals, multiplicities
from funcdiff.ops.structure.structural import convert
from funcdiff.space import zeros
from tests.rules.sample import Sample, complex_, real, sample

SPREAD = np.array([[0.4, 0.7, -0.2], [-0.1, 2.1, 0.5], [0.3, -0.4, 4.0]])
TURNING = np.array([[1.2, -2.0, 0.3], [1.1, 0.9, 0.4], [0.2, -0.3, 3.0]])
STACK = np.stack([SPREAD, TURNING])
COMPLEX = np.diag([0.3 + 0.5j, 2.0 - 1.0j]) + 0.4 * complex_(2, 2)
PAIRED = np.array([1.5 + 0.5j, -2.0 + 0.0j, 1.5 + 0.5j])
BASIS = np.eye(3) + 0.3 * complex_(3, 3)


def _complex(a: Any) -> Any:
    return convert(a, np.dtype(complex))


def _guarded(x: Any, mask: Any, *, vectors: bool) -> Any:
    """Return `x`, of which nothing is missing."""
    return require_zero(
        x, greater(mask, zeros(mask.type)), "eigenvectors" if vectors else "eigenvalues"
    )


SAMPLES: dict[str, list[Sample]] = {
    "eig": [
        sample(eig, SPREAD),
        sample(eig, TURNING),
        sample(eig, STACK, order=1),
        sample(eig, COMPLEX),
    ],
    "eigvals": [
        sample(eigvals, SPREAD),
        sample(eigvals, TURNING, order=1),
        sample(eigvals, COMPLEX),
    ],
    "multiplicities": [sample(multiplicities, PAIRED, BASIS)],
    "require_zero": [
        sample(lambda x, m: _guarded(x, m, vectors=True), real(2, 3), -(real(2, 3) ** 2)),
        sample(lambda x, m: _guarded(_complex(x), m, vectors=False), real(3), -(real(3) ** 2)),
    ],
}
