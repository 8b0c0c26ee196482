"""``autograd.numpy``: `funcdiff.numpy`, under the names that autograd has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import random

import funcdiff.numpy
from funcdiff.numpy import fft, linalg

if TYPE_CHECKING:  # the types are NumPy's own
    from numpy import *  # noqa: F403

numpy_version = np.__version__

for _module in (fft, linalg, random):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Return matrices whose diagonals are the last axis of an array; other options are refused."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal needs offset=0, axis1=-1 and axis2=-2")
    return np.where(np.eye(np.shape(D)[-1], dtype=bool), np.expand_dims(D, -1), 0)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return getattr(funcdiff.numpy, name)

    def __dir__() -> list[str]:
        return dir(funcdiff.numpy)
