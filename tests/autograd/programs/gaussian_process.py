"""A Gaussian process: its scales by maximum likelihood, then predictions with their errors."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import value_and_grad
from scipy.optimize import minimize


def covariance(parameters: Any, a: Any, b: Any) -> Any:
    height, widths = np.exp(parameters[0]), np.exp(parameters[2:])
    differences = np.expand_dims(a / widths, 1) - np.expand_dims(b / widths, 0)
    return height * np.exp(-0.5 * np.sum(differences**2, axis=2))


def predictions(parameters: Any, x: Any, y: Any, places: Any) -> tuple[Any, Any]:
    noise = np.exp(parameters[1]) * np.eye(len(y))
    across = covariance(parameters, places, x)
    solved = np.linalg.solve(covariance(parameters, x, x) + noise, across.T)
    left = covariance(parameters, places, places) - np.dot(across, solved)
    return np.dot(solved.T, y), np.diag(left)


def run(steps: int = 6) -> dict[str, Any]:
    random = npr.RandomState(3)
    x = random.uniform(-2, 2, (14, 2))
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.05 * random.randn(14)

    def unlikelihood(parameters: Any) -> Any:
        total = covariance(parameters, x, x) + np.exp(parameters[1]) * np.eye(len(y))
        return -mvn.logpdf(y, np.zeros(len(y)), total)

    found = minimize(
        value_and_grad(unlikelihood), np.array([0.0, -2.0, 0.0, 0.5]), jac=True, method="CG",
        options={"maxiter": steps},
    )  # fmt: skip
    mean, variance = predictions(found.x, x, y, np.array([[0.0, 0.0], [1.0, -1.0]]))
    return {"fun": found.fun, "scales": found.x, "mean": mean, "variance": variance}
