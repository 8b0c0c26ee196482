"""Substitution and inverses of triangular matrices by LAPACK, if SciPy is there.

NumPy hands out no routine for one triangle, and what is made of the others takes several times as
long.  Only compiled code asks for them, whose last bits are free.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from funcdiff.core.types import ArrayType

_LETTERS: Final = {"f": "s", "d": "d", "F": "c", "D": "z"}


@cache
def _routine(name: str, type_: ArrayType) -> Callable[..., Any] | None:
    """Return a routine for one matrix of a type, None if it is not at hand."""
    letter = _LETTERS.get(type_.dtype.char)
    if letter is None or type_.ndim != 2 or not type_.size:
        return None
    try:
        module = import_module("scipy.linalg.lapack")
    except ImportError:
        return None
    found: Callable[..., Any] = getattr(module, letter + name)
    return found


@cache
def substitution(matrix: ArrayType, *, lower: bool) -> Callable[..., Any] | None:
    """Return a function of A and B that computes A⁻¹·B for one triangle of A, if there is one.

    It raises `numpy.linalg.LinAlgError` if a number on the diagonal is zero.
    """
    routine = _routine("trtrs", matrix)
    if routine is None:
        return None

    def function(a: Any, b: Any) -> Any:
        if a.flags.f_contiguous:
            x, info = routine(a, b, lower=lower, trans=0)
        else:  # rows in order are, for LAPACK, the columns of the transpose
            x, info = routine(a.T, b, lower=not lower, trans=1)
        _require_regular(info)
        return np.ascontiguousarray(x)

    return function


@cache
def lower_inverse(matrix: ArrayType) -> Callable[..., Any] | None:
    """Return a function that inverts the lower triangle of a matrix, if there is one.

    It raises `numpy.linalg.LinAlgError` if a number on the diagonal is zero.
    """
    routine = _routine("trtri", matrix)
    if routine is None:
        return None

    def function(a: Any) -> Any:
        x, info = routine(np.tril(a).T, lower=0, overwrite_c=1)
        _require_regular(info)
        return x.T

    return function


def _require_regular(info: int) -> None:
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
