"""Least squares and curves, as functions of the data and all that residuals contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize as scipys

import funcdiff as fd
from funcdiff.errors import InputError
from funcdiff.scipy import optimize
from tests.scipy.agreement import assert_agrees

T = np.linspace(0.0, 2.0, 8)
Y = 2 * np.exp(-1.3 * T) + 0.3 + 0.05 * np.array([1, -1, 7, 0.5, -2, 1, 0, -0.7])
TIGHT = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


def model(t: Any, a: Any, b: Any, c: Any) -> Any:
    return a * np.exp(-b * t) + c


def slopes(t: Any, a: Any, b: Any, c: Any) -> Any:
    decay = np.exp(-b * t)
    return np.stack([decay, -a * t * decay, np.ones_like(t)], axis=1)


def slope_at_zero(f: Any, h: float = 2e-3) -> Any:
    """Return a difference of fourth order: SciPy's parameters have eight digits."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


# ---- least_squares -------------------------------------------------------------------------------


@pytest.mark.thinned(8)
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_every_loss(loss: str) -> None:
    def call(s: Any, y: Any, scale: Any) -> Any:
        found = s.least_squares(
            lambda p: model(T, *p) - y, np.array([2.0, 1.3, 0.3]), lambda p: slopes(T, *p),
            loss=loss, f_scale=scale, **TIGHT,
        )  # fmt: skip
        return found.x, found.cost, found.fun, found.jac

    y, scale = Y, np.array(0.2)
    expected = call(scipys, y, float(scale))
    found = fd.vjp(lambda y: call(optimize, y, scale), y)[0]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    by_y = fd.jacobian(lambda y: call(optimize, y, scale)[0])(y)
    quotient = slope_at_zero(lambda h: call(scipys, y + h * np.eye(8)[2], scale)[0])
    np.testing.assert_allclose(by_y[:, 2], quotient, rtol=1e-4, atol=1e-5)
    by_scale = fd.jacobian(lambda scale: call(optimize, y, scale)[0])(scale)
    quotient = slope_at_zero(lambda h: call(scipys, y, scale + h)[0])
    np.testing.assert_allclose(by_scale, quotient, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_loss_of_the_users() -> None:
    def cauchy(z: Any) -> Any:
        return np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])

    def found(y: Any, loss: Any) -> Any:
        return optimize.least_squares(lambda p: p[0] - y, np.zeros(1), loss=loss).x[0]

    y = np.array([0.1, 0.2, 0.4, 3.0])
    np.testing.assert_allclose(fd.grad(found)(y, cauchy), fd.grad(found)(y, "cauchy"), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_bounds_that_are_active_move_the_parameters(method: str) -> None:
    def found(y: Any, top: Any) -> Any:
        return optimize.least_squares(
            lambda p: model(T, *p) - y, np.array([2.0, 0.7, 0.3]), method=method,
            bounds=(np.zeros(3), np.stack([3.0 + 0 * top, top, 5.0 + 0 * top])), x_scale="jac",
            **TIGHT,
        )  # fmt: skip

    result = fd.vjp(found, Y, 0.9)[0]
    np.testing.assert_allclose(result.x[1], 0.9, rtol=1e-9)
    by_y, by_top = fd.jacobian(lambda y, top: found(y, top).x, argnums=(0, 1))(Y, 0.9)
    np.testing.assert_allclose(by_y[1], 0, atol=1e-12)
    np.testing.assert_allclose(by_top[1], 1, rtol=1e-9)
    quotient = slope_at_zero(lambda h: found(Y, 0.9 + h).x)
    np.testing.assert_allclose(by_top, quotient, rtol=1e-4, atol=1e-9)


def test_the_mean_is_the_least_squares_solution() -> None:
    def call(s: Any, y: Any) -> Any:
        found = s.least_squares(lambda x: x[0] - y, np.zeros(1), lambda x: np.ones((3, 1)))
        return found.x, found.cost, found.grad

    y = np.array([1.0, 2.0, 6.0])
    x, cost, gradient = fd.jacobian(lambda y: call(optimize, y))(y)
    np.testing.assert_allclose(x, [[1 / 3, 1 / 3, 1 / 3]], rtol=1e-9)
    np.testing.assert_allclose(cost, y - 3.0, rtol=1e-7)
    np.testing.assert_allclose(gradient, np.zeros((1, 3)), atol=1e-12)
    curvature = fd.hessian(lambda y: call(optimize, y)[1])(y)
    np.testing.assert_allclose(curvature, np.eye(3) - 1 / 3, atol=1e-9)


@pytest.mark.slow
def test_leastsq_has_the_covariance() -> None:
    def found(y: Any, full: bool = True) -> Any:
        return optimize.leastsq(residuals, np.ones(3), (y,), derivative, full, **TIGHT)

    def residuals(p: Any, y: Any) -> Any:
        return model(T, *p) - y

    def derivative(p: Any, y: Any) -> Any:
        return slopes(T, *p)

    x, covariance, info, _, flag = fd.vjp(found, Y)[0]
    expected = scipys.leastsq(residuals, np.ones(3), (Y,), derivative, True, **TIGHT)
    np.testing.assert_allclose(x, expected[0], rtol=1e-7)
    np.testing.assert_allclose(covariance, expected[1], rtol=1e-6)
    np.testing.assert_allclose(info["fvec"], model(T, *x) - Y, rtol=1e-9)
    assert flag == expected[-1]
    by_leastsq = fd.jacobian(lambda y: found(y, full=False)[0])(Y)
    by_curve = fd.jacobian(lambda y: optimize.curve_fit(model, T, y, **TIGHT)[0])(Y)
    np.testing.assert_allclose(by_leastsq, by_curve, rtol=1e-6)


# ---- curve_fit -----------------------------------------------------------------------------------

COVARIANCE = 0.04 * (np.eye(8) + 0.3)
FITS: dict[str, dict[str, Any]] = {
    "plain": {},
    "deviations": {"sigma": np.linspace(0.1, 0.3, 8)},
    "absolute": {"sigma": np.linspace(0.1, 0.3, 8), "absolute_sigma": True},
    "covariance": {"sigma": COVARIANCE},
    "bounds": {"bounds": ([0.0, 0.0, 0.0], [3.0, 5.0, 5.0])},
    "dogbox": {"p0": [2.0, 1.0, 1.0], "method": "dogbox"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_parameters_and_their_covariance(name: str) -> None:
    def call(s: Any, t: Any, y: Any) -> Any:
        return s.curve_fit(model, t, y, jac=slopes, **{**TIGHT, **FITS[name]})

    ours = fd.vjp(lambda t, y: call(optimize, t, y), T, Y)[0]
    for found, expected in zip(ours, call(scipys, T, Y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    jacobians = fd.jacobian(lambda t, y: call(optimize, t, y), argnums=(0, 1))(T, Y)
    step = np.eye(8)[3]
    for k, by in enumerate(jacobians):
        quotients = (
            slope_at_zero(lambda h, k=k: call(scipys, T + h * step, Y)[k]),
            slope_at_zero(lambda h, k=k: call(scipys, T, Y + h * step)[k]),
        )
        for found, quotient in zip(by, quotients, strict=True):
            np.testing.assert_allclose(found[..., 3], quotient, rtol=1e-4, atol=2e-5)


def test_standard_errors_of_a_line_are_those_of_the_textbook() -> None:
    t = np.array([0.0, 1.0, 2.0, 4.0])
    y = np.array([0.1, 0.9, 2.1, 3.7])

    def line(t: Any, slope: Any, offset: Any) -> Any:
        return slope * t + offset

    def textbook(y: Any) -> Any:
        centred = t - np.mean(t)
        slope = centred @ y / (centred @ centred)
        rest = y - np.mean(y) - slope * centred
        return np.sqrt(rest @ rest / 2 / (centred @ centred))

    def ours(y: Any) -> Any:
        return np.sqrt(optimize.curve_fit(line, t, y)[1][0, 0])

    np.testing.assert_allclose(fd.vjp(ours, y)[0], textbook(y), rtol=1e-7)
    np.testing.assert_allclose(fd.grad(ours)(y), fd.grad(textbook)(y), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(fd.hessian(ours)(y), fd.hessian(textbook)(y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fd.jit(ours)(y), textbook(y), rtol=1e-7)
    np.testing.assert_allclose(fd.vmap(ours)(np.stack([y, y]))[1], textbook(y), rtol=1e-7)


@pytest.mark.slow
def test_deviations_are_differentiated() -> None:
    def mean(sigma: Any) -> Any:
        popt, pcov = optimize.curve_fit(
            lambda t, m: m + 0 * t, T, Y, p0=[1.0], sigma=sigma, absolute_sigma=True
        )
        return popt[0] + pcov[0, 0]

    def weighted(sigma: Any) -> Any:
        w = sigma**-2
        return (w @ Y + 1) / np.sum(w)

    sigma = np.linspace(0.1, 0.3, 8)
    np.testing.assert_allclose(fd.grad(mean)(sigma), fd.grad(weighted)(sigma), rtol=1e-6)


def test_what_the_whole_output_has() -> None:
    def found(y: Any) -> Any:
        return optimize.curve_fit(model, T, y, full_output=True)

    popt, pcov, info, message, flag = fd.vjp(found, Y)[0]
    np.testing.assert_allclose(info["fvec"], model(T, *popt) - Y, rtol=1e-9)
    assert pcov.shape == (3, 3)
    assert "relative" in message
    assert flag in (1, 2, 3)


def test_points_are_not_left_out() -> None:
    with pytest.raises(InputError, match="Select the points before"):
        fd.jacobian(lambda y: optimize.curve_fit(model, T, y, nan_policy="omit")[0])(Y)
    with pytest.raises(InputError, match="use least_squares"):
        fd.jacobian(lambda y: optimize.curve_fit(model, T, y, method="trf", loss="cauchy")[0])(Y)


# ---- linear --------------------------------------------------------------------------------------

A = np.array([[1.0, 2.0, 0.3], [3.0, 1.0, -1.0], [0.5, 1.0, 2.0], [-1.0, 0.4, 1.0]])
B = np.array([1.0, 2.0, -3.0, 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nnls", "lsq_linear"])
def test_linear_least_squares_within_bounds(name: str) -> None:
    def call(s: Any, a: Any, b: Any) -> Any:
        if name == "nnls":
            return s.nnls(a, b)
        found = s.lsq_linear(a, b, (-0.5, [0.6, 0.7, 3.0]), tol=1e-14)
        return found.x, found.fun, found.cost

    assert_agrees("scipy.optimize", call, A, B, rtol=1e-9)


def test_a_ridge_by_nnls_has_the_derivative_of_its_closed_form() -> None:
    def ours(penalty: Any) -> Any:
        wide = np.concatenate([A, np.sqrt(penalty) * np.eye(3)])
        return optimize.nnls(wide, np.concatenate([B, np.zeros(3)]))[0]

    def closed(penalty: Any) -> Any:
        part = A[:, free]
        return np.linalg.solve(part.T @ part + penalty * np.eye(part.shape[1]), part.T @ B)

    free = ours(0.7) > 0
    found = fd.jacobian(ours)(0.7)
    np.testing.assert_allclose(found[free], fd.jacobian(closed)(0.7), rtol=1e-9)
    np.testing.assert_array_equal(found[~free], 0)
    assert 0 < np.sum(free) < 3


def test_arguments_come_by_position_as_scipys_do() -> None:
    def solutions(b: Any) -> Any:
        return (
            optimize.nnls(A, b, 50)[0],
            optimize.lsq_linear(A, b, (0.0, np.inf), "bvls").x,
            optimize.least_squares(
                lambda x: A @ x - b, np.ones(3), "2-point", (0.0, np.inf), "trf", 1e-12, 1e-12
            ).x,
        )

    first, second, third = fd.vjp(solutions, B)[0]
    np.testing.assert_allclose(first, second, atol=1e-9)
    np.testing.assert_allclose(first, third, atol=1e-6)
    with pytest.raises(TypeError, match=r"nnls\(\) takes \d arguments, but 7 were given"):
        fd.vjp(lambda b: optimize.nnls(A, b, 1, 2, 3, 4, 5), B)


def test_lsq_linear_at_bounds_reports_them() -> None:
    found = fd.vjp(lambda b: optimize.lsq_linear(A, b, (0.0, np.inf)), B)[0]
    expected = scipys.lsq_linear(A, B, (0.0, np.inf))
    np.testing.assert_array_equal(found.active_mask, expected.active_mask)
    assert found.message == expected.message
    assert found.success == expected.success
