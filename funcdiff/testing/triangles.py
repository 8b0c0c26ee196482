"""Recognises functions of symmetric matrices that read one triangle of their argument.

``eigh`` and ``cholesky`` take the other triangle for the mirror image of the one they read, and
their derivatives, by convention, are those of a function of symmetric matrices: symmetric
themselves.  Differences agree with these along symmetric directions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.testing.differences import Values, disagreement, rounding
from funcdiff.testing.neighbourhood import Neighbourhood


def square(xs: Sequence[Any]) -> list[int]:
    """Return which arrays are (stacks of) square matrices of two rows or more."""
    return [
        k for k, x in enumerate(xs) if np.ndim(x) >= 2 and np.shape(x)[-1] == np.shape(x)[-2] >= 2
    ]


def is_symmetric(x: Any) -> bool:
    """Whether matrices equal their conjugate transposes, to rounding."""
    return disagreement(x, mirror(x), rounding([x]), scale=0.0) is None


def mirror(x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return np.conj(np.swapaxes(x, -1, -2))


def symmetrize(ts: Sequence[Any], chosen: Sequence[int]) -> Values:
    """Return the symmetric parts of some of the arrays, and the others as they are."""
    return [((t + mirror(t)) / 2).astype(t.dtype) if k in chosen else t for k, t in enumerate(ts)]


def symmetric_arguments(near: Neighbourhood) -> list[int]:
    """Return which arguments are symmetric matrices of which the function reads one triangle."""
    matrices = [k for k in square(near.xs) if is_symmetric(near.xs[k])]
    return [k for k in matrices if _reads_one_triangle(near, k)]


def _reads_one_triangle(near: Neighbourhood, k: int) -> bool:
    """Whether the function of matrices ignores all that is above, or below, their diagonal.

    Gradients by them are symmetric only where these are, so that symmetric parts are compared.
    """
    x = near.xs[k]
    random = np.random.default_rng(0)
    size = float(np.abs(x).max(initial=0.0)) or 1.0
    other = (size * random.uniform(0.5, 2.0, np.shape(x))).astype(x.dtype)
    kept: list[Callable[[Any], Any]] = [np.tril, np.triu]
    for triangle in kept:
        changed = np.where(triangle(np.full(x.shape[-2:], True)), x, other).astype(x.dtype)
        try:
            results = near.call([*near.xs[:k], changed, *near.xs[k + 1 :]])
        except np.linalg.LinAlgError:  # of a matrix that was read
            continue
        if all(map(_agree, results, near.ys)):
            return True
    return False


def _agree(x: Any, y: Any) -> bool:
    if np.shape(x) != np.shape(y):
        return False
    x, y = symmetrize([x, y], square([x, y]))
    return disagreement(x, y, rounding([x]), scale=0.0) is None
