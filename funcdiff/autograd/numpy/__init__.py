"""``autograd.numpy``: `funcdiff.numpy`, under the names that autograd has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from numpy import random

import funcdiff.numpy
from funcdiff.autograd.box_classes import Box
from funcdiff.autograd.names import attributes
from funcdiff.autograd.numpy import numpy_wrapper
from funcdiff.autograd.numpy.numpy_wrapper import make_diagonal, numpy_version
from funcdiff.numpy import fft

__all__ = ["Box", "make_diagonal", "numpy_version"]

for _module in (fft, random):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module

if TYPE_CHECKING:  # the types are NumPy's own
    from numpy import *  # noqa: F403
else:
    from funcdiff.autograd.numpy import linalg as linalg

    __version__ = numpy_version
    __getattr__, __dir__ = attributes(__name__, numpy_wrapper, funcdiff.numpy)
