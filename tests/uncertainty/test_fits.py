"""What is computed from a fit has the uncertainty of the data, by implicit derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.scipy.integrate
import funcdiff.scipy.optimize

T = np.linspace(0.5, 4, 8)
B = 2 * np.exp(-0.7 * T) + 0.05 * np.cos(5 * T)
START = np.array([1.5, 1.0])
TIGHT: dict[str, Any] = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-13}


def decay(p: Any, t: Any = T) -> Any:
    return p[0] * np.exp(-p[1] * t)


def by_squares(y: Any) -> Any:
    return fd.scipy.optimize.least_squares(lambda p: decay(p) - y, START, **TIGHT).x


def by_minimum(y: Any) -> Any:
    def loss(p: Any) -> Any:
        return np.sum((decay(p) - y) ** 2)

    options: dict[str, Any] = {"jac": fd.grad(loss), "hess": fd.hessian(loss)}
    return fd.scipy.optimize.minimize(loss, START, method="trust-exact", tol=1e-12, **options).x


def by_curve(y: Any) -> Any:
    f = fd.scipy.optimize.curve_fit
    return f(lambda t, a, k: decay([a, k], t), T, y, p0=START, **TIGHT)[0]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("fit", [by_squares, by_minimum, by_curve])
def test_a_fit_of_scipy_has_the_uncertainty_that_its_equations_imply(
    fit: Callable[[Any], Any],
) -> None:
    u = np.linspace(0.01, 0.05, len(T))
    y, cov = fd.propagate(fit)(B, std=u)

    def slope(p: Any, b: Any) -> Any:
        return fd.grad(lambda p: np.sum((decay(p) - b) ** 2))(p)

    H, across = fd.jacobian(slope, argnums=(0, 1))(y, B)
    J = -np.linalg.solve(H, across)
    np.testing.assert_allclose(cov, (J * u**2) @ J.T, rtol=1e-7)
    half_life = fd.propagate(lambda b: np.log(2) / fit(b)[1])(B, std=u)
    np.testing.assert_allclose(half_life.std, np.log(2) / y[1] ** 2 * np.sqrt(cov[1, 1]), rtol=1e-7)


@pytest.mark.slow
def test_a_fit_of_a_differential_equation_has_that_of_its_closed_form() -> None:
    times = np.linspace(1, 6, 6)

    def logistic(p: Any) -> Any:
        return p[1] / (1 + (p[1] / 0.2 - 1) * np.exp(-p[0] * times))

    def integrated(p: Any) -> Any:
        return fd.scipy.integrate.solve_ivp(
            lambda t, y: p[0] * y * (1 - y / p[1]), (0, 6), [0.2], t_eval=times, method="DOP853",
            rtol=1e-9, atol=1e-11,
        ).y[0]  # fmt: skip

    def fitted(model: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def fit(b: Any) -> Any:
            p0 = np.array([1.0, 2.0])
            return fd.scipy.optimize.least_squares(lambda p: model(p) - b, p0, **TIGHT).x

        return fit

    b = logistic([1.1, 2.1]) + 0.02 * np.cos(3 * times)
    y, cov = fd.propagate(fitted(integrated))(b, std=0.03, check=False)
    wanted, closed = fd.propagate(fitted(logistic))(b, std=0.03)
    np.testing.assert_allclose(y, wanted, rtol=1e-7)
    np.testing.assert_allclose(cov, closed, rtol=1e-5)
