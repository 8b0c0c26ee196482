"""NumPy for traced arrays: ``import funcdiff.numpy as fnp``.

Every NumPy function that is covered is here under its own name, and plain NumPy calls
(``np.sin(x)``) do the same.  This namespace is needed only for what NumPy cannot dispatch:
``fnp.array([x, y])``, ``fnp.full(3, x)``, ``fnp.r_[x, y]``, and for buffers, ``fnp.zeros(3)``, that
take traced values.

Examples
--------
>>> import funcdiff as fd
>>> import funcdiff.numpy as fnp
>>> print(fd.grad(lambda x: fnp.array([x, fnp.sin(x)]).sum())(0.0))
2.0
"""

from typing import Any

import funcdiff.numpy.array
import funcdiff.numpy.einsum
import funcdiff.numpy.linalg  # noqa: F401
from funcdiff.numpy import (  # noqa: F401
    arithmetic,
    arranging,
    convolution,
    creation,
    cumulative,
    decompositions,
    diagonals,
    fourier,
    from_values,
    histograms,
    inspection,
    joining,
    nans,
    norms,
    padding,
    placing,
    polynomials,
    positions,
    products,
    python_numbers,
    quantiles,
    reductions,
    rounding,
    selecting,
    sets,
    singular,
    sorting,
    statistics,
    windows,
)
from funcdiff.numpy.namespace import fft, lib, linalg, numpy

# These are names of modules, too: here the functions of NumPy win.
array, einsum, shape = numpy.array, numpy.einsum, numpy.shape

__all__ = ["fft", "lib", "linalg"]


def __getattr__(name: str) -> Any:
    return getattr(numpy, name)


def __dir__() -> list[str]:
    return dir(numpy)
