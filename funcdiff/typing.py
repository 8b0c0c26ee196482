"""The names that annotations of differentiated code need.

Annotate functions with your own types: `grad`, `vjp` and the others return these. What is left
are arrays, numbers, and what the transforms give back.

Examples
--------
>>> import numpy as np
>>> import funcdiff as fd
>>> from funcdiff.typing import Array, FloatArray, Pullback, Scalar
>>> def loss(w: FloatArray, x: FloatArray) -> Scalar:
...     return np.sum((x @ w) ** 2)
>>> def row(pullback: Pullback[Array, Array], k: int) -> Array:
...     return pullback(np.eye(3)[k])[0]
>>> fd.grad(loss)(np.ones(2), np.eye(2))
array([2., 2.])
>>> row(fd.vjp(np.cumsum, np.ones(3))[1], 1)
array([1., 1., 0.])
"""

from funcdiff.api.signatures.variables import (
    Argnames,
    Argnums,
    Array,
    ComplexScalar,
    Differentiable,
    FloatArray,
    Pullback,
    Pushforward,
    ScalarPullback,
)
from funcdiff.api.signatures.variables import RealScalar as Scalar

__all__ = [
    "Argnames",
    "Argnums",
    "Array",
    "ComplexScalar",
    "Differentiable",
    "FloatArray",
    "Pullback",
    "Pushforward",
    "Scalar",
    "ScalarPullback",
]
