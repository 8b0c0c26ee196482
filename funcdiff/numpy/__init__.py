"""NumPy for traced arrays: ``import funcdiff.numpy as np`` in place of ``import numpy as np``.

All of NumPy is here under its own names, and plain values give NumPy's own results.  What NumPy
itself cannot hand over works, too: arrays of traced numbers, ``np.array([[c, -s], [s, c]])``, lists
of them, ``np.sum([f(v) for v in x])``, and buffers, ``y = np.zeros(n)``, that take traced values.
Calls of plain NumPy (``np.sin(x)``) are differentiated with either import.

Examples
--------
>>> import funcdiff as fd
>>> import funcdiff.numpy as np
>>> def powers(x):
...     y = np.empty(3)
...     for k in range(3):
...         y[k] = x**k
...     return np.sum(y) + np.max([x, x**2])
>>> print(fd.grad(powers)(3.0))
13.0
"""

from typing import TYPE_CHECKING, Any

# what most functions call; the rest is imported by `every` when one of it is called first
import funcdiff.numpy.linalg.matrix_products
import funcdiff.numpy.traced.array  # noqa: F401
from funcdiff.numpy.choosing import selecting  # noqa: F401
from funcdiff.numpy.creation import like  # noqa: F401
from funcdiff.numpy.memory import array_copies  # noqa: F401
from funcdiff.numpy.reductions import averages, sums_and_extrema  # noqa: F401
from funcdiff.numpy.shapes import arranging, joining  # noqa: F401
from funcdiff.numpy.traced import python_numbers  # noqa: F401
from funcdiff.numpy.ufuncs import arithmetic  # noqa: F401

if TYPE_CHECKING:  # the types are NumPy's own, of all that it has
    from numpy import *  # noqa: F403
    from numpy import fft, lib, linalg
else:
    from funcdiff.numpy.namespace import OURS, numpy

    fft, lib, linalg = numpy.fft, numpy.lib, numpy.linalg
    # for what copies the dictionary of a module, as SymPy's `lambdify` does
    globals().update({name: getattr(numpy, name) for name in OURS})

    def __getattr__(name: str) -> Any:
        found = getattr(numpy, name)
        if name in vars(numpy):
            globals()[name] = found  # asked for once
        return found

    def __dir__() -> list[str]:
        return dir(numpy)
