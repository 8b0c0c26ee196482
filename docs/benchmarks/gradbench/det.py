"""The determinant by expansion along rows: n! products of single elements, in a recursion."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload


def determinant(A: Any, columns: tuple[int, ...]) -> Any:
    """Return the determinant of the last rows of A in as many columns."""
    first = len(A) - len(columns)
    if len(columns) == 1:
        return A[first, columns[0]]
    total = 0.0
    for k, column in enumerate(columns):
        term = A[first, column] * determinant(A, columns[:k] + columns[k + 1 :])
        total = total + term if k % 2 == 0 else total - term
    return total


def cofactors(A: Any) -> Any:
    """Return the gradient of the determinant of a matrix that has an inverse."""
    return np.linalg.det(A) * np.linalg.inv(A).T


def value(A: Any) -> Any:
    """Return the determinant by a triangular factor."""
    return np.linalg.det(A)


def expansion(n: int) -> Workload:
    """Return the workload of (n, n) elements."""
    return Workload(
        name=f"det, {n} x {n}",
        arguments=lambda rng: (rng.uniform(size=(n, n)),),
        function=lambda _, A: determinant(A, tuple(range(n))),
        by_hand=cofactors,
        is_loop=True,
    )


WORKLOADS = (expansion(5), expansion(6))
TINY = (expansion(4),)
