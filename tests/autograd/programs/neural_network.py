"""A network of two hidden layers learns which of three spirals a point is on."""

import itertools
from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import adam

Layers = list[tuple[Any, Any]]


def spirals(count: int, random: Any) -> tuple[Any, Any]:
    label = np.arange(count) % 3
    radius = random.uniform(0.2, 1.0, count)
    angle = 4 * radius + label * 2 * np.pi / 3 + 0.1 * random.randn(count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points, np.eye(3)[label]


def log_probabilities(layers: Layers, x: Any) -> Any:
    for weights, bias in layers:
        scores = np.dot(x, weights) + bias
        x = np.tanh(scores)
    return scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))


def run(steps: int = 15) -> dict[str, Any]:
    random = npr.RandomState(0)
    x, y = spirals(60, random)
    sizes = [2, 16, 8, 3]
    layers = [(0.5 * random.randn(n, m), np.zeros(m)) for n, m in itertools.pairwise(sizes)]

    def loss(layers: Layers, step: int) -> Any:
        batch = slice(20 * (step % 3), 20 * (step % 3 + 1))
        penalty = 1e-3 * sum(np.sum(weights**2) for weights, _ in layers)
        return penalty - np.mean(np.sum(y[batch] * log_probabilities(layers, x[batch]), axis=1))

    seen: list[Any] = []
    trained = adam(
        grad(loss), layers, lambda p, i, _g: seen.append(loss(p, i)), num_iters=steps,
        step_size=0.05,
    )  # fmt: skip
    return {"losses": seen, "weights": trained[0][0], "bias": trained[-1][1]}
