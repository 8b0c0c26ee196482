"""Results of programs as lists of numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def numbers(result: Any) -> Iterator[float]:
    """Yield the numbers of nested containers, real and imaginary parts of complex ones."""
    if isinstance(result, list | tuple):
        for part in result:
            yield from numbers(part)
        return
    for x in np.ravel(result).tolist():
        yield from (x.real, x.imag) if isinstance(x, complex) else (float(x),)
