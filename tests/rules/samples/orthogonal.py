"""Samples of orthogonal factors and spectra: QR, eigenvectors, roots of squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.types import BOOL
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.logic import greater
from funcdiff.ops.linalg.degeneracy import require_zero
from funcdiff.ops.linalg.general_eigen import eig, eigvals, multiplicities
from funcdiff.ops.linalg.matrices import adjoint, matmul
from funcdiff.ops.linalg.orthogonal import complement_gauge, diverge, qr
from funcdiff.ops.linalg.radial_functions import Radial, known, radial
from funcdiff.ops.structure.slicing import slice_along
from funcdiff.ops.structure.structural import convert
from funcdiff.space import zeros
from tests.rules.sample import Sample, body, complex_, real, sample


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
        sample(_reduced, real(3, 3)), sample(_reduced, real(4, 2, start=3)),
        sample(_reduced, real(2, 3)), sample(_reduced, complex_(3, 2)),
        sample(_reduced, complex_(2, 3), order=1), sample(_complete, real(4, 2, start=3)),
        sample(_complete, complex_(3, 2), order=1), sample(_complete, real(2, 3), order=1),
        sample(lambda a: qr(a, "raw"), real(3, 3)),
        sample(lambda a: qr(a, "raw"), real(4, 2, start=3)),
        sample(lambda a: qr(a, "raw"), real(2, 3)), sample(lambda a: qr(a, "raw"), complex_(3, 2)),
        sample(lambda a: qr(a, "raw"), complex_(2, 2), order=1),
        sample(lambda a: qr(a, "r"), real(3, 2)),
        sample(lambda a: qr(a, "r"), complex_(2, 2), order=1),
    ],
    "complement_gauge": [
        sample(lambda x: complement_gauge(x, 2, checked=False), real(3, 3)),
        sample(lambda x: complement_gauge(x, 4, checked=True), real(2, 3, 3)),
    ],
    "diverge": [sample(lambda x, n: diverge(x, convert(n, BOOL)), real(2, 3), real(2, 3) > 9)],
}  # fmt: skip


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


SAMPLES |= {
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
        sample(
            lambda x, n: require_zero(x, convert(n, BOOL), "reflectors"), real(2, 3), real(2, 3) > 9
        ),
    ],
}


SQUARES = np.array([0.4, 2.3, 1.1])


def _waves(r: Any, _s: Any, k: Any) -> Any:
    return (np.cos(k * r) * (1 + r),)


def _bells(r: Any, _s: Any, a: Any, b: Any) -> Any:
    return ((a + r) * np.exp(-b * r),)


def _bells_of_both(r: Any, s: Any, a: Any, b: Any) -> Any:
    return ((1 + r + a * s) * np.exp(-b * r),)


def _functions(f: Callable[..., Any], *, order: int, kink: bool) -> Callable[..., Any]:
    """Return what is known to be the function of a square and parameters that `f` is."""

    def function(s: Any, *parameters: Any) -> Any:
        numbers = [np.ones(()) for _ in range(2 + len(parameters))]
        r = ops.root_of_squares(s)
        (y,) = f(r, s, *parameters)
        if order:  # of g(r) = r⁴ that is 2·r²
            y = 2 * s
        return radial(Radial(body(f, *numbers), order, kink), [y, r, s, *parameters])

    return function


SAMPLES |= {
    "radial": [
        sample(_functions(_waves, order=0, kink=True), SQUARES, real(3)),
        sample(_functions(_waves, order=0, kink=False), SQUARES, np.array(0.7)),
        sample(_functions(_bells, order=0, kink=True), SQUARES, np.array(0.7), real(3)),
        sample(_functions(lambda r, _: (r**4,), order=1, kink=True), SQUARES),
        sample(_functions(_bells_of_both, order=0, kink=True), SQUARES, np.array(0.7), real(3)),
    ],
    "known": [sample(lambda x: known(2 * x, x + x), real(3, 2))],
}
