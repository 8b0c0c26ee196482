"""Covariances of a container in the forms in which users have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.errors import InputError, user_location
from funcdiff.uncertainty.coordinates import Coordinates

_DISPLACED: Final = 16
"""Displacements, at most; all there are of up to five numbers."""


@dataclass(frozen=True)
class Covariance:
    """A covariance of n numbers: variances, a matrix with a factor, or an operator."""

    at: Coordinates
    variances: Any = None  # None for matrices and operators
    whole: Any = None
    root: Any = None  # of a matrix

    def times(self, M: Any) -> Any:
        """Return the product with a matrix of n rows."""
        if self.variances is not None:
            return self.variances[:, None] * M
        return self.whole @ M

    def block(self, part: slice) -> Any:
        """Return the covariance of some of the numbers alone."""
        if self.variances is not None:
            return np.diag(self.variances[part])
        if isinstance(self.whole, np.ndarray):
            return self.whole[part, part]
        columns = np.eye(self.whole.shape[0])[:, part]
        return (self.whole @ columns)[part]

    @cached_property
    def factor(self) -> Any:
        """L of shape (n, r) with C = L·Lᵀ."""
        if self.variances is not None:
            return np.diag(np.sqrt(self.variances))[:, self.variances > 0]
        if self.root is not None:
            return self.root
        return _semidefinite(self.whole @ np.eye(self.whole.shape[0]), self.at).root

    def displacements(self) -> Any:
        """Return displacements by a deviation of each number, of either sign, as columns.

        Over all combinations of signs, the mean square of a linear function is its variance.  Where
        there are many numbers, some combinations are drawn; that does not matter to a function of
        one of them.
        """
        if self.variances is None:
            return self.factor @ _signs(self.factor.shape[1])
        uncertain = self.variances > 0
        signs = _signs(int(np.count_nonzero(uncertain)))
        found = np.zeros((len(uncertain), signs.shape[1]))
        found[uncertain] = np.sqrt(self.variances[uncertain])[:, None] * signs
        return found


def _signs(r: int) -> Any:
    """Return the combinations of r signs as columns, but for the sign of all."""
    if 2 ** (r - 1) <= _DISPLACED:
        bits = np.arange(2 ** max(r - 1, 0)) >> np.arange(r)[:, None]
        return 1.0 - 2.0 * (bits & 1)
    return 1.0 - 2.0 * np.random.default_rng(0).integers(2, size=(r, _DISPLACED), dtype=np.int8)


def covariance(cov: Any, std: Any, at: Coordinates) -> Covariance:
    """Return the covariance that was given as standard deviations or in one of the other forms."""
    n = at.parts[-1].stop if at.parts else 0
    if (cov is None) == (std is None):
        raise InputError(
            f"fd.propagate takes one of cov= and std=, at {user_location()}: write cov=C for "
            "variances, matrices and operators, std=u for standard deviations."
        )
    if std is not None:
        blocks = [_like(u, s, p) for u, s, p in _by_leaf(std, at)]
        u = np.concatenate(blocks) if blocks else np.zeros(0)
        return Covariance(at, _not_negative(u, "a standard deviation", at) ** 2)
    if hasattr(cov, "matvec"):
        return Covariance(at, None, _square(cov, n))
    if isinstance(cov, np.ndarray) and cov.shape == (n, n) and at.shapes != ((n, n),):
        return _semidefinite(cov, at)
    if at.structure == pytree.flatten(cov)[1]:
        return _of_blocks(_by_leaf(cov, at), n, at)
    return _semidefinite(_of_nested(cov, n, at), at)


def _by_leaf(tree: Any, at: Coordinates) -> list[tuple[Any, tuple[int, ...], str]]:
    leaves, structure = pytree.flatten(tree)
    if structure != at.structure:
        raise InputError(
            f"uncertainties have the structure {structure}, but the point has {at.structure}, at "
            f"{user_location()}. Give one entry per leaf of the point, 0.0 for what is exact."
        )
    return [(np.asarray(x, float), *rest) for x, *rest in zip(leaves, at.shapes, at.paths)]  # type: ignore[misc]  # noqa: B905


def _like(u: Any, shape: tuple[int, ...], path: str) -> Any:
    if u.shape not in ((), shape):
        raise InputError(
            f"the uncertainty of x{path} has shape {u.shape}, but the leaf has {shape}, at "
            f"{user_location()}. Give one number for all elements, or one for each."
        )
    return np.broadcast_to(u, shape).reshape(-1)


def _of_blocks(leaves: Sequence[Any], n: int, at: Coordinates) -> Covariance:
    """Return the covariance of independent leaves, by variances or a matrix for each."""
    size = [int(np.prod(shape)) for shape in at.shapes]
    full = [
        x.ndim > 0 and x.shape != s and x.shape in ((k, k), s + s)
        for (x, s, _), k in zip(leaves, size, strict=True)
    ]
    if not any(full):
        flat = [_like(*leaf) for leaf in leaves]
        v = np.concatenate(flat) if flat else np.zeros(0)
        return Covariance(at, _not_negative(v, "a variance", at))
    whole = np.zeros((n, n))
    for part, k, dense, leaf in zip(at.parts, size, full, leaves, strict=True):
        whole[part, part] = leaf[0].reshape(k, k) if dense else np.diag(_like(*leaf))
    return _semidefinite(whole, at)


def _of_nested(cov: Any, n: int, at: Coordinates) -> Any:
    """Return blocks by leaf and leaf, as a Hessian has them, as one matrix."""
    leaves = [np.asarray(x, float) for x in pytree.flatten(cov)[0]]
    whole, blocks = np.zeros((n, n)), iter(leaves)
    if len(leaves) != len(at.parts) ** 2 or sum(x.size for x in leaves) != n * n:
        raise InputError(
            f"cov= is neither a matrix of shape ({n}, {n}), nor a container like the point, "
            f"{at.structure}, nor such a container of such containers, at {user_location()}. Give "
            "variances or blocks by leaf, or the matrix of all elements in the order of the leaves."
        )
    for row in at.parts:
        for column in at.parts:
            shape = (row.stop - row.start, column.stop - column.start)
            whole[row, column] = next(blocks).reshape(shape)
    return whole


def _not_negative(v: Any, what: str, at: Coordinates) -> Any:
    bad = ~(v >= 0)
    if np.any(bad):
        k = int(np.argmax(bad))
        raise InputError(
            f"{what} of x{at.name(k)} is {v[k]}, at {user_location()}. Give numbers from 0 on; "
            "0 stands for what is exact."
        )
    return v


def _square(operator: Any, n: int) -> Any:
    if operator.shape != (n, n):
        raise InputError(
            f"the operator cov= has shape {operator.shape}, but the point has {n} elements, at "
            f"{user_location()}. Give one of shape ({n}, {n})."
        )
    a, b = np.random.default_rng(0).standard_normal((2, n))
    Ca, Cb = operator.matvec(a), operator.matvec(b)
    one, other = a @ Cb, b @ Ca
    if not abs(one - other) <= 1e-8 * (np.linalg.norm(a) * np.linalg.norm(Cb)):
        raise InputError(
            f"the operator cov= is not symmetric: for two vectors drawn, a @ (C @ b) is {one:.6g}, "
            f"but b @ (C @ a) is {other:.6g}, at {user_location()}. A covariance is symmetric."
        )
    if not (a @ Ca >= -1e-8 * np.linalg.norm(a) * np.linalg.norm(Ca)):
        raise InputError(
            f"the operator cov= is not a covariance: for a vector drawn, a @ (C @ a) is "
            f"{a @ Ca:.6g}, at {user_location()}. Give a positive semidefinite one."
        )
    return operator


def _semidefinite(C: Any, at: Coordinates) -> Covariance:
    scale = np.max(np.abs(C), initial=0.0)
    if not np.allclose(C, C.T, rtol=0, atol=1e-8 * scale):
        raise InputError(f"cov= is not symmetric, at {user_location()}: give (C + C.T) / 2.")
    try:
        return Covariance(at, None, C, np.linalg.cholesky(C))
    except np.linalg.LinAlgError:
        w, V = np.linalg.eigh(C)
    if w[0] < -1e-8 * scale:
        name = at.name(int(np.argmax(np.abs(V[:, 0]))))
        raise InputError(
            f"cov= is not a covariance: it has the eigenvalue {w[0]:.3g}, mostly along x{name}, "
            f"at {user_location()}. Give a positive semidefinite matrix."
        )
    kept = w > len(C) * np.finfo(w.dtype).eps * scale
    return Covariance(at, None, C, V[:, kept] * np.sqrt(w[kept]))
