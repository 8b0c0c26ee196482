"""Whole programs as users of SciPy write them: its values, and derivatives to second order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.testing import check_grads

RNG = np.random.default_rng(20)


class Modules:
    """The modules of SciPy, or ours of the same names."""

    def __init__(self, root: str) -> None:
        self._root = root

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{self._root}.{name}")


SCIPY, OURS = Modules("scipy"), Modules("funcdiff.scipy")


# ---- likelihoods ---------------------------------------------------------------------------------

AGE = RNG.normal(size=12)
TIMES = RNG.weibull(1.5, size=12) * np.exp(0.3 * AGE)
OBSERVED = RNG.random(12) < 0.7


def survival(s: Any, theta: Any) -> Any:
    """Survival times that are censored, of a Weibull distribution whose scale depends on age."""
    scale = np.exp(theta[1] + theta[2] * AGE)
    law = s.stats.weibull_min(np.exp(theta[0]), scale=scale)
    return -np.sum(np.where(OBSERVED, law.logpdf(TIMES), law.logsf(TIMES)))


COUNTS = RNG.poisson(np.exp(0.5 + 0.8 * AGE))


def poisson_regression(s: Any, theta: Any) -> Any:
    """Counts whose logarithmic rate is linear in the age, with a prior."""
    rate = np.exp(theta[0] + theta[1] * AGE)
    prior = s.stats.norm.logpdf(theta, 0.0, 2.0)
    return -np.sum(s.stats.poisson.logpmf(COUNTS, rate)) - np.sum(prior)


PLACES = np.sort(RNG.random(9)) * 4
HEIGHTS = np.sin(PLACES) + 0.1 * RNG.normal(size=9)


def gaussian_process(s: Any, theta: Any) -> Any:
    """The marginal likelihood of data by a Gaussian process with a squared exponential kernel."""
    length, noise = np.exp(theta[0]), np.exp(theta[1])
    distance = s.spatial.distance.cdist(PLACES[:, None] / length, PLACES[:, None] / length)
    kernel = np.exp(-0.5 * distance**2) + noise * np.eye(9)
    factor = s.linalg.cho_factor(kernel, lower=True)
    fit = HEIGHTS @ s.linalg.cho_solve(factor, HEIGHTS)
    return 0.5 * fit + np.sum(np.log(np.diag(factor[0])))


SERIES = RNG.normal(size=40)


def arma(s: Any, theta: Any) -> Any:
    """The conditional likelihood of an ARMA(2, 1) process: a filter gives the innovations."""
    one = np.ones(1)
    innovations = s.signal.lfilter(
        np.concatenate([one, -theta[:2]]), np.concatenate([one, theta[2:3]]), SERIES
    )
    return -np.sum(s.stats.norm.logpdf(innovations, scale=np.exp(theta[3])))


# ---- dynamics ------------------------------------------------------------------------------------

MEASURED = np.cumsum(RNG.normal(size=(15, 1)), axis=0)


def kalman(s: Any, theta: Any) -> Any:
    """The error of a stationary Kalman filter, whose gain comes of Riccati's equation."""
    step = np.array([[1.0, 0.1], [0.0, 1.0]])
    watch = np.array([[1.0, 0.0]])
    process = np.exp(theta[0]) * np.array([[0.03, 0.05], [0.05, 0.1]]) + 1e-3 * np.eye(2)
    noise = np.exp(theta[1]) * np.eye(1)
    spread = s.linalg.solve_discrete_are(step.T, watch.T, process, noise)
    gain = s.linalg.solve(watch @ spread @ watch.T + noise, watch @ spread, assume_a="pos").T
    state, total = np.zeros(2), 0.0
    for y in MEASURED:
        error = y - watch @ state
        total = total + np.sum(error**2)
        state = step @ (state + gain @ error)
    return total


DOSED = np.array([0.5, 1.0, 2.0, 4.0, 7.0])
LEVELS = np.array([1.2, 1.9, 2.2, 1.6, 0.8])


def pharmacokinetics(s: Any, theta: Any) -> Any:
    """The misfit of concentrations in blood after a dose by mouth, of two compartments."""
    absorbed, cleared = np.exp(theta[0]), np.exp(theta[1])

    def rates(t: Any, y: Any) -> Any:
        return np.stack([-absorbed * y[0], absorbed * y[0] - cleared * y[1]])

    found = s.integrate.solve_ivp(
        rates, (0.0, 7.0), np.array([4.0, 0.0]), t_eval=DOSED, rtol=1e-12, atol=1e-13
    )
    return np.sum((found.y[1] - LEVELS) ** 2)


# ---- geometry and images -------------------------------------------------------------------------

POINTS = RNG.normal(size=(6, 3)) + np.array([0.0, 0.0, 6.0])
SEEN = RNG.normal(size=(6, 2)) * 0.2


def bundle(s: Any, theta: Any) -> Any:
    """The error of reprojection of points that a turned and moved camera sees."""
    turn = s.spatial.transform.Rotation.from_rotvec(theta[:3])
    local = turn.apply(POINTS) + theta[3:6]
    return np.sum((local[:, :2] / local[:, 2:] - SEEN) ** 2)


BLURRED = RNG.random((6, 7))


def deconvolution(s: Any, image: Any) -> Any:
    """The misfit of a blurred image, and the roughness of what it may have been."""
    blurred = s.ndimage.gaussian_filter(image, 0.8, mode="reflect")
    rough = s.ndimage.laplace(image, mode="nearest")
    return np.sum((blurred - BLURRED) ** 2) + 0.01 * np.sum(rough**2)


KNOTS = np.linspace(0.0, 4.0, 6)


def spline_fit(s: Any, values: Any) -> Any:
    """The misfit and the bending energy of a natural cubic spline."""
    curve = s.interpolate.CubicSpline(KNOTS, values, bc_type="natural")
    bending = curve(np.linspace(0.0, 4.0, 21), 2)
    return np.sum((curve(PLACES) - HEIGHTS) ** 2) + 0.01 * np.sum(bending**2)


def inverse_problem(s: Any, conductivity: Any) -> Any:
    """The misfit of temperatures in a rod, whose sparse equations conjugate gradients solve."""
    between = np.exp(conductivity)
    main = between[:-1] + between[1:] + 0.5
    matrix = s.sparse.diags_array([-between[1:-1], main, -between[1:-1]], offsets=[-1, 0, 1])
    heat, _ = s.sparse.linalg.cg(matrix.tocsr(), np.ones(7), rtol=1e-13, atol=0.0)
    return np.sum((heat - np.linspace(1.0, 0.0, 7)) ** 2)


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "survival": (survival, np.array([0.2, 0.1, -0.3])),
    "Poisson regression": (poisson_regression, np.array([0.3, 0.5])),
    "Gaussian process": (gaussian_process, np.array([0.1, -2.0])),
    "ARMA": (arma, np.array([0.4, -0.2, 0.3, 0.1])),
    "Kalman filter": (kalman, np.array([0.2, -0.5])),
    "pharmacokinetics": (pharmacokinetics, np.array([0.3, -1.2])),
    "bundle adjustment": (bundle, np.array([0.02, -0.03, 0.01, 0.1, 0.2, -0.1])),
    "bundle adjustment at no rotation": (bundle, np.zeros(6)),
    "deconvolution": (deconvolution, RNG.random((6, 7))),
    "spline fit": (spline_fit, np.sin(KNOTS)),
    "inverse problem": (inverse_problem, RNG.normal(size=8) * 0.3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_scipys_value_and_derivatives_to_second_order(name: str) -> None:
    program, theta = PROGRAMS[name]
    ours, plain = partial(program, OURS), partial(program, SCIPY)
    assert ours(theta) == plain(theta)
    value, slope = fd.value_and_grad(ours)(theta)
    np.testing.assert_allclose(value, plain(theta), rtol=1e-9)
    check_grads(ours, (theta,), order=1)
    check_grads(ours, (theta,), order=2, modes=("reverse",))
    compiled = fd.jit(fd.value_and_grad(ours))
    for k in range(9):
        found = compiled(theta + 1e-3 * (k % 3))
        expected = fd.value_and_grad(ours)(theta + 1e-3 * (k % 3))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-7, atol=1e-9)
    assert slope.shape == theta.shape


@pytest.mark.slow
def test_a_regression_has_standard_errors_by_its_hessian() -> None:
    cost = partial(poisson_regression, OURS)
    found = OURS.optimize.minimize(cost, np.zeros(2), jac=fd.grad(cost), method="BFGS")
    errors = np.sqrt(np.diag(np.linalg.inv(fd.hessian(cost)(found.x))))
    rate = np.exp(found.x[0] + found.x[1] * AGE)
    design = np.stack([np.ones(12), AGE], axis=1)
    fisher = design.T @ (rate[:, None] * design) + np.eye(2) / 4.0
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(fisher))), rtol=1e-9)
