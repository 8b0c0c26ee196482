"""Mistakes with ``import funcdiff.numpy as np`` that a type checker finds, as with NumPy."""

from numpy.typing import NDArray

import funcdiff.numpy as np
from funcdiff.numpy import linalg

x = np.ones(3)


def total(x: NDArray[np.float64]) -> str:
    return np.sum(x)  # E: [return-value] got "float64", expected "str"


np.concatenat([x])  # E: [attr-defined] maybe "concatenate"?
linalg.norn(x)  # E: [attr-defined] no attribute "norn"
np.zeros("3", dtype=3)  # E: [call-overload] No overload
name: str = np.array([1.0])  # E: [assignment] variable has type "str"
np.linalg.solve(x)  # E: [call-overload] No overload variant of "solve"
np.random.default_rng(seed="a")  # E: [arg-type] Argument "seed"
np.float64(1.0, 2.0)  # E: [call-arg] Too many arguments
flag: NDArray[np.bool] = np.bool(1)  # E: [assignment] variable has type "ndarray
