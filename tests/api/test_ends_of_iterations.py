"""When the iteration of a fixed point ends: by a tolerance that is relative to the solution."""

from __future__ import annotations

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConvergenceError


@pytest.mark.parametrize("scale", [1.0, 1e8, -1e12])
def test_the_tolerance_of_a_fixed_point_is_relative_to_it(scale: float) -> None:
    def solution(a: float) -> float:
        return fd.fixed_point(lambda x, a: (x + a) / 2, 0.0 * scale, a, tol=1e-6, max_iterations=25)

    assert solution(scale) == pytest.approx(scale, rel=2e-6)
    assert fd.grad(solution)(scale) == pytest.approx(1.0)


def test_an_iteration_that_is_cut_off_says_so() -> None:
    with pytest.raises(ConvergenceError, match="did not converge in 5 iterations"):
        fd.fixed_point(lambda x: np.cos(x), 1.0, tol=1e-6, max_iterations=5)
