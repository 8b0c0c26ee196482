"""On a branch cut the derivative is that of the side on which the sign of a zero puts a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.properties.calling import every_call

FUNCTIONS = [
    np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.sqrt, np.log,
]  # fmt: skip
ON_CUTS = [
    complex(2, 0), complex(2, -0.0), complex(-2, 0), complex(-2, -0.0), complex(0, 2),
    complex(-0.0, 2), complex(0, -2), complex(-0.0, -2), complex(0.5, 0), complex(-0.5, -0.0),
]  # fmt: skip
STEP = 1e-6


def _quotient(f: Callable[[Any], Any], z: complex) -> complex:
    """Difference along the axis that z lies on, on its side of it."""
    along_real = z.imag == 0
    ends = [
        np.complex128(complex(z.real + s, z.imag) if along_real else complex(z.real, z.imag + s))
        for s in (STEP, -STEP)
    ]
    return complex((f(ends[0]) - f(ends[1])) / (2 * STEP * (1 if along_real else 1j)))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_slope_on_a_cut_is_that_of_the_side_of_the_zero(f: Callable[[Any], Any]) -> None:
    for z in ON_CUTS:
        found = every_call(fd.grad(f, holomorphic=True), np.complex128(z))
        np.testing.assert_allclose(found, _quotient(f, z), rtol=1e-8, err_msg=repr(z))
