"""Covariances of a container in the forms in which users have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.coordinates import Coordinates
from funcdiff.core.late import computed, scipy_function
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.structure import MismatchError, leaves_like

_LARGEST: Final = 5_000
"""Numbers up to which an operator is factorized as a matrix."""
_ROUNDING: Final = 1e-12
"""Correlations up to which numbers count as uncorrelated."""


@dataclass(frozen=True)
class Covariance:
    """A covariance of n numbers: variances, a matrix with a factor, or what only multiplies."""

    at: Coordinates
    variances: Any = None  # None for matrices and operators
    whole: Any = None
    root: Any = None  # of a matrix

    @computed
    def factor(self) -> Any:
        """L of shape (n, r) with C = L·Lᵀ; of variances, the standard deviations."""
        if self.variances is not None:
            return np.sqrt(self.variances)
        if self.root is not None:
            return self.root
        if self.at.size > _LARGEST:
            raise InputError(
                f"samples=, order=2 and the checks need a factor of cov=, and an operator of "
                f"{self.at.size} numbers has none but a full matrix, at {user_location()}. Give "
                "check=False, and for samples variances or the blocks of each leaf."
            )
        return _semidefinite(self.whole @ np.eye(self.at.size), self.at).root

    @computed
    def groups(self) -> Any:
        """For each number that of its group, counted from 0, of which no other is correlated."""
        if self.variances is not None:
            return np.arange(self.at.size)
        if not isinstance(self.whole, np.ndarray):
            raise InputError(
                f"dof= needs to know which arguments are correlated, which an operator cov= does "
                f"not tell, at {user_location()}. Give a matrix."
            )
        units = np.sqrt(np.abs(np.diagonal(self.whole)))
        tied = np.abs(self.whole) > _ROUNDING * np.outer(units, units)
        return scipy_function("connected_components", "scipy.sparse.csgraph")(tied)[1]

    def spread(self, draw: Callable[[int], Any]) -> Any:
        """Return ``L·Z``, where ``draw(r)`` gives Z with a row for each uncertain number."""
        if self.variances is None:
            return self.factor @ draw(self.factor.shape[1])
        moves = self.factor > 0
        Z = draw(int(np.count_nonzero(moves)))
        found = np.zeros((self.at.size, Z.shape[1]))
        found[moves] = self.factor[moves, None] * Z
        return found

    def displacements(self, most: int = 16) -> Any:
        """Return displacements by a deviation of each number as columns, for combinations of signs.

        Over all of them, the mean square of a linear function is its variance.
        """

        def signs(r: int) -> Any:
            if most == 1:
                return np.ones((r, 1))
            if 2 ** (r - 1) <= most:
                bits = np.arange(2 ** max(r - 1, 0)) >> np.arange(r)[:, None] & 1
            else:
                bits = np.random.default_rng(0).integers(2, size=(r, most))
            return 1.0 - 2.0 * bits

        return self.spread(signs)


def covariance(cov: Any, std: Any, at: Coordinates) -> Covariance:
    """Return the covariance that was given as standard deviations or in one of the other forms."""
    n = at.size
    if (cov is None) == (std is None):
        raise InputError(
            f"fd.propagate takes one of cov= and std=, at {user_location()}: write cov=C for "
            "variances, matrices and operators, std=u for standard deviations."
        )
    if std is not None:
        with np.errstate(over="ignore"):  # it is told in words
            return _independent(at.flat(std, "a standard deviation", least=0.0) ** 2, at)
    if hasattr(cov, "matvec") or hasattr(cov, "tocsr"):
        return Covariance(at, None, _symmetric(cov, n))
    if isinstance(cov, np.ndarray) and cov.shape == (n, n) and at.shapes != ((n, n),):
        return _semidefinite(cov, at)
    leaves, alike = _leaves(cov, at)
    if alike and all(np.shape(x) in ((), s) for x, s in zip(leaves, at.shapes, strict=True)):
        return _independent(at.flat(cov, "a variance", least=0.0), at)
    return _semidefinite(_of_blocks(leaves, at, alike=alike), at)


def _leaves(cov: Any, at: Coordinates) -> tuple[list[Any], bool]:
    """Return the leaves of a container in the order of the point, and whether it is alike.

    Else it has blocks by leaf and leaf; keys say which, and lists stand for any container.
    """
    row = pytree.unflatten(at.structure, [0.0] * len(at.shapes))
    blocks = pytree.flatten(pytree.unflatten(at.structure, [row] * len(at.shapes)))[1]
    for structure in (at.structure, blocks):
        with suppress(MismatchError):
            return leaves_like(structure, cov), structure is at.structure
    leaves, found = pytree.flatten(cov)
    if isinstance(cov, list | tuple) or found == pytree.LEAF:
        return leaves, False
    raise InputError(
        f"cov= is {found}, but the point is {at.structure}, at {user_location()}. Give a matrix in "
        "the order of the leaves, or a container like the point with variances or with the blocks "
        "of each leaf."
    )


def _independent(variances: Any, at: Coordinates) -> Covariance:
    """Return the covariance of independent numbers; an infinite one times a slope of 0 is NaN."""
    if not np.all(np.isfinite(variances)):
        k = int(np.argmin(np.isfinite(variances)))
        raise InputError(
            f"the variance of x{at.name(k)} is {variances[k]}, at {user_location()}. Give finite "
            "numbers; where nothing is known of an argument, nothing is known of the result."
        )
    return Covariance(at, variances)


def _of_blocks(leaves: Sequence[Any], at: Coordinates, *, alike: bool) -> Any:
    """Return a matrix of blocks by leaf and leaf, or if the container is `alike`, by leaf."""
    pairs = list((zip if alike else product)(at.places, at.places))
    whole, fits = np.zeros((at.size, at.size)), len(leaves) == len(pairs)
    for block, ((row, shape), (column, _)) in zip(leaves, pairs, strict=False):
        target = whole[row, column]
        if alike and np.shape(block) in ((), shape):
            np.fill_diagonal(target, np.reshape(block, -1))
        elif np.size(block) == target.size:
            target[...] = np.reshape(block, target.shape)
        else:
            fits = False
    if not fits:
        shapes = ", ".join(str(np.shape(x)) for x in leaves)
        raise InputError(
            f"cov= has the shape {shapes}, but the point has {at.size} elements, at "
            f"{user_location()}. Give a matrix of shape {whole.shape} in the order of the leaves, "
            "or a container like the point with variances or with the blocks of each leaf."
        )
    return whole


def _symmetric(operator: Any, n: int) -> Any:
    if operator.shape != (n, n):
        raise InputError(
            f"the operator cov= has shape {operator.shape}, but the point has {n} elements, at "
            f"{user_location()}. Give one of shape ({n}, {n})."
        )
    a, b = np.random.default_rng(0).standard_normal((2, n))
    one, other = a @ (operator @ b), b @ (operator @ a)
    if not abs(one - other) <= 1e-8 * np.linalg.norm(a) * np.linalg.norm(operator @ b):
        raise InputError(
            f"the operator cov= is not symmetric: for two vectors drawn, a @ (C @ b) is {one:.6g}, "
            f"but b @ (C @ a) is {other:.6g}, at {user_location()}. A covariance is symmetric."
        )
    return operator


def _semidefinite(C: Any, at: Coordinates) -> Covariance:
    """Return the covariance of a matrix; it is judged as a correlation, whatever the units."""
    C = np.asarray(C)
    variances, eps = np.abs(np.diagonal(C)), np.finfo(np.result_type(C, np.float32)).eps
    units = np.sqrt(np.where(variances > 0, variances, 1.0))
    rounding = max(1e-12, len(C) * eps) * np.max(variances, initial=0.0)
    deviations = np.sqrt(variances)
    least = max(1e-8, 8 * eps) * np.outer(deviations, deviations) + rounding
    real = C.dtype.kind in "fiu" and np.all(np.isfinite(C))
    if not real or not np.all(np.abs(C - C.T) <= least):
        raise InputError(
            f"cov= is not symmetric, finite and real, at {user_location()}: give (C + C.T) / 2."
        )
    try:
        return Covariance(at, None, C, np.linalg.cholesky(C))
    except np.linalg.LinAlgError:
        w, V = np.linalg.eigh(C / np.outer(units, units))
    kept = w > len(C) * eps
    root = units[:, None] * V[:, kept] * np.sqrt(w[kept])
    if np.any(np.abs(root @ root.T - C) > least):
        name = at.name(int(np.argmax(np.abs(V[:, 0]))))
        raise InputError(
            f"cov= is not a covariance: its correlation has the eigenvalue {w[0]:.3g}, mostly "
            f"along x{name}, at {user_location()}. Give a positive semidefinite matrix."
        )
    return Covariance(at, None, C, root)
