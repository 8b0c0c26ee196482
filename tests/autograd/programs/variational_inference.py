"""Black-box variational inference: a normal distribution laid over a banana, from samples."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.stats import norm


def log_density(x: Any, _step: int) -> Any:
    across, along = x[:, 0], x[:, 1]
    return norm.logpdf(across, along**2 / 4, 0.8) + norm.logpdf(along, 0.5, 1.35)


def run(steps: int = 12) -> dict[str, Any]:
    random = npr.RandomState(7)
    seen: list[Any] = []

    def bound(parameters: Any, step: int) -> Any:
        mean, log_deviation = parameters[:2], parameters[2:]
        samples = mean + np.exp(log_deviation) * random.randn(40, 2)
        entropy = mvn.entropy(mean, np.diag(np.exp(2 * log_deviation)))
        return -(entropy + np.mean(log_density(samples, step)))

    found = adam(
        grad(bound), np.array([-1.0, 1.0, -2.0, -2.0]), lambda p, i, g: seen.append(g),
        num_iters=steps, step_size=0.1,
    )  # fmt: skip
    return {"parameters": found, "gradients": seen}
