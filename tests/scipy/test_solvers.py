"""SciPy's solvers take the derivatives as they come: float64 arrays of the shapes they expect."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import funcdiff as fd
from funcdiff.errors import InputError

START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


class Watched:
    """A derivative that notes what it returns, and scribbles over it after the solver took it."""

    def __init__(self, derivative: Any) -> None:
        self.derivative = derivative
        self.seen: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        result = self.derivative(*args)
        self.seen.append(result)
        return result

    def check(self, *shape: int) -> None:
        assert self.seen
        for result in self.seen:
            assert type(result) is np.ndarray
            assert (result.dtype, result.shape) == (np.float64, shape)
            assert result.flags.owndata
            assert result.flags.writeable


# ---- minimize --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"])
def test_solvers_with_gradients_find_the_minimum(method: str) -> None:
    gradient = Watched(fd.grad(rosenbrock))
    found = optimize.minimize(rosenbrock, START, jac=gradient, method=method, tol=1e-9)
    np.testing.assert_allclose(found.x, 1, atol=2e-3)
    gradient.check(5)


def test_a_start_of_integers_or_a_list_becomes_float() -> None:
    for start in ([0, 0, 0], np.zeros(3, int), (0.0, 0.0, 0.0)):
        found = optimize.minimize(rosenbrock, start, jac=fd.grad(rosenbrock), method="BFGS")
        np.testing.assert_allclose(found.x, 1, atol=1e-4)


# ---- root and least_squares ---------------------------------------------------------------------


def system(x: Any) -> Any:
    return np.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_takes_the_jacobian(method: str) -> None:
    jacobian = Watched(fd.jacobian(system))
    found = optimize.root(system, [0.0, 0.0], jac=jacobian, method=method)
    assert found.success
    np.testing.assert_allclose(found.x, [0.8411639, 0.1588361], atol=1e-6)
    jacobian.check(2, 2)
    together = optimize.root(fd.value_and_jacobian(system), [0.0, 0.0], jac=True, method=method)
    np.testing.assert_allclose(together.x, found.x, atol=1e-8)


def test_a_start_of_integers_that_scipy_passes_on_is_refused_with_the_cure() -> None:
    with pytest.raises(InputError, match=r"dtype int64.*\.astype\(float\)"):
        optimize.root(system, [0, 0], jac=fd.jacobian(system))
