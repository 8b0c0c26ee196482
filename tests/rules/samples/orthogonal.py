"""Samples of QR: square, tall and wide, complex, complete; and what may turn or diverge.

The arbitrary columns of a complete Q are used through the projector on their space.
"""

from __future__ import annotations

from typing import Any

from funcdiff.core.types import BOOL
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.matrices import adjoint, matmul
from funcdiff.ops.linalg.orthogonal import complement_gauge, diverge, qr
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import convert
from tests.rules.sample import Sample, complex_, real, sample


def _reduced(a: Any) -> Any:
    return qr(a, "reduced")


def _complete(a: Any) -> Any:
    """Return the leading columns of Q, the projector on the others, and R."""
    (q, r), last = qr(a, "complete"), a.ndim - 1
    rank = min(a.shape[-2:])
    rest = slice_along(q, last, rank, q.shape[last])
    return slice_along(q, last, 0, rank), matmul(rest, adjoint(rest)), r


SAMPLES: dict[str, list[Sample]] = {
    "qr": [
        sample(_reduced, real(3, 3)),
        sample(_reduced, real(4, 2, start=3)),
        sample(_reduced, real(2, 3)),
        sample(_reduced, complex_(3, 2)),
        sample(_reduced, complex_(2, 3), order=1),
        sample(_complete, real(4, 2, start=3)),
        sample(_complete, complex_(3, 2), order=1),
        sample(_complete, real(2, 3), order=1),
        sample(lambda a: qr(a, "raw"), real(3, 3)),
        sample(lambda a: qr(a, "raw"), real(4, 2, start=3)),
        sample(lambda a: qr(a, "raw"), real(2, 3)),
        sample(lambda a: qr(a, "raw"), complex_(3, 2)),
        sample(lambda a: qr(a, "raw"), complex_(2, 2), order=1),
        sample(lambda a: qr(a, "r"), real(3, 2)),
        sample(lambda a: qr(a, "r"), complex_(2, 2), order=1),
    ],
    "complement_gauge": [
        sample(lambda x: complement_gauge(x, 2, checked=False), real(3, 3)),
        sample(lambda x: complement_gauge(x, 4, checked=True), real(2, 3, 3)),
    ],
    "require_zero": [
        sample(
            lambda x, n: require_zero(x, convert(n, BOOL), "reflectors"), real(2, 3), real(2, 3) > 9
        )
    ],
    "diverge": [sample(lambda x, n: diverge(x, convert(n, BOOL)), real(2, 3), real(2, 3) > 9)],
}
