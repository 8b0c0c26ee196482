"""Derivatives of spectra and factorizations, to be exported: by name, function and matrix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import funcdiff as fd

FROZEN: Final = Path(__file__).with_name("spectra.json")
"""Digests of the texts that were run, by target and name."""

A = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 3.0]])
HERMITIAN = A + 1j * (np.triu(A, 1) - np.triu(A, 1).T)
GENERAL = A + np.triu(A)
TALL = np.arange(12.0).reshape(4, 3) ** 1.5 / 7
REPEATED = np.diag([1.0, 1.0, 2.0])
WEIGHTS = np.arange(9.0).reshape(3, 3)


def _function(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return np.sum(WEIGHTS * ((v * np.exp(w)) @ v.T))


def _complement(a: Any) -> Any:
    q = np.linalg.qr(a, "complete")[0][:, 3:]
    return np.sum((q @ q.T) ** 2 * np.arange(16).reshape(4, 4))


def _least_squares(a: Any) -> Any:
    x = np.linalg.lstsq(a, np.array([1.0, 2.0, 3.0, 5.0]))[0]
    return np.sum(x**2)


CASES: Final[dict[str, tuple[Callable[[Any], Any], Any]]] = {
    "vectors of eigh": (lambda a: np.sum(np.linalg.eigh(a)[1] ** 4), A),
    "values of eigh": (lambda a: np.linalg.eigvalsh(a)[0] ** 2, A),
    "repeated values of eigh": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), np.eye(3)),
    "one of repeated values": (lambda a: np.linalg.eigvalsh(a)[0], np.eye(3)),
    "a function of a matrix": (_function, A),
    "a function of a matrix with repeated values": (_function, REPEATED),
    "Hermitian eigh": (lambda a: np.sum(np.abs(np.linalg.eigh(a)[1]) ** 4), HERMITIAN),
    "stacked eigh": (lambda a: np.sum(np.linalg.eigh(np.stack([a, 2 * a]))[1] ** 4), A),
    "vectors of svd": (lambda a: np.sum(np.linalg.svd(a, full_matrices=False)[0] ** 4), TALL),
    "values of svd": (lambda a: np.sum(np.sort(np.linalg.svdvals(a)) ** 2), TALL),
    "repeated values of svd": (lambda a: np.sum(np.linalg.svdvals(a) ** 3), REPEATED),
    "nuclear norm": (lambda a: np.linalg.norm(a, "nuc"), TALL),
    "values of eig": (lambda a: np.sum(np.linalg.eig(a)[0].real ** 2), GENERAL),
    "vectors of eig": (lambda a: np.sum(np.abs(np.linalg.eig(a)[1]) ** 4), GENERAL),
    "pinv": (lambda a: np.sum(np.linalg.pinv(a) ** 2), TALL),
    "lstsq": (_least_squares, TALL),
    "det": (np.linalg.det, A),
    "det of a singular matrix": (np.linalg.det, np.ones((3, 3))),
    "complete qr": (_complement, TALL),
    "cumprod": (lambda a: np.sum(np.cumprod(a, axis=1) ** 2), TALL),
    "partition": (lambda a: np.sum(np.partition(a, 1, axis=0)[:2] ** 2), TALL),
    "single precision": (lambda a: np.sum(np.linalg.eigh(a)[1] ** 4), A.astype(np.float32)),
}


def dependent(a: Any) -> Any:
    """Return what depends on the choice of eigenvectors where values are equal."""
    return np.linalg.eigh(a)[1][0, 0]


def exported(name: str, target: Any) -> Any:
    """Return the gradient of a case, as a function of the library."""
    f, a = CASES[name]
    return fd.export(fd.grad(f), target)(a)
