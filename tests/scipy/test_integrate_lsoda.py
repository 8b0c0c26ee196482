"""LSODA and odeint: SciPy's values, and the derivatives of the steps of LSODA."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import integrate as plain
from scipy.linalg import expm

import funcdiff as fd
from funcdiff.scipy import integrate

TIMES = np.array([0.0, 0.5, 0.5, 2.0])
Y0 = np.array([1.0, 0.5])


def _decay(y: Any, _t: Any, k: Any) -> Any:
    return -k * y


def _half(_t: Any, y: Any) -> Any:
    return y[0] - 0.5


_half.terminal = True  # type: ignore[attr-defined]


def test_odeint_has_scipys_values_and_exact_derivatives() -> None:
    def f(s: Any, k: Any, y0: Any, t: Any) -> Any:
        return s.odeint(_decay, y0, t, args=(k,), rtol=1e-9, atol=1e-9)

    y0 = np.array([1.0, 2.0])
    value, pull = fd.vjp(lambda *xs: f(integrate, *xs), 0.5, y0, TIMES)
    np.testing.assert_allclose(value, f(plain, 0.5, y0, TIMES), rtol=1e-10)
    decay = np.exp(-0.5 * TIMES)
    by_k, by_y0, by_t = pull(np.ones((4, 2)))
    np.testing.assert_allclose(by_k, -3 * np.sum(TIMES * decay), rtol=1e-7)
    np.testing.assert_allclose(by_y0, np.sum(decay) * np.ones(2), rtol=1e-7)
    np.testing.assert_allclose(by_t[1:], -1.5 * decay[1:], rtol=1e-6)
    end = fd.grad(fd.grad(lambda k: f(integrate, k, y0, TIMES)[-1, 0]))
    np.testing.assert_allclose(end(0.5), 4 * np.exp(-1.0), rtol=1e-6)


def _swing(y: Any, _t: Any, b: Any, c: Any) -> Any:
    return fd.numpy.array([y[1], -b * y[1] - c * np.sin(y[0])])


def _circle(y: Any, _t: Any, m: Any) -> Any:
    return fd.numpy.array([y[1], m * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.thinned(5)
@pytest.mark.parametrize(
    ("f", "y0", "args"),
    [(_swing, [3.0, 0.0], (0.25, 5.0)), (_circle, [2.0, 0.0], (2.0,)), (_decay, Y0, (0.7,))],
)
def test_derivatives_of_odeint_are_as_accurate_as_its_values_can_be(
    f: Any, y0: Any, args: tuple[float, ...]
) -> None:
    at = np.array([*y0, *args])
    times = np.linspace(0.0, 10.0, 11)
    weights = np.cos(np.arange(22.0)).reshape(11, 2)

    def g(at: Any, /, **options: Any) -> Any:
        return np.sum(weights * integrate.odeint(f, at[:2], times, tuple(at[2:]), **options))

    exact = fd.grad(g)(at, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(fd.grad(g)(at), exact, rtol=0, atol=5e-8 * np.max(np.abs(exact)))


@pytest.mark.slow
def test_odeint_takes_its_options() -> None:
    def f(s: Any, k: Any, **options: Any) -> Any:
        return s.odeint(lambda t, y: -k * y, 1.0, TIMES, tfirst=True, **options)

    jacobian = {"Dfun": lambda _t, _y: -0.5 * np.ones((1, 1)), "rtol": 1e-9, "hmax": 0.1}
    for options in (jacobian, {"full_output": 1}):

        def ours(k: Any, options: Any = options) -> Any:
            return f(integrate, k, **options)

        traced = fd.vjp(ours, 0.5)[0]
        expected = f(plain, 0.5, **options)
        for one, wanted in zip(traced, expected, strict=True):
            if isinstance(wanted, dict):
                assert one.keys() == wanted.keys()
            else:
                np.testing.assert_allclose(one, wanted, rtol=1e-10)
    batch = fd.vmap(fd.jit(fd.grad(lambda k: f(integrate, k)[-1, 0])))(np.array([0.5, 0.1]))
    np.testing.assert_allclose(batch, -2 * np.exp([-1.0, -0.2]), rtol=1e-6)
    assert fd.grad(lambda x: x * plain.odeint(_decay, 1.0, TIMES, (1.0,))[0, 0])(3.0) == 1.0


@pytest.mark.slow
def test_solve_ivp_with_lsoda_has_exact_derivatives() -> None:
    options = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-10}

    def solve(s: Any, k: Any, end: Any, **more: Any) -> Any:
        return s.solve_ivp(lambda _t, y: -k * y, (0, end), [1.0], **options, **more)

    value = fd.vjp(lambda k: solve(integrate, k, 2.0).y, 0.5)[0]
    np.testing.assert_allclose(value, solve(plain, 0.5, 2.0).y, rtol=1e-10)
    last = fd.grad(lambda k, end: solve(integrate, k, end).y[0, -1], (0, 1))(0.5, 2.0)
    np.testing.assert_allclose(last, -np.array([2.0, 0.5]) * np.exp(-1), rtol=1e-7)
    dense = fd.grad(lambda k: solve(integrate, k, 2.0, dense_output=True).sol(1.3)[0])(0.5)
    np.testing.assert_allclose(dense, -1.3 * np.exp(-0.65), rtol=1e-6)
    ended = fd.grad(lambda k: solve(integrate, k, 20.0, events=_half).t[-1])(0.5)
    np.testing.assert_allclose(ended, -np.log(2) / 0.25, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("end", [1.5, -1.5])
def test_the_steps_of_lsoda_have_exact_derivatives(end: float) -> None:
    def spring(_t: Any, y: Any, k: Any) -> Any:
        return np.stack([y[1], -k * y[0] * (1 + 0.1 * y[0] ** 2)])

    def last(k: Any, method: str, tolerance: float) -> Any:
        options = {"rtol": tolerance, "atol": tolerance, "args": (k,)}
        return integrate.solve_ivp(spring, (0, end), [1.0, 0.3], method, **options).y[:, -1]

    for tolerance in (1e-4, 1e-11):  # of low orders and of high ones
        one, other = (partial(last, method=m, tolerance=tolerance) for m in ("LSODA", "DOP853"))
        slopes = fd.jvp(one, (1.3,), (1.0,))[1], fd.jvp(other, (1.3,), (1.0,))[1]
        np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e3 * tolerance)
    bends = fd.jacrev(fd.jacfwd(one))(1.3), fd.jacfwd(fd.jacfwd(other))(1.3)
    np.testing.assert_allclose(bends[0], bends[1], rtol=1e-8)


@pytest.mark.parametrize("count", [1, 30])
def test_stiff_equations_have_the_derivatives_of_their_steps(count: int) -> None:
    def f(k: Any, method: str) -> Any:
        def rate(t: Any, y: Any) -> Any:
            return -1e4 * (y - k * np.cos(t))

        if method == "odeint":
            options = {"tfirst": True, "rtol": 1e-6, "atol": 1e-6}
            return integrate.odeint(rate, np.ones(count), [0.0, 2.0], **options)[1]
        found = integrate.solve_ivp(rate, (0, 2), np.ones(count), method, [2.0], rtol=1e-6)
        return found.y[:, 0]

    for method in ("LSODA", "odeint"):
        slope = fd.jvp(partial(f, method=method), (1.0,), (1.0,))[1]
        np.testing.assert_allclose(slope, np.cos(np.full(count, 2.0)), atol=1e-3)


@pytest.mark.parametrize("method", ["odeint", "BDF"])
@pytest.mark.parametrize("count", [3, 9])  # a system with a band, and step by step
def test_components_that_are_coupled_have_the_derivatives_of_the_exponential(
    count: int, method: str
) -> None:
    matrix = np.diag(np.linspace(-4.0, -1.0, count)) + np.diag(np.ones(count - 1), 1)

    def last(p: Any) -> Any:
        def rate(_t: Any, y: Any) -> Any:
            return p * (matrix @ y)

        options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
        if method == "odeint":
            return integrate.odeint(rate, np.ones(count), [0.0, 1.0], tfirst=True, **options)[1]
        return integrate.solve_ivp(rate, (0.0, 1.0), np.ones(count), method, **options).y[:, -1]

    expected = matrix @ expm(0.8 * matrix) @ np.ones(count)
    np.testing.assert_allclose(fd.jvp(last, (0.8,), (1.0,))[1], expected, rtol=1e-5, atol=1e-6)
    pulled = fd.vjp(last, 0.8)[1](expected)[0]
    np.testing.assert_allclose(pulled, expected @ expected, rtol=1e-5)


def test_every_component_may_have_a_tolerance_of_its_own() -> None:
    def last(k: Any) -> Any:
        atol = np.array([1e-9, 1e-8])
        return integrate.odeint(_decay, Y0, [0.0, 2.0], (k,), rtol=1e-9, atol=atol)[-1]

    np.testing.assert_allclose(fd.jvp(last, (0.5,), (1.0,))[1], -2 * np.exp(-1) * Y0, rtol=1e-6)


def test_values_of_arithmetic_have_scipys_bits() -> None:
    def lorenz(_t: Any, y: Any, r: Any) -> Any:
        x, y, z = y
        return np.stack([10 * (y - x), x * (r - z) - y, np.maximum(x * y, -9e9) - 8 / 3 * z])

    def f(s: Any, r: Any) -> Any:
        return s.odeint(lorenz, np.ones(3), [0.0, 1.0, 4.0], args=(r,), tfirst=True)

    np.testing.assert_array_equal(fd.vjp(lambda r: f(integrate, r), 28.0)[0], f(plain, 28.0))


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_implicit_methods_have_derivatives_over_no_time(method: str) -> None:
    def last(t: Any) -> Any:
        return integrate.solve_ivp(lambda t, y: t - y, (0.0, t), Y0, method).y[:, -1].sum()

    assert fd.grad(last)(0.0) == -Y0.sum()
    assert fd.grad(fd.grad(last))(0.0) == pytest.approx(len(Y0) + Y0.sum(), rel=1e-8)


@pytest.mark.slow
def test_a_solution_over_no_time_has_derivatives() -> None:
    def rate(y: Any, t: Any) -> Any:
        return np.exp(t) - y / 2

    def end(t: Any) -> Any:
        return integrate.odeint(rate, Y0, t)[-1].sum()

    def last(t: Any) -> Any:
        return integrate.solve_ivp(lambda t, y: rate(y, t), (0.0, t), Y0, "LSODA").y[:, -1].sum()

    # with y' = f at the start, and y'' = eᵗ - f/2; the derivative by both times
    slope = (1 - Y0 / 2).sum()
    bend = len(Y0) - slope / 2
    times = np.zeros(3)
    for found in (fd.jacfwd(end)(times), fd.jacrev(end)(times), fd.jit(fd.grad(end))(times)):
        np.testing.assert_allclose(found, [-slope, 0, slope], rtol=1e-12)
    np.testing.assert_allclose(fd.hessian(end)(times)[2, [0, 2]], [slope / 2, bend], rtol=1e-8)
    assert fd.grad(last)(0.0) == pytest.approx(slope, rel=1e-12)
    assert fd.grad(fd.grad(last))(0.0) == pytest.approx(bend, rel=1e-8)


@pytest.mark.parametrize("count", [0, 1])
def test_odeint_takes_one_time_and_none(count: int) -> None:
    def f(y: Any) -> Any:
        return integrate.odeint(_decay, y, np.zeros(count), (1.0,))

    assert f(Y0).shape == (count, 2)
    np.testing.assert_array_equal(fd.jacrev(f)(Y0), np.tile(np.eye(2), (count, 1, 1)))
