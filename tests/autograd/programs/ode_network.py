"""A small network as the right side of a differential equation, fitted to a spiral."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad
from autograd.builtins import tuple  # noqa: A004
from autograd.misc.optimizers import adam
from autograd.scipy.integrate import odeint

TOLERANCES = {"rtol": 1e-11, "atol": 1e-11}


def slope(y: Any, _t: Any, layers: Any) -> Any:
    x = y**3
    for k, (weights, bias) in enumerate(layers):
        x = np.dot(np.tanh(x) if k else x, weights) + bias
    return x


def spiral(y: Any, _t: Any) -> Any:
    return np.dot(y**3, np.array([[-0.1, 2.0], [-2.0, -0.1]]))


def run(steps: int = 2) -> dict[str, Any]:
    random = npr.RandomState(5)
    t = np.linspace(0.0, 1.0, 4)
    start = np.array([1.2, 0.1])
    wanted = odeint(spiral, start, t, **TOLERANCES)
    layers = [(0.3 * random.randn(2, 4), np.zeros(4)), (0.3 * random.randn(4, 2), np.zeros(2))]

    def loss(layers: Any, start: Any) -> Any:
        found = odeint(slope, start, t, tuple((layers,)), **TOLERANCES)
        return np.mean((found - wanted) ** 2)

    both = value_and_grad(loss, (0, 1))
    trained = adam(lambda p, _i: both(p, start)[1][0], layers, num_iters=steps, step_size=0.05)
    value, (_, by_start) = both(trained, start)
    return {"value": value, "weights": trained[0][0], "by_start": by_start}
