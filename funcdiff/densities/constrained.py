"""Maps from unconstrained vectors to constrained arrays, with the logarithms of their Jacobians.

The maps are those of the reference manual of Stan, "Constraint transforms". They are written with
logarithms throughout, so that values and derivatives stay finite far out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Constraint(ABC):
    """A one-to-one map from all vectors of `size` onto the arrays of `shape` that satisfy it."""

    shape: tuple[int, ...]

    @property
    def places(self) -> Any:
        """Return which elements, counted row by row, determine the array: by default, all."""
        return np.arange(prod(self.shape))

    @property
    def size(self) -> int:
        """Return how many unconstrained numbers it takes."""
        return len(self.places)

    def free(self, x: Any) -> Any:
        """Return the elements that determine the array: the density is one of these."""
        return np.ravel(x)[self.places]

    def fill(self, z: Any) -> Any:
        """Return an array with a vector at `places`, and zeros elsewhere."""
        where = np.full(prod(self.shape), self.size)
        where[self.places] = np.arange(self.size)
        return np.concatenate([z, np.zeros(1)])[where.reshape(self.shape)]

    @abstractmethod
    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the array, and the log-determinant of the Jacobian of its free elements."""

    @abstractmethod
    def unconstrain(self, x: Any) -> Any:
        """Return the vector of which `x` is the image; it is not finite where `x` is outside."""


def _log_logistic(z: Any) -> Any:
    return -np.logaddexp(0.0, -z)


@dataclass(frozen=True)
class Unbounded(Constraint):
    """All real numbers."""

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the numbers themselves."""
        return np.reshape(z, self.shape), 0.0

    def unconstrain(self, x: Any) -> Any:
        """Return the numbers themselves."""
        return np.ravel(x)


@dataclass(frozen=True)
class Above(Constraint):
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
class Between(Constraint):
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
class Ordered(Constraint):
    """Vectors of increasing numbers: the first, and logarithms of the steps."""

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the sums of the steps."""
        steps = np.concatenate([z[:1], np.exp(z[1:])])
        return np.cumsum(steps), np.sum(z[1:])

    def unconstrain(self, x: Any) -> Any:
        """Return the logarithms of the steps."""
        return np.concatenate([x[:1], np.log(np.diff(x))])


@dataclass(frozen=True)
class Simplex(Constraint):
    """Vectors of positive numbers with the sum 1, by breaking a stick; 0 is the uniform one."""

    @property
    def places(self) -> Any:
        """Return all but the last."""
        return np.arange(self.shape[0] - 1)

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


@dataclass(frozen=True)
class Cholesky(Constraint):
    """Lower triangular matrices with a positive diagonal: factors of covariances."""

    @property
    def places(self) -> Any:
        """Return the lower triangle."""
        return np.flatnonzero(np.tri(self.shape[0]))

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return the triangle, its diagonal by the exponential."""
        whole, on = self.fill(z), np.eye(self.shape[0], dtype=bool)
        logs = np.diagonal(whole)
        return np.where(on, np.exp(logs), whole), np.sum(logs)

    def unconstrain(self, x: Any) -> Any:
        """Return the triangle, with logarithms of the diagonal."""
        x = np.where(np.eye(len(x), dtype=bool), np.log(np.diagonal(x)), x)
        return self.free(x)


@dataclass(frozen=True)
class CorrelationCholesky(Constraint):
    """Factors of correlations: lower triangular, rows of length 1; by partial correlations.

    The logarithm of the squared rest of a row is a sum of ``log sech(z)`` (Lewandowski, Kurowicka
    and Joe 2009; Stan's ``cholesky_factor_corr``).
    """

    @property
    def places(self) -> Any:
        """Return what is below the diagonal."""
        return np.flatnonzero(np.tri(self.shape[0], k=-1))

    def constrain(self, z: Any) -> tuple[Any, Any]:
        """Return each row, broken as a stick of squares."""
        n, z = self.shape[0], self.fill(z)
        logs = np.log(2.0) - np.logaddexp(z, -z)  # of sech(z)
        rest = np.cumsum(logs, axis=1) - logs  # the logarithm of what is left of the row's length
        below = np.tri(n, k=-1, dtype=bool)
        x = np.where(below, np.tanh(z), np.eye(n)) * np.exp(rest)
        return x, np.sum(np.where(below, 2 * logs + rest, 0.0))

    def unconstrain(self, x: Any) -> Any:
        """Return the inverse hyperbolic tangents of the partial correlations."""
        squares = np.cumsum((x**2)[:, ::-1], axis=1)[:, ::-1]  # what is left, without cancellation
        return np.arctanh(self.free(x) / np.sqrt(self.free(squares)))
