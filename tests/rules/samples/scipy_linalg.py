"""Samples of SciPy's linear algebra: structured systems, LU, bands, equations, functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.ops.linalg.matrices import hermitian
from funcdiff.ops.linalg.routines import scipy_constant
from funcdiff.scipy.primitives.linalg.band_systems import banded_solve
from funcdiff.scipy.primitives.linalg.general_functions import general_function
from funcdiff.scipy.primitives.linalg.lu import ldl, lu_factor, permutation
from funcdiff.scipy.primitives.linalg.riccati import riccati, sylvester
from funcdiff.scipy.primitives.linalg.schur import below_blocks, schur
from funcdiff.scipy.primitives.linalg.structured import (
    structured_inv,
    structured_solve,
    toeplitz_solve,
)
from tests.rules.sample import Sample, complex_, integers, real, sample

REGULAR = 3.0 * np.eye(3) + real(3, 3, low=-0.7, high=0.8)
POSITIVE = REGULAR @ REGULAR.T
STACK = 3.0 * np.eye(2) + real(2, 2, 2, low=-0.7, high=0.8)
COMPLEX = 3.0 * np.eye(2) + 0.4 * complex_(2, 2)
INDEFINITE = np.array([[0.1, 2.0, 1.3], [2.0, 0.2, 0.4], [1.3, 0.4, -1.1]])
TURNING = np.array([[0.7, -1.9, 0.3], [0.4, 0.2, 1.1], [0.1, 0.5, 3.2]])
QUASI = np.array([[0.7, 1.9, 0.3], [-0.4, 0.7, 1.1], [0.0, 0.0, 3.2]])
BAND = np.array([[0.3], [4.0], [-0.8], [0.5]]) + real(4, 5, low=-0.2, high=0.3)
WEIGHT = np.array([[2.0]])
SMALL = real(2, 2, low=-0.5, high=0.4)
GENERAL = (SMALL, real(2, 1), STACK[1], WEIGHT, np.eye(2) + 0.1 * real(2, 2), 0.1 * real(2, 1))


def _solve(a: Any, b: Any, kind: str, *, lower: bool = True) -> Any:
    if kind == "symmetric":
        a = (a + a.T) / 2
    if kind in ("hermitian", "positive definite"):
        a = hermitian(a)
    return structured_solve(a, b, kind=kind, lower=lower)


def _banded(ab: Any, b: Any, *, turned: bool = False) -> Any:
    return banded_solve(ab, b, lower=2, upper=1, turned=turned)


def _positive_band(ab: Any, b: Any) -> Any:
    """Solve a symmetric system of which one diagonal is above the main one."""
    full: Any = np.stack([np.concatenate([ab[1, -1:], ab[1, :-1]]), ab[0], ab[1]])
    return banded_solve(full, b, lower=1, upper=1, positive=True)


def _riccati(a: Any, b: Any, q: Any, r: Any, *others: Any, discrete: bool) -> Any:
    e, s = (*others, None, None)[:2]
    xs = [a, b, hermitian(q), hermitian(r)]
    return riccati(xs, e, s, discrete=discrete, balanced=False)


SAMPLES: dict[str, list[Sample]] = {
    "structured_solve": [
        sample(lambda a, b: _solve(a, b, "positive definite"), POSITIVE, real(3, 2)),
        sample(lambda a, b: _solve(a, b, "symmetric"), COMPLEX, complex_(2, 1)),
        sample(lambda a, b: _solve(a, b, "upper triangular"), np.triu(REGULAR), real(3, 2)),
        sample(lambda a, b: _solve(a, b, "general"), STACK, real(2, 2, 1), order=1),
    ],
    "structured_inv": [
        sample(lambda a: structured_inv(hermitian(a), kind="hermitian", lower=False), POSITIVE),
        sample(lambda a: structured_inv(a, kind="general", lower=False), STACK, order=1),
    ],
    "lu_factor": [
        sample(lambda a: lu_factor(a)[0], REGULAR[[1, 2, 0]]),
        sample(lambda a: lu_factor(a)[0], real(2, 3, 2)),
        sample(lambda a: lu_factor(a)[0], complex_(2, 3)),
    ],
    "permutation": [sample(lambda n: permutation(n, 7), integers(2, 4))],
    "scipy_constant": [
        sample(lambda a: scipy_constant("bandwidth", (((), "<i8"), ((), "<i8")), a), STACK)
    ],
    "banded_solve": [
        sample(_banded, BAND, real(5, 2)),
        sample(lambda a, b: _banded(a, b, turned=True), BAND + 0.2j * BAND[::-1], complex_(5, 1)),
        sample(lambda a, b: banded_solve(a, b, lower=0, upper=1), BAND[[0, 1]], real(5, 2)),
        sample(_positive_band, BAND[1:3], real(5, 1)),
    ],
    "toeplitz_solve": [
        sample(toeplitz_solve, np.array([0.3, -0.7, 4.0, 0.9, 0.4]), real(3, 2)),
        sample(toeplitz_solve, np.array([0.3 + 1j, 4.0, 0.9]), complex_(2, 1)),
    ],
    "sylvester": [
        sample(sylvester, REGULAR, STACK[0], real(3, 2)),
        sample(sylvester, COMPLEX, COMPLEX.T + 1j, complex_(2, 2)),
    ],
    "ldl": [
        sample(lambda a: ldl(hermitian(a), lower=True, hermitian=True)[:2], INDEFINITE),
        sample(lambda a: ldl(a + a.T, lower=False, hermitian=False)[:2], COMPLEX),
    ],
    "schur": [
        sample(lambda a: schur(a, ""), TURNING),
        sample(lambda a: schur(a, "lhp")[:2], REGULAR - 3 * np.eye(3), order=1),
    ],
    "schur_rotation": [
        sample(below_blocks, QUASI, real(3, 3), order=1),
        sample(lambda t, x: below_blocks(np.triu(t), x, turned=True), COMPLEX, complex_(2, 2)),
    ],
    "riccati": [
        sample(lambda *xs: _riccati(*xs, discrete=False), SMALL, real(2, 1), STACK[0], WEIGHT),
        sample(lambda *xs: _riccati(*xs, discrete=True), *GENERAL, order=1),
    ],
    "general_function": [
        sample(lambda a: general_function("expm", a)[0], SMALL),
        sample(lambda a, t: general_function("sqrtm", a, t)[0], REGULAR, real(3, 3), order=1),
        sample(lambda a: general_function("expm", a)[0], 0.3 * complex_(2, 2)),
    ],
}
