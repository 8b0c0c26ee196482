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

import funcdiff.numpy.linalg.einsum
import funcdiff.numpy.traced.array  # noqa: F401
from funcdiff.numpy import composed, convolution, fourier, inspection, polynomials  # noqa: F401
from funcdiff.numpy.choosing import placing, positions, selecting, sets, sorting  # noqa: F401
from funcdiff.numpy.creation import like  # noqa: F401
from funcdiff.numpy.linalg import (  # noqa: F401
    decompositions,
    norms,
    products,
    singular,
    systems,
)
from funcdiff.numpy.memory import from_values  # noqa: F401
from funcdiff.numpy.namespace import fft, lib, linalg, numpy
from funcdiff.numpy.reductions import (  # noqa: F401
    cumulative,
    histograms,
    quantiles,
    reductions,
    statistics,
)
from funcdiff.numpy.shapes import arranging, diagonals, joining, padding, windows  # noqa: F401
from funcdiff.numpy.traced import python_numbers  # noqa: F401
from funcdiff.numpy.ufuncs import arithmetic, rounding  # noqa: F401

__all__ = ["fft", "lib", "linalg"]


def __getattr__(name: str) -> Any:
    return getattr(numpy, name)


def __dir__() -> list[str]:
    return dir(numpy)
