"""A network with a convolution and pooling tells crosses from rings."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.optimizers import sgd
from autograd.scipy.signal import convolve


def scores(parameters: dict[str, Any], images: Any) -> Any:
    maps = convolve(images, parameters["filters"], axes=([2, 3], [2, 3]), dot_axes=([1], [0]),
                    mode="valid")  # fmt: skip
    count, depth, rows, columns = maps.shape
    cells = np.reshape(np.tanh(maps), (count, depth, rows // 2, 2, columns // 2, 2))
    pooled = np.max(np.max(cells, axis=3), axis=4)
    return np.dot(np.reshape(pooled, (count, -1)), parameters["weights"]) + parameters["bias"]


def pictures(count: int, random: Any) -> tuple[Any, Any]:
    i, j = np.meshgrid(np.arange(8) - 3.5, np.arange(8) - 3.5, indexing="ij")
    ring = np.exp(-((np.hypot(i, j) - 2.5) ** 2))
    cross = np.exp(-(np.minimum(np.abs(i), np.abs(j)) ** 2))
    label = np.arange(count) % 2
    clean = np.where(label[:, None, None] == 1, ring, cross)
    return (clean + 0.3 * random.randn(count, 8, 8))[:, None], label


def run(steps: int = 5) -> dict[str, Any]:
    random = npr.RandomState(8)
    images, label = pictures(12, random)
    parameters = {
        "filters": 0.3 * random.randn(1, 3, 3, 3),
        "weights": 0.3 * random.randn(27),
        "bias": 0.0,
    }

    def loss(parameters: dict[str, Any], _step: int) -> Any:
        margin = (2 * label - 1) * scores(parameters, images)
        return np.mean(np.logaddexp(0.0, -margin))

    trained = sgd(grad(loss), parameters, num_iters=steps, step_size=0.5)
    return {"loss": loss(trained, 0), "filters": trained["filters"], "bias": trained["bias"]}
