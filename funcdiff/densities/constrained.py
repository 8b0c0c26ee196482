"""Maps from unconstrained vectors to constrained arrays, with the logarithms of their Jacobians.

The maps are those of the reference manual of Stan, "Constraint transforms". They are written with
logarithms throughout, so that values and derivatives stay finite far out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Constraint(Protocol):
    """A one-to-one map from all vectors of `size` onto the arrays of `shape` that satisfy it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the constrained array."""

    @property
    def size(self) -> int:
        """Return how many unconstrained numbers it takes."""

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the array, and the log-determinant of the Jacobian of its free elements."""

    def unconstrain(self, x: Any) -> Any:
        """Return the vector of which `x` is the image; it is not finite where `x` is outside."""

    def free(self, x: Any) -> Any:
        """Return the elements that determine the array: the density is one of these."""


def _log_logistic(z: Any) -> Any:
    return -np.logaddexp(0.0, -z)


@dataclass(frozen=True)
class _OfAll:
    """A constraint that leaves all elements free."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return int(np.prod(self.shape))

    def free(self, x: Any) -> Any:
        """Return all elements."""
        return np.reshape(x, (self.size,))


@dataclass(frozen=True)
class Unbounded(_OfAll):
    """All real numbers."""

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the numbers themselves."""
        return np.reshape(z, self.shape), 0.0

    def unconstrain(self, x: Any) -> Any:
        """Return the numbers themselves."""
        return np.ravel(x)


@dataclass(frozen=True)
class Above(_OfAll):
    """Numbers above a bound: ``bound + sign * exp(z)``; below it, if the sign is -1."""

    bound: float
    sign: float = 1.0

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the bound and an exponential."""
        return np.reshape(self.bound + self.sign * np.exp(z), self.shape), np.sum(z)

    def unconstrain(self, x: Any) -> Any:
        """Return the logarithm of the distance from the bound."""
        return np.log(self.sign * (np.ravel(x) - self.bound))


@dataclass(frozen=True)
class Between(_OfAll):
    """Numbers between two bounds, by the logistic function."""

    low: float
    high: float

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the number from the bound that is nearer, so that it is right at both."""
        width = self.high - self.low
        upper, lower = _log_logistic(z), _log_logistic(-z)
        x = np.where(z < 0, self.low + width * np.exp(upper), self.high - width * np.exp(lower))
        return np.reshape(x, self.shape), np.sum(np.log(width) + upper + lower)

    def unconstrain(self, x: Any) -> Any:
        """Return the log-odds."""
        x = np.ravel(x)
        return np.log(x - self.low) - np.log(self.high - x)


@dataclass(frozen=True)
class Ordered(_OfAll):
    """Vectors of increasing numbers: the first, and logarithms of the steps."""

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the sums of the steps."""
        steps = np.concatenate([z[:1], np.exp(z[1:])])
        return np.cumsum(steps), np.sum(z[1:])

    def unconstrain(self, x: Any) -> Any:
        """Return the logarithms of the steps."""
        return np.concatenate([x[:1], np.log(np.diff(x))])


@dataclass(frozen=True)
class Simplex:
    """Vectors of positive numbers with the sum 1, by breaking a stick; 0 is the uniform one."""

    shape: tuple[int]

    @property
    def size(self) -> int:
        """Return the number of elements less one."""
        return self.shape[0] - 1

    @property
    def _offsets(self) -> Any:
        return -np.log(np.arange(self.size, 0, -1.0))

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the parts broken off, each by the logistic function of what is left."""
        z = z + self._offsets
        part, rest = _log_logistic(z), _log_logistic(-z)
        left = np.concatenate([np.zeros(1), np.cumsum(rest)])
        x = np.exp(left + np.concatenate([part, np.zeros(1)]))
        return x, np.sum(part + rest + left[:-1])

    def unconstrain(self, x: Any) -> Any:
        """Return the log-odds of each part in what was left."""
        left = np.cumsum(x[::-1])[::-1]
        return np.log(x[:-1]) - np.log(left[1:]) - self._offsets

    def free(self, x: Any) -> Any:
        """Return all elements but the last."""
        return x[:-1]


def _lower(z: Any, size: int, k: int) -> Any:
    """Return a matrix with a vector, row by row, in its lower triangle, from diagonal `k` down."""
    rows, columns = np.tril_indices(size, k)
    where = np.full((size, size), len(rows))
    where[rows, columns] = np.arange(len(rows))
    return np.concatenate([z, np.zeros(1)])[where]


@dataclass(frozen=True)
class Cholesky:
    """Lower triangular matrices with a positive diagonal: factors of covariances."""

    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Return the number of elements of the triangle."""
        return self.shape[0] * (self.shape[0] + 1) // 2

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the triangle, its diagonal by the exponential."""
        n = self.shape[0]
        whole, on = _lower(z, n, 0), np.eye(n, dtype=bool)
        logs = np.diagonal(whole)
        return np.where(on, np.exp(logs), whole), np.sum(logs)

    def unconstrain(self, x: Any) -> Any:
        """Return the triangle, with logarithms of the diagonal."""
        x = np.where(np.eye(len(x), dtype=bool), np.log(np.diagonal(x)), x)
        return self.free(x)

    def free(self, x: Any) -> Any:
        """Return the lower triangle, row by row."""
        return x[np.tril_indices(self.shape[0])]


@dataclass(frozen=True)
class CorrelationCholesky:
    """Factors of correlations: lower triangular, rows of length 1; by partial correlations.

    The logarithm of the squared rest of a row is a sum of ``log sech(z)`` (Lewandowski, Kurowicka
    and Joe 2009; Stan's ``cholesky_factor_corr``).
    """

    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Return the number of elements below the diagonal."""
        return self.shape[0] * (self.shape[0] - 1) // 2

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return each row, broken as a stick of squares."""
        n = self.shape[0]
        z = _lower(z, n, -1)
        logs = np.log(2.0) - np.logaddexp(z, -z)  # of sech(z)
        rest = np.cumsum(logs, axis=1) - logs  # the logarithm of what is left of the row's length
        below = np.tri(n, k=-1, dtype=bool)
        x = np.where(below, np.tanh(z), np.eye(n)) * np.exp(rest)
        return x, np.sum(np.where(below, 2 * logs + rest, 0.0))

    def unconstrain(self, x: Any) -> Any:
        """Return the inverse hyperbolic tangents of the partial correlations."""
        squares = np.cumsum((x**2)[:, ::-1], axis=1)[:, ::-1]  # what is left, without cancellation
        return np.arctanh(self.free(x) / np.sqrt(self.free(squares)))

    def free(self, x: Any) -> Any:
        """Return the elements below the diagonal, row by row."""
        return x[np.tril_indices(self.shape[0], -1)]
