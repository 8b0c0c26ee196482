"""What people write, in plain NumPy, against central differences."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

RANDOM = np.random.default_rng(21)
INPUTS = RANDOM.normal(size=(20, 4))
TARGETS = RANDOM.normal(size=20)
LABELS = RANDOM.integers(0, 3, size=20)


def _check_gradient(f: Callable[[Any], Any], params: Any) -> None:
    """Compare the gradient by a container with central differences, and forward with reverse."""
    flat, rebuild = fd.ravel_pytree(params)
    gradient, _ = fd.ravel_pytree(fd.grad(f)(params))
    step = 1e-5
    units = np.eye(flat.size)
    expected = [
        (f(rebuild(flat + step * e)) - f(rebuild(flat - step * e))) / (2 * step) for e in units
    ]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    direction = RANDOM.normal(size=flat.size)
    value, slope = fd.jvp(f, (params,), (rebuild(direction),))
    np.testing.assert_allclose(slope, gradient @ direction, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, f(params), rtol=1e-14)


# ---- regression and classification -----------------------------------------------------------


def test_linear_regression_has_the_gradient_of_the_normal_equations() -> None:
    def loss(w: Any) -> Any:
        return np.mean((INPUTS @ w - TARGETS) ** 2)

    w = RANDOM.normal(size=4)
    _check_gradient(loss, w)
    expected = 2 * INPUTS.T @ (INPUTS @ w - TARGETS) / 20
    np.testing.assert_allclose(fd.grad(loss)(w), expected, rtol=1e-12)
    np.testing.assert_allclose(fd.hessian(loss)(w), INPUTS.T @ INPUTS / 10, rtol=1e-12)


@dataclass
class Network:
    """Two layers and the name of what is between them."""

    hidden: tuple[Any, Any]
    out: tuple[Any, Any]
    activation: str = "tanh"


def _logits(net: Network, x: Any) -> Any:
    w, b = net.hidden
    h = getattr(np, net.activation)(x @ w + b)
    return h @ net.out[0] + net.out[1]


def _cross_entropy(net: Network) -> Any:
    z = _logits(net, INPUTS)
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(LABELS)), LABELS])


def test_a_softmax_classifier_in_a_dataclass() -> None:
    net = Network(
        (RANDOM.normal(size=(4, 5)), np.zeros(5)), (RANDOM.normal(size=(5, 3)), np.ones(3))
    )
    _check_gradient(_cross_entropy, net)
    assert fd.grad(_cross_entropy)(net).activation in ("tanh", None)


def test_attention_with_a_causal_mask_and_heads() -> None:
    causal = np.tril(np.ones((5, 5), bool))

    def attention(params: dict[str, Any]) -> Any:
        x = params["x"]
        q, k, v = (
            (x @ params[name]).reshape(5, 2, 3).transpose(1, 0, 2) for name in ("q", "k", "v")
        )
        scores = np.where(causal, q @ k.swapaxes(-1, -2) / np.sqrt(3), -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        mixed = np.einsum("hij,hjd->ihd", weights, v).reshape(5, 6)
        return np.sum(np.sin(mixed))

    params = {name: RANDOM.normal(size=(6, 6)) / 2 for name in ("q", "k", "v")}
    _check_gradient(attention, {**params, "x": RANDOM.normal(size=(5, 6))})


def test_a_convolution_by_windows() -> None:
    signal = RANDOM.normal(size=30)

    def f(kernel: Any) -> Any:
        filtered = np.convolve(signal, kernel, mode="valid")
        return np.sum(np.maximum(filtered, 0) ** 2)

    _check_gradient(f, RANDOM.normal(size=4))


# ---- optimisation ----------------------------------------------------------------------------


def _rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_the_gradient_and_hessian_of_rosenbrocks_function() -> None:
    a, b = x = np.array([-1.2, 1.0])
    _check_gradient(_rosenbrock, x)
    np.testing.assert_allclose(
        fd.grad(_rosenbrock)(x), [-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)], rtol=1e-13
    )
    np.testing.assert_allclose(
        fd.hessian(_rosenbrock)(x),
        [[1200 * a**2 - 400 * b + 2, -400 * a], [-400 * a, 200]],
        rtol=1e-13,
    )


def test_a_hypergradient_through_gradient_descent() -> None:
    def trained(rate: Any) -> Any:
        w = np.zeros(4)
        for _ in range(5):
            w = w - rate * fd.grad(lambda w: np.mean((INPUTS @ w - TARGETS) ** 2))(w)
        return np.mean((INPUTS @ w - TARGETS) ** 2)

    _check_gradient(trained, 0.1)


# ---- simulation ------------------------------------------------------------------------------


def _rk4(field: Callable[[Any, Any], Any], y: Any, times: Any) -> Any:
    for start, stop in pairwise(times):
        h = stop - start
        k1 = field(start, y)
        k2 = field(start + h / 2, y + h / 2 * k1)
        k3 = field(start + h / 2, y + h / 2 * k2)
        k4 = field(stop, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def test_a_differential_equation_by_runge_kutta() -> None:
    times = np.linspace(0, 2, 21)

    def final(p: dict[str, Any]) -> Any:
        def lotka_volterra(_: Any, y: Any) -> Any:
            prey, predators = y
            return np.stack(
                [
                    p["birth"] * prey - p["kill"] * prey * predators,
                    p["gain"] * prey * predators - p["death"] * predators,
                ]
            )

        return np.sum(_rk4(lotka_volterra, p["y"], times) * np.array([1.0, 2.0]))

    _check_gradient(
        final, {"y": np.array([1.0, 0.5]), "birth": 1.1, "kill": 0.4, "gain": 0.2, "death": 0.4}
    )


# ---- Gaussian processes ----------------------------------------------------------------------


def _covariance(p: dict[str, Any]) -> Any:
    distances = np.sum((INPUTS[:, None] - INPUTS[None]) ** 2, axis=-1)
    kernel = np.exp(p["amplitude"]) * np.exp(-0.5 * distances / np.exp(2 * p["scale"]))
    return kernel + np.exp(p["noise"]) * np.eye(20)


def _likelihood_by_cholesky(p: dict[str, Any]) -> Any:
    factor = np.linalg.cholesky(_covariance(p))
    whitened = np.linalg.solve(factor, TARGETS)
    return -0.5 * whitened @ whitened - np.sum(np.log(np.diag(factor))) - 10 * np.log(2 * np.pi)


def _likelihood_by_slogdet(p: dict[str, Any]) -> Any:
    K = _covariance(p)
    fit = TARGETS @ np.linalg.solve(K, TARGETS)
    return -0.5 * (fit + np.linalg.slogdet(K)[1] + 20 * np.log(2 * np.pi))


def _likelihood_by_det(p: dict[str, Any]) -> Any:
    K = _covariance(p)
    return -0.5 * (TARGETS @ np.linalg.inv(K) @ TARGETS + np.log(np.linalg.det(K)))


@pytest.mark.parametrize(
    "likelihood", [_likelihood_by_cholesky, _likelihood_by_slogdet, _likelihood_by_det]
)
def test_the_marginal_likelihood_of_a_gaussian_process(likelihood: Any) -> None:
    _check_gradient(likelihood, {"amplitude": 0.3, "scale": 0.1, "noise": -1.0})


# ---- physics ---------------------------------------------------------------------------------


def test_the_residual_of_the_heat_equation() -> None:
    def field(params: dict[str, Any], t: Any, x: Any) -> Any:
        hidden = np.tanh(params["w"] @ np.stack([t, x]) + params["b"])
        return params["v"] @ hidden

    def residual(params: dict[str, Any], t: Any, x: Any) -> Any:
        u_t = fd.grad(field, argnums=1)(params, t, x)
        u_xx = fd.grad(fd.grad(field, argnums=2), argnums=2)(params, t, x)
        return u_t - 0.3 * u_xx

    times, places = RANDOM.uniform(size=(2, 6))

    def loss(params: dict[str, Any]) -> Any:
        return np.mean(fd.vmap(residual, in_axes=(None, 0, 0))(params, times, places) ** 2)

    _check_gradient(
        loss, {"w": RANDOM.normal(size=(5, 2)), "b": np.zeros(5), "v": RANDOM.normal(size=5)}
    )


def test_forces_are_minus_the_gradient_of_an_energy() -> None:
    def energy(positions: Any) -> Any:
        i, j = np.triu_indices(len(positions), 1)
        r = np.linalg.norm(positions[i] - positions[j], axis=1)
        return np.sum(4 * (r**-12 - r**-6))

    positions = np.array([[0.0, 0, 0], [1.2, 0, 0], [0, 1.3, 0.2], [0.3, 0.4, 1.4]])
    _check_gradient(energy, positions)
    forces = -fd.grad(energy)(positions)
    np.testing.assert_allclose(forces.sum(axis=0), np.zeros(3), atol=1e-10)


def test_the_equations_of_motion_from_a_lagrangian() -> None:
    def lagrangian(q: Any, v: Any) -> Any:
        return 0.5 * v @ v + 9.81 * np.cos(q[0]) + np.sin(q[1]) * v[0]

    def acceleration(q: Any, v: Any) -> Any:
        mass = fd.hessian(lagrangian, argnums=1)(q, v)
        mixed = fd.jacobian(fd.grad(lagrangian, argnums=1), argnums=0)(q, v)
        return np.linalg.solve(mass, fd.grad(lagrangian)(q, v) - mixed @ v)

    q, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    expected = [-9.81 * np.sin(q[0]) - np.cos(q[1]) * v[1], np.cos(q[1]) * v[0]]
    np.testing.assert_allclose(acceleration(q, v), expected, rtol=1e-12)
    _check_gradient(lambda q: np.sum(acceleration(q, v)), q)
